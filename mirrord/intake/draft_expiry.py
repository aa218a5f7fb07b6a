"""The end of drafts of agents: those whose last write is too long ago, and requests whose draft has ended."""

import logging
from collections.abc import Iterable
from uuid import UUID

from mirrord.db.approval_rows import StoredRequest
from mirrord.domain.approval import RequestState
from mirrord.domain.entry import parse_id
from mirrord.intake.request_execution import TenantContext, open_session
from mirrord.mirror.draft import draft_store
from mirrord.mirror.tree.tenant_tree import Tree
from mirrord.sync.observation.mirror_handles import DAEMON_ACTOR

SWEEP_SECONDS = 3_600.0  # seconds between looks for drafts that are too old

log = logging.getLogger(__name__)


def remove_expired_drafts(desk: TenantContext) -> None:
    """Blocking: remove the drafts of a tenant that are too old. Drafts that are busy are removed by a later call."""
    tree = desk.sides.tree
    count = sum(draft_store.is_expired(tree, facts) for facts in draft_store.list_drafts(tree))
    if not count:
        return
    from mirrord.commands.changes.draft_session import remove_expired  # noqa: PLC0415  (most daemons need it seldom)

    with open_session(desk, DAEMON_ACTOR) as session:
        remove_expired(session)
    log.info("drafts_expired", extra={"tenant": desk.sides.name, "entries": count})


def find_pointless(tree: Tree, requests: Iterable[StoredRequest]) -> list[UUID]:
    """Blocking: the pending requests to apply a change set that was applied or discarded already."""
    change_sets = {
        stored.id: parse_id(str(stored.arguments.get("change_set")))
        for stored in requests
        if stored.state is RequestState.PENDING
    }
    return [request for request, change_set in change_sets.items() if change_set and _has_ended(tree, change_set)]


def _has_ended(tree: Tree, change_set: UUID) -> bool:
    """Whether a draft says that it ended; not if it cannot be read at the moment."""
    facts = draft_store.read_facts(tree, change_set)
    return facts is not None and facts.state != draft_store.OPEN
