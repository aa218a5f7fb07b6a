"""No path leads a tool out of the tenant's tree, nor to what mirrord keeps there."""

from pathlib import Path

import pytest

from tests.redteam.judging import DONE, attacker
from tests.redteam.paths import LOOKING, MAKING, OWN_ATTACHMENTS, PATHS
from tests.redteam.world import world_in


@pytest.mark.parametrize("kind", PATHS)
async def test_no_tool_follows_a_path_that_leads_elsewhere(tmp_path: Path, kind: str) -> None:
    world = world_in(tmp_path)
    async with attacker(world) as attacking:
        for path, (looking, making) in PATHS[kind].items():
            for tries, codes in ((LOOKING, looking), (MAKING, making)):
                for make_call in tries.values():
                    tool, arguments = make_call(path)
                    is_own = tool == "read_attachment" and path.casefold() in OWN_ATTACHMENTS
                    await attacking.attack(tool, world.filled(arguments), codes | ({DONE} if is_own else set()))
