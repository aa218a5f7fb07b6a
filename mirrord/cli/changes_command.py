"""`mirrord changes` and `mirrord undo`: what agents changed, and taking it back as one."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any
from uuid import UUID

import click

from mirrord.cli.drafts_command import drafts_command, print_draft
from mirrord.cli.options import EXIT_DIFFERENT, EXIT_REFUSED, as_options, tenant_option, with_config_options
from mirrord.cli.output import current_person, echo_difference, format_actor, format_time, strip_controls
from mirrord.cli.review_commands import (
    REVIEW_COMMANDS,
    find_waiting,
    format_waiting,
    list_waiting,
    print_review,
    waiting_facts,
)
from mirrord.cli.tenant_database import run_in_transaction, run_with_database
from mirrord.config import Config
from mirrord.db import change_set_rows
from mirrord.db.change_set_rows import ChangeSet
from mirrord.db.database import Connection, Database
from mirrord.domain.entry import TenantId
from mirrord.domain.time_reading import TIME_FORMS, TimeError, read_past_time
from mirrord.errors import Unavailable, UserError
from mirrord.mirror.heartbeat import request_flush
from mirrord.operations import change_diffs
from mirrord.operations.change_diffs import ChangedEntry
from mirrord.operations.undo import UndoOutcome, UndoRequest, describe_step, find_change_set, preview_undo
from mirrord.operations.undo import undo as undo_changes
from mirrord.operations.undo_halts import COMES_BACK

MAX_LISTED = 50  # change sets
FLUSH_SECONDS = 5.0  # seconds to wait until rows have what files have, before an undo
_ID_LENGTH = 18  # characters of an id, of which the first twelve tell its millisecond

Listed = list[tuple[ChangeSet, int]]


@click.group(invoke_without_command=True)
@with_config_options
@tenant_option
def changes(config: Config, tenant: str | None) -> None:
    """
    List and show change sets.

    A change set is what one connection of an agent changed, an applied draft, or an undo. Those that wait for a person
    come first.
    """
    context = click.get_current_context()
    if context.invoked_subcommand is None:
        _print_change_sets(config, tenant, as_json=False)
    elif any(value is not None for value in context.params.values()):
        raise UserError(f"Put options after the subcommand: `mirrord changes {context.invoked_subcommand} …`.")


@changes.command("list")
@with_config_options
@tenant_option
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def list_command(config: Config, tenant: str | None, as_json: bool) -> None:
    """List the change sets, newest first."""
    _print_change_sets(config, tenant, as_json=as_json)


for further_command in (*REVIEW_COMMANDS, drafts_command):
    changes.add_command(further_command)


@changes.command()
@with_config_options
@tenant_option
@click.argument("change_set", metavar="ID")
@click.option("--page", metavar="PATH", help="Show this page only, of a change set that waits for a review.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def show(config: Config, tenant: str | None, change_set: str, page: str | None, as_json: bool) -> int:
    """Show what the change set ID changes, with a diff of each page. The beginning of an id is enough."""
    look = find_waiting(config, tenant, change_set)
    if look is not None:
        return print_review(look, page, as_json=as_json)
    if page is not None:
        raise UserError(f"No change set {change_set!r} waits for a review; --page shows a page of those.")
    try:
        loaded_set, entries = run_in_transaction(config, tenant, partial(_load_change_set, beginning=change_set))
    except UserError:
        if change_set.strip() and print_draft(config, tenant, change_set, as_json=as_json):
            return EXIT_DIFFERENT
        raise
    if as_json:
        facts = [_entry_facts(entry) for entry in entries]
        click.echo(json.dumps(_change_set_facts(loaded_set, len(entries)) | {"entries": facts}, indent=2))
    else:
        click.echo(_format_change_set(loaded_set, len(entries)))
        if loaded_set.undone_by is not None:
            click.echo(f"Undone by {loaded_set.undone_by}; undo that one to have it again.")
        for entry in entries:
            click.echo(f"{', '.join(entry.changes):<18} {entry.kind:<10} {strip_controls(entry.name)}")
            echo_difference(entry.diff())
    return EXIT_DIFFERENT if entries else 0


@dataclass(frozen=True, slots=True)
class _UndoOptions:
    """What `mirrord undo` takes."""

    tenant: str | None
    change_set: str | None
    author: str | None
    since: str | None
    partial: bool
    dry_run: bool
    as_json: bool


@click.command()
@with_config_options
@tenant_option
@click.argument("change_set", metavar="[ID]", required=False)
@click.option(
    "--by", "author", help="Undo what this agent or person did, instead of a change set: `notes` or `agent notes`."
)
@click.option("--since", help="With --by: since `14:00` today, `2026-01-31 14:00` or `2 hours ago`.")
@click.option("--partial", is_flag=True, help="Leave what clashes, and undo the rest.")
@click.option("--dry-run", is_flag=True, help="Only list what would be done.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@as_options(_UndoOptions)
def undo(config: Config, options: _UndoOptions) -> int:
    """
    Undo a change set, or an author's changes.

    ID is the beginning of the id of a change set; `mirrord changes` lists them. --by and --since undo all changes of
    one author since a time, as one.

    Pages that were edited since keep those edits. What clashes is listed; then nothing is done without --partial.
    To undo an undo is to redo. Changes of files that are on their way to rows are waited for, up to five seconds.
    """
    request, dry_run = _request_of(options), options.dry_run

    async def work(database: Database, tenant_id: TenantId) -> UndoOutcome:
        return await (preview_undo if dry_run else undo_changes)(database, tenant_id, request)

    _await_rows(config)
    outcome = run_with_database(config, options.tenant, work)
    if options.as_json:
        undo_id = str(outcome.change_set) if outcome.change_set else None
        click.echo(json.dumps({"change_set": undo_id} | outcome.facts(), indent=2))
    else:
        _print_outcome(outcome, dry_run=dry_run)
    return 0 if dry_run or outcome.change_set is not None else EXIT_REFUSED


def _await_rows(config: Config) -> None:
    """Wait until rows have what was just written to files: an undo takes back what is in rows."""
    try:
        request_flush(config.mirror, FLUSH_SECONDS)
    except TimeoutError:
        click.echo(
            "Some changes of files are not in rows yet; an undo leaves them. `mirrord status` lists them.", err=True
        )
    except (Unavailable, OSError):  # or it belongs to another user
        click.echo("No daemon could be asked here, so changes that are only in files are left.", err=True)


def _request_of(options: _UndoOptions) -> UndoRequest:
    if (options.change_set is None) == (options.author is None):
        raise UserError("Name a change set (`mirrord changes` lists them), or say --by NAME --since TIME.")
    if (options.author is None) != (options.since is None):
        raise UserError("--by and --since belong together: whose changes, and since when.")
    moment = _parse_moment(options.since) if options.since is not None else None
    return UndoRequest(current_person(), options.change_set, options.author, moment, options.partial)


def _parse_moment(text: str) -> datetime:
    """A past moment, in local time where it names no zone."""
    try:
        return read_past_time(text, datetime.now().astimezone())
    except TimeError as error:
        raise UserError(f"{error} Write it like {TIME_FORMS}.") from error


def _print_outcome(outcome: UndoOutcome, *, dry_run: bool) -> None:
    is_done = outcome.change_set is not None
    for step in outcome.steps if is_done or dry_run else ():
        click.echo(f"{step.kind:<10} {strip_controls(step.after.name or str(step.entry))}: {describe_step(step)}")
    for withdrawal in outcome.withdrawals if is_done or dry_run else ():
        click.echo(f"{withdrawal.kind:<10} {strip_controls(withdrawal.name)}: {COMES_BACK}")
    for clash in outcome.clashes:
        click.echo(f"{clash.kind:<10} {strip_controls(clash.name)}: left, it {clash.reason}", err=True)
    if is_done:
        click.echo(f"Done as the change set {outcome.change_set}; undo it to redo. The files follow.", err=True)
    elif dry_run:
        click.echo("Nothing was done: this is what would be.", err=True)
    else:
        click.echo("Nothing was done, because of what clashes; --partial leaves it and does the rest.", err=True)


def _print_change_sets(config: Config, tenant: str | None, *, as_json: bool) -> None:
    listed, waiting = run_in_transaction(config, tenant, _load_change_sets), list_waiting(config, tenant)
    if as_json:
        facts = [_change_set_facts(change_set, count) for change_set, count in listed]
        click.echo(json.dumps([*map(waiting_facts, waiting), *facts], indent=2))
        return
    for stored in waiting:
        click.echo(format_waiting(stored))
    if not listed and not waiting:
        click.echo("There are no change sets: no agent has changed anything.", err=True)
    for change_set, count in listed:
        click.echo(_format_change_set(change_set, count))


async def _load_change_sets(connection: Connection, tenant: TenantId) -> Listed:
    change_sets = await change_set_rows.load_change_sets(connection, tenant, MAX_LISTED)
    counts = await change_set_rows.count_entries(connection, tenant, [change_set.id for change_set in change_sets])
    return [(change_set, counts.get(change_set.id, 0)) for change_set in change_sets]


async def _load_change_set(
    connection: Connection, tenant: TenantId, beginning: str
) -> tuple[ChangeSet, list[ChangedEntry]]:
    change_set = await find_change_set(connection, tenant, beginning)
    return change_set, await change_diffs.load_changed(connection, tenant, change_set.id)


def _format_change_set(change_set: ChangeSet, count: int) -> str:
    entries = "1 entry" if count == 1 else f"{count} entries"
    author, title = strip_controls(format_actor(change_set.actor)), strip_controls(change_set.title)
    identifier = str(change_set.id)[:_ID_LENGTH]
    started, state = format_time(change_set.started_at), change_set.shown_state
    return f"{identifier}  {started}  {author:<20} {state:<9} {entries:<12} {title}"


def _change_set_facts(change_set: ChangeSet, count: int) -> dict[str, Any]:
    return {
        "id": str(change_set.id),
        "kind": change_set.kind,
        "title": change_set.title,
        "message": change_set.message,
        "actor": dict(change_set.actor),
        "client": change_set.client,
        "state": change_set.shown_state,
        "started_at": change_set.started_at.isoformat(),
        "applied_at": change_set.applied_at.isoformat() if change_set.applied_at else None,
        "undoes": _text_of_id(change_set.undoes),
        "undone_by": _text_of_id(change_set.undone_by),
        "entries_count": count,
    }


def _entry_facts(entry: ChangedEntry) -> Mapping[str, Any]:
    facts = {"id": str(entry.entry), "kind": entry.kind, "name": entry.name, "changes": list(entry.changes)}
    return facts | {"diff": list(entry.diff())}


def _text_of_id(identifier: UUID | None) -> str | None:
    return str(identifier) if identifier is not None else None
