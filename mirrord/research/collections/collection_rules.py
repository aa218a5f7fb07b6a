"""
PURE: categories and collections, their names, and the patterns that select pages.

`*` stands for any characters within a name, `?` for one, `[ab]` for one of these, and `**` alone between slashes for
any number of folders. A slash at the end, or `/**`, means everything below that folder. A pattern without another
slash applies to names at any depth. `!` before a pattern excludes pages: the last matching pattern decides. Case is
ignored.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby

from mirrord.domain.place import name_key, record_path, record_sort_of

MAX_DESCRIPTION_CHARACTERS = 500  # characters

_NAME = record_sort_of("collection/any").key  # a category's is the same
_QUOTES = re.compile("[\"']")
_NOT_TEXT = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]")


@dataclass(frozen=True, slots=True)
class PageGroup:
    """
    A category, the pages below a directory, or a collection, an ordered list of categories.

    members: patterns of a category (see globbing; none: all pages there), or the categories of a collection by name.
    directory: of a category, without a slash at its end; "" is the root.
    created: a moment as text, by which lists are sorted; None: not recorded.
    """

    name: str
    members: tuple[str, ...] = ()
    directory: str = ""
    description: str | None = None
    created: str | None = None


def is_valid_name(name: str) -> bool:
    """Whether *name* is valid for a category or collection."""
    return _NAME.fullmatch(name) is not None


def key_of(name: str) -> str:
    """The key of a name: names with equal keys are the same."""
    return name.lower()


def distinct_values(values: Iterable[str], key: Callable[[str], str] = str) -> tuple[str, ...]:
    """The distinct *values* in the order of their first occurrence; those with equal keys are the same."""
    first_by_key: dict[str, str] = {}
    for value in values:
        first_by_key.setdefault(key(value), value)
    return tuple(first_by_key.values())


def find_quote(description: str) -> str | None:
    """The first single or double quote in a description, where none is allowed; None if there is none."""
    match = _QUOTES.search(description)
    return match.group() if match else None


def find_control_character(description: str) -> int | None:
    """The position of the first control character or noncharacter; None if there is none."""
    match = _NOT_TEXT.search(description)
    return match.start() if match else None


def sorted_names(groups: Iterable[PageGroup]) -> list[str]:
    """Names in the order of lists: the oldest first, those without a known age last."""
    return [
        group.name
        for group in sorted(groups, key=lambda group: (group.created is None, group.created or "", key_of(group.name)))
    ]


MAX_PATTERN_CHARACTERS = 200  # characters of a pattern
_CHARACTER_CLASS = re.compile(r"\[(!?)(\]?[^\]]*)\]")
_SPECIAL_IN_CLASS = re.compile(r"([\\\[\]^&~|])")
_NAMES = "(?:[^/]+/)*?"  # any number of folders, as few as possible
_ENDING = r"(?:(?:/_index)?\.md)?\Z"  # the optional end of a page's path


class Globs:
    """The patterns of one category."""

    def __init__(self, patterns: Sequence[str]) -> None:
        """Without patterns, or if the first one excludes, all other pages are included."""
        self._is_included_by_default = not patterns or patterns[0].startswith("!")
        runs = groupby(patterns, key=lambda pattern: not pattern.startswith("!"))
        self._rules = [(includes, _any_of([glob.removeprefix("!") for glob in run])) for includes, run in runs][::-1]

    def match(self, path: str) -> bool:
        """
        Whether the page whose file is at *path* below the directory is included.

        Patterns match its path with and without `.md`, and that of a folder's page also without `/_index.md`.
        """
        key = name_key(path)
        return next((includes for includes, pattern in self._rules if pattern.match(key)), self._is_included_by_default)


def fault_in(pattern: str) -> str | None:
    """Why *pattern* is invalid, as half a sentence; None: it is valid."""
    bare = pattern.removeprefix("!")
    if not bare.strip(" /"):
        return "is empty"
    if len(pattern) > MAX_PATTERN_CHARACTERS:
        return f"is longer than {MAX_PATTERN_CHARACTERS} characters"
    if any(name in (".", "..") for name in bare.split("/")):
        return "leaves the directory; patterns apply to pages below it"
    if any(character < " " for character in pattern):
        return "holds a control character"
    return None


def _any_of(patterns: Sequence[str]) -> re.Pattern[str]:
    return re.compile(f"(?:{'|'.join(map(_path_expression, patterns))}){_ENDING}")


def _path_expression(pattern: str) -> str:
    """
    A regular expression for paths.

    The part between two stars matches where it fits first, without backtracking, so that no path takes long to reject.
    """
    text = name_key(pattern)
    if "/" not in text.rstrip("/"):
        text = f"**/{text}"
    if text.endswith("/"):
        text += "**"
    names = [name for name in text.split("/") if name]
    runs = [
        "/".join(map(_name_expression, run))
        for is_any, run in groupby(names, key=lambda name: name == "**")
        if not is_any
    ]
    first = "" if names[0] == "**" else runs.pop(0) + ("/" if len(runs) or names[-1] == "**" else "")
    if names[-1] == "**":
        return first + "".join(f"(?>{_NAMES}{run}/)" for run in runs) + "[^/].*"
    return first + "".join(f"(?>{_NAMES}{run}/)" for run in runs[:-1]) + (_NAMES + runs[-1] if runs else "")


def _name_expression(pattern: str) -> str:
    """A regular expression for one name, with the rules of fnmatch."""
    first, *others = re.split(r"\*+", pattern)
    if not others:
        return _character_expression(first)
    *between, last = map(_character_expression, others)
    middle = "".join(f"(?>[^/]*?{run})" for run in between if run)
    return f"{_character_expression(first)}{middle}[^/]*{last}"


def _character_expression(pattern: str) -> str:
    """A regular expression for a part of a name without stars."""
    expression, at = "", 0
    while at < len(pattern):
        character_class = _CHARACTER_CLASS.match(pattern, at)
        if character_class is not None:
            expression += _class_expression(character_class)
        else:
            expression += "[^/]" if pattern[at] == "?" else re.escape(pattern[at])
        at = character_class.end() if character_class is not None else at + 1
    return expression


def _class_expression(match: re.Match[str]) -> str:
    body = _SPECIAL_IN_CLASS.sub(r"\\\1", match[2])
    try:
        re.compile(f"[{body}]")
    except re.error:  # a reversed range, or an empty class
        return re.escape(match[0])
    return f"(?!/)[{'^' if match[1] else ''}{body}]"


@dataclass(frozen=True, slots=True)
class GroupKind:
    """
    The kind of a group, and what distinguishes it.

    members: the key of its members. member_key: members with equal keys are the same. fault_in: see fault_in, for one
    member. has_directory: its members apply below a directory. stays: what a removal leaves, the end of a sentence.
    """

    name: str
    plural: str
    members: str
    member_key: Callable[[str], str] = str
    fault_in: Callable[[str], str | None] = lambda _: None
    has_directory: bool = False
    stays: str = ""

    def path(self, name: str) -> str:
        """Path of the file of the group *name*, which need not exist."""
        return record_path(f"{self.name}/{name}")

    def facts_of(self, group: PageGroup) -> dict[str, object]:
        """Facts about a group for agents and events."""
        directory = {"dir": group.directory} if self.has_directory else {}
        return {"name": group.name, **directory, self.members: list(group.members), "description": group.description}


CATEGORIES = GroupKind("category", "categories", "patterns", fault_in=fault_in, has_directory=True)
COLLECTIONS = GroupKind("collection", "collections", "categories", key_of, stays="; its categories stay")
GROUP_KINDS = {kind.name: kind for kind in (CATEGORIES, COLLECTIONS)}
