"""Groups of decisions for rows that are carried out together, or wait together. Pure."""

from collections.abc import Collection, Iterable, Sequence

from mirrord.domain.entry import EntryId, File, Kind
from mirrord.domain.place import name_key
from mirrord.sync.decisions.entry_decision import Decision, Move, PlaceMove

_NEW = frozenset({Move.INSERT, Move.REINSERT, Move.REVIVE})


def group_by_names(decisions: Iterable[Decision]) -> list[list[Decision]]:
    """Group moves in which one takes the name that another gives up; a group stands at the place of its first move."""
    position_of: dict[tuple[object, ...], int] = {}  # of the group, by the slots of its members
    groups: list[list[Decision]] = []
    for decision in decisions:
        linked = {position_of[slot] for slot in _slots_of(decision) if slot in position_of}
        first, *others = sorted(linked or {len(groups)})
        if not linked:
            groups.append([])
        joining = [member for other in others for member in groups[other]] + [decision]
        groups[first] += joining
        for other in others:
            groups[other] = []
        position_of.update((slot, first) for member in joining for slot in _slots_of(member))
    return [group for group in groups if group]


def _slots_of(decision: Decision) -> list[tuple[object, ...]]:
    """The slots (parent, name) that a move gives up or takes, or that a new row takes."""
    file, row, is_move = decision.state.file, decision.state.row, decision.place is PlaceMove.TO_ROW
    if not isinstance(file, File) or not (is_move or decision.move in _NEW):
        return []
    places = [file.place, row.place] if is_move and row else [file.place]
    return [(place.parent, name_key(place.name), file.kind is Kind.ATTACHMENT) for place in places]


def select_waiting(
    groups: Sequence[Sequence[Decision]], locked: Collection[EntryId], waiting: Collection[EntryId] = ()
) -> set[EntryId]:
    """
    The entries that wait because an app holds their rows, or a row that they depend on. Parents come first in *groups*.

    Moves that hand names on wait together, with all that came along in their directories: with a part of them recorded,
    the path of a waiting file belongs to another row, and the next look could not tell which row the file left.
    waiting: entries of earlier decisions that wait already.
    """
    blocked, moving = set[EntryId](), set(waiting)
    for group in groups:
        if any(decision.state.entry in locked or _came_along(decision, moving) for decision in group):
            blocked |= {decision.state.entry for decision in group}
            moving |= {decision.state.entry for decision in group if _is_moving(decision)}
    return blocked


def moving_entries(decisions: Iterable[Decision]) -> set[EntryId]:
    """The entries that go to other places, or that came along with such entries."""
    return {decision.state.entry for decision in decisions if _is_moving(decision)}


def _is_moving(decision: Decision) -> bool:
    return decision.place is PlaceMove.TO_ROW or _is_at_new_path(decision)


def _came_along(decision: Decision, moving: Collection[EntryId]) -> bool:
    """Whether a file has a new path because the directory of a waiting entry moved."""
    file = decision.state.file
    return isinstance(file, File) and file.place.parent in moving and _is_at_new_path(decision)


def _is_at_new_path(decision: Decision) -> bool:
    file, base = decision.state.file, decision.state.base
    return file is not None and base is not None and base.path != file.path
