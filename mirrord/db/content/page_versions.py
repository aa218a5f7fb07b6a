"""The history of pages: every version as written, and its authors."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from mirrord.db.database import Connection
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


_OWN_ACTOR_KINDS = ["daemon", "file"]  # the actors of mirrord's own transactions
# A move by mirrord writes or completes one version of a row. Another version in the same transaction is a trigger's.
_CHANGED_BY_TRIGGERS = " UNION ALL ".join(
    f"SELECT row.id FROM mirrord.{table} AS row "
    f"JOIN mirrord.{table}_revision AS newest ON newest.tenant_id = row.tenant_id "
    f"AND newest.{table}_id = row.id AND newest.version = row.version "
    f"JOIN mirrord.{table}_revision AS before ON before.tenant_id = row.tenant_id "
    f"AND before.{table}_id = row.id AND before.version = row.version - 1 AND before.xmin = newest.xmin "
    "WHERE row.tenant_id = %(tenant)s AND row.id = ANY (%(entries)s) AND row.updated_by ->> 'kind' = ANY (%(ours)s)"
    for table in ("page", "attachment", "record")
)


async def load_changed_by_triggers(
    connection: Connection, tenant: TenantId, entries: Sequence[EntryId]
) -> frozenset[EntryId]:
    """The entries among *entries* whose newest version a trigger wrote in a transaction of mirrord."""
    values = {"tenant": tenant, "entries": list(entries), "ours": _OWN_ACTOR_KINDS}
    cursor = await connection.execute(_CHANGED_BY_TRIGGERS, values)
    return frozenset(EntryId(entry) for (entry,) in await cursor.fetchall())
