"""`mirrord sources import` and `mirrord sources survey`."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path

import click

from mirrord.cli.options import as_options, tenant_option, with_config_options
from mirrord.cli.output import progress_bar, strip_controls
from mirrord.cli.person_session import open_session
from mirrord.commands.core.failure import Failed
from mirrord.config import Config
from mirrord.errors import UserError
from mirrord.research.sources import folders_cli
from mirrord.research.sources.file_imports import import_file
from mirrord.research.surveys.delimited_text import DELIMITERS
from mirrord.research.surveys.survey_columns import Target, ValueType
from mirrord.research.surveys.survey_import import import_survey
from mirrord.research.surveys.survey_sources import Collation
from mirrord.research.surveys.survey_table import TableFormat

_COLLATION = click.Choice([collation.value for collation in Collation])
_TAB_ESCAPE = "\\t"  # as typed in a shell
_FILE_TYPE = click.Path(exists=True, dir_okay=False, path_type=Path)


@dataclass(frozen=True, slots=True)
class _ImportOptions:
    """What `mirrord sources import` takes. folder: of the new sources. link: the files are not copied."""

    tenant: str | None
    files: tuple[Path, ...]
    folder: str | None
    name: str | None
    link: bool
    as_json: bool


@click.command("import")
@with_config_options
@tenant_option
@click.argument("files", nargs=-1, required=True, type=_FILE_TYPE)
@click.option("--folder", help="Folder of the new sources; default: none.")
@click.option("--name", help="Name of the source (for one file); default: the name of the file.")
@click.option("--link", is_flag=True, help="Link to the files instead of copying them.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@as_options(_ImportOptions)
def import_command(config: Config, options: _ImportOptions) -> None:
    """Import FILES as sources. Types: text, Markdown, docx, odt, rtf, epub, html, pdf, recordings, images."""
    files, folder, name = options.files, options.folder, options.name
    if name is not None and len(files) > 1:
        raise UserError("--name is for one file.")
    imported, failed = [], []
    with open_session(config, options.tenant) as session, progress_bar("Importing", len(files)) as report:
        inside = folders_cli.folder_reference(session, folder) if folder is not None else None
        for number, file in enumerate(files, 1):
            try:
                imported.append(import_file(session, str(file.absolute()), not options.link, inside, name))
            except Failed as error:
                failed.append(error)
            report(number, len(files))
    if options.as_json:
        click.echo(json.dumps([asdict(source) for source in imported], indent=2))
    for source in imported if not options.as_json else ():
        click.echo(f"{source.source_id:>16}  {strip_controls(source.path)}")
        for warning in source.warnings:
            click.echo(f"{'':>18}{strip_controls(warning)}", err=True)
    for failure in failed[1:]:
        click.echo(strip_controls(f"{failure} {failure.instruction}"), err=True)
    if failed:
        raise failed[0]


@dataclass(frozen=True, slots=True)
class _SurveyOptions:
    """What `mirrord sources survey` takes. table: the file. maps: the meanings of columns, as typed."""

    tenant: str | None
    table: Path
    maps: tuple[str, ...]
    delimiter: str
    no_header: bool
    collation: str
    dry_run: bool


@click.command("survey")
@with_config_options
@tenant_option
@click.argument("table", type=_FILE_TYPE, metavar="FILE")
@click.option(
    "--map",
    "maps",
    multiple=True,
    metavar="COLUMN=TARGET[:TYPE[:NAME]]",
    help="Meaning of a column; repeat for several.",
)
@click.option(
    "--delimiter",
    type=click.Choice(["auto", *DELIMITERS, *DELIMITERS.values(), _TAB_ESCAPE]),
    default="auto",
    show_default=True,
    metavar="auto|comma|tab|semicolon|pipe|SIGN",
)
@click.option("--no-header", is_flag=True, help="Treat the first row as data.")
@click.option(
    "--collation", type=click.Choice([mapping.value for mapping in Collation]), default="per_column", show_default=True
)
@click.option("--dry-run", is_flag=True, help="Check all rows and show the first ones, without importing.")
@as_options(_SurveyOptions)
def survey_command(config: Config, options: _SurveyOptions) -> None:
    """
    Import a table of text as cases and sources.

    Imports all rows of FILE or none.

    COLUMN is a header or a number (0 is the first); TARGET is source_text, case_attribute, identifier or skip; TYPE, of
    an attribute, is text, number, date or boolean.
    """
    mappings = [_parse_mapping(mapping) for mapping in options.maps]
    delimiter = "tab" if options.delimiter == _TAB_ESCAPE else options.delimiter
    table_format = TableFormat(delimiter, not options.no_header, mappings)
    with open_session(config, options.tenant) as session:
        path = str(options.table.absolute())
        if options.dry_run:
            preview = import_survey.preview(session, path, table_format, options.collation)
            click.echo("\n".join(map(strip_controls, [preview.summary, *preview.lines])))
            return
        with progress_bar("Importing") as report:
            imported = import_survey(session, path, table_format, options.collation, progress=report)
    click.echo(
        f"{imported.rows_processed} rows: {imported.sources_created} sources in {strip_controls(imported.path)}",
        nl=False,
    )
    click.echo(
        f", {imported.cases_created} cases in {strip_controls(imported.cases_path)}." if imported.cases_path else "."
    )
    for warning in imported.warnings:
        click.echo(warning, err=True)


def _parse_mapping(text: str) -> dict[str, object]:
    column, sign, meaning = text.rpartition("=")
    target, _, type_and_name = meaning.partition(":")
    kind, _, name = type_and_name.partition(":")
    if not sign or target not in list(Target) or (kind and kind not in list(ValueType)):
        raise UserError(f"--map {text!r} is not COLUMN=TARGET[:TYPE[:NAME]], such as Age=case_attribute:number.")
    return {"column": column, "target": target, "attribute_type": kind or None, "attribute_name": name or None}
