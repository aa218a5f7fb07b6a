"""Approvals as rows: the request, a person's decision, and the outcome."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

import psycopg
from psycopg.types.json import Jsonb

from mirrord.db.database import Connection
from mirrord.domain.approval import (
    REQUEST_LIFETIME,
    Preview,
    Request,
    RequestState,
    input_facts,
    input_of,
    preview_facts,
    to_storable,
)
from mirrord.domain.entry import Actor, Digest, MirrorId, TenantId
from mirrord.domain.scope import Scope, scope_of_claims
from mirrord.domain.trust import Trust
from mirrord.errors import UserError


@dataclass(frozen=True, slots=True)
class StoredRequest:
    """
    A request as stored in Postgres.

    digest: of the request in its file at intake. preview: summary, lines, facts. decision: by, reason, channel.
    is_claimed: its mirror runs it, or ran it. outcome: {"result"} or {"failure"}. is_outcome_written: its file contains
    the outcome. paths: the patterns of the requester's scope. look_asked_at: when a person asked what a change set
    would do now; None: no look is due.
    """

    tenant: TenantId
    id: UUID
    mirror: MirrorId
    command: str
    arguments: dict[str, Any]
    digest: Digest
    inputs: dict[str, Any]
    bases: dict[str, str]
    actor: dict[str, Any]
    preview: dict[str, Any]
    level: str
    state_name: str
    decision: dict[str, Any] | None
    requested_at: datetime
    expires_at: datetime
    decided_at: datetime | None
    is_claimed: bool
    outcome: dict[str, Any] | None
    is_outcome_written: bool
    paths: dict[str, list[str]]
    look_asked_at: datetime | None

    @property
    def state(self) -> RequestState:
        """The state of the request."""
        return RequestState(self.state_name)

    @property
    def asker(self) -> Actor:
        """The actor that made the request."""
        return Actor(self.actor["kind"], self.actor["name"])

    @property
    def request(self) -> Request:
        """The request as its file records it."""
        return Request(
            id=self.id,
            command=self.command,
            arguments=self.arguments,
            inputs={name: input_of(facts) for name, facts in self.inputs.items()},
            bases=self.bases,
            tenant_id=self.tenant,
            actor=self.asker,
            token=None,
            requested_at=self.requested_at,
            scope=scope_of_claims(self.paths),
        )


@dataclass(frozen=True, slots=True)
class Notice:
    """A change made without approval, shown to a person afterwards."""

    id: UUID
    type: str
    occurred_at: datetime
    actor: dict[str, Any]
    data: dict[str, Any]


APPROVED_SECONDS = 600  # seconds for which an approved deletion is one that a person has just seen
_APPROVED_DELETIONS = """
SELECT DISTINCT (told.data ->> 'page_id')::uuid, told.data ->> 'path'
  FROM mirrord.event AS told
  JOIN mirrord.approval AS asked ON asked.tenant_id = told.tenant_id AND asked.id::text = told.data ->> 'request_id'
 WHERE told.tenant_id = %(tenant)s AND told.type LIKE '%%Deleted' AND told.data ->> 'page_id' = ANY (%(entries)s)
   AND told.occurred_at > clock_timestamp() - make_interval(secs => %(seconds)s)
   AND asked.state IN ('approved', 'executed') AND asked.decided_at < told.occurred_at + interval '5 s'
   AND jsonb_exists(asked.bases, told.data ->> 'path')"""
_COLUMNS = (
    "tenant_id, id, mirror_id, command, arguments, arguments_digest, inputs, bases, actor, preview, level, state, "
    "decision, requested_at, expires_at, decided_at, claimed_at IS NOT NULL, outcome, told_at IS NOT NULL, paths, "
    "CASE WHEN look_asked_at > coalesce(looked_at, '-infinity') THEN look_asked_at END"
)


async def add_request(
    connection: Connection, tenant: TenantId, mirror: MirrorId, request: Request, preview: Preview, level: Trust
) -> None:
    """Store a request until LIFETIME has passed; a stored request stays unchanged."""
    inputs = {name: input_facts(value) for name, value in request.inputs.items()}
    actor = {"kind": request.actor.kind, "name": request.actor.name}
    await connection.execute(
        "INSERT INTO mirrord.approval (tenant_id, id, mirror_id, command, arguments, arguments_digest, inputs, bases, "
        "actor, preview, level, review, paths, requested_at, expires_at) "
        "VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, clock_timestamp() + %s) "
        "ON CONFLICT (tenant_id, id) DO NOTHING",
        (
            tenant,
            request.id,
            mirror,
            request.command,
            Jsonb(dict(request.arguments)),
            request.digest,
            Jsonb(inputs),
            Jsonb(dict(request.bases)),
            Jsonb(actor),
            Jsonb(to_storable(preview_facts(preview))),
            level.name,
            _review_of(preview),
            Jsonb(request.scope.to_claims()),
            request.requested_at,
            REQUEST_LIFETIME,
        ),
    )


def _review_of(preview: Preview) -> Jsonb | None:
    return Jsonb({"changes": storable_changes(preview)}) if preview.changes else None


def storable_changes(preview: Preview) -> list[dict[str, Any]]:
    """The changes of a preview as a row holds them."""
    changes: list[dict[str, Any]] = to_storable({"changes": [change.facts() for change in preview.changes]})["changes"]
    return changes


async def load_requests(
    connection: Connection, tenant: TenantId, requests: Iterable[UUID]
) -> dict[UUID, StoredRequest]:
    """The stored ones among *requests*, whichever mirror stored them."""
    return await _load_stored(connection, "tenant_id = %s AND id = ANY (%s)", (tenant, list(requests)))


async def load_unreported(connection: Connection, tenant: TenantId, mirror: MirrorId) -> list[StoredRequest]:
    """Requests stored by *mirror* whose files lack the outcome, oldest first."""
    stored = await _load_stored(connection, "tenant_id = %s AND mirror_id = %s AND told_at IS NULL", (tenant, mirror))
    return list(stored.values())


async def list_requests(
    connection: Connection, tenant: TenantId, states: Sequence[RequestState] | None
) -> list[StoredRequest]:
    """Requests in one of *states* (None: any), oldest first."""
    names = None if states is None else [str(state) for state in states]
    where = "tenant_id = %s AND (%s::text[] IS NULL OR state = ANY (%s))"
    return list((await _load_stored(connection, where, (tenant, names, names))).values())


async def count_pending(connection: Connection, tenant: TenantId, actor: Actor, scope: Scope) -> int:
    """The number of pending requests of an actor within *scope*."""
    cursor = await connection.execute(
        "SELECT count(*) FROM mirrord.approval WHERE tenant_id = %s AND state = 'pending' "
        "AND actor ->> 'kind' = %s AND actor ->> 'name' = %s AND paths = %s",
        (tenant, actor.kind, actor.name, Jsonb(scope.to_claims())),
    )
    row = await cursor.fetchone()
    return int(row[0]) if row else 0


async def expire_requests(connection: Connection, tenant: TenantId, ended: Sequence[UUID] = ()) -> None:
    """Expire pending requests past their deadline, by the clock of Postgres, and those that *ended* before it."""
    await connection.execute(
        "UPDATE mirrord.approval SET state = 'expired' "
        "WHERE tenant_id = %s AND state = 'pending' AND (expires_at <= statement_timestamp() OR id = ANY (%s))",
        (tenant, list(ended)),
    )


async def claim_request(connection: Connection, tenant: TenantId, mirror: MirrorId, request: UUID) -> bool:
    """Claim an approved request for *mirror*. False: another mirror stored it, or it is claimed already."""
    cursor = await connection.execute(
        "UPDATE mirrord.approval SET claimed_at = statement_timestamp() WHERE tenant_id = %s AND id = %s "
        "AND mirror_id = %s AND state = 'approved' AND claimed_at IS NULL RETURNING id",
        (tenant, request, mirror),
    )
    return await cursor.fetchone() is not None


async def store_outcome(
    connection: Connection, tenant: TenantId, request: UUID, state: RequestState, outcome: Mapping[str, Any]
) -> None:
    """Record the outcome of a claimed request."""
    await connection.execute(
        "UPDATE mirrord.approval SET state = %s, outcome = %s "
        "WHERE tenant_id = %s AND id = %s AND state = 'approved' AND claimed_at IS NOT NULL",
        (state, Jsonb(to_storable(outcome)), tenant, request),
    )


async def mark_reported(connection: Connection, tenant: TenantId, request: UUID) -> None:
    """Record that the request's file contains the outcome."""
    await connection.execute(
        "UPDATE mirrord.approval SET told_at = statement_timestamp() WHERE tenant_id = %s AND id = %s",
        (tenant, request),
    )


async def load_approved_paths(connection: Connection, tenant: TenantId, requests: Sequence[UUID]) -> set[str]:
    """The files of requests that a person approved, as the person saw them."""
    query = "SELECT bases FROM mirrord.approval WHERE tenant_id = %s AND id = ANY (%s) AND state = ANY (%s)"
    states = [RequestState.APPROVED, RequestState.EXECUTED]
    rows = await connection.execute(query, (tenant, list(requests), states))
    return {path for (bases,) in await rows.fetchall() for path in bases}


async def load_approved_deletions(
    connection: Connection, tenant: TenantId, entries: Sequence[UUID]
) -> list[tuple[UUID, str]]:
    """The pages among *entries* whose deletion a person approved just now, with the paths that the person saw."""
    values = {"tenant": tenant, "entries": [str(entry) for entry in entries], "seconds": APPROVED_SECONDS}
    return await (await connection.execute(_APPROVED_DELETIONS, values)).fetchall()


async def decide_request(
    connection: Connection, tenant: TenantId, request: UUID, *, approve: bool, reason: str | None, channel: str
) -> None:
    """Record a person's decision. Raises UserError for a request that is not pending."""
    function = "approve" if approve else "reject"
    try:
        cursor = await connection.execute(f"SELECT mirrord.{function}(%s, %s, %s)", (request, reason, channel))
        await cursor.fetchone()
    except (psycopg.errors.NoDataFound, psycopg.errors.ObjectNotInPrerequisiteState) as error:
        sentence = error.diag.message_primary or "It cannot be decided about"
        raise UserError(f"{sentence[:1].upper()}{sentence[1:]}.") from error


async def load_notices(connection: Connection, tenant: TenantId) -> list[Notice]:
    """Notices that a person has not read, oldest first."""
    cursor = await connection.execute(
        "SELECT id, type, occurred_at, actor, data FROM mirrord.event "
        "WHERE tenant_id = %s AND read_at IS NULL AND data ->> 'trust' = 'NOTIFY' ORDER BY occurred_at, id",
        (tenant,),
    )
    return [Notice(*row) for row in await cursor.fetchall()]


async def mark_notices_read(connection: Connection, notices: Iterable[UUID]) -> None:
    """Mark notices as read by a person."""
    cursor = await connection.execute("SELECT mirrord.read_notifications(%s)", (list(notices),))
    await cursor.fetchone()


async def _load_stored(connection: Connection, where: str, values: tuple[object, ...]) -> dict[UUID, StoredRequest]:
    cursor = await connection.execute(
        f"SELECT {_COLUMNS} FROM mirrord.approval WHERE {where} ORDER BY requested_at, id", values
    )
    rows = [StoredRequest(*row) for row in await cursor.fetchall()]
    return {row.id: row for row in rows}
