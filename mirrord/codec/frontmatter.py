"""Front matter: where it ends, what it says, and changing single keys of it.

mirrord splits for itself: line one is exactly `---` (blanks may follow), and the first such line at
column 0 ends it. What libraries do instead lost list items that began with dashes.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from mirrord.codec.properties import REMOVED, Json, Removed, load, same
from mirrord.codec.rewriting import rewritten
from mirrord.codec.text import BOM, newline
from mirrord.errors import Damaged

__all__ = ["REMOVED", "Json", "Parts", "Removed", "inner", "same", "split", "values", "with_keys"]

_OPENING = re.compile(r"---[ \t]*(?:\r\n|\n|\r)")
_CLOSING = re.compile(r"---(?<=[\r\n]---)[ \t]*(?:\r\n|\n|\r|\Z)")  # begins with text: that is searched for quickly


@dataclass(frozen=True, slots=True)
class Parts:
    """
    A file's text in three: joined in this order they are the text.

    head: raw, with both fences and the line ending of the second; "" if there is none.
    """

    bom: str
    head: str
    body: str


def split(text: str) -> Parts:
    """The byte order mark, the front matter and the rest of *text*."""
    start = 1 if text.startswith(BOM) else 0
    opening = _OPENING.match(text, start)
    closing = _CLOSING.search(text, opening.end()) if opening else None
    end = closing.end() if closing else start
    return Parts(text[:start], text[start:end], text[end:])


def inner(head: str) -> str:
    """The YAML between the fences of *head*."""
    return _fenced(head)[1]


def _fenced(head: str) -> tuple[str, str, str]:
    """The first fence, the YAML and the last fence of *head*."""
    opening = _OPENING.match(head)
    start = opening.end() if opening else 0
    end = max(head.rstrip("\r\n").rfind("\n"), head.rstrip("\r\n").rfind("\r")) + 1
    return head[:start], head[start:end], head[end:]


def values(head: str) -> dict[str, Json]:
    """
    What *head* says, in its order; see `properties` for what a plain scalar becomes.

    Raises:
        Damaged: not YAML mirrord reads; the message names the line.
    """
    return load(inner(head))


def with_keys(text: str, changes: Mapping[str, Json | Removed]) -> str:
    """
    *text* with top-level keys set or REMOVED; every other byte stays, and so do keys whose value is equal.

    The front matter is made if there is none, and goes when its last key goes and no comment is left.

    Raises:
        Damaged: the front matter is not valid, or cannot take this change without harm to other keys.
    """
    parts = split(text)
    before = values(parts.head)
    real = {k: v for k, v in changes.items() if not same(before.get(k, REMOVED), v)}
    if not real:
        return text
    result = _changed(parts, real, newline(parts.head or parts.body))
    _check(parts, split(result), {**before, **real})
    return result


def _changed(parts: Parts, changes: Mapping[str, Json | Removed], ending: str) -> str:
    opening, source, closing = _fenced(parts.head or f"---{ending}---{ending}")
    new = rewritten(source, changes, ending)
    if not new.strip() and split(parts.bom + parts.body) == Parts(parts.bom, "", parts.body):
        return parts.bom + parts.body
    return parts.bom + opening + new + closing + parts.body


def _check(old: Parts, new: Parts, wanted: Mapping[str, Json | Removed]) -> None:
    expected = {key: value for key, value in wanted.items() if not isinstance(value, Removed)}
    if (new.bom, new.body) != (old.bom, old.body) or not same(values(new.head), expected):
        raise Damaged("the front matter is written in a way that mirrord cannot change without harm")
