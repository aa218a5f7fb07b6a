"""Folders of so many pages that their loss halts, for tests of what takes such a loss back."""

import json
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

from mirrord.domain.approval import MIN_DELETIONS
from mirrord.mirror.heartbeat import Heartbeat
from mirrord.sync.decisions.guard import MAX_DELETED_SHARE
from tests.support.clients import Agent, on_stdio, process
from tests.support.commands import Near
from tests.support.editors import save
from tests.support.entries import value
from tests.support.harness import Mirrord, eventually

MANY = MIN_DELETIONS + 5
SECONDS = 120.0  # of patience, on a busy machine


class Folder:
    """A folder whose pages are more than may be lost without a halt."""

    def __init__(self, mirrord: Mirrord, name: str) -> None:
        self.mirrord, self.name = mirrord, name
        self.texts = {f"{name}/Page {number:02}.md": f"# Page {number}\n\n{name}\n" for number in range(MANY)}
        for path, text in self.texts.items():
            save(mirrord.file(path), text)
        mirrord.flush()
        living = value(mirrord.app, "SELECT count(*) FROM page WHERE deleted_at IS NULL")
        assert living * MAX_DELETED_SHARE < MIN_DELETIONS, "the tests of a tenant made too many pages: none halts"

    @property
    def files(self) -> dict[str, str | None]:
        return {path: text for path in self.texts if (text := self.mirrord.text(path)) is not None}

    @property
    def living_rows(self) -> int:
        query = (
            "SELECT count(*) FROM page JOIN page AS folder ON folder.id = page.parent_id "
            "WHERE folder.name = %s AND folder.deleted_at IS NULL AND page.deleted_at IS NULL"
        )
        return int(value(self.mirrord.app, query, self.name))

    def expect_back(self) -> None:
        """All pages are in files and rows, and nothing waits."""
        eventually(lambda: self.files == self.texts, "all files to be back", SECONDS)
        eventually(lambda: halts(self.mirrord) == [], "the halt to end", SECONDS)
        eventually(lambda: not is_told_halted(self.mirrord), "the daemon to tell that", SECONDS)
        self.mirrord.flush()
        assert (self.files, self.living_rows) == (self.texts, MANY)
        assert self.mirrord.check() == {}


@contextmanager
def serve_one_page(directory: Path, dsn: str) -> Iterator[Mirrord]:
    """A running mirrord whose tenant has one page, so that it is never emptied."""
    with Near(directory, dsn=dsn) as running:
        save(running.file("Stays.md"), "# Stays\n")
        running.up()
        yield running


def halts(mirrord: Mirrord) -> list[dict[str, Any]]:
    listed: list[dict[str, Any]] = json.loads(mirrord.run("halts", "--json").stdout)
    return listed


def is_told_halted(mirrord: Mirrord) -> bool:
    """Whether the daemon tells agents of a halt."""
    facts = Heartbeat(mirrord.mirror).read() or {}
    return bool(facts["tenants"][mirrord.tenant]["halted"])


def halted(mirrord: Mirrord) -> dict[str, Any]:
    """The halt, once there is one."""
    query = "SELECT count(*) FROM mirrord.halt WHERE closed_at IS NULL"
    eventually(lambda: value(mirrord.app, query), "the halt in rows", SECONDS)
    (halt,) = halts(mirrord)
    return halt


@asynccontextmanager
async def agent_of(mirrord: Mirrord, token: str) -> AsyncIterator[Agent]:
    async with on_stdio(process(mirrord.mirror, {"MIRRORD_TOKEN": token}, "--tools", "pages,changes")) as agent:
        yield agent


async def delete_all(agent: Agent, folder: Folder, title: str) -> str:
    """Delete the folder in a change set; the id of that."""
    draft = await agent.call("begin_changes", title=title)
    await agent.call("delete_page", path=folder.name, recursive=True)
    assert (await agent.call("apply_changes"))["deleted"] == MANY
    return str(draft["changeSet"])
