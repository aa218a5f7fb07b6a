"""`mirrord folders`: the directories of sources."""

import json
from dataclasses import asdict

import click

from mirrord.cli.options import configured, tenant_option
from mirrord.cli.output import harmless
from mirrord.cli.sessions import session_of
from mirrord.commands.folders import create_folder, delete_folder, list_folders, rename_folder
from mirrord.commands.holdings import Reference, holdings, top
from mirrord.commands.session import Session
from mirrord.config import Config


@click.group()
def folders() -> None:
    """Manage the folders of sources. FOLDER is an id, or a path below the directory of sources; `/` means none."""


def meant(session: Session, text: str) -> Reference:
    """The folder that an id or a path on the command line names; other text is refused later."""
    path = text.strip("/")
    if not path:
        return None
    root = top(session)
    matches = [folder for folder in holdings(session).folders if folder.path in (path, f"{root}/{path}")]
    return str(matches[0].entry) if matches else text


@folders.command("list")
@configured
@tenant_option
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def list_command(config: Config, tenant: str | None, as_json: bool) -> None:
    """List the folders with their ids."""
    with session_of(config, tenant) as session:
        listed = list_folders(session, most=None).folders
    if as_json:
        click.echo(json.dumps([asdict(folder) for folder in listed], indent=2))
        return
    for folder in listed:
        click.echo(f"{folder.id:>16}  {harmless(folder.path)}")
    if not listed:
        click.echo("No folders.", err=True)


@folders.command("create")
@configured
@tenant_option
@click.argument("name")
@click.option("--in", "parent", default="/", metavar="FOLDER", help="Parent folder; default: the top level.")
def create_command(config: Config, tenant: str | None, name: str, parent: str) -> None:
    """Create the folder NAME."""
    with session_of(config, tenant) as session:
        created = create_folder(session, name, meant(session, parent))
    click.echo(f"{created.folder_id}  {harmless(created.path)}")


@folders.command("rename")
@configured
@tenant_option
@click.argument("folder")
@click.argument("name")
def rename_command(config: Config, tenant: str | None, folder: str, name: str) -> None:
    """Rename FOLDER to NAME; links are updated."""
    with session_of(config, tenant) as session:
        renamed = rename_folder(session, meant(session, folder), name)
    click.echo(f"{harmless(renamed.old_name)} is called {harmless(renamed.name)}.")


@folders.command("delete")
@configured
@tenant_option
@click.argument("folder")
def delete_command(config: Config, tenant: str | None, folder: str) -> None:
    """Delete the empty folder FOLDER."""
    with session_of(config, tenant) as session:
        deleted = delete_folder(session, meant(session, folder))
    click.echo(f"{harmless(deleted.name)} is deleted.")
