"""
Rows that are not what mirrord wrote, because a trigger of an app altered or refused them.

What mirrord meant stays in the history as its version, and the row becomes the next one, as if an app had written it
right after: the feed has it, and the file follows.
"""

import re
from collections.abc import Mapping, Set
from typing import Any

import psycopg

from mirrord.db.database import Connection, set_local, set_parents
from mirrord.domain.entry import EntryId, TenantId
from mirrord.errors import UserError

ALTERED_AGAIN = (
    "a trigger of an app alters the text at every update of the row, so that file and row cannot become equal; "
    "let it wait for the column that it alters (BEFORE INSERT OR UPDATE OF …), then write the row again"
)
_VIEWS = frozenset({"title", "icon", "position", "frontmatter", "content"})
_PLACE = frozenset({"parent_id", "name", "deleted_at"})


def altered_sql(columns: Mapping[str, str], row: str) -> str:
    """SQL: which of *columns* have another value in *row* than they were given; NULL: none. Values are SQL, too."""
    names = (f"CASE WHEN {row}.{name} IS DISTINCT FROM {value} THEN '{name}' END" for name, value in columns.items())
    return f"nullif(array_remove(ARRAY[{', '.join(names)}], NULL), '{{}}') AS altered"


def altered_page_sql(parameter: str = "%({})s", row: str = "page", *, is_new: bool = False) -> str:
    """
    altered_sql() for a page that was written with its text; its place is among the values.

    parameter: SQL of a value, by its name. is_new: the row had no position before, which a text without one would keep.
    """
    name, title, position = (parameter.format(column) for column in ("name", "title", "position"))
    columns = {column: parameter.format(column) for column in ("markdown", "icon", "frontmatter")} | {
        "title": f"coalesce({title}, nullif({name}, ''))",
        "position": position if is_new else f"coalesce({position}, {row}.position)",
        "content": "NULL",
        "parent_id": parameter.format("parent"),
        "name": f"nullif({name}, '')",
        "deleted_at": "NULL",
    }
    return altered_sql(columns, row)


# For a page of which only the text was written.
ALTERED_TEXT = altered_sql(
    {column: f"%({column})s" for column in ("markdown", "icon", "frontmatter")}
    | {
        "title": "coalesce(%(title)s, page.name)",
        "position": "coalesce(%(position)s, page.position)",
        "content": "NULL",
    },
    "page",
)
# For a page that was moved, compared with the row before, `was`.
PAGE_BEFORE = "was AS (SELECT * FROM mirrord.page WHERE tenant_id = %(tenant)s AND id = %(entry)s)"
ALTERED_MOVE = altered_sql(
    {column: f"(SELECT was.{column} FROM was)" for column in ("markdown", "icon", "frontmatter", "position")}
    | {"parent_id": "%(parent)s", "name": "%(name)s", "deleted_at": "NULL"},
    "page",
)
_ATTACHMENT_PLACE = {"parent_id": "%(parent)s", "name": "%(name)s", "deleted_at": "NULL"}
ALTERED_BYTES = altered_sql({"digest": "%(digest)s", **_ATTACHMENT_PLACE}, "attachment")
ALTERED_ATTACHMENT_MOVE = altered_sql(_ATTACHMENT_PLACE, "attachment")
_RECORD_TEXT = {"text": "%(text)s", "data": "%(data)s"}
_RECORD_PLACE = {
    "kind": "split_part(%(name)s, '/', 1)",
    "key": "split_part(%(name)s, '/', 2)",
    "deleted_at": "NULL",
}
ALTERED_RECORD = altered_sql(_RECORD_TEXT | _RECORD_PLACE, "record")
ALTERED_RECORD_TEXT = altered_sql(_RECORD_TEXT, "record")
ALTERED_RECORD_MOVE = altered_sql(_RECORD_PLACE, "record")

_MEANT_TEXT = """
UPDATE mirrord.page_revision SET markdown = %(markdown)s, digest = %(digest)s, frontmatter = %(frontmatter)s
WHERE tenant_id = %(tenant)s AND page_id = %(entry)s AND version = %(written)s"""
_MEANT_MOVE = """
UPDATE mirrord.page_revision AS moved SET markdown = before.markdown, frontmatter = before.frontmatter
FROM mirrord.page_revision AS before
WHERE moved.tenant_id = %(tenant)s AND moved.page_id = %(entry)s AND moved.version = %(written)s
  AND before.tenant_id = %(tenant)s AND before.page_id = %(entry)s AND before.version = %(expected)s"""
_MEANT_PLACE = """
UPDATE mirrord.page_revision SET parent_id = %(parent)s, name = nullif(%(name)s, ''), deleted = false
WHERE tenant_id = %(tenant)s AND page_id = %(entry)s AND version = %(written)s"""
_MEANT_RECORD = """
UPDATE mirrord.record_revision SET text = %(text)s, digest = %(digest)s, data = %(data)s
WHERE tenant_id = %(tenant)s AND record_id = %(entry)s AND version = %(written)s"""
# The columns that apps write are not set: triggers of apps may wait for that.
_GIVE_PAGE = """
UPDATE mirrord.page SET kind = CASE WHEN markdown IS NULL THEN kind ELSE 'page' END,
    index = index OR kind = 'folder' AND markdown IS NOT NULL, ahead = %(views)s,
    digest = CASE WHEN %(has_text)s THEN NULL ELSE digest END,
    content = CASE WHEN %(has_text)s THEN NULL ELSE content END,
    name_key = CASE WHEN %(has_place)s THEN NULL ELSE name_key END
WHERE tenant_id = %(tenant)s AND id = %(entry)s AND version = %(written)s RETURNING version"""
_GIVE_RECORD = """
UPDATE mirrord.record SET ahead = %(views)s, data = CASE WHEN %(has_text)s THEN NULL ELSE data END
WHERE tenant_id = %(tenant)s AND id = %(entry)s AND version = %(written)s RETURNING version"""
_GIVE_ATTACHMENT = """
WITH older AS (
    UPDATE mirrord.mirror_base SET version = %(written)s - 1
    WHERE tenant_id = %(tenant)s AND mirror_id = %(mirror)s AND entry_id = %(entry)s)
UPDATE mirrord.attachment SET name_key = CASE WHEN %(has_place)s THEN NULL ELSE name_key END
WHERE tenant_id = %(tenant)s AND id = %(entry)s AND version = %(written)s RETURNING version"""

OMITTED = "it returns NULL, so nothing is written"  # what a refusal of that kind says
_FUNCTION_OF_APP = re.compile(r"PL/\w+ function (?!mirrord\.)")


class OmittedByTrigger(UserError):
    """A trigger of an app returned NULL for a row, so that nothing was written."""


def refusal_of(error: Exception) -> str | None:
    """What the trigger of an app said that refused a write with *error*; None: it has another cause."""
    if isinstance(error, OmittedByTrigger):
        return str(error)
    cause = error if isinstance(error, psycopg.Error) else error.__cause__
    if not isinstance(cause, psycopg.Error) or not _FUNCTION_OF_APP.search(cause.diag.context or ""):
        return None
    return cause.diag.message_primary


async def check_omitted(connection: Connection, table: str, tenant: TenantId, entry: EntryId, version: int) -> None:
    """
    Check why an update of the row *entry* of *version* matched nothing: something else changed it.

    Raises OmittedByTrigger if it is still of that version.
    """
    query = f"SELECT FROM mirrord.{table} WHERE tenant_id = %s AND id = %s AND version = %s"
    if await (await connection.execute(query.encode(), (tenant, entry, version))).fetchone() is not None:
        raise OmittedByTrigger(OMITTED)


async def give_to_app(
    connection: Connection, table: str, values: Mapping[str, Any], written: int, altered: Set[str]
) -> int | None:
    """
    Make the *altered* row of version *written* the next version, as an app's; returns that.

    values: of the statement that wrote it. An attachment keeps its version, because its history has no bytes; its
    base gets an older one.
    """
    facts = dict(values) | {"written": written, "has_place": not altered.isdisjoint(_PLACE)}
    if table == "attachment":
        return await _give(connection, _GIVE_ATTACHMENT, facts)
    await set_local(connection, "mirrord.next_version", "on")
    await set_parents(connection, [written])
    give = _give_record if table == "record" else _give_page
    version = await give(connection, facts, altered)
    await set_local(connection, "mirrord.next_version", "off")
    await set_local(connection, "mirrord.parents", "")
    return version


async def _give_page(connection: Connection, facts: dict[str, Any], altered: Set[str]) -> int | None:
    has_text = "markdown" in altered
    if "markdown" in facts:
        await connection.execute(_MEANT_TEXT, facts)
    elif "expected" in facts:
        await connection.execute(_MEANT_MOVE, facts)
    if facts["has_place"]:
        await connection.execute(_MEANT_PLACE, facts)
    views = altered & _VIEWS - ({"content"} if has_text else set())
    return await _give(connection, _GIVE_PAGE, facts | {"has_text": has_text, "views": sorted(views)})


async def _give_record(connection: Connection, facts: dict[str, Any], altered: Set[str]) -> int | None:
    has_text = "text" in altered
    if "text" in facts:
        await connection.execute(_MEANT_RECORD, facts)
    views = ["text"] if has_text else sorted(altered & {"data"})
    return await _give(connection, _GIVE_RECORD, facts | {"has_text": has_text, "views": views})


async def _give(connection: Connection, statement: str, facts: dict[str, Any]) -> int | None:
    row = await (await connection.execute(statement.encode(), facts)).fetchone()
    return int(row[0]) if row is not None else None
