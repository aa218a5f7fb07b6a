"""Reading states: base and row of entries, and which entries differ from their base."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from mirrord.db.connect import Connection
from mirrord.domain.entry import Digest, EntryId, Kind, MirrorId, Place, TenantId
from mirrord.domain.state import NO_TEXT, Base, Row

_BASE = "b.entry_id, b.kind, b.path, b.parent_id, b.name, b.index, b.version, b.digest, b.claimed, b.saved"
_PAGE = (
    "SELECT p.id, p.kind, p.parent_id, coalesce(p.name, ''), p.index, p.name_key IS NOT NULL, p.version, p.digest, "
    "p.deleted_at IS NOT NULL, p.ahead, p.title FROM mirrord.page AS p WHERE p.tenant_id = %(tenant)s"
)
_ATTACHMENT = (
    "SELECT a.id, 'attachment', a.parent_id, a.name, false, a.name_key IS NOT NULL, a.version, a.digest, "
    "a.deleted_at IS NOT NULL, '{}'::text[], NULL FROM mirrord.attachment AS a WHERE a.tenant_id = %(tenant)s"
)


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which bases to load: any that has one of these paths, entries or digests."""

    paths: Sequence[str] = ()
    entries: Sequence[EntryId] = ()
    digests: Sequence[Digest] = ()


# Keys come as one JSON text: arrays of thousands took psycopg longer than Postgres took to look them up.
_KEYS = "ARRAY(SELECT {} FROM json_array_elements_text(%(keys)s::json) AS k (key))"
_AS_KEY = {"path": "key", "entry_id": "key::uuid", "digest": "decode(key, 'hex')"}
_OF_MIRROR = f"SELECT {_BASE} FROM mirrord.mirror_base AS b WHERE b.tenant_id = %(tenant)s AND b.mirror_id = %(mirror)s"


async def load_bases(connection: Connection, tenant: TenantId, mirror: MirrorId, wanted: Wanted) -> list[Base]:
    """The bases of one mirror that *wanted* names."""
    asked: dict[str, Sequence[object]] = {
        "path": wanted.paths,
        "entry_id": wanted.entries,
        "digest": [digest.hex() for digest in wanted.digests],
    }
    # one statement a kind of key, all sent together: with OR between them no index serves
    cursors = [
        await connection.execute(
            f"{_OF_MIRROR} AND b.{column} = ANY ({_KEYS.format(_AS_KEY[column])})",
            {"tenant": tenant, "mirror": mirror, "keys": _as_json(keys)},
        )
        for column, keys in asked.items()
        if keys
    ]
    found = [_base(row) for cursor in cursors for row in await cursor.fetchall()]
    return list({base.entry: base for base in found}.values())


async def load_agreed(
    connection: Connection, tenant: TenantId, mirror: MirrorId
) -> list[tuple[EntryId, str | None, Digest]]:
    """(entry, path, digest) of every base of one mirror: all that a comparison with the tree needs."""
    cursor = await connection.execute(
        "SELECT b.entry_id, b.path, coalesce(b.digest, '') FROM mirrord.mirror_base AS b "
        "WHERE b.tenant_id = %s AND b.mirror_id = %s",
        (tenant, mirror),
    )
    return await cursor.fetchall()


async def load_rows(connection: Connection, tenant: TenantId, entries: Iterable[EntryId]) -> dict[EntryId, Row]:
    """The rows of *entries*, tombstones included; entries without a row are not in the result."""
    ids = _KEYS.format("key::uuid")
    cursor = await connection.execute(
        f"{_PAGE} AND p.id = ANY ({ids}) UNION ALL {_ATTACHMENT} AND a.id = ANY ({ids})",
        {"tenant": tenant, "keys": _as_json(list(entries))},
    )
    rows = [_row(row) for row in await cursor.fetchall()]
    return {row.entry: row for row in rows}


async def load_purged(connection: Connection, tenant: TenantId, bases: Sequence[Base]) -> dict[EntryId, Row]:
    """Of entries that have no row any more: those that were deleted and purged, not lost."""
    cursor = await connection.execute(
        "SELECT f.entry_id FROM mirrord.entry_feed AS f WHERE f.tenant_id = %s AND f.entry_id = ANY (%s) "
        "AND f.purged_seq = f.seq",
        (tenant, [base.entry for base in bases]),
    )
    purged = {EntryId(row[0]) for row in await cursor.fetchall()}
    return {
        base.entry: Row(base.entry, base.kind, base.place, False, 0, None, deleted=True, purged=True)
        for base in bases
        if base.entry in purged
    }


async def rows_at(
    connection: Connection, tenant: TenantId, mirror: MirrorId, places: Sequence[tuple[EntryId | None, str]]
) -> list[Row]:
    """
    Rows of pages and folders that a file at one of *places* (parent, name) may continue: tombstones of that
    place, the newest last, and live rows this mirror has no base of.
    """
    cursor = await connection.execute(
        f"{_PAGE} AND p.name = ANY ({_KEYS.format('key')}) ORDER BY p.deleted_at NULLS LAST",
        {"tenant": tenant, "keys": _as_json([name for _, name in places])},
    )
    asked = set(places)
    rows = [_row(row) for row in await cursor.fetchall()]
    rows = [row for row in rows if (row.place.parent, row.place.name) in asked]
    wanted = Wanted(entries=[row.entry for row in rows])
    based = {base.entry for base in await load_bases(connection, tenant, mirror, wanted)}
    return [row for row in rows if row.entry not in based]


_DIFFERING_PAGES = """
SELECT coalesce(p.id, b.entry_id)
FROM (SELECT * FROM mirrord.page WHERE tenant_id = %(tenant)s) AS p
FULL JOIN (SELECT * FROM mirrord.mirror_base
           WHERE tenant_id = %(tenant)s AND mirror_id = %(mirror)s AND kind IN ('page', 'folder')) AS b
  ON b.entry_id = p.id
WHERE p.id IS NULL
   OR b.entry_id IS NULL AND p.deleted_at IS NULL
   OR b.version <> p.version OR b.kind <> p.kind OR b.digest IS DISTINCT FROM p.digest
   OR p.deleted_at IS NULL AND (b.parent_id, b.name) IS DISTINCT FROM (p.parent_id, p.name)
   OR p.deleted_at IS NULL AND (p.name_key IS NULL OR p.ahead <> '{}' OR p.digest IS NULL AND p.kind = 'page')
"""
_DIFFERING_ATTACHMENTS = """
SELECT coalesce(a.id, b.entry_id)
FROM (SELECT * FROM mirrord.attachment WHERE tenant_id = %(tenant)s) AS a
FULL JOIN (SELECT * FROM mirrord.mirror_base
           WHERE tenant_id = %(tenant)s AND mirror_id = %(mirror)s AND kind = 'attachment') AS b
  ON b.entry_id = a.id
WHERE a.id IS NULL
   OR b.entry_id IS NULL AND a.deleted_at IS NULL
   OR b.version <> a.version OR b.digest IS DISTINCT FROM a.digest
   OR a.deleted_at IS NULL AND (b.parent_id, b.name) IS DISTINCT FROM (a.parent_id, a.name)
   OR a.deleted_at IS NULL AND a.name_key IS NULL
"""


async def differing(connection: Connection, tenant: TenantId, mirror: MirrorId) -> list[EntryId]:
    """Entries whose row is not what the base of this mirror says: the full compare of rows with bases."""
    cursor = await connection.execute(
        f"{_DIFFERING_PAGES} UNION ALL {_DIFFERING_ATTACHMENTS}", {"tenant": tenant, "mirror": mirror}
    )
    return [EntryId(row[0]) for row in await cursor.fetchall()]


@dataclass(frozen=True, slots=True)
class Unversioned:
    """A row whose text is not that of its version. known: the version's; written: the row's."""

    entry: EntryId
    version: int
    known: str
    written: str


async def unversioned(connection: Connection, tenant: TenantId) -> list[Unversioned]:
    """Pages whose text changed while no trigger ran."""
    cursor = await connection.execute(
        "SELECT p.id, p.version, r.markdown, p.markdown FROM mirrord.page AS p JOIN mirrord.page_revision AS r "
        "ON r.tenant_id = p.tenant_id AND r.page_id = p.id AND r.version = p.version "
        "WHERE p.tenant_id = %s AND p.deleted_at IS NULL AND p.ahead = '{}' AND p.markdown <> r.markdown",
        (tenant,),
    )
    return [Unversioned(*row) for row in await cursor.fetchall()]


async def fed(
    connection: Connection,
    tenant: TenantId,
    mirror: MirrorId,
    after: int,
    limit: int,
    watched: Collection[EntryId] = (),
) -> tuple[list[EntryId], int, bool]:
    """
    Entries whose row changed after seq *after* and is not what the base says, the seq read up to, and whether
    there may be more. *watched* are told whatever the base says.

    A seq is never split: all entries of one transaction come together, so the result may exceed *limit*.
    """
    cursor = await connection.execute(
        "SELECT f.entry_id, f.seq FROM mirrord.entry_feed AS f WHERE f.tenant_id = %s AND f.seq > %s "
        "ORDER BY f.seq FETCH FIRST %s ROWS WITH TIES",  # a second key would leave no ties
        (tenant, after, limit),
    )
    changed = {EntryId(entry): seq for entry, seq in await cursor.fetchall()}
    if not changed:
        return [], after, False
    # looked up by key, not joined: without statistics a join reads every row of the tenant for each entry
    rows = await load_rows(connection, tenant, changed)
    bases = await load_bases(connection, tenant, mirror, Wanted(entries=list(changed)))
    versions = {base.entry: base.version for base in bases}
    odd = [entry for entry in changed if entry in watched or not _is_settled(rows.get(entry), versions.get(entry))]
    return odd, max(changed.values()), len(changed) >= limit


def _is_settled(row: Row | None, base_version: int | None) -> bool:
    if row is None or row.deleted:
        return base_version is None
    return row.version == base_version and row.placed and not row.ahead and row.digest is not None


async def count_based(connection: Connection, tenant: TenantId, mirror: MirrorId) -> int:
    """How many pages, attachments and records one mirror has agreed on."""
    cursor = await connection.execute(
        "SELECT count(*) FROM mirrord.mirror_base WHERE tenant_id = %s AND mirror_id = %s AND kind <> 'folder'",
        (tenant, mirror),
    )
    row = await cursor.fetchone()
    return int(row[0]) if row else 0


async def seqs(connection: Connection, tenants: Sequence[TenantId]) -> dict[TenantId, int]:
    """The clock of every one of *tenants*, in one statement."""
    cursor = await connection.execute(
        "SELECT tenant_id, seq FROM mirrord.tenant_clock WHERE tenant_id = ANY (%s)", (list(tenants),)
    )
    return {TenantId(tenant): seq for tenant, seq in await cursor.fetchall()}


async def seen_versions(
    connection: Connection, tenant: TenantId, questions: Sequence[tuple[EntryId, Digest]]
) -> dict[EntryId, int]:
    """For each (entry, digest): the newest version in the page's history that had these bytes, if any did."""
    return await _versions(connection, tenant, questions, "page_revision AS r", "page_id")


async def seen_texts(
    connection: Connection, tenant: TenantId, questions: Sequence[tuple[EntryId, Digest]]
) -> frozenset[tuple[EntryId, Digest]]:
    """Which of *questions*, each (entry, digest), a page's history answers: some version had these bytes."""
    cursor = await connection.execute(
        "SELECT r.page_id, r.digest FROM mirrord.page_revision AS r WHERE r.tenant_id = %s "
        "AND r.page_id = ANY (%s) AND r.digest = ANY (%s)",
        (tenant, [entry for entry, _ in questions], [digest for _, digest in questions]),
    )
    return frozenset((entry, digest) for entry, digest in await cursor.fetchall()) & frozenset(questions)


async def seen_attachments(
    connection: Connection, tenant: TenantId, questions: Sequence[tuple[EntryId, Digest]]
) -> dict[EntryId, int]:
    """The same for attachments."""
    return await _versions(connection, tenant, questions, "attachment_revision AS r", "attachment_id")


async def _versions(
    connection: Connection, tenant: TenantId, questions: Sequence[tuple[EntryId, Digest]], table: str, column: str
) -> dict[EntryId, int]:
    cursor = await connection.execute(
        f"SELECT r.{column}, r.digest, max(r.version) FROM mirrord.{table} WHERE r.tenant_id = %s "
        f"AND r.{column} = ANY (%s) AND r.digest = ANY (%s) GROUP BY r.{column}, r.digest",
        (tenant, [entry for entry, _ in questions], [digest for _, digest in questions]),
    )
    asked = set(questions)
    return {entry: version for entry, digest, version in await cursor.fetchall() if (entry, digest) in asked}


def _as_json(keys: Sequence[object]) -> str:
    return orjson.dumps(keys).decode()


def _digest(kind: str, stored: bytes | None) -> Digest | None:
    return NO_TEXT if kind == Kind.FOLDER else Digest(stored) if stored is not None else None


def _base(row: tuple[Any, ...]) -> Base:
    entry, kind, path, parent, name, index, version, digest, claimed, saved = row
    place = Place(parent, name, index)
    return Base(EntryId(entry), Kind(kind), path, place, version, _digest(kind, digest) or NO_TEXT, claimed, saved)


def _row(row: tuple[Any, ...]) -> Row:
    entry, kind, parent, name, index, placed, version, digest, deleted, ahead, title = row
    return Row(
        EntryId(entry),
        Kind(kind),
        Place(parent, name, index),
        placed,
        version,
        _digest(kind, digest),
        deleted,
        frozenset(ahead),
        title,
    )
