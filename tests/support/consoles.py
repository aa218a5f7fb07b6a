"""A daemon that serves the console for two tenants, and people who look at it."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mirrord.web.console_server import last_url
from tests.support.browsing import Browser
from tests.support.commands import Near
from tests.support.editors import save
from tests.support.harness import Mirrord, eventually
from tests.support.rows import are_rows_followed

RIVAL = "rival"
SECRET = "the-secret-of-the-rival"
PICTURE = b"\x89PNG\r\n\x1a\n" + b"picture"
TREE = {
    "Welcome.md": "---\ntitle: Welcome\n# a comment\ntags: [start]\n---\n\n# Welcome\n\nSee [[Alpha]].\n",
    "Projects/_index.md": "# Projects\n\n![plan](./assets/plan.png)\n",
    "Projects/Alpha.md": "# Alpha\n\nDetails of 100% and a_b.\n\nMore about [[Welcome]].\n",
    "Projects/Beta.md": "---\naliases: [Second]\n---\n\n# Beta\r\n\r\nWindows lines.\r\n",
}


@dataclass(frozen=True, slots=True)
class Console:
    """Where it is, and whose."""

    mirrord: Mirrord
    url: str

    def link(self, tenant: str | None = None, name: str = "ada") -> str:
        """A fresh link, for an operator or for one tenant only."""
        only = () if tenant is None else ("--tenant", tenant)
        completed = self.mirrord.run("console", "link", "--name", name, *only)
        assert completed.returncode == 0, completed.stderr
        return completed.stdout.strip()

    def browser(self, tenant: str = "demo", *, only: bool = False, name: str = "ada") -> Browser:
        """Somebody who signed in and looks at *tenant*; only: they may see no other."""
        return Browser(self.url, tenant=tenant).sign_in(self.link(tenant if only else None, name))

    def page(self, path: str) -> dict[str, Any]:
        """A page of the tenant demo as the API shows it, once it is there and derived."""

        def derived() -> dict[str, Any] | None:
            row = self.mirrord.page(path)
            return None if row is None or row.content is None or row.ahead else {"id": str(row.id)}

        return eventually(derived, f"the page {path}")


@contextmanager
def consoles(directory: Path, dsn: str) -> Iterator[Console]:
    """The daemon, with a small tree of the tenant demo and a page with a secret of its rival, all in rows."""
    with Near(directory, dsn=dsn) as started:
        for path, text in TREE.items():
            save(started.file(path), text)
        plan = started.file("Projects/assets/plan.png")
        plan.parent.mkdir(parents=True)
        plan.write_bytes(PICTURE)
        save(started.mirror / RIVAL / "Secret.md", f"# Secret\n\n{SECRET}\n")
        save(started.mirror / RIVAL / "assets" / "secret.png", SECRET)
        started.up("--tenant", RIVAL, "--console", "0")
        url = eventually(lambda: last_url(started.data), "the console's address")
        started.flush()
        eventually(lambda: are_rows_followed(started.app), "links and searches that know all pages")
        yield Console(started, url)
