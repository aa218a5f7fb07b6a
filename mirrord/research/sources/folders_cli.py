"""`mirrord folders`: folders of sources."""

import json
from dataclasses import asdict

import click

from mirrord.cli.options import tenant_option, with_config_options
from mirrord.cli.output import strip_controls
from mirrord.cli.person_session import open_session
from mirrord.commands.core.session import Session
from mirrord.config import Config
from mirrord.research.sources.folder_commands import create_folder, delete_folder, list_folders, rename_folder
from mirrord.research.sources.source_listing import Reference, read_holdings, sources_root


@click.group()
def folders() -> None:
    """Manage the folders of sources. FOLDER is an id, or a path below the directory of sources; `/` means none."""


def folder_reference(session: Session, text: str) -> Reference:
    """The folder that an id or a path on the command line names; other text is refused later."""
    path = text.strip("/")
    if not path:
        return None
    root = sources_root(session)
    matches = [folder for folder in read_holdings(session).folders if folder.path in (path, f"{root}/{path}")]
    return str(matches[0].entry) if matches else text


@folders.command("list")
@with_config_options
@tenant_option
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def list_command(config: Config, tenant: str | None, as_json: bool) -> None:
    """List the folders with their ids."""
    with open_session(config, tenant) as session:
        listed = list_folders(session, limit=None).folders
    if as_json:
        click.echo(json.dumps([asdict(folder) for folder in listed], indent=2))
        return
    for folder in listed:
        click.echo(f"{folder.id:>16}  {strip_controls(folder.path)}")
    if not listed:
        click.echo("No folders.", err=True)


@folders.command("create")
@with_config_options
@tenant_option
@click.argument("name")
@click.option("--in", "parent", default="/", metavar="FOLDER", help="Parent folder; default: the top level.")
def create_command(config: Config, tenant: str | None, name: str, parent: str) -> None:
    """Create the folder NAME."""
    with open_session(config, tenant) as session:
        created = create_folder(session, name, folder_reference(session, parent))
    click.echo(f"{created.folder_id}  {strip_controls(created.path)}")


@folders.command("rename")
@with_config_options
@tenant_option
@click.argument("folder")
@click.argument("name")
def rename_command(config: Config, tenant: str | None, folder: str, name: str) -> None:
    """Rename FOLDER to NAME; links are updated."""
    with open_session(config, tenant) as session:
        renamed = rename_folder(session, folder_reference(session, folder), name)
    click.echo(f"{strip_controls(renamed.old_name)} is called {strip_controls(renamed.name)}.")


@folders.command("delete")
@with_config_options
@tenant_option
@click.argument("folder")
def delete_command(config: Config, tenant: str | None, folder: str) -> None:
    """Delete the empty folder FOLDER."""
    with open_session(config, tenant) as session:
        deleted = delete_folder(session, folder_reference(session, folder))
    click.echo(f"{strip_controls(deleted.name)} is deleted.")
