"""`mirrord backup`: back up tenants, verify and restore them."""

import json
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from mirrord import app
from mirrord.cli.options import EXIT_DIFFERENT, find_tenant, run, tenant_option, with_config_options
from mirrord.cli.output import progress_bar, strip_controls
from mirrord.config import Config
from mirrord.db import tenant_rows
from mirrord.db.database import Database
from mirrord.db.snapshot_rows import parse_tenant_id
from mirrord.domain.backup_format import Manifest
from mirrord.domain.entry import TenantId, new_id
from mirrord.errors import Damaged, Refused, UserError
from mirrord.mirror.backup.backup_directory import Backups, StoredBackup
from mirrord.mirror.tree.tenant_tree import Tree
from mirrord.operations.tenant_backup import (
    BackupChecker,
    CheckedBackup,
    NewBackup,
    RestoredBackup,
    RestoreTarget,
    prune_backups,
)
from mirrord.operations.tenant_backup import create_backup as make
from mirrord.operations.tenant_backup import restore_backup as bring_back

_DIRECTORY = click.argument("directory", metavar="DIR", type=click.Path(file_okay=False, path_type=Path))
_MAX_PRINTED_FILES = 20  # files, for people


@dataclass(frozen=True, slots=True)
class _CreatedBackup:
    """A new backup and the old ones removed for it. obstacle: why old objects stay; None: they were removed."""

    new_backup: NewBackup
    removed: Sequence[StoredBackup]
    obstacle: str | None


@click.group()
def backup() -> None:
    """Create, list, verify and restore backups of tenants."""


@backup.command()
@with_config_options
@tenant_option
@_DIRECTORY
@click.option("--keep", type=click.IntRange(1), help="Remove all but the newest N backups of each tenant.")
@click.option("--wait", type=click.FloatRange(0), default=0.0, help="Seconds to wait while another backup goes on.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def create(config: Config, tenant: str | None, directory: Path, keep: int | None, wait: float, as_json: bool) -> int:
    """
    Back up every tenant, or one, to DIR. Objects of earlier backups are not stored again.

    Exit code 1: some files of the mirror could not be read, or old objects not removed; the backup has the rest.
    """
    backups = Backups(directory.absolute())

    if backups.directory.is_relative_to(config.mirror):
        raise UserError(f"{directory} is below {config.mirror}, so a backup would hold itself. Name one elsewhere.")

    async def work() -> list[_CreatedBackup]:
        with backups.open_for_writing(wait):
            async with app.open_database(config) as database:
                return [
                    await _create_backup(database, backups, config, name, backup_, keep)
                    for name, backup_ in (await _chosen_tenants(database, config, tenant)).items()
                ]

    created = run(work())
    if as_json:
        click.echo(json.dumps([_created_facts(backup_) for backup_ in created], indent=2))
    else:
        for backup_ in created:
            _print_created(backup_)
    return EXIT_DIFFERENT if any(backup_.new_backup.manifest.unread or backup_.obstacle for backup_ in created) else 0


@backup.command("list")
@_DIRECTORY
@click.option("--tenant", help="Only those of this tenant.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def list_backups(directory: Path, tenant: str | None, as_json: bool) -> None:
    """List the backups in DIR, the oldest of each tenant first."""
    backups = Backups(directory.absolute())
    with backups.open_for_reading():
        listed = backups.list_backups(tenant)
    if as_json:
        click.echo(json.dumps([_backup_facts(backup_) for backup_ in listed], indent=2))
        return
    for backup_ in listed:
        click.echo(f"{backup_.number:>6}  {backup_.tenant:<20} {_format_content(backup_.manifest)}")


@backup.command()
@_DIRECTORY
@click.option("--tenant", help="Only those of this tenant.")
@click.option("--number", type=int, help="Verify only the backup of this number.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def verify(directory: Path, tenant: str | None, number: int | None, as_json: bool) -> int:
    """Read all objects of the backups in DIR. Exit code 1 if an object is damaged or missing."""
    backups = Backups(directory.absolute())
    with backups.open_for_reading(), progress_bar("Reading") as progress:
        chosen = [backup_ for backup_ in backups.list_backups(tenant) if number in (None, backup_.number)]
        reader = BackupChecker(backups)
        checked = [reader.check(backup_, progress) for backup_ in chosen]
    if not checked:
        raise UserError(f"There is no such backup in {directory}; `mirrord backup list {directory}` shows all.")
    if as_json:
        click.echo(
            json.dumps([_backup_facts(backup_.backup) | {"damages": backup_.damages} for backup_ in checked], indent=2)
        )
    else:
        _print_checked(checked)
    return EXIT_DIFFERENT if any(backup_.damages for backup_ in checked) else 0


@backup.command()
@with_config_options
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

    async def work() -> tuple[Manifest, RestoredBackup]:
        with backups.open_for_reading():
            manifest = _verified_manifest(backups, _find_backup(backups, directory, tenant, number))
            async with app.open_database(config) as database:
                return manifest, await _restore_tenant(database, backups, config, manifest, name)

    manifest, restored = run(work())
    if as_json:
        facts = {"tenant": name or manifest.tenant, "number": manifest.number, "rows": restored.rows}
        click.echo(
            json.dumps(
                facts
                | {
                    "files": restored.files,
                    "into": str(restored.files_directory) if restored.files_directory else None,
                },
                indent=2,
            )
        )
    else:
        _print_restored(manifest, name or manifest.tenant, restored)


async def _chosen_tenants(database: Database, config: Config, tenant: str | None) -> dict[str, TenantId]:
    names = (tenant,) if tenant is not None else config.tenants
    if names:
        return dict([await find_tenant(database, config, name) for name in names])
    ids = await tenant_rows.load_tenants(database)
    if not ids:
        raise UserError("There is no tenant yet, so there is nothing to keep.")
    return ids


async def _create_backup(
    database: Database, backups: Backups, config: Config, name: str, tenant: TenantId, keep: int | None
) -> _CreatedBackup:
    root = config.mirror / name
    with ExitStack() as opened:
        tree = Tree(root) if root.is_dir() else None
        if tree is not None:
            opened.callback(tree.close)
        new_backup = await make(database, backups, tenant, tree, opened.enter_context(progress_bar(f"Keeping {name}")))
    try:
        return _CreatedBackup(
            new_backup, prune_backups(backups, new_backup.manifest.tenant, keep) if keep is not None else [], None
        )
    except Damaged as error:
        return _CreatedBackup(new_backup, [], f"{error} No old objects were removed; see `mirrord backup verify`.")


def _find_backup(backups: Backups, directory: Path, tenant: str | None, number: int | None) -> StoredBackup:
    """The newest matching backup. Raises UserError if none matches, or backups of several tenants do."""
    matches = [backup_ for backup_ in backups.list_backups(tenant) if number in (None, backup_.number)]
    names = sorted({backup_.tenant for backup_ in matches})
    if not matches:
        raise UserError(f"There is no such backup in {directory}; `mirrord backup list {directory}` shows all.")
    if len(names) > 1:
        raise UserError(f"Which tenant? Add --tenant with one of {', '.join(names)}.")
    return matches[-1]


def _verified_manifest(backups: Backups, chosen: StoredBackup) -> Manifest:
    with progress_bar("Reading") as progress:
        checked = BackupChecker(backups).check(chosen, progress)
    if checked.damages or chosen.manifest is None:
        raise Refused(
            f"Backup {chosen.number} of {chosen.tenant} is damaged, so nothing was restored: "
            f"{' '.join(checked.damages)} An earlier one may be whole: `mirrord backup verify` tells, "
            "and --number chooses it."
        )
    return chosen.manifest


async def _restore_tenant(
    database: Database, backups: Backups, config: Config, manifest: Manifest, name: str | None
) -> RestoredBackup:
    tenant = parse_tenant_id(manifest.tenant_id)
    if name is not None:
        tenant = (await tenant_rows.load_tenants(database)).get(name, TenantId(new_id()))
    name = tenant_rows.check_name(name or manifest.tenant)
    app.make_directory(config.mirror)
    fallback = config.mirror / f"{name}.from-backup-{manifest.number}"
    target = RestoreTarget(tenant, name, config.mirror / name, fallback, config.mode)
    with progress_bar(f"Restoring {name}") as progress:
        return await bring_back(database, backups, manifest, target, progress)


def _backup_facts(backup_: StoredBackup) -> dict[str, Any]:
    facts: dict[str, Any] = {"tenant": backup_.tenant, "number": backup_.number, "path": str(backup_.path)}
    if backup_.manifest is None:
        return facts | {"is_readable": False}
    return facts | {"is_readable": True} | _manifest_facts(backup_.manifest)


def _manifest_facts(manifest: Manifest) -> dict[str, Any]:
    return {
        "tenant_id": manifest.tenant_id,
        "made_at": manifest.made_at,
        "schema": manifest.schema,
        "rows": {name: table.rows for name, table in manifest.tables.items()},
        "files": manifest.files.rows,
        "unread": manifest.unread,
    }


def _created_facts(created: _CreatedBackup) -> dict[str, Any]:
    new_backup, manifest = created.new_backup, created.new_backup.manifest
    facts = {"tenant": manifest.tenant, "number": manifest.number} | _manifest_facts(manifest)
    facts |= {
        "added": new_backup.added_objects,
        "added_bytes": new_backup.added_bytes,
        "removed": [backup_.number for backup_ in created.removed],
    }
    return facts | {"obstacle": created.obstacle}


def _format_content(manifest: Manifest | None) -> str:
    if manifest is None:
        return "its list is damaged; see `mirrord backup verify`"
    return f"{manifest.made_at[:19]} UTC  {_format_counts(manifest)}"


def _format_counts(manifest: Manifest) -> str:
    pages, versions = manifest.tables["page"].rows, manifest.tables["page_revision"].rows
    return f"{pages} pages, {versions} versions, {manifest.files.rows} files that no row has"


def _print_created(created: _CreatedBackup) -> None:
    new_backup, manifest = created.new_backup, created.new_backup.manifest
    megabytes = new_backup.added_bytes / 1e6
    click.echo(f"{manifest.tenant}: backup {manifest.number}, {_format_counts(manifest)}", nl=False)
    click.echo(f"; {new_backup.added_objects} new objects, {megabytes:.1f} MB.")
    if created.removed:
        click.echo(f"{manifest.tenant}: {len(created.removed)} older removed.")
    if created.obstacle:
        click.echo(created.obstacle, err=True)
    for path in manifest.unread[:_MAX_PRINTED_FILES]:
        click.echo(f"{manifest.tenant}/{strip_controls(path)} cannot be read, and is not in the backup.", err=True)
    if len(manifest.unread) > _MAX_PRINTED_FILES:
        click.echo(f"… and {len(manifest.unread) - _MAX_PRINTED_FILES} more.", err=True)


def _print_checked(checked: Sequence[CheckedBackup]) -> None:
    for backup_ in checked:
        verdict = "damaged" if backup_.damages else "whole"
        click.echo(f"{verdict:<8} {backup_.backup.number:>6}  {backup_.backup.tenant}")
        for damage in backup_.damages:
            click.echo(f"         {damage}")
    if any(backup_.damages for backup_ in checked):
        click.echo("Remove damaged objects: the next `mirrord backup create` stores what it finds again.")


def _print_restored(manifest: Manifest, name: str, restored: RestoredBackup) -> None:
    click.echo(f"{name} is restored to {manifest.made_at[:19]} UTC: {restored.rows} rows.")
    if restored.files_directory is not None:
        click.echo(f"{len(restored.files)} files with bytes that no row had are in {restored.files_directory}:")
        click.echo("\n".join(f"  {strip_controls(path)}" for path in restored.files[:_MAX_PRINTED_FILES]))
        if len(restored.files) > _MAX_PRINTED_FILES:
            click.echo(f"  … and {len(restored.files) - _MAX_PRINTED_FILES} more")
    click.echo("The next start of the daemon writes its tree.")
