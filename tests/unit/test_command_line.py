"""Commands are imported when they are asked for, and each is where the table says."""

import subprocess
import sys
from pathlib import Path

import click
import pytest

from mirrord.cli.command_table import cli
from mirrord.cli.host.setup_commands import tenant
from mirrord.cli.options import Group

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("group", [cli, tenant])
def test_every_command_is_found_under_its_name(group: Group) -> None:
    context = click.Context(group)
    names = group.list_commands(context)
    commands = [group.get_command(context, name) for name in names]

    assert [command.name for command in commands if command] == names


def test_a_command_that_is_not_there_is_not_found() -> None:
    assert cli.get_command(click.Context(cli), "flash") is None


@pytest.mark.parametrize(
    ("module", "needless"),
    [
        ("mirrord.cli.flush_command", ("psycopg", "asyncio", "markdown_it", "mirrord.sync", "mirrord.db")),
        (
            "mirrord.cli.host.up",
            ("jwt", "cryptography", "rich", "pathspec", "mirrord.commands.command_registry", "mirrord.convert"),
        ),
    ],
)
def test_what_starts_often_loads_nothing_needless(module: str, needless: tuple[str, ...]) -> None:
    source = (
        f"import sys, mirrord.cli.command_table, {module}; print([m for m in sys.modules if m.startswith({needless})])"
    )
    completed = subprocess.run([sys.executable, "-c", source], cwd=ROOT, capture_output=True, text=True, check=True)

    assert completed.stdout.strip() == "[]"
