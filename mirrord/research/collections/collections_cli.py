"""`mirrord collections` and `mirrord categories`."""

import json
from collections.abc import Sequence
from dataclasses import asdict

import click

from mirrord.cli.options import tenant_option, with_config_options
from mirrord.cli.output import strip_controls
from mirrord.cli.person_session import open_session
from mirrord.commands.core.session import Session
from mirrord.config import Config
from mirrord.research.collections.category_commands import (
    add_category,
    change_category,
    list_categories,
    remove_category,
    update_category,
)
from mirrord.research.collections.collection_commands import (
    add_collection,
    change_collection,
    list_collections,
    remove_collection,
    update_collection,
)
from mirrord.research.collections.collection_content import CollectionPage, collection_content
from mirrord.research.collections.record_drafts import ChangedRecord, RecordList

_json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
_description_option = click.option(
    "--description", help='Description of at most 500 characters, without quotes; "" clears it.'
)
_new_name_option = click.option("--name", "new_name", metavar="NEW", help="New name.")


@click.group()
def collections() -> None:
    """Manage collections of pages. A collection is an ordered list of categories."""


@click.group()
def categories() -> None:
    """Manage categories of pages. A category is a directory with patterns for the pages below it."""


@collections.command("list")
@with_config_options
@tenant_option
@_json_option
def list_collections_command(config: Config, tenant: str | None, as_json: bool) -> None:
    """List collections with their categories, oldest first."""
    with open_session(config, tenant) as session:
        _print_list(list_collections(session, verbose=True, limit=None), "categories", as_json=as_json)


@categories.command("list")
@with_config_options
@tenant_option
@_json_option
def list_categories_command(config: Config, tenant: str | None, as_json: bool) -> None:
    """List categories, oldest first, with their directories and patterns."""
    with open_session(config, tenant) as session:
        _print_list(list_categories(session, verbose=True, limit=None), "dir", "patterns", as_json=as_json)


@collections.command("content")
@with_config_options
@tenant_option
@click.argument("name")
@_json_option
def content_command(config: Config, tenant: str | None, name: str, as_json: bool) -> None:
    """List the pages of the collection NAME in order."""
    with open_session(config, tenant) as session:
        pages, problems = _read_content(session, name)
    if as_json:
        click.echo(json.dumps([asdict(page) for page in pages], indent=2))
    else:
        for page in pages:
            click.echo(strip_controls(page.path))
    for problem in problems:
        click.echo(strip_controls(problem), err=True)


@collections.command("add")
@with_config_options
@tenant_option
@click.argument("name")
@click.argument("categories", metavar="[CATEGORY]...", nargs=-1)
@_description_option
def add_collection_command(
    config: Config, tenant: str | None, name: str, categories: Sequence[str], description: str | None
) -> None:
    """Create the collection NAME of existing categories."""
    with open_session(config, tenant) as session:
        _print_changed_record(add_collection(session, name, description, categories))


@categories.command("add")
@with_config_options
@tenant_option
@click.argument("name")
@click.argument("patterns", metavar="[PATTERN]...", nargs=-1)
@click.option("--dir", "directory", default="", help="Directory of its pages; default: the root.")
@_description_option
def add_category_command(
    config: Config, tenant: str | None, name: str, patterns: Sequence[str], directory: str, description: str | None
) -> None:
    """Create the category NAME. Without a PATTERN it contains all pages of its directory."""
    with open_session(config, tenant) as session:
        _print_changed_record(add_category(session, name, directory, patterns, description))


@collections.command("remove")
@with_config_options
@tenant_option
@click.argument("name")
def remove_collection_command(config: Config, tenant: str | None, name: str) -> None:
    """Move the collection NAME to the trash. Its categories remain."""
    with open_session(config, tenant) as session:
        _print_changed_record(remove_collection(session, name))


@categories.command("remove")
@with_config_options
@tenant_option
@click.argument("name")
def remove_category_command(config: Config, tenant: str | None, name: str) -> None:
    """Move the category NAME to the trash. All collections lose it."""
    with open_session(config, tenant) as session:
        _print_changed_record(remove_category(session, name))


@collections.command("change")
@with_config_options
@tenant_option
@click.argument("name")
@_new_name_option
@_description_option
@click.option("--category", "categories", multiple=True, help="Replace all categories; repeat for several.")
@click.option("--no-categories", "emptied", is_flag=True, help="Remove all categories.")
def change_collection_command(  # noqa: PLR0913  (a parameter for each option)
    config: Config,
    tenant: str | None,
    name: str,
    new_name: str | None,
    description: str | None,
    categories: Sequence[str],
    emptied: bool,
) -> None:
    """Change the collection NAME. Options replace its name, description or all categories."""
    with open_session(config, tenant) as session:
        _print_changed_record(
            change_collection(session, name, new_name, description, _replacement(categories, emptied=emptied))
        )


@categories.command("change")
@with_config_options
@tenant_option
@click.argument("name")
@_new_name_option
@click.option("--dir", "directory", help="Directory of its pages.")
@_description_option
@click.option("--pattern", "patterns", multiple=True, help="Replace all patterns; repeat for several.")
@click.option(
    "--no-patterns", "emptied", is_flag=True, help="Remove all patterns: it then contains all pages of its directory."
)
def change_category_command(  # noqa: PLR0913  (as above)
    config: Config,
    tenant: str | None,
    name: str,
    new_name: str | None,
    directory: str | None,
    description: str | None,
    patterns: Sequence[str],
    emptied: bool,
) -> None:
    """Change the category NAME. Collections follow a new name."""
    with open_session(config, tenant) as session:
        replacement = _replacement(patterns, emptied=emptied)
        _print_changed_record(change_category(session, name, new_name, directory, replacement, description))


@collections.command("update")
@with_config_options
@tenant_option
@click.argument("name")
@click.option("--remove", multiple=True, metavar="CATEGORY", help="Remove this category; repeat for several.")
@click.option("--add", multiple=True, metavar="CATEGORY", help="Append this category; repeat for several.")
def update_collection_command(
    config: Config, tenant: str | None, name: str, remove: Sequence[str], add: Sequence[str]
) -> None:
    """Add and remove categories of the collection NAME. Removals come first."""
    with open_session(config, tenant) as session:
        _print_changed_record(update_collection(session, name, add or None, remove or None))


@categories.command("update")
@with_config_options
@tenant_option
@click.argument("name")
@click.option("--remove", multiple=True, metavar="PATTERN", help="Remove this pattern; repeat for several.")
@click.option("--add", multiple=True, metavar="PATTERN", help="Append this pattern (the last match wins).")
def update_category_command(
    config: Config, tenant: str | None, name: str, remove: Sequence[str], add: Sequence[str]
) -> None:
    """Add and remove patterns of the category NAME. Removals come first."""
    with open_session(config, tenant) as session:
        _print_changed_record(update_category(session, name, add or None, remove or None))


def _replacement(values: Sequence[str], *, emptied: bool) -> Sequence[str] | None:
    return values or (() if emptied else None)


def _read_content(session: Session, name: str) -> tuple[list[CollectionPage], list[str]]:
    """The pages and problems of all parts of the answer."""
    content = collection_content(session, name)
    pages = list(content.pages)
    while content.next_cursor is not None:
        content = collection_content(session, name, content.next_cursor)
        pages += content.pages
    return pages, content.problems


def _print_list(listed: RecordList, *keys: str, as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps(listed.values, indent=2, ensure_ascii=False))
    else:
        for value in listed.values:
            click.echo(
                strip_controls(
                    "  ".join([f"{value['name']:30}", *(_format_value(value[key]) for key in keys)])
                ).rstrip()
            )
    for problem in listed.problems:
        click.echo(strip_controls(problem), err=True)


def _print_changed_record(record: ChangedRecord) -> None:
    value = {key: entry for key, entry in record.value.items() if key != "name" and entry}
    click.echo(strip_controls("  ".join([str(record.value["name"]), *map(_format_value, value.values())])))
    if record.message:
        click.echo(strip_controls(record.message), err=True)


def _format_value(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value or "/")
