"""
Patterns of a category: which pages below its directory they mean.

`*` stands for any characters within a name, `?` for one, `[ab]` for one of these, and `**` alone between slashes for
any number of folders. A slash at the end means all that is below that folder. A pattern without another slash is about
names at any depth. `!` before a pattern takes pages out again: the last pattern that fits decides. Case does not count.
"""

import re
from collections.abc import Sequence
from fnmatch import translate

from mirrord.domain.place import INDEX, name_key

LONGEST = 200  # characters of a pattern
_SUFFIX = ".md"
_ANY_FOLDERS = None

_Part = re.Pattern[str] | None  # of one name; None: any number of names


class Globs:
    """The patterns of one category."""

    def __init__(self, patterns: Sequence[str]) -> None:
        """Without patterns, or where the first takes out, all pages are meant to begin with."""
        self._begins = not patterns or patterns[0].startswith("!")
        self._rules = [(not one.startswith("!"), _parts(one.removeprefix("!"))) for one in patterns]

    def match(self, path: str) -> bool:
        """
        Whether the page is meant whose file is at *path* below the directory.

        It is known with and without `.md`, and the page of a folder by the folder's path, too.
        """
        names = [spelling.split("/") for spelling in _spellings(name_key(path))]
        for includes, parts in reversed(self._rules):
            if any(_fits(parts, one) for one in names):
                return includes
        return self._begins


def fault_in(pattern: str) -> str | None:
    """Why *pattern* can mean no page, as half a sentence; None: it can."""
    bare = pattern.removeprefix("!")
    if not bare.strip(" /"):
        return "is empty"
    if len(pattern) > LONGEST:
        return f"is longer than {LONGEST} characters"
    if any(name in (".", "..") for name in bare.split("/")):
        return "leaves the directory; patterns are about what is below it"
    if any(character < " " for character in pattern):
        return "holds a control character"
    return None


def _parts(pattern: str) -> list[_Part]:
    text = name_key(pattern)
    if "/" not in text.rstrip("/"):
        text = f"**/{text}"
    if text.endswith("/"):
        text += "**"
    return [_ANY_FOLDERS if name == "**" else re.compile(translate(name)) for name in text.split("/") if name]


def _spellings(path: str) -> list[str]:
    stem = path.removesuffix(_SUFFIX)
    above, _, name = stem.rpartition("/")
    return [path, stem, *([above] if name == INDEX and above else [])]


def _fits(parts: Sequence[_Part], names: Sequence[str]) -> bool:
    """Whether all *names* are used up by all *parts*; in steps that both of them bound."""
    reached = {0}
    for part in parts:
        if part is _ANY_FOLDERS:
            reached = set(range(min(reached), len(names) + 1))
        else:
            reached = {at + 1 for at in reached if at < len(names) and part.match(names[at])}
        if not reached:
            return False
    return len(names) in reached
