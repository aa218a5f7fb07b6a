"""`mirrord undo` takes back what files have and rows do not have yet, or says that it leaves it."""

import threading
from collections.abc import Iterator

import pytest

from tests.support.clients import on_stdio, process
from tests.support.commands import Near
from tests.support.editors import save
from tests.support.harness import Mirrord, eventually

THAW_SECONDS = 1.0  # seconds after which the daemon goes on, while the command waits for it


@pytest.fixture
def mirrord(tmp_path_factory: pytest.TempPathFactory, fresh_dsn: str) -> Iterator[Mirrord]:
    with Near(tmp_path_factory.mktemp("undone") / "installation", dsn=fresh_dsn) as running:
        save(running.file("Page.md"), "# Page\n\nfirst\n")
        running.up()
        running.flush()
        yield running


async def _edit(mirrord: Mirrord) -> None:
    token = mirrord.create_token("hasty")
    async with on_stdio(process(mirrord.mirror, {"MIRRORD_TOKEN": token})) as agent:
        await agent.call("edit_page", path="Page.md", edits=[{"find": "first", "replace": "second"}])


async def test_an_undo_waits_for_an_edit_that_is_on_its_way_to_rows(mirrord: Mirrord) -> None:
    frozen = mirrord.frozen()
    frozen.__enter__()
    await _edit(mirrord)
    thawing = threading.Timer(THAW_SECONDS, frozen.__exit__, (None, None, None))
    thawing.start()
    undone = mirrord.run("undo", "--by", "hasty", "--since", "1 hour ago")
    thawing.join()
    assert undone.returncode == 0, undone.stderr
    eventually(lambda: mirrord.text("Page.md") == "# Page\n\nfirst\n", "the earlier text")


async def test_an_undo_says_that_it_leaves_what_does_not_reach_rows_in_time(mirrord: Mirrord) -> None:
    with mirrord.frozen():
        await _edit(mirrord)
        undone = mirrord.run("undo", "--by", "hasty", "--since", "1 hour ago")
        assert undone.returncode != 0
        assert "not in rows yet" in undone.stderr
    assert "second" in (mirrord.text("Page.md") or "")


def test_an_undo_without_a_daemon_says_that_it_leaves_what_is_in_files_only(mirrord: Mirrord) -> None:
    mirrord.stop()
    undone = mirrord.run("undo", "--by", "hasty", "--since", "1 hour ago")
    assert undone.returncode != 0
    assert "only in files are left" in undone.stderr
