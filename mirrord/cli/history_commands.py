"""`mirrord history`, `diff` and `restore`: the versions of a page."""

import json
from functools import partial
from typing import Any

import click

from mirrord.cli.options import EXIT_DIFFERENT, tenant_option, with_config_options
from mirrord.cli.output import current_person, echo_difference, format_actor, format_time, strip_controls
from mirrord.cli.tenant_database import run_in_transaction, run_with_database
from mirrord.config import Config
from mirrord.db.content.entry_versions import Revision
from mirrord.db.database import Database
from mirrord.documents.link_places import paths_of
from mirrord.domain.entry import TenantId
from mirrord.operations.page_versions import History, compare_versions, load_page_history
from mirrord.operations.restore import find_page
from mirrord.operations.restore import restore as restore_version


@click.command()
@with_config_options
@tenant_option
@click.argument("page")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def history(config: Config, tenant: str | None, page: str, as_json: bool) -> None:
    """List the versions of PAGE, newest first. PAGE is a path, a title or an id."""
    loaded = run_in_transaction(config, tenant, partial(load_page_history, reference=page))
    if as_json:
        versions = [_revision_facts(loaded, revision) for revision in reversed(loaded.revisions)]
        click.echo(json.dumps({"page": str(loaded.page), "path": loaded.path, "versions": versions}, indent=2))
        return
    click.echo(f"{strip_controls(loaded.path)}  {loaded.page}", err=True)
    for revision in reversed(loaded.revisions):
        click.echo(_format_revision(loaded, revision))


@click.command()
@with_config_options
@tenant_option
@click.argument("page")
@click.argument("before", required=False, type=int)
@click.argument("after", required=False, type=int)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def diff(config: Config, tenant: str | None, page: str, before: int | None, after: int | None, as_json: bool) -> int:
    """
    Show changes between two versions of PAGE.

    Exit code 1 if there are any. AFTER defaults to the newest version, BEFORE to the version before the newest.
    """
    difference_ = run_in_transaction(
        config, tenant, partial(compare_versions, reference=page, before=before, after=after)
    )
    if as_json:
        facts = {
            "page": str(difference_.history.page),
            "before": difference_.before.version,
            "after": difference_.after.version,
        }
        click.echo(json.dumps(facts | difference_.other_changes | {"diff": list(difference_.lines)}, indent=2))
    else:
        for name, (old, new) in difference_.other_changes.items():
            click.echo(f"{name}: {strip_controls(str(old))} → {strip_controls(str(new))}")
        echo_difference(difference_.lines)
    return EXIT_DIFFERENT if difference_.lines or difference_.other_changes else 0


@click.command()
@with_config_options
@tenant_option
@click.argument("page")
@click.option("--version", required=True, type=int, help="Number of the version, from `mirrord history PAGE`.")
@click.option("--place", is_flag=True, help="Restore the place of the page too.")
def restore(config: Config, tenant: str | None, page: str, version: int, place: bool) -> None:
    """
    Restore an earlier version of PAGE.

    Its text becomes a new version; a deleted page is undeleted. To undo it, restore the previous version.
    """

    async def work(database: Database, tenant_id: TenantId) -> str:
        async with database.transaction(tenant_id) as connection:
            entry = await find_page(connection, tenant_id, page)
        restored = await restore_version(database, tenant_id, entry, version, current_person(), with_place=place)
        async with database.transaction(tenant_id) as connection:
            path = strip_controls((await paths_of(connection, tenant_id, [entry]))[entry])
        if not restored.changed:
            return f"{path} is as it was in version {version} already."
        revived = " and lives again" if restored.revived else ""
        return f"{path} has the text of version {version} as version {restored.version}{revived}."

    click.echo(run_with_database(config, tenant, work))


def _revision_facts(loaded: History, revision: Revision) -> dict[str, Any]:
    return {
        "version": revision.version,
        "at": revision.created_at.isoformat(),
        "actor": revision.actor,
        "changed": list(revision.changed),
        "digest": revision.digest.hex() if revision.digest else None,
        "size": revision.size,
        "place": loaded.place_of(revision),
        "title": revision.title,
        "deleted": revision.is_deleted,
        "parents": list(revision.parents),
        "text_removed_at": revision.text_removed_at.isoformat() if revision.text_removed_at else None,
    }


def _format_revision(loaded: History, revision: Revision) -> str:
    size = f"{revision.size} characters" if revision.size is not None else "no text"
    size = "text removed" if revision.text_removed_at is not None else size
    digest = revision.digest.hex()[:12] if revision.digest else "-" * 12
    changed = ", ".join(revision.changed) or "form"
    actor = strip_controls(format_actor(revision.actor))
    notes = f"  {strip_controls(loaded.place_of(revision))}" if {"place", "created"} & set(revision.changed) else ""
    notes += f"  «{strip_controls(revision.title)}»" if "title" in revision.changed else ""
    time = format_time(revision.created_at)
    return f"{revision.version:>5}  {time}  {digest}  {actor:<20} {changed:<18} {size:<18}{notes}"
