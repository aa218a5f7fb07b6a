"""A tool and an editor write the same page, up to a hundred times a second; no acknowledged text may vanish."""

import random
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from mirrord.commands.core.failure import Failed
from mirrord.commands.core.session import Session
from mirrord.commands.pages import page_commands
from mirrord.mirror.write.journal import COPY_PREFIX, JOURNALS_PATH
from tests.faults.tokens import Ledger, tokens_in, tokens_of_files, tokens_of_rows
from tests.faults.world import Cluster, World
from tests.support.agents import agent
from tests.support.harness import eventually
from tests.support.trees import contents, files

PAGE = "Page.md"
RATES = (1.0, 10.0, 30.0, 70.0, 100.0)  # saves a second
_PATIENCE_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Race:
    """What is played. by_rename: the editor writes beside and renames; else it writes in place."""

    saves_per_second: float
    by_rename: bool
    writes: int


@dataclass(slots=True)
class Played:
    """acknowledged: writes of the tool that returned. lost: tokens of them that are nowhere."""

    acknowledged: int
    lost: list[str]


def drawn(seed: int, writes: int) -> Race:
    """The race of a seed."""
    chance = random.Random(seed)
    return Race(chance.choice(RATES), chance.random() < 0.5, writes)


def play(cluster: Cluster, directory: Path, name: str, race: Race) -> Played:
    """Let both write until the tool has had so many writes acknowledged; then look for every one of them."""
    world, ledger = World(cluster, directory, name), Ledger()
    mirror = world.mirrors[0]
    try:
        mirror.begin()
        mirror.wait_ready()
        page = mirror.root / PAGE
        page.write_text("# Page\n", encoding="utf-8")
        mirror.settle()
        with agent(mirror) as session, _editor(page, race):
            while len(ledger.written) < race.writes:
                _write(session, ledger)
        mirror.settle()
        waiting = len(_copies(mirror.root))
        fewer = partial(_are_fewer, mirror.root, waiting)  # then each was looked at; they are taken in one by one
        eventually(lambda: fewer() or None, "a copy is taken in, or none waits", _PATIENCE_SECONDS)
        lost = ledger.written.keys() - _copied(mirror.root) - tokens_of_rows(world) - tokens_of_files(world)
        return Played(len(ledger.written), [f"LOST {token} of {race}" for token in sorted(lost)])
    finally:
        world.close()


def _copies(root: Path) -> list[Path]:
    """Texts of the tool that wait for the daemon to find them in the history."""
    return [path for path in files(root / JOURNALS_PATH) if path.name.startswith(COPY_PREFIX)]


def _copied(root: Path) -> set[str]:
    """The tokens of those texts; the daemon may take a file over from a tool's journal while they are read."""
    while True:
        copies = _copies(root)
        texts = {path: contents(path) for path in copies}
        if copies == _copies(root) and None not in texts.values():
            return {token for data in texts.values() if data is not None for token in tokens_in(data)}


def _are_fewer(root: Path, before: int) -> bool:
    return before == 0 or len(_copies(root)) < before


def _write(session: Session, ledger: Ledger) -> None:
    """One write of the tool, of what it has read; where a save came between, it is not acknowledged."""
    token = ledger.token()
    try:
        page_commands.read_page(session, PAGE)
        page_commands.write_page(session, PAGE, f"# Page\n\nThe tool says {token}.\n")
    except Failed:
        return
    ledger.wrote(token, "write_page")


@contextmanager
def _editor(page: Path, race: Race) -> Iterator[None]:
    """An editor that saves at that rate for the length of the `with`. What it destroys itself is nobody's duty."""
    stop = threading.Event()

    def type_and_save() -> None:
        number = 0
        while not stop.wait(1 / race.saves_per_second):
            number += 1
            before = contents(page) or b""
            _save(page, before[-200:] + f"\nThe editor saves {number}.\n".encode(), race)

    editor = threading.Thread(target=type_and_save)
    editor.start()
    try:
        yield
    finally:
        stop.set()
        editor.join()


def _save(page: Path, data: bytes, race: Race) -> None:
    if not race.by_rename:
        page.write_bytes(data)
        return
    beside = page.with_name(f".{page.name}.swp")
    beside.write_bytes(data)
    beside.replace(page)
