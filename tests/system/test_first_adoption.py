"""A new mirror of many files, as a process: what happens to one counts while the others are still adopted."""

from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from tests.support.commands import Near
from tests.support.harness import Mirrord, eventually

FILES = 3_000  # so that the adoption takes seconds
NAMES = [f"Page {number:04}" for number in range(FILES)]
_BASES = "SELECT path FROM mirrord.mirror_base AS b JOIN mirrord.mirror AS m ON m.id = b.mirror_id WHERE m.acks = 0"
_LIVING = "SELECT name FROM mirrord.page WHERE deleted_at IS NULL"


@pytest.fixture
def beginning(tmp_path: Path, fresh_dsn: str) -> Iterator[Mirrord]:
    """A daemon that takes many files in, and has not finished yet."""
    with Near(tmp_path, dsn=fresh_dsn) as mirrord:
        mirrord.root.mkdir(parents=True)
        for name in NAMES:
            mirrord.file(f"{name}.md").write_text(f"{name}\n", encoding="utf-8")
        mirrord.start()
        yield mirrord


def take_adopted(dsn: str) -> list[str]:
    """The paths of some files that the unfinished adoption has taken in; waits for them."""
    with psycopg.connect(dsn, autocommit=True) as admin:
        rows = eventually(lambda: admin.execute(_BASES).fetchall(), "the first bases, before the adoption ends")
    return sorted(path for (path,) in rows)


def living(dsn: str) -> set[str]:
    with psycopg.connect(dsn, autocommit=True) as admin:
        return {name for (name,) in admin.execute(_LIVING).fetchall()}


@pytest.mark.parametrize("is_killed", [False, True], ids=["", "and the daemon is killed"])
def test_files_that_are_deleted_and_renamed_meanwhile_stay_so(
    beginning: Mirrord, fresh_dsn: str, is_killed: bool
) -> None:
    deleted, renamed, moved = take_adopted(fresh_dsn)[:3]
    if is_killed:
        beginning.kill()
        assert take_adopted(fresh_dsn), "it was killed before its adoption ended"
    beginning.file(deleted).unlink()
    beginning.file(renamed).rename(beginning.file(renamed.lower()))
    beginning.file("Box").mkdir()
    beginning.file(moved).rename(beginning.file(f"Box/{moved}"))
    if is_killed:
        beginning.start()
    beginning.wait_ready()
    stem = renamed.removesuffix(".md")
    expected = {*NAMES, stem.lower(), "Box"} - {deleted.removesuffix(".md"), stem}
    eventually(lambda: living(fresh_dsn) == expected, "the rows of the files that are left", 120)
    beginning.flush()
    assert beginning.text(deleted) is None
    assert len(list(beginning.root.rglob("*.md"))) == FILES - 1
    assert living(fresh_dsn) == expected
    assert beginning.check() == {}
