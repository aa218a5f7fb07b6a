"""`mirrord bind`: the tables of an app with rows that are pages."""

import json
from collections.abc import Awaitable, Callable
from dataclasses import asdict
from pathlib import Path
from typing import TypeVar

import click

from mirrord import app
from mirrord.binding import check_report, lifecycle
from mirrord.binding.check_report import CheckReport
from mirrord.binding.mappings.mapping_file import parse_mapping
from mirrord.cli.options import find_tenant, run, tenant_option, with_config_options
from mirrord.cli.output import strip_controls
from mirrord.cli.tenant_database import run_in_transaction
from mirrord.config import Config
from mirrord.db.bindings import binding_rows
from mirrord.db.bindings.binding_rows import BindingRow, BindingStatus
from mirrord.db.database import Connection, Database, admin_connection
from mirrord.domain.entry import TenantId
from mirrord.errors import UserError

T = TypeVar("T")
MAX_LISTED = 20  # rows of each kind that `check` shows; --json lists all
_json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
_file_argument = click.argument(
    "mapping_file", metavar="FILE", type=click.Path(path_type=Path, exists=True, dir_okay=False)
)


@click.group()
def bind() -> None:
    """Let the rows of an app's own tables be pages. docs/binding.md says how."""


def _run_as_operator(
    config: Config, tenant: str | None, work: Callable[[Connection, str, TenantId], Awaitable[T]]
) -> T:
    """The result of *work* with the rights of the DSN, or of the embedded server's administrator."""

    async def open_and_work() -> T:
        async with app.running_postgres(config) as postgres:
            await app.bring_up_to_date(postgres)
            async with Database(postgres.working_dsn, size=1) as database:
                name, tenant_id = await find_tenant(database, config, tenant)
            async with admin_connection(postgres.dsn) as connection:
                return await work(connection, name, tenant_id)

    return run(open_and_work())


def _read_file(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"{file} cannot be read: {error}") from error


@bind.command()
@with_config_options
@tenant_option
@_file_argument
@_json_option
def check(config: Config, tenant: str | None, mapping_file: Path, as_json: bool) -> None:
    """Print what the mapping in FILE would install, and try it on all rows. Nothing is written."""
    mapping = parse_mapping(_read_file(mapping_file))

    async def work(connection: Connection, name: str, tenant_id: TenantId) -> CheckReport:
        return await check_report.check_binding(connection, mapping, name, tenant_id)

    report = _run_as_operator(config, tenant, work)
    if as_json:
        click.echo(json.dumps(report.facts, indent=2))
    else:
        _print_report(report)
    if report.failures:
        click.get_current_context().exit(1)


def _print_report(report: CheckReport) -> None:
    for statement in report.statements:
        click.echo(f"{statement};\n")
    click.echo("1 row would be a page." if report.pages == 1 else f"{report.pages} rows would be pages.")
    if report.files is not None:
        one_file = "1 file would be an attachment."
        click.echo(one_file if report.files == 1 else f"{report.files} files would be attachments.")
    _print_some("are not carried over", [f"{title}: {reason}" for title, reason in report.failures])
    _print_some("share a name in their place, so that one gets a number", [", ".join(same) for same in report.clashes])
    _print_some("have a parent that is not there, and come to the top", report.orphans)
    _print_some("are below themselves, and come to the top", report.cyclic)
    for table, columns in report.written.items():
        click.echo(f"Written in {table}: {', '.join(columns)}.")
    for table, columns in report.created.items():
        click.echo(f"Set in new rows of {table}: {', '.join(columns)}.")
    for warning in report.warnings:
        click.echo(warning)


def _print_some(ending: str, lines: list[str]) -> None:
    if lines:
        click.echo(f"{len(lines)} {ending}:")
        for line in lines[:MAX_LISTED]:
            click.echo(f"  {strip_controls(line)}")
        if len(lines) > MAX_LISTED:
            click.echo(f"  and {len(lines) - MAX_LISTED} more; --json lists them all")


@bind.command()
@with_config_options
@tenant_option
@_file_argument
def add(config: Config, tenant: str | None, mapping_file: Path) -> None:
    """Install the binding that FILE describes. Its rows become pages of the tenant when the daemon runs."""
    mapping = parse_mapping(_read_file(mapping_file))

    async def work(connection: Connection, name: str, tenant_id: TenantId) -> str:
        await lifecycle.add_binding(connection, mapping, name, tenant_id)
        return name

    name = _run_as_operator(config, tenant, work)
    click.echo(f"The rows of {mapping.page.table} are bound to {name} as {mapping.name}.")


@bind.command("list")
@with_config_options
@tenant_option
@_json_option
def list_command(config: Config, tenant: str | None, as_json: bool) -> None:
    """List the bindings of a tenant."""
    bindings = run_in_transaction(config, tenant, binding_rows.list_bindings)
    if as_json:
        rows = [{"name": row.name, "state": row.state, "sentence": row.sentence} for row in bindings]
        click.echo(json.dumps(rows, indent=2))
        return
    for row in bindings:
        click.echo(f"{row.name}  {row.state}{f'  {row.sentence}' if row.sentence else ''}")


@bind.command()
@with_config_options
@tenant_option
@click.argument("name")
@_json_option
def status(config: Config, tenant: str | None, name: str, as_json: bool) -> None:
    """Show how the binding NAME stands."""

    async def work(connection: Connection, tenant_id: TenantId) -> tuple[BindingRow, BindingStatus]:
        row = await lifecycle.find_binding(connection, tenant_id, name)
        return row, await binding_rows.load_status(connection, row)

    row, standing = run_in_transaction(config, tenant, work)
    if as_json:
        problems = [{"path": path, "sentence": sentence} for path, sentence in standing.problems]
        facts = {**asdict(standing), "problems": problems}
        click.echo(json.dumps({"name": row.name, "state": row.state, "sentence": row.sentence, **facts}, indent=2))
        return
    click.echo(f"{row.name} is {row.state}: {standing.pages} pages, {standing.queued} changes of the app wait.")
    if row.sentence:
        click.echo(row.sentence)
    for path, sentence in standing.problems:
        click.echo(strip_controls(f"{path}: {sentence}"))


@bind.command()
@with_config_options
@tenant_option
@click.argument("name")
def pause(config: Config, tenant: str | None, name: str) -> None:
    """Let pages stay as they are until `bind resume`; changes of the app wait."""

    async def work(connection: Connection, tenant_id: TenantId) -> None:
        row = await lifecycle.find_binding(connection, tenant_id, name)
        await binding_rows.pause_binding(connection, tenant_id, row.id)

    run_in_transaction(config, tenant, work)
    click.echo(f"{name} is paused.")


@bind.command()
@with_config_options
@tenant_option
@click.argument("name")
@click.option("--deletions", is_flag=True, help="All rows that are gone from the app are meant to be gone.")
def resume(config: Config, tenant: str | None, name: str, deletions: bool) -> None:
    """Let a paused or halted binding run again. All rows are compared first."""

    async def work(connection: Connection, _: str, tenant_id: TenantId) -> None:
        row = await lifecycle.load_as_daemon(connection, tenant_id, name)
        await lifecycle.resume_binding(connection, row, is_loss_meant=deletions)

    _run_as_operator(config, tenant, work)
    click.echo(f"{name} runs again.")


@bind.command()
@with_config_options
@tenant_option
@click.argument("name")
def drop(config: Config, tenant: str | None, name: str) -> None:
    """Remove the binding NAME from the database. The app is as it was before; the pages stay."""

    async def work(connection: Connection, _: str, tenant_id: TenantId) -> None:
        await lifecycle.drop_binding(connection, await lifecycle.load_as_daemon(connection, tenant_id, name))

    _run_as_operator(config, tenant, work)
    click.echo(f"{name} is dropped. Its pages stay.")
