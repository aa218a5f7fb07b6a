"""`mirrord collections` and `mirrord categories`."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from typing import Any

import click

from mirrord.cli.options import tenant_option, with_config_options
from mirrord.cli.output import strip_controls
from mirrord.cli.person_session import open_session
from mirrord.commands.core.session import Session
from mirrord.config import Config
from mirrord.research.collections.collection_content import CollectionPage, collection_content, list_records
from mirrord.research.collections.collection_rules import CATEGORIES, COLLECTIONS, GroupKind
from mirrord.research.collections.group_commands import GROUP_COMMANDS

_NAME = click.Argument(["name"])
_JSON = click.Option(["--json", "as_json"], is_flag=True, help="Print JSON.")
_DESCRIPTION = click.Option(
    ["--description"], help='Description of at most 500 characters, without quotes; "" clears it.'
)
_NEW_NAME = click.Option(["--name", "new_name"], metavar="NEW", help="New name.")
_HELP_OF_COLLECTIONS = {
    "": "Manage collections of pages. A collection is an ordered list of categories.",
    "list": "List collections with their categories, oldest first.",
    "add": "Create the collection NAME of existing categories.",
    "remove": "Move the collection NAME to the trash. Its categories remain.",
    "change": "Change the collection NAME. Options replace its name, description or all categories.",
    "update": "Add and remove categories of the collection NAME. Removals come first.",
    "--no-categories": "Remove all categories.",
    "--add": "Append this category; repeat for several.",
}
_HELP_OF_CATEGORIES = {
    "": "Manage categories of pages. A category is a directory with patterns for the pages below it.",
    "list": "List categories, oldest first, with their directories and patterns.",
    "add": "Create the category NAME. Without a PATTERN it contains all pages of its directory.",
    "remove": "Move the category NAME to the trash. All collections lose it.",
    "change": "Change the category NAME. Collections follow a new name.",
    "update": "Add and remove patterns of the category NAME. Removals come first.",
    "--no-patterns": "Remove all patterns: it then contains all pages of its directory.",
    "--add": "Append this pattern (the last match wins).",
}


def _make_group(kind: GroupKind, member: str, help: Mapping[str, str]) -> click.Group:
    """The commands of one kind. member: the word for a member."""

    def command(verb: str, *parameters: click.Parameter) -> click.Command:
        return _make_command(verb, help[verb], partial(_change_record, kind, verb), [_NAME, *parameters])

    word, emptied = member.upper(), f"--no-{kind.members}"
    return click.Group(
        kind.plural,
        [
            _make_command("list", help["list"], partial(_print_list, kind), [_JSON]),
            command("add", _members_argument(kind, word), *_directory_option(kind, ""), _DESCRIPTION),
            command("remove"),
            command(
                "change",
                *(_NEW_NAME, *_directory_option(kind, None), _DESCRIPTION),
                _several(f"--{member}", kind.members, help=f"Replace all {kind.members}; repeat for several."),
                click.Option([emptied, "emptied"], is_flag=True, help=help[emptied]),
            ),
            command(
                "update",
                _several("--remove", f"remove_{kind.members}", word, help=f"Remove this {member}; repeat for several."),
                _several("--add", f"add_{kind.members}", word, help=help["--add"]),
            ),
        ],
        help=help[""],
    )


def _make_command(
    name: str, help: str, act: Callable[..., None], parameters: Sequence[click.Parameter]
) -> click.Command:
    """The command that calls *act* with a session and the values of *parameters*."""

    @click.command(name, help=help)
    @with_config_options
    @tenant_option
    def run_in_session(config: Config, tenant: str | None, **values: Any) -> None:
        with open_session(config, tenant) as session:
            act(session, **values)

    run_in_session.params.extend(parameters)
    return run_in_session


def _members_argument(kind: GroupKind, word: str) -> click.Argument:
    return click.Argument([kind.members], metavar=f"[{word}]...", nargs=-1)


def _directory_option(kind: GroupKind, default: str | None) -> list[click.Option]:
    """The option for a directory, where the kind has one. default: "" is the root; None keeps the present one."""
    note = "; default: the root" if default is not None else ""
    option = click.Option(["--dir"], default=default, help=f"Directory of its pages{note}.")
    return [option] if kind.has_directory else []


def _several(name: str, argument: str, metavar: str | None = None, *, help: str) -> click.Option:
    """An option that is repeated; without any, *argument* is None."""
    return click.Option(
        [name, argument], multiple=True, metavar=metavar, help=help, callback=lambda _, __, values: values or None
    )


def _print_list(kind: GroupKind, session: Session, *, as_json: bool) -> None:
    listed = list_records(session, kind, verbose=True, limit=None)
    if as_json:
        click.echo(json.dumps(listed.values, indent=2, ensure_ascii=False))
    else:
        for value in listed.values:
            cells = [_format_value(value[key]) for key in ("dir", kind.members) if key in value]
            click.echo(strip_controls("  ".join([f"{value['name']:30}", *cells])).rstrip())
    _print_problems(listed.problems)


def _change_record(kind: GroupKind, verb: str, session: Session, *, emptied: bool = False, **arguments: Any) -> None:
    if emptied:
        arguments[kind.members] = arguments[kind.members] or ()
    record = GROUP_COMMANDS[f"{kind.name}_{verb}"](session, **arguments)
    value = {key: entry for key, entry in record.value.items() if key != "name" and entry}
    click.echo(strip_controls("  ".join([str(record.value["name"]), *map(_format_value, value.values())])))
    if record.message:
        click.echo(strip_controls(record.message), err=True)


def _print_content(session: Session, *, name: str, as_json: bool) -> None:
    pages, problems = _read_content(session, name)
    if as_json:
        click.echo(json.dumps([asdict(page) for page in pages], indent=2))
    else:
        for page in pages:
            click.echo(strip_controls(page.path))
    _print_problems(problems)


def _read_content(session: Session, name: str) -> tuple[list[CollectionPage], list[str]]:
    """The pages and problems of all parts of the answer."""
    content = collection_content(session, name)
    pages = list(content.pages)
    while content.next_cursor is not None:
        content = collection_content(session, name, content.next_cursor)
        pages += content.pages
    return pages, content.problems


def _print_problems(problems: Sequence[str]) -> None:
    for problem in problems:
        click.echo(strip_controls(problem), err=True)


def _format_value(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value or "/")


collections = _make_group(COLLECTIONS, "category", _HELP_OF_COLLECTIONS)
collections.add_command(
    _make_command("content", "List the pages of the collection NAME in order.", _print_content, [_NAME, _JSON])
)
categories = _make_group(CATEGORIES, "pattern", _HELP_OF_CATEGORIES)
