"""Looks up what links mean that are due: a batch of them, or at once those that a move touches."""

import asyncio
from collections.abc import Collection, Mapping, Sequence

from mirrord.db.content import due_links
from mirrord.db.content.due_links import DueLink
from mirrord.db.database import Connection
from mirrord.documents.link_places import load_candidates, load_named_origins
from mirrord.domain.entry import EntryId, TenantId
from mirrord.domain.link_meaning import Candidate, LinkMeaning, Origin, resolve_link, target_key


async def resolve_due_links(connection: Connection, tenant: TenantId) -> int:
    """Resolve a batch of links that are due; returns their number."""
    return await _resolve(connection, tenant, await due_links.load_due_links(connection, tenant))


async def resolve_touched_links(
    connection: Connection, tenant: TenantId, keys: Collection[str], sources: Collection[EntryId]
) -> None:
    """
    Resolve those links that are due and have one of *keys*, or are on one of *sources*.

    Call this before names change: what such a link meant once says nothing about what it means.
    """
    await _resolve(connection, tenant, await due_links.load_touched_due_links(connection, tenant, keys, sources))


async def _resolve(connection: Connection, tenant: TenantId, due: Sequence[DueLink]) -> int:
    """Resolve links as of link_cursor: what moved since then is followed in its turn."""
    if not due:
        return 0
    origins = await load_named_origins(connection, tenant, {link.source for link in due}, due[0].dialect)
    keyed = [(link, target_key(link.kind, link.target, origins[link.source])) for link in due]
    keys = {key for _, key in keyed if key is not None}
    candidates = await load_candidates(connection, tenant, keys, as_named=True)
    await due_links.store_targets(connection, tenant, await asyncio.to_thread(_resolve_all, keyed, origins, candidates))
    return len(due)


def _resolve_all(
    keyed: Sequence[tuple[DueLink, str | None]],
    origins: Mapping[EntryId, Origin],
    candidates: Mapping[str, Sequence[Candidate]],
) -> list[tuple[DueLink, str | None, LinkMeaning]]:
    return [
        (link, key, resolve_link(link.kind, link.target, origins[link.source], candidates.get(key or "", ())))
        for link, key in keyed
    ]
