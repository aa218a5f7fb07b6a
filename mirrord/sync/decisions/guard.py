"""
When to stop: losses that look like an accident wait for a person, an entry in a livelock moves no more. Pure.

An entry is in a livelock while it keeps moving although no program writes anything new.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum

from mirrord.domain.entry import Digest, Place

MIN_DELETIONS = 25
MAX_DELETED_SHARE = 0.10  # of a tenant's live entries
QUIET_SECONDS = 2.0  # seconds without a further deletion before the gathered ones are weighed
RECENT_SECONDS = 600.0  # seconds for which earlier deletions of the same side count, too
MIN_FREE_BYTES = 1 << 30  # bytes of the tree's file system; or
MIN_FREE_SHARE = 0.05  # this share of it, if that is less


@dataclass(frozen=True, slots=True)
class Alarm:
    """The cause of a halt: *reason* is a constant, *sentence* is for people."""

    reason: str
    sentence: str


@dataclass(frozen=True, slots=True)
class _Loss:
    """The words for a loss, by the side on which it was seen. {n}: number of entries."""

    reason: str
    happened: str
    stays: str
    apply: str
    discard: str


_LOSSES = {
    "file": _Loss(
        "mass-delete",
        "are gone from the files",
        "their rows stay",
        "{n} rows are deleted; their history stays",
        "{n} files come back from their rows",
    ),
    "row": _Loss(
        "mass-delete",
        "are gone from the rows",
        "their files stay",
        "{n} files go to the trash",
        "{n} rows live again, from their files",
    ),
    "emptied": _Loss(
        "mass-empty",
        "were emptied in the files",
        "their rows stay as they are",
        "{n} pages become empty; their history stays",
        "{n} files get the text of their rows again",
    ),
    "vanished": _Loss(
        "database-shrank",
        "vanished from the database without having been deleted",
        "their files stay",
        "{n} files go to the trash",
        "{n} rows are made again from their files",
    ),
}
_LOSSES["app"] = _Loss(
    "mass-delete",
    "are gone from the app",
    "their pages stay",
    "{n} pages are deleted; their history stays",
    "nothing changes",
)
_LOSSES["page"] = _Loss(
    "mass-delete",
    "are gone from the pages of the app",
    "their rows stay",
    "{n} rows are deleted in the app",
    "nothing changes",
)
_REWIND = _Loss(
    "rewind",
    "",
    "",
    "deletions spread again",
    "everything is compared once more, nothing being deleted; then deletions spread again",
)


def weigh_deletions(side: str, deletions: int, recent: int, total: int) -> Alarm | None:
    """
    The alarm for too many losses at once; None if they may spread to the other side.

    side: where they were seen: "file", "row", "emptied" (files without a text), "vanished" (rows without a tombstone),
    "app" (rows of a bound app), "page" (pages of such rows).
    recent: deletions of the last ten minutes. total: live entries before the loss.
    """
    limit = max(MIN_DELETIONS, int(total * MAX_DELETED_SHARE))
    if deletions + recent <= limit:
        return None
    loss = _LOSSES[side]
    return Alarm(
        loss.reason,
        f"{deletions} of {total} entries {loss.happened}"
        + (f" ({recent} more in the last ten minutes)" if recent else "")
        + f"; {loss.stays} until you decide, because more than {limit} at once are often an accident.",
    )


def describe_effects(side: str | None, count: int) -> tuple[str, str]:
    """The effects of applying and of discarding a halt. side None: a side went back in time."""
    loss = _LOSSES[side] if side is not None else _REWIND
    return loss.apply.format(n=count), loss.discard.format(n=count)


def check_root(*, exists: bool, same: bool) -> Alarm | None:
    """The alarm for a missing or replaced root. Nothing is read or written while there is one."""
    if not exists:
        return Alarm("root-missing", "The mirror's root is missing: an unmounted disk, or moved away. Put it back.")
    if not same:
        return Alarm(
            "root-replaced",
            "The mirror's root is another directory than at start: another disk, or a new copy. "
            "Put the old one back, or restart mirrord to look at the new one.",
        )
    return None


def check_emptied(files: int, based: int) -> Alarm | None:
    """The alarm for a tree that vanished at once. files: synced files on disk; based: entries with a base."""
    if files or based < 2:
        return None
    return Alarm("root-emptied", f"All {based} synced files are gone from the tree; their rows stay until you decide.")


def check_all(side: str, losses: int, based: int) -> Alarm | None:
    """The alarm for the loss of a whole side, of any size. losses, based: without folders."""
    if losses < based or based < 2:
        return None
    loss = _LOSSES[side]
    return Alarm(f"all-{loss.reason}", f"All {based} synced entries {loss.happened}; {loss.stays} until you decide.")


def check_space(free: int, total: int) -> Alarm | None:
    """The alarm for a nearly full file system, on which rows are no longer written into files."""
    if free >= min(MIN_FREE_BYTES, int(total * MIN_FREE_SHARE)):
        return None
    return Alarm(
        "disk-full",
        f"Only {free >> 20} MiB of {total >> 20} MiB are free where the tree is: rows are not written into files until "
        "there is more; files still go to rows.",
    )


MAX_OWN_MOVES = 20  # in WINDOW_SECONDS, without new writes
WINDOW_SECONDS = 60.0
MAX_LISTED_MOVES = 6  # last moves, shown to a person

Trait = Digest | str | Place | None


class Direction(Enum):
    """The side that a move writes; the value is for people."""

    TO_ROW = "file → row"
    TO_FILE = "row → file"
    BOTH = "merged"


@dataclass(frozen=True, slots=True)
class ShownState:
    """The text and the name of one side; the name is a path for a file and a place for a row."""

    digest: Digest | None = None
    name: Trait = None


NOTHING_SHOWN = ShownState()


@dataclass(frozen=True, slots=True)
class PlannedMove:
    """
    One planned move.

    planned_at: monotonic time. is_foreign: the row's version was not written in a transaction of mirrord.
    """

    planned_at: float
    way: Direction
    file: ShownState
    row: ShownState
    version: int = 0
    is_foreign: bool = True

    @property
    def description(self) -> str:
        """The move, described for people."""
        return f"{self.way.value} (version {self.version})"


@dataclass(frozen=True, slots=True)
class MoveHistory:
    """
    The recent moves of one entry.

    shown_traits: last monotonic time of each text and name that the sides showed. own_move_times: times of its own
    moves since the last new write. moves: the last moves, the newest last. is_stopped: the entry waits for a new write.
    """

    shown_traits: Mapping[Trait, float] = field(default_factory=dict)
    own_move_times: tuple[float, ...] = ()
    moves: tuple[PlannedMove, ...] = ()
    is_stopped: bool = False


def add_move(course: MoveHistory, turn: PlannedMove) -> MoveHistory:
    """Add *turn* to *course*. The move is carried out unless the new course is stopped."""
    since = turn.planned_at - WINDOW_SECONDS
    if not course.is_stopped:
        course = replace(course, shown_traits={trait: at for trait, at in course.shown_traits.items() if at > since})
    is_caused = is_caused_by_others(course, turn)
    if course.is_stopped and not is_caused:
        return course  # unchanged while stopped, so that its time does not run out
    own_moves = () if is_caused else (*(at for at in course.own_move_times if at > since), turn.planned_at)
    shown_traits = {**course.shown_traits, **dict.fromkeys(_traits_of(turn), turn.planned_at)}
    return MoveHistory(
        shown_traits, own_moves, (*course.moves, turn)[-MAX_LISTED_MOVES:], len(own_moves) > MAX_OWN_MOVES
    )


def without_last_move(course: MoveHistory) -> MoveHistory:
    """*course* before its last move, which was not carried out; what the sides showed remains known."""
    return replace(course, own_move_times=course.own_move_times[:-1], moves=course.moves[:-1])


def is_caused_by_others(course: MoveHistory, turn: PlannedMove) -> bool:
    """Whether a program other than mirrord certainly caused *turn*."""
    if not course.moves:
        return True
    last = course.moves[-1]
    evidence = _traits_of(turn) if course.is_stopped and turn.is_foreign else _foreign_traits(last, turn)
    return any(trait not in course.shown_traits for trait in evidence) or _is_source_changed(last, turn)


def _foreign_traits(last: PlannedMove, turn: PlannedMove) -> Iterator[Trait]:
    """The traits that only another program can have written, if they are new."""
    yield turn.file.digest
    if turn.is_foreign and last.way is not Direction.BOTH:
        yield turn.row.digest
    if last.way is Direction.TO_ROW:
        yield turn.file.name
    if turn.is_foreign and last.way is Direction.TO_FILE:
        yield turn.row.name


def _is_source_changed(last: PlannedMove, turn: PlannedMove) -> bool:
    """Whether another program changed the source of the last move after it."""
    if turn.way is not last.way:
        return False
    if turn.way is Direction.TO_ROW:
        return turn.file != last.file
    return turn.way is Direction.TO_FILE and turn.is_foreign and turn.version != last.version


def _traits_of(turn: PlannedMove) -> Iterator[Trait]:
    yield from (turn.file.digest, turn.file.name, turn.row.digest, turn.row.name)
