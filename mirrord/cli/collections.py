"""`mirrord collections` and `mirrord categories`: which pages belong together, for people as for agents."""

import json
from collections.abc import Sequence
from dataclasses import asdict

import click

from mirrord.cli.options import configured, tenant_option
from mirrord.cli.output import harmless
from mirrord.cli.sessions import session_of
from mirrord.commands.categories import (
    add_category,
    change_category,
    list_categories,
    remove_category,
    update_category,
)
from mirrord.commands.collection_content import Meant, collection_content
from mirrord.commands.collections import (
    add_collection,
    change_collection,
    list_collections,
    remove_collection,
    update_collection,
)
from mirrord.commands.drafts import Done, Listed
from mirrord.commands.session import Session
from mirrord.config import Config

_json = click.option("--json", "as_json", is_flag=True, help="For programs.")
_description = click.option("--description", help='At most 500 characters, no quotes; "" clears it.')
_new_name = click.option("--name", "new_name", metavar="NEW", help="What it is to be called.")


@click.group()
def collections() -> None:
    """Ordered lists of categories."""


@click.group()
def categories() -> None:
    """Directories with patterns over the pages below them."""


@collections.command("list")
@configured
@tenant_option
@_json
def list_collections_command(config: Config, tenant: str | None, as_json: bool) -> None:
    """Every collection with its categories, the oldest first."""
    with session_of(config, tenant) as session:
        _show(list_collections(session, verbose=True, most=None), "categories", as_json=as_json)


@categories.command("list")
@configured
@tenant_option
@_json
def list_categories_command(config: Config, tenant: str | None, as_json: bool) -> None:
    """Every category with its directory and patterns, the oldest first."""
    with session_of(config, tenant) as session:
        _show(list_categories(session, verbose=True, most=None), "dir", "patterns", as_json=as_json)


@collections.command("content")
@configured
@tenant_option
@click.argument("name")
@_json
def content_command(config: Config, tenant: str | None, name: str, as_json: bool) -> None:
    """The pages that the collection NAME means, in order."""
    with session_of(config, tenant) as session:
        pages, problems = _content(session, name)
    if as_json:
        click.echo(json.dumps([asdict(page) for page in pages], indent=2))
    else:
        for page in pages:
            click.echo(harmless(page.path))
    for problem in problems:
        click.echo(harmless(problem), err=True)


@collections.command("add")
@configured
@tenant_option
@click.argument("name")
@click.argument("categories", metavar="[CATEGORY]...", nargs=-1)
@_description
def add_collection_command(
    config: Config, tenant: str | None, name: str, categories: Sequence[str], description: str | None
) -> None:
    """Make the collection NAME of categories there are."""
    with session_of(config, tenant) as session:
        _tell(add_collection(session, name, description, categories))


@categories.command("add")
@configured
@tenant_option
@click.argument("name")
@click.argument("patterns", metavar="[PATTERN]...", nargs=-1)
@click.option("--dir", "directory", default="", help="Where its pages are; default: the root.")
@_description
def add_category_command(
    config: Config, tenant: str | None, name: str, patterns: Sequence[str], directory: str, description: str | None
) -> None:
    """Make the category NAME; without a PATTERN it means all pages there."""
    with session_of(config, tenant) as session:
        _tell(add_category(session, name, directory, patterns, description))


@collections.command("remove")
@configured
@tenant_option
@click.argument("name")
def remove_collection_command(config: Config, tenant: str | None, name: str) -> None:
    """Move the collection NAME to the trash; its categories stay."""
    with session_of(config, tenant) as session:
        _tell(remove_collection(session, name))


@categories.command("remove")
@configured
@tenant_option
@click.argument("name")
def remove_category_command(config: Config, tenant: str | None, name: str) -> None:
    """Move the category NAME to the trash, and take it out of all collections."""
    with session_of(config, tenant) as session:
        _tell(remove_category(session, name))


@collections.command("change")
@configured
@tenant_option
@click.argument("name")
@_new_name
@_description
@click.option("--category", "categories", multiple=True, help="Instead of all it has; more than once for several.")
@click.option("--no-categories", "emptied", is_flag=True, help="It has none afterwards.")
def change_collection_command(
    config: Config,
    tenant: str | None,
    name: str,
    new_name: str | None,
    description: str | None,
    categories: Sequence[str],
    emptied: bool,
) -> None:
    """Replace what the collection NAME is called, says or holds; what is not given stays."""
    with session_of(config, tenant) as session:
        _tell(change_collection(session, name, new_name, description, _instead(categories, emptied=emptied)))


@categories.command("change")
@configured
@tenant_option
@click.argument("name")
@_new_name
@click.option("--dir", "directory", help="Where its pages are.")
@_description
@click.option("--pattern", "patterns", multiple=True, help="Instead of all it has; more than once for several.")
@click.option("--no-patterns", "emptied", is_flag=True, help="It means all pages there afterwards.")
def change_category_command(
    config: Config,
    tenant: str | None,
    name: str,
    new_name: str | None,
    directory: str | None,
    description: str | None,
    patterns: Sequence[str],
    emptied: bool,
) -> None:
    """Replace what the category NAME is called, says or means; collections follow to its new name."""
    with session_of(config, tenant) as session:
        instead = _instead(patterns, emptied=emptied)
        _tell(change_category(session, name, new_name, directory, instead, description))


@collections.command("update")
@configured
@tenant_option
@click.argument("name")
@click.option("--remove", multiple=True, metavar="CATEGORY", help="Taken out first.")
@click.option("--add", multiple=True, metavar="CATEGORY", help="Put at the end then.")
def update_collection_command(
    config: Config, tenant: str | None, name: str, remove: Sequence[str], add: Sequence[str]
) -> None:
    """Take categories out of the collection NAME, and put others in."""
    with session_of(config, tenant) as session:
        _tell(update_collection(session, name, add or None, remove or None))


@categories.command("update")
@configured
@tenant_option
@click.argument("name")
@click.option("--remove", multiple=True, metavar="PATTERN", help="Taken out first.")
@click.option("--add", multiple=True, metavar="PATTERN", help="Put at the end then, where it decides.")
def update_category_command(
    config: Config, tenant: str | None, name: str, remove: Sequence[str], add: Sequence[str]
) -> None:
    """Take patterns out of the category NAME, and put others in."""
    with session_of(config, tenant) as session:
        _tell(update_category(session, name, add or None, remove or None))


def _instead(given: Sequence[str], *, emptied: bool) -> Sequence[str] | None:
    return given or (() if emptied else None)


def _content(session: Session, name: str) -> tuple[list[Meant], list[str]]:
    """All answers to the question, one after the other."""
    found = collection_content(session, name)
    pages = list(found.pages)
    while found.next_cursor is not None:
        found = collection_content(session, name, found.next_cursor)
        pages += found.pages
    return pages, found.problems


def _show(found: Listed, *keys: str, as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps(found.values, indent=2, ensure_ascii=False))
    else:
        for value in found.values:
            click.echo(harmless("  ".join([f"{value['name']:30}", *(_said(value[key]) for key in keys)])).rstrip())
    for problem in found.problems:
        click.echo(harmless(problem), err=True)


def _tell(done: Done) -> None:
    value = {key: said for key, said in done.value.items() if key != "name" and said}
    click.echo(harmless("  ".join([str(done.value["name"]), *map(_said, value.values())])))
    if done.message:
        click.echo(harmless(done.message), err=True)


def _said(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value or "/")
