"""An operator may raise every tool's level of trust, and lower it only so far."""

import pytest

from mirrord.domain.trust import DEFAULTS, Trust, lowest_level, trust_levels
from mirrord.errors import UserError


def test_without_changes_every_tool_has_its_default() -> None:
    assert trust_levels({}) == DEFAULTS


@pytest.mark.parametrize("tool", DEFAULTS)
def test_every_tool_may_be_raised_to_explicit_approval(tool: str) -> None:
    assert trust_levels({tool: "require"})[tool] is Trust.REQUIRE


@pytest.mark.parametrize("tool", DEFAULTS)
def test_no_tool_is_lowered_below_its_bound(tool: str) -> None:
    for level in Trust:
        if level >= lowest_level(tool):
            assert trust_levels({tool: level.name})[tool] is level
        else:
            with pytest.raises(UserError, match=f"below {lowest_level(tool).name}"):
                trust_levels({tool: level.name})


def test_what_needs_approval_becomes_a_proposal_at_the_least_and_a_proposal_a_notice() -> None:
    assert lowest_level("delete_source") is Trust.SUGGEST
    assert lowest_level("create_folder") is Trust.NOTIFY
    assert lowest_level("move_page") is Trust.NOTIFY
    assert lowest_level("read_page") is Trust.AUTONOMOUS


@pytest.mark.parametrize(("tool", "level"), [("read_pge", "notify"), ("read_page", "sometimes")])
def test_what_does_not_exist_is_refused(tool: str, level: str) -> None:
    with pytest.raises(UserError):
        trust_levels({tool: level})
