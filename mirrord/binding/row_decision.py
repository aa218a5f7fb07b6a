"""
What to do about a row of an app and its page: the decision of the engine, read for a binding. Pure.

The row of the app takes the part of the file, and the page that of the row (docs/design/sync.md).
"""

from dataclasses import dataclass, replace
from enum import Enum, auto

from mirrord.db.bindings.page_state import PageState
from mirrord.domain.entry import Base, Digest, EntryId, File, Kind, Place, Row, State, digest_of
from mirrord.sync.decisions.entry_decision import Move, plan_content

_PLACE = Place(None, "")  # the digest of a row holds its place


@dataclass(frozen=True, slots=True)
class BoundEntry:
    """The state that the row of the app and its page last agreed on. app_version: of the row. version: of the page."""

    external_id: str
    entry: EntryId
    version: int
    digest: Digest
    app_version: str


class Act(Enum):
    """What is done in mode `in`, where the app is right."""

    NOTHING = auto()
    RECORD = auto()  # both sides agree
    WRITE = auto()  # the page gets what the app says
    TAKE_BACK = auto()  # the page was changed, and gets what the app says
    DELETE = auto()  # the app deleted the row
    FORGET = auto()  # neither side has it


_ACTS = {
    Move.NOTHING: Act.NOTHING,
    Move.ADOPT: Act.RECORD,
    **dict.fromkeys((Move.INSERT, Move.REINSERT, Move.TO_ROW, Move.SIBLING), Act.WRITE),
    **dict.fromkeys((Move.TO_FILE, Move.MERGE, Move.TRASH, Move.REVIVE), Act.TAKE_BACK),
    **dict.fromkeys((Move.ENTOMB, Move.CREATE), Act.DELETE),
    Move.FORGET: Act.FORGET,
}


def decide_row(bound: BoundEntry | None, digest: Digest | None, page: PageState | None) -> Act:
    """
    What is done about a row of the app and its page.

    bound: None: they never agreed. digest: of the row; None: the app has none, or a deleted one. page: None: no row.
    """
    entry = bound.entry if bound is not None else page.entry if page is not None else None
    if entry is None:
        return Act.NOTHING if digest is None else Act.WRITE
    move = move_of(bound, digest, replace(page, is_ahead=False) if page is not None else None)
    if bound is None and move in (Move.CREATE, Move.REVIVE, Move.TO_FILE, Move.TRASH):
        return Act.NOTHING if digest is None else Act.WRITE  # a page from an earlier binding, which the app owns
    return _ACTS[move]


def move_of(bound: BoundEntry | None, digest: Digest | None, page: PageState | None) -> Move:
    """The move of the engine; either *bound* or *page* is known."""
    subject = bound if bound is not None else page
    assert subject is not None
    entry, base, row = subject.entry, None, None
    if bound is not None:
        base = Base(entry, Kind.PAGE, None, _PLACE, bound.version, bound.digest, None)
    file = File(Kind.PAGE, "", _PLACE, digest) if digest is not None else None
    if page is not None:
        ahead = frozenset({"content"} if page.is_ahead else ())
        digest_of_row = _digest_of_page(bound, page)
        row = Row(entry, Kind.PAGE, _PLACE, True, page.version, digest_of_row, page.is_deleted, ahead)
    return plan_content(State(entry, base, file, row))


def _digest_of_page(bound: BoundEntry | None, page: PageState) -> Digest:
    """The digest of the row while its page has the version of the base; else one that no row has."""
    if bound is not None and bound.version == page.version:
        return bound.digest
    return digest_of(f"version {page.version} of {page.entry}".encode())
