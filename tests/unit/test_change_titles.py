"""A change set that its agent gave no title has one that people know it by."""

from datetime import datetime

import pytest

from mirrord.domain.review import title_without_words

MOMENT = datetime(2026, 11, 7, 14, 5).astimezone()


@pytest.mark.parametrize(
    ("client", "actor_name", "name"),
    [
        ("claude-code", "gardener", "claude-code"),
        ("mcp", "gardener", "gardener"),
        (None, "gardener", "gardener"),
        ("MCP ", "local", "Agent"),
        ("", "agent", "Agent"),
        (None, "", "Agent"),
        ("mcp gateway", "agent", "mcp gateway"),
    ],
)
def test_a_title_names_the_program_else_the_token_and_the_time(client: str | None, actor_name: str, name: str) -> None:
    assert title_without_words(client, actor_name, MOMENT) == f"{name}, 7 November 14:05"
