"""Approvals as rows: what was asked for, what a person decided, and what became of it."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

import psycopg
from psycopg.types.json import Jsonb

from mirrord.db.connect import Connection
from mirrord.domain.approval import LIFETIME, Preview, Request, State, as_facts, input_facts, input_of, storable
from mirrord.domain.entry import Actor, Digest, MirrorId, TenantId
from mirrord.domain.trust import Trust
from mirrord.errors import UserError


@dataclass(frozen=True, slots=True)
class Stored:
    """
    A request as Postgres has it.

    digest: of the request its file had when it was taken in. preview: summary, lines, facts. decision: by, reason,
    channel. claimed: its mirror runs it, or ran it. outcome: {"result"} or {"failure"}. told: its file says how it
    ended.
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
    claimed: bool
    outcome: dict[str, Any] | None
    told: bool

    @property
    def state(self) -> State:
        """What became of it."""
        return State(self.state_name)

    @property
    def asker(self) -> Actor:
        """Who asked."""
        return Actor(self.actor["kind"], self.actor["name"])

    @property
    def request(self) -> Request:
        """What its file is to say of what was asked for."""
        return Request(
            id=self.id,
            command=self.command,
            arguments=self.arguments,
            inputs={name: input_of(one) for name, one in self.inputs.items()},
            bases=self.bases,
            tenant_id=self.tenant,
            actor=self.asker,
            token=None,
            requested_at=self.requested_at,
        )


@dataclass(frozen=True, slots=True)
class Notice:
    """Something that was done without asking, of which a person is told."""

    id: UUID
    type: str
    occurred_at: datetime
    actor: dict[str, Any]
    data: dict[str, Any]


_COLUMNS = (
    "tenant_id, id, mirror_id, command, arguments, arguments_digest, inputs, bases, actor, preview, level, state, "
    "decision, requested_at, expires_at, decided_at, claimed_at IS NOT NULL, outcome, told_at IS NOT NULL"
)


async def add(
    connection: Connection, tenant: TenantId, mirror: MirrorId, request: Request, preview: Preview, level: Trust
) -> None:
    """Take a request in, for as long as it asks for; one that is known already stays as it is."""
    inputs = {name: input_facts(one) for name, one in request.inputs.items()}
    actor = {"kind": request.actor.kind, "name": request.actor.name}
    await connection.execute(
        "INSERT INTO mirrord.approval (tenant_id, id, mirror_id, command, arguments, arguments_digest, inputs, bases, "
        "actor, preview, level, requested_at, expires_at) "
        "VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, clock_timestamp() + %s) "
        "ON CONFLICT (tenant_id, id) DO NOTHING",
        (
            *(tenant, request.id, mirror, request.command, Jsonb(dict(request.arguments)), request.digest),
            *(Jsonb(inputs), Jsonb(dict(request.bases)), Jsonb(actor), Jsonb(storable(as_facts(preview))), level.name),
            *(request.requested_at, LIFETIME),
        ),
    )


async def known(connection: Connection, tenant: TenantId, requests: Iterable[UUID]) -> dict[UUID, Stored]:
    """Those of *requests* that were taken in, by any mirror."""
    return await _stored(connection, "tenant_id = %s AND id = ANY (%s)", (tenant, list(requests)))


async def untold(connection: Connection, tenant: TenantId, mirror: MirrorId) -> list[Stored]:
    """Requests that *mirror* took in and whose files do not say yet how they ended, oldest first."""
    found = await _stored(connection, "tenant_id = %s AND mirror_id = %s AND told_at IS NULL", (tenant, mirror))
    return list(found.values())


async def listed(connection: Connection, tenant: TenantId, states: Sequence[State] | None) -> list[Stored]:
    """Requests in one of *states*, None: in any; oldest first."""
    wanted = None if states is None else [str(state) for state in states]
    where = "tenant_id = %s AND (%s::text[] IS NULL OR state = ANY (%s))"
    return list((await _stored(connection, where, (tenant, wanted, wanted))).values())


async def count_pending(connection: Connection, tenant: TenantId, actor: Actor) -> int:
    """How many requests of an actor wait."""
    cursor = await connection.execute(
        "SELECT count(*) FROM mirrord.approval WHERE tenant_id = %s AND state = 'pending' "
        "AND actor ->> 'kind' = %s AND actor ->> 'name' = %s",
        (tenant, actor.kind, actor.name),
    )
    row = await cursor.fetchone()
    return int(row[0]) if row else 0


async def expire(connection: Connection, tenant: TenantId) -> None:
    """End what nobody decided about in time, by the clock of Postgres."""
    await connection.execute(
        "UPDATE mirrord.approval SET state = 'expired' "
        "WHERE tenant_id = %s AND state = 'pending' AND expires_at <= clock_timestamp()",
        (tenant,),
    )


async def claim(connection: Connection, tenant: TenantId, mirror: MirrorId, request: UUID) -> bool:
    """Whether *mirror* may run an approved request now: it took it in, and nobody ran it yet."""
    cursor = await connection.execute(
        "UPDATE mirrord.approval SET claimed_at = clock_timestamp() WHERE tenant_id = %s AND id = %s "
        "AND mirror_id = %s AND state = 'approved' AND claimed_at IS NULL RETURNING id",
        (tenant, request, mirror),
    )
    return await cursor.fetchone() is not None


async def conclude(
    connection: Connection, tenant: TenantId, request: UUID, state: State, outcome: Mapping[str, Any]
) -> None:
    """A claimed request was run."""
    await connection.execute(
        "UPDATE mirrord.approval SET state = %s, outcome = %s "
        "WHERE tenant_id = %s AND id = %s AND state = 'approved' AND claimed_at IS NOT NULL",
        (state, Jsonb(storable(outcome)), tenant, request),
    )


async def tell(connection: Connection, tenant: TenantId, request: UUID) -> None:
    """The request's file says how it ended."""
    await connection.execute(
        "UPDATE mirrord.approval SET told_at = clock_timestamp() WHERE tenant_id = %s AND id = %s", (tenant, request)
    )


async def decide(
    connection: Connection, tenant: TenantId, request: UUID, *, approve: bool, reason: str | None, channel: str
) -> None:
    """A person decides. Raises UserError where there is nothing to decide about."""
    function = "approve" if approve else "reject"
    try:
        cursor = await connection.execute(f"SELECT mirrord.{function}(%s, %s, %s)", (request, reason, channel))
        await cursor.fetchone()
    except (psycopg.errors.NoDataFound, psycopg.errors.ObjectNotInPrerequisiteState) as error:
        sentence = error.diag.message_primary or "It cannot be decided about"
        raise UserError(f"{sentence[:1].upper()}{sentence[1:]}.") from error


async def notices(connection: Connection, tenant: TenantId) -> list[Notice]:
    """What a person was not told of yet, oldest first."""
    cursor = await connection.execute(
        "SELECT id, type, occurred_at, actor, data FROM mirrord.event "
        "WHERE tenant_id = %s AND read_at IS NULL AND data ->> 'trust' = 'NOTIFY' ORDER BY occurred_at, id",
        (tenant,),
    )
    return [Notice(*row) for row in await cursor.fetchall()]


async def read_notices(connection: Connection, notices: Iterable[UUID]) -> None:
    """A person was told of these."""
    cursor = await connection.execute("SELECT mirrord.read_notifications(%s)", (list(notices),))
    await cursor.fetchone()


async def _stored(connection: Connection, where: str, values: tuple[object, ...]) -> dict[UUID, Stored]:
    cursor = await connection.execute(
        f"SELECT {_COLUMNS} FROM mirrord.approval WHERE {where} ORDER BY requested_at, id", values
    )
    rows = [Stored(*row) for row in await cursor.fetchall()]
    return {row.id: row for row in rows}
