"""
`python -m tests.binding_demo`: a knowledge base with tables of its own, bound: its pages are files, as it writes them.

The app knows its own tables only; each of its statements is shown, and then what became of it in the tree.
"""

import signal
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.markup import escape

from tests.binding.knowledge_base import MAPPING, KnowledgeBase, install_app
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

    def await_absence(self, began: float, path: str) -> None:
        """Say so when there is no file at *path*."""
        eventually(lambda: self.mirrord.text(path) is None, f"{path} is gone", pause=0.001)
        self.console.print(f"  [green]gone[/] {escape(path)}  [dim]{(time.perf_counter() - began) * 1000:.0f} ms[/]")

    def run(self, *words: str) -> None:
        """One command of mirrord and what it prints."""
        self.console.print(f"\n[bold]$ mirrord {escape(' '.join(words))}[/]")
        completed = self.mirrord.run(*words)
        assert completed.returncode == 0, completed.stderr
        self.console.print(escape(completed.stdout.strip()))


def play(show: Show) -> None:
    """The app creates, edits, moves and deletes; a person edits a file, which the app does not take."""
    app = show.app
    began = show.act("The app creates a page.")
    garden = app.create("Garden", "Beans and peas.")
    show.await_file(began, "Garden.md", "Beans and peas.")
    began = show.act("The app creates a page below it.")
    beans = app.create("Beans", "Green.", parent=garden, position=1)
    show.await_file(began, "Garden/Beans.md", "Green.")
    began = show.act("An editor of the app saves the page, over the version it loaded.")
    app.save(beans, "Green and long.", expected=1)
    show.await_file(began, "Garden/Beans.md", "Green and long.")
    began = show.act("The app moves the page to the top.")
    app.change(beans, parent_id=None)
    show.await_file(began, "Beans.md", "Green and long.")
    began = show.act("A person edits the file. The binding reads only, so the app stays right.")
    file = show.mirrord.file("Beans.md")
    file.write_text(file.read_text("utf-8") + "\nEdited in a file.\n", "utf-8")
    eventually(lambda: "Edited" not in (show.mirrord.text("Beans.md") or ""), "the file is as the app says")
    show.await_file(began, "Beans.md", "Green and long.")
    show.run("bind", "status", "kb")
    show.run("history", "Beans.md")
    began = show.act("The app deletes the page.")
    app.delete(beans)
    show.await_absence(began, "Beans.md")
    show.run("bind", "drop", "kb")


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
            mapping = Path(directory, "kb.toml")
            mapping.write_text(MAPPING)
            console.print(f"[dim]{escape(MAPPING)}[/]", end="")
            show = Show(mirrord, app, console)
            show.run("bind", "add", str(mapping))
            mirrord.up()
            play(show)
            app.connection.close()
            mirrord.stop()
        finally:
            mirrord.postgres.stop()
    return 0


if __name__ == "__main__":
    sys.exit(main())
