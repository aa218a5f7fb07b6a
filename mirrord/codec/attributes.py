"""Attributes Markdown has no place for, as a comment on the line before the block they belong to."""

import json
import re
from collections.abc import Mapping
from typing import cast

from mirrord.codec.embedded import embedded
from mirrord.codec.properties import Json

_COMMENT = re.compile(r"<!-- tiptap (\{.*\}) -->")


def comment(attrs: Mapping[str, Json]) -> str:
    """The comment that says *attrs*."""
    text = json.dumps(attrs, ensure_ascii=False, separators=(",", ":"))
    return f"<!-- tiptap {text.replace('--', _escaped('--')).replace('>', _escaped('>'))} -->"


def attributes(source: str) -> dict[str, Json] | None:
    """What the comment *source* says; None if it is any other text."""
    found = _COMMENT.fullmatch(source.strip(" \n"))
    return cast("dict[str, Json] | None", embedded(found[1])) if found else None


def _escaped(text: str) -> str:
    return "".join(f"\\u{ord(char):04x}" for char in text)
