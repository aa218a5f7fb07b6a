"""
Patterns of a category: which pages below its directory they mean.

`*` stands for any characters within a name, `?` for one, `[ab]` for one of these, and `**` alone between slashes for
any number of folders. A slash at the end, or `/**`, means all that is below that folder. A pattern without another
slash is about names at any depth. `!` before a pattern takes pages out again: the last pattern that fits decides. Case
does not count.
"""

import re
from collections.abc import Sequence
from itertools import groupby

from mirrord.domain.place import name_key

LONGEST = 200  # characters of a pattern
_CLASS = re.compile(r"\[(!?)(\]?[^\]]*)\]")
_SPECIAL = re.compile(r"([\\\[\]^&~|])")
_NAMES = "(?:[^/]+/)*?"  # any number of folders, as few as will do
_ENDING = r"(?:(?:/_index)?\.md)?\Z"  # what may be left out at the end of a page's path


class Globs:
    """The patterns of one category."""

    def __init__(self, patterns: Sequence[str]) -> None:
        """Without patterns, or where the first takes out, all pages are meant to begin with."""
        self._begins = not patterns or patterns[0].startswith("!")
        runs = groupby(patterns, key=lambda pattern: not pattern.startswith("!"))
        self._rules = [(includes, _either([one.removeprefix("!") for one in run])) for includes, run in runs][::-1]

    def match(self, path: str) -> bool:
        """
        Whether the page is meant whose file is at *path* below the directory.

        It is known with and without `.md`, and the page of a folder by the folder's path, too.
        """
        key = name_key(path)
        return next((includes for includes, pattern in self._rules if pattern.match(key)), self._begins)


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


def _either(patterns: Sequence[str]) -> re.Pattern[str]:
    return re.compile(f"(?:{'|'.join(map(_path, patterns))}){_ENDING}")


def _path(pattern: str) -> str:
    """
    A regular expression for paths.

    What stands between two stars may be taken where it first fits, for good: so no path takes long to be refused.
    """
    text = name_key(pattern)
    if "/" not in text.rstrip("/"):
        text = f"**/{text}"
    if text.endswith("/"):
        text += "**"
    names = [name for name in text.split("/") if name]
    runs = ["/".join(map(_name, run)) for is_any, run in groupby(names, key=lambda name: name == "**") if not is_any]
    first = "" if names[0] == "**" else runs.pop(0) + ("/" if len(runs) or names[-1] == "**" else "")
    if names[-1] == "**":
        return first + "".join(f"(?>{_NAMES}{run}/)" for run in runs) + "[^/].*"
    return first + "".join(f"(?>{_NAMES}{run}/)" for run in runs[:-1]) + (_NAMES + runs[-1] if runs else "")


def _name(pattern: str) -> str:
    """A regular expression for one name, as fnmatch would have it."""
    first, *others = re.split(r"\*+", pattern)
    if not others:
        return _characters(first)
    *between, last = map(_characters, others)
    found = "".join(f"(?>[^/]*?{run})" for run in between if run)
    return f"{_characters(first)}{found}[^/]*{last}"


def _characters(pattern: str) -> str:
    """The same, without stars."""
    found, at = "", 0
    while at < len(pattern):
        one = _CLASS.match(pattern, at)
        if one is not None:
            found += _class(one)
        else:
            found += "[^/]" if pattern[at] == "?" else re.escape(pattern[at])
        at = one.end() if one is not None else at + 1
    return found


def _class(found: re.Match[str]) -> str:
    body = _SPECIAL.sub(r"\\\1", found[2])
    try:
        re.compile(f"[{body}]")
    except re.error:  # a range from behind, or nothing in it
        return re.escape(found[0])
    return f"(?!/)[{'^' if found[1] else ''}{body}]"
