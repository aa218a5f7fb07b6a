"""`mirrord halts`, `resume`, `adopt` and `restore-all`."""

import json
from collections import Counter
from datetime import datetime
from typing import Any

import click

from mirrord import app
from mirrord.cli.options import find_tenant, run, tenant_option, with_config_options
from mirrord.cli.output import current_person
from mirrord.cli.tenant_database import run_in_transaction, run_with_database
from mirrord.config import Config
from mirrord.db import open_issues
from mirrord.db.database import Connection, Database
from mirrord.db.open_issues import Halt
from mirrord.domain.entry import TenantId
from mirrord.errors import UserError
from mirrord.operations.restore import Action, Change, preview_restore, restore_tenant
from mirrord.sync.decisions.guard import describe_effects

MAX_PRINTED_PATHS = 5  # paths a halt, for people
MAX_JSON_PATHS = 1_000_000  # for programs
MAX_PRINTED_CHANGES = 40  # changes a restore


@click.command()
@with_config_options
@tenant_option
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def halts(config: Config, tenant: str | None, as_json: bool) -> None:
    """List halts that wait for a decision. Shows the effect of each choice."""

    async def work(connection: Connection, tenant_id: TenantId) -> list[tuple[Halt, list[str]]]:
        open_halts = await open_issues.load_halts(connection, tenant_id)
        max_paths = MAX_JSON_PATHS if as_json else MAX_PRINTED_PATHS
        return [
            (halt, await open_issues.load_paths(connection, tenant_id, halt.entries, max_paths)) for halt in open_halts
        ]

    listed = run_in_transaction(config, tenant, work)
    if as_json:
        click.echo(json.dumps([_halt_facts(halt, paths) for halt, paths in listed], indent=2))
        return
    for halt, paths in listed:
        _print_halt(halt, paths)
    if not listed:
        click.echo("No halts.", err=True)


def _halt_facts(halt: Halt, paths: list[str]) -> dict[str, Any]:
    apply, discard = describe_effects(halt.side, len(halt.entries))
    return {
        "id": halt.id,
        "reason": halt.reason,
        "side": halt.side,
        "sentence": halt.sentence,
        "entries": len(halt.entries),
        "paths": paths,
        "decision": halt.decision,
        "apply": apply,
        "discard": discard,
        "created_at": halt.created_at.isoformat(),
    }


def _print_halt(halt: Halt, paths: list[str]) -> None:
    apply, discard = describe_effects(halt.side, len(halt.entries))
    created_at = halt.created_at.astimezone().strftime("%Y-%m-%d %H:%M:%S")
    click.echo(f"{halt.id:>4}  {created_at}  {halt.sentence}")
    if paths:
        unlisted = len(halt.entries) - len(paths)
        click.echo(f"      {', '.join(paths)}" + (f" and {unlisted} more" if unlisted > 0 else ""))
    if halt.decision is not None:
        click.echo(f"      decided: {halt.decision}; the daemon carries it out")
        return
    click.echo(f"      mirrord resume {halt.id} --apply      {apply}")
    click.echo(f"      mirrord resume {halt.id} --discard    {discard}")


@click.command()
@with_config_options
@tenant_option
@click.argument("halt", type=int)
@click.option("--apply/--discard", "apply", default=None, help="Apply the halted changes, or restore everything.")
def resume(config: Config, tenant: str | None, halt: int, apply: bool | None) -> None:
    """Apply or discard a halt. HALT is a number from `mirrord halts`."""
    if apply is None:
        raise UserError("Add --apply (it was intended) or --discard (restore everything); see `mirrord halts`.")

    async def work(connection: Connection, _: TenantId) -> bool:
        return await open_issues.decide_halt(connection, halt, "apply" if apply else "discard")

    if not run_in_transaction(config, tenant, work):
        raise UserError(f"There is no open halt {halt}; `mirrord halts` lists them.")
    click.echo("Decided. The daemon carries it out within a second or two; `mirrord flush` waits for it.")


@click.command()
@with_config_options
@tenant_option
def adopt(config: Config, tenant: str | None) -> None:
    """
    Adopt an unrecognised tree as a new mirror.

    Nothing is deleted: files without a row become pages; rows without a file are written into the tree.
    """

    async def work() -> str:
        async with app.open_database(config) as database:
            name, tenant_id = await find_tenant(database, config, tenant)
            app.adopt_tree(config, name, tenant_id)
            return name

    click.echo(f"The tree of {run(work())} is a new mirror now. Start the daemon: `mirrord up`.")


@click.command("restore-all")
@with_config_options
@tenant_option
@click.option(
    "--at", "moment", required=True, help="Moment to restore: `2026-01-31 18:00`, in local time without a zone."
)
@click.option("--delete-newer", is_flag=True, help="Delete pages and attachments that were created later.")
@click.option("--yes", is_flag=True, help="Restore; without it the changes are only listed.")
def restore_all(config: Config, tenant: str | None, moment: str, delete_newer: bool, yes: bool) -> None:
    """Restore a whole tenant to an earlier moment. Pages and attachments get new versions."""
    at = _parse_moment(moment)

    async def work(database: Database, tenant_id: TenantId) -> tuple[list[Change], list[Change]]:
        changes = await preview_restore(database, tenant_id, at, delete_newer=delete_newer)
        if not yes:
            return changes, []
        return changes, await restore_tenant(database, tenant_id, at, current_person(), delete_newer=delete_newer)

    changes, failed = run_with_database(config, tenant, work)
    _print_changes(changes)
    if failed:
        click.echo(f"{len(failed)} could not be restored: they are being edited. Run this again.", err=True)
    elif not yes:
        click.echo("Nothing was done yet; add --yes to do it.", err=True)
    else:
        click.echo("Done. The files follow; `mirrord flush` waits for it.", err=True)


def _print_changes(changes: list[Change]) -> None:
    for change in changes[:MAX_PRINTED_CHANGES]:
        click.echo(f"{change.then.kind:<10} {change.then.name_then or change.then.name}: {change.act}")
    if len(changes) > MAX_PRINTED_CHANGES:
        click.echo(f"… and {len(changes) - MAX_PRINTED_CHANGES} more")
    counts = Counter(change.act for change in changes)
    click.echo(", ".join(f"{counts[act]} {act.name.lower()}" for act in Action if counts[act]) or "Nothing differs.")


def _parse_moment(text: str) -> datetime:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError as error:
        raise UserError(f"{text!r} is no moment; write it like `2026-01-31 18:00` or `2026-01-31T18:00Z`.") from error
    return moment.astimezone()
