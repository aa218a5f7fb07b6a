"""The headings of a page for ranking, found without parsing: lines that begin with `#`, outside of fenced code."""

import re
from collections.abc import Iterator

_MAX_CHARACTERS = 4_000  # of the headings of one page

_HEADING = re.compile(r"\n#{1,6}[ \t]+([^\r\n]+)")  # starts with literal text, which is searched for quickly
_HEADING_OR_FENCE = re.compile(r"\n(?:#{1,6}[ \t]+([^\r\n]+)|(```+|~~~+))")


def heading_lines(body: str) -> str:
    """The texts of the headings in *body*, one a line; no underlined headings, and none behind 4,000 characters."""
    if "#" not in body:
        return ""
    text = f"\n{body}"
    has_fences = "\n```" in text or "\n~~~" in text
    headings = _headings_outside_fences(text) if has_fences else _HEADING.findall(text)
    return "\n".join(headings)[:_MAX_CHARACTERS]


def _headings_outside_fences(text: str) -> Iterator[str]:
    opening = ""
    for heading, fence in _HEADING_OR_FENCE.findall(text):
        if fence:
            opening = fence if not opening else "" if fence.startswith(opening) else opening
        elif not opening:
            yield heading
