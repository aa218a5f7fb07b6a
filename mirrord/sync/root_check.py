"""The root of a tree: is it still the directory this mirror was started on?"""

import asyncio
import logging
import time
from contextlib import suppress
from datetime import UTC, datetime

from mirrord.db.open_issues import Problem
from mirrord.errors import MirrordError, Refused
from mirrord.mirror import tree_marker
from mirrord.mirror.mirror_state import State
from mirrord.mirror.tree.kernel import Stat
from mirrord.mirror.tree.tenant_tree import Tree
from mirrord.mirror.tree.tree_layout import PAUSE_FILE
from mirrord.sync.decisions.guard import check_root, check_space
from mirrord.sync.handshake import Handshake
from mirrord.sync.observation.mirror_handles import Sides
from mirrord.sync.problem_list import ProblemList

log = logging.getLogger(__name__)

ANSWER_SECONDS = 0.02  # seconds for which an answer is valid: one edit asks twice
OWN_STATE_SECONDS = 1.0  # seconds between checks of our own files in the tree


class Root:
    """Watches over the root. suspended: why nothing is read or written now, also during a pause; None: all is well."""

    def __init__(self, sides: Sides, problems: ProblemList, handshake: Handshake) -> None:
        self._sides = sides
        self._problems = problems
        self._handshake = handshake
        self.suspended: str | None = None
        self._checked_at = 0.0
        self._marker: Stat | None = None  # of the marker at its last reading, if it was ours
        self._looked_at = -ANSWER_SECONDS
        self._listed_state: tuple[bool, bool] | None = (
            None  # whether it is listed as (suspended, crowded); None: not known
        )

    async def is_sound(self) -> bool:
        """Whether work may go on."""
        if time.monotonic() - self._looked_at < ANSWER_SECONDS:
            return self.suspended is None
        alarm = await asyncio.to_thread(self._check)
        crowded = self._sides.crowded
        if alarm is not None and self.suspended != alarm:
            log.error("suspended", extra={"tenant": self._sides.name, "reason": alarm})
        if self._listed_state != (alarm is not None, crowded is not None) or self.suspended != alarm:
            self.suspended = alarm
            await self._list_troubles({"root": alarm, "disk": crowded})
            self._listed_state = (alarm is not None, crowded is not None)
        self._looked_at = time.monotonic()
        return alarm is None

    async def _list_troubles(self, sentences: dict[str, str | None]) -> None:
        """List the problems by code; those that an earlier daemon listed and that are over are removed, too."""
        fresh = [Problem("", code, sentence) for code, sentence in sentences.items() if sentence is not None]
        over = [("", code) for code, sentence in sentences.items() if sentence is None]
        await self._problems.change(fresh, over)

    def _check(self) -> str | None:
        tree = self._sides.tree
        identity = tree.root_identity()
        alarm = check_root(exists=identity is not None, same=identity == tree.opened_as)
        if alarm is None and (paused := _pause_sentence(tree)) is not None:
            return paused
        if alarm is None and time.monotonic() - self._checked_at > OWN_STATE_SECONDS:
            self._keep_own_state()
            short = check_space(*tree.disk_space())
            self._sides.crowded = short.sentence if short is not None else None
            self._checked_at = time.monotonic()
        return alarm.sentence if alarm is not None else None

    def _keep_own_state(self) -> None:
        """Restore a deleted `.mirrord`: the tree is still ours, because we hold the lock of this very directory."""
        sides = self._sides
        self._keep_marker()
        if not sides.state.is_in_place():
            sides.state.close()
            sides.state = State(sides.tree)
            self._handshake.accept_replaced_state()

    def _keep_marker(self) -> None:
        sides, current, stat = self._sides, None, None
        with suppress(MirrordError):
            stat = sides.tree.stat(tree_marker.MARKER_PATH)
            if stat is not None and stat == self._marker:
                return
            current = tree_marker.read(sides.tree)
        if current is None or current.mirror != sides.mirror:
            tree_marker.write(sides.tree, tree_marker.Marker(sides.name, sides.tenant, sides.mirror))
            log.warning("marker_rewritten", extra={"tenant": sides.name})
        self._marker = stat if current is not None and current.mirror == sides.mirror else None


def _pause_sentence(tree: Tree) -> str | None:
    """Why sync pauses: a person put the file PAUSE into the root; None: it does not pause."""
    stat = None
    with suppress(OSError, Refused):
        stat = tree.stat(PAUSE_FILE)
    if stat is None or not stat.is_file:
        return None
    since = ""
    with suppress(ValueError, OverflowError, OSError):  # a time stamp may be anything
        since = datetime.fromtimestamp(stat.mtime_ns // 1_000_000_000, UTC).strftime(" since %Y-%m-%d %H:%M:%S UTC")
    return f"Sync is paused{since}: nothing is lost meanwhile. To go on remove {tree.root / PAUSE_FILE}."
