"""Canaries: worlds in which something is wrong, shown to the oracles. An oracle that says nothing is no oracle."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

from tests.faults.oracle import violations
from tests.faults.scenarios import SCENARIOS
from tests.faults.stage import Stage, staged
from tests.faults.stage_oracle import wrong
from tests.faults.tokens import Ledger
from tests.faults.world import Cluster, World


def silent(cluster: Cluster, directory: Path) -> list[str]:
    """A sentence for each wrong that an oracle did not see."""
    return [*_silent_on_stage(cluster, directory), *_silent_in_world(cluster, directory)]


def _silent_on_stage(cluster: Cluster, directory: Path) -> Iterator[str]:
    scenario = next(scenario for scenario in SCENARIOS if scenario.name == "a file edited")
    with staged(cluster, directory, "canary-stage") as stage:
        scenario.before(stage)
        scenario.act(stage)
        stage.converge()
        if wrong(stage, scenario):
            yield "CANARY a world without a fault is called wrong"
        if "LOST Qz9999" not in wrong(stage, replace(scenario, tokens=frozenset({"Qz9999"}))):
            yield "CANARY a token that nobody wrote is not missed"
        for spoil, sign in _SPOILS:
            spoil(stage)
            if not any(sign in sentence for sentence in wrong(stage, scenario, at_rest=False)):
                yield f"CANARY {spoil.__name__} is not seen"
            stage.converge()


def _change_a_file(stage: Stage) -> None:
    stage.save("Page.md", "Qz0001 Qz0004 not what its row says\n")


def _make_a_file(stage: Stage) -> None:
    stage.save("Nobody knows me.md", "no row\n")


def _leave_in_the_journal(stage: Stage) -> None:
    stage.save(".mirrord/tmp/daemon/left", "bytes that wait\n")


_SPOILS: tuple[tuple[Callable[[Stage], None], str], ...] = (
    (_change_a_file, "UNEQUAL DIFFERS Page.md"),
    (_make_a_file, "UNEQUAL EXTRA"),
    (_leave_in_the_journal, "LEFTOVER"),
)


def _silent_in_world(cluster: Cluster, directory: Path) -> Iterator[str]:
    world, ledger = World(cluster, directory / "world", "canary-world"), Ledger()
    try:
        for mirror in world.mirrors:
            mirror.root.mkdir(parents=True)
        (world.mirrors[0].root / "One.md").write_text("One Qz0001.\n", encoding="utf-8")
        world.begin()
        world.quiesce()
        (world.mirrors[1].root / "Two.md").write_text("Two Qz0001.\n", encoding="utf-8")
        world.mirrors[1].settle()
        world.quiesce()
        for mirror in world.mirrors:
            mirror.freeze()
        (world.mirrors[0].root / "One.md").write_text("One mirror has other bytes.\n", encoding="utf-8")
        (world.sentinel / "Untouched.md").write_text("touched\n", encoding="utf-8")
        ledger.wrote("Qz9999", "by nobody")
        sentences = violations(world, ledger)
    finally:
        world.close()
    for sign in ("LOST Qz9999", "UNEQUAL host-0", "UNEQUAL the trees in One.md", "TWICE Qz0001", "OUTSIDE"):
        if not any(sentence.startswith(sign) for sentence in sentences):
            yield f"CANARY {sign!r} is not among {sentences}"
