"""The properties in a page's front matter: what they say, columns of rows included, and changing single keys."""

import json
from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache

from mirrord.errors import Damaged
from mirrord.markdown.frontmatter.page_text import HeadForm, PageText, Views, first_line_ending
from mirrord.markdown.frontmatter.plain_changes import is_surely_read_back
from mirrord.markdown.frontmatter.yaml_edits import is_plain_text, rewrite_properties
from mirrord.markdown.frontmatter.yaml_reader import (
    MAX_EXACT_INTEGER,
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
    "Removed",
    "Views",
    "is_same_json",
    "new_head",
    "read_values",
    "read_views",
    "with_keys",
]

_MAX_KEPT_CHARACTERS = 4_000  # characters of front matter whose views are kept in memory
_MAX_UNCHECKED_CHARACTERS = 500  # characters; so short a change reaches no limit of YAML keys or of `properties`


def read_values(page: PageText) -> dict[str, Json]:
    """
    The values of the front matter by key, in its order; `yaml_reader` explains the types of plain scalars.

    Raises:
        Damaged: it is not YAML that mirrord reads; the message names the line.
    """
    if page.views.error is not None:
        raise Damaged(page.views.error)
    return page.views.frontmatter


def new_head(values: Mapping[str, Json]) -> str:
    """A front matter with *values*."""
    return with_keys(PageText(""), values).text


def with_keys(page: PageText, changes: Mapping[str, Json | Removed]) -> PageText:
    """
    *page* with top-level keys set or REMOVED; every other byte stays, and so do keys with an equal value.

    The front matter is created if there is none, and removed with its last key unless a comment remains.

    Raises:
        Damaged: the front matter is not valid, or cannot take this change without harm to other keys.
    """
    old_values = read_values(page)
    changed = {k: v for k, v in changes.items() if not is_same_json(old_values.get(k, REMOVED), v)}
    if not changed:
        return page
    result = _apply_changes(page, changed)
    if not _needs_no_check(page, result, changed):
        _check_result(page, result, {**old_values, **changed})
    return result


def _needs_no_check(page: PageText, result: PageText, changes: Mapping[str, Json | Removed]) -> bool:
    """Whether *result* surely says what it should: a reader of YAML takes a third of the time of a change."""
    if page.head:
        return is_surely_read_back(page, changes)
    return len(result.text) - len(page.text) <= _MAX_UNCHECKED_CHARACTERS and _are_plain(changes)


def _are_plain(changes: Mapping[str, Json | Removed]) -> bool:
    return all(is_plain_text(key) and isinstance(value, str) and is_plain_text(value) for key, value in changes.items())


def _apply_changes(page: PageText, changes: Mapping[str, Json | Removed]) -> PageText:
    ending = first_line_ending(page.head or page.body)
    new = _rewrite_source(page, changes, ending)
    if not new.strip():
        bare = replace(page, text=page.bom + page.body)
        if bare.parts == (page.bom, "", page.body):
            return bare
    opening, closing = (page.opening, page.closing) if page.head else (f"---{ending}", f"---{ending}")
    return replace(page, text=page.bom + opening + new + closing + page.body)


def load_head(source: str, form: HeadForm) -> dict[str, Json]:
    """
    The values of front matter by key.

    Raises:
        Damaged: it cannot be read.
    """
    if form is HeadForm.YAML:
        return load_values(source)
    if form is HeadForm.JSON:
        from mirrord.markdown.frontmatter.json_head import load_json  # noqa: PLC0415  (most trees have none)

        return load_json(source)
    from mirrord.markdown.frontmatter.toml_head import load_toml  # noqa: PLC0415  (most trees have none)

    return load_toml(source)


def _rewrite_source(page: PageText, changes: Mapping[str, Json | Removed], ending: str) -> str:
    if page.form is HeadForm.YAML:
        return rewrite_properties(page.source, changes, ending, page.views.entries)
    if page.form is HeadForm.JSON:
        from mirrord.markdown.frontmatter.json_head import rewrite_json  # noqa: PLC0415  (most trees have none)

        return rewrite_json(page.source, changes, ending)
    from mirrord.markdown.frontmatter.toml_head import rewrite_toml  # noqa: PLC0415  (most trees have none)

    return rewrite_toml(page.source, changes, ending)


def _check_result(old: PageText, new: PageText, new_values: Mapping[str, Json | Removed]) -> None:
    expected = {key: value for key, value in new_values.items() if not isinstance(value, Removed)}
    if (new.bom, new.body) != (old.bom, old.body) or not is_same_json(read_values(new), expected):
        if (number := _inexact_number(expected)) is not None:
            raise Damaged(f"the number {number} would be rounded by some readers of front matter; write it as text")
        raise Damaged("the front matter is written in a way that mirrord cannot change without harm")


def _inexact_number(value: Json) -> int | None:
    """A whole number in *value* that front matter holds as text only."""
    if isinstance(value, int):
        return value if abs(value) > MAX_EXACT_INTEGER else None
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return next((number for each in inner if (number := _inexact_number(each)) is not None), None)


def read_views(source: str, form: HeadForm = HeadForm.YAML) -> Views:
    """The views in front matter; never raises."""
    if form is not HeadForm.YAML or len(source) > _MAX_KEPT_CHARACTERS:
        return _read_views(source, form)
    views = _read_kept_views(source)
    frontmatter = {
        key: value if isinstance(value, str) else _copy_json(value) for key, value in views.frontmatter.items()
    }
    texts = dict(views.texts)
    return Views(
        views.id, views.title, views.icon, views.position, texts, frontmatter, views.error, views.entries
    )  # replace() would take longer than all copies


@lru_cache(maxsize=256)  # what is edited was mostly read just before
def _read_kept_views(source: str) -> Views:
    return _read_views(source, HeadForm.YAML)


def _copy_json(value: Json) -> Json:
    """An equal value that shares no list or mapping with *value*."""
    if isinstance(value, dict):
        return {key: _copy_json(inner) for key, inner in value.items()}
    return [*map(_copy_json, value)] if isinstance(value, list) else value


def _read_views(source: str, form: HeadForm) -> Views:
    try:
        if form is not HeadForm.YAML:
            return _views_of_values(load_head(source, form))
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
        entries,
    )


def _views_of_values(values: dict[str, Json]) -> Views:
    """The views in values whose spelling is not known."""
    texts = {key: _text_of(value) or None for key, value in values.items() if value is not None}
    written_id = texts.get("id") or (json.dumps(values["id"]) if values.get("id") else "")
    shown_id = written_id if "id" in values else None
    return Views(shown_id, texts.get("title"), texts.get("icon"), texts.get("position"), texts, values, None)


def _text_of(value: Json) -> str | None:
    """The text of one value; None for lists and mappings."""
    if isinstance(value, str):
        return value
    return None if isinstance(value, list | dict) else json.dumps(value)


def _id_text(source: str, entry: Property | None) -> str | None:
    if entry is None or entry.text is not None:
        return entry.text if entry else None
    return source[entry.start : entry.end].rstrip()
