"""The heartbeat of a daemon: what it writes can be read again."""

import os
from pathlib import Path

import pytest

from mirrord.mirror.heartbeat import Heartbeat


@pytest.mark.parametrize("path", ["/srv/pages", "/srv/Übung", os.fsdecode(b"/srv/\xff")])
def test_facts_with_any_path_are_read_as_they_were_written(tmp_path: Path, path: str) -> None:
    facts = {"pid": os.getpid(), "data": path, "tenants": {"demo": {"lately": [[1.5, "file → row", path]]}}}
    heartbeat = Heartbeat(tmp_path)
    heartbeat.beat(facts)
    stored_facts = heartbeat.read()
    assert stored_facts is not None
    assert {key: stored_facts[key] for key in facts} == facts
    assert heartbeat.is_alive()
