"""The properties in a page's front matter and the views stored there: reading them and changing single keys."""

from collections.abc import Mapping
from dataclasses import dataclass

from mirrord.errors import Damaged
from mirrord.markdown.frontmatter.page_text import (
    Parts,
    first_line_ending,
    split_head,
    split_parts,
    yaml_of_head,
    yaml_of_text,
)
from mirrord.markdown.frontmatter.yaml_edits import is_plain_text, rewrite_properties
from mirrord.markdown.frontmatter.yaml_reader import (
    REMOVED,
    Json,
    Property,
    Removed,
    is_same_json,
    load_values,
    read_properties,
    values_of,
)

__all__ = [
    "REMOVED",
    "Json",
    "Parts",
    "Removed",
    "Views",
    "is_same_json",
    "read_values",
    "split_parts",
    "views_of",
    "with_keys",
    "yaml_of_head",
]


_MAX_UNCHECKED_CHARACTERS = 500  # characters; so short a change reaches no limit of YAML keys or of `properties`


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


@dataclass(frozen=True, slots=True)
class Views:
    """
    The properties of a page in its front matter. None: the key is absent or empty.

    id: the text of the key as written, UUID or not; "" for a key without a value.
    title, icon, position: the text as written, so `title: 1.10` is "1.10"; None for lists and mappings.
    texts: the texts of all keys.
    frontmatter: the values of all keys.
    error: a sentence that says why the front matter cannot be read; all other views are empty then.
    """

    id: str | None
    title: str | None
    icon: str | None
    position: str | None
    texts: dict[str, str | None]
    frontmatter: dict[str, Json]
    error: str | None


def views_of(text: str) -> Views:
    """The front matter's views of *text*; never raises."""
    source = yaml_of_text(text)
    try:
        entries = read_properties(source)
    except Damaged as damaged:
        return Views(None, None, None, None, {}, {}, str(damaged))
    values = values_of(entries)
    by_key = {entry.key: entry for entry in entries}
    texts = {key: by_key[key].text or None for key in by_key if values[key] is not None}
    return Views(
        _id_text(source, by_key.get("id")),
        texts.get("title"),
        texts.get("icon"),
        texts.get("position"),
        texts,
        values,
        None,
    )


def _id_text(source: str, entry: Property | None) -> str | None:
    if entry is None or entry.text is not None:
        return entry.text if entry else None
    return source[entry.start : entry.end].rstrip()
