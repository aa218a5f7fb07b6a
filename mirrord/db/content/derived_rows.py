"""What mirrord derives from rows of apps: text, views, names and documents, without new versions."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from psycopg.types.json import Jsonb

from mirrord.db.content.altered_rows import ALTERED_AGAIN, check_omitted
from mirrord.db.content.entry_tables import position_sql
from mirrord.db.content.entry_writes import PageValues
from mirrord.db.content.link_rows import LinkRow
from mirrord.db.database import Connection
from mirrord.domain.dialect import Dialect
from mirrord.domain.entry import Digest, EntryId, Kind, TenantId
from mirrord.domain.place import name_key
from mirrord.errors import Damaged
from mirrord.markdown.schema.document import Document

_FORMER_TEXTS = 8  # that a block may return from
_MAX_FORMER_BYTES = 200_000  # of each


@dataclass(frozen=True, slots=True)
class PageRow:
    """
    A page as written by apps: its last markdown, and its columns, of which `ahead` names the new ones.

    frontmatter, content, prior_content: JSON in Postgres' form, which may exceed the limits of parsers. prior_content:
    the document before `content`, if that is new. is_confirmed: all that `content` removes is meant. is_halted:
    many pages of the tenant are held, so smaller losses are held as well.
    """

    entry: EntryId
    kind: Kind
    version: int
    name: str | None
    markdown: str | None
    digest: Digest | None
    ahead_columns: frozenset[str]
    title: str | None
    icon: str | None
    position: str | None
    frontmatter: str | None
    content: str | None
    prior_content: str | None
    is_confirmed: bool = False
    is_halted: bool = False
    dialect: Dialect = Dialect.PLAIN


async def load_page_rows(connection: Connection, tenant: TenantId, entries: Iterable[EntryId]) -> list[PageRow]:
    """The pages among *entries*, with all columns needed for rendering."""
    cursor = await connection.execute(
        "SELECT id, kind, version, name, markdown, digest, ahead, title, icon, position, frontmatter::text, "
        "CASE WHEN 'content' = ANY (ahead) THEN content::text END, "
        "CASE WHEN 'content' = ANY (ahead) THEN prior::text END, confirmed IS NOT DISTINCT FROM version, "
        "(SELECT dialect FROM mirrord.tenant WHERE id = %s) "
        "FROM mirrord.page WHERE tenant_id = %s AND id = ANY (%s)",
        (tenant, tenant, list(entries)),
    )
    return [
        replace(
            PageRow(EntryId(entry), Kind(kind), version, name, markdown, _digest(digest), frozenset(ahead), *views),
            dialect=Dialect(dialect),
        )
        for entry, kind, version, name, markdown, digest, ahead, *views, dialect in await cursor.fetchall()
    ]


async def load_former_texts(connection: Connection, tenant: TenantId, page: PageRow) -> list[str]:
    """The last texts of *page* before the version it has, the newest first, without long ones."""
    cursor = await connection.execute(
        "SELECT markdown FROM mirrord.page_revision WHERE tenant_id = %s AND page_id = %s AND version < %s "
        "AND markdown IS NOT NULL AND octet_length(markdown) <= %s ORDER BY version DESC LIMIT %s",
        (tenant, page.entry, page.version, _MAX_FORMER_BYTES, _FORMER_TEXTS),
    )
    return [row[0] for row in await cursor.fetchall()]


_STORE_TEXT = f"""
UPDATE mirrord.page
   SET index = index OR kind = 'folder', kind = 'page', markdown = %(markdown)s, digest = %(digest)s,
       title = coalesce(%(title)s, name), icon = %(icon)s, position = {position_sql()},
       frontmatter = %(frontmatter)s, ahead = '{{}}', content = coalesce(%(content)s::jsonb, content),
       prior = CASE WHEN %(content)s::jsonb IS NULL THEN prior END
 WHERE tenant_id = %(tenant)s AND id = %(entry)s AND version = %(version)s
RETURNING markdown IS DISTINCT FROM %(markdown)s AS is_altered"""
# Of a text that an app wrote itself: triggers of apps that alter texts wait for writes of `markdown`.
_STORE_DIGEST = _STORE_TEXT.replace("markdown = %(markdown)s, ", "")
_FORGET_DIGEST = "UPDATE mirrord.page SET digest = NULL WHERE tenant_id = %(tenant)s AND id = %(entry)s"
_NAME_PAGE = """
UPDATE mirrord.page
   SET name = %(name)s, name_key = %(key)s,
       title = CASE WHEN 'title' = ANY (ahead) OR coalesce(frontmatter ? 'title', false) THEN title ELSE %(name)s END
 WHERE tenant_id = %(tenant)s AND id = %(entry)s AND version = %(version)s AND deleted_at IS NULL RETURNING version"""
_NAME_ATTACHMENT = """
UPDATE mirrord.attachment SET name = %(name)s, name_key = %(key)s
 WHERE tenant_id = %(tenant)s AND id = %(entry)s AND version = %(version)s AND deleted_at IS NULL RETURNING version"""


@dataclass(frozen=True, slots=True)
class DerivedText:
    """The text and views derived from what an app wrote. content: its document, with all ids; None: it wrote none."""

    text: PageValues
    digest: Digest
    content: Document | None


_CONFIRM_CONTENT = """
UPDATE mirrord.page SET confirmed = version
 WHERE tenant_id = %s AND id = %s AND deleted_at IS NULL AND 'content' = ANY (ahead)"""


async def confirm_content(connection: Connection, tenant: TenantId, page: EntryId) -> None:
    """Note that all is meant which the waiting document of *page* removes."""
    await connection.execute(_CONFIRM_CONTENT, (tenant, page))


async def store_text(connection: Connection, tenant: TenantId, page: PageRow, derived: DerivedText) -> bool:
    """
    Store what was derived from *page*, as an app wrote it. False: it changed, or a trigger of an app altered its text.

    Raises:
        Damaged: a trigger alters a text that is not even written: no digest would stay right.
        OmittedByTrigger: a trigger returned NULL.
    """
    text, content = derived.text, derived.content
    statement = _STORE_TEXT if text.markdown != page.markdown else _STORE_DIGEST
    values = {
        "markdown": text.markdown,
        "digest": derived.digest,
        "title": text.title,
        "icon": text.icon,
        "position": text.position,
        "frontmatter": Jsonb(text.frontmatter) if text.frontmatter is not None else None,
        "content": Jsonb(content) if content is not None else None,
        "tenant": tenant,
        "entry": page.entry,
        "version": page.version,
    }
    row = await (await connection.execute(statement.encode(), values)).fetchone()
    if row is not None and row[0]:
        await connection.execute(_FORGET_DIGEST, values)
        if statement == _STORE_DIGEST:
            raise Damaged(ALTERED_AGAIN)
        return False
    if row is None:
        await check_omitted(connection, "page", tenant, page.entry, page.version)
    return row is not None


async def store_name(
    connection: Connection, tenant: TenantId, entry: EntryId, version: int, name: str, *, attachment: bool
) -> bool:
    """
    Give the row its clean name and the key of that. False: the version has changed.

    Raises:
        UniqueViolation (psycopg's): a sibling has that key.
        OmittedByTrigger: a trigger of an app returned NULL.
    """
    statement = _NAME_ATTACHMENT if attachment else _NAME_PAGE
    values = {"name": name, "key": name_key(name), "tenant": tenant, "entry": entry, "version": version}
    is_stored = await (await connection.execute(statement, values)).fetchone() is not None
    if not is_stored:
        await check_omitted(connection, "attachment" if attachment else "page", tenant, entry, version)
    return is_stored


async def load_texts(
    connection: Connection, tenant: TenantId, entries: Sequence[EntryId]
) -> dict[EntryId, tuple[int, str | None]]:
    """(version, markdown) of the pages among *entries*."""
    cursor = await connection.execute(
        "SELECT id, version, markdown FROM mirrord.page WHERE tenant_id = %s AND id = ANY (%s)", (tenant, list(entries))
    )
    return {EntryId(entry): (version, markdown) for entry, version, markdown in await cursor.fetchall()}


async def load_text_of_digest(connection: Connection, tenant: TenantId, entry: EntryId, digest: Digest) -> str | None:
    """A text in the page's history by its digest; None if no revision has it."""
    cursor = await connection.execute(
        "SELECT markdown FROM mirrord.page_revision WHERE tenant_id = %s AND page_id = %s AND digest = %s "
        "AND markdown IS NOT NULL LIMIT 1",
        (tenant, entry, digest),
    )
    row = await cursor.fetchone()
    return row[0] if row else None


async def load_texts_of_digests(
    connection: Connection, tenant: TenantId, digests: Mapping[EntryId, Digest]
) -> dict[EntryId, str]:
    """For each page the text in its history with the given digest, if there is one."""
    cursor = await connection.execute(
        "SELECT page_id, digest, markdown FROM mirrord.page_revision WHERE tenant_id = %s AND page_id = ANY (%s) "
        "AND digest = ANY (%s) AND markdown IS NOT NULL",
        (tenant, list(digests), list(digests.values())),
    )
    return {entry: markdown for entry, digest, markdown in await cursor.fetchall() if digests[entry] == digest}


@dataclass(frozen=True, slots=True)
class UnderivedPage:
    """A page whose document must be derived from *markdown*. prior_content: the previous document, as JSON."""

    entry: EntryId
    version: int
    markdown: str
    prior_content: str | None
    dialect: Dialect = Dialect.PLAIN


_IS_UNDERIVED = """
tenant_id = %s AND deleted_at IS NULL AND kind = 'page' AND content IS NULL
AND digest IS NOT NULL AND ahead = '{}' AND markdown IS NOT NULL AND id <> ALL (%s)"""
_UNDERIVED = f"""
SELECT id, version, markdown, prior::text, (SELECT dialect FROM mirrord.tenant WHERE id = %s)
  FROM (SELECT *, sum(octet_length(markdown)) OVER (ORDER BY updated_at DESC ROWS UNBOUNDED PRECEDING)
                  - octet_length(markdown) AS sooner
          FROM (SELECT id, version, markdown, prior, updated_at FROM mirrord.page
                 WHERE {_IS_UNDERIVED}
                 ORDER BY updated_at DESC LIMIT %s) AS newest) AS measured
 WHERE sooner <= %s ORDER BY updated_at DESC"""


async def load_underived(
    connection: Connection, tenant: TenantId, limit: int, max_bytes: int, skip: Sequence[EntryId]
) -> list[UnderivedPage]:
    """
    Pages whose document must be derived, the newest change first.

    limit: number of pages. max_bytes: bytes of text, which the last page may exceed.
    """
    cursor = await connection.execute(_UNDERIVED, (tenant, tenant, list(skip), limit, max_bytes))
    return [
        UnderivedPage(EntryId(entry), version, markdown, prior_content, Dialect(dialect))
        for entry, version, markdown, prior_content, dialect in await cursor.fetchall()
    ]


async def count_underived(connection: Connection, tenant: TenantId, skip: Sequence[EntryId]) -> int:
    """The number of pages whose document must be derived."""
    cursor = await connection.execute(f"SELECT count(*) FROM mirrord.page WHERE {_IS_UNDERIVED}", (tenant, list(skip)))
    row = await cursor.fetchone()
    return int(row[0]) if row else 0


# One statement for all: per row, its overhead would be half of the cost. Binary: psycopg formats text arrays slowly.
_STORE = """
WITH free AS MATERIALIZED (
    SELECT id, version, ahead = '{}' AS is_complete FROM mirrord.page
     WHERE tenant_id = %(tenant)s AND id = ANY (%(ids)b::uuid[]) ORDER BY id FOR NO KEY UPDATE SKIP LOCKED),
stored AS (
    UPDATE mirrord.page AS p SET content = given.content::jsonb, prior = NULL
      FROM unnest(%(ids)b::uuid[], %(versions)b::bigint[], %(documents)b::text[]) AS given (id, version, content)
      JOIN free USING (id)
     WHERE p.tenant_id = %(tenant)s AND p.id = given.id AND p.version = given.version AND p.content IS NULL
       AND p.ahead = '{}'),
link AS MATERIALIZED (
    SELECT source_id, number, kind, target, heading, alias, target_id, target_key, ambiguous, pending
      FROM mirrord.page_link WHERE tenant_id = %(tenant)s AND source_id = ANY (%(ids)b::uuid[]) FOR UPDATE)
SELECT free.id, free.version, free.is_complete, link.number, link.kind, link.target, link.heading, link.alias,
       link.target_id, link.target_key, link.ambiguous, link.pending
  FROM free LEFT JOIN link ON link.source_id = free.id"""


@dataclass(frozen=True, slots=True)
class StoredDocuments:
    """
    What became of documents.

    held_ids: entries whose rows an app has locked. current_ids: entries, locked now, that have the document's version.
    links: the links of each, by number, as they were stored.
    """

    held_ids: set[EntryId]
    current_ids: set[EntryId]
    links: Mapping[EntryId, list[LinkRow]]


async def store_content(
    connection: Connection, tenant: TenantId, documents: Sequence[tuple[EntryId, int, bytes]]
) -> StoredDocuments:
    """
    Store documents, as (entry, version, JSON); rows with another version by now are skipped.

    So are rows that an app has locked: waiting while holding other rows may deadlock.
    """
    versions = {entry: version for entry, version, _ in documents}
    values = {
        "tenant": tenant,
        "ids": list(versions),
        "versions": list(versions.values()),
        "documents": [document.decode() for _, _, document in documents],
    }
    current, stored_links = set[EntryId](), defaultdict[EntryId, list[LinkRow]](list)
    for entry, version, is_complete, *link in await (await connection.execute(_STORE, values)).fetchall():
        stored_links[entry] += [tuple(link)] if link[0] is not None else []
        if is_complete and versions[entry] == version:
            current.add(entry)
    return StoredDocuments(versions.keys() - stored_links.keys(), current, stored_links)


def _digest(stored: bytes | None) -> Digest | None:
    return Digest(stored) if stored is not None else None
