"""Scopes: which paths of a tree the holder of a token may read and write, by patterns."""

import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from mirrord.domain.place import INDEX, name_key
from mirrord.errors import UserError

MAX_PATTERN_CHARACTERS = 300
MAX_PATTERNS = 30  # of one scope
MAX_SCOPE_CHARACTERS = 3000  # of all patterns together: a token is a line of a header
ANY_FOLDERS = "**"  # a segment of a pattern: any number of names, none included
_WILDCARDS = frozenset("*?")
_PAGE_SUFFIX = ".md"
_NO_NAMES = frozenset({".", ".."})


@dataclass(frozen=True)
class PathPattern:
    """
    A pattern from the root of a tree; in a segment `*` is any text within one name, and `?` one character.

    A pattern without a wildcard means that place and all below. A page and its folder are one place.
    """

    text: str

    def __str__(self) -> str:
        return self.text

    @cached_property
    def segments(self) -> tuple[str, ...]:
        """The keys of the names that it asks for."""
        keys = place_of(self.text)
        return keys if not _WILDCARDS.isdisjoint(self.text) else (*keys, ANY_FOLDERS)

    @cached_property
    def is_of_pages(self) -> bool:
        """Whether it means pages only: what ends in `*.md`."""
        last = self.text.rpartition("/")[2]
        return name_key(last).endswith(_PAGE_SUFFIX) and not _WILDCARDS.isdisjoint(last)

    def permits(self, path: str) -> bool:
        """Whether it means exactly the place of *path*."""
        if self.is_of_pages and not name_key(path).endswith(_PAGE_SUFFIX):
            return False
        return len(self.segments) in self._positions_after(place_of(path))[-1]

    def covers(self, path: str) -> bool:
        """Whether it means the place of *path*, or a place above it."""
        steps = self._positions_after(place_of(path))
        return any(len(self.segments) in positions for positions in steps[1:])

    def covers_all_of(self, other: "PathPattern") -> bool:
        """Whether it certainly means every place that *other* can mean, or a place above that."""
        positions = self._skip_any_folders([0])
        for segment in other.segments:
            if segment == ANY_FOLDERS:  # any number of names: what holds for none of them and for many
                absorbing = [at for at in positions if at < len(self.segments) and self.segments[at] == ANY_FOLDERS]
                positions = self._skip_any_folders(absorbing)
            elif _WILDCARDS.isdisjoint(segment):
                positions = self._skip_any_folders(self._next_positions(positions, segment))
            else:
                positions = self._skip_any_folders(self._positions_after_wildcard(positions, segment))
            if len(self.segments) in positions:
                return True
        return False

    def can_go_on(self, directory: str) -> bool:
        """Whether it can mean something in *directory*."""
        return bool(self._positions_after(place_of(directory))[-1])

    def permits_all_below(self, path: str) -> bool:
        """Whether it means the place of *path* and everything that is or may come below it."""
        is_open_ended = self.segments[-1] == ANY_FOLDERS
        return is_open_ended and len(self.segments) - 1 in self._positions_after(place_of(path))[-1]

    def _positions_after(self, names: Iterable[str]) -> list[frozenset[int]]:
        """How many segments the first 0, 1, 2 … *names* can have used up."""
        steps = [self._skip_any_folders([0])]
        for name in names:
            steps.append(self._skip_any_folders(self._next_positions(steps[-1], name)))
        return steps

    def _next_positions(self, positions: Iterable[int], name: str) -> Iterable[int]:
        for position in positions:
            if position == len(self.segments):
                continue
            if self.segments[position] == ANY_FOLDERS:
                yield position
            elif is_name_like(self.segments[position], name):
                yield position + 1

    def _positions_after_wildcard(self, positions: Iterable[int], segment: str) -> Iterable[int]:
        """Where segments stand that mean every name that *segment* can mean."""
        for position in positions:
            if position < len(self.segments) and self.segments[position] == ANY_FOLDERS:
                yield position
            elif position < len(self.segments) and self.segments[position] in ("*", segment):
                yield position + 1

    def _skip_any_folders(self, positions: Iterable[int]) -> frozenset[int]:
        """*positions*, and those behind each `**` there, which may mean no name at all."""
        reached = set[int]()
        for position in positions:
            reached.add(position)
            while position < len(self.segments) and self.segments[position] == ANY_FOLDERS:
                position += 1
                reached.add(position)
        return frozenset(reached)


@dataclass(frozen=True)
class Scope:
    """
    Patterns of what may be written (and read), only read, and neither; a denial wins, with all below it.

    Without *write* and *read* all that is not denied may be read and written; with one of them nothing else is seen.
    Names that readers see as the same, in another case or spelling, are the same here.
    """

    write: tuple[PathPattern, ...] = ()
    read: tuple[PathPattern, ...] = ()
    deny: tuple[PathPattern, ...] = ()

    @property
    def is_unlimited(self) -> bool:
        """Whether every path may be read and written."""
        return not (self.write or self.read or self.deny)

    @property
    def is_read_only(self) -> bool:
        """Whether no path may be written."""
        return bool(self.read) and not self.write

    def can_read(self, path: str) -> bool:
        """Whether what is at *path* may be seen; of a directory, without regard to what is in it."""
        return not path or self._is_permitted((*self.write, *self.read), path)

    def can_write(self, path: str) -> bool:
        """Whether what is at *path* may be made, changed and removed."""
        return bool(path) and self._is_permitted(self.write, path)

    def may_contain(self, directory: str) -> bool:
        """Whether a path in *directory* might be read; False: nothing in it has to be looked at."""
        return self._may_go_on((*self.write, *self.read), directory)

    def may_contain_writable(self, directory: str) -> bool:
        """Whether a path in *directory* might be written."""
        return self._may_go_on(self.write, directory)

    def owns(self, path: str) -> bool:
        """
        Whether what is at *path* may be written with all that is, or may come, below it.

        So it can be moved and deleted as a whole, and what remains there tells nothing about what is hidden.
        """
        if not self.can_write(path) or any(pattern.can_go_on(path) for pattern in self.deny):
            return False
        return not (self.write or self.read) or any(pattern.permits_all_below(path) for pattern in self.write)

    def reads_all(self, directory: str) -> bool:
        """Whether everything that is or may come below *directory*, "" for the root, may be seen."""
        if self._is_denied(directory) or any(pattern.can_go_on(directory) for pattern in self.deny):
            return False
        patterns = (*self.write, *self.read)
        return not patterns or any(pattern.permits_all_below(directory) for pattern in patterns)

    def to_claims(self) -> dict[str, list[str]]:
        """The patterns as texts, by what they permit; scope_of_claims() reads them."""
        kinds = {"write": self.write, "read": self.read, "deny": self.deny}
        return {kind: [str(pattern) for pattern in patterns] for kind, patterns in kinds.items() if patterns}

    def __str__(self) -> str:
        """The patterns, for people and agents: `write Inbox/**, read Projects/**, deny Private`."""
        return ", ".join(f"{kind} {' '.join(texts)}" for kind, texts in self.to_claims().items()) or "all paths"

    def _is_permitted(self, patterns: Sequence[PathPattern], path: str) -> bool:
        if self._is_denied(path):
            return False
        return not (self.write or self.read) or any(pattern.permits(path) for pattern in patterns)

    def _may_go_on(self, patterns: Sequence[PathPattern], directory: str) -> bool:
        if self._is_denied(directory):
            return False
        return not (self.write or self.read) or any(pattern.can_go_on(directory) for pattern in patterns)

    def _is_denied(self, path: str) -> bool:
        return any(pattern.covers(path) for pattern in self.deny)


UNLIMITED = Scope()


def parse_pattern(text: str) -> PathPattern:
    """The pattern that *text* states. Raises UserError with the reason if it states none."""
    if (reason := _fault_in(text)) is not None:
        raise UserError(f"{text!r} is not a pattern of paths: {reason}.")
    return PathPattern(text.removesuffix("/"))


def parse_scope(write: Iterable[str] = (), read: Iterable[str] = (), deny: Iterable[str] = ()) -> Scope:
    """The scope that these patterns state. Raises UserError for what is no pattern, and for too many."""
    scope = Scope(*(tuple(dict.fromkeys(map(parse_pattern, texts))) for texts in (write, read, deny)))
    patterns = (*scope.write, *scope.read, *scope.deny)
    if len(patterns) > MAX_PATTERNS or sum(len(pattern.text) for pattern in patterns) > MAX_SCOPE_CHARACTERS:
        raise UserError(f"A scope has at most {MAX_PATTERNS} patterns with {MAX_SCOPE_CHARACTERS} characters in all.")
    return scope


def check_reachable(scope: Scope) -> None:
    """Raises UserError for a pattern that permits nothing: a denial covers all that it means."""
    for pattern in (*scope.write, *scope.read):
        if (denial := next((each for each in scope.deny if each.covers_all_of(pattern)), None)) is not None:
            reason = f"{str(denial)!r} denies all of it, and a denial wins"
            raise UserError(f"The pattern {str(pattern)!r} would permit nothing: {reason}.")


def scope_of_claims(claims: Mapping[str, Sequence[str]]) -> Scope:
    """The scope with these claims. Raises UserError for claims of a newer version, which may mean less than is read."""
    if not set(claims) <= {"write", "read", "deny"}:
        raise UserError("The scope has kinds of patterns that are not known here.")
    return parse_scope(**{kind: list(texts) for kind, texts in claims.items()})


def place_of(path: str) -> tuple[str, ...]:
    """The place of a path by the keys of its names; `a.md`, `a` and `a/_index.md` are one place."""
    names = [name_key(name) for name in path.split("/") if name]
    keys = [name.removesuffix(_PAGE_SUFFIX) or name for name in names]
    return tuple(keys[:-1] if len(keys) > 1 and keys[-1] == INDEX else keys)


def is_name_like(pattern: str, name: str) -> bool:
    """Whether *name* fits *pattern*, in steps that are at most the product of their lengths."""
    at, name_at = 0, 0
    star_at, star_name_at = -1, 0  # the last `*`, and where the text that it means ends for now
    while name_at < len(name):
        if at < len(pattern) and pattern[at] == "*":
            star_at, star_name_at = at, name_at
            at += 1
        elif at < len(pattern) and pattern[at] in ("?", name[name_at]):
            at, name_at = at + 1, name_at + 1
        elif star_at >= 0:
            star_name_at += 1
            at, name_at = star_at + 1, star_name_at
        else:
            return False
    return not pattern[at:].strip("*")


def _fault_in(text: str) -> str | None:
    """Why *text* is no pattern, None if it is one."""
    names = text.removesuffix("/").split("/")
    faults = (
        (not text.strip(), "it is empty"),
        (len(text) > MAX_PATTERN_CHARACTERS, f"it has more than {MAX_PATTERN_CHARACTERS} characters"),
        ("\\" in text, "names are separated by `/`, not by a backslash"),
        (text.startswith("/"), "it begins at the tenant's root already, without a `/`"),
        (not _NO_NAMES.isdisjoint(names), "`.` and `..` are no names of pages"),
        ("" in names, "it has an empty name between two `/`"),
        (any(ANY_FOLDERS in name and name != ANY_FOLDERS for name in names), "`**` stands alone between two `/`"),
        (any(unicodedata.category(character) in ("Cc", "Cs") for character in text), "it has control characters"),
    )
    return next((reason for is_fault, reason in faults if is_fault), None)
