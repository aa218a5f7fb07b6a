"""What `mirrord check --fix` says of a path that differs still."""

from datetime import UTC, datetime

import pytest

from mirrord.cli.check_command import CheckResult, explain_finding
from mirrord.db.open_issues import Halt, Problem
from mirrord.operations.tenant_check import Finding, Verdict

STALE = Finding("a.md", Verdict.STALE)
HALT = Halt(3, "mass-delete", "row", "Many are gone.", [], None, datetime(2026, 1, 1, tzinfo=UTC))


def test_the_problem_of_a_path_is_the_reason() -> None:
    problems = [Problem("a.md", "unwritable", "It cannot be written."), Problem("", "root", "Sync is paused.")]
    assert explain_finding(STALE, problems, [HALT]) == "It cannot be written."


def test_else_what_holds_up_the_whole_tenant() -> None:
    assert (
        explain_finding(STALE, [Problem("", "root", "Sync is paused."), Problem("c.md", "name", "Odd.")], [])
        == "Sync is paused."
    )


@pytest.mark.parametrize("verdict", [Verdict.MISSING, Verdict.EXTRA])
def test_a_halt_holds_up_what_is_on_one_side_only(verdict: Verdict) -> None:
    assert "`mirrord halts`" in explain_finding(Finding("b.md", verdict), [], [HALT])
    assert "`mirrord halts`" not in explain_finding(STALE, [], [HALT])


@pytest.mark.parametrize("verdict", [verdict for verdict in Verdict if verdict is not Verdict.OK])
def test_every_verdict_has_a_reason_that_is_likely(verdict: Verdict) -> None:
    assert "`mirrord status`" in explain_finding(Finding("a.md", verdict), [], [])


def test_what_was_odd_and_is_not_any_more_was_mended() -> None:
    result = CheckResult([STALE, Finding("b.md", Verdict.OK)], {"a.md": Verdict.STALE, "b.md": Verdict.MISSING}, {})
    assert (result.differing, result.repaired) == ([STALE], {"b.md": Verdict.MISSING})
