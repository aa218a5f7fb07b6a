"""Rows of SYNC's tables × crash points: which scenario is in which row when it comes to which point."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from mirrord.domain.entry import NO_TEXT, File, State, UnreadableFile
from mirrord.sync.decisions import entry_decision
from mirrord.sync.decisions.entry_decision import Move, PlaceMove, plan_content, plan_place
from mirrord.sync.observation import retries

# A crash point is a call that shows in a trace (docs/design/sync.md, Safe replace); what is between two of them is the
# same for a restart.
POINTS: Mapping[str, re.Pattern[str]] = {
    "W1 new text written": re.compile(r"write\(\d+<.*/tmp/daemon/p\."),
    "W2 new text synced": re.compile(r"fsync\(\d+<.*/tmp/daemon/p\."),
    "W3 put in place": re.compile(r'renameat2\(\d+<.*/tmp/daemon>, "w\.|rename\w*\(.*, "d\.'),
    "W4 directories synced": re.compile(r"fsync\(\d+<.*/tmp/daemon>\)"),
    "W5 displaced file looked at": re.compile(r'openat\(\d+<.*/tmp/daemon>, "[wd]\..*O_RDONLY'),
    "W6 base committed": re.compile(r"sendto\("),
    "W7 displaced file to the trash": re.compile(r'rename\w*\(\d+<.*/tmp/daemon>, "[wd]\..*/trash>'),
    "W8 trash purged": re.compile(r'unlinkat\(\d+<.*/trash>, "[wd]\.'),
    "I1 file read, I2 hashed": re.compile(r'openat2\(.*\.(md|svg)", \{flags=O_RDONLY\|O_NOCTTY'),
    "I3 transaction, I4 commit": re.compile(r"sendto\("),
    "I5 cache": re.compile(r"pwrite64\(\d+<.*/state\.db-wal>"),
}
_INGEST = ("I1 file read, I2 hashed", "I3 transaction, I4 commit", "I5 cache")
_BASE = ("I3 transaction, I4 commit",)
_CREATE = ("W1 new text written", "W2 new text synced", "W3 put in place", "W4 directories synced", "W6 base committed")
_REPLACE = (*_CREATE, "W5 displaced file looked at", "W7 displaced file to the trash")
_TRASH = ("W3 put in place", "W4 directories synced", "W5 displaced file looked at", "W7 displaced file to the trash")

# Which points a row can come to at all. The others are impossible: a row that writes no file has no W, one that
# creates a file displaces none, one that only records a base reads none.
NEEDS: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(("0", "4", "8", "10", "11"), _REPLACE),
    **dict.fromkeys(("2", "14"), _CREATE),
    "13": _TRASH,
    **dict.fromkeys(("1", "5", "7", "15", "21"), _INGEST),
    **dict.fromkeys(("3", "9", "12", "16", "22"), _BASE),
    "19": _INGEST,
    "purge": ("W8 trash purged",),
    **dict.fromkeys(("L2", "L4", "L8", "L10", "F1", "F2"), _BASE),
    **dict.fromkeys(("L3", "L5", "L6"), ("W6 base committed",)),
    **dict.fromkeys(("F3", "F6"), _CREATE),
    **dict.fromkeys(("F4", "F5", "L7"), _BASE),
}
IMPOSSIBLE: Mapping[str, str] = {
    "6": "nothing is done",
    "17": "nothing is done before the file can be read, and then it is another row",
    "18": "nothing is done while Postgres is out of reach; the campaign `cuts` is about that",
    "20": "nothing is done: a problem is listed",
    "23": "nothing is done",
    "L1": "nothing is done",
    "L9": "the same calls as rows 12 and 5",
}
ROWS = (
    *(str(row) for row in range(24)),
    *(f"L{row}" for row in range(1, 11)),
    *(f"F{row}" for row in range(1, 7)),
    "purge",
)

# Rows about more than one entry, or about names: no single decision tells them.
_BY_SCENARIO: Mapping[str, tuple[str, ...]] = {
    "a twin inserted": ("L6",),
    "a file renamed by case": ("L8",),
    "a file renamed and edited": ("L10",),
    "a row renamed, its file edited": ("L10",),
    "a folder renamed": ("F1",),
    "a folder deleted": ("F2",),
    "a folder deleted, a row in it edited": ("F3",),
    "a folder's row deleted, a file new in it": ("F4",),
    "a folder's row deleted, a file moved out": ("F5",),
    "two folders moved into each other": ("L7",),
    "a child of a leaf inserted": ("F6",),
    "a trash purged": ("purge",),
    "a file emptied": ("19",),
}


@dataclass(frozen=True, slots=True)
class Seen:
    """A scenario, the rows of its decisions, and its trace."""

    scenario: str
    rows: frozenset[str]
    trace: str


def record(file: Path) -> None:
    """From now on, in this process, write down the row of every decision."""
    original = entry_decision.decide

    def decided(
        state: State, *, seen_version: int | None, adopting: bool, stale_places: bool = False
    ) -> entry_decision.Decision:
        with file.open("a", encoding="ascii") as rows:
            rows.write(" ".join((row_of(state, seen_version, adopting), place_row_of(state))) + "\n")
        return original(state, seen_version=seen_version, adopting=adopting, stale_places=stale_places)

    vars(retries)["decide"] = decided


def row_of(state: State, version_seen: int | None, adopting: bool) -> str:
    """The row of docs/design/sync.md, Content that *state* is in."""
    move, base, file, row = (
        plan_content(state, seen_version=version_seen, adopting=adopting),
        state.base,
        state.file,
        state.row,
    )
    if move is Move.RENDER:
        return "0"
    if isinstance(file, UnreadableFile):
        return "17" if file.is_temporary else "20"
    is_gone = row is None or row.deleted
    if file is None:
        if is_gone:
            return "23" if base is None else "22" if row is None else "16"
        return "2" if base is None else {Move.ENTOMB: "12"}.get(move, "14")
    if row is None:
        return "1" if base is None else "21"
    if row.deleted:
        return "13" if move is Move.TRASH else "5" if base is None else "15"
    if base is None:
        return "3" if move is Move.ADOPT else "4"
    return _both(move, file, base.digest)


def _both(move: Move, file: File, base: bytes) -> str:
    if move is Move.TO_FILE:
        return "8" if file.digest in (base, NO_TEXT) else "10"
    return {Move.NOTHING: "6", Move.ADOPT: "9", Move.TO_ROW: "7"}.get(move, "11")


def place_row_of(state: State) -> str:
    """The row of docs/design/sync.md, Places that *state* is in."""
    move, base, file = plan_place(state), state.base, state.file
    if move is PlaceMove.TO_FILE and base is not None and isinstance(file, File):
        return "L3" if base.place.name == file.place.name and base.place.parent == file.place.parent else "L5"
    return {PlaceMove.TO_ROW: "L2", PlaceMove.ADOPT: "L4"}.get(move, "L1")


def table(observations: Iterable[Seen]) -> dict[tuple[str, str], list[str]]:
    """By row and point: the scenarios that cover that cell."""
    cells: dict[tuple[str, str], list[str]] = {}
    for observation in observations:
        points = [point for point, sign in POINTS.items() if sign.search(observation.trace)]
        for row in observation.rows | set(_BY_SCENARIO.get(observation.scenario, ())):
            for point in points:
                cells.setdefault((row, point), []).append(observation.scenario)
    return cells


def empty_cells(cells: Mapping[tuple[str, str], list[str]]) -> list[str]:
    """Every cell that should be covered and is not."""
    return [
        f"EMPTY {row} × {point}" for row, points in NEEDS.items() for point in points if not cells.get((row, point))
    ]


def spelled(cells: Mapping[tuple[str, str], list[str]]) -> str:
    """The table for a person: per cell how many scenarios cover it, `.` where it is impossible."""
    heads = [point.split()[0] for point in POINTS]
    lines = ["row    " + " ".join(f"{head:>3}" for head in heads)]
    for row in ROWS:
        counts = [len(cells.get((row, point), ())) if point in NEEDS.get(row, ()) else None for point in POINTS]
        reason = f"  {IMPOSSIBLE[row]}" if row in IMPOSSIBLE else ""
        lines.append(f"{row:<6} " + " ".join(f"{'.' if n is None else n:>3}" for n in counts) + reason)
    return "\n".join(lines)
