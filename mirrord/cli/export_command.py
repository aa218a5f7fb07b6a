"""`mirrord export`: write rows as files anywhere."""

import json
from dataclasses import asdict
from pathlib import Path

import click

from mirrord import app
from mirrord.cli.options import EXIT_DIFFERENT, find_tenant, run, tenant_option, with_config_options
from mirrord.cli.output import echo_omissions, progress_bar, strip_controls
from mirrord.config import Config
from mirrord.domain.long_work import Progress
from mirrord.operations.tenant_export import ExportOutcome
from mirrord.operations.tenant_export import export_tenant as export_rows


@click.command()
@with_config_options
@tenant_option
@click.argument("directory", metavar="DIR", type=click.Path(path_type=Path))
@click.option("--force", is_flag=True, help="Allow a directory with other files; these are not changed.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def export(config: Config, tenant: str | None, directory: Path, force: bool, as_json: bool) -> int:
    """
    Export the rows of a tenant as files to DIR.

    Writes pages, attachments and records in the form of a mirror. Needs only Postgres. A second run with the same DIR
    resumes the export, or adds later changes. Files of other origin are never replaced. Exit code 1: such a file is in
    the way, or an entry cannot be exported.
    """
    root = Path.cwd() / directory

    async def work(report: Progress) -> ExportOutcome:
        async with app.open_database(config) as database:
            name, tenant_id = await find_tenant(database, config, tenant)
            return await export_rows(database, name, tenant_id, root, report, force=force)

    with progress_bar("Exporting") as report:
        exported = run(work(report))
    if as_json:
        facts = {key: value for key, value in asdict(exported.manifest).items() if key != "folders"}
        click.echo(json.dumps(facts | {"directory": str(root)} | asdict(exported.tally), indent=2))
    else:
        _print_result(root, exported)
    return EXIT_DIFFERENT if exported.tally.left else 0


def _print_result(root: Path, exported: ExportOutcome) -> None:
    facts, tally = exported.manifest, exported.tally
    counts = ", ".join(f"{count} {kind}{'s' if count != 1 else ''}" for kind, count in sorted(facts.counts.items()))
    click.echo(f"{facts.tenant} at {facts.begun}: {counts or 'nothing'} in {strip_controls(str(root))}.")
    click.echo(f"{tally.written} files written, {tally.same} were there already, {tally.removed} removed.")
    echo_omissions(tally.left, "stay as they are")
