"""The position of a moved entry among its new siblings, changing as few positions as possible."""

from collections.abc import Sequence
from dataclasses import dataclass

from mirrord.domain.entry import EntryId
from mirrord.domain.place import name_key, position_between
from mirrord.web.rows.tree_rows import Node

MAX_NEW_POSITIONS = 100  # siblings that may get a position because of one move


@dataclass(frozen=True, slots=True)
class Placement:
    """
    position: of the moved entry; None: sorted by its title. sibling_positions: siblings that also need one, in order.
    """

    position: str | None
    sibling_positions: tuple[tuple[EntryId, str], ...] = ()


def place_among(moved: Node, siblings: Sequence[Node], index: int) -> Placement | None:
    """
    Place *moved* before the sibling number *index* (the number of siblings: after all of them).

    siblings: all of them in order, without *moved*. Returns None if too many of them would need a position.
    """
    before = siblings[index - 1] if index else None
    after = siblings[index] if index < len(siblings) else None
    if _is_placed_by_title(moved, before, after):
        return Placement(None)
    if before is None or before.position is not None:
        position = position_between(before.position if before else None, after.position if after else None)
        return Placement(position) if position is not None else _renumber(siblings, index)
    positioned = [sibling for sibling in siblings[:index] if sibling.position is not None]
    return _position_after(positioned[-1].position if positioned else None, siblings[len(positioned) : index])


def _is_placed_by_title(moved: Node, before: Node | None, after: Node | None) -> bool:
    """Whether sorting by title suffices for this place."""
    if any(neighbour is not None and neighbour.position is not None for neighbour in (before, after)):
        return after is None and before is None
    key = name_key(moved.title)
    return (before is None or name_key(before.title) <= key) and (after is None or key <= name_key(after.title))


def _position_after(position: str | None, unplaced: Sequence[Node]) -> Placement | None:
    if len(unplaced) > MAX_NEW_POSITIONS:
        return None
    others = []
    for sibling in unplaced:
        position = position_between(position, None)
        if position is None:
            return None
        others.append((sibling.id, position))
    last = position_between(position, None)
    return Placement(last, tuple(others)) if last is not None else None


def _renumber(siblings: Sequence[Node], index: int) -> Placement | None:
    """Assign new positions to all siblings that have one: there is no room, or two of them share one."""
    positioned = [number for number, sibling in enumerate(siblings) if sibling.position is not None]
    count = max(index, len(positioned))
    if count > MAX_NEW_POSITIONS:
        return None
    position, moved_position, others = None, None, []
    for number in range(count + 1):
        position = position_between(position, None)
        assert position is not None
        if number == index:
            moved_position = position
        else:
            others.append((siblings[number - (number > index)].id, position))
    return Placement(moved_position, tuple(others))
