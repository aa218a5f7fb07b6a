"""
PURE: in which order files and directories get to their new paths, where paths of some are targets of others.

Sources are paths of the tree as it is, targets of the tree as it is to be: a page that moves along with its
folder and gets a new name there goes from `Old/a.md` to `New/b.md`.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum, auto

from mirrord.domain.entry import EntryId
from mirrord.mirror.label import parked_name
from mirrord.mirror.layout import carried, parent_of

Key = tuple[EntryId, bool]  # whose it is; whether it is the entry's directory, not its file


@dataclass(frozen=True, slots=True)
class Wish:
    """What has to get where."""

    key: Key
    source: str
    target: str


class Act(Enum):
    """What one step does."""

    RENAME = auto()  # source to target, which is free
    EXCHANGE = auto()  # source and target, which both hold something, in one go
    PARK = auto()  # from source to an own place outside the tree
    UNPARK = auto()  # from there to target, which is free


@dataclass(frozen=True, slots=True)
class Step:
    """One call. Paths are those of the moment when all earlier steps are done. final: where it is to be in the end."""

    act: Act
    key: Key
    source: str
    target: str
    final: str


def needed(wishes: Iterable[Wish]) -> list[Wish]:
    """Without those that are where they belong; one at its path is not, if a directory above it leaves with it."""
    found: list[Wish] = []
    leaving: set[str] = set()
    for wish in sorted(wishes, key=lambda wish: wish.source.count("/")):
        if wish.source != wish.target or not leaving.isdisjoint(_above(wish.source)):
            found.append(wish)
            leaving.add(wish.source)
    return found


def landings(wishes: Iterable[Wish]) -> dict[Key, str]:
    """
    Where, in the tree as it is, lies what has each wish's target now, if anything is there.

    Wishes whose target is free by then, because a directory above it leaves, are not in the result.
    """
    wishes = list(wishes)
    leaving = {wish.source: wish.key for wish in wishes}
    arriving = {wish.target: wish.source for wish in wishes}
    found = ((wish.key, _landing(wish.target, leaving, arriving)) for wish in wishes)
    return {key: place for key, place in found if isinstance(place, str)}


def _landing(target: str, leaving: Mapping[str, Key], arriving: Mapping[str, str]) -> str | Key:
    """Where that is; or whose leaving makes the target free."""
    above = parent_of(target)
    while above and above not in arriving:
        if above in leaving:
            return leaving[above]
        above = parent_of(above)
    if not above:
        return target
    found = arriving[above] + target[len(above) :]
    inner = parent_of(found)
    while inner != arriving[above]:
        if inner in leaving:
            return leaving[inner]
        inner = parent_of(inner)
    return found


@dataclass(slots=True)
class Plan:
    """steps: in order. waiting: wishes whose target is held by what does not move, or by one that waits itself."""

    steps: list[Step] = field(default_factory=list)
    waiting: list[Wish] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Ground:
    """
    What a plan is for.

    park: the directory outside the tree where something may wait for a moment.
    exchanges: whether two names can be exchanged in one go. fold: paths it makes equal are one to the file system.
    """

    park: str
    exchanges: bool = True
    fold: Callable[[str], str] = str


def plan_moves(wishes: Iterable[Wish], held: Mapping[Key, Key | None], ground: Ground) -> Plan:
    """
    An order in which every wish, all of them needed, comes true but those that have to wait.

    held: whose target is taken now, and by which wish's source; None: by something that stays.
    """
    wishes = sorted(wishes, key=lambda wish: (wish.target.count("/"), wish.target))
    blocked = _blocked(wishes, held)
    board = _Board([wish for wish in wishes if wish.key not in blocked], ground)
    return Plan(board.solve(), [wish for wish in wishes if wish.key in blocked])


def _blocked(wishes: Sequence[Wish], held: Mapping[Key, Key | None]) -> set[Key]:
    """Wishes that cannot come true now: something stays in their place, or the directory above cannot come or go."""
    arriving = {wish.target: wish.key for wish in wishes}
    leaving, sources = {wish.source: wish.key for wish in wishes}, {wish.target: wish.source for wish in wishes}
    hinders: dict[Key, list[Key]] = {}
    for wish in wishes:
        if not isinstance(leaver := _landing(wish.target, leaving, sources), str):
            hinders.setdefault(leaver, []).append(wish.key)
        entry, is_directory = wish.key
        hinders.setdefault((entry, not is_directory), []).append(wish.key)  # a folder note moves as one
        for key in [arriving[above] for above in _above(wish.target) if above in arriving]:
            hinders.setdefault(key, []).append(wish.key)
        if (holder := held.get(wish.key)) is not None:
            hinders.setdefault(holder, []).append(wish.key)
    pending = [wish.key for wish in wishes if wish.key in held and held[wish.key] is None]
    blocked = set(pending)
    while pending:
        more = set(hinders.get(pending.pop(), ())) - blocked
        blocked |= more
        pending += more
    return blocked


def _above(path: str) -> Iterator[str]:
    while path := parent_of(path):
        yield path


class _Board:
    """The tree, as far as the wishes are concerned, while steps are added."""

    def __init__(self, wishes: Sequence[Wish], ground: Ground) -> None:
        self._ground = ground
        self._open = {wish.key: wish for wish in wishes}
        self._at = {wish.key: wish.source for wish in wishes}
        self._holder = {ground.fold(wish.source): wish.key for wish in wishes}
        self._arriving = {ground.fold(wish.target): wish for wish in wishes}
        self._steps: list[Step] = []

    def solve(self) -> list[Step]:
        """
        Let arrive what can; where all that is left waits for each other, let two change places or put one aside.

        The first of those left, in the order of targets, waits for no directory above it, only for what is in
        its way; and nothing is put aside twice. So this ends.
        """
        while self._open:
            count = len(self._steps)
            for wish in list(self._open.values()):
                self._arrive_in_turn(wish)
            if self._open and count == len(self._steps):
                self._untie(next(iter(self._open.values())))
        return self._steps

    def _arrive_in_turn(self, wish: Wish | None) -> None:
        """Let *wish* arrive, then the one whose place that leaves free, and so on."""
        while wish is not None and wish.key in self._open and self._hindrance(wish) is None:
            left = self._at[wish.key]
            self._step(Act.UNPARK if parent_of(left) == self._ground.park else Act.RENAME, wish, wish.target)
            self._close(wish)
            wish = self._arriving.get(self._ground.fold(left))

    def _hindrance(self, wish: Wish) -> Key | None:
        """What has to move first: a directory above that is to arrive, or what is in the way."""
        for path in reversed([wish.target, *_above(wish.target)]):
            slot = self._ground.fold(path)
            above = self._arriving.get(slot)
            if path != wish.target and above is not None and above.key in self._open:
                return above.key
            if (holder := self._holder.get(slot)) is not None:
                return holder
        return None

    def _untie(self, wish: Wish) -> None:
        holder = self._hindrance(wish)
        assert holder is not None
        other = self._open[holder]
        if self._ground.exchanges and self._change_places(wish, other):
            self._step(Act.EXCHANGE, wish, wish.target)
            self._close(wish)
            self._close(other)
        else:
            self._step(Act.PARK, other, f"{self._ground.park}/{parked_name(other.key[0], directory=other.key[1])}")

    def _change_places(self, one: Wish, other: Wish) -> bool:
        mine, its = self._at[one.key], self._at[other.key]
        return (
            one is not other
            and (its, mine) == (one.target, other.target)  # spelled like this too: an exchange keeps both spellings
            and self._hindrance(other) == one.key
            and not mine.startswith(its + "/")
            and not its.startswith(mine + "/")
        )

    def _close(self, wish: Wish) -> None:
        del self._open[wish.key]
        self._holder.pop(self._ground.fold(self._at.pop(wish.key)), None)

    def _step(self, act: Act, wish: Wish, target: str) -> None:
        source = self._at[wish.key]
        self._steps.append(Step(act, wish.key, source, target, wish.target))
        moved = {key: new for key, path in self._at.items() if (new := _carried(path, source, target, act)) != path}
        for key in moved:
            self._holder.pop(self._ground.fold(self._at[key]), None)
        for key, path in moved.items():
            self._at[key] = path
            self._holder[self._ground.fold(path)] = key


def _carried(path: str, source: str, target: str, act: Act) -> str:
    """Where what was at *path* is after one step."""
    there = carried(path, source, target)
    return carried(path, target, source) if there == path and act is Act.EXCHANGE else there
