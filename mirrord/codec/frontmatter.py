"""Read front matter, and change single keys of it."""

from collections.abc import Mapping

from mirrord.codec.fences import Parts, split_head, split_parts, yaml_of_head
from mirrord.codec.properties import REMOVED, Json, Removed, is_same_json, load_values
from mirrord.codec.rewriting import is_plain_text, rewrite_properties
from mirrord.codec.text import first_line_ending
from mirrord.errors import Damaged

_MAX_UNCHECKED_CHARACTERS = 500  # characters; so short a change reaches no limit of YAML keys or of `properties`

__all__ = [
    "REMOVED",
    "Json",
    "Parts",
    "Removed",
    "is_same_json",
    "read_values",
    "split_parts",
    "with_keys",
    "yaml_of_head",
]


def read_values(head: str) -> dict[str, Json]:
    """
    The values of *head* by key, in its order; `properties` explains the types of plain scalars.

    Raises:
        Damaged: it is not YAML that mirrord reads; the message names the line.
    """
    return load_values(yaml_of_head(head))


def with_keys(text: str, changes: Mapping[str, Json | Removed]) -> str:
    """
    *text* with top-level keys set or REMOVED; every other byte stays, and so do keys with an equal value.

    The front matter is created if there is none, and removed with its last key unless a comment remains.

    Raises:
        Damaged: the front matter is not valid, or cannot take this change without harm to other keys.
    """
    parts = split_parts(text)
    old_values = read_values(parts.head)
    changed = {k: v for k, v in changes.items() if not is_same_json(old_values.get(k, REMOVED), v)}
    if not changed:
        return text
    result = _apply_changes(parts, changed, first_line_ending(parts.head or parts.body))
    is_safe = len(result) - len(text) <= _MAX_UNCHECKED_CHARACTERS and _are_plain(changed)
    if parts.head or not is_safe:  # a new front matter of short plain keys and values need not be read back
        _check_result(parts, split_parts(result), {**old_values, **changed})
    return result


def _are_plain(changes: Mapping[str, Json | Removed]) -> bool:
    return all(is_plain_text(key) and isinstance(value, str) and is_plain_text(value) for key, value in changes.items())


def _apply_changes(parts: Parts, changes: Mapping[str, Json | Removed], ending: str) -> str:
    opening, source, closing = split_head(parts.head or f"---{ending}---{ending}")
    new = rewrite_properties(source, changes, ending)
    if not new.strip() and split_parts(parts.bom + parts.body) == Parts(parts.bom, "", parts.body):
        return parts.bom + parts.body
    return parts.bom + opening + new + closing + parts.body


def _check_result(old: Parts, new: Parts, new_values: Mapping[str, Json | Removed]) -> None:
    expected = {key: value for key, value in new_values.items() if not isinstance(value, Removed)}
    if (new.bom, new.body) != (old.bom, old.body) or not is_same_json(read_values(new.head), expected):
        raise Damaged("the front matter is written in a way that mirrord cannot change without harm")
