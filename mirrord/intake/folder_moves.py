"""
Changes of pages among folders that move, too.

Each change is read with the folders as they were at its time. Where a folder enters or leaves the directory of sources
or cases as a whole, its move is the change of each page in it: their rows do not change, so no note is about them.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from mirrord.db.change_notes import ChangedPage, FolderPage, PageVersion
from mirrord.domain.entry import EntryId
from mirrord.domain.event import Change, EventType
from mirrord.domain.place import name_key
from mirrord.intake.change_events import Facts, SourceTree, change_of, events_of
from mirrord.research.surveys import survey_columns

FolderPageEvent = tuple[EntryId, EventType, Facts]


@dataclass(frozen=True, slots=True)
class TimedChange:
    """A change of a page, and the tree before and after it."""

    page: ChangedPage
    change: Change
    earlier: SourceTree
    later: SourceTree


def changes_over_time(current: SourceTree, pages: Sequence[ChangedPage]) -> list[TimedChange]:
    """The changes of *pages*, which are in the order of time; *current*: the tree after all of them."""
    changes: list[TimedChange] = []
    later = current
    for _, transaction in groupby(reversed(pages), key=lambda page: page.note.changed_at):
        together = list(transaction)
        earlier = _rewind(later, together)
        changes += [TimedChange(page, change_of(page, earlier, later), earlier, later) for page in together]
        later = earlier
    return changes[::-1]


def enters_or_leaves(timed: TimedChange) -> bool:
    """Whether a folder was moved into a directory of sources or cases, or out of one."""
    page = timed.page
    if not _is_move(page) or not (page.note.was_folder and page.note.is_folder):
        return False
    assert page.before is not None
    before, after = timed.earlier.directory_of(page.before), timed.later.directory_of(page.after)
    roots = [name_key(root) + "/" for root in (timed.later.sources, survey_columns.DIRECTORY)]
    return any(_is_inside(before, root) is not _is_inside(after, root) for root in roots)


def events_in_folder(timed: TimedChange, pages: Sequence[FolderPage]) -> Iterator[FolderPageEvent]:
    """The events of *pages*, everything in a folder at the time of its move."""
    folder = timed.page
    assert folder.before is not None
    versions = {inner.entry: inner.version for inner in pages}
    earlier = timed.earlier.with_versions({**versions, folder.note.entry: folder.before})
    later = timed.later.with_versions({**versions, folder.note.entry: folder.after})
    for inner in pages:
        note = replace(folder.note, entry=inner.entry, was_folder=inner.is_folder, is_folder=inner.is_folder)
        page = ChangedPage(note, inner.version, inner.version, segments=0)
        change = change_of(page, earlier, later)
        if change.was is None or change.now is None:
            yield from ((inner.entry, kind, facts) for kind, facts in events_of(page, change))


def _rewind(tree: SourceTree, pages: Sequence[ChangedPage]) -> SourceTree:
    """*tree* before the changes of *pages*, the latest first."""
    return tree.with_versions(
        {
            page.note.entry: page.before
            for page in pages
            if page.before is not None and page.before.name is not None and page.note.was_folder
        }
    )


def _is_move(page: ChangedPage) -> bool:
    before, after = page.before, page.after
    if before is None or before.is_deleted or after.is_deleted:
        return False
    return _place_of(before) != _place_of(after)


def _place_of(version: PageVersion) -> tuple[EntryId | None, str | None]:
    return version.parent, version.name


def _is_inside(directory: str, root: str) -> bool:
    return f"{name_key(directory)}/".startswith(root)
