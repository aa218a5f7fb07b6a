"""Properties of a page: the keys of its front matter that a person sees and edits beside the text."""

from collections.abc import Mapping
from typing import Any

from mirrord.web.request_context import refusal

_OWN_KEYS = frozenset({"id", "title", "icon", "position"})  # shown and changed elsewhere, or mirrord's own
_MAX_KEY_CHARACTERS = 100  # of a key
_MAX_VALUE_CHARACTERS = 10_000  # of a value
_MAX_ITEMS = 500  # of a list


def shown_properties(values: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Keys with their values, tags first; nested ones are shown and not edited."""
    keys = sorted(values.keys() - _OWN_KEYS, key=lambda key: (key != "tags", key))
    return [{"key": key, "value": values[key], "editable": _is_plain(values[key])} for key in keys]


def checked_changes(values: Mapping[str, Any]) -> dict[str, Any]:
    """The changes a person asks for; None removes a key. Raises a refusal for what is no plain value."""
    for key, value in values.items():
        if not key.strip() or len(key) > _MAX_KEY_CHARACTERS or key in _OWN_KEYS or "\n" in key or "\0" in key:
            raise refusal(f"A property cannot be called {key[:_MAX_KEY_CHARACTERS]!r}.")
        if not _is_plain(value):
            raise refusal(f"The value of {key!r} is not a text, a number, a date or a list of these.")
    return dict(values)


def _is_plain(value: object) -> bool:
    if isinstance(value, list):
        return len(value) <= _MAX_ITEMS and all(_is_scalar(item) for item in value)
    return value is None or _is_scalar(value)


def _is_scalar(value: object) -> bool:
    if isinstance(value, str):
        return len(value) <= _MAX_VALUE_CHARACTERS and "\0" not in value
    return isinstance(value, bool | int | float)
