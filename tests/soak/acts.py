"""The acts of a soak: those of the fault campaigns, few of which make and remove, so that hours stay alike."""

from collections.abc import Set
from dataclasses import dataclass
from random import Random

from tests.faults.file_acts import FILE_ACTS, Act, files_of
from tests.faults.halt_acts import HALT_ACTS
from tests.faults.record_acts import RECORD_ACTS
from tests.faults.row_acts import ROW_ACTS
from tests.faults.tool_acts import TOOL_ACTS
from tests.faults.world import World

CHURN_SHARE = 0.02  # of all acts make or remove something
REGROWTH_SHARE = 0.2  # the same while more than half of the pages are missing
PROGRAM_SHARE = 0.03  # of all acts on files are those of programs that change many files at once
ACCIDENT_SHARE = 0.002  # of all acts remove so much that mirrord stops and asks

_IN_FILES = {name: act for name, act in {**FILE_ACTS, **TOOL_ACTS, **RECORD_ACTS}.items() if "row" not in name}
_IN_FILES["remove shelves"] = HALT_ACTS["remove shelves"]
_IN_ROWS = {**ROW_ACTS, **{name: act for name, act in RECORD_ACTS.items() if "row" in name}}
_IN_ROWS["delete many rows"] = HALT_ACTS["delete many rows"]
_PROGRAMS = {"copy folder", "put copy back", "check out"}  # `cp -r`, `unzip -o`, `git checkout --force`
_MAKING = {"make", "copy", "insert row", "insert document", "insert folder row", "restore row"}
_REMOVING = {"remove", "delete row"}
_ACCIDENTS = {"remove folder", "remove shelves", "delete many rows"}


@dataclass(frozen=True, slots=True)
class Choice:
    """An act and the numbers it chooses its target by."""

    name: str
    act: Act
    first: int
    second: int


def in_files(world: World, chance: Random, pages: int) -> Choice:
    """The next act on a file. pages: how many there are at the start, and about as many all the time."""
    return _choose(world, chance, pages, _IN_FILES)


def in_rows(world: World, chance: Random, pages: int) -> Choice:
    """The next act of an app on a row. pages: as for files."""
    return _choose(world, chance, pages, _IN_ROWS)


def _choose(world: World, chance: Random, pages: int, acts: dict[str, tuple[int, Act]]) -> Choice:
    names = sorted(acts.keys() & _kind_of_acts(chance.random(), pages, len(files_of(world, 0)), acts.keys()))
    (name,) = chance.choices(names, [acts[name][0] for name in names])
    return Choice(name, acts[name][1], chance.randrange(1 << 20), chance.randrange(1 << 20))


def _kind_of_acts(draw: float, pages: int, pages_now: int, names: Set[str]) -> Set[str]:
    """The acts to choose from. draw: from 0 to 1. pages_now: the pages of the first tree, where a census is taken."""
    if draw < ACCIDENT_SHARE:
        return _ACCIDENTS
    if (draw := draw - ACCIDENT_SHARE) < (REGROWTH_SHARE if 2 * pages_now < pages else CHURN_SHARE):
        return _MAKING if pages_now < pages else _REMOVING
    if 1.0 - draw < PROGRAM_SHARE and "check out" in names:
        return _PROGRAMS if pages_now < 1.5 * pages else {"check out"}
    return names - _PROGRAMS - _MAKING - _REMOVING - _ACCIDENTS
