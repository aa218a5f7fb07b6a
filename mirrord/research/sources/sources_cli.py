"""`mirrord sources`: sources, by the commands that agents have."""

import json
import sys
from dataclasses import asdict

import click

from mirrord.cli.options import tenant_option, with_config_options
from mirrord.cli.output import strip_controls
from mirrord.cli.person_session import open_session
from mirrord.commands.core.session import Session
from mirrord.config import Config
from mirrord.research.sources import folders_cli, imports_cli
from mirrord.research.sources.source_commands import get_source_text, list_sources, move_source_to_folder, rename_source
from mirrord.research.sources.source_deletion import delete_source
from mirrord.research.sources.source_kinds import SourceType
from mirrord.research.sources.source_listing import Reference, read_holdings
from mirrord.research.speakers.speaker_commands import detect_speakers
from mirrord.research.speakers.speaker_labels import Format


@click.group()
def sources() -> None:
    """
    Manage imported texts, their speakers and surveys.

    SOURCE is an id, a name, or the path of its page; FOLDER is an id or a path, `/` means none.
    """


sources.add_command(imports_cli.import_command)
sources.add_command(imports_cli.survey_command)


def source_reference(session: Session, text: str) -> Reference:
    """The source that a word of the command line names; other text is refused later."""
    holdings_ = read_holdings(session)
    matches = [
        source for source in holdings_.sources if text in (source.path, source.path.removesuffix(".md"))
    ] or holdings_.sources_named(text)
    return str(matches[0].entry) if len(matches) == 1 else text


@sources.command("list")
@with_config_options
@tenant_option
@click.option(
    "--type", "kind", type=click.Choice([source.value for source in SourceType]), help="List only sources of this type."
)
@click.option("--folder", help="List only sources directly in this folder.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def list_command(config: Config, tenant: str | None, kind: str | None, folder: str | None, as_json: bool) -> None:
    """List sources with their ids and numbers of segments."""
    with open_session(config, tenant) as session:
        folder_reference = (folders_cli.folder_reference(session, folder) or 0) if folder is not None else None
        listed = list_sources(session, kind, folder_reference, limit=None).sources
    if as_json:
        click.echo(json.dumps([asdict(source) for source in listed], indent=2))
        return
    for source in listed:
        count = "?" if source.segments_count is None else source.segments_count
        click.echo(f"{source.id:>16}  {source.type:<7} {count:>5} segments  {strip_controls(source.path)}")
    if not listed:
        click.echo("No sources.", err=True)


@sources.command("text")
@with_config_options
@tenant_option
@click.argument("source")
@click.option("--start", type=click.IntRange(min=0), default=0, show_default=True, help="Characters to skip.")
@click.option("--length", type=click.IntRange(min=1), help="Maximum number of characters; default: all.")
def text_command(config: Config, tenant: str | None, source: str, start: int, length: int | None) -> None:
    """Print the text of SOURCE."""
    with open_session(config, tenant) as session:
        part = get_source_text(session, source_reference(session, source), start, length or sys.maxsize)
    click.echo(strip_controls(part.content) if sys.stdout.isatty() else part.content, nl=False)


@sources.command("rename")
@with_config_options
@tenant_option
@click.argument("source")
@click.argument("name")
def rename_command(config: Config, tenant: str | None, source: str, name: str) -> None:
    """Rename SOURCE to NAME; links are updated."""
    with open_session(config, tenant) as session:
        renamed = rename_source(session, source_reference(session, source), name)
    old_name, new_name, path = map(strip_controls, (renamed.old_name, renamed.new_name, renamed.path))
    click.echo(f"{old_name} is called {new_name}: {path}")


@sources.command("move")
@with_config_options
@tenant_option
@click.argument("source")
@click.argument("folder")
def move_command(config: Config, tenant: str | None, source: str, folder: str) -> None:
    """Move SOURCE into FOLDER. `/` is the top level; links are updated."""
    with open_session(config, tenant) as session:
        moved = move_source_to_folder(
            session, source_reference(session, source), folders_cli.folder_reference(session, folder)
        )
    click.echo(strip_controls(moved.path))


@sources.command("delete")
@with_config_options
@tenant_option
@click.argument("source")
def delete_command(config: Config, tenant: str | None, source: str) -> None:
    """Move SOURCE to the trash. Its segments and the files that only it uses go there too."""
    with open_session(config, tenant) as session:
        deleted = delete_source(session, source_reference(session, source))
    click.echo(f"In the trash, with {deleted.deleted_segments_count} segments, as {deleted.trash_id}.")
    for warning in deleted.warnings:
        click.echo(strip_controls(warning), err=True)


@sources.command("speakers")
@with_config_options
@tenant_option
@click.argument("source")
@click.option("--format", type=click.Choice([form.value for form in Format]), default="auto", show_default=True)
@click.option("--dry-run", is_flag=True, help="Print the speakers without marking turns.")
def speakers_command(config: Config, tenant: str | None, source: str, format: str, dry_run: bool) -> None:
    """Detect the speakers in SOURCE, and mark every turn as a segment."""
    with open_session(config, tenant) as session:
        reference = source_reference(session, source)
        if dry_run:
            preview = detect_speakers.preview(session, reference, format)
            click.echo("\n".join(map(strip_controls, [preview.summary, *preview.lines])))
            return
        detected = detect_speakers(session, reference, format)
    for name, number in detected.occurrences.items():
        click.echo(f"{number:>5}  {strip_controls(name)}")
    click.echo(
        f"{detected.segments_count} turns are marked." if detected.count else "No speakers were found.", err=True
    )
