"""PURE: categories and collections as YAML: reading a file and changing parts of it."""

from collections.abc import Mapping

from mirrord.domain.record_kinds import RecordFormat
from mirrord.errors import Damaged
from mirrord.markdown.frontmatter.page_text import BOM
from mirrord.markdown.frontmatter.record_text import Data, read_record, write_record
from mirrord.markdown.frontmatter.yaml_reader import Json, read_properties
from mirrord.research.collections.collection_rules import Category, Collection, fault_in


def category_of(name: str, text: str) -> Category:
    """The category *name* read from its file. Raises Damaged if it cannot be read; the message names the line."""
    data = read_record(RecordFormat.YAML, text)
    directory, patterns = _optional_text(text, data, "dir") or "", _text_list(text, data, "patterns")
    for pattern in patterns:
        if (fault := fault_in(pattern)) is not None:
            raise _damage_at(text, "patterns", f"has {pattern[:60]!r}, which {fault}")
    return Category(
        name,
        directory.strip("/").removeprefix("./") if directory != "." else "",
        patterns,
        _optional_text(text, data, "description"),
        _optional_text(text, data, "created"),
    )


def collection_of(name: str, text: str) -> Collection:
    """The collection *name* read from its file. Raises Damaged as `category_of` does."""
    data = read_record(RecordFormat.YAML, text)
    return Collection(
        name,
        _text_list(text, data, "categories"),
        _optional_text(text, data, "description"),
        _optional_text(text, data, "created"),
    )


def category_text(before: str | None, category: Category) -> str:
    """The file's text *before*, changed to hold *category*; None: a new file. Raises Damaged if YAML cannot hold it."""
    old = category_of(category.name, before) if before is not None else None
    new = _category_data(category)
    return _write_changes(before, _category_data(old) if old else {}, new)


def collection_text(before: str | None, collection: Collection) -> str:
    """The same for a collection."""
    old = collection_of(collection.name, before) if before is not None else None
    return _write_changes(before, _collection_data(old) if old else {}, _collection_data(collection))


def _category_data(category: Category) -> Data:
    patterns: list[Json] = [*category.patterns]
    return {
        "dir": category.directory,
        "patterns": patterns,
        "description": category.description,
        "created": category.created,
    }


def _collection_data(collection: Collection) -> Data:
    categories: list[Json] = [*collection.categories]
    return {"categories": categories, "description": collection.description, "created": collection.created}


def _write_changes(before: str | None, old: Mapping[str, Json], new: Mapping[str, Json]) -> str:
    """Write only the keys whose meaning changed; a removed description removes its key."""
    data = read_record(RecordFormat.YAML, before) if before is not None else {}
    for key, value in new.items():
        if key in old and old[key] == value:
            continue
        if value is None:
            data.pop(key, None)
        else:
            data[key] = value
    return write_record(RecordFormat.YAML, before, data)


def _optional_text(source: str, data: Data, key: str) -> str | None:
    value = data.get(key)
    if value is None or isinstance(value, str):
        return value or None
    if _is_integer(value):
        return str(value)
    raise _damage_at(source, key, "is not text")


def _text_list(source: str, data: Data, key: str) -> tuple[str, ...]:
    """A single text is a list of one; a number in a list is read as text."""
    value = data.get(key)
    if value is None:
        return ()
    entries = value if isinstance(value, list) else [value]
    if not all(isinstance(entry, str) or _is_integer(entry) for entry in entries):
        raise _damage_at(source, key, "is not a list of texts; put numbers and words like true into quotes")
    return tuple(map(str, entries))


def _is_integer(value: Json) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _damage_at(source: str, key: str, why: str) -> Damaged:
    source = source.removeprefix(BOM)
    place = next(entry.key_start for entry in reversed(read_properties(source)) if entry.key == key)
    return Damaged(f"line {source.count(chr(10), 0, place) + 1}: `{key}` {why}")
