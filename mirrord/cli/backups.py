"""`mirrord backup`: create, list, verify and restore backups of tenants with their history."""

import json
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from mirrord import app
from mirrord.cli.options import DIFFERENT, configured, run, tenant_option, the_tenant
from mirrord.cli.output import harmless
from mirrord.cli.progress import bar
from mirrord.config import Config
from mirrord.db import tenants
from mirrord.db.backups import tenant_of
from mirrord.db.connect import Database
from mirrord.domain.backup import Manifest
from mirrord.domain.entry import TenantId, new_id
from mirrord.errors import Damaged, Refused, UserError
from mirrord.mirror.backups import Backups, Listed
from mirrord.mirror.tree import Tree
from mirrord.sync.backup import Made, prune
from mirrord.sync.backup import create as make
from mirrord.sync.backup_check import Checked, Reader
from mirrord.sync.backup_restore import Places, Restored
from mirrord.sync.backup_restore import restore as bring_back

_DIRECTORY = click.argument("directory", metavar="DIR", type=click.Path(file_okay=False, path_type=Path))
_SHOWN = 20  # files, for people


@dataclass(frozen=True, slots=True)
class _Done:
    """A new backup and the old ones removed for it. obstacle: why old objects stay; None: they were removed."""

    made: Made
    gone: Sequence[Listed]
    obstacle: str | None


@click.group()
def backup() -> None:
    """Create, list, verify and restore backups of tenants."""


@backup.command()
@configured
@tenant_option
@_DIRECTORY
@click.option("--keep", type=click.IntRange(1), help="Remove all but the newest N backups of each tenant.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def create(config: Config, tenant: str | None, directory: Path, keep: int | None, as_json: bool) -> int:
    """
    Back up every tenant, or one, to DIR. Objects of earlier backups are not stored again.

    Exit code 1: some files of the mirror could not be read, or old objects not removed; the backup has the rest.
    """
    backups = Backups(directory.absolute())

    if backups.directory.is_relative_to(config.mirror):
        raise UserError(f"{directory} is below {config.mirror}, so a backup would hold itself. Name one elsewhere.")

    async def work() -> list[_Done]:
        with backups.writing():
            async with app.opened(config) as database:
                return [
                    await _create(database, backups, config, name, one, keep)
                    for name, one in (await _chosen(database, config, tenant)).items()
                ]

    found = run(work())
    if as_json:
        click.echo(json.dumps([_facts_made(one) for one in found], indent=2))
    else:
        for one in found:
            _tell_made(one)
    return DIFFERENT if any(one.made.manifest.unread or one.obstacle for one in found) else 0


@backup.command("list")
@_DIRECTORY
@click.option("--tenant", help="Only those of this tenant.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def list_backups(directory: Path, tenant: str | None, as_json: bool) -> None:
    """List the backups in DIR, the oldest of each tenant first."""
    backups = Backups(directory.absolute())
    with backups.reading():
        found = backups.listed(tenant)
    if as_json:
        click.echo(json.dumps([_facts(one) for one in found], indent=2))
        return
    for one in found:
        click.echo(f"{one.number:>6}  {one.tenant:<20} {_content_line(one.manifest)}")


@backup.command()
@_DIRECTORY
@click.option("--tenant", help="Only those of this tenant.")
@click.option("--number", type=int, help="Verify only the backup of this number.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def verify(directory: Path, tenant: str | None, number: int | None, as_json: bool) -> int:
    """Read all objects of the backups in DIR. Exit code 1 if an object is damaged or missing."""
    backups = Backups(directory.absolute())
    with backups.reading(), bar("Reading") as progress:
        chosen = [one for one in backups.listed(tenant) if number in (None, one.number)]
        reader = Reader(backups)
        found = [reader.check(one, progress) for one in chosen]
    if not found:
        raise UserError(f"There is no such backup in {directory}; `mirrord backup list {directory}` shows all.")
    if as_json:
        click.echo(json.dumps([_facts(one.backup) | {"damages": one.damages} for one in found], indent=2))
    else:
        _tell_checked(found)
    return DIFFERENT if any(one.damages for one in found) else 0


@backup.command()
@configured
@_DIRECTORY
@click.option("--tenant", help="Tenant to restore; required if DIR holds backups of several.")
@click.option("--number", type=int, help="Number of the backup; default: the newest.")
@click.option("--as", "name", help="Restore as a new tenant of this name, with a new id.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def restore(
    config: Config, directory: Path, tenant: str | None, number: int | None, name: str | None, as_json: bool
) -> None:
    """
    Restore a tenant with its history from DIR.

    The database must not contain it. The next `mirrord up` writes its tree. Nothing is restored if any object of the
    backup is damaged.
    """
    backups = Backups(directory.absolute())

    async def work() -> tuple[Manifest, Restored]:
        with backups.reading():
            manifest = _whole(backups, _one(backups, directory, tenant, number))
            async with app.opened(config) as database:
                return manifest, await _restore(database, backups, config, manifest, name)

    manifest, done = run(work())
    if as_json:
        facts = {"tenant": name or manifest.tenant, "number": manifest.number, "rows": done.rows}
        click.echo(json.dumps(facts | {"files": done.files, "into": str(done.into) if done.into else None}, indent=2))
    else:
        _tell_restored(manifest, name or manifest.tenant, done)


async def _chosen(database: Database, config: Config, tenant: str | None) -> dict[str, TenantId]:
    named = (tenant,) if tenant is not None else config.tenants
    if named:
        return dict([await the_tenant(database, config, name) for name in named])
    known = await tenants.names(database)
    if not known:
        raise UserError("There is no tenant yet, so there is nothing to keep.")
    return known


async def _create(
    database: Database, backups: Backups, config: Config, name: str, tenant: TenantId, keep: int | None
) -> _Done:
    root = config.mirror / name
    with ExitStack() as opened:
        tree = Tree(root) if root.is_dir() else None
        if tree is not None:
            opened.callback(tree.close)
        made = await make(database, backups, tenant, tree, opened.enter_context(bar(f"Keeping {name}")))
    try:
        return _Done(made, prune(backups, made.manifest.tenant, keep) if keep is not None else [], None)
    except Damaged as error:
        return _Done(made, [], f"{error} So no old objects were removed; `mirrord backup verify` tells more.")


def _one(backups: Backups, directory: Path, tenant: str | None, number: int | None) -> Listed:
    """The newest matching backup. Raises UserError if none matches, or backups of several tenants do."""
    found = [one for one in backups.listed(tenant) if number in (None, one.number)]
    names = sorted({one.tenant for one in found})
    if not found:
        raise UserError(f"There is no such backup in {directory}; `mirrord backup list {directory}` shows all.")
    if len(names) > 1:
        raise UserError(f"Which tenant? Add --tenant with one of {', '.join(names)}.")
    return found[-1]


def _whole(backups: Backups, chosen: Listed) -> Manifest:
    with bar("Reading") as progress:
        checked = Reader(backups).check(chosen, progress)
    if checked.damages or chosen.manifest is None:
        raise Refused(
            f"Backup {chosen.number} of {chosen.tenant} is damaged, so nothing was restored: "
            f"{' '.join(checked.damages)} An earlier one may be whole: `mirrord backup verify` tells, "
            "and --number chooses it."
        )
    return chosen.manifest


async def _restore(
    database: Database, backups: Backups, config: Config, manifest: Manifest, name: str | None
) -> Restored:
    tenant = tenant_of(manifest.tenant_id)
    if name is not None:
        tenant = (await tenants.names(database)).get(name, TenantId(new_id()))
    name = tenants.checked(name or manifest.tenant)
    app.make_directory(config.mirror)
    beside = config.mirror / f"{name}.from-backup-{manifest.number}"
    places = Places(config.mirror / name, beside, config.mode)
    with bar(f"Restoring {name}") as progress:
        return await bring_back(database, backups, manifest, tenant, name, places, progress)


def _facts(one: Listed) -> dict[str, Any]:
    facts: dict[str, Any] = {"tenant": one.tenant, "number": one.number, "path": str(one.path)}
    if one.manifest is None:
        return facts | {"is_readable": False}
    return facts | {"is_readable": True} | _facts_of(one.manifest)


def _facts_of(manifest: Manifest) -> dict[str, Any]:
    return {
        "tenant_id": manifest.tenant_id,
        "made_at": manifest.made_at,
        "schema": manifest.schema,
        "rows": {name: table.rows for name, table in manifest.tables.items()},
        "files": manifest.files.rows,
        "unread": manifest.unread,
    }


def _facts_made(done: _Done) -> dict[str, Any]:
    manifest, made = done.made.manifest, done.made
    about = {"tenant": manifest.tenant, "number": manifest.number} | _facts_of(manifest)
    about |= {"added": made.added, "added_bytes": made.added_bytes, "removed": [one.number for one in done.gone]}
    return about | {"obstacle": done.obstacle}


def _content_line(manifest: Manifest | None) -> str:
    if manifest is None:
        return "its list is damaged; `mirrord backup verify` tells more"
    return f"{manifest.made_at[:19]} UTC  {_counts(manifest)}"


def _counts(manifest: Manifest) -> str:
    pages, versions = manifest.tables["page"].rows, manifest.tables["page_revision"].rows
    return f"{pages} pages, {versions} versions, {manifest.files.rows} files that no row has"


def _tell_made(done: _Done) -> None:
    manifest, made = done.made.manifest, done.made
    megabytes = made.added_bytes / 1e6
    click.echo(f"{manifest.tenant}: backup {manifest.number}, {_counts(manifest)}", nl=False)
    click.echo(f"; {made.added} new objects, {megabytes:.1f} MB.")
    if done.gone:
        click.echo(f"{manifest.tenant}: {len(done.gone)} older let go.")
    if done.obstacle:
        click.echo(done.obstacle, err=True)
    for path in manifest.unread[:_SHOWN]:
        click.echo(f"{manifest.tenant}/{harmless(path)} cannot be read, and is not in the backup.", err=True)
    if len(manifest.unread) > _SHOWN:
        click.echo(f"… and {len(manifest.unread) - _SHOWN} more.", err=True)


def _tell_checked(found: Sequence[Checked]) -> None:
    for one in found:
        verdict = "damaged" if one.damages else "whole"
        click.echo(f"{verdict:<8} {one.backup.number:>6}  {one.backup.tenant}")
        for damage in one.damages:
            click.echo(f"         {damage}")
    if any(one.damages for one in found):
        click.echo("Remove damaged objects: the next `mirrord backup create` stores what it finds again.")


def _tell_restored(manifest: Manifest, name: str, done: Restored) -> None:
    click.echo(f"{name} is what it was at {manifest.made_at[:19]} UTC: {done.rows} rows.")
    if done.into is not None:
        click.echo(f"{len(done.files)} files whose bytes no row had are in {done.into}:")
        click.echo("\n".join(f"  {harmless(path)}" for path in done.files[:_SHOWN]))
        if len(done.files) > _SHOWN:
            click.echo(f"  … and {len(done.files) - _SHOWN} more")
    click.echo("The next start of the daemon writes its tree.")
