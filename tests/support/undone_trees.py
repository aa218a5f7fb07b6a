"""A part of a real tree and its rows, looked at before and after what agents' tools do to them, and undo."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tests.support.clients import Agent
from tests.support.editors import save
from tests.support.harness import Mirrord, eventually

_SECONDS = 120.0  # of patience for rows and files to be equal

_ROWS = """
WITH RECURSIVE part (id, path, shown) AS (
    SELECT id, name, ROW(kind, name, title, icon, position, frontmatter, markdown, digest)::text FROM page
     WHERE parent_id IS NULL AND name = %(root)s AND deleted_at IS NULL
    UNION ALL
    SELECT page.id, part.path || '/' || page.name,
           ROW(kind, page.name, title, icon, position, frontmatter, markdown, digest)::text
      FROM part JOIN page ON page.parent_id = part.id AND page.deleted_at IS NULL)
SELECT path, id::text, shown FROM part
UNION ALL
SELECT part.path || '/' || held.name, held.id::text, encode(held.digest, 'hex')
  FROM part JOIN attachment AS held ON held.parent_id = part.id AND held.deleted_at IS NULL
ORDER BY 1, 2"""


@dataclass(frozen=True, slots=True)
class Look:
    """The files below a folder: bytes by path; and the rows: path, id and content."""

    files: Mapping[str, bytes]
    rows: list[tuple[Any, ...]]


@dataclass(frozen=True, slots=True)
class UndoneTree:
    """The folder *root* of a tenant's tree."""

    mirrord: Mirrord
    root: str

    def fill(self, files: Mapping[str, str]) -> Look:
        """Save *files*, by their paths below the folder; the state once rows have all of them."""
        for path, text in files.items():
            save(self.mirrord.file(f"{self.root}/{path}"), text)
        return self.settled()

    def look(self) -> Look:
        """The state at this moment."""
        folder = self.mirrord.file(self.root)
        files = {str(file.relative_to(folder)): file.read_bytes() for file in folder.rglob("*") if file.is_file()}
        return Look(files, self.mirrord.app.execute(_ROWS.encode(), {"root": self.root}).fetchall())

    def settled(self) -> Look:
        """The state when all that is known is on both sides."""
        self.mirrord.flush()
        return self.look()

    async def undo(self, agent: Agent, expected: Look, change_set: str | None = None) -> str:
        """Undo, until all is as *expected*; the change set of the undo."""
        chosen = {"changeSet": change_set} if change_set else {}
        answer = await agent.call("undo_changes", **chosen)
        assert (answer["undone"], answer["left"]) == (True, []), answer
        self._expect(expected)
        undone: str = answer["changeSet"]
        return undone

    def _expect(self, expected: Look) -> None:
        looks: list[Look] = []

        def is_expected() -> bool:
            looks[:] = [self.look()]
            return looks[0] == expected

        try:
            eventually(is_expected, "the tree as expected", _SECONDS)
        except AssertionError as error:
            raise AssertionError(_differences(looks[0], expected)) from error
        assert self.mirrord.check() == {}
        assert self.mirrord.status()["halts"] == 0


def _differences(present: Look, expected: Look) -> str:
    """What is there and was not expected, and the reverse."""
    parts = []
    for sort, entries, expected_entries in (
        ("files", set(present.files.items()), set(expected.files.items())),
        ("rows", set(present.rows), set(expected.rows)),
    ):
        unexpected, missing = sorted(entries - expected_entries), sorted(expected_entries - entries)
        parts += [f"unexpected {sort}: {unexpected}"] if unexpected else []
        parts += [f"missing {sort}: {missing}"] if missing else []
    return "\n".join(parts)
