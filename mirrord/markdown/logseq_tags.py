"""
Tags of Logseq, which are links to pages: `#name`, and `#[[name]]` where a name alone would end early. Pure.

A tag ends before a blank, a comma, a bracket or a mark, and before punctuation that ends a sentence.
"""

import re
from collections.abc import Iterator
from typing import Final

_SIGN = r"[^\s#,;!?()\[\]{}<>|\"'`*~^=\\%\u3000-\u303f\uff00-\uff0f\uff1a-\uff20]"
_LAST_SIGN = rf"(?![.:_]){_SIGN}"
TAG_OF_LOGSEQ: Final = rf"(?<![^\s(\[{{\"'*_~,;])\#(?:{_SIGN}{{0,400}}{_LAST_SIGN})"
_TAG = re.compile(TAG_OF_LOGSEQ)


def possible_tags_in(text: str) -> Iterator[str]:
    """The names in all that may be tags, in code, too."""
    return (match.group()[1:] for match in _TAG.finditer(text))


def is_tag_at(text: str, start: int) -> bool:
    """Whether the link at *start* is a tag without brackets."""
    return text.startswith("#", start)


def spell_tag(name: str) -> str:
    """The tag of the page *name*, without its `#`."""
    return name if _TAG.fullmatch(f"#{name}") else f"[[{name}]]"
