"""Untrusted JSON in texts and rows."""

import orjson

from mirrord.errors import Damaged


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


def parse_unchecked_json(source: str) -> object:
    """The value of *source*, which may not be writable: check the used parts with `is_writable`. None: no JSON."""
    try:
        value: object = orjson.loads(source)
    except orjson.JSONDecodeError:
        return None
    return value


def is_writable(value: object) -> bool:
    """Whether `parsed` would return *value*: it can be written as JSON."""
    try:
        orjson.dumps(value)
    except orjson.JSONEncodeError:
        return False
    return True
