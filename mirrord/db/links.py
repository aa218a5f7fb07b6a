"""Links of pages, and the names under which links find entries. Nothing here rings: pages stay as they are."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from mirrord.codec.links import Link
from mirrord.db.connect import Connection
from mirrord.domain.entry import EntryId, Kind, Place, TenantId
from mirrord.domain.linking import Called, Found

DUE = 500  # links resolved at once

Row = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Name:
    """One name of a living entry. key: of the name's last part."""

    entry: EntryId
    number: int
    kind: Kind
    parent: EntryId | None
    index: bool
    called: Called
    name: str
    key: str


@dataclass(frozen=True, slots=True)
class Spot:
    """Where an entry is. placed: its name holds. title, aliases: of a page, as the row has them."""

    entry: EntryId
    kind: Kind
    place: Place
    placed: bool
    deleted: bool
    title: str | None = None
    aliases: object = None


@dataclass(frozen=True, slots=True)
class Due:
    """A link whose meaning is to be looked up."""

    source: EntryId
    number: int
    kind: str
    target: str


@dataclass(frozen=True, slots=True)
class Listed:
    """A link of a living page, for people. target_id None: it means nothing, or, where *ambiguous*, several things."""

    source: EntryId
    kind: str
    target: str
    heading: str | None
    alias: str | None
    target_id: EntryId | None
    ambiguous: bool


_HELD = """
SELECT id, version FROM mirrord.page
 WHERE tenant_id = %s AND id = ANY (%s) AND content IS NOT NULL AND ahead = '{}' FOR SHARE"""
_OLD = """
SELECT source_id, number, kind, target, heading, alias, target_id, target_key, ambiguous
  FROM mirrord.page_link WHERE tenant_id = %s AND source_id = ANY (%s) FOR UPDATE"""
_PUT = """
INSERT INTO mirrord.page_link
    (tenant_id, source_id, number, kind, target, heading, alias, target_id, target_key, ambiguous)
SELECT %s, * FROM unnest(%b::uuid[], %b::int[], %b::text[], %b::text[], %b::text[], %b::text[], %b::uuid[], %b::text[],
                         %b::boolean[])
ON CONFLICT (tenant_id, source_id, number) DO UPDATE SET
    kind = EXCLUDED.kind, target = EXCLUDED.target, heading = EXCLUDED.heading, alias = EXCLUDED.alias,
    target_id = EXCLUDED.target_id, target_key = EXCLUDED.target_key, ambiguous = EXCLUDED.ambiguous, due = true"""
_CUT = "DELETE FROM mirrord.page_link WHERE tenant_id = %s AND source_id = %s AND number >= %s"


async def store_links(
    connection: Connection, tenant: TenantId, pages: Sequence[tuple[EntryId, int, Sequence[Link]]]
) -> None:
    """
    The links (page, version, links) of pages that still are of that version and have a document.

    Rows that say the same stay untouched. A changed row keeps the meaning that its target had on this page, until
    it is looked up.
    """
    ids = [page for page, _, _ in pages]
    held = await connection.execute(_HELD, (tenant, ids))
    linked = await connection.execute(_OLD, (tenant, ids))  # asked together: one round trip
    versions: dict[EntryId, int] = dict(await held.fetchall())
    current = [(page, links) for page, version, links in pages if versions.get(page) == version]
    old: dict[EntryId, list[Row]] = {page: [] for page in ids}
    for source, *row in await linked.fetchall():
        old[source].append(tuple(row))
    rows = [(page, *row) for page, links in current for row in _changed(old[page], links)]
    cuts = [(tenant, page, len(links)) for page, links in current if len(old[page]) > len(links)]
    await _together(connection, _PUT, tenant, rows)
    await _each(connection, _CUT, cuts)


def _changed(old: Sequence[Row], links: Sequence[Link]) -> list[Row]:
    said = {number: row for number, *row in old}
    meant = {(kind, target): meaning for _, kind, target, _, _, *meaning in old}
    new = [[link.kind, *map(_storable, (link.target, link.heading, link.alias))] for link in links]
    return [
        (number, *link, *meant.get((link[0], link[1]), (None, None, False)))
        for number, link in enumerate(new)
        if number not in said or said[number][:4] != link
    ]


def _storable(text: str | None) -> str | None:
    """Postgres has no place for NUL, which `%00` spells."""
    return text.replace("\0", "\ufffd") if text else text


async def _together(connection: Connection, statement: str, tenant: TenantId, rows: Sequence[Row]) -> None:
    """New rows by one statement, a column an array (binary, which is quick): one by one they take twice as long."""
    if rows:
        await connection.execute(statement.encode(), (tenant, *map(list, zip(*rows, strict=True))))


async def _each(connection: Connection, statement: str, rows: Sequence[Row]) -> None:
    if rows:
        async with connection.cursor() as cursor:
            await cursor.executemany(statement, rows)


_PAGES = """
SELECT id, kind, parent_id, coalesce(name, ''), index, name_key IS NOT NULL, deleted_at IS NOT NULL, title,
       frontmatter -> 'aliases' FROM mirrord.page WHERE tenant_id = %s AND id = ANY (%s)"""
_ATTACHMENTS = """
SELECT id, 'attachment', parent_id, name, false, name_key IS NOT NULL, deleted_at IS NOT NULL
  FROM mirrord.attachment WHERE tenant_id = %s AND id = ANY (%s)"""


async def load_spots(connection: Connection, tenant: TenantId, entries: Iterable[EntryId]) -> dict[EntryId, Spot]:
    """Where *entries* are, tombstones included."""
    ids = list(entries)
    cursors = [await connection.execute(statement, (tenant, ids)) for statement in (_PAGES, _ATTACHMENTS)]
    rows = [row for cursor in cursors for row in await cursor.fetchall()]
    return {row[0]: _spot(*row) for row in rows}


def _spot(
    entry: EntryId, kind: str, parent: EntryId | None, name: str, index: bool, placed: bool, deleted: bool, *said: Any
) -> Spot:
    return Spot(entry, Kind(kind), Place(parent, name, index), placed, deleted, *said)


async def load_parents(
    connection: Connection, tenant: TenantId, folders: Iterable[EntryId | None]
) -> dict[EntryId, tuple[EntryId | None, str]]:
    """(parent, name) of *folders* and of everything above them, a level at a time, by whole keys."""
    known: dict[EntryId, tuple[EntryId | None, str]] = {}
    while asked := [folder for folder in set(folders) if folder is not None and folder not in known]:
        cursor = await connection.execute(
            "SELECT id, parent_id, coalesce(name, '') FROM mirrord.page WHERE tenant_id = %s AND id = ANY (%s)",
            (tenant, asked),
        )
        found = {EntryId(entry): (parent, name) for entry, parent, name in await cursor.fetchall()}
        known |= found
        folders = [parent for parent, _ in found.values()]
    return known


_BELOW = """
SELECT id FROM mirrord.page WHERE tenant_id = %(t)s AND parent_id = ANY (%(folders)s)
UNION ALL SELECT id FROM mirrord.attachment WHERE tenant_id = %(t)s AND parent_id = ANY (%(folders)s)"""


async def load_below(connection: Connection, tenant: TenantId, folders: Iterable[EntryId]) -> set[EntryId]:
    """*folders* and everything below them."""
    known, level = set(folders), list(folders)
    while level:
        cursor = await connection.execute(_BELOW, {"t": tenant, "folders": level})
        level = [entry for (entry,) in await cursor.fetchall() if entry not in known]
        known.update(level)
    return known


_NAMES = """
SELECT entry_id, number, kind, parent_id, index, called, name, key FROM mirrord.link_name
 WHERE tenant_id = %s AND {} = ANY (%s) ORDER BY entry_id, number"""
_ADD_NAME = """
INSERT INTO mirrord.link_name (tenant_id, entry_id, number, kind, parent_id, index, called, name, key)
SELECT %s, * FROM unnest(%b::uuid[], %b::int[], %b::text[], %b::uuid[], %b::boolean[], %b::text[], %b::text[],
                         %b::text[])"""


async def names_of(connection: Connection, tenant: TenantId, entries: Iterable[EntryId]) -> list[Name]:
    """The known names of *entries*, in order."""
    return await _names(connection, "entry_id", tenant, list(entries))


async def names_with(connection: Connection, tenant: TenantId, keys: Iterable[str]) -> list[Name]:
    """Every known name that has one of *keys*."""
    return await _names(connection, "key", tenant, list(keys))


async def _names(connection: Connection, column: str, tenant: TenantId, values: Sequence[object]) -> list[Name]:
    rows = await (await connection.execute(_NAMES.format(column).encode(), (tenant, values))).fetchall()
    return [
        Name(entry, number, Kind(kind), parent, index, Called(called), name, key)
        for entry, number, kind, parent, index, called, name, key in rows
    ]


async def replace_names(
    connection: Connection, tenant: TenantId, entries: Iterable[EntryId], names: Iterable[Name]
) -> None:
    """*names* are all that *entries* have now."""
    await connection.execute(
        "DELETE FROM mirrord.link_name WHERE tenant_id = %s AND entry_id = ANY (%s)", (tenant, list(entries))
    )
    rows = [(n.entry, n.number, n.kind, n.parent, n.index, n.called, n.name, n.key) for n in names]
    await _together(connection, _ADD_NAME, tenant, rows)


_CLEAR = """
DELETE FROM mirrord.page_link WHERE tenant_id = %(t)s AND source_id = ANY (%(ids)s) AND source_id IN (
    SELECT id FROM mirrord.page WHERE tenant_id = %(t)s AND id = ANY (%(ids)s) AND kind = 'folder')"""


async def clear(connection: Connection, tenant: TenantId, entries: Iterable[EntryId]) -> None:
    """Those of *entries* that are folders, without a text, have no links."""
    await connection.execute(_CLEAR, {"t": tenant, "ids": list(entries)})


async def mark_due(connection: Connection, tenant: TenantId, keys: Iterable[str], sources: Iterable[EntryId]) -> None:
    """Links to one of *keys*, and all links in *sources*, are to be looked up again."""
    for column, values in (("target_key", list(keys)), ("source_id", list(sources))):
        if values:
            statement = (
                f"UPDATE mirrord.page_link SET due = true WHERE tenant_id = %s AND {column} = ANY (%s) AND NOT due"
            )
            await connection.execute(statement.encode(), (tenant, values))


async def load_due(connection: Connection, tenant: TenantId) -> list[Due]:
    """Some links that are to be looked up."""
    cursor = await connection.execute(
        "SELECT source_id, number, kind, target FROM mirrord.page_link WHERE tenant_id = %s AND due "
        "ORDER BY source_id, number LIMIT %s",
        (tenant, DUE),
    )
    return [Due(*row) for row in await cursor.fetchall()]


_SETTLE = """
UPDATE mirrord.page_link AS l SET target_id = found.id, ambiguous = found.ambiguous, target_key = found.key, due = false
  FROM unnest(%b::uuid[], %b::int[], %b::text[], %b::text[], %b::uuid[], %b::boolean[], %b::text[])
       AS found (source, number, kind, target, id, ambiguous, key)
 WHERE l.tenant_id = %s AND l.source_id = found.source AND l.number = found.number
   AND l.kind = found.kind AND l.target = found.target"""


async def settle(connection: Connection, tenant: TenantId, results: Iterable[tuple[Due, str | None, Found]]) -> None:
    """What links mean: (link, its key, what was found). A link that says something else by now stays due."""
    rows = [
        (link.source, link.number, link.kind, link.target, found.entry, found.ambiguous, key)
        for link, key, found in results
    ]
    if rows:
        await connection.execute(_SETTLE, (*map(list, zip(*rows, strict=True)), tenant))


_LISTED = """
SELECT l.source_id, l.kind, l.target, l.heading, l.alias, l.target_id, l.ambiguous
  FROM mirrord.page_link AS l JOIN mirrord.page AS p ON p.tenant_id = l.tenant_id AND p.id = l.source_id
 WHERE l.tenant_id = %(tenant)s AND p.deleted_at IS NULL
   AND (%(source)s::uuid IS NULL OR l.source_id = %(source)s) AND (%(target)s::uuid IS NULL OR l.target_id = %(target)s)
   AND (l.target_id IS NULL OR NOT %(unresolved)s)
 ORDER BY p.name, l.source_id, l.number"""


async def listed(
    connection: Connection,
    tenant: TenantId,
    *,
    source: EntryId | None = None,
    target: EntryId | None = None,
    unresolved: bool = False,
) -> list[Listed]:
    """Links of living pages: of one page, to one entry, or all; or of these what means nothing."""
    values = {"tenant": tenant, "source": source, "target": target, "unresolved": unresolved}
    return [Listed(*row) for row in await (await connection.execute(_LISTED, values)).fetchall()]
