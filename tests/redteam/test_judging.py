"""The judge of attacks sees an escape when there is one."""

import shutil
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from tests.redteam.judging import DONE, Outcome, attacker, check
from tests.redteam.world import World, outside, world_in

_OK = frozenset({DONE})
TOLD: Mapping[str, Callable[[World], str]] = {
    "a secret's text": lambda world: (world.elsewhere / "secret.txt").read_text(),
    "another tenant's page": lambda world: (world.rival.root / "Secret.md").read_text(),
    "another tenant's name": lambda world: f"There is no page in {world.rival.name}.",
    "another tenant's id": lambda world: f"The tenant {world.rival.id}.",
    "an absolute path": lambda world: f"No such file: {world.root}/Welcome.md",
    "a stack trace": lambda _: "Traceback (most recent call last):",
    "a private key": lambda world: (world.base / "data/keys/signing.pem").read_text(),
}
DONE_OUTSIDE: Mapping[str, Callable[[World], object]] = {
    "a new file": lambda world: (world.elsewhere / "new.md").write_text("x"),
    "a changed file": lambda world: (world.rival.root / "Secret.md").write_text("x"),
    "the same bytes again": lambda world: shutil.copy(world.elsewhere / "Alpha.md", world.elsewhere / "_index.md"),
    "a file that is gone": lambda world: (world.elsewhere / "secret.txt").unlink(),
    "a new directory": lambda world: (world.rival.root / "New").mkdir(),
}


@pytest.mark.parametrize("case", TOLD)
def test_a_reply_that_tells_a_secret_is_an_escape(tmp_path: Path, case: str) -> None:
    world = world_in(tmp_path)
    before = outside(world)
    check(world, {}, Outcome(DONE, "nothing", 0.1), _OK, before)
    with pytest.raises(AssertionError):
        check(world, {}, Outcome(DONE, TOLD[case](world), 0.1), _OK, before)


@pytest.mark.parametrize("case", DONE_OUTSIDE)
def test_a_change_outside_is_an_escape(tmp_path: Path, case: str) -> None:
    world = world_in(tmp_path)
    before = outside(world)
    DONE_OUTSIDE[case](world)
    with pytest.raises(AssertionError, match="outside was changed"):
        check(world, {}, Outcome(DONE, "nothing", 0.1), _OK, before)


@pytest.mark.parametrize("outcome", [Outcome("INTERNAL_ERROR", "", 0.1), Outcome(DONE, "", 2.1)])
def test_a_wrong_end_and_a_late_one_are_failures(tmp_path: Path, outcome: Outcome) -> None:
    world = world_in(tmp_path)
    with pytest.raises(AssertionError):
        check(world, {}, outcome, _OK, outside(world))


async def test_a_secret_that_a_tool_really_shows_is_seen(tmp_path: Path) -> None:
    world = world_in(tmp_path)
    shutil.copy(world.elsewhere / "Alpha.md", world.root / "Leaked.md")
    async with attacker(world) as attacking:
        await attacking.attack("read_page", {"path": "Welcome.md"}, _OK)
        attacking.planted()
        with pytest.raises(AssertionError, match="canary"):
            await attacking.attack("read_page", {"path": "Leaked.md"}, _OK)
