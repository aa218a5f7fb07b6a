"""One page as a person edits it, written under the version that was read."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from psycopg.types.json import Jsonb

from mirrord.db.database import Connection
from mirrord.domain.entry import FILE_ACTOR, EntryId

# An active mirror has every version in its bases; of inactive ones only the last counts, so that an abandoned copy does
# not delay "on disk" for ever.
_AT_WORK = """
SELECT m.id FROM mirrord.mirror AS m WHERE m.tenant_id = p.tenant_id AND (m.expires_at > clock_timestamp()
    OR m.expires_at = (SELECT max(o.expires_at) FROM mirrord.mirror AS o WHERE o.tenant_id = p.tenant_id))"""
# Its file or row is gone, and a person has to decide which of the two is meant.
HALTED_SQL = """
EXISTS (SELECT FROM mirrord.halt AS h
         WHERE h.tenant_id = p.tenant_id AND h.closed_at IS NULL AND p.id = ANY (h.entries)
           AND h.side IS DISTINCT FROM 'content')"""
ON_DISK_SQL = f"""
(p.ahead = '{{}}' AND p.name_key IS NOT NULL AND NOT {HALTED_SQL} AND EXISTS ({_AT_WORK}) AND NOT EXISTS (
    SELECT FROM ({_AT_WORK}) AS m WHERE NOT EXISTS (
        SELECT FROM mirrord.mirror_base AS b WHERE b.tenant_id = p.tenant_id AND b.mirror_id = m.id
           AND b.entry_id = p.id AND b.version = p.version)))"""
BY_SQL = f"""
CASE WHEN p.updated_by = '{{"kind": "{FILE_ACTOR.kind}", "name": "{FILE_ACTOR.name}"}}'
     THEN p.updated_by || '{{"channel": "file"}}' ELSE p.updated_by END"""
# The texts are most of the data of a long page: they are omitted for clients that have them.
_IS_KNOWN = "(p.version IS NOT DISTINCT FROM %(known)s::bigint AND p.markdown IS NOT NULL AND p.content IS NOT NULL)"
_PAGE = f"""
SELECT p.id, p.version, p.kind, coalesce(p.title, p.name, ''), p.icon, p.name, p.parent_id, p.index, {_IS_KNOWN},
       CASE WHEN NOT {_IS_KNOWN} THEN p.markdown END, CASE WHEN NOT {_IS_KNOWN} THEN p.content::text END, p.ahead,
       p.updated_at, {BY_SQL}, {ON_DISK_SQL}, p.deleted_at IS NOT NULL,
       (SELECT sentence FROM mirrord.problem AS t WHERE t.tenant_id = p.tenant_id AND t.entry_id = p.id
         ORDER BY t.code NOT IN ('render', 'content-lost'), t.code LIMIT 1), p.frontmatter ? 'title', p.position,
       {HALTED_SQL}, p.frontmatter
  FROM mirrord.page AS p WHERE p.tenant_id = mirrord.current_tenant() AND p.id = %(page)s"""
_TITLED = """
SELECT id, kind, coalesce(title, name, ''), icon
  FROM mirrord.page WHERE tenant_id = mirrord.current_tenant() AND id = %s"""
_VERSION = "SELECT version FROM mirrord.page WHERE tenant_id = mirrord.current_tenant() AND id = %s"
_LOCK = "SELECT FROM mirrord.page WHERE tenant_id = mirrord.current_tenant() AND id = %s FOR UPDATE"
_UPDATE = """
UPDATE mirrord.page SET {columns}
 WHERE tenant_id = mirrord.current_tenant() AND id = %s AND version = %s AND deleted_at IS NULL RETURNING version"""
_MAX_HEAD_CHARACTERS = 65_536  # of a text, which hold its front matter
_HEAD = """
SELECT left(markdown, %s) FROM mirrord.page
 WHERE tenant_id = mirrord.current_tenant() AND id = %s AND left(markdown, 4) LIKE '%%---%%'"""
# The console's editor knows every node, so what its document removes was removed by a person. That is not known where
# the person saw a document that mirrord holds back, and only the page's Markdown is whole.
_CONTENT = """
WITH shown AS (
    SELECT 'content' <> ALL (ahead) OR confirmed IS NOT DISTINCT FROM version AS is_whole
      FROM mirrord.page WHERE tenant_id = mirrord.current_tenant() AND id = %(page)s AND version = %(version)s)
UPDATE mirrord.page SET content = %(content)s
 WHERE tenant_id = mirrord.current_tenant() AND id = %(page)s AND version = %(version)s AND deleted_at IS NULL
RETURNING version, 'content' = ANY (ahead) AND (SELECT is_whole FROM shown)"""
_CONFIRM = "SELECT mirrord.confirm_content(%s)"
_MARKDOWN = _UPDATE.format(columns="markdown = %s")
_RENAME = _UPDATE.format(columns="name = %s, title = %s")
_ICON = _UPDATE.format(columns="icon = %s")
_PROPERTIES = _UPDATE.format(columns="frontmatter = (coalesce(frontmatter, '{}') || %s) - %s::text[]")
_DELETE = _UPDATE.format(columns="deleted_at = statement_timestamp()")
_INSERT = """
INSERT INTO mirrord.page (parent_id, title, content) VALUES (%s, %s, %s) RETURNING id, version"""
_REVIVE = """
UPDATE mirrord.page SET deleted_at = NULL
 WHERE tenant_id = mirrord.current_tenant() AND id = %s AND deleted_at IS NOT NULL RETURNING version"""
_INSERT_TEXT = "INSERT INTO mirrord.page (parent_id, name, markdown) VALUES (%s, %s, %s) RETURNING id"
_AT_PLACE = """
SELECT id, kind, coalesce(title, name, ''), icon FROM mirrord.page
 WHERE tenant_id = mirrord.current_tenant() AND parent_id IS NOT DISTINCT FROM %(parent)s AND deleted_at IS NULL
   AND mirrord.name_key(coalesce(name, title)) = mirrord.name_key(%(name)s) ORDER BY id LIMIT 1"""
# Of the pages that are made only where there is none yet: two windows would each make one.
_LOCK_PLACES = "SELECT pg_advisory_xact_lock(hashtextextended('console place ' || mirrord.current_tenant()::text, 0))"
_EMPTY = {"type": "doc", "content": []}


@dataclass(frozen=True, slots=True)
class Page:
    """
    The current row of a page.

    markdown None: a folder, or not rendered yet. content: as JSON; None: being derived. is_known: the client has
    this version, so markdown and content were not read. by: {kind, name, channel}.
    on_disk: every active mirror has this version in a file. problem: why it is not synced unchanged, as a sentence.
    has_own_title: its front matter has a title. is_halted: a person has to decide about its deletion.
    properties: the keys of its front matter.
    """

    id: EntryId
    version: int
    kind: str
    title: str
    icon: str | None
    name: str | None
    parent: EntryId | None
    index: bool
    is_known: bool
    markdown: str | None
    content: str | None
    ahead: list[str]
    updated_at: datetime
    by: dict[str, Any] | None
    on_disk: bool
    is_deleted: bool
    problem: str | None
    has_own_title: bool
    position: str | None
    is_halted: bool
    properties: dict[str, Any] | None


@dataclass(frozen=True, slots=True)
class PageTitle:
    """A page without its texts."""

    id: EntryId
    kind: str
    title: str
    icon: str | None


async def load_title(connection: Connection, page: UUID) -> PageTitle | None:
    """The title of a page, deleted ones included; None: not found."""
    row = await (await connection.execute(_TITLED, (page,))).fetchone()
    return PageTitle(*row) if row else None


async def load_page(connection: Connection, page: UUID, known_version: int | None = None) -> Page | None:
    """A page, deleted ones included; None: not found. known_version: the version whose texts need not be read."""
    row = await (await connection.execute(_PAGE, {"page": page, "known": known_version})).fetchone()
    return Page(*row) if row else None


async def load_version(connection: Connection, page: UUID) -> int | None:
    """The current version of a page, deleted ones included; None: not found."""
    return await _fetch_version(connection, _VERSION, (page,))


async def lock_page(connection: Connection, page: UUID) -> None:
    """Keep a page as it is until the end of the transaction."""
    await connection.execute(_LOCK, (page,))


async def load_head(connection: Connection, page: UUID) -> str:
    """The beginning of the text of a page, with its front matter; "" if there is none."""
    row = await (await connection.execute(_HEAD, (_MAX_HEAD_CHARACTERS, page))).fetchone()
    return row[0] if row else ""


async def write_content(connection: Connection, page: UUID, version: int, content: dict[str, Any]) -> int | None:
    """Write the content. Returns the new version; None: another writer was faster, and nothing was written."""
    values = {"page": page, "version": version, "content": Jsonb(content)}
    row = await (await connection.execute(_CONTENT, values)).fetchone()
    if row is None:
        return None
    if row[1]:
        await connection.execute(_CONFIRM, (page,))
    return int(row[0])


async def write_markdown(connection: Connection, page: UUID, version: int, markdown: str) -> int | None:
    """Write the text of the whole file. Returns as write_content()."""
    return await _fetch_version(connection, _MARKDOWN, (markdown, page, version))


async def create_page(connection: Connection, parent: UUID | None, title: str) -> EntryId:
    """Create an empty page; mirrord names its file after the title."""
    row = await (await connection.execute(_INSERT, (parent, title, Jsonb(_EMPTY)))).fetchone()
    assert row is not None
    return EntryId(row[0])


async def create_from_text(connection: Connection, parent: UUID | None, name: str, markdown: str) -> EntryId:
    """Create a page with the text of a whole file; mirrord numbers its name if that is taken."""
    row = await (await connection.execute(_INSERT_TEXT, (parent, name, markdown))).fetchone()
    assert row is not None
    return EntryId(row[0])


async def lock_places(connection: Connection) -> None:
    """Wait until no other transaction of the console makes a page where it found none, and let none until the end."""
    await connection.execute(_LOCK_PLACES)


async def find_by_place(connection: Connection, parent: UUID | None, name: str) -> PageTitle | None:
    """The live page or folder with a name, or a title that will be its name, below *parent* (None: in the root)."""
    row = await (await connection.execute(_AT_PLACE, {"parent": parent, "name": name})).fetchone()
    return PageTitle(*row) if row else None


async def rename_page(connection: Connection, page: UUID, version: int, name: str, title: str | None) -> int | None:
    """Change the file's name and the title (None: the name is the title). Returns as write_content()."""
    return await _fetch_version(connection, _RENAME, (name, title, page, version))


async def set_icon(connection: Connection, page: UUID, version: int, icon: str | None) -> int | None:
    """Change the icon; None: remove it. Returns as write_content()."""
    return await _fetch_version(connection, _ICON, (icon, page, version))


async def set_properties(connection: Connection, page: UUID, version: int, changes: dict[str, Any]) -> int | None:
    """Change keys of the front matter; None as a value: remove the key. Returns as write_content()."""
    values = {key: value for key, value in changes.items() if value is not None}
    removed = [key for key, value in changes.items() if value is None]
    return await _fetch_version(connection, _PROPERTIES, (Jsonb(values), removed, page, version))


async def delete_page(connection: Connection, page: UUID, version: int) -> int | None:
    """Delete a page with its descendants. Returns as write_content()."""
    return await _fetch_version(connection, _DELETE, (page, version))


async def revive_page(connection: Connection, page: UUID) -> int | None:
    """Restore a page with everything deleted together with it. Returns the version; None: it is not deleted."""
    return await _fetch_version(connection, _REVIVE, (page,))


async def _fetch_version(connection: Connection, statement: str, values: tuple[object, ...]) -> int | None:
    row = await (await connection.execute(statement, values)).fetchone()
    return int(row[0]) if row else None
