"""Records, the small files below `.records/` that are not pages: their names and what they hold."""

import re
from dataclasses import dataclass
from enum import StrEnum

from mirrord.domain.place import RECORDS


class RecordFormat(StrEnum):
    """The format of a record's file, by its ending."""

    YAML = ".yaml"
    JSON = ".json"


@dataclass(frozen=True, slots=True)
class RecordSort:
    """
    A kind of records.

    kind: as in rows. directory: of its files, below `.records`. name_rule: a description of their names, for people.
    """

    kind: str
    directory: str
    form: RecordFormat
    key: re.Pattern[str]
    name_rule: str


_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9_-]{0,28}[A-Za-z0-9])?")
_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_NAME_RULE = "1 to 30 letters, digits, `-` and `_`, neither of them at an end"
SORTS = (
    RecordSort("category", "categories", RecordFormat.YAML, _NAME, _NAME_RULE),
    RecordSort("collection", "collections", RecordFormat.YAML, _NAME, _NAME_RULE),
    RecordSort("segment", "segments", RecordFormat.JSON, _UUID, "the id of a page, in small letters"),
)
_BY_KIND = {sort.kind: sort for sort in SORTS}
_BY_DIRECTORY = {f"{RECORDS}/{sort.directory}": sort for sort in SORTS}
DIRECTORIES = frozenset(_BY_DIRECTORY)  # of all records, as paths in a tree


def sort_of(name: str) -> RecordSort:
    """The sort of the record with the place *name*: `category/reading` is the category `reading`."""
    return _BY_KIND[name.partition("/")[0]]


def record_path(name: str) -> str:
    """The path of the file of the record with the place *name*."""
    sort, key = sort_of(name), name.partition("/")[2]
    return f"{RECORDS}/{sort.directory}/{key}{sort.form}"


def name_of_record(path: str) -> str | None:
    """The place name of the record with the file *path*; None if no record can be there."""
    directory, _, file = path.rpartition("/")
    sort = _BY_DIRECTORY.get(directory)
    if sort is None or not file.endswith(sort.form):
        return None
    key = file.removesuffix(sort.form)
    return f"{sort.kind}/{key}" if sort.key.fullmatch(key) else None


def explain_no_record(path: str) -> str:
    """Why the file at *path*, in a directory of records, is no record: the end of a sentence that begins with it."""
    sort = _BY_DIRECTORY[path.rpartition("/")[0]]
    return f"is not synced: here files are called NAME{sort.form}, and NAME is {sort.name_rule}"
