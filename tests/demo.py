"""
`python -m tests.demo`: an agent's session, call by call, against a daemon and Postgres started for it.

Each call is shown with its result, and each write with the row it became and the milliseconds that took.
"""

import asyncio
import json
import signal
import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any
from uuid import UUID

from rich.console import Console
from rich.markup import escape

from mirrord.domain.entry import digest_of
from tests.support.clients import Agent, on_stdio, process
from tests.support.harness import Mirrord, eventually
from tests.support.rows import Page, page_of

LONGEST = 400  # characters of a result that are shown
PAGES = {
    "Welcome.md": "---\ntitle: Welcome\n---\n\nSee [[Alpha]].\n",
    "Projects/_index.md": "---\ntitle: Projects\n---\n\n# Projects\n",
    "Projects/Alpha.md": "---\ntitle: Alpha\n---\n\n# Alpha\n\nProject details, see the architecture diagram below.\n",
}
UPDATED = PAGES["Projects/Alpha.md"] + "\nUpdated content with new section.\n\n## Timeline\n\n- May: start\n"


@dataclass(frozen=True, slots=True)
class Show:
    """What is shown to whoever watches."""

    agent: Agent
    mirrord: Mirrord
    console: Console

    async def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """One call and its result."""
        began = time.perf_counter()
        result = await self.agent.call(tool, **arguments)
        self._print(tool, arguments, result, time.perf_counter() - began)
        return result

    async def write(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """One call that changes a page, its result, and the row it became."""
        result = await self.call(tool, **arguments)
        began = time.perf_counter()
        row = eventually(partial(self._row, result), f"the row of {tool}", pause=0.0005)
        state = (
            "deleted (which waits 2 s for more of the kind)" if row.deleted else f"{len(row.markdown or '')} characters"
        )
        waited = (time.perf_counter() - began) * 1000
        self.console.print(
            f"     [green]row[/] {row.id}: {escape(row.name)}, version {row.version}, {state}; {waited:.1f} ms"
        )
        return result

    def _row(self, result: Mapping[str, Any]) -> Page | None:
        row = page_of(self.mirrord.app, UUID(result["pageId"]))
        if row is None or result.get("deleted", False) != row.deleted:
            return None
        digest = result.get("digest")
        return row if digest is None or digest_of((row.markdown or "").encode()).hex() == digest else None

    def _print(self, tool: str, arguments: Mapping[str, Any], result: Mapping[str, Any], seconds: float) -> None:
        self.console.print(f"\n[bold]{tool}[/] {escape(json.dumps(arguments, ensure_ascii=False))}")
        text = json.dumps(result, ensure_ascii=False)
        short = text if len(text) <= LONGEST else f"{text[:LONGEST]} …"
        self.console.print(f"  -> {escape(short)}  [dim]{seconds * 1000:.1f} ms[/]")


async def session(show: Show) -> None:
    """The workflow an agent goes through: look, read, write, create, search; then edit, and clean up."""
    await show.call("list_pages", depth=2)
    await show.call("read_page", path="Projects/Alpha.md")
    await show.write("write_page", path="Projects/Alpha.md", content=UPDATED)
    await show.write(
        "create_page", title="Beta", parentPath="Projects", content="# Beta\n\nNew project, after [[Alpha]].\n"
    )
    await show.call("search_pages", query="architecture diagram")
    await show.write(
        "edit_page",
        path="Projects/Alpha.md",
        edits=[{"heading": "Timeline", "action": "append", "text": "- June: release"}],
    )
    await show.call("get_page_links", path="Projects/Alpha.md")
    await show.write("delete_page", path="Projects/Beta.md")
    await show.call("sync_status", path="Projects/Alpha.md", wait=5)


def main() -> int:
    """The exit code."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that what was started is ended then too
    console = Console(soft_wrap=True, highlight=False)
    with (
        tempfile.TemporaryDirectory(prefix="mirrord-demo-", ignore_cleanup_errors=True) as directory,
        Mirrord(Path(directory)) as mirrord,
    ):
        for path, text in PAGES.items():
            mirrord.file(path).parent.mkdir(parents=True, exist_ok=True)
            mirrord.file(path).write_text(text, encoding="utf-8")
        console.print("Starting Postgres, the daemon, and the server for agents …")
        mirrord.up()
        mirrord.app.execute("SELECT 1")  # connecting is not part of what is shown
        asyncio.run(_played(mirrord, console))
    return 0


async def _played(mirrord: Mirrord, console: Console) -> None:
    async with on_stdio(process(mirrord.mirror)) as agent:
        await session(Show(agent, mirrord, console))


if __name__ == "__main__":
    sys.exit(main())
