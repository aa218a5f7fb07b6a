"""Where a moved entry stands among its new siblings: as few positions as possible. Nothing here touches the world."""

from collections.abc import Sequence
from dataclasses import dataclass

from mirrord.domain.entry import EntryId
from mirrord.domain.ordering import between
from mirrord.domain.place import name_key
from mirrord.web.rows.tree import Node

MOST = 100  # siblings that may get a position of their own for the sake of one move


@dataclass(frozen=True, slots=True)
class Stand:
    """position: of the moved entry; None: by its title. others: siblings that need one too, in order."""

    position: str | None
    others: tuple[tuple[EntryId, str], ...] = ()


def stand(moved: Node, siblings: Sequence[Node], index: int) -> Stand | None:
    """
    Let *moved* come before the sibling number *index* (behind all of them: how many there are).

    siblings: all of them in their order, without *moved*. None: too many of them would need a position.
    """
    before = siblings[index - 1] if index else None
    after = siblings[index] if index < len(siblings) else None
    if _is_by_title(moved, before, after):
        return Stand(None)
    if before is None or before.position is not None:
        found = between(before.position if before else None, after.position if after else None)
        return Stand(found) if found is not None else _anew(siblings, index)
    placed = [one for one in siblings[:index] if one.position is not None]
    return _behind(placed[-1].position if placed else None, siblings[len(placed) : index])


def _is_by_title(moved: Node, before: Node | None, after: Node | None) -> bool:
    """Whether it stands there without any position."""
    if any(one is not None and one.position is not None for one in (before, after)):
        return after is None and before is None
    key = name_key(moved.title)
    return (before is None or name_key(before.title) <= key) and (after is None or key <= name_key(after.title))


def _behind(position: str | None, unplaced: Sequence[Node]) -> Stand | None:
    if len(unplaced) > MOST:
        return None
    others = []
    for one in unplaced:
        position = between(position, None)
        if position is None:
            return None
        others.append((one.id, position))
    last = between(position, None)
    return Stand(last, tuple(others)) if last is not None else None


def _anew(siblings: Sequence[Node], index: int) -> Stand | None:
    """Positions that leave no room, or that two siblings share: all that have one get a new one."""
    placed = [number for number, one in enumerate(siblings) if one.position is not None]
    count = max(index, len(placed))
    if count > MOST:
        return None
    position, own, others = None, None, []
    for number in range(count + 1):
        position = between(position, None)
        assert position is not None
        if number == index:
            own = position
        else:
            others.append((siblings[number - (number > index)].id, position))
    return Stand(own, tuple(others))
