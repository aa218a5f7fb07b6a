"""Categories and collections as YAML: what a file says, and the same file with what is to change in it."""

from collections.abc import Mapping

from mirrord.codec.properties import Json, properties
from mirrord.codec.records import Data, read, written
from mirrord.codec.text import BOM
from mirrord.domain.collection import Category, Collection
from mirrord.domain.globbing import fault_in
from mirrord.domain.record import Form
from mirrord.errors import Damaged


def category_of(name: str, text: str) -> Category:
    """What the file of the category *name* says. Raises Damaged where it cannot be read; the message names the line."""
    data = read(Form.YAML, text)
    directory, patterns = _text(text, data, "dir") or "", _texts(text, data, "patterns")
    for pattern in patterns:
        if (why := fault_in(pattern)) is not None:
            raise _wrong(text, "patterns", f"has {pattern[:60]!r}, which {why}")
    return Category(
        name,
        directory.strip("/").removeprefix("./") if directory != "." else "",
        patterns,
        _text(text, data, "description"),
        _text(text, data, "created"),
    )


def collection_of(name: str, text: str) -> Collection:
    """The same for a collection."""
    data = read(Form.YAML, text)
    return Collection(
        name, _texts(text, data, "categories"), _text(text, data, "description"), _text(text, data, "created")
    )


def category_text(before: str | None, category: Category) -> str:
    """*before*, the text of the file, as *category* says; None: a new one. Raises Damaged where that cannot be said."""
    old = category_of(category.name, before) if before is not None else None
    new = _of_category(category)
    return _changed(before, _of_category(old) if old else {}, new)


def collection_text(before: str | None, collection: Collection) -> str:
    """The same for a collection."""
    old = collection_of(collection.name, before) if before is not None else None
    return _changed(before, _of_collection(old) if old else {}, _of_collection(collection))


def _of_category(category: Category) -> Data:
    patterns: list[Json] = [*category.patterns]
    return {
        "dir": category.directory,
        "patterns": patterns,
        "description": category.description,
        "created": category.created,
    }


def _of_collection(collection: Collection) -> Data:
    categories: list[Json] = [*collection.categories]
    return {"categories": categories, "description": collection.description, "created": collection.created}


def _changed(before: str | None, old: Mapping[str, Json], new: Mapping[str, Json]) -> str:
    """Only what means something else now is written; a description that is gone takes its key along."""
    data = read(Form.YAML, before) if before is not None else {}
    for key, value in new.items():
        if key in old and old[key] == value:
            continue
        if value is None:
            data.pop(key, None)
        else:
            data[key] = value
    return written(Form.YAML, before, data)


def _text(source: str, data: Data, key: str) -> str | None:
    value = data.get(key)
    if value is None or isinstance(value, str):
        return value or None
    if _is_whole(value):
        return str(value)
    raise _wrong(source, key, "is not text")


def _texts(source: str, data: Data, key: str) -> tuple[str, ...]:
    """One text is a list of one; a number in a list is the text it looks like."""
    value = data.get(key)
    if value is None:
        return ()
    found = value if isinstance(value, list) else [value]
    if not all(isinstance(one, str) or _is_whole(one) for one in found):
        raise _wrong(source, key, "is not a list of texts; put numbers and words like true into quotes")
    return tuple(map(str, found))


def _is_whole(value: Json) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _wrong(source: str, key: str, why: str) -> Damaged:
    source = source.removeprefix(BOM)
    place = next(one.key_start for one in reversed(properties(source)) if one.key == key)
    return Damaged(f"line {source.count(chr(10), 0, place) + 1}: `{key}` {why}")
