"""JSON that stands in a text or a row, of anybody's making."""

import orjson

from mirrord.errors import Damaged


def parsed(source: str) -> object:
    """
    What the JSON *source* says.

    Raises Damaged where it is none, or holds what could not be written again: a number beyond all numbers, or more
    brackets inside each other than orjson counts.
    """
    try:
        value: object = orjson.loads(source)
        orjson.dumps(value)
    except (orjson.JSONDecodeError, orjson.JSONEncodeError) as error:
        raise Damaged("it is no JSON, or holds a number that is too large, or is nested too deep") from error
    return value


def embedded(source: str) -> object:
    """The same of what may be any text; None where `parsed` raises."""
    try:
        return parsed(source)
    except Damaged:
        return None


def unchecked(source: str) -> object:
    """The same where only some of it will be written again, which `is_writable` is to be asked of; None: no JSON."""
    try:
        value: object = orjson.loads(source)
    except orjson.JSONDecodeError:
        return None
    return value


def is_writable(value: object) -> bool:
    """Whether `parsed` would have given *value*."""
    try:
        orjson.dumps(value)
    except orjson.JSONEncodeError:
        return False
    return True
