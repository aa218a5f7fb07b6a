"""Find the beginning and end of front matter, without reading its YAML.

The first line is exactly `---` (blanks may follow), and the next such line at column 0 ends it. Libraries
split otherwise and lost list items that began with dashes.
"""

import re
from dataclasses import dataclass

from mirrord.codec.text import BOM

_OPENING = re.compile(r"---[ \t]*(?:\r\n|\n|\r)")
_CLOSING = re.compile(
    r"---(?<=[\r\n]---)[ \t]*(?:\r\n|\n|\r|\Z)"
)  # starts with literal text, which is searched for quickly


@dataclass(frozen=True, slots=True)
class Parts:
    """
    The three parts of a file's text; joined in this order they are the text.

    head: the raw front matter with both fences and the line ending of the second; "" if there is none.
    """

    bom: str
    head: str
    body: str


def split_parts(text: str) -> Parts:
    """The byte order mark, the front matter and the rest of *text*."""
    start = 1 if text.startswith(BOM) else 0
    opening = _OPENING.match(text, start)
    closing = _CLOSING.search(text, opening.end()) if opening else None
    end = closing.end() if closing else start
    return Parts(text[:start], text[start:end], text[end:])


def yaml_of_text(text: str) -> str:
    """The YAML of the front matter of *text*, "" if there is none; a faster inner(split(text).head)."""
    opening = _OPENING.match(text, 1 if text.startswith(BOM) else 0)
    closing = _CLOSING.search(text, opening.end()) if opening else None
    return text[opening.end() : closing.start()] if opening and closing else ""


def yaml_of_head(head: str) -> str:
    """The YAML between the fences of *head*."""
    return split_head(head)[1]


def split_head(head: str) -> tuple[str, str, str]:
    """The first fence, the YAML and the last fence of *head*."""
    opening = _OPENING.match(head)
    start = opening.end() if opening else 0
    end = max(head.rstrip("\r\n").rfind("\n"), head.rstrip("\r\n").rfind("\r")) + 1
    return head[:start], head[start:end], head[end:]
