"""The columns of a new row of the app, out of a new page. Pure."""

from collections.abc import Mapping as ByKey
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

import orjson

from mirrord.binding.mappings.mapping import Mapping
from mirrord.binding.mappings.write_rules import NEW_ID, NOW, Creation, Touch
from mirrord.binding.page_edits import new_row_values
from mirrord.domain.entry import EntryId
from mirrord.markdown.frontmatter.page_properties import Json

Types = ByKey[str, ByKey[str, str]]  # of columns, by table and name

_UUID_CHARACTERS = 36


@dataclass(frozen=True, slots=True)
class NewRow:
    """
    A row for a page, and a row for its body where that has a table.

    of_page, of_body: values by column. times_of_page, times_of_body: columns that get the time.
    """

    of_page: ByKey[str, Any]
    of_body: ByKey[str, Any]
    times_of_page: Sequence[str]
    times_of_body: Sequence[str]


@dataclass(frozen=True, slots=True)
class NewPlace:
    """Where a new row is. tenant: the value of that column. above: of the columns with the row and space above it."""

    tenant: str
    above: ByKey[str, Json]
    path: str | None = None


def new_row_of(entry: EntryId, mapping: Mapping, types: Types, place: NewPlace, text: str) -> NewRow:
    """
    The row for the page *entry* with *text*, which states its title. types: of the app's columns.

    Raises:
        Damaged: a row cannot hold it.
    """
    page, body, rules = mapping.page, mapping.body, mapping.writes
    assert rules is not None
    creation = rules.creation or Creation()
    changes = new_row_values(entry, mapping, text)
    of_page: dict[str, Any] = dict(changes.columns)
    if holds_uuid(types[str(page.table)][page.id]):
        of_page[page.id] = str(entry)
    if mapping.tenancy.column is not None:
        of_page[mapping.tenancy.column] = place.tenant
    of_page |= place.above
    if page.path is not None:
        of_page[page.path] = place.path
    table = body.table or page.table
    of_body: dict[str, Any] = {match.column: match.constant for match in body.matches if match.constant is not None}
    of_body[body.column] = _json_or_text(changes.body or "", types[str(table)][body.column])
    if rules.plain is not None:
        of_body[rules.plain] = changes.plain
    if body.table is None:
        of_page, of_body = {**of_page, **of_body}, {}
    touches_of_page = {touch.column: touch for touch in (*rules.of_page, *creation.of_page)}
    touches_of_body = {touch.column: touch for touch in (*rules.of_body, *creation.of_body)}
    return NewRow(
        {**_constants_of(touches_of_page), **of_page},
        {**_constants_of(touches_of_body), **of_body},
        _times_of(touches_of_page),
        _times_of(touches_of_body),
    )


def holds_uuid(kind: str) -> bool:
    """Whether ids of type *kind* can be those of pages."""
    if kind in ("uuid", "text", "character varying"):
        return True
    size = kind.removeprefix("character varying(").removesuffix(")")
    return size.isdecimal() and int(size) >= _UUID_CHARACTERS


def _json_or_text(body: str, kind: str) -> Any:
    return orjson.loads(body) if kind in ("json", "jsonb") else body


def _constants_of(touches: ByKey[str, Touch]) -> dict[str, str]:
    """The values that are known before the row is there."""
    constants = {column: touch.value for column, touch in touches.items() if touch.is_constant}
    new_ids = (column for column, touch in touches.items() if not touch.is_constant and touch.value == NEW_ID)
    return constants | {column: str(uuid4()) for column in new_ids}


def _times_of(touches: ByKey[str, Touch]) -> list[str]:
    """The columns that get the time; the first number of a version is the app's default."""
    return [column for column, touch in touches.items() if not touch.is_constant and touch.value == NOW]
