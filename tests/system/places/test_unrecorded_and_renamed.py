"""A file that a mirror wrote, and could not record before it was renamed, stays the file of its page."""

import itertools
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from mirrord import app
from mirrord.config import Config
from mirrord.db.database import Database
from mirrord.domain.entry import TenantId
from mirrord.errors import Unavailable
from mirrord.sync.writing import apply, file_writes
from mirrord.sync.writing.write_outcomes import FileOutcome
from tests.support.mirrors import Mirror

ROUNDS = 3  # of work, before the next act
TEXT = "# The plan\n\nWe sow in spring.\n"
LIVING = "SELECT id FROM mirrord.page WHERE deleted_at IS NULL AND markdown LIKE '%%sow in spring%%'"
MOVES = {
    "a file": ("Shelf/Plan.md", "Shelf/beta.md"),
    "a file that moves": ("Shelf/Plan.md", "Box/Plan.md"),
    "a folder": ("Shelf", "Box"),
    "a folder that moves": ("Shelf", "Attic/Shelf"),
}


@pytest.mark.parametrize("move", MOVES.values(), ids=MOVES)
@pytest.mark.parametrize("is_deleted", [False, True], ids=["", "and its row is deleted"])
async def test_it_stays_one_page_where_a_program_had_it_open(
    mirror: Mirror, database: Database, tmp_path: Path, tenant: TenantId, move: tuple[str, str], is_deleted: bool
) -> None:
    mirror.write({"Keep.md": "keep\n", "Shelf/Other.md": "Another page.\n"})
    await mirror.settle()
    async with other_mirror(database, mirror, tmp_path / "there", tenant) as twin:
        await twin.settle()
        twin.write({"Shelf/Plan.md": TEXT})  # as its daemon did that lost Postgres before it could record that
        with (twin.root / "Shelf/Plan.md").open("r+b"):
            mirror.write({"Shelf/Plan.md": TEXT})
            await mirror.settle()
            page = mirror.page("Shelf/Plan")
            twin.engine.notify()
            await work(twin)
        twin.rename(move)
        if is_deleted:
            mirror.app.execute("DELETE FROM mirrord.page WHERE id = %s", [page.id])
            twin.engine.notify()
        while len(twin.engine.queue):  # the row comes first, and the scan that finds the file afterwards
            await twin.work()
        for host in (twin, mirror, twin):
            await host.settle()
        assert twin.files() == mirror.files()
        assert sum("sow in spring" in text for text in mirror.files().values()) == 1, mirror.files()
        living = mirror.app.execute(LIVING).fetchall()
        assert living == [(page.id,)] or (is_deleted and len(living) == 1)


@asynccontextmanager
async def other_mirror(database: Database, mirror: Mirror, directory: Path, tenant: TenantId) -> AsyncIterator[Mirror]:
    """Another tree of the tenant, with the files of *mirror*, of which its daemon recorded nothing."""
    for path, text in mirror.files().items():
        file = directory / "demo" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    opened = await app.open_mirror(database, Config(mirror=directory, data=directory / "data"), "demo", tenant)
    try:
        twin = Mirror(opened, mirror.app)
        await twin.engine.start()
        yield twin
    finally:
        opened.close()


async def work(mirror: Mirror) -> None:
    mirror.engine.request_scan()
    for _ in range(ROUNDS):
        await mirror.work()


@pytest.mark.parametrize("move", MOVES.values(), ids=MOVES)
@pytest.mark.parametrize("writes", [0, 1, 2], ids=lambda number: f"before write {number}")
async def test_it_stays_one_page_where_postgres_is_lost_before_the_record(
    mirror: Mirror,
    database: Database,
    tmp_path: Path,
    tenant: TenantId,
    monkeypatch: pytest.MonkeyPatch,
    move: tuple[str, str],
    writes: int,
) -> None:
    """writes: the number of calls that write files, after the lost one, before the file is renamed."""
    mirror.write({"Keep.md": "keep\n", "Shelf/Other.md": "Another page.\n"})
    await mirror.settle()
    async with other_mirror(database, mirror, tmp_path / "there", tenant) as twin:
        await twin.settle()
        mirror.write({"Shelf/Plan.md": TEXT})
        await mirror.settle()
        page = mirror.page("Shelf/Plan")
        with monkeypatch.context() as patch:
            patch.setattr(file_writes, "run_statements", lose_postgres)
            twin.engine.notify()
            while "Shelf/Plan.md" not in twin.files():
                with suppress(Unavailable):
                    await twin.work()
        calls = itertools.count()
        write = file_writes.write_files

        async def write_late(*arguments: Any) -> FileOutcome:
            if next(calls) == writes:
                twin.rename(move)
            return await write(*arguments)

        with monkeypatch.context() as patch:
            patch.setattr(apply, "write_files", write_late)
            for _ in range(ROUNDS):
                await twin.work()
        if next(calls) <= writes:
            twin.rename(move)
        for host in (twin, mirror, twin):
            await host.settle()
        assert twin.files() == mirror.files()
        assert sum("sow in spring" in text for text in mirror.files().values()) == 1, mirror.files()
        assert mirror.app.execute(LIVING).fetchall() == [(page.id,)]


async def lose_postgres(*_: object) -> None:
    raise Unavailable("Postgres is out of reach: server closed the connection unexpectedly")
