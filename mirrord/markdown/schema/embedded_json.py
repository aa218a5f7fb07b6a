"""JSON embedded in text or comments, and the block attributes kept in such comments."""

import json
import re
from collections.abc import Mapping
from typing import cast

import orjson

from mirrord.errors import Damaged
from mirrord.markdown.frontmatter.yaml_reader import Json


def parse_json(source: str) -> object:
    """
    The value of the JSON *source*.

    Raises Damaged if it is no JSON, or cannot be written again: a number out of range, or brackets nested deeper than
    orjson allows.
    """
    try:
        value: object = orjson.loads(source)
        orjson.dumps(value)
    except (orjson.JSONDecodeError, orjson.JSONEncodeError) as error:
        raise Damaged("it is no JSON, or holds a number that is too large, or is nested too deep") from error
    return value


def parse_json_or_none(source: str) -> object:
    """The value of *source*, which may be any text; None where `parsed` raises."""
    try:
        return parse_json(source)
    except Damaged:
        return None


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
