"""The history of pages: every version, as it was written."""

from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from mirrord.db import events
from mirrord.db.connect import Connection
from mirrord.domain.attribution import Made, attributed
from mirrord.domain.entry import FILE_ACTOR, Digest, EntryId, TenantId


@dataclass(frozen=True, slots=True)
class Revision:
    """
    One version of a page.

    parents: the versions it comes from. changed: what is not as in the version before: created, text, place, title,
    deleted, restored; none of them: the form of its file. size: characters of its text; None: a folder, or not
    rendered yet. parent None: the root.
    """

    version: int
    created_at: datetime
    actor: dict[str, Any]
    digest: Digest | None
    size: int | None
    parent: EntryId | None
    name: str
    title: str
    deleted: bool
    parents: tuple[int, ...]
    changed: tuple[str, ...]


_FROM_FILE = {"kind": FILE_ACTOR.kind, "name": FILE_ACTOR.name}
# md5 only tells texts of neighbouring versions apart where a digest was not derived yet
_HISTORY = """
SELECT version, created_at, coalesce(actor, '{}'), digest, length(markdown), parent_id, coalesce(name, ''),
       coalesce(views ->> 'title', frontmatter ->> 'title', name, ''), deleted, parents, md5(markdown)
FROM mirrord.page_revision WHERE tenant_id = %s AND page_id = %s ORDER BY version"""


async def history(connection: Connection, tenant: TenantId, page: EntryId) -> list[Revision]:
    """Every version of a page, the oldest first. Those that a tool wrote into the file have the tool's actor."""
    cursor = await connection.execute(_HISTORY, (tenant, page))
    found: list[Revision] = []
    text = None
    for row in await cursor.fetchall():
        plain = _revision(row)
        changed = _changed(found[-1], plain, text != row[-1]) if found else ("created",)
        found.append(replace(plain, changed=changed))
        text = row[-1]
    return await _attributed(connection, tenant, page, found)


async def _attributed(connection: Connection, tenant: TenantId, page: EntryId, found: list[Revision]) -> list[Revision]:
    made = [Made(one.version, one.digest, one.created_at) for one in found if one.digest and one.actor == _FROM_FILE]
    actors = attributed(made, await events.told_of(connection, tenant, page)) if made else {}
    return [replace(one, actor=dict(actors.get(one.version, one.actor))) for one in found]


async def text_of(connection: Connection, tenant: TenantId, page: EntryId, version: int) -> str | None:
    """The text of a version that is known to exist; None: it had none."""
    cursor = await connection.execute(
        "SELECT markdown FROM mirrord.page_revision WHERE tenant_id = %s AND page_id = %s AND version = %s",
        (tenant, page, version),
    )
    row = await cursor.fetchone()
    return row[0] if row else None


def _changed(before: Revision, after: Revision, text: bool) -> tuple[str, ...]:
    checks = {
        "deleted": after.deleted and not before.deleted,
        "restored": before.deleted and not after.deleted,
        "text": text,
        "place": (before.parent, before.name) != (after.parent, after.name),
        "title": before.title != after.title,
    }
    return tuple(what for what, holds in checks.items() if holds)


def _revision(row: tuple[Any, ...]) -> Revision:
    version, created_at, actor, digest, size, parent, name, title, deleted, parents, _ = row
    return Revision(version, created_at, actor, digest, size, parent, name, title, deleted, tuple(parents), ())
