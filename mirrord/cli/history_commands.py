"""`mirrord history`, `diff` and `restore`: the versions of a page."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import click

from mirrord.cli.options import EXIT_DIFFERENT, tenant_option, with_config_options
from mirrord.cli.output import current_person, echo_difference, format_actor, format_time, strip_controls
from mirrord.cli.tenant_database import run_in_transaction, run_with_database
from mirrord.config import Config
from mirrord.db.content import entry_versions
from mirrord.db.content.entry_versions import Revision
from mirrord.db.database import Connection, Database
from mirrord.documents.link_following import paths_of
from mirrord.domain.entry import EntryId, TenantId
from mirrord.errors import UserError
from mirrord.operations.restore import directories_of, find_page
from mirrord.operations.restore import restore as restore_version
from mirrord.operations.three_way_diff import diff_lines


@dataclass(frozen=True, slots=True)
class History:
    """The versions of one page, the oldest first, and the directories of its versions by id."""

    page: EntryId
    path: str
    revisions: Sequence[Revision]
    directories: dict[EntryId | None, str]

    def place_of(self, revision: Revision) -> str:
        """The place of a version, for people; the folder has its current name."""
        directory = self.directories.get(revision.parent, "(a folder that is gone)")
        return f"{directory}/{revision.name}" if directory else revision.name


@dataclass(frozen=True, slots=True)
class Difference:
    """Two versions of a page and the difference of their texts."""

    history: History
    before: Revision
    after: Revision
    lines: Sequence[str]

    @property
    def other_changes(self) -> dict[str, tuple[Any, Any]]:
        """Other differences: {place, title, deleted: (before, after)}."""
        pairs = {
            "place": (self.history.place_of(self.before), self.history.place_of(self.after)),
            "title": (self.before.title, self.after.title),
            "deleted": (self.before.is_deleted, self.after.is_deleted),
        }
        return {name: pair for name, pair in pairs.items() if pair[0] != pair[1]}


@click.command()
@with_config_options
@tenant_option
@click.argument("page")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def history(config: Config, tenant: str | None, page: str, as_json: bool) -> None:
    """List the versions of PAGE, newest first. PAGE is a path, a title or an id."""
    loaded = run_in_transaction(config, tenant, partial(_load_history, reference=page))
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
        config, tenant, partial(_compare_versions, reference=page, before=before, after=after)
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


async def _load_history(connection: Connection, tenant: TenantId, reference: str) -> History:
    page = await find_page(connection, tenant, reference)
    versions = await entry_versions.load_history(connection, tenant, page)
    directories = await directories_of(connection, tenant, {revision.parent for revision in versions})
    path = (await paths_of(connection, tenant, [page]))[page]
    return History(page, path, versions, directories)


async def _compare_versions(
    connection: Connection, tenant: TenantId, reference: str, before: int | None, after: int | None
) -> Difference:
    loaded = await _load_history(connection, tenant, reference)
    newest = loaded.revisions[-1].version
    second = after if after is not None else newest
    first = before if before is not None else max(newest - 1, loaded.revisions[0].version)
    old, new = _find_revision(loaded, first), _find_revision(loaded, second)
    texts = [
        await entry_versions.load_text(connection, tenant, loaded.page, revision.version) or ""
        for revision in (old, new)
    ]
    return Difference(loaded, old, new, diff_lines(texts[0], texts[1], f"version {first}", f"version {second}"))


def _find_revision(loaded: History, number: int) -> Revision:
    for revision in loaded.revisions:
        if revision.version == number:
            return revision
    numbers = f"{loaded.revisions[0].version} to {loaded.revisions[-1].version}"
    raise UserError(f"{loaded.path} has no version {number}; it has {numbers}.")


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
    }


def _format_revision(loaded: History, revision: Revision) -> str:
    size = f"{revision.size} characters" if revision.size is not None else "no text"
    digest = revision.digest.hex()[:12] if revision.digest else "-" * 12
    changed = ", ".join(revision.changed) or "form"
    actor = strip_controls(format_actor(revision.actor))
    notes = f"  {strip_controls(loaded.place_of(revision))}" if {"place", "created"} & set(revision.changed) else ""
    notes += f"  «{strip_controls(revision.title)}»" if "title" in revision.changed else ""
    time = format_time(revision.created_at)
    return f"{revision.version:>5}  {time}  {digest}  {actor:<20} {changed:<18} {size:<18}{notes}"
