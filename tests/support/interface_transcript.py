"""
What agents and people are shown of collections and categories: schemas of tools and help of commands, as text.

`python -m tests.support.interface_transcript` writes tests/fixtures/collections.txt anew, for a change on purpose.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from mirrord.mcp.tools.arguments import schema_of
from mirrord.mcp.tools.tool import Tool
from mirrord.research.collections.collection_tools import COLLECTION_TOOLS
from mirrord.research.collections.collections_cli import categories, collections

PATH = Path(__file__).parents[1] / "fixtures" / "collections.txt"


def write_transcript() -> str:
    """The whole transcript."""
    groups = {"collections": collections, "categories": categories}
    commands = (part for name, group in groups.items() for part in _help_below(group, f"mirrord {name}"))
    return "\n".join([*map(_describe_tool, COLLECTION_TOOLS), *commands])


def _describe_tool(tool: Tool[Any]) -> str:
    facts = {
        "title": tool.title,
        "arguments": schema_of(tool.arguments),
        "result": tool.result,
        "hints": {"writes": tool.writes, "destructive": tool.destructive, "idempotent": tool.idempotent},
    }
    return f"# tool {tool.name}\n{tool.description}\n{json.dumps(facts, indent=1, ensure_ascii=False)}\n"


def _help_below(command: click.Command, words: str) -> Iterator[str]:
    context = click.Context(command, info_name=words, terminal_width=100, max_content_width=100)
    yield f"# {words} --help\n{command.get_help(context)}\n"
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            below = command.get_command(context, name)
            assert below is not None
            yield from _help_below(below, f"{words} {name}")


if __name__ == "__main__":
    PATH.write_text(write_transcript(), encoding="utf-8")
