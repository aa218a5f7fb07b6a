"""Tokens: every write carries a word of its own, and whoever destroys one before anybody read it says so."""

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

import psycopg

from tests.faults.world import World

TOKEN = re.compile(r"\bQz[0-9]{4,}\b")


@dataclass(slots=True)
class Ledger:
    """
    What was written in a run.

    written: by token, who wrote it where: durable in a file, or acknowledged by Postgres.
    excused: destroyed in its file by its own author before mirrord could read it.
    copied: somebody made a copy of a file that had it.
    swapped: the tokens of files that took each other's names. Once one of them is removed, the other looks like a file
    that was moved over it: its text is in the page at that path, and in its own if the other tree edits that.
    edits: how many entries people and apps have changed; each may cost mirrord a few versions.
    buffers: what editors show of pages that they opened earlier.
    held: files that programs have open for writing, with the path each had when it was opened.
    transactions: an app's connections with a transaction that is not committed, with the token it wrote.
    """

    written: dict[str, str] = field(default_factory=dict)
    excused: set[str] = field(default_factory=set)
    copied: set[str] = field(default_factory=set)
    swapped: list[set[str]] = field(default_factory=list)
    edits: int = 0
    buffers: dict[Path, bytes] = field(default_factory=dict)
    open_files: list[tuple[Path, IO[bytes]]] = field(default_factory=list)
    transactions: list[tuple[psycopg.Connection[Any], str]] = field(default_factory=list)
    _last: int = 0

    def token(self) -> str:
        """A word nobody wrote yet."""
        self._last += 1
        return f"Qz{self._last:04d}"

    def wrote(self, token: str, description: str) -> None:
        """The write returned: from now on the token must be found."""
        self.written[token] = description
        self.edits += 1

    def touched(self, entries: int = 1) -> None:
        """So many entries were moved, deleted or brought back."""
        self.edits += entries

    def remove(self, world: World, data: bytes) -> None:
        """The author is about to remove a file with *data*."""
        self.destroy(world, data)
        self.copied |= set().union(*(pair for pair in self.swapped if pair & tokens_in(data)))

    def destroy(self, world: World, data: bytes) -> None:
        """The author is about to destroy *data*: what no row ever had is nobody's duty to find."""
        tokens = tokens_in(data)
        try:
            self.excused |= tokens - tokens_of_rows(world)
        except psycopg.OperationalError:  # nobody can tell what was read
            self.excused |= tokens


def tokens_in(data: bytes | str) -> set[str]:
    """Every token in some text."""
    return set(TOKEN.findall(data if isinstance(data, str) else data.decode("utf-8", "replace")))


TEXTS = """
SELECT concat_ws(' ', markdown, title, name, frontmatter, content) FROM mirrord.page WHERE tenant_id = %(t)s
UNION ALL
SELECT concat_ws(' ', markdown, views, frontmatter, name) FROM mirrord.page_revision WHERE tenant_id = %(t)s
UNION ALL
SELECT concat_ws(' ', base_text, file_text, row_text) FROM mirrord.conflict WHERE tenant_id = %(t)s
UNION ALL
SELECT concat_ws(' ', text, data) FROM mirrord.record WHERE tenant_id = %(t)s
UNION ALL
SELECT concat_ws(' ', text, data) FROM mirrord.record_revision WHERE tenant_id = %(t)s
UNION ALL
SELECT encode(bytes, 'escape') FROM mirrord.blob WHERE tenant_id = %(t)s
"""


def tokens_of_rows(world: World) -> set[str]:
    """Every token in pages, revisions, conflicts and attachments, living or deleted."""
    with world.cluster.administered() as connection:
        return {token for (text,) in connection.execute(TEXTS, {"t": world.tenant}) for token in tokens_in(text)}


def tokens_of_files(world: World) -> set[str]:
    """Every token in both trees and in both trashes."""
    tokens: set[str] = set()
    for mirror in world.mirrors:
        for path in mirror.root.rglob("*"):
            if path.is_file() and ".mirrord/tmp" not in str(path) and not path.name.startswith("state.db"):
                tokens |= tokens_in(path.read_bytes())
    return tokens
