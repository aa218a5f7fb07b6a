"""Links of pages, and the names under which links find entries. Writes here send no notification."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from psycopg.types.json import Jsonb

from mirrord.db.content.dialect_rows import day_formats_of
from mirrord.db.database import Connection
from mirrord.domain.dialect import USUAL_DAYS, DayFormats, Dialect
from mirrord.domain.entry import EntryId, Kind, Place, TenantId
from mirrord.domain.link_meaning import NameKind
from mirrord.markdown.logseq_names import MAX_PROPERTY_CHARACTERS
from mirrord.markdown.page_links import Link

LinkRow = tuple[Any, ...]  # number, kind, target, heading, alias, target_id, target_key, ambiguous, pending


@dataclass(frozen=True, slots=True)
class LinkName:
    """One name of a live entry. key: of the name's last part."""

    entry: EntryId
    number: int
    kind: Kind
    parent: EntryId | None
    index: bool
    name_kind: NameKind
    name: str
    key: str


@dataclass(frozen=True, slots=True)
class EntryPlace:
    """
    The place of an entry.

    is_placed: its name is settled. title, aliases: of a page, from its row. beginning: of the text of a page in a graph
    of Logseq, which may have names in it; None: another entry. days: how they are called there.
    """

    entry: EntryId
    kind: Kind
    place: Place
    is_placed: bool
    deleted: bool
    title: str | None = None
    aliases: object = None
    beginning: str | None = None
    days: DayFormats = USUAL_DAYS


@dataclass(frozen=True, slots=True)
class PageLink:
    """A link of a live page, for display. target_id None: no target, or several if *ambiguous*."""

    source: EntryId
    kind: str
    target: str
    heading: str | None
    alias: str | None
    target_id: EntryId | None
    ambiguous: bool


_LOCK_PAGES = """
SELECT id, version FROM mirrord.page
 WHERE tenant_id = %s AND id = ANY (%s) AND content IS NOT NULL AND ahead = '{}' FOR SHARE"""
_OLD = """
SELECT source_id, number, kind, target, heading, alias, target_id, target_key, ambiguous, pending
  FROM mirrord.page_link WHERE tenant_id = %s AND source_id = ANY (%s) FOR UPDATE"""
# Rows of arrays are joined with the tenant's clock: a cluster then inserts them on the tenant's node.
_UPSERT_LINKS = """
INSERT INTO mirrord.page_link
    (tenant_id, source_id, number, kind, target, heading, alias, target_id, target_key, ambiguous, pending)
SELECT clock.tenant_id, given.*
  FROM (SELECT tenant_id FROM mirrord.tenant_clock WHERE tenant_id = %s) AS clock,
       unnest(%b::uuid[], %b::int[], %b::text[], %b::text[], %b::text[], %b::text[], %b::uuid[], %b::text[],
              %b::boolean[], %b::jsonb[]) AS given
ON CONFLICT (tenant_id, source_id, number) DO UPDATE SET
    kind = EXCLUDED.kind, target = EXCLUDED.target, heading = EXCLUDED.heading, alias = EXCLUDED.alias,
    target_id = EXCLUDED.target_id, target_key = EXCLUDED.target_key, ambiguous = EXCLUDED.ambiguous,
    pending = EXCLUDED.pending, due = true"""
_DELETE_SURPLUS = "DELETE FROM mirrord.page_link WHERE tenant_id = %s AND source_id = %s AND number >= %s"


async def store_links(
    connection: Connection,
    tenant: TenantId,
    pages: Sequence[tuple[EntryId, int, Sequence[Link]]],
    *,
    are_current: bool = False,
    stored_links: Mapping[EntryId, Sequence[LinkRow]] | None = None,
) -> bool:
    """
    Store links, as (page, version, links), of pages that still have that version and a document.

    are_current: all have, and their rows are locked. stored_links: their links, locked, too; None: to be read.
    Equal rows stay untouched. A changed row keeps the meaning that its target had on this page until it is resolved.
    Returns whether any links changed.
    """
    ids = [page for page, _, _ in pages]
    locked = None if are_current else await connection.execute(_LOCK_PAGES, (tenant, ids))
    old = stored_links if stored_links is not None else await _lock_links(connection, tenant, ids)
    versions: dict[EntryId, int] = dict(await locked.fetchall()) if locked is not None else {}
    current = [(page, links) for page, version, links in pages if are_current or versions.get(page) == version]
    rows = [(page, *row) for page, links in current for row in _changed_rows(old[page], links)]
    cuts = [(tenant, page, len(links)) for page, links in current if len(old[page]) > len(links)]
    await _insert_columns(connection, _UPSERT_LINKS, tenant, rows)
    await _execute_each(connection, _DELETE_SURPLUS, cuts)
    return bool(rows or cuts)


async def _lock_links(
    connection: Connection, tenant: TenantId, pages: Sequence[EntryId]
) -> dict[EntryId, list[LinkRow]]:
    """The stored links of *pages*; what was sent before comes with the same round trip."""
    links: dict[EntryId, list[LinkRow]] = {page: [] for page in pages}
    for source, *row in await (await connection.execute(_OLD, (tenant, pages))).fetchall():
        links[source].append(tuple(row))
    return links


def _changed_rows(old: Sequence[LinkRow], links: Sequence[Link]) -> list[LinkRow]:
    old_rows = {number: row for number, *row in old}
    old_meanings = {(kind, target): meaning for _, kind, target, _, _, *meaning in old}
    new_rows = [[link.kind, *map(_without_nul, (link.target, link.heading, link.alias))] for link in links]
    return [
        (number, *link, *_meaning_to_store(*old_meanings.get((link[0], link[1]), (None, None, False, None))))
        for number, link in enumerate(new_rows)
        if number not in old_rows or old_rows[number][:4] != link
    ]


def _meaning_to_store(target: EntryId | None, key: str | None, ambiguous: bool, pending: object) -> LinkRow:
    return target, key, ambiguous, Jsonb(pending) if pending is not None else None


def _without_nul(text: str | None) -> str | None:
    """Replace NUL, which `%00` decodes to and Postgres cannot store."""
    return text.replace("\0", "\ufffd") if text else text


async def _insert_columns(connection: Connection, statement: str, tenant: TenantId, rows: Sequence[LinkRow]) -> None:
    """Insert rows in one statement, one binary array per column: one by one they take twice as long."""
    if rows:
        await connection.execute(statement.encode(), (tenant, *map(list, zip(*rows, strict=True))))


async def _execute_each(connection: Connection, statement: str, rows: Sequence[LinkRow]) -> None:
    if rows:
        async with connection.cursor() as cursor:
            await cursor.executemany(statement, rows)


_PLACES = f"""
SELECT id, kind, parent_id, coalesce(name, ''), index, name_key IS NOT NULL, deleted_at IS NOT NULL, title,
       frontmatter -> 'aliases',
       CASE WHEN kind = 'page' AND (SELECT dialect FROM mirrord.tenant WHERE id = %(t)s) = '{Dialect.LOGSEQ.value}'
            THEN coalesce(left(markdown, {MAX_PROPERTY_CHARACTERS}), '') END,
       (SELECT day_formats FROM mirrord.tenant WHERE id = %(t)s)
  FROM mirrord.page WHERE tenant_id = %(t)s AND id = ANY (%(ids)s)
UNION ALL
SELECT id, 'attachment', parent_id, name, false, name_key IS NOT NULL, deleted_at IS NOT NULL, NULL, NULL, NULL, NULL
  FROM mirrord.attachment WHERE tenant_id = %(t)s AND id = ANY (%(ids)s)"""


async def load_places(
    connection: Connection, tenant: TenantId, entries: Iterable[EntryId]
) -> dict[EntryId, EntryPlace]:
    """The places of *entries*, tombstones included."""
    cursor = await connection.execute(_PLACES.encode(), {"t": tenant, "ids": list(entries)})
    return {row[0]: _place_of_row(row) for row in await cursor.fetchall()}


def _place_of_row(row: Sequence[Any]) -> EntryPlace:
    entry, kind, parent, name, index, placed, deleted, title, aliases, beginning, written = row
    place, days = Place(parent, name, index), day_formats_of(written)
    return EntryPlace(entry, Kind(kind), place, placed, deleted, title, aliases, beginning, days)


_PARENTS = "SELECT id, parent_id, coalesce(name, '') FROM mirrord.page WHERE tenant_id = %s AND id = ANY (%s)"
_NAMED_PARENTS = """
SELECT p.id, CASE WHEN n.entry_id IS NULL THEN p.parent_id ELSE n.parent_id END, coalesce(n.name, p.name, '')
  FROM mirrord.page AS p
  LEFT JOIN mirrord.link_name AS n ON n.tenant_id = p.tenant_id AND n.entry_id = p.id AND n.number = 0
 WHERE p.tenant_id = %s AND p.id = ANY (%s)"""


async def load_parents(
    connection: Connection, tenant: TenantId, folders: Iterable[EntryId | None], *, as_named: bool = False
) -> dict[EntryId, tuple[EntryId | None, str]]:
    """
    (parent, name) of *folders* and their ancestors, read level by level by primary key.

    as_named: as of link_cursor, instead of now; of folders that have no names yet, as they are.
    """
    statement = (_NAMED_PARENTS if as_named else _PARENTS).encode()
    parents: dict[EntryId, tuple[EntryId | None, str]] = {}
    while missing := [folder for folder in set(folders) if folder is not None and folder not in parents]:
        cursor = await connection.execute(statement, (tenant, missing))
        level = {EntryId(entry): (parent, name) for entry, parent, name in await cursor.fetchall()}
        parents |= level
        folders = [parent for parent, _ in level.values()]
    return parents


_BELOW = """
SELECT id FROM mirrord.page WHERE tenant_id = %(t)s AND parent_id = ANY (%(folders)s)
UNION ALL SELECT id FROM mirrord.attachment WHERE tenant_id = %(t)s AND parent_id = ANY (%(folders)s)"""


async def load_descendants(connection: Connection, tenant: TenantId, folders: Iterable[EntryId]) -> set[EntryId]:
    """*folders* and their descendants."""
    entries, level = set(folders), list(folders)
    while level:
        cursor = await connection.execute(_BELOW, {"t": tenant, "folders": level})
        level = [entry for (entry,) in await cursor.fetchall() if entry not in entries]
        entries.update(level)
    return entries


_NAMES = """
SELECT entry_id, number, kind, parent_id, index, called, name, key FROM mirrord.link_name
 WHERE tenant_id = %s AND {} = ANY (%s) ORDER BY entry_id, number"""
_ADD_NAME = """
INSERT INTO mirrord.link_name (tenant_id, entry_id, number, kind, parent_id, index, called, name, key)
SELECT clock.tenant_id, given.*
  FROM (SELECT tenant_id FROM mirrord.tenant_clock WHERE tenant_id = %s) AS clock,
       unnest(%b::uuid[], %b::int[], %b::text[], %b::uuid[], %b::boolean[], %b::text[], %b::text[],
              %b::text[]) AS given"""


async def load_names_of(connection: Connection, tenant: TenantId, entries: Iterable[EntryId]) -> list[LinkName]:
    """The stored names of *entries*, in order."""
    return await _load_names(connection, "entry_id", tenant, list(entries))


_PLACES_AND_NAMES = f"""
SELECT place.*, NULL::integer, NULL::text, NULL::text FROM ({_PLACES}) AS place
UNION ALL
SELECT entry_id, kind, parent_id, name, index, NULL, NULL, NULL, NULL, NULL, NULL, number, called, key
  FROM mirrord.link_name WHERE tenant_id = %(t)s AND entry_id = ANY (%(ids)s)"""


async def load_places_and_names(
    connection: Connection, tenant: TenantId, entries: Collection[EntryId]
) -> tuple[dict[EntryId, EntryPlace], dict[EntryId, list[LinkName]]]:
    """The places and the stored names of *entries*, the latter in order; [] for one without names."""
    cursor = await connection.execute(_PLACES_AND_NAMES.encode(), {"t": tenant, "ids": list(entries)})
    places, names = dict[EntryId, EntryPlace](), defaultdict[EntryId, list[LinkName]](list)
    for *columns, number, called, key in await cursor.fetchall():
        entry, kind, parent, name, index, *_ = columns
        if number is None:
            places[entry] = _place_of_row(columns)
        else:
            names[entry].append(LinkName(entry, number, Kind(kind), parent, index, NameKind(called), name, key))
    return places, {entry: sorted(names[entry], key=lambda name: name.number) for entry in entries}


async def load_names_with(connection: Connection, tenant: TenantId, keys: Iterable[str]) -> list[LinkName]:
    """The stored names with one of *keys*."""
    return await _load_names(connection, "key", tenant, list(keys))


async def _load_names(
    connection: Connection, column: str, tenant: TenantId, values: Sequence[object]
) -> list[LinkName]:
    rows = await (await connection.execute(_NAMES.format(column).encode(), (tenant, values))).fetchall()
    return [
        LinkName(entry, number, Kind(kind), parent, index, NameKind(called), name, key)
        for entry, number, kind, parent, index, called, name, key in rows
    ]


async def replace_names(
    connection: Connection, tenant: TenantId, entries: Iterable[EntryId], names: Iterable[LinkName]
) -> None:
    """Replace all names of *entries* by *names*."""
    await connection.execute(
        "DELETE FROM mirrord.link_name WHERE tenant_id = %s AND entry_id = ANY (%s)", (tenant, list(entries))
    )
    rows = [(n.entry, n.number, n.kind, n.parent, n.index, n.name_kind, n.name, n.key) for n in names]
    await _insert_columns(connection, _ADD_NAME, tenant, rows)


_CLEAR = """
DELETE FROM mirrord.page_link WHERE tenant_id = %(t)s AND source_id = ANY (%(ids)s) AND source_id IN (
    SELECT id FROM mirrord.page WHERE tenant_id = %(t)s AND id = ANY (%(ids)s) AND kind = 'folder')"""


async def clear_links_of_folders(connection: Connection, tenant: TenantId, entries: Iterable[EntryId]) -> None:
    """Delete the links of the folders (pages without a text) among *entries*."""
    await connection.execute(_CLEAR, {"t": tenant, "ids": list(entries)})


_LISTED = """
SELECT l.source_id, l.kind, l.target, l.heading, l.alias, l.target_id, l.ambiguous
  FROM mirrord.page_link AS l JOIN mirrord.page AS p ON p.tenant_id = l.tenant_id AND p.id = l.source_id
 WHERE l.tenant_id = %(tenant)s AND p.deleted_at IS NULL
   AND (%(source)s::uuid IS NULL OR l.source_id = %(source)s) AND (%(target)s::uuid IS NULL OR l.target_id = %(target)s)
   AND (l.target_id IS NULL OR NOT %(unresolved)s)
 ORDER BY p.name, l.source_id, l.number"""


async def list_links(
    connection: Connection,
    tenant: TenantId,
    *,
    source: EntryId | None = None,
    target: EntryId | None = None,
    unresolved: bool = False,
) -> list[PageLink]:
    """Links of live pages: of one page, to one entry, or all. unresolved: only those without a target."""
    values = {"tenant": tenant, "source": source, "target": target, "unresolved": unresolved}
    return [PageLink(*row) for row in await (await connection.execute(_LISTED, values)).fetchall()]
