"""`mirrord history`, `diff` and `restore`: list, compare and restore the versions of a page."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import click

from mirrord import app
from mirrord.cli.options import DIFFERENT, configured, run, tenant_option, the_tenant
from mirrord.cli.output import actor_line, echo_difference, harmless, moment, the_person
from mirrord.config import Config
from mirrord.db import revisions
from mirrord.db.connect import Connection
from mirrord.db.revisions import Revision
from mirrord.domain.entry import EntryId, TenantId
from mirrord.errors import UserError
from mirrord.sync.linking import paths_of
from mirrord.sync.restoring import restore as restore_version
from mirrord.sync.threeway import difference
from mirrord.sync.whereabouts import directories_of, find_page


@dataclass(frozen=True, slots=True)
class History:
    """The versions of one page, the oldest first, and the directories of its versions by id."""

    page: EntryId
    path: str
    revisions: Sequence[Revision]
    directories: dict[EntryId | None, str]

    def place(self, one: Revision) -> str:
        """The place of a version, for people; the folder has its current name."""
        above = self.directories.get(one.parent, "(a folder that is gone)")
        return f"{above}/{one.name}" if above else one.name


@dataclass(frozen=True, slots=True)
class Difference:
    """Two versions of a page and the difference of their texts."""

    history: History
    before: Revision
    after: Revision
    lines: Sequence[str]

    @property
    def facts(self) -> dict[str, tuple[Any, Any]]:
        """Other differences: {place, title, deleted: (before, after)}."""
        pairs = {
            "place": (self.history.place(self.before), self.history.place(self.after)),
            "title": (self.before.title, self.after.title),
            "deleted": (self.before.deleted, self.after.deleted),
        }
        return {what: pair for what, pair in pairs.items() if pair[0] != pair[1]}


@click.command()
@configured
@tenant_option
@click.argument("page")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def history(config: Config, tenant: str | None, page: str, as_json: bool) -> None:
    """List the versions of PAGE, newest first. PAGE is a path, a title or an id."""

    async def work() -> History:
        async with app.opened(config) as database:
            _, one = await the_tenant(database, config, tenant)
            async with database.transaction(one) as connection:
                return await _load(connection, one, page)

    found = run(work())
    if as_json:
        versions = [_facts(found, one) for one in reversed(found.revisions)]
        click.echo(json.dumps({"page": str(found.page), "path": found.path, "versions": versions}, indent=2))
        return
    click.echo(f"{harmless(found.path)}  {found.page}", err=True)
    for one in reversed(found.revisions):
        click.echo(_line(found, one))


@click.command()
@configured
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

    async def work() -> Difference:
        async with app.opened(config) as database:
            _, one = await the_tenant(database, config, tenant)
            async with database.transaction(one) as connection:
                return await _compare(connection, one, await _load(connection, one, page), before, after)

    found = run(work())
    if as_json:
        about = {"page": str(found.history.page), "before": found.before.version, "after": found.after.version}
        click.echo(json.dumps(about | found.facts | {"diff": list(found.lines)}, indent=2))
    else:
        for what, (old, new) in found.facts.items():
            click.echo(f"{what}: {harmless(str(old))} → {harmless(str(new))}")
        echo_difference(found.lines)
    return DIFFERENT if found.lines or found.facts else 0


@click.command()
@configured
@tenant_option
@click.argument("page")
@click.option("--version", required=True, type=int, help="Number of the version, from `mirrord history PAGE`.")
@click.option("--place", is_flag=True, help="Restore the place of the page too.")
def restore(config: Config, tenant: str | None, page: str, version: int, place: bool) -> None:
    """
    Restore an earlier version of PAGE.

    Its text becomes a new version; a deleted page is undeleted. To undo it, restore the previous version.
    """

    async def work() -> str:
        async with app.opened(config) as database:
            _, one = await the_tenant(database, config, tenant)
            async with database.transaction(one) as connection:
                found = await find_page(connection, one, page)
            done = await restore_version(database, one, found, version, the_person(), place=place)
            async with database.transaction(one) as connection:
                path = harmless((await paths_of(connection, one, [found]))[found])
        if not done.changed:
            return f"{path} is as it was in version {version} already."
        revived = " and lives again" if done.revived else ""
        return f"{path} has the text of version {version} as version {done.version}{revived}."

    click.echo(run(work()))


async def _load(connection: Connection, tenant: TenantId, said: str) -> History:
    page = await find_page(connection, tenant, said)
    found = await revisions.history(connection, tenant, page)
    directories = await directories_of(connection, tenant, {one.parent for one in found})
    path = (await paths_of(connection, tenant, [page]))[page]
    return History(page, path, found, directories)


async def _compare(
    connection: Connection, tenant: TenantId, found: History, before: int | None, after: int | None
) -> Difference:
    newest = found.revisions[-1].version
    second = after if after is not None else newest
    first = before if before is not None else max(newest - 1, found.revisions[0].version)
    old, new = _version(found, first), _version(found, second)
    texts = [await revisions.text_of(connection, tenant, found.page, one.version) or "" for one in (old, new)]
    return Difference(found, old, new, difference(texts[0], texts[1], f"version {first}", f"version {second}"))


def _version(found: History, number: int) -> Revision:
    for one in found.revisions:
        if one.version == number:
            return one
    numbers = f"{found.revisions[0].version} to {found.revisions[-1].version}"
    raise UserError(f"{found.path} has no version {number}; it has {numbers}.")


def _facts(found: History, one: Revision) -> dict[str, Any]:
    return {
        "version": one.version,
        "at": one.created_at.isoformat(),
        "actor": one.actor,
        "changed": list(one.changed),
        "digest": one.digest.hex() if one.digest else None,
        "size": one.size,
        "place": found.place(one),
        "title": one.title,
        "deleted": one.deleted,
        "parents": list(one.parents),
    }


def _line(found: History, one: Revision) -> str:
    size = f"{one.size} characters" if one.size is not None else "no text"
    digest = one.digest.hex()[:12] if one.digest else "-" * 12
    what = ", ".join(one.changed) or "form"
    who = harmless(actor_line(one.actor))
    extra = f"  {harmless(found.place(one))}" if {"place", "created"} & set(one.changed) else ""
    extra += f"  «{harmless(one.title)}»" if "title" in one.changed else ""
    return f"{one.version:>5}  {moment(one.created_at)}  {digest}  {who:<20} {what:<18} {size:<18}{extra}"
