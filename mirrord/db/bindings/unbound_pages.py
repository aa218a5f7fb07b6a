"""Pages that have no row in the app yet: new files below pages of a binding, or at the top."""

from collections.abc import Collection
from dataclasses import dataclass

from mirrord.db.bindings.binding_rows import BindingRow
from mirrord.db.database import Connection
from mirrord.domain.entry import EntryId

PROBLEM = "bound-new"  # the code of problems of new pages

_IS_NEW = """
       p.tenant_id = %(tenant)s AND p.kind = 'page' AND p.deleted_at IS NULL AND p.name IS NOT NULL
   AND p.markdown IS NOT NULL AND p.ahead = '{}'
   AND p.created_at > (SELECT b.created_at FROM mirrord.binding AS b
                        WHERE b.tenant_id = %(tenant)s AND b.id = %(binding)s)
   AND NOT EXISTS (SELECT FROM mirrord.binding_entry AS e
                    WHERE e.tenant_id = %(tenant)s AND e.entry_id = p.id)
   AND NOT EXISTS (SELECT FROM mirrord.conflict AS c
                    WHERE c.tenant_id = %(tenant)s AND c.sibling_id = p.id AND c.resolved_at IS NULL)
   AND ((p.parent_id IS NULL AND (%(top)s OR %(author)s = (SELECT r.actor ->> 'name' FROM mirrord.page_revision AS r
                                                             WHERE r.tenant_id = %(tenant)s AND r.page_id = p.id
                                                             ORDER BY r.version LIMIT 1)))
        OR EXISTS (SELECT FROM mirrord.binding_entry AS e
                                        WHERE (e.tenant_id, e.binding_id) = (%(tenant)s, %(binding)s)
                                          AND e.entry_id = p.parent_id))"""
_CHANGED = f"""
SELECT p.id FROM mirrord.entry_feed AS f JOIN mirrord.page AS p ON (p.tenant_id, p.id) = (f.tenant_id, f.entry_id)
 WHERE f.tenant_id = %(tenant)s AND f.seq > %(seq)s AND {_IS_NEW}
   AND NOT EXISTS (SELECT FROM mirrord.problem AS o
                    WHERE (o.tenant_id, o.mirror_id, o.entry_id) = (%(tenant)s, %(binding)s, p.id))
 ORDER BY f.seq, p.id LIMIT %(limit)s"""
_BELOW = f"SELECT p.id FROM mirrord.page AS p WHERE p.parent_id = ANY (%(ids)s) AND {_IS_NEW} ORDER BY p.id"
_AMONG = f"SELECT p.id FROM mirrord.page AS p WHERE p.id = ANY (%(ids)s) AND {_IS_NEW} ORDER BY p.id"
_TROUBLED = """
SELECT o.entry_id FROM mirrord.problem AS o
 WHERE o.tenant_id = %(tenant)s AND o.mirror_id = %(binding)s AND o.code = %(code)s
   AND NOT EXISTS (SELECT FROM mirrord.binding_entry AS e
                    WHERE (e.tenant_id, e.binding_id, e.entry_id) = (o.tenant_id, o.mirror_id, o.entry_id))
 ORDER BY random() LIMIT %(limit)s"""


@dataclass(frozen=True, slots=True)
class UnboundSearch:
    """
    Which new pages of a binding are looked for.

    author: the name of the binding as an author; pages that it made have lost their rows. is_top_included: also pages
    of others that are below no page.
    """

    binding: BindingRow
    author: str
    is_top_included: bool


async def load_changed(connection: Connection, search: UnboundSearch, limit: int) -> list[EntryId]:
    """New pages without a problem that changed since the last look, *limit* at most."""
    return await _load_pages(connection, search, _CHANGED, (), limit)


async def load_below(connection: Connection, search: UnboundSearch, parents: Collection[EntryId]) -> list[EntryId]:
    """New pages below *parents*."""
    return await _load_pages(connection, search, _BELOW, parents)


async def load_troubled(
    connection: Connection, search: UnboundSearch, limit: int
) -> tuple[list[EntryId], list[EntryId]]:
    """New pages with a problem, *limit* at most, others each time; and pages with one that are not new any more."""
    troubled = await _load_pages(connection, search, _TROUBLED, (), limit)
    new = await _load_pages(connection, search, _AMONG, troubled) if troubled else []
    return new, [entry for entry in troubled if entry not in new]


async def _load_pages(
    connection: Connection, search: UnboundSearch, query: str, ids: Collection[EntryId], limit: int = 0
) -> list[EntryId]:
    values = {
        "tenant": search.binding.tenant,
        "binding": search.binding.id,
        "seq": search.binding.seq,
        "ids": list(ids),
        "limit": limit,
        "top": search.is_top_included,
        "author": search.author,
        "code": PROBLEM,
    }
    cursor = await connection.execute(query.encode(), values)
    return [EntryId(entry) for (entry,) in await cursor.fetchall()]
