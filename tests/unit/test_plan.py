"""
The content's table of docs/design/sync.md, Content, read as a table, against the planner in every combination there is.
"""

from collections.abc import Callable
from itertools import product
from typing import NamedTuple

import pytest

from mirrord.domain.entry import NO_TEXT, File, State, UnreadableFile
from mirrord.sync.decisions.entry_decision import Move, plan_content
from tests.unit.states import UNREADABLE, A, B, all_states, base, file, row, state


class Case(NamedTuple):
    """A state with what else the planner is told."""

    state: State
    seen_version: int | None
    adopting: bool


CASES = [Case(*case) for case in product(all_states(), (None, 1, 2, 3), (False, True))]

# Of a file: ∅ absent, ? cannot be judged, = the base's text, d the row's text (not the base's), f any other
# text, / a directory where neither base nor row is one. Of a row: ∅ none, † a tombstone, ! written by an app and
# not looked at, = the base's text, d any other text, / a folder where the base is none. Of a base: ∅ none, b.
# "old": the file's bytes are in the row's history; "ours": in a version after the base's.
TABLE = """
0    ∅b  ∅?=df/  !     always          RENDER
17   ∅b  ?       ∅†=d/ always          WAIT
1    ∅   f/      ∅     always          INSERT
2    ∅   ∅       d/    always          CREATE
3    ∅   d       d/    always          ADOPT
4    ∅   f       d     new             SIBLING
4    ∅   f       d/    old             TO_FILE
4    ∅   /       d     always          TO_FILE
4    ∅   f       /     new             TO_ROW
5    ∅   f/      †     not stale       REVIVE
5    ∅   f/      †     stale           TRASH
6    b   =       =     same version    NOTHING
6    b   =       =     another version ADOPT
7    b   f/      =     not stale       TO_ROW
7    b   f/      =     stale           TO_FILE
8    b   =       d/    always          TO_FILE
9    b   d       d/    always          ADOPT
10   b   f       d/    known           TO_FILE
11   b   f       d     unknown         MERGE
11   b   f       /     unknown         TO_ROW
12   b   ∅       =     not adopting    ENTOMB
12   b   ∅       =     adopting        CREATE
13   b   =       †     always          TRASH
14   b   ∅       d/    always          CREATE
14   b   /       d     always          TO_FILE
15   b   f/      †     not stale       REVIVE
15   b   f/      †     stale           TRASH
16   b   ∅       †     always          FORGET
21   b   =f/     ∅     always          REINSERT
22   b   ∅       ∅     always          FORGET
23   ∅   ∅       ∅†    always          NOTHING
"""


class Line(NamedTuple):
    """One line of the table."""

    number: str
    bases: str
    files: str
    rows: str
    when: str
    move: Move

    def holds(self, case: Case) -> bool:
        """Whether the line speaks of *case*."""
        situation = case.state
        return (
            _base_sign(situation) in self.bases
            and _file_sign(situation) in self.files
            and _row_sign(situation) in self.rows
            and CONDITIONS[self.when](case)
        )


def _lines() -> list[Line]:
    lines = [line.split() for line in TABLE.strip().splitlines()]
    return [
        Line(number, bases, files, rows, " ".join(when), Move[move])
        for number, bases, files, rows, *when, move in lines
    ]


def _base_sign(state: State) -> str:
    return "∅" if state.base is None else "b"


def _row_sign(state: State) -> str:
    if state.row is None:
        return "∅"
    if state.row.deleted:
        return "†"
    if state.row.ahead or state.row.digest is None:
        return "!"
    if state.base is not None and state.row.digest == state.base.digest:
        return "="
    return "/" if state.row.digest == NO_TEXT else "d"


def _file_sign(state: State) -> str:
    if state.file is None:
        return "∅"
    if isinstance(state.file, UnreadableFile):
        return "?"
    if state.base is not None and state.file.digest == state.base.digest:
        return "="
    if state.row is not None and not state.row.deleted and state.file.digest == state.row.digest:
        return "d"
    return "/" if state.file.digest == NO_TEXT else "f"


def _is_stale(case: Case) -> bool:
    """Under the adoption rules bytes that are in the history are no edit."""
    return case.adopting and case.seen_version is not None


def _is_ours(case: Case) -> bool:
    """Bytes we wrote and were killed before recording."""
    assert case.state.base is not None
    assert case.state.row is not None
    return case.seen_version is not None and case.state.base.version < case.seen_version <= case.state.row.version


def _has_its_version(case: Case) -> bool:
    assert case.state.base is not None
    assert case.state.row is not None
    return case.state.base.version == case.state.row.version


CONDITIONS: dict[str, Callable[[Case], bool]] = {
    "always": lambda case: True,
    "new": lambda case: case.seen_version is None,
    "old": lambda case: case.seen_version is not None,
    "adopting": lambda case: case.adopting,
    "not adopting": lambda case: not case.adopting,
    "stale": _is_stale,
    "not stale": lambda case: not _is_stale(case),
    "known": lambda case: _is_ours(case) or _is_stale(case),
    "unknown": lambda case: not (_is_ours(case) or _is_stale(case)),
    "same version": _has_its_version,
    "another version": lambda case: not _has_its_version(case),
}


def planned(case: Case) -> Move:
    return plan_content(case.state, seen_version=case.seen_version, adopting=case.adopting)


def test_the_table_has_exactly_one_line_for_every_case() -> None:
    lines = _lines()
    ambiguous = [case for case in CASES if sum(line.holds(case) for line in lines) != 1]
    assert ambiguous == []


@pytest.mark.parametrize("line", _lines(), ids=lambda line: f"row {line.number} {line.move.name}")
def test_the_planner_follows_the_table(line: Line) -> None:
    cases = [case for case in CASES if line.holds(case)]
    assert cases
    assert [case for case in cases if planned(case) is not line.move] == []


def _is_unsaved_edit(case: Case) -> bool:
    """Whether the file shows text that is nowhere else."""
    situation = case.state
    known_digests = {side.digest for side in (situation.base, situation.row) if side is not None}
    file_side = situation.file
    return (
        case.seen_version is None and isinstance(file_side, File) and file_side.digest not in {*known_digests, NO_TEXT}
    )


def test_an_edit_in_a_file_is_never_planned_away() -> None:
    keeping = {
        *(Move.INSERT, Move.REINSERT, Move.TO_ROW, Move.MERGE, Move.SIBLING, Move.REVIVE),
        *(Move.RENDER, Move.WAIT),
    }
    edits = [case for case in CASES if _is_unsaved_edit(case)]
    assert edits
    assert [case for case in edits if planned(case) not in keeping] == []


def test_an_edit_in_a_row_is_never_planned_away() -> None:
    """Where the row has text that the base has not, no move replaces or deletes it."""
    losing = {Move.TO_ROW, Move.ENTOMB, Move.TRASH, Move.FORGET, Move.REVIVE}
    edits = [case for case in CASES if _row_sign(case.state) in ("d", "!")]
    assert edits
    assert [case for case in edits if planned(case) in losing] == []


def test_a_row_is_deleted_only_for_an_absent_file_whose_row_nobody_changed() -> None:
    for case in CASES:
        if planned(case) is Move.ENTOMB:
            situation = case.state
            assert not case.adopting
            assert situation.file is None
            assert situation.base is not None
            assert situation.row is not None
            assert situation.row.digest == situation.base.digest


def test_a_file_is_deleted_only_for_a_tombstone_and_with_bytes_that_are_kept_elsewhere() -> None:
    for case in CASES:
        if planned(case) is Move.TRASH:
            situation = case.state
            assert situation.row is not None
            assert situation.row.deleted
            assert isinstance(situation.file, File)
            agreed = situation.base is not None and situation.file.digest == situation.base.digest
            assert agreed or (case.adopting and case.seen_version is not None)


def test_nothing_is_decided_while_the_file_cannot_be_judged() -> None:
    cases = [case for case in CASES if case.state.file is UNREADABLE]
    assert {planned(case) for case in cases} == {Move.WAIT, Move.RENDER}


def test_what_is_in_sync_stays_untouched_whatever_else_is_known() -> None:
    in_sync = state(base(), file(), row())
    moves = {
        plan_content(in_sync, seen_version=seen_version, adopting=adopting)
        for seen_version in (None, 1, 2)
        for adopting in (False, True)
    }
    assert moves == {Move.NOTHING}


def test_a_deletion_and_an_edit_end_with_the_edit() -> None:
    assert plan_content(state(base(A), file(B), row(A, deleted=True, version=3))) is Move.REVIVE
    assert plan_content(state(base(A), None, row(B, version=3))) is Move.CREATE


@pytest.mark.parametrize("adopting", [False, True])
def test_of_what_was_purged_only_bytes_that_nobody_else_has_come_back(adopting: bool) -> None:
    """SYNC fault 96: the mirror was away until nothing was left of the deletion but its mark."""
    purged_row = row(None, version=0, placed=False, deleted=True, purged=True)
    assert plan_content(state(base(A), file(A), purged_row), adopting=adopting) is Move.TRASH
    assert plan_content(state(base(A), file(B), purged_row), adopting=adopting) is Move.REINSERT
    assert plan_content(state(None, file(B), purged_row), adopting=adopting) is Move.INSERT
    assert plan_content(state(base(A), None, purged_row), adopting=adopting) is Move.FORGET
    assert plan_content(state(None, None, purged_row), adopting=adopting) is Move.NOTHING
    assert plan_content(state(base(A), UNREADABLE, purged_row), adopting=adopting) is Move.WAIT
