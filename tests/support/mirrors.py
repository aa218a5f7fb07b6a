"""A mirror whose engine works in this very process, and only when it is asked to."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from uuid import UUID

import pytest

from mirrord import app
from mirrord.config import Config
from mirrord.db import mirror_leases
from mirrord.db.database import Database
from mirrord.documents.document_derivation import Workers
from mirrord.domain.entry import TenantId
from mirrord.sync.engine import Engine
from mirrord.sync.observation import mirror_handles
from tests.support.entries import value
from tests.support.rows import Connection, Page, page_at
from tests.support.trees import tree

LEASE_SECONDS = 300  # of a mirror's lease, which nobody renews here
PATIENCE = 30.0  # seconds until both sides have to be equal


class Mirror:
    """The engine, the tree it mirrors, and an app's connection to the rows."""

    def __init__(self, opened: app.OpenMirror, connection: Connection) -> None:
        self.opened, self.app = opened, connection
        self.engine = Engine(opened.sides, is_adopting=opened.adopting)
        self.root = opened.sides.tree.root
        self.workers = Workers()  # of whoever derives documents; each start takes a fifth of a second of processor time

    async def settle(self) -> None:
        """Work until nothing is left to do, deletions too."""
        self.engine.request_scan()
        self.engine.notify()
        end = time.monotonic() + PATIENCE
        while not self.engine.is_idle:
            assert time.monotonic() < end, f"still at work: {self.problems()}"
            await self.work()

    async def work(self) -> None:
        """One round; after a call that failed the engine's own loop compares everything, too."""
        await self.engine.queue.wait(0.02)
        try:
            await self.engine.work_once(asyncio.Event())
        except OSError:
            self.engine.request_comparison()

    def write(self, texts: dict[str, str]) -> None:
        """Save files in place, with the directories they are in."""
        for path, text in texts.items():
            file = self.root / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8", newline="")

    def rename(self, *moves: tuple[str, str]) -> None:
        """Rename files or directories, one after the other."""
        for old, new in moves:
            (self.root / new).parent.mkdir(parents=True, exist_ok=True)
            (self.root / old).rename(self.root / new)

    def page(self, path: str) -> Page:
        """The living row at *path*; there has to be one."""
        row = page_at(self.app, path)
        assert row is not None, f"no row at {path!r}; there are {self.rows()}"
        return row

    def ids(self, *paths: str) -> list[UUID]:
        """The ids of the living rows at *paths*."""
        return [self.page(path).id for path in paths]

    def rows(self) -> dict[str, str | None]:
        """Every living page and folder by its path below the root, with its text."""
        query = """
            WITH RECURSIVE walk (id, path, markdown) AS (
                SELECT id, name, markdown FROM mirrord.page WHERE parent_id IS NULL AND deleted_at IS NULL
                UNION ALL
                SELECT child.id, walk.path || '/' || child.name, child.markdown
                  FROM walk JOIN mirrord.page AS child ON child.parent_id = walk.id WHERE child.deleted_at IS NULL)
            SELECT path, markdown FROM walk"""
        return dict(self.app.execute(query.encode()).fetchall())

    def count_living(self) -> int:
        """How many pages and folders live, those that nothing leads to too."""
        count: int = value(self.app, "SELECT count(*) FROM mirrord.page WHERE deleted_at IS NULL")
        return count

    def files(self) -> dict[str, str]:
        """Every visible file of the tree, with its text."""
        return {name: content.decode() for name, content in tree(self.root).items() if not name.startswith(".")}

    def problems(self) -> dict[tuple[str, str], str]:
        """What is listed, by path and code."""
        problem_rows = self.app.execute("SELECT path, code, sentence FROM mirrord.problem").fetchall()
        return {(path, code): sentence for path, code, sentence in problem_rows}

    def versions(self) -> dict[UUID, int]:
        """The version of every page and folder."""
        return dict(self.app.execute("SELECT id, version FROM mirrord.page").fetchall())


@asynccontextmanager
async def opened_mirror(
    database: Database,
    connection: Connection,
    directory: Path,
    tenant: TenantId,
    name: str = "demo",
    *,
    is_settled: bool = True,
) -> AsyncIterator[Mirror]:
    """A mirror of the tree `directory/name`; *is_settled*: it has done its first work."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(mirror_leases, "LEASE_SECONDS", LEASE_SECONDS)
        patched.setattr(mirror_handles, "FRESH_LEASE_SECONDS", LEASE_SECONDS)
        opened = await app.open_mirror(database, Config(mirror=directory, data=directory / "data"), name, tenant)
        try:
            mirror = Mirror(opened, connection)
            try:
                await mirror.engine.start()
                if is_settled:
                    await mirror.settle()
                yield mirror
            finally:
                mirror.workers.terminate()
        finally:
            opened.close()
