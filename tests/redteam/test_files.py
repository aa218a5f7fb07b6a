"""Links, devices and the like in a tree lead no tool out of it."""

from pathlib import Path

import pytest

from tests.redteam.files import FILES
from tests.redteam.judging import attacker
from tests.redteam.world import world_in


@pytest.mark.parametrize("trap", FILES)
async def test_what_lies_in_the_tree_leads_no_tool_out_of_it(tmp_path: Path, trap: str) -> None:
    world, planted = world_in(tmp_path), FILES[trap]
    planted.plant(world)
    async with attacker(world) as attacking:
        for tool, arguments in planted.calls.values():
            await attacking.attack(tool, world.filled(arguments), planted.codes)
