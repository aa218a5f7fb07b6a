"""The versions of one page as people and agents ask for them, and the difference of two."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from mirrord.db.content import entry_versions
from mirrord.db.content.entry_versions import Revision
from mirrord.db.database import Connection
from mirrord.documents.link_places import paths_of
from mirrord.domain.entry import EntryId, TenantId
from mirrord.errors import UserError
from mirrord.operations.restore import directories_of, find_page
from mirrord.operations.three_way_diff import diff_lines


@dataclass(frozen=True, slots=True)
class History:
    """The versions of one page, the oldest first, and the directories of its versions by id."""

    page: EntryId
    path: str
    revisions: Sequence[Revision]
    directories: dict[EntryId | None, str]

    def place_of(self, revision: Revision) -> str:
        """The place of a version, for people; the folder has its current name."""
        directory = self.directories.get(revision.parent, "(a folder that is gone)")
        return f"{directory}/{revision.name}" if directory else revision.name


@dataclass(frozen=True, slots=True)
class Difference:
    """Two versions of a page and the difference of their texts."""

    history: History
    before: Revision
    after: Revision
    lines: Sequence[str]

    @property
    def other_changes(self) -> dict[str, tuple[Any, Any]]:
        """Other differences: {place, title, deleted: (before, after)}."""
        pairs = {
            "place": (self.history.place_of(self.before), self.history.place_of(self.after)),
            "title": (self.before.title, self.after.title),
            "deleted": (self.before.is_deleted, self.after.is_deleted),
        }
        return {name: pair for name, pair in pairs.items() if pair[0] != pair[1]}


async def load_page_history(connection: Connection, tenant: TenantId, reference: str) -> History:
    """The versions of the page that *reference* means. Raises UserError if it means none, or several."""
    page = await find_page(connection, tenant, reference)
    versions = await entry_versions.load_history(connection, tenant, page)
    directories = await directories_of(connection, tenant, {revision.parent for revision in versions})
    path = (await paths_of(connection, tenant, [page]))[page]
    return History(page, path, versions, directories)


async def compare_versions(
    connection: Connection, tenant: TenantId, reference: str, before: int | None, after: int | None
) -> Difference:
    """
    Two versions of a page and their difference.

    after: default the newest; before: default the one before the newest. Raises UserError as load_page_history(), and
    for a version that the page does not have.
    """
    return await compare_in(connection, tenant, await load_page_history(connection, tenant, reference), before, after)


async def compare_in(
    connection: Connection, tenant: TenantId, loaded: History, before: int | None, after: int | None
) -> Difference:
    """As compare_versions(), of a loaded history."""
    newest = loaded.revisions[-1].version
    second = after if after is not None else newest
    first = before if before is not None else max(newest - 1, loaded.revisions[0].version)
    old, new = find_revision(loaded, first), find_revision(loaded, second)
    texts = [
        await entry_versions.load_text(connection, tenant, loaded.page, revision.version) or ""
        for revision in (old, new)
    ]
    return Difference(loaded, old, new, diff_lines(texts[0], texts[1], f"version {first}", f"version {second}"))


def find_revision(loaded: History, number: int) -> Revision:
    """The version of this number. Raises UserError if the page does not have it."""
    for revision in loaded.revisions:
        if revision.version == number:
            return revision
    numbers = f"{loaded.revisions[0].version} to {loaded.revisions[-1].version}"
    raise UserError(f"{loaded.path} has no version {number}; it has {numbers}.")
