"""
What becomes of a row of the app and its page in mode `both`. Pure.

The decision is that of the engine (row_decision), and so is the merge: the app's edit of the page takes the part of the
file.
"""

from dataclasses import dataclass
from enum import Enum, auto

from mirrord.binding.app_rows import AppRow, is_name_of
from mirrord.binding.mappings.mapping import Mapping
from mirrord.binding.page_edits import (
    RowChanges,
    changes_of,
    completed_text,
    edited_text,
    out_changes_of,
    with_keys_of_app,
    with_title_of_name,
)
from mirrord.binding.row_decision import BoundEntry, move_of
from mirrord.db.bindings.page_state import PageState
from mirrord.domain.entry import Base, Digest, EntryId, File, Kind, Place, Row, State
from mirrord.errors import Damaged
from mirrord.markdown.frontmatter.page_text import PageText
from mirrord.merge.edit_merge import merge
from mirrord.sync.decisions.entry_decision import Move, PlaceMove, plan_place


class TwoWayAct(Enum):
    """What is done in mode `both`."""

    NOTHING = auto()
    WAIT = auto()  # the page is not rendered yet
    RECORD = auto()  # both sides agree
    READ = auto()  # the page gets what the app says
    WRITE_BACK = auto()  # the row gets what the page says
    MERGE = auto()  # both changed
    DELETE_PAGE = auto()
    DELETE_ROW = auto()
    REVIVE_ROW = auto()  # the page was edited, and the app deleted its row
    FORGET = auto()  # neither side has it


_ACTS = {
    Move.NOTHING: TwoWayAct.NOTHING,
    Move.RENDER: TwoWayAct.WAIT,
    Move.ADOPT: TwoWayAct.RECORD,
    **dict.fromkeys((Move.INSERT, Move.REINSERT, Move.TO_ROW, Move.REVIVE), TwoWayAct.READ),
    Move.TO_FILE: TwoWayAct.WRITE_BACK,
    **dict.fromkeys((Move.MERGE, Move.SIBLING), TwoWayAct.MERGE),
    Move.ENTOMB: TwoWayAct.DELETE_PAGE,
    Move.TRASH: TwoWayAct.DELETE_ROW,
    Move.CREATE: TwoWayAct.REVIVE_ROW,
    Move.FORGET: TwoWayAct.FORGET,
}


def decide_two_way(bound: BoundEntry | None, digest: Digest | None, page: PageState | None) -> TwoWayAct:
    """
    What is done about a row of the app and its page.

    bound: None: they never agreed. digest: of the row; None: the app has none, or a deleted one. page: None: no row.
    """
    if bound is None and page is None:
        return TwoWayAct.NOTHING if digest is None else TwoWayAct.READ
    return _ACTS[move_of(bound, digest, page)]


@dataclass(frozen=True, slots=True)
class PageSide:
    """A version of a page: its text, the name of its file, and its parent."""

    text: str
    name: str | None
    parent: EntryId | None


@dataclass(frozen=True, slots=True)
class RowPlan:
    """
    What row and page become.

    text, parent: of the page. changes: of the row. moves: whether the row gets *parent*, and where it has a path the
    name of the page. rejected: the text of the page
    that does not fit that of the app, and is kept beside it; None: nothing was rejected. takes_back: an edit of what
    the app owns was undone.
    """

    text: str
    parent: EntryId | None
    changes: RowChanges
    moves: bool = False
    rejected: str | None = None
    takes_back: bool = False


@dataclass(frozen=True, slots=True)
class Subject:
    """A row of the app, its page, and where its parent in the app is."""

    entry: EntryId
    row: AppRow
    parent: EntryId | None
    mapping: Mapping


def plan_row(act: TwoWayAct, subject: Subject, page: PageSide, ancestor: PageSide | None) -> RowPlan:
    """
    The plan for READ, WRITE_BACK or MERGE.

    ancestor: the page as both sides agreed on it; None: not known.

    Raises:
        Damaged: one side cannot hold what the other says.
    """
    try:
        return _plan_act(act, subject, page, ancestor)
    except RecursionError as error:
        raise Damaged("its body or its front matter is nested too deep") from error


def _plan_act(act: TwoWayAct, subject: Subject, page: PageSide, ancestor: PageSide | None) -> RowPlan:
    if act is TwoWayAct.READ:
        text = edited_text(subject.entry, subject.row, subject.mapping, page.text)
        return RowPlan(text, subject.parent, out_changes_of(subject.row, subject.mapping, text))
    parent, moves = _merged_place(subject, page, ancestor)
    if act is TwoWayAct.MERGE:
        text, rejected = _merged_text(subject, page, ancestor)
    else:
        text, rejected = _named_text(subject, page, subject.row.title), None
    settled = with_keys_of_app(subject.row, subject.mapping, text)
    changes = changes_of(subject.entry, subject.row, subject.mapping, settled)
    return RowPlan(settled, parent, changes, moves, rejected, takes_back=settled != text)


def _named_text(subject: Subject, page: PageSide, agreed: str | None) -> str:
    """The text of the page with the keys that it has to have, and with the new name of its file as title."""
    text = completed_text(subject.entry, subject.row, subject.mapping, page.text)
    if subject.mapping.page.path is not None:  # which has the name of the file
        return text
    return with_title_of_name(text, page.name, agreed, subject.row)


def _merged_text(subject: Subject, page: PageSide, ancestor: PageSide | None) -> tuple[str, str | None]:
    """The text that both sides get, and what of the page does not fit into it."""
    entry, row, mapping = subject.entry, subject.row, subject.mapping
    mine = _named_text(subject, page, PageText(ancestor.text).views.title if ancestor is not None else None)
    if ancestor is None:
        text = edited_text(entry, row, mapping, mine)
        return text, page.text if text != mine else None
    theirs = edited_text(entry, row, mapping, ancestor.text)
    merged = merge(ancestor.text, theirs, mine, mapping.dialect)
    return (theirs, page.text) if merged is None else (merged, None)


def _name_in_path(subject: Subject, name: str | None) -> str:
    """The name of a page in a path of the app: *name*, or that of the row; "" in an app without paths."""
    if subject.mapping.page.path is None:
        return ""
    return subject.row.name if name is None or is_name_of(name, subject.row) else name


def _merged_place(subject: Subject, page: PageSide, ancestor: PageSide | None) -> tuple[EntryId | None, bool]:
    """The parent that both sides get, and whether that is a move in the app, or a new name in its path."""
    if ancestor is None:
        return subject.parent, False
    places = [
        Place(parent, _name_in_path(subject, name))
        for parent, name in ((ancestor.parent, ancestor.name), (subject.parent, None), (page.parent, page.name))
    ]
    digest = subject.row.digest
    base = Base(subject.entry, Kind.PAGE, "", places[0], 0, digest, None)
    row = Row(subject.entry, Kind.PAGE, places[2], True, 0, digest, False)
    move = plan_place(State(subject.entry, base, File(Kind.PAGE, "", places[1], digest), row))
    return (page.parent, True) if move is PlaceMove.TO_FILE else (subject.parent, False)
