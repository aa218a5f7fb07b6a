"""What measurements are made on: an installation with a made-up tree, whose Postgres goes on when its daemon stops."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from uuid import UUID

import psycopg

from tests.bench.vault import generate
from tests.support.harness import Mirrord, eventually
from tests.support.rows import Connection

PATIENCE = 3600.0  # seconds for one import
ORDINARY, SMALL_PAGE, MANY = 3000, 1000, 50_000  # bytes of a page, of one of many, and how many are many

_TEXTS = "SELECT count(*) FROM mirrord.page WHERE kind = 'page' AND markdown IS NOT NULL"
_DOCUMENTS = f"{_TEXTS} AND content IS NOT NULL"
# By an index, where counting all again and again took a fifth of a core.
_LEFT = """
SELECT EXISTS (SELECT FROM mirrord.page
                WHERE deleted_at IS NULL AND kind = 'page' AND (content IS NULL OR digest IS NULL))"""
_UNLINKED = """
SELECT EXISTS (SELECT FROM mirrord.page_link WHERE due) OR EXISTS (
    SELECT FROM mirrord.entry_feed AS f GROUP BY tenant_id
    HAVING max(seq) > coalesce((SELECT seq FROM mirrord.link_cursor AS l WHERE l.tenant_id = f.tenant_id), 0))"""


@dataclass(slots=True)
class Ground:
    """
    One installation for one part, or for several after another.

    pages: how many its tree has. paths: of them. share: of all sizes; 1: the full ones.
    """

    mirrord: Mirrord
    pages: int
    paths: list[str]
    share: float = 1.0

    @property
    def dsn(self) -> str:
        """A superuser's connection string."""
        return self.mirrord.postgres.dsn()

    @contextmanager
    def administered(self) -> Iterator[Connection]:
        """A connection that sees the rows of every tenant."""
        with psycopg.connect(self.dsn, autocommit=True) as connection:
            yield connection

    def imported(self) -> Mirrord:
        """The daemon at work, with every page in its row and nothing left to do."""
        if not self.mirrord.running:
            self.mirrord.start()
            self.mirrord.wait_event("ready", PATIENCE)
        self.until_documents()
        self.mirrord.flush(PATIENCE)
        self.until_linked()
        return self.mirrord

    def until_texts(self) -> None:
        """Return when every page's text is in its row."""
        app, pause = self.mirrord.app, max(0.005, self.pages / 200_000)  # counting takes longer the more there is
        expectation = f"{self.pages} rows, each with its text"
        eventually(lambda: _count(app, _TEXTS) >= self.pages, expectation, PATIENCE, pause=pause)

    def until_documents(self) -> None:
        """Return when every page's document is in its row too."""
        eventually(self.has_documents, f"{self.pages} rows, each with its document", PATIENCE, pause=0.05)

    def until_linked(self) -> None:
        """Return when it is known what every link means, of all tenants: it is the last that an import does."""
        with self.administered() as app:
            eventually(lambda: not _count(app, _UNLINKED), "every link looked up", PATIENCE, pause=0.5)

    def has_documents(self) -> bool:
        """Whether every page's document is in its row."""
        return not _count(self.mirrord.app, _LEFT) and _count(self.mirrord.app, _DOCUMENTS) >= self.pages

    def ids(self) -> dict[str, UUID]:
        """The entries of the tree by path, as the daemon remembers them."""
        cursor = self.mirrord.app.execute("SELECT path, entry_id FROM mirrord.mirror_base WHERE path IS NOT NULL")
        return dict(cursor.fetchall())

    def nearest(self, size: int, count: int) -> list[str]:
        """So many pages whose files are nearest to *size* bytes, in the order of the tree."""
        root = self.mirrord.root
        nearest_paths = sorted(self.paths, key=lambda path: abs((root / path).stat().st_size - size))[:count]
        return sorted(nearest_paths)

    def directory(self, name: str) -> Path:
        """A new directory outside the tree, on the same disk."""
        path = self.mirrord.directory / name
        path.mkdir()
        return path


@contextmanager
def ground(directory: Path, pages: int, share: float = 1.0) -> Iterator[Ground]:
    """Postgres runs, the tenant exists, its tree is written and nobody has seen it yet."""
    with Mirrord(directory) as mirrord:
        directory.mkdir()
        mirrord.postgres.start()
        mirrord.dsn = mirrord.postgres.dsn()
        completed = mirrord.run("init", mirrord.tenant)
        assert completed.returncode == 0, f"`mirrord init` failed: {completed.stderr}"
        size = SMALL_PAGE if pages > MANY else ORDINARY
        yield Ground(mirrord, pages, generate(mirrord.root, pages, average_bytes=size), share)


def _count(app: Connection, query: str) -> int:
    row = app.execute(query).fetchone()
    return int(row[0]) if row else 0
