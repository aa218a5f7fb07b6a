"""PURE: categories and collections as YAML: reading a file and changing parts of it."""

from collections.abc import Mapping

from mirrord.domain.place import RecordFormat
from mirrord.errors import Damaged
from mirrord.markdown.frontmatter.page_text import BOM
from mirrord.markdown.frontmatter.record_text import Data, read_record, write_record
from mirrord.markdown.frontmatter.yaml_reader import Json, read_properties
from mirrord.research.collections.collection_rules import GroupKind, PageGroup


def read_group(kind: GroupKind, name: str, text: str) -> PageGroup:
    """The group *name* read from its file. Raises Damaged if it cannot be read; the message names the line."""
    data = read_record(RecordFormat.YAML, text)
    directory = _optional_text(text, data, "dir") if kind.has_directory else None
    members = _text_list(text, data, kind.members)
    for member in members:
        if (fault := kind.fault_in(member)) is not None:
            raise _damage_at(text, kind.members, f"has {member[:60]!r}, which {fault}")
    description, created = _optional_text(text, data, "description"), _optional_text(text, data, "created")
    return PageGroup(name, members, _spell_directory(directory or ""), description, created)


def group_text(kind: GroupKind, before: str | None, group: PageGroup) -> str:
    """The file's text *before*, changed to hold *group*; None: a new file. Raises Damaged if YAML cannot hold it."""
    old = _group_data(kind, read_group(kind, group.name, before)) if before is not None else {}
    return _write_changes(before, old, _group_data(kind, group))


def _spell_directory(directory: str) -> str:
    return directory.strip("/").removeprefix("./") if directory != "." else ""


def _group_data(kind: GroupKind, group: PageGroup) -> Data:
    members: list[Json] = [*group.members]
    directory: Data = {"dir": group.directory} if kind.has_directory else {}
    return {**directory, kind.members: members, "description": group.description, "created": group.created}


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
