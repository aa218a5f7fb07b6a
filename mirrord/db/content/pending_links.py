"""Links that are to get another target, because what they mean moved: noted with their link until the text has it."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from psycopg.types.json import Jsonb

from mirrord.db.database import Connection
from mirrord.domain.entry import EntryId, MirrorId, TenantId
from mirrord.domain.link_rule import Mover


@dataclass(frozen=True, slots=True)
class MeantLink:
    """A link that means *entry*. pending: the target that the text is to get; None: it has the right one."""

    source: EntryId
    number: int
    kind: str
    target: str
    entry: EntryId
    pending: str | None


@dataclass(frozen=True, slots=True)
class PendingLink:
    """A link that is to get *new_target*. mover: who moved what it means."""

    source: EntryId
    number: int
    kind: str
    target: str
    new_target: str
    mover: Mover


@dataclass(frozen=True, slots=True)
class LinkNote:
    """The note about a link. target: as in `PendingLink.new_target`, None: no longer another one. key: of a target."""

    link: MeantLink
    target: str | None
    key: str | None
    mover: Mover


# The version that gave a page its place and title, or an attachment its place. Walked backwards by the primary key: it
# is among the last. A title that an app wrote is in no version before it is rendered.
_MOVERS = """
SELECT p.id, CASE WHEN p.ahead && ARRAY['title', 'frontmatter'] THEN p.updated_by ELSE (
    SELECT r.actor FROM mirrord.page_revision AS r
     WHERE r.tenant_id = %(t)s AND r.page_id = p.id AND r.version > coalesce((
        SELECT o.version FROM mirrord.page_revision AS o
         WHERE o.tenant_id = %(t)s AND o.page_id = p.id
           AND (o.parent_id, o.name, o.frontmatter ->> 'title')
               IS DISTINCT FROM (p.parent_id, p.name, p.frontmatter ->> 'title')
         ORDER BY o.version DESC LIMIT 1), 0)
     ORDER BY r.version LIMIT 1) END
  FROM mirrord.page AS p WHERE p.tenant_id = %(t)s AND p.id = ANY (%(ids)s)
UNION ALL
SELECT a.id, (
    SELECT r.actor FROM mirrord.attachment_revision AS r
     WHERE r.tenant_id = %(t)s AND r.attachment_id = a.id AND r.version > coalesce((
        SELECT o.version FROM mirrord.attachment_revision AS o
         WHERE o.tenant_id = %(t)s AND o.attachment_id = a.id
           AND (o.parent_id, o.name) IS DISTINCT FROM (a.parent_id, a.name)
         ORDER BY o.version DESC LIMIT 1), 0)
     ORDER BY r.version LIMIT 1)
  FROM mirrord.attachment AS a WHERE a.tenant_id = %(t)s AND a.id = ANY (%(ids)s)"""


async def load_movers(
    connection: Connection, tenant: TenantId, entries: Iterable[EntryId]
) -> dict[EntryId, Mover | None]:
    """Who gave each of *entries* its place and title; None: its versions do not say."""
    cursor = await connection.execute(_MOVERS, {"t": tenant, "ids": list(entries)})
    return {EntryId(entry): mover for entry, mover in await cursor.fetchall()}


_MEANT = """
SELECT source_id, number, kind, target, target_id, pending ->> 'target' FROM mirrord.page_link
 WHERE tenant_id = %s AND {} = ANY (%s) AND target_id IS NOT NULL ORDER BY source_id, number FOR UPDATE"""


async def load_meant_links(
    connection: Connection, tenant: TenantId, keys: Collection[str], sources: Collection[EntryId]
) -> list[MeantLink]:
    """The links that mean an entry, have one of *keys* or are on one of *sources*, locked."""
    links: dict[tuple[EntryId, int], MeantLink] = {}
    for column, values in (("target_key", list(keys)), ("source_id", list(sources))):
        if values:
            cursor = await connection.execute(_MEANT.format(column).encode(), (tenant, values))
            links |= {(row[0], row[1]): MeantLink(*row) for row in await cursor.fetchall()}
    return list(links.values())


# A link with a note is not resolved: it means what it meant.
_NOTE = """
UPDATE mirrord.page_link AS l
   SET pending = given.pending, target_key = given.key, due = given.pending IS NULL
  FROM unnest(%b::uuid[], %b::int[], %b::text[], %b::jsonb[], %b::text[])
       AS given (source, number, target, pending, key)
 WHERE l.tenant_id = %s AND l.source_id = given.source AND l.number = given.number AND l.target = given.target"""


async def note_targets(connection: Connection, tenant: TenantId, notes: Sequence[LinkNote]) -> None:
    """Store *notes* with their links."""
    rows = [(note.link.source, note.link.number, note.link.target, _pending_of(note), note.key) for note in notes]
    if rows:
        await connection.execute(_NOTE.encode(), (*map(list, zip(*rows, strict=True)), tenant))


def _pending_of(note: LinkNote) -> Jsonb | None:
    return Jsonb({"target": note.target, "mover": dict(note.mover)}) if note.target is not None else None


# Pages with notes, their present texts in Postgres, and no decision about them open. With the path of the file.
_REWRITABLE = """
SELECT p.id, b.path FROM mirrord.page AS p
  LEFT JOIN mirrord.mirror_base AS b ON b.tenant_id = %(t)s AND b.mirror_id = %(mirror)s AND b.entry_id = p.id
 WHERE p.tenant_id = %(t)s AND p.deleted_at IS NULL AND p.kind = 'page' AND p.ahead = '{}' AND p.digest IS NOT NULL
   AND p.content IS NOT NULL AND p.id IN (
    SELECT source_id FROM mirrord.page_link WHERE tenant_id = %(t)s AND pending IS NOT NULL)
   AND NOT EXISTS (
    SELECT FROM mirrord.halt AS h WHERE h.tenant_id = %(t)s AND h.closed_at IS NULL AND p.id = ANY (h.entries))
 ORDER BY p.id"""


async def load_rewritable(
    connection: Connection, tenant: TenantId, mirror: MirrorId
) -> list[tuple[EntryId, str | None]]:
    """The pages that can get targets now, each with the path of its file; None: the mirror has not recorded one."""
    return [
        (EntryId(page), path)
        for page, path in await (await connection.execute(_REWRITABLE, {"t": tenant, "mirror": mirror})).fetchall()
    ]


_LOCK = """
SELECT id FROM mirrord.page
 WHERE tenant_id = %s AND id = ANY (%s) AND ahead = '{}' AND content IS NOT NULL AND deleted_at IS NULL
 ORDER BY id FOR NO KEY UPDATE SKIP LOCKED"""
_PENDING = """
SELECT source_id, number, kind, target, pending ->> 'target', pending -> 'mover' FROM mirrord.page_link
 WHERE tenant_id = %s AND source_id = ANY (%s) AND pending IS NOT NULL ORDER BY source_id, number FOR UPDATE"""


async def lock_pending(
    connection: Connection, tenant: TenantId, pages: Sequence[EntryId]
) -> dict[EntryId, list[PendingLink]]:
    """The notes of those of *pages* that no app has locked; their rows are locked."""
    free = [row[0] for row in await (await connection.execute(_LOCK, (tenant, list(pages)))).fetchall()]
    links: dict[EntryId, list[PendingLink]] = {page: [] for page in free}
    for row in await (await connection.execute(_PENDING, (tenant, free))).fetchall():
        links[row[0]].append(PendingLink(*row))
    return links


_SETTLE = """
UPDATE mirrord.page_link AS l SET pending = NULL, due = true, target = given.target
  FROM unnest(%b::uuid[], %b::int[], %b::text[]) AS given (source, number, target)
 WHERE l.tenant_id = %s AND l.source_id = given.source AND l.number = given.number AND l.pending IS NOT NULL"""


async def settle_links(connection: Connection, tenant: TenantId, targets: Mapping[tuple[EntryId, int], str]) -> None:
    """Forget the notes of links, by page and number; *targets*: what the page's text has now."""
    rows = [(page, number, target) for (page, number), target in targets.items()]
    if rows:
        await connection.execute(_SETTLE.encode(), (*map(list, zip(*rows, strict=True)), tenant))
