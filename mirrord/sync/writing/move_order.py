"""
The order in which files and directories move when paths of some are targets of others. No effects.

Sources are paths of the tree as it is, targets paths of the tree as it will be: a page that moves along with its
folder and gets a new name there goes from `Old/a.md` to `New/b.md`.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum, auto

from mirrord.domain.entry import EntryId
from mirrord.mirror.tree.tree_layout import parent_of, renamed_path
from mirrord.mirror.write.journal_labels import parked_name

Key = tuple[EntryId, bool]  # the entry; whether its directory moves, not its file


@dataclass(frozen=True, slots=True)
class WantedRename:
    """One wanted rename."""

    key: Key
    source: str
    target: str


class StepKind(Enum):
    """The kind of a step."""

    RENAME = auto()  # source to target, which is free
    EXCHANGE = auto()  # source and target, which both hold something, in one call
    PARK = auto()  # source to a reserved place outside the tree
    UNPARK = auto()  # the reserved place to target, which is free


@dataclass(frozen=True, slots=True)
class Step:
    """One call. Its paths are those after all earlier steps. final: the target of the wish."""

    act: StepKind
    key: Key
    source: str
    target: str
    final: str


def select_needed(wishes: Iterable[WantedRename]) -> list[WantedRename]:
    """The wishes that need a rename: not at their target yet, or below a directory that moves away."""
    moving: list[WantedRename] = []
    leaving: set[str] = set()
    for wish in sorted(wishes, key=lambda wish: wish.source.count("/")):
        if wish.source != wish.target or not leaving.isdisjoint(_ancestors(wish.source)):
            moving.append(wish)
            leaving.add(wish.source)
    return moving


def find_landings(wishes: Iterable[WantedRename]) -> dict[Key, str]:
    """
    The path, in the tree as it is, where an occupant of each wish's target would lie.

    Wishes whose target gets free because a directory above it leaves are not in the result.
    """
    wishes = list(wishes)
    leaving = {wish.source: wish.key for wish in wishes}
    arriving = {wish.target: wish.source for wish in wishes}
    located = ((wish.key, _find_landing(wish.target, leaving, arriving)) for wish in wishes)
    return {key: place for key, place in located if isinstance(place, str)}


def _find_landing(target: str, leaving: Mapping[str, Key], arriving: Mapping[str, str]) -> str | Key:
    """The current path of the target, or the key of the move that frees it."""
    above = parent_of(target)
    while above and above not in arriving:
        if above in leaving:
            return leaving[above]
        above = parent_of(above)
    if not above:
        return target
    path = arriving[above] + target[len(above) :]
    inner = parent_of(path)
    while inner != arriving[above]:
        if inner in leaving:
            return leaving[inner]
        inner = parent_of(inner)
    return path


@dataclass(slots=True)
class RenamePlan:
    """steps: in order. waiting: wishes whose target is held by something that does not move, or that waits too."""

    steps: list[Step] = field(default_factory=list)
    waiting: list[WantedRename] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class FileSystemFacts:
    """
    The file system that a plan is for.

    park: a directory outside the tree where files may wait for a moment.
    exchanges: whether one call can exchange two names. fold: paths that it makes equal are one to the file system.
    """

    park: str
    exchanges: bool = True
    fold: Callable[[str], str] = str


def plan_renames(
    wishes: Iterable[WantedRename], holders: Mapping[Key, Key | None], ground: FileSystemFacts
) -> RenamePlan:
    """
    Steps for all wishes except those that have to wait. Every wish must need a rename.

    holders: the wishes whose target is occupied, with the key of the wish whose source occupies it; None: it stays.
    """
    wishes = sorted(wishes, key=lambda wish: (wish.target.count("/"), wish.target))
    blocked = _blocked_keys(wishes, holders)
    board = _Board([wish for wish in wishes if wish.key not in blocked], ground)
    return RenamePlan(board.solve(), [wish for wish in wishes if wish.key in blocked])


def _blocked_keys(wishes: Sequence[WantedRename], holders: Mapping[Key, Key | None]) -> set[Key]:
    """Wishes that have to wait: their target stays occupied, or a directory above cannot come or go."""
    arriving = {wish.target: wish.key for wish in wishes}
    leaving, sources = {wish.source: wish.key for wish in wishes}, {wish.target: wish.source for wish in wishes}
    hinders: dict[Key, list[Key]] = {}
    for wish in wishes:
        if not isinstance(leaver := _find_landing(wish.target, leaving, sources), str):
            hinders.setdefault(leaver, []).append(wish.key)
        entry, is_directory = wish.key
        hinders.setdefault((entry, not is_directory), []).append(wish.key)  # a folder note moves as one
        for key in [arriving[above] for above in _ancestors(wish.target) if above in arriving]:
            hinders.setdefault(key, []).append(wish.key)
        if (holder := holders.get(wish.key)) is not None:
            hinders.setdefault(holder, []).append(wish.key)
    pending = [wish.key for wish in wishes if wish.key in holders and holders[wish.key] is None]
    blocked = set(pending)
    while pending:
        newly_blocked = set(hinders.get(pending.pop(), ())) - blocked
        blocked |= newly_blocked
        pending += newly_blocked
    return blocked


def _ancestors(path: str) -> Iterator[str]:
    while path := parent_of(path):
        yield path


class _Board:
    """The paths of everything that moves, updated with every step."""

    def __init__(self, wishes: Sequence[WantedRename], ground: FileSystemFacts) -> None:
        self._ground = ground
        self._open = {wish.key: wish for wish in wishes}
        self._at = {wish.key: wish.source for wish in wishes}
        self._holder = {ground.fold(wish.source): wish.key for wish in wishes}
        self._arriving = {ground.fold(wish.target): wish for wish in wishes}
        self._steps: list[Step] = []

    def solve(self) -> list[Step]:
        """
        Let every wish arrive that can; if all others wait for each other, exchange two or park one.

        The first open wish, in the order of targets, waits for no directory above it, only for the holder of its
        target; and nothing is parked twice. So this ends.
        """
        while self._open:
            count = len(self._steps)
            for wish in list(self._open.values()):
                self._arrive_in_turn(wish)
            if self._open and count == len(self._steps):
                self._break_deadlock(next(iter(self._open.values())))
        return self._steps

    def _arrive_in_turn(self, wish: WantedRename | None) -> None:
        """Let *wish* arrive, then the wish whose target it frees, and so on."""
        while wish is not None and wish.key in self._open and self._find_hindrance(wish) is None:
            freed_path = self._at[wish.key]
            self._add_step(
                StepKind.UNPARK if parent_of(freed_path) == self._ground.park else StepKind.RENAME, wish, wish.target
            )
            self._close(wish)
            wish = self._arriving.get(self._ground.fold(freed_path))

    def _find_hindrance(self, wish: WantedRename) -> Key | None:
        """The key that has to move first: a directory above that is to arrive, or the holder of a path."""
        for path in reversed([wish.target, *_ancestors(wish.target)]):
            slot = self._ground.fold(path)
            above = self._arriving.get(slot)
            if path != wish.target and above is not None and above.key in self._open:
                return above.key
            if (holder := self._holder.get(slot)) is not None:
                return holder
        return None

    def _break_deadlock(self, wish: WantedRename) -> None:
        holder = self._find_hindrance(wish)
        assert holder is not None
        other = self._open[holder]
        if self._ground.exchanges and self._change_places(wish, other):
            self._add_step(StepKind.EXCHANGE, wish, wish.target)
            self._close(wish)
            self._close(other)
        else:
            self._add_step(
                StepKind.PARK, other, f"{self._ground.park}/{parked_name(other.key[0], directory=other.key[1])}"
            )

    def _change_places(self, wish: WantedRename, other: WantedRename) -> bool:
        own_path, other_path = self._at[wish.key], self._at[other.key]
        return (
            wish is not other
            and (other_path, own_path)
            == (wish.target, other.target)  # in spelling too: an exchange keeps both spellings
            and self._find_hindrance(other) == wish.key
            and not own_path.startswith(other_path + "/")
            and not other_path.startswith(own_path + "/")
        )

    def _close(self, wish: WantedRename) -> None:
        del self._open[wish.key]
        self._holder.pop(self._ground.fold(self._at.pop(wish.key)), None)

    def _add_step(self, act: StepKind, wish: WantedRename, target: str) -> None:
        source = self._at[wish.key]
        self._steps.append(Step(act, wish.key, source, target, wish.target))
        new_paths = {
            key: new for key, path in self._at.items() if (new := _path_after(path, source, target, act)) != path
        }
        for key in new_paths:
            self._holder.pop(self._ground.fold(self._at[key]), None)
        for key, path in new_paths.items():
            self._at[key] = path
            self._holder[self._ground.fold(path)] = key


def _path_after(path: str, source: str, target: str, act: StepKind) -> str:
    """The path after one step of the file or directory at *path*."""
    new_path = renamed_path(path, source, target)
    return renamed_path(path, target, source) if new_path == path and act is StepKind.EXCHANGE else new_path
