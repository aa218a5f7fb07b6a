"""A few seconds of every campaign of `make fault`, with fixed seeds."""

import shutil
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.faults import canaries, courses, coverage, cuts, machine, race, syscalls
from tests.faults.bound.app_acts import change_space, upload
from tests.faults.bound.bound_history import begin_history, bound_history, play_bound, settle_sides
from tests.faults.bound.bound_oracle import bound_violations
from tests.faults.bound.bound_world import BoundLedger, BoundWorld
from tests.faults.bound.shapes import NOTES, WIKI
from tests.faults.campaigns import Outcome, find_broken
from tests.faults.injection import Point, missing
from tests.faults.mutants import QUICK, Mutant, is_caught
from tests.faults.proxy import Proxy
from tests.faults.scenarios import KNOWN, KNOWN_WITH_ERRORS, SCENARIOS
from tests.faults.world import Cluster

BY_NAME = {scenario.name: scenario for scenario in SCENARIOS}


@pytest.fixture
def sockets(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A directory with a short name: those of sockets are."""
    directory = tmp_path_factory.mktemp("s")
    yield directory
    shutil.rmtree(directory, ignore_errors=True)


@pytest.mark.parametrize("seed", [3, 5])
def test_two_mirrors_and_an_app_agree_after_whatever_happened(own_cluster: Cluster, tmp_path: Path, seed: int) -> None:
    history = machine.history(seed, length=12)
    lines: list[str] = []
    violations = machine.play(own_cluster, tmp_path / "run", f"history-{seed}", history, lines.append)

    assert violations == [], "\n".join(lines)


@pytest.mark.timeout(300)
@pytest.mark.parametrize("seed", [1, 2, 4])  # of each kind of app one
def test_a_bound_app_its_pages_and_their_files_agree_after_whatever_happened(
    own_cluster: Cluster, tmp_path: Path, seed: int
) -> None:
    history = bound_history(seed, length=12)
    lines: list[str] = []
    violations = play_bound(own_cluster, tmp_path / "run", f"bound-{seed}", history, lines.append)

    assert violations == [], "\n".join(lines)


@pytest.mark.timeout(400)  # a busy machine needs several times the 20 seconds of an idle one
@pytest.mark.parametrize("by_rename", [True, False])
def test_no_acknowledged_write_of_a_tool_vanishes_beside_an_editor(
    own_cluster: Cluster, tmp_path: Path, *, by_rename: bool
) -> None:
    contest = race.Race(saves_per_second=70.0, by_rename=by_rename, writes=25)  # `make fault` plays 500
    played = race.play(own_cluster, tmp_path / "run", f"race-{by_rename}".lower(), contest)

    assert played.acknowledged == contest.writes
    assert played.lost == []


def test_a_cut_before_any_of_some_messages_changes_nothing(own_cluster: Cluster, tmp_path: Path, sockets: Path) -> None:
    with Proxy(own_cluster.dsn, sockets) as proxy:
        uncut = cuts.play_uncut(own_cluster, proxy, tmp_path, BY_NAME["a file edited"])
        for recording, number in cuts.sampled([uncut], 1)[:5]:
            assert cuts.play(own_cluster, proxy, tmp_path, recording, number) == [], f"cut before message {number}"


@pytest.mark.parametrize("name", ["a file edited", "both edited, apart"])
def test_a_commit_whose_answer_is_lost_is_neither_lost_nor_repeated(
    own_cluster: Cluster, tmp_path: Path, sockets: Path, name: str
) -> None:
    with Proxy(own_cluster.dsn, sockets) as proxy:
        uncut = cuts.play_uncut(own_cluster, proxy, tmp_path, BY_NAME[name])
        numbers = list(cuts.commits_of_writes(uncut))
        assert numbers, "nothing was written"
        for number in numbers:
            assert cuts.play(own_cluster, proxy, tmp_path, uncut, number) == [], f"cut before message {number}"


@pytest.mark.skipif(missing() is not None, reason=str(missing()))
@pytest.mark.parametrize(
    ("name", "point"),
    [
        ("a file edited", Point("sendto", 40)),
        ("both edited, apart", Point("renameat2", 1)),
        ("a row deleted", Point("fsync", 2)),
        ("a save left in the journal", Point("renameat", 1)),
        ("a row inserted", Point("write", 1, "ENOSPC")),
        ("a file edited", Point("openat2", 25, "EIO")),  # the journals of commands, while it is looked whose a file is
    ],
)
def test_a_fault_at_a_system_call_is_survived(own_cluster: Cluster, tmp_path: Path, name: str, point: Point) -> None:
    rehearsal = syscalls.rehearse(own_cluster, tmp_path, BY_NAME[name])

    assert rehearsal.wrong == []
    assert point.number <= rehearsal.trace.counts()[point.call], "the scenario makes fewer such calls"
    assert syscalls.play(own_cluster, tmp_path, rehearsal, point) == []


def test_the_oracles_see_what_is_wrong(own_cluster: Cluster, tmp_path: Path) -> None:
    assert canaries.silent(own_cluster, tmp_path) == []


@pytest.mark.timeout(300)
@pytest.mark.parametrize("mutant", QUICK, ids=lambda mutant: str(mutant.name))
def test_an_engine_without_a_guard_is_caught(mutant: Mutant) -> None:
    assert is_caught(mutant) is None


@pytest.mark.timeout(300)
def test_the_oracle_of_bound_apps_sees_what_is_wrong(own_cluster: Cluster, tmp_path: Path) -> None:
    world, ledger = BoundWorld(own_cluster, tmp_path / "run", "bound-canary", NOTES), BoundLedger()
    try:
        begin_history(world, ledger, first_rows=3)
        upload(world, ledger, 0, 0)
        settle_sides(world, ledger)
        assert bound_violations(world, ledger) == []
        for mirror in world.mirrors:
            mirror.end(signal.SIGTERM)
        rows = world.rows()
        parents = {row.parent for row in rows.values()}
        twice, changed, unseen = sorted(rows, key=lambda key: (key not in parents, key))[-3:]  # the last has none below
        token, undone = ledger.token(), ledger.token()
        ledger.undone.add(undone)
        ledger.wrote(token, "never")
        for key, word in ((twice, "Qz0001 Qz0001"), (changed, undone)):
            world.write(NOTES.replace, f"{word}\n", key)
        world.write("UPDATE {s}.upload SET content = 'Other bytes'")
        world.write("DELETE FROM {s}.note WHERE id::text = %s", unseen)
        sentences = "\n".join(bound_violations(world, ledger))
    finally:
        world.close()

    for sentence in (
        f"LOST {token}",
        f"NOT LIVING {token}",
        "TWICE Qz0001",
        f"GHOST {undone}",
        f"UNEQUAL the text of {changed}",
        f"{unseen} has no row and no problem",
        "UNEQUAL the file file:1",
    ):
        assert sentence in sentences, f"{sentence!r} is not among\n{sentences}"


@pytest.mark.timeout(300)
def test_the_oracle_of_spaces_sees_pages_that_are_in_another_space(own_cluster: Cluster, tmp_path: Path) -> None:
    world, ledger = BoundWorld(own_cluster, tmp_path / "run", "space-canary", WIKI), BoundLedger()
    try:
        begin_history(world, ledger, first_rows=3)
        change_space(world, ledger, 0, 1)
        settle_sides(world, ledger)
        assert bound_violations(world, ledger) == []
        for mirror in world.mirrors:
            mirror.end(signal.SIGTERM)
        key = sorted(world.rows())[0]
        world.write("UPDATE {s}.doc SET parent = NULL, space = 3 WHERE id::text = %s", key)
        world.write("UPDATE {s}.space SET name = 'Cellar' WHERE id = 2")
        sentences = "\n".join(bound_violations(world, ledger))
    finally:
        world.close()

    assert f"UNEQUAL the parent of {key}" in sentences
    assert "UNEQUAL the space space:2 'Cellar'" in sentences


def test_the_table_knows_every_row_of_the_tables() -> None:
    assert coverage.NEEDS.keys() | coverage.IMPOSSIBLE.keys() == set(coverage.ROWS)
    assert not coverage.NEEDS.keys() & coverage.IMPOSSIBLE.keys()


def test_what_is_known_to_fail_is_a_scenario() -> None:
    assert (KNOWN.keys() | KNOWN_WITH_ERRORS.keys()) <= BY_NAME.keys()


def test_a_scenario_has_one_name() -> None:
    assert len(BY_NAME) == len(SCENARIOS) >= 20


def test_shrinking_finds_the_steps_that_matter() -> None:
    steps = [courses.Step("pause", number, 0) for number in range(20)]
    fewer = courses.shrink(steps, lambda remaining: {3, 17} <= {step.first for step in remaining})

    assert [step.first for step in fewer] == [3, 17]


def test_an_attempt_that_ends_by_an_error_is_a_failure(tmp_path: Path) -> None:
    def read_missing() -> list[str]:
        return [(tmp_path / "missing").read_text()]

    outcome = Outcome()
    for attempt in (read_missing, list[str]):
        outcome.take(attempt.__name__, find_broken(attempt))

    assert outcome.played == 2
    ((replay, sentences),) = outcome.failures
    assert replay == "read_missing"
    assert sentences[0].startswith("BROKEN FileNotFoundError")
    assert any("read_missing" in line for line in sentences), "it says where"
