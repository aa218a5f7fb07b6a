"""`mirrord approvals`: requests of agents that need a decision. `mirrord notifications`: changes made without one."""

import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import click

from mirrord import app
from mirrord.cli.options import configured, run, tenant_option, the_tenant
from mirrord.cli.output import actor_line, echo_difference, harmless, moment, the_person
from mirrord.config import Config
from mirrord.db import approvals as rows
from mirrord.db.approvals import Notice, Stored
from mirrord.db.connect import Connection
from mirrord.domain.approval import State
from mirrord.domain.entry import TenantId
from mirrord.domain.trust import Trust
from mirrord.errors import UserError

_OPEN = (State.PENDING, State.APPROVED)
_SHOWN = 200  # characters of an argument


@click.group()
def approvals() -> None:
    """List, show, approve and reject requests of agents."""


@approvals.command("list")
@configured
@tenant_option
@click.option("--all", "everything", is_flag=True, help="Include requests that are already decided.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def listed(config: Config, tenant: str | None, everything: bool, as_json: bool) -> None:
    """List the requests that wait for a decision."""

    async def work() -> list[Stored]:
        async with _opened(config, tenant) as (connection, one):
            return await rows.listed(connection, one, None if everything else _OPEN)

    found = run(work())
    if as_json:
        click.echo(json.dumps([_as_json(stored) for stored in found], indent=2))
        return
    for stored in found:
        _line(stored)
    if not found:
        click.echo("Nothing waits for you.", err=True)
    elif any(stored.state is State.PENDING for stored in found):
        click.echo("Look with `mirrord approvals show ID`, then approve or reject.", err=True)


@approvals.command()
@configured
@tenant_option
@click.argument("request_id", metavar="ID")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def show(config: Config, tenant: str | None, request_id: str, as_json: bool) -> None:
    """Show the effect or outcome of the request ID. The first characters of an id are enough."""

    async def work() -> Stored:
        async with _opened(config, tenant) as (connection, one):
            return _chosen(await rows.listed(connection, one, None), request_id)

    stored = run(work())
    if as_json:
        click.echo(json.dumps(_as_json(stored), indent=2))
    else:
        _describe(stored)


@approvals.command()
@configured
@tenant_option
@click.argument("request_ids", metavar="[ID]...", nargs=-1)
@click.option(
    "--all", "everything", is_flag=True, help="Approve all pending proposals, except requests of the level REQUIRE."
)
@click.option("--reason", help="Reason, stored with the decision.")
def approve(
    config: Config, tenant: str | None, request_ids: Sequence[str], everything: bool, reason: str | None
) -> None:
    """Approve the requests ID; the daemon then executes them."""
    if bool(request_ids) == everything:
        raise UserError("Name requests, or say --all; `mirrord approvals list` shows what waits.")
    done, left = run(_decided(config, tenant, request_ids, approve=True, reason=reason))
    for stored in done:
        click.echo(f"Approved: {harmless(stored.preview['summary'])}")
    for stored in left:
        click.echo(f"Not approved, it has to be named: mirrord approvals approve {stored.id}", err=True)
    click.echo("The daemon carries it out within a second." if done else "Nothing was approved.", err=True)


@approvals.command()
@configured
@tenant_option
@click.argument("request_ids", metavar="ID...", nargs=-1, required=True)
@click.option("--reason", help="Reason, sent to the requester.")
def reject(config: Config, tenant: str | None, request_ids: Sequence[str], reason: str | None) -> None:
    """Reject the requests ID; the requester receives the reason."""
    done, _ = run(_decided(config, tenant, request_ids, approve=False, reason=reason))
    for stored in done:
        click.echo(f"Rejected: {harmless(stored.preview['summary'])}")


@click.command()
@configured
@tenant_option
@click.option("--read", is_flag=True, help="Mark the printed notifications as read.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def notifications(config: Config, tenant: str | None, read: bool, as_json: bool) -> None:
    """List unread notifications. They report changes that agents made without approval."""

    async def work() -> list[Notice]:
        async with _opened(config, tenant) as (connection, one):
            found = await rows.notices(connection, one)
            if read and found:
                await rows.read_notices(connection, [notice.id for notice in found])
            return found

    found = run(work())
    if as_json:
        click.echo(json.dumps([_notice(notice) for notice in found], indent=2))
        return
    for notice in found:
        what = notice.data.get("path") or notice.data.get("name") or ""
        old = f" (was {notice.data['old_path']})" if notice.data.get("old_path") else ""
        click.echo(harmless(f"{moment(notice.occurred_at)}  {actor_line(notice.actor)}: {notice.type} {what}{old}"))
    if not found:
        click.echo("No unread notifications.", err=True)


async def _decided(
    config: Config, tenant: str | None, names: Sequence[str], *, approve: bool, reason: str | None
) -> tuple[list[Stored], list[Stored]]:
    """The decided and the remaining requests; without *names* decide all that can be approved together."""
    async with _opened(config, tenant) as (connection, one):
        pending = await rows.listed(connection, one, None if names else [State.PENDING])
        chosen = [_chosen(pending, name) for name in names] or [one for one in pending if not _is_required(one)]
        for stored in chosen:
            await rows.decide(connection, one, stored.id, approve=approve, reason=reason, channel="cli")
        return chosen, [] if names else [stored for stored in pending if _is_required(stored)]


@asynccontextmanager
async def _opened(config: Config, tenant: str | None) -> AsyncIterator[tuple[Connection, TenantId]]:
    """A transaction of the tenant, with the operating person as the actor."""
    async with app.opened(config) as database:
        _, one = await the_tenant(database, config, tenant)
        async with database.transaction(one, actor=the_person()) as connection:
            yield connection, one


def _chosen(known: Sequence[Stored], name: str) -> Stored:
    found = [stored for stored in known if str(stored.id).startswith(name.lower())]
    if len(found) == 1:
        return found[0]
    if found:
        raise UserError(f"{len(found)} requests begin with {name!r}; write more of the id.")
    raise UserError(f"There is no request {name!r}; `mirrord approvals list --all` shows all.")


def _is_required(stored: Stored) -> bool:
    return stored.level == Trust.REQUIRE.name


def _line(stored: Stored) -> None:
    state = stored.level if stored.state is State.PENDING else stored.state.upper()
    asked = f"{actor_line(stored.actor)}, {moment(stored.requested_at)}"
    click.echo(f"{stored.id}  {state:<8}  {stored.command}  ({harmless(asked)})")
    click.echo(f"    {harmless(stored.preview['summary'])}")


def _describe(stored: Stored) -> None:
    _line(stored)
    for name, value in stored.arguments.items():
        text = json.dumps(value, ensure_ascii=False)
        click.echo(harmless(f"    {name}: {text[:_SHOWN]}{'…' if len(text) > _SHOWN else ''}"))
    for name, value in stored.preview["facts"].items():
        click.echo(harmless(f"    = {name}: {json.dumps(value, ensure_ascii=False)}"))
    if stored.preview["lines"]:
        click.echo()
        echo_difference(stored.preview["lines"])
        click.echo()
    if stored.state is State.PENDING:
        click.echo(f"    until {moment(stored.expires_at)}:  mirrord approvals approve {stored.id}")
        click.echo(f"    {'':>26}  mirrord approvals reject {stored.id} --reason …")
        return
    if stored.decision is not None and stored.decided_at is not None:
        reason = f": {stored.decision['reason']}" if stored.decision.get("reason") else ""
        by = actor_line(stored.decision["by"])
        click.echo(harmless(f"    decided {moment(stored.decided_at)} by {by} ({stored.decision['channel']}){reason}"))
    if (outcome := stored.outcome or {}).get("failure"):
        click.echo(harmless(f"    {outcome['failure']['sentence']}"))


def _as_json(stored: Stored) -> dict[str, Any]:
    return {
        "id": str(stored.id),
        "command": stored.command,
        "arguments": stored.arguments,
        "actor": stored.actor,
        "level": stored.level,
        "state": stored.state,
        "preview": stored.preview,
        "requested_at": stored.requested_at.isoformat(),
        "expires_at": stored.expires_at.isoformat(),
        "decision": stored.decision,
        "decided_at": stored.decided_at.isoformat() if stored.decided_at else None,
        "outcome": stored.outcome,
    }


def _notice(notice: Notice) -> dict[str, Any]:
    facts = {"id": str(notice.id), "type": notice.type, "occurred_at": notice.occurred_at.isoformat()}
    return {**facts, "actor": notice.actor, "data": notice.data}
