"""
The one schedule of a daemon: when each mirror is scanned, compared, read and purged, and when it closes its files.

Mirrors take turns, one after the other, so that the work of a thousand idle ones is spread, and is a small share of a
core however many there are.
"""

import asyncio
import time
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import islice

from mirrord.daemon.purges import purge_tombstones, remove_old_texts
from mirrord.daemon.running_mirror import RunningMirror
from mirrord.domain.history_rule import HistoryRules
from mirrord.mirror.process_setup import return_free_memory
from mirrord.sync.timing import pause

SCAN_SECONDS = 60.0  # seconds between scans of a tree
SCAN_FACTOR = 200  # the time between two scans of a tree is at least so many times the processor time of a scan of all
TURN_SECONDS = 0.002  # processor time of a turn besides the scan: looks at requests, leftovers and the trash
TURN_FACTOR = 200  # the time between two turns of a mirror is at least so many times that of the turns of all
MAX_ROUND_SECONDS = 3600.0  # seconds between scans of a tree at most
COMPARE_SECONDS = 600.0  # seconds between full compares of rows with bases
COMPARE_SECONDS_PER_MIRROR = 60.0  # seconds at least between two compares, for each mirror
REREAD_SECONDS = 86_400.0  # seconds between readings of every file
PURGE_SECONDS = 86_400.0  # seconds between searches for tombstones and texts of versions past their time
FIRST_PURGE_SECONDS = 600.0  # seconds from the start to the first one: a daemon may run for less than a day each time
FEW_MIRRORS = 20  # so few keep their caches open while they are at rest
REST_SECONDS = 10.0  # seconds without work after which a mirror of many closes its cache
FREE_SECONDS = 60.0  # seconds at least between two times at which freed memory is given back: others wait meanwhile
MAX_RESTING_TOGETHER = 50  # caches that are closed in one go: each may wait for the disk
LATEST_LOOK_SECONDS = 5.0  # seconds after which a new mirror has its place in the round


def seconds_between_scans(scan_seconds: float, mirrors: int) -> float:
    """
    Seconds between a turn and that of the next mirror.

    scan_seconds: the processor time of a scan of each tree, added up.
    """
    round_seconds = max(SCAN_SECONDS, SCAN_FACTOR * scan_seconds, TURN_FACTOR * TURN_SECONDS * mirrors)
    return min(MAX_ROUND_SECONDS, round_seconds) / max(1, mirrors)


@dataclass(slots=True)
class _Turns:
    """When a mirror had its last turns, by the monotonic clock."""

    compared_at: float
    reread_at: float
    purged_at: float


@dataclass(slots=True)
class MirrorRounds:
    """The schedule. mirrors: the running ones by name, which come and go. history: which versions keep their texts."""

    mirrors: Mapping[str, RunningMirror]
    history: HistoryRules
    _round: deque[str] = field(default_factory=deque)
    _turns: dict[str, _Turns] = field(default_factory=dict)
    _scan_seconds: float = 0.0  # of a scan of each tree, added up
    _summed_at: float = -LATEST_LOOK_SECONDS  # when they were added up, by the monotonic clock

    async def scan(self, stop: asyncio.Event) -> None:
        """Let mirrors look at their trees, one after the other, until *stop*."""
        scanned_at = time.monotonic()
        while not stop.is_set():
            self._arrange_round()
            due_at = scanned_at + seconds_between_scans(self._sum_scan_seconds(), len(self._round))
            waiting_seconds = max(0.0, due_at - time.monotonic()) if self._round else LATEST_LOOK_SECONDS
            await pause(stop, min(LATEST_LOOK_SECONDS, waiting_seconds))
            self._arrange_round()  # mirrors may have left meanwhile
            if self._round and time.monotonic() >= due_at:
                scanned_at = time.monotonic()
                self._take_turn(self._round[0])
                self._round.rotate(-1)

    def _sum_scan_seconds(self) -> float:
        """The processor time of a scan of each tree, which changes little from one turn to the next."""
        if time.monotonic() - self._summed_at >= LATEST_LOOK_SECONDS:
            self._summed_at = time.monotonic()
            self._scan_seconds = sum(mirror.engine.scan_seconds for mirror in self.mirrors.values())
        return self._scan_seconds

    def _arrange_round(self) -> None:
        """Let new mirrors join the round at its end, and others leave it."""
        if self._turns.keys() == self.mirrors.keys():
            return
        now = time.monotonic()
        added = [name for name in self.mirrors if name not in self._turns]
        self._turns |= {name: _Turns(now, now, now + FIRST_PURGE_SECONDS - PURGE_SECONDS) for name in added}
        for name in self._turns.keys() - self.mirrors.keys():
            del self._turns[name]
        self._round = deque(name for name in [*self._round, *added] if name in self._turns)

    def _take_turn(self, name: str) -> None:
        mirror, turns, now = self.mirrors[name], self._turns[name], time.monotonic()
        mirror.look_at_files()
        if now - turns.compared_at > max(COMPARE_SECONDS, COMPARE_SECONDS_PER_MIRROR * len(self._round)):
            turns.compared_at = now
            mirror.engine.request_comparison()
        if now - turns.reread_at > REREAD_SECONDS:
            turns.reread_at = now
            mirror.reread()

    async def rest(self, stop: asyncio.Event) -> None:
        """Let mirrors that have nothing to do close the caches of their trees, until *stop*."""
        returned_at, has_freed = -FREE_SECONDS, False
        while not stop.is_set():
            await pause(stop, LATEST_LOOK_SECONDS)
            if len(self.mirrors) > FEW_MIRRORS and (resting := self._list_resting()):
                await asyncio.to_thread(_close_caches, resting)
                has_freed = True
            if has_freed and time.monotonic() - returned_at >= FREE_SECONDS:
                returned_at, has_freed = time.monotonic(), False
                await asyncio.to_thread(return_free_memory)

    def _list_resting(self) -> list[RunningMirror]:
        """Some mirrors at rest with open caches."""
        latest = time.monotonic() - REST_SECONDS
        resting = (
            mirror
            for mirror in self.mirrors.values()
            if mirror.engine.sides.state.is_open
            and (stepped_at := mirror.engine.pulse.stepped_at) is not None
            and stepped_at < latest
            and mirror.idle
        )
        return list(islice(resting, MAX_RESTING_TOGETHER))

    async def purge(self, stop: asyncio.Event) -> None:
        """Purge what is past its time, of one mirror after the other, until *stop*."""
        while not stop.is_set():
            await pause(stop, SCAN_SECONDS)
            for name in list(self._turns):
                if stop.is_set():
                    break
                await self._purge_if_due(name)

    async def _purge_if_due(self, name: str) -> None:
        mirror, turns, now = self.mirrors.get(name), self._turns.get(name), time.monotonic()
        if mirror is None or turns is None or now - turns.purged_at <= PURGE_SECONDS:
            return
        turns.purged_at = now
        await purge_tombstones(mirror.engine.sides)
        await remove_old_texts(mirror.engine.sides, self.history.of_tenant(name))


def _close_caches(mirrors: list[RunningMirror]) -> None:
    """Blocking."""
    for mirror in mirrors:
        mirror.engine.sides.state.rest()
