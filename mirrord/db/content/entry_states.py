"""Reads states: base and row of entries, and which entries differ from their base."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

import orjson
from psycopg.rows import TupleRow

from mirrord.db.array_texts import array_of
from mirrord.db.content import record_rows
from mirrord.db.database import Connection
from mirrord.domain.entry import NO_TEXT, Base, Digest, EntryId, Kind, MirrorId, Place, Row, TenantId

# Bases and rows have the same columns, so that one statement reads both: those of both, of bases, of rows.
_BASE = (
    "b.entry_id, b.kind, b.parent_id, b.name, b.index, b.version, b.digest, b.path, b.claimed, b.saved, "
    "NULL::boolean, NULL::boolean, NULL::text[], NULL::text, NULL::boolean"
)
_NO_BASE = "NULL::text, NULL::text, NULL::bigint"
_PAGE = (
    f"SELECT p.id, p.kind, p.parent_id, coalesce(p.name, ''), p.index, p.version, p.digest, {_NO_BASE}, "
    "p.name_key IS NOT NULL, p.deleted_at IS NOT NULL, p.ahead, p.title, "
    "p.confirmed IS NOT DISTINCT FROM p.version FROM mirrord.page AS p "
    "WHERE p.tenant_id = %(tenant)s"
)
_ATTACHMENT = (
    f"SELECT a.id, 'attachment', a.parent_id, a.name, false, a.version, a.digest, {_NO_BASE}, "
    "a.name_key IS NOT NULL, a.deleted_at IS NOT NULL, '{}'::text[], NULL, false FROM mirrord.attachment AS a "
    "WHERE a.tenant_id = %(tenant)s"
)
_RECORD = (
    f"SELECT r.id, 'record', NULL::uuid, r.kind || '/' || r.key, false, r.version, r.digest, {_NO_BASE}, "
    "true, r.deleted_at IS NOT NULL, r.ahead, NULL, false FROM mirrord.record AS r "
    "WHERE r.tenant_id = %(tenant)s"
)


@dataclass(frozen=True, slots=True)
class BaseKeys:
    """A selection of bases: those with one of these paths, entries or digests."""

    paths: Sequence[str] = ()
    entries: Sequence[EntryId] = ()
    digests: Sequence[Digest] = ()


@dataclass(frozen=True, slots=True)
class LoadedEntries:
    """The current bases of *entries*, and their rows by entry. texts: of rows rendered or read just now, as bytes."""

    entries: frozenset[EntryId] = frozenset()
    bases: Sequence[Base] = ()
    rows: Mapping[EntryId, Row] = field(default_factory=dict)
    texts: Mapping[EntryId, bytes] = field(default_factory=dict)


_IS_PLACED = 10  # the column that no base has
_AS_KEY = {"path": "key", "entry_id": "key::uuid", "digest": "decode(key, 'hex')"}
_OF_MIRROR = f"SELECT {_BASE} FROM mirrord.mirror_base AS b WHERE b.tenant_id = %(tenant)s AND b.mirror_id = %(mirror)s"
_CHANGED = """
WITH changed AS MATERIALIZED (
    SELECT f.entry_id, f.seq FROM mirrord.entry_feed AS f WHERE f.tenant_id = %(tenant)s AND f.seq > %(after)s
     ORDER BY f.seq FETCH FIRST %(limit)s ROWS WITH TIES)"""  # a second sort key would leave no ties
_FEED = "feed"  # in place of a kind
_CHANGE = f"""
SELECT entry_id, '{_FEED}', NULL::uuid, '', false, seq, NULL::bytea, {_NO_BASE}, NULL::boolean, NULL::boolean,
       NULL::text[], NULL::text, NULL::boolean FROM changed"""


async def load_bases(connection: Connection, tenant: TenantId, mirror: MirrorId, keys: BaseKeys) -> list[Base]:
    """The bases of one mirror selected by *keys*."""
    return (await load_bases_and_rows(connection, tenant, mirror, keys, ()))[0]


async def load_rows(connection: Connection, tenant: TenantId, entries: Iterable[EntryId]) -> dict[EntryId, Row]:
    """The rows of *entries*, tombstones included; entries without a row are not in the result."""
    query = _rows_query(_keys_of("rows", "key::uuid")).encode()
    cursor = await connection.execute(query, {"tenant": tenant, "rows": _as_json(list(entries))})
    return _split(await cursor.fetchall())[1]


async def load_bases_and_rows(
    connection: Connection, tenant: TenantId, mirror: MirrorId, keys: BaseKeys, entries: Collection[EntryId]
) -> tuple[list[Base], dict[EntryId, Row]]:
    """The results of load_bases and load_rows, in one statement."""
    values = {
        "path": keys.paths,
        "entry_id": keys.entries,
        "digest": [digest.hex() for digest in keys.digests],
        "rows": list(entries),
    }
    selected = {key: _as_json(keys) for key, keys in values.items() if keys}
    if not selected:
        return [], {}
    cursor = await connection.execute(_query_by(*selected), {"tenant": tenant, "mirror": mirror, **selected})
    return _split(await cursor.fetchall())


@lru_cache  # there are fifteen
def _query_by(*keys: str) -> bytes:
    """The query for bases by each of *keys*, and for rows; one part per kind of key: OR would prevent indexes."""
    parts = [_rows_query(_keys_of(key, "key::uuid")) if key == "rows" else bases_query(key) for key in keys]
    return " UNION ALL ".join(parts).encode()


def bases_query(column: str) -> str:
    """The query for bases by *column*: path, entry_id or digest."""
    return f"{_OF_MIRROR} AND b.{column} = ANY ({_keys_of(column, _AS_KEY[column])})"


def _rows_query(keys: str) -> str:
    tables = {_PAGE: "p", _ATTACHMENT: "a", _RECORD: "r"}
    return " UNION ALL ".join(f"{select} AND {alias}.id = ANY ({keys})" for select, alias in tables.items())


def _keys_of(parameter: str, key: str) -> str:
    """The array in *parameter*, one JSON text: psycopg took longer to send large arrays than Postgres to read them."""
    return f"ARRAY(SELECT {key} FROM json_array_elements_text(%({parameter})s::json) AS k (key))"


def _split(selected: Iterable[TupleRow]) -> tuple[list[Base], dict[EntryId, Row]]:
    """Bases, each once, and rows."""
    bases, rows = dict[EntryId, Base](), dict[EntryId, Row]()
    for columns in selected:
        if columns[_IS_PLACED] is None:
            bases[columns[0]] = _base(columns)
        else:
            rows[columns[0]] = _row(columns)
    return list(bases.values()), rows


async def is_record_name(connection: Connection, tenant: TenantId, name: str) -> bool:
    """Whether a live record has exactly this *name*."""
    return any(
        not row.deleted for row in await _records_at(connection, tenant, [(None, name)]) if row.place.name == name
    )


async def load_purged(connection: Connection, tenant: TenantId, bases: Sequence[Base]) -> dict[EntryId, Row]:
    """Rows of entries that were deleted and purged, in contrast to lost ones, by entry."""
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


async def load_rows_at(
    connection: Connection, tenant: TenantId, mirror: MirrorId, places: Sequence[tuple[EntryId | None, str]]
) -> tuple[list[Row], list[Base]]:
    """
    Pages, folders and records whose file may be at one of *places* (parent, name).

    Returns the rows without a base in this mirror (tombstones, the newest last, then live rows), and the bases of the
    other rows there, whose files may be missing.
    """
    cursor = await connection.execute(
        f"{_PAGE} AND p.name = ANY ({_keys_of('keys', 'key')}) ORDER BY p.deleted_at NULLS LAST",
        {"tenant": tenant, "keys": _as_json([name for _, name in places])},
    )
    rows = [_row(row) for row in await cursor.fetchall()] + await _records_at(connection, tenant, places)
    return await _split_by_base(connection, tenant, mirror, rows, places)


async def load_unrecorded_tombstones(
    connection: Connection, tenant: TenantId, mirror: MirrorId, digests: Sequence[Digest]
) -> list[Row]:
    """Deleted pages with one of *digests* and without a base in this mirror."""
    cursor = await connection.execute(
        f"{_PAGE} AND p.deleted_at IS NOT NULL AND p.digest = ANY ({_keys_of('keys', _AS_KEY['digest'])})",
        {"tenant": tenant, "keys": _as_json([digest.hex() for digest in digests])},
    )
    rows = [_row(row) for row in await cursor.fetchall()]
    bases = await load_bases(connection, tenant, mirror, BaseKeys(entries=[row.entry for row in rows]))
    return [row for row in rows if row.entry not in {base.entry for base in bases}]


async def load_attachments_at(
    connection: Connection, tenant: TenantId, mirror: MirrorId, places: Sequence[tuple[EntryId | None, str]]
) -> list[Row]:
    """Live rows of attachments at *places* (parent, name) without a base in this mirror."""
    cursor = await connection.execute(
        f"{_ATTACHMENT} AND a.deleted_at IS NULL AND a.name_key = ANY ({_keys_of('keys', 'mirrord.name_key(key)')})",
        {"tenant": tenant, "keys": _as_json([name for _, name in places])},
    )
    rows = [_row(row) for row in await cursor.fetchall()]
    return (await _split_by_base(connection, tenant, mirror, rows, places))[0]


async def _split_by_base(
    connection: Connection,
    tenant: TenantId,
    mirror: MirrorId,
    rows: Sequence[Row],
    places: Collection[tuple[EntryId | None, str]],
) -> tuple[list[Row], list[Base]]:
    """The rows at *places* without a base in this mirror, and the bases of the other rows."""
    wanted_places = set(places)
    rows = [row for row in rows if (row.place.parent, row.place.name) in wanted_places]
    if not rows:
        return [], []
    bases = await load_bases(connection, tenant, mirror, BaseKeys(entries=[row.entry for row in rows]))
    with_base = {base.entry for base in bases}
    return [row for row in rows if row.entry not in with_base], bases


async def _records_at(
    connection: Connection, tenant: TenantId, places: Sequence[tuple[EntryId | None, str]]
) -> list[Row]:
    """The rows of records with a key from one of *places*."""
    keys = [key for _, name in places for _, slash, key in [name.partition("/")] if slash]
    entries = await record_rows.find_by_keys(connection, tenant, keys) if keys else []
    rows = await load_rows(connection, tenant, entries) if entries else {}
    return [rows[entry] for entry in entries if entry in rows]


# looked up by key, not joined: without statistics a join reads all rows of the tenant for each entry
_CHANGED_KEYS = "ARRAY(SELECT entry_id FROM changed)"
_CHANGED_ENTRIES = (
    f"{_CHANGED} {_CHANGE} UNION ALL {_OF_MIRROR} AND b.entry_id = ANY ({_CHANGED_KEYS}) "
    f"UNION ALL {_rows_query(_CHANGED_KEYS)}"
)


async def load_changed_entries(
    connection: Connection,
    tenant: TenantId,
    mirror: MirrorId,
    after: int,
    limit: int,
    watched_entries: Collection[EntryId] = (),
) -> tuple[LoadedEntries, int, bool]:
    """
    Entries whose row changed after seq *after* and differs from the base, the last seq read, and whether there
    may be more. *watched_entries* entries are included with any base.

    A seq is never split: all entries of one transaction are returned together, so the result may exceed *limit*.
    """
    values = {"tenant": tenant, "mirror": mirror, "after": after, "limit": limit}
    selected = await (await connection.execute(_CHANGED_ENTRIES.encode(), values)).fetchall()
    changed = {EntryId(columns[0]): columns[5] for columns in selected if columns[1] == _FEED}
    if not changed:
        return LoadedEntries(), after, False
    bases, rows = _split(columns for columns in selected if columns[1] != _FEED)
    versions = {base.entry: base.version for base in bases}
    differing = {
        entry
        for entry in changed
        if entry in watched_entries or not _is_as_in_base(rows.get(entry), versions.get(entry))
    }
    loaded = LoadedEntries(
        frozenset(differing),
        [base for base in bases if base.entry in differing],
        {entry: row for entry, row in rows.items() if entry in differing},
    )
    return loaded, max(changed.values()), len(changed) >= limit


def _is_as_in_base(row: Row | None, base_version: int | None) -> bool:
    if row is None or row.deleted:
        return base_version is None
    return row.version == base_version and row.placed and not row.ahead and row.digest is not None


async def count_bases(connection: Connection, tenant: TenantId, mirror: MirrorId) -> tuple[int, int]:
    """The number of pages and attachments, and that of records, with a base in one mirror."""
    cursor = await connection.execute(
        "SELECT count(*) FILTER (WHERE kind <> 'record'), count(*) FILTER (WHERE kind = 'record') "
        "FROM mirrord.mirror_base WHERE tenant_id = %s AND mirror_id = %s AND kind <> 'folder'",
        (tenant, mirror),
    )
    row = await cursor.fetchone()
    return (int(row[0]), int(row[1])) if row else (0, 0)


async def load_seqs(connection: Connection, tenants: Sequence[TenantId]) -> dict[TenantId, int]:
    """The seq of the clock of each of *tenants*, in one statement."""
    cursor = await connection.execute(
        "SELECT tenant_id, seq FROM mirrord.tenant_clock WHERE tenant_id = ANY (%s::uuid[])", (array_of(tenants),)
    )
    return {TenantId(tenant): seq for tenant, seq in await cursor.fetchall()}


def _as_json(keys: Sequence[object]) -> str:
    return orjson.dumps(keys).decode()


def _digest(kind: str, stored: bytes | None) -> Digest | None:
    return NO_TEXT if kind == Kind.FOLDER else Digest(stored) if stored is not None else None


def _base(columns: TupleRow) -> Base:
    entry, kind, parent, name, index, version, digest, path, claimed, saved, *_ = columns
    place = Place(parent, name, index)
    return Base(EntryId(entry), Kind(kind), path, place, version, _digest(kind, digest) or NO_TEXT, claimed, saved)


def _row(columns: TupleRow) -> Row:
    entry, kind, parent, name, index, version, digest, _, _, _, placed, deleted, ahead, title, is_confirmed = columns
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
        is_confirmed=is_confirmed,
    )
