"""The history of pages: every version as written."""

from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from mirrord.db.connect import Connection
from mirrord.domain.entry import Digest, EntryId, TenantId


@dataclass(frozen=True, slots=True)
class Revision:
    """
    One version of a page.

    parents: the versions it descends from. changed: differences from the version before: created, text, place,
    title, deleted, restored; empty: only the form of its file. size: characters of its text; None: a folder, or not
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
    is_deleted: bool
    parents: tuple[int, ...]
    changed: tuple[str, ...]


# md5 distinguishes texts of neighbouring versions that have no digest yet
_HISTORY = """
SELECT version, created_at, coalesce(actor, '{}'), digest, length(markdown), parent_id, coalesce(name, ''),
       coalesce(views ->> 'title', frontmatter ->> 'title', name, ''), deleted, parents, md5(markdown)
FROM mirrord.page_revision WHERE tenant_id = %s AND page_id = %s ORDER BY version"""


async def load_history(connection: Connection, tenant: TenantId, page: EntryId) -> list[Revision]:
    """Every version of a page, the oldest first."""
    cursor = await connection.execute(_HISTORY, (tenant, page))
    revisions: list[Revision] = []
    text = None
    for row in await cursor.fetchall():
        revision = _revision_of(row)
        changed = _changes_between(revisions[-1], revision, text != row[-1]) if revisions else ("created",)
        revisions.append(replace(revision, changed=changed))
        text = row[-1]
    return revisions


async def load_text(connection: Connection, tenant: TenantId, page: EntryId, version: int) -> str | None:
    """The text of an existing version; None: it had none."""
    cursor = await connection.execute(
        "SELECT markdown FROM mirrord.page_revision WHERE tenant_id = %s AND page_id = %s AND version = %s",
        (tenant, page, version),
    )
    row = await cursor.fetchone()
    return row[0] if row else None


def _changes_between(before: Revision, after: Revision, has_new_text: bool) -> tuple[str, ...]:
    checks = {
        "deleted": after.is_deleted and not before.is_deleted,
        "restored": before.is_deleted and not after.is_deleted,
        "text": has_new_text,
        "place": (before.parent, before.name) != (after.parent, after.name),
        "title": before.title != after.title,
    }
    return tuple(name for name, holds in checks.items() if holds)


def _revision_of(row: tuple[Any, ...]) -> Revision:
    version, created_at, actor, digest, size, parent, name, title, deleted, parents, _ = row
    return Revision(version, created_at, actor, digest, size, parent, name, title, deleted, tuple(parents), ())
