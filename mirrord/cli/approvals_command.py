"""`mirrord approvals` and `notifications`: requests of agents, and what they did without asking."""

import json
from collections.abc import Sequence
from functools import partial
from typing import Any

import click

from mirrord.cli.options import tenant_option, with_config_options
from mirrord.cli.output import current_person, echo_difference, format_actor, format_time, strip_controls
from mirrord.cli.tenant_database import run_in_transaction, run_with_database
from mirrord.config import Config
from mirrord.db import approval_rows as rows
from mirrord.db import review_rows
from mirrord.db.approval_rows import Notice, StoredRequest
from mirrord.db.database import Connection, Database
from mirrord.db.review_rows import Obstacle
from mirrord.domain.approval import RequestState
from mirrord.domain.entry import TenantId
from mirrord.errors import Refused, Stale, UserError
from mirrord.operations.review_decisions import Acceptance, Reviewer

_OPEN_STATES = (RequestState.PENDING, RequestState.APPROVED)
_CHANNEL = "cli"
_MAX_ARGUMENT_CHARACTERS = 200  # characters of an argument


@click.group()
def approvals() -> None:
    """List, show, approve and reject requests of agents."""


@approvals.command("list")
@with_config_options
@tenant_option
@click.option("--all", "everything", is_flag=True, help="Include requests that are already decided.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def list_requests(config: Config, tenant: str | None, everything: bool, as_json: bool) -> None:
    """List the requests that wait for a decision."""
    states = None if everything else _OPEN_STATES
    requests = run_in_transaction(config, tenant, partial(rows.list_requests, states=states))
    if as_json:
        click.echo(json.dumps([_request_facts(stored) for stored in requests], indent=2))
        return
    for stored in requests:
        _print_summary(stored)
    if not requests:
        click.echo("No pending requests.", err=True)
    elif any(stored.state is RequestState.PENDING for stored in requests):
        click.echo("See `mirrord approvals show ID`, then approve or reject.", err=True)


@approvals.command()
@with_config_options
@tenant_option
@click.argument("request_id", metavar="ID")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def show(config: Config, tenant: str | None, request_id: str, as_json: bool) -> None:
    """Show the effect or outcome of the request ID. The first characters of an id are enough."""

    async def work(connection: Connection, tenant_id: TenantId) -> StoredRequest:
        return _find_request(await rows.list_requests(connection, tenant_id, None), request_id)

    stored = run_in_transaction(config, tenant, work)
    if as_json:
        click.echo(json.dumps(_request_facts(stored), indent=2))
    else:
        _print_details(stored)


@approvals.command()
@with_config_options
@tenant_option
@click.argument("request_ids", metavar="[ID]...", nargs=-1)
@click.option(
    "--all",
    "everything",
    is_flag=True,
    help="Approve all pending proposals and change sets, except requests of the level REQUIRE and change sets whose "
    "pages changed since they were shown.",
)
@click.option("--reason", help="Reason, stored with the decision.")
def approve(
    config: Config, tenant: str | None, request_ids: Sequence[str], everything: bool, reason: str | None
) -> None:
    """
    Approve the requests ID; the daemon then executes them.

    A change set is accepted as it would be applied now, like by `mirrord changes accept`.
    """
    if bool(request_ids) == everything:
        raise UserError("Name requests, or use --all; `mirrord approvals list` shows pending requests.")
    remaining: list[str] = []
    refusals: list[str] = []
    if everything:
        decided, remaining = run_in_transaction(config, tenant, partial(_approve_all, reason=reason))
    else:
        work = partial(_approve_named, names=request_ids, reason=reason)
        decided, refusals = run_with_database(config, tenant, work)
    for stored in decided:
        click.echo(f"Approved: {strip_controls(stored.preview['summary'])}")
    for sentence in remaining:
        click.echo(f"Not approved, {sentence}", err=True)
    click.echo("The daemon carries it out within a second." if decided else "Nothing was approved.", err=True)
    if refusals:
        raise Refused("\n".join(refusals))


@approvals.command()
@with_config_options
@tenant_option
@click.argument("request_ids", metavar="ID...", nargs=-1, required=True)
@click.option("--reason", help="Reason, sent to the requester.")
def reject(config: Config, tenant: str | None, request_ids: Sequence[str], reason: str | None) -> None:
    """Reject the requests ID; the requester receives the reason."""
    work = partial(_decide_requests, names=request_ids, approve=False, reason=reason)
    decided = run_in_transaction(config, tenant, work)
    for stored in decided:
        click.echo(f"Rejected: {strip_controls(stored.preview['summary'])}")


@click.command()
@with_config_options
@tenant_option
@click.option("--read", is_flag=True, help="Mark the printed notifications as read.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def notifications(config: Config, tenant: str | None, read: bool, as_json: bool) -> None:
    """List unread notifications. They report changes that agents made without approval."""

    async def work(connection: Connection, tenant_id: TenantId) -> list[Notice]:
        notices = await rows.load_notices(connection, tenant_id)
        if read and notices:
            await rows.mark_notices_read(connection, [notice.id for notice in notices])
        return notices

    notices = run_in_transaction(config, tenant, work)
    if as_json:
        click.echo(json.dumps([_notice_facts(notice) for notice in notices], indent=2))
        return
    for notice in notices:
        subject = notice.data.get("path") or notice.data.get("name") or ""
        previous = f" (was {notice.data['old_path']})" if notice.data.get("old_path") else ""
        click.echo(
            strip_controls(
                f"{format_time(notice.occurred_at)}  {format_actor(notice.actor)}: {notice.type} {subject}{previous}"
            )
        )
    if not notices:
        click.echo("No unread notifications.", err=True)


async def _approve_named(
    database: Database, tenant: TenantId, names: Sequence[str], reason: str | None
) -> tuple[list[StoredRequest], list[str]]:
    """
    Approve the requests whose ids begin with *names*, change sets after the others.

    Returns those that were approved, and for each change set that was not the reason and what helps.
    """
    person = current_person()
    async with database.transaction(tenant, actor=person) as connection:
        requests = await rows.list_requests(connection, tenant, None)
        chosen = [_find_request(requests, name) for name in names]
        approved = [stored for stored in chosen if not _is_reviewed(stored)]
        for stored in approved:
            await rows.decide_request(connection, tenant, stored.id, approve=True, reason=reason, channel=_CHANNEL)
    refusals: list[str] = []
    change_sets = {str(stored.arguments["change_set"]): stored for stored in chosen if _is_reviewed(stored)}
    for change_set, stored in change_sets.items():
        acceptance = Acceptance(change_set, lambda review: review.choice, None, reason, _CHANNEL)
        try:
            await Reviewer(database, tenant, person).accept(acceptance)
        except (Refused, Stale) as error:
            refusals.append(f"{error} It still waits; see `mirrord changes show {change_set}`.")
        else:
            approved.append(stored)
    return approved, refusals


def _is_reviewed(stored: StoredRequest) -> bool:
    """Whether it asks for a change set that waits, maybe in another request that followed this one."""
    is_waiting = stored.state is RequestState.PENDING or "renewed_by" in (stored.outcome or {})
    return "change_set" in stored.arguments and is_waiting


async def _decide_requests(
    connection: Connection, tenant: TenantId, names: Sequence[str], *, approve: bool, reason: str | None
) -> list[StoredRequest]:
    """Decide the requests whose ids begin with *names*; returns them."""
    requests = await rows.list_requests(connection, tenant, None)
    chosen = [_find_request(requests, name) for name in names]
    for stored in chosen:
        await rows.decide_request(connection, tenant, stored.id, approve=approve, reason=reason, channel=_CHANNEL)
    return chosen


async def _approve_all(
    connection: Connection, tenant: TenantId, reason: str | None
) -> tuple[list[StoredRequest], list[str]]:
    """Approve all that can be approved together; returns it, and for each other request why it was not."""
    pending = await rows.list_requests(connection, tenant, [RequestState.PENDING])
    obstacles = {stored.id: await review_rows.find_obstacle(connection, tenant, stored) for stored in pending}
    approved = [stored for stored in pending if obstacles[stored.id] is None]
    for stored in approved:
        await rows.decide_request(connection, tenant, stored.id, approve=True, reason=reason, channel=_CHANNEL)
    return approved, [_advice(stored, obstacle) for stored in pending if (obstacle := obstacles[stored.id]) is not None]


def _advice(stored: StoredRequest, obstacle: Obstacle) -> str:
    """Why a request was not approved with others, and what to do instead."""
    if obstacle is Obstacle.OWN_DECISION:
        return f"needs to be named: mirrord approvals approve {stored.id}"
    change_set, title = stored.arguments["change_set"], strip_controls(str(stored.preview["facts"].get("title")))
    if obstacle is Obstacle.OUTDATED:
        return f"files of {title!r} changed since it was shown; to be shown it again: mirrord changes show {change_set}"
    if obstacle is Obstacle.SEPARATED:
        return f"a part of {title!r} was rejected that belongs to another part: mirrord changes show {change_set}"
    return f"every page of {title!r} is marked as rejected: mirrord changes reject {change_set}"


def _find_request(requests: Sequence[StoredRequest], name: str) -> StoredRequest:
    matches = [stored for stored in requests if str(stored.id).startswith(name.lower())]
    if len(matches) == 1:
        return matches[0]
    if matches:
        raise UserError(f"{len(matches)} requests begin with {name!r}; write more of the id.")
    raise UserError(f"There is no request {name!r}; `mirrord approvals list --all` shows all.")


def _print_summary(stored: StoredRequest) -> None:
    state = stored.level if stored.state is RequestState.PENDING else stored.state.upper()
    origin = f"{format_actor(stored.actor)}, {format_time(stored.requested_at)}"
    click.echo(f"{stored.id}  {state:<8}  {stored.command}  ({strip_controls(origin)})")
    click.echo(f"    {strip_controls(stored.preview['summary'])}")


def _print_details(stored: StoredRequest) -> None:
    _print_summary(stored)
    if stored.paths:
        click.echo(strip_controls(f"    scope: {stored.request.scope}; links in pages that it hides follow, too"))
    for name, value in stored.arguments.items():
        text = json.dumps(value, ensure_ascii=False)
        click.echo(
            strip_controls(
                f"    {name}: {text[:_MAX_ARGUMENT_CHARACTERS]}{'…' if len(text) > _MAX_ARGUMENT_CHARACTERS else ''}"
            )
        )
    for name, value in stored.preview["facts"].items():
        click.echo(strip_controls(f"    = {name}: {json.dumps(value, ensure_ascii=False)}"))
    if stored.preview["lines"]:
        click.echo()
        echo_difference(stored.preview["lines"])
        click.echo()
    if stored.state is RequestState.PENDING:
        click.echo(f"    until {format_time(stored.expires_at)}:  mirrord approvals approve {stored.id}")
        click.echo(f"    {'':>26}  mirrord approvals reject {stored.id} --reason …")
        return
    if stored.decision is not None and stored.decided_at is not None:
        reason = f": {stored.decision['reason']}" if stored.decision.get("reason") else ""
        by = format_actor(stored.decision["by"])
        click.echo(
            strip_controls(
                f"    decided {format_time(stored.decided_at)} by {by} ({stored.decision['channel']}){reason}"
            )
        )
    if (outcome := stored.outcome or {}).get("failure"):
        click.echo(strip_controls(f"    {outcome['failure']['sentence']}"))


def _request_facts(stored: StoredRequest) -> dict[str, Any]:
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


def _notice_facts(notice: Notice) -> dict[str, Any]:
    facts = {"id": str(notice.id), "type": notice.type, "occurred_at": notice.occurred_at.isoformat()}
    return {**facts, "actor": notice.actor, "data": notice.data}
