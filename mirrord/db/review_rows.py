"""Reviews of change sets as rows: what a person is shown of a request to apply one, and what the person chooses."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any
from uuid import UUID

import psycopg
from psycopg.types.json import Jsonb

from mirrord.db import approval_rows
from mirrord.db.approval_rows import StoredRequest
from mirrord.db.database import Connection
from mirrord.domain.approval import RequestState
from mirrord.domain.entry import TenantId, digest_of
from mirrord.domain.review import ChangePreview, ReviewChoice, choice_of, clashes_of
from mirrord.domain.trust import Trust
from mirrord.errors import UserError
from mirrord.merge.linked_parts import find_separated

_SELECT_CHANGED_FILES = """
SELECT file.path FROM mirrord.approval AS asked
CROSS JOIN LATERAL jsonb_each_text(asked.bases) AS file (path, digest)
LEFT JOIN mirrord.mirror_base AS base
  ON base.tenant_id = asked.tenant_id AND base.mirror_id = asked.mirror_id AND base.path = file.path
WHERE asked.tenant_id = %s AND asked.id = %s
  AND file.path NOT LIKE '.mirrord/%%' AND coalesce(encode(base.digest, 'hex'), '') <> file.digest
LIMIT 1
"""  # a base is the file as rows know it; files of the draft itself have none
_SELECT = "SELECT review FROM mirrord.approval WHERE tenant_id = %s AND id = %s"


class Obstacle(StrEnum):
    """Why a request is not approved together with others."""

    OWN_DECISION = "own decision"
    OUTDATED = "outdated"
    ALL_REJECTED = "all rejected"
    SEPARATED = "separated"


@dataclass(frozen=True, slots=True)
class StoredReview:
    """A request to apply a change set, what it would change, and what a person chose of it so far."""

    request: StoredRequest
    changes: Sequence[ChangePreview]
    choice: ReviewChoice

    @property
    def change_set(self) -> str:
        """The id of the change set."""
        return str(self.request.arguments.get("change_set"))

    @property
    def title(self) -> str:
        """The title of the change set."""
        return str(self.request.preview.get("facts", {}).get("title", self.change_set))

    @property
    def shown(self) -> str:
        """A digest of all that a person sees of it: a decision names it, and another one is not carried out."""
        person_texts = [dict(self.choice.texts), *filter(None, [dict(self.choice.unfitting)])]
        texts = json.dumps([self.request.digest.hex(), *person_texts], sort_keys=True)
        return digest_of(texts.encode()).hex()[:16]

    def shown_change(self, change: ChangePreview) -> ChangePreview:
        """A change with the person's own text, if there is one."""
        text = self.choice.text_of(change.path)
        return change if text is None else replace(change, new=text)


async def list_waiting(connection: Connection, tenant: TenantId) -> list[StoredRequest]:
    """The requests to apply change sets that wait for a person, the oldest first."""
    return await _list_in(connection, tenant, [RequestState.PENDING])


async def list_unapplied(connection: Connection, tenant: TenantId) -> list[StoredRequest]:
    """The requests of list_waiting(), and those that are accepted and not carried out yet."""
    return await _list_in(connection, tenant, [RequestState.PENDING, RequestState.APPROVED])


async def _list_in(connection: Connection, tenant: TenantId, states: Sequence[RequestState]) -> list[StoredRequest]:
    stored_requests = await approval_rows.list_requests(connection, tenant, states)
    return [stored for stored in stored_requests if "change_set" in stored.arguments]


async def is_outdated(connection: Connection, tenant: TenantId, request: UUID) -> bool:
    """Whether a file that a request depends on changed since the request was shown, as far as rows know."""
    return await (await connection.execute(_SELECT_CHANGED_FILES, (tenant, request))).fetchone() is not None


async def find_obstacle(connection: Connection, tenant: TenantId, stored: StoredRequest) -> Obstacle | None:
    """Why a waiting request is not approved together with others; None: it is."""
    if stored.level == Trust.REQUIRE.name:
        return Obstacle.OWN_DECISION
    if "change_set" not in stored.arguments:
        return None
    if await is_outdated(connection, tenant, stored.id):
        return Obstacle.OUTDATED
    review = await load_review(connection, tenant, stored)
    is_rejected = {change.path for change in review.changes} <= review.choice.rejected
    if review.changes and is_rejected:
        return Obstacle.ALL_REJECTED
    if clashes_of(review.changes, review.choice):
        return Obstacle.OUTDATED
    return Obstacle.SEPARATED if find_separated(review.changes, review.choice) else None


async def load_review(connection: Connection, tenant: TenantId, stored: StoredRequest) -> StoredReview:
    """The review of a request."""
    row = await (await connection.execute(_SELECT, (tenant, stored.id))).fetchone()
    review: Mapping[str, Any] = (row[0] if row is not None else None) or {}
    changes = [ChangePreview(**facts) for facts in review.get("changes", ())]
    return StoredReview(stored, changes, choice_of(review.get("choice") or {}))


async def find_review(connection: Connection, tenant: TenantId, beginning: str) -> StoredReview | None:
    """The waiting review of the change set, or of the request, whose id begins so; None: there is none, or several."""
    text = beginning.strip().lower()
    matches = [
        stored
        for stored in await list_waiting(connection, tenant)
        if text and (str(stored.arguments["change_set"]).startswith(text) or str(stored.id).startswith(text))
    ]
    return await load_review(connection, tenant, matches[0]) if len(matches) == 1 else None


async def store_choice(connection: Connection, request: UUID, choice: ReviewChoice) -> None:
    """Store what a person chooses. Raises UserError if it is decided already."""
    try:
        await connection.execute("SELECT mirrord.choose(%s, %s)", (request, Jsonb(choice.facts())))
    except (psycopg.errors.NoDataFound, psycopg.errors.InsufficientPrivilege) as error:
        raise UserError("This change set is in review no longer: it was decided about.") from error


async def decide_review(
    connection: Connection, tenant: TenantId, review: StoredReview, *, accept: bool, comment: str | None, channel: str
) -> None:
    """Accept the chosen part of a change set, or send all of it back. Raises UserError if it is decided already."""
    await store_choice(connection, review.request.id, review.choice)
    await approval_rows.decide_request(
        connection, tenant, review.request.id, approve=accept, reason=comment, channel=channel
    )


async def ask_look(connection: Connection, request: UUID) -> None:
    """Ask the daemon what a change set that waits would do now."""
    await connection.execute("SELECT mirrord.look_again(%s)", (request,))


async def is_looked_at(connection: Connection, tenant: TenantId, request: UUID) -> bool | None:
    """
    Whether the daemon has answered ask_look(), or the request waits no longer.

    None: the daemon cannot tell at the moment what the change set would do.
    """
    query = (
        "SELECT state <> 'pending' OR coalesce(looked_at >= look_asked_at, false), state = 'pending' AND "
        "look_asked_at IS NULL FROM mirrord.approval WHERE tenant_id = %s AND id = %s"
    )
    row = await (await connection.execute(query, (tenant, request))).fetchone()
    if row is None:
        return True
    is_answered, is_dropped = row
    return None if is_dropped else bool(is_answered)


async def note_look(connection: Connection, stored: StoredRequest) -> None:
    """Note that a change set would do now what is shown."""
    await connection.execute(
        "UPDATE mirrord.approval SET looked_at = %s WHERE tenant_id = %s AND id = %s",
        (stored.look_asked_at, stored.tenant, stored.id),
    )


async def drop_question(connection: Connection, stored: StoredRequest) -> None:
    """Forget that a person asked what a change set would do now: that cannot be told at the moment."""
    await connection.execute(
        "UPDATE mirrord.approval SET look_asked_at = NULL WHERE tenant_id = %s AND id = %s AND look_asked_at = %s",
        (stored.tenant, stored.id, stored.look_asked_at),
    )


async def supersede_request(connection: Connection, tenant: TenantId, request: UUID, successor: UUID) -> bool:
    """End a waiting request that *successor* follows. False: it was decided about meanwhile."""
    cursor = await connection.execute(
        "UPDATE mirrord.approval SET state = 'expired', outcome = %s "
        "WHERE tenant_id = %s AND id = %s AND state = 'pending' RETURNING id",
        (Jsonb({"renewed_by": str(successor)}), tenant, request),
    )
    return await cursor.fetchone() is not None
