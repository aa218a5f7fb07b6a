"""Who does what in a soak: the acts of the fault campaigns, few of which make and remove, so that hours stay alike."""

from dataclasses import dataclass
from random import Random

from tests.faults.file_acts import FILE_ACTS, Act, files_of
from tests.faults.record_acts import RECORD_ACTS
from tests.faults.row_acts import ROW_ACTS
from tests.faults.tool_acts import TOOL_ACTS
from tests.faults.world import World

CHURN = 0.02  # of all acts make or remove something

_IN_FILES = {name: act for name, act in {**FILE_ACTS, **TOOL_ACTS, **RECORD_ACTS}.items() if "row" not in name}
_IN_ROWS = {**ROW_ACTS, **{name: act for name, act in RECORD_ACTS.items() if "row" in name}}
_MORE = {
    "make",
    "copy",
    "copy folder",
    "put copy back",
    "check out",
    "insert row",
    "insert document",
    "insert folder row",
    "restore row",
}
_FEWER = {"remove", "delete row"}
_LEFT_OUT = {"remove folder"}  # hundreds of files at once are an accident to mirrord, which stops and asks


@dataclass(frozen=True, slots=True)
class Choice:
    """An act and the numbers it chooses its target by."""

    name: str
    act: Act
    first: int
    second: int


def in_files(world: World, chance: Random, pages: int) -> Choice:
    """What somebody does to a file next. pages: that there are at the start, and about as many all the time."""
    return _chosen(world, chance, pages, _IN_FILES)


def in_rows(world: World, chance: Random, pages: int) -> Choice:
    """What an app does to a row next. pages: as for files."""
    return _chosen(world, chance, pages, _IN_ROWS)


def _chosen(world: World, chance: Random, pages: int, acts: dict[str, tuple[int, Act]]) -> Choice:
    """The census is taken in the first tree."""
    fitting = acts.keys() - _MORE - _FEWER - _LEFT_OUT
    if chance.random() < CHURN:
        fitting = acts.keys() & (_MORE if len(files_of(world, 0)) < pages else _FEWER)
    names = sorted(fitting)
    (name,) = chance.choices(names, [acts[name][0] for name in names])
    return Choice(name, acts[name][1], chance.randrange(1 << 20), chance.randrange(1 << 20))
