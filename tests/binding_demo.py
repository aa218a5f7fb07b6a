"""
`python -m tests.binding_demo`: a knowledge base with tables of its own, bound first to be read, then both ways.

The app knows its own tables only; each act is shown, and then the file or the row of the app that it became.
"""

import asyncio
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.markup import escape

from tests.binding.knowledge_base import MAPPING, TWO_WAY_MAPPING, KnowledgeBase, OutdatedError, install_app
from tests.support.clients import on_stdio, process
from tests.support.harness import Mirrord, eventually


@dataclass(frozen=True, slots=True)
class Show:
    """What is shown to the person who watches."""

    mirrord: Mirrord
    app: KnowledgeBase
    console: Console

    def act(self, sentence: str) -> float:
        """Announce an act; when it began."""
        self.console.print(f"\n[bold]{escape(sentence)}[/]")
        return time.perf_counter()

    def await_file(self, began: float, path: str, *parts: str) -> None:
        """Show the file at *path* when it has all of *parts*."""

        def full_text() -> str | None:
            text = self.mirrord.text(path)
            return text if text is not None and all(part in text for part in parts) else None

        text = eventually(full_text, f"{path} has {parts}", pause=0.001)
        waited = (time.perf_counter() - began) * 1000
        self.console.print(f"  [green]file[/] {escape(path)}  [dim]{waited:.0f} ms[/]")
        self.console.print(escape("".join(f"     {line}\n" for line in text.splitlines())), end="")

    def await_app(self, began: float, page: str, condition: Callable[[], bool]) -> None:
        """Show the row of a page in the app when *condition* holds."""
        eventually(condition, f"the app has the change of {page}", pause=0.001)
        waited = (time.perf_counter() - began) * 1000
        row, block = self.app.page(page), self.app.block(page)
        self.console.print(
            f"  [green]app[/]  {escape(row['title'])}, version {block['version']}  [dim]{waited:.0f} ms[/]"
        )
        self.console.print(f"     parent_id: {row['parent_id']}")
        self.console.print(escape("".join(f"     {line}\n" for line in self.app.body_text(page).splitlines())), end="")

    def id_of(self, title: str) -> str:
        """The id of a page in the app."""
        row = self.app.connection.execute("SELECT id FROM kb.pages WHERE title = %s", [title]).fetchone()
        assert row is not None
        return str(row[0])

    def await_absence(self, began: float, path: str) -> None:
        """Say so when there is no file at *path*."""
        eventually(lambda: self.mirrord.text(path) is None, f"{path} is gone", pause=0.001)
        self.console.print(f"  [green]gone[/] {escape(path)}  [dim]{(time.perf_counter() - began) * 1000:.0f} ms[/]")

    def run(self, *words: str) -> None:
        """One command of mirrord and what it prints."""
        self.console.print(f"\n[bold]$ mirrord {escape(' '.join(words))}[/]")
        completed = self.mirrord.run(*words)
        assert completed.returncode == 0, completed.stderr
        self.console.print(escape(completed.stdout.strip("\n")))


def read_only(show: Show, mapping: Path) -> None:
    """Mode `in`: the app creates, edits and moves; a person edits a file, which the app does not take."""
    app = show.app
    mapping.write_text(MAPPING)
    show.console.print(f"[dim]{escape(MAPPING)}[/]", end="")
    show.run("bind", "add", str(mapping))
    began = show.act("The app creates a page.")
    garden = app.create("Garden", "Beans and peas.")
    show.await_file(began, "Garden.md", "Beans and peas.")
    began = show.act("The app creates a page below it.")
    beans = app.create("Beans", "Green.", parent=garden, position=1)
    show.await_file(began, "Garden/Beans.md", "Green.")
    began = show.act("An editor of the app saves the page, over the version it loaded.")
    app.save(beans, "Green and long.", "For soup.", expected=1)
    show.await_file(began, "Garden/Beans.md", "Green and long.")
    began = show.act("A person edits the file. The binding only reads, so the app stays right.")
    edit(show.mirrord.file("Garden/Beans.md"), "Green and long.", "Green and very long.")
    eventually(lambda: "very" not in (show.mirrord.text("Garden/Beans.md") or ""), "the file is as the app says")
    show.await_file(began, "Garden/Beans.md", "Green and long.")
    show.run("bind", "status", "kb")
    show.run("history", "Garden/Beans.md")
    show.run("bind", "drop", "kb")


def both_ways(show: Show, mapping: Path) -> None:
    """Mode `both`: a file, an agent and the app change one page, the last two at the same time."""
    mapping.write_text(TWO_WAY_MAPPING)
    show.act("The same table again, now with edits of files that reach the app: these lines are new in the mapping.")
    for line in TWO_WAY_MAPPING.splitlines():
        if line.startswith("[") or line not in MAPPING.splitlines():
            show.console.print(f"     [dim]{escape(line)}[/]")
    show.run("bind", "add", str(mapping))
    beans = show.id_of("Beans")
    began = show.act("A person edits the file.")
    edit(show.mirrord.file("Garden/Beans.md"), "Green and long.", "Green and very long.")
    show.await_app(began, beans, lambda: "very long" in show.app.body_text(beans))
    show.act("An editor of the app that has the page open since before is refused, as by any other editor of the app.")
    try:
        show.app.save(beans, "Mine.", expected=2)
    except OutdatedError:
        show.console.print("  [green]409[/] the app has another version by now")
    show.act("An agent moves the page to the top: move_page Garden/Beans.md → Beans.md.")
    began = asyncio.run(move_by_agent(show.mirrord, "Garden/Beans.md", "Beans.md"))
    show.await_app(began, beans, lambda: show.app.page(beans)["parent_id"] is None)
    show.act("While the binding is paused, a person edits the file, and an editor of the app another paragraph.")
    show.run("bind", "pause", "kb")
    edit(show.mirrord.file("Beans.md"), "For soup.", "For soup and salad.")
    show.app.save(beans, "Green and tender.", "For soup.")
    show.mirrord.flush()
    show.act("It goes on: both edits are on both sides.")
    show.run("bind", "resume", "kb")
    began = time.perf_counter()
    show.await_file(began, "Beans.md", "tender", "salad")
    show.await_app(began, beans, lambda: "salad" in show.app.body_text(beans))
    began = show.act("The app deletes the page; a deletion waits two seconds for more of the kind.")
    show.app.delete(beans)
    show.await_absence(began, "Beans.md")
    show.run("bind", "drop", "kb")


def edit(file: Path, before: str, after: str) -> None:
    """As a person edits a file."""
    file.write_text(file.read_text("utf-8").replace(before, after), "utf-8")


async def move_by_agent(mirrord: Mirrord, source: str, destination: str) -> float:
    """An agent moves a page; when it asked for that."""
    async with on_stdio(process(mirrord.mirror)) as agent:
        began = time.perf_counter()
        await agent.call("move_page", sourcePath=source, destinationPath=destination)
        return began


def main() -> int:
    """The exit code: 0 unless something did not happen."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    console = Console(highlight=False, soft_wrap=True)
    with (
        tempfile.TemporaryDirectory(prefix="mirrord-demo-", ignore_cleanup_errors=True) as directory,
        Mirrord(Path(directory, "installation")) as mirrord,
    ):
        mirrord.directory.mkdir()
        mirrord.postgres.start()
        mirrord.dsn = mirrord.postgres.dsn()
        try:
            assert mirrord.run("init", mirrord.tenant).returncode == 0
            app = install_app(mirrord.dsn)
            mirrord.up()
            show = Show(mirrord, app, console)
            read_only(show, Path(directory, "kb.toml"))
            both_ways(show, Path(directory, "kb.toml"))
            app.connection.close()
            mirrord.stop()
        finally:
            mirrord.postgres.stop()
    return 0


if __name__ == "__main__":
    sys.exit(main())
