"""The full campaign's bookkeeping, and that docs/reliability.md says what the ledger says."""

from dataclasses import replace
from pathlib import Path

from tests.faults.full import HISTORIES, LIVES, PAGE, Line, Lot, crashes, ledger, lots, table
from tests.faults.machine import history


def _line(lot: Lot, failed: list[str]) -> Line:
    return Line(lot.campaign, lot.subject, 10, failed, 60, "0123abcd", "2026-01-31")


def test_the_page_shows_what_the_ledger_holds() -> None:
    assert table(ledger()) in PAGE.read_text(encoding="utf-8"), "print it with `python -m tests.faults.full --table`"


def test_the_lots_are_all_that_is_promised_each_once() -> None:
    every = list(lots())

    assert len(every) == len(set(every))
    assert sorted(seed for lot in every if lot.campaign == "machine" for seed in lot.seeds()) == list(range(HISTORIES))
    assert sorted(seed for lot in every if lot.campaign == "planner" for seed in lot.seeds()) == list(range(LIVES))
    assert sum(lot.campaign == "syscalls" for lot in every) >= 20


def test_the_last_line_of_a_lot_counts(tmp_path: Path) -> None:
    file, lot = tmp_path / "ledger", Lot("machine", "0+10")
    _line(lot, ["SEED=3: LOST"]).append(file)
    _line(Lot("mutants"), []).append(file)
    last = replace(_line(lot, []), repeated=["SEED=4: not ready in time"])
    last.append(file)

    assert ledger(file) == {lot: last, Lot("mutants"): _line(Lot("mutants"), [])}
    assert "| `machine` | 1 of 100 | 10 | 0 | 1 |" in table(ledger(file))


def test_crashes_of_postgres_are_counted_in_what_was_played() -> None:
    lot = Lot("machine", "0+10")
    steps = [step.name for seed in range(10) for step in history(seed).steps]

    assert crashes({lot: _line(lot, [])}) == steps.count("crash Postgres") > 0
