"""What an edit changed, as a unified diff that a model can read: bounded in time and length."""

import re
from collections.abc import Sequence
from difflib import unified_diff
from itertools import takewhile

from mirrord.domain.approval import MOST_LINES

_AROUND = 3  # lines of context
_LONGEST_LINE, _LONGEST = 1_000, 20_000  # characters
_HUNK = re.compile(r"@@ -(\d+)(,\d+)? \+(\d+)(,\d+)? @@")


def diff_of(path: str, old: str, new: str) -> str:
    """The unified diff of two texts; "" if they are equal. What is too long of it is cut, and says so."""
    before, after = old.splitlines(), new.splitlines()
    first = max(_alike(before, after) - _AROUND, 0)
    last = max(_alike(before[first:][::-1], after[first:][::-1]) - _AROUND, 0)
    # only what lies between: difflib would compare all with all
    one, other = before[first : len(before) - last], after[first : len(after) - last]
    found = unified_diff(one, other, path, path, lineterm="", n=_AROUND)
    return _short("\n".join(_short(_shifted(line, first), _LONGEST_LINE) for line in found), _LONGEST)


def diff_lines(path: str, old: str, new: str) -> tuple[str, ...]:
    """The same by lines, as many as a preview has."""
    lines = diff_of(path, old, new).splitlines()
    more = len(lines) - MOST_LINES + 1
    return tuple(lines) if more <= 1 else (*lines[: MOST_LINES - 1], f"… and {more} lines more")


def _alike(before: Sequence[str], after: Sequence[str]) -> int:
    """How many lines are the same from the beginning on."""
    pairs = zip(before, after, strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


def _shifted(line: str, by: int) -> str:
    """A hunk's first line, as numbered in the whole text."""
    if not (found := _HUNK.fullmatch(line)):
        return line
    return f"@@ -{int(found[1]) + by}{found[2] or ''} +{int(found[3]) + by}{found[4] or ''} @@"


def _short(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[:most]}… (cut)"
