"""Removes drafts of agents whose last write is too long ago; their texts stay in the trash."""

import logging

from mirrord.intake.request_execution import TenantContext, open_session
from mirrord.mirror.draft import draft_store
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
