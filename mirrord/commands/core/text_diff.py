"""The unified diff of an edit, bounded in time and length."""

import re
from collections.abc import Sequence
from difflib import unified_diff
from itertools import takewhile

from mirrord.domain.approval import MAX_PREVIEW_LINES

_CONTEXT_LINES = 3  # lines of context
_MAX_LINE_CHARACTERS, _MAX_CHARACTERS = 1_000, 20_000  # characters
_HUNK = re.compile(r"@@ -(\d+)(,\d+)? \+(\d+)(,\d+)? @@")


def diff_of(path: str, old: str, new: str) -> str:
    """The unified diff of two texts; "" if they are equal. Long lines and diffs are cut, with a mark."""
    before, after = old.splitlines(), new.splitlines()
    first = max(_count_equal(before, after) - _CONTEXT_LINES, 0)
    last = max(_count_equal(before[first:][::-1], after[first:][::-1]) - _CONTEXT_LINES, 0)
    # only the part between: difflib would compare all lines with each other
    old_part, new_part = before[first : len(before) - last], after[first : len(after) - last]
    diff = unified_diff(old_part, new_part, path, path, lineterm="", n=_CONTEXT_LINES)
    return _shorten(
        "\n".join(_shorten(_shift_hunk(line, first), _MAX_LINE_CHARACTERS) for line in diff), _MAX_CHARACTERS
    )


def diff_lines(path: str, old: str, new: str) -> tuple[str, ...]:
    """The diff by lines, limited to the length of a preview."""
    lines = diff_of(path, old, new).splitlines()
    excess = len(lines) - MAX_PREVIEW_LINES + 1
    return tuple(lines) if excess <= 1 else (*lines[: MAX_PREVIEW_LINES - 1], f"… and {excess} lines more")


def _count_equal(before: Sequence[str], after: Sequence[str]) -> int:
    """Number of equal lines from the beginning."""
    pairs = zip(before, after, strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


def _shift_hunk(line: str, by: int) -> str:
    """The header of a hunk, renumbered for the whole text; other lines unchanged."""
    if not (hunk := _HUNK.fullmatch(line)):
        return line
    return f"@@ -{int(hunk[1]) + by}{hunk[2] or ''} +{int(hunk[3]) + by}{hunk[4] or ''} @@"


def _shorten(text: str, limit: int) -> str:
    return text if len(text) <= limit else f"{text[:limit]}… (cut)"
