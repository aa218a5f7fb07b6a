"""Attributes without a form in Markdown, kept as a comment on the line before their block."""

import json
import re
from collections.abc import Mapping
from typing import cast

from mirrord.codec.embedded import parse_json_or_none
from mirrord.codec.properties import Json

_COMMENT = re.compile(r"<!-- tiptap (\{.*\}) -->")


def write_comment(attrs: Mapping[str, Json]) -> str:
    """The comment that holds *attrs*."""
    text = json.dumps(attrs, ensure_ascii=False, separators=(",", ":"))
    return f"<!-- tiptap {text.replace('--', _escape('--')).replace('>', _escape('>'))} -->"


def read_comment(source: str) -> dict[str, Json] | None:
    """The attributes in the comment *source*; None if it is any other text."""
    match = _COMMENT.fullmatch(source.strip(" \n"))
    return cast("dict[str, Json] | None", parse_json_or_none(match[1])) if match else None


def _escape(text: str) -> str:
    return "".join(f"\\u{ord(char):04x}" for char in text)
