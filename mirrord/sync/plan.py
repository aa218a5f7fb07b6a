"""Decide about one entry's content: the table of docs/design/sync.md, Content, as one pure function."""

from enum import Enum, auto

from mirrord.domain.entry import Digest
from mirrord.domain.state import NO_TEXT, Base, File, Row, State, UnreadableFile


class Move(Enum):
    """One planned action on one entry."""

    NOTHING = auto()
    RENDER = auto()  # an app wrote the row's views or text: derive the rest from them
    WAIT = auto()  # the file cannot be judged now
    INSERT = auto()  # a new file: a new row
    REINSERT = auto()  # the row vanished without a tombstone: again under the same id
    CREATE = auto()  # a row without a file: a new file
    ADOPT = auto()  # the sides agree, the base is stale: record it
    TO_ROW = auto()  # the file changed
    TO_FILE = auto()  # the row changed, or the file is an older revision
    MERGE = auto()  # both changed, differently
    SIBLING = auto()  # no common ancestor: the row keeps the name, the file's text becomes a conflict page
    REVIVE = auto()  # the file is newer than the row's deletion
    ENTOMB = auto()  # the file is gone: the row becomes a tombstone
    TRASH = auto()  # the row is deleted: the file goes to the trash
    FORGET = auto()  # both are gone: drop the base


DELETIONS = frozenset({Move.ENTOMB, Move.TRASH})


def plan_content(state: State, *, seen_version: int | None = None, adopting: bool = False) -> Move:
    """
    The move for *state*'s content.

    seen_version: the newest version in the row's history whose digest is the file's; None: those bytes are new.
    adopting: the first pass over a tree whose past is not known here: nothing is deleted.
    """
    row, file = state.row, state.file
    if row is not None and not row.deleted and (row.ahead or row.digest is None):
        return Move.RENDER  # row 0
    if isinstance(file, UnreadableFile):
        return Move.WAIT  # rows 17, 19, 20
    if row is not None and row.purged:
        return _plan_purged(state.base, file)
    if file is None:
        return _plan_absent(state, adopting)
    if row is None:
        return Move.INSERT if state.base is None else Move.REINSERT  # rows 1, 21
    if row.deleted:
        return _plan_deleted(state, file, seen_version, adopting)
    if state.base is None:
        return _plan_without_base(file, row, seen_version)
    return _plan_both_sides(state.base.version, state.base.digest, file.digest, row, seen_version, adopting)


def _plan_absent(state: State, adopting: bool) -> Move:
    row, base = state.row, state.base
    if row is None or row.deleted:
        return Move.NOTHING if base is None else Move.FORGET  # rows 23, 16, 22
    if base is None or row.digest != base.digest:
        return Move.CREATE  # rows 2, 14: an edit beats a deletion
    return Move.CREATE if adopting else Move.ENTOMB  # row 12


def _plan_deleted(state: State, file: File, seen_version: int | None, adopting: bool) -> Move:
    base = state.base
    if base is not None and file.digest == base.digest:
        return Move.TRASH  # row 13
    if adopting and seen_version is not None:
        return Move.TRASH  # row 5 under adoption rules: an old copy of something deleted
    return Move.REVIVE  # rows 5, 15


def _plan_purged(base: Base | None, file: File | None) -> Move:
    """The move for a purged row: this mirror was away so long that only its base is left of the deletion."""
    if file is None:
        return Move.NOTHING if base is None else Move.FORGET
    if base is None:
        return Move.INSERT
    return Move.TRASH if file.digest == base.digest else Move.REINSERT


def _plan_without_base(file: File, row: Row, seen_version: int | None) -> Move:
    if file.digest == row.digest:
        return Move.ADOPT  # row 3
    if seen_version is not None or file.digest == NO_TEXT:
        return Move.TO_FILE  # row 4: a stale copy
    if row.digest == NO_TEXT:
        return Move.TO_ROW  # a folder gets its page file
    return Move.SIBLING  # row 4


def _plan_both_sides(
    version: int, base: Digest, file: Digest, row: Row, seen_version: int | None, adopting: bool
) -> Move:
    if file == row.digest:
        return Move.NOTHING if base == file and version == row.version else Move.ADOPT  # rows 6, 9
    if adopting and seen_version is not None:
        return Move.TO_FILE  # an older revision came back with the tree: stale, not an edit
    if row.digest == base:
        return Move.TO_ROW  # row 7
    if file == base:
        return Move.TO_FILE  # row 8
    if seen_version is not None and version < seen_version <= row.version:
        return Move.TO_FILE  # row 10: our own write, not yet recorded
    if file == NO_TEXT:
        return Move.TO_FILE  # row 14: the page file is gone, its directory is not; the row's edit beats that
    if row.digest == NO_TEXT:
        return Move.TO_ROW
    return Move.MERGE  # row 11
