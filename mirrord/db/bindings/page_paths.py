"""Where the files of pages are, within the transaction that writes the pages; and which bound pages are at paths."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from uuid import UUID

from psycopg.types.json import Jsonb

from mirrord.db.bindings.binding_rows import BindingRow
from mirrord.db.database import Connection
from mirrord.domain.entry import EntryId

_MAX_DEPTH = 200  # of pages below each other
_TOP = UUID(int=0)

_STEPS = """
WITH RECURSIVE up (target, parent_id, name, index, is_placed, depth) AS (
    SELECT p.id, p.parent_id, p.name, p.index, p.name_key IS NOT NULL, 0 FROM mirrord.page AS p
     WHERE p.tenant_id = %(tenant)s AND p.id = ANY (%(entries)s) AND p.deleted_at IS NULL AND p.name IS NOT NULL
    UNION ALL
    SELECT u.target, p.parent_id, coalesce(p.name, ''), p.index, p.name_key IS NOT NULL, u.depth + 1
      FROM up AS u JOIN mirrord.page AS p ON p.tenant_id = %(tenant)s AND p.id = u.parent_id
     WHERE u.depth < %(depth)s)
SELECT target, array_agg(name ORDER BY depth DESC), (array_agg(index ORDER BY depth))[1], bool_and(is_placed)
  FROM up GROUP BY target"""
_BOUND_AT = """
WITH RECURSIVE sought (number, keys) AS (
    SELECT o.number, o.keys FROM jsonb_array_elements(%(keys)s) WITH ORDINALITY AS o (keys, number)),
down (number, id, depth) AS (
    SELECT s.number, p.id, 1 FROM sought AS s JOIN mirrord.page AS p
        ON p.tenant_id = %(tenant)s AND p.parent_key = %(top)s AND p.name_key = s.keys ->> 0
    UNION ALL
    SELECT d.number, p.id, d.depth + 1 FROM down AS d JOIN sought AS s ON s.number = d.number JOIN mirrord.page AS p
        ON p.tenant_id = %(tenant)s AND p.parent_key = d.id AND p.name_key = s.keys ->> d.depth)
SELECT s.number, e.external_id FROM down AS d JOIN sought AS s ON s.number = d.number
  JOIN mirrord.binding_entry AS e
    ON (e.tenant_id, e.binding_id, e.entry_id) = (%(tenant)s, %(binding)s, d.id)
 WHERE d.depth = jsonb_array_length(s.keys)"""
_WITH_TEXT = """
SELECT e.external_id FROM mirrord.binding_entry AS e
  JOIN mirrord.page AS p ON (p.tenant_id, p.id) = (e.tenant_id, e.entry_id)
 WHERE e.tenant_id = %(tenant)s AND e.binding_id = %(binding)s AND p.deleted_at IS NULL
   AND strpos(p.markdown, %(beginning)s) > 0
   AND (%(parts)s::text[] IS NULL OR EXISTS (SELECT FROM unnest(%(parts)s::text[]) AS part
                                              WHERE strpos(p.markdown, part) > 0))"""
_WITH_DEAD_LINKS = """
SELECT e.external_id FROM mirrord.page_link AS l
  JOIN mirrord.binding_entry AS e ON (e.tenant_id, e.entry_id) = (l.tenant_id, l.source_id)
 WHERE l.tenant_id = %(tenant)s AND e.binding_id = %(binding)s AND l.kind = 'markdown' AND l.target_id IS NULL
   AND l.target <> '' AND NOT l.due"""


@dataclass(frozen=True, slots=True)
class PageSteps:
    """The names from the root down to a page. is_index: its file is in its directory. is_placed: no name may change."""

    steps: Sequence[str]
    is_index: bool
    is_placed: bool


async def load_steps(
    connection: Connection, binding: BindingRow, entries: Iterable[EntryId]
) -> dict[EntryId, PageSteps]:
    """Where the living ones of *entries* are."""
    values = {"tenant": binding.tenant, "entries": list(set(entries)), "depth": _MAX_DEPTH}
    cursor = await connection.execute(_STEPS, values)
    return {EntryId(entry): PageSteps(*place) for entry, *place in await cursor.fetchall()}


async def load_bound_at(connection: Connection, binding: BindingRow, paths: Sequence[Sequence[str]]) -> dict[int, str]:
    """The ids of the rows with the pages at *paths*, by the place in *paths*, each the keys of names from the root."""
    values = {"tenant": binding.tenant, "binding": binding.id, "keys": Jsonb([list(keys) for keys in paths])}
    cursor = await connection.execute(_BOUND_AT, {**values, "top": _TOP})
    return {number - 1: external_id for number, external_id in await cursor.fetchall()}


async def load_with_text(
    connection: Connection, binding: BindingRow, beginning: str, parts: Collection[str] | None
) -> set[str]:
    """The ids of rows with pages in which *beginning* is, and one of *parts*. parts: None: any."""
    values = {"tenant": binding.tenant, "binding": binding.id, "beginning": beginning}
    cursor = await connection.execute(_WITH_TEXT, {**values, "parts": None if parts is None else list(parts)})
    return {external_id for (external_id,) in await cursor.fetchall()}


async def load_with_dead_links(connection: Connection, binding: BindingRow) -> set[str]:
    """The ids of rows with pages in which a link means nothing, as after a move before the link was known."""
    cursor = await connection.execute(_WITH_DEAD_LINKS, {"tenant": binding.tenant, "binding": binding.id})
    return {external_id for (external_id,) in await cursor.fetchall()}
