"""
The handshake of a tree and its database: each remembers the last work, so that a rewind of one is noticed.

The root of the tree must still be the directory that this mirror was started on.
"""

import asyncio
import logging
import time
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime

import orjson

from mirrord.db import mirror_leases
from mirrord.db.database import Connection, Database
from mirrord.db.mirror_leases import NewestPage, RowFacts
from mirrord.db.open_issues import Problem
from mirrord.domain.entry import Digest, MirrorId, TenantId, parse_id
from mirrord.errors import MirrordError, Refused
from mirrord.mirror import tree_marker
from mirrord.mirror.mirror_state import STATE_PATH, State
from mirrord.mirror.tree.kernel import Stat
from mirrord.mirror.tree.tenant_tree import Tree
from mirrord.mirror.tree.tree_layout import PAUSE_FILE
from mirrord.sync.decisions.guard import check_root, check_space
from mirrord.sync.decisions.tree_history import Counters, Rewind, find_rewind
from mirrord.sync.observation.mirror_handles import Sides
from mirrord.sync.problem_list import ProblemList

log = logging.getLogger(__name__)

_KEY = "ack"  # in the tree's state


@dataclass(frozen=True, slots=True)
class _Ack:
    """The tree's record of the last round of work."""

    acks: int
    seq: int
    epoch: str
    newest: NewestPage | None


def forget_first_adoption(sides: Sides) -> None:
    """Treat the bases of a first adoption that did not end as those of an unknown past. Blocking."""
    raw = sides.state.get(_KEY)
    ack = _decode_ack(raw, str(sides.mirror)) if raw is not None else None
    if ack is not None and ack.acks == 0:
        sides.state.delete(_KEY)


async def has_current_counters(database: Database, tree: Tree, tenant: TenantId, mirror: MirrorId) -> bool:
    """Whether *tree* has the counters of the row of *mirror*; a crash may leave the tree one ahead."""
    raw = await asyncio.to_thread(_read_ack, tree)
    ack = _decode_ack(raw, str(mirror)) if raw is not None else None
    if ack is None or ack.acks == 0:  # a first adoption acknowledges nothing: a copy may be behind
        return False
    async with database.transaction(tenant) as connection:
        row_acks = await mirror_leases.load_acknowledged_rounds(connection, tenant, mirror)
    return 0 <= ack.acks - row_acks <= 1


def _read_ack(tree: Tree) -> str | None:
    if tree.stat(STATE_PATH) is None:  # opening it would make it, and it would look like the tree's own
        return None
    state = State(tree)
    try:
        return state.get(_KEY)
    finally:
        state.close()


class Handshake:
    """The handshake of one tree with its database. is_owed: there is work that is not acknowledged yet."""

    def __init__(self, sides: Sides) -> None:
        self._sides = sides
        self._known_breaks: int | None = None
        self._facts: RowFacts | None = None  # read after the last work; None: to be read
        self.is_owed = False
        self.owed_at = 0.0  # monotonic time of the first work that is owed

    @property
    def is_due(self) -> bool:
        """Whether the server may be another one than at the last comparison, because a connection broke since."""
        return self._known_breaks != self._sides.database.break_count

    def owe(self) -> None:
        """Note that work was done that is not acknowledged yet."""
        if not self.is_owed:
            self.owed_at = time.monotonic()
        self.is_owed, self._facts = True, None

    def doubt(self) -> None:
        """Note that a side may be another one, so that both are compared again."""
        self._known_breaks = self._facts = None

    def accept_replaced_state(self) -> None:
        """Take a replaced tree state: an empty one is filled, any other may be an earlier state."""
        if self._load_ack() is None:
            self.owe()
        else:
            self.doubt()

    async def compare_sides(self, connection: Connection) -> tuple[Rewind, int]:
        """Compare the records of both sides; also returns the number of the tenant's last change."""
        sides, breaks = self._sides, self._sides.database.break_count
        ack = await asyncio.to_thread(self._load_ack)
        facts = await mirror_leases.load_facts(connection, sides.tenant, sides.mirror)
        if ack is None and not (facts.acks or await mirror_leases.has_bases(connection, sides.tenant, sides.mirror)):
            ack = await asyncio.to_thread(self._begin_first_adoption, facts)
        newest = ack.newest if ack else None
        remembered_facts = Counters(
            tree_acks=ack.acks if ack else None,
            row_acks=facts.acks,
            tree_seq=ack.seq if ack else 0,
            row_seq=facts.seq,
            remembered=newest is None or await mirror_leases.is_in_history(connection, sides.tenant, newest),
            same_epoch=ack is not None and ack.epoch == facts.epoch,
        )
        self._known_breaks = breaks
        return find_rewind(remembered_facts), facts.seq

    def _begin_first_adoption(self, facts: RowFacts) -> _Ack:
        """Record in the tree, before this mirror has a base, that all its bases are made from here on. Blocking."""
        ack = _Ack(0, facts.seq, facts.epoch, facts.newest)
        self._store_ack(ack)
        return ack

    async def acknowledge(self) -> None:
        """Record the work so far as done: durably in the tree, then in the mirror's row."""
        sides = self._sides
        if sides.lease is None:
            return
        facts, self._facts = self._facts or await self._load_facts(), None
        ack = _Ack(facts.acks + 1, facts.seq, facts.epoch, facts.newest)
        # a tree that cannot remember must not fall behind its row: that would look like a rewind
        if await asyncio.to_thread(self._store_ack, ack):
            await mirror_leases.store_acknowledged_rounds(sides.database, sides.tenant, sides.lease, ack.acks)
        self.is_owed = False

    async def prepare(self, connection: Connection) -> None:
        """Read what the next acknowledgement needs in an open transaction, if one is owed; owe() makes it void."""
        if self.is_owed:
            self._facts = await mirror_leases.load_facts(connection, self._sides.tenant, self._sides.mirror)

    async def _load_facts(self) -> RowFacts:
        async with self._sides.database.transaction(self._sides.tenant) as connection:
            return await mirror_leases.load_facts(connection, self._sides.tenant, self._sides.mirror)

    def _store_ack(self, ack: _Ack) -> bool:
        """Store *ack*; return whether it is durable. Blocking."""
        self._sides.state.set(_KEY, _encode_ack(ack, str(self._sides.mirror)))
        return self._sides.state.is_durable and self._load_ack() == ack

    def _load_ack(self) -> _Ack | None:
        """The stored record; None without one, or if it is of another mirror (a copied tree)."""
        raw = self._sides.state.get(_KEY)
        return _decode_ack(raw, str(self._sides.mirror)) if raw is not None else None


def _encode_ack(ack: _Ack, mirror: str) -> str:
    newest = ack.newest
    facts = {"mirror": mirror, "acks": ack.acks, "seq": ack.seq, "epoch": ack.epoch, "newest": None}
    if newest is not None:
        digest = newest.digest.hex() if newest.digest is not None else None
        facts["newest"] = [str(newest.entry), newest.version, digest]
    return orjson.dumps(facts).decode()


def _decode_ack(raw: str, mirror: str) -> _Ack | None:
    try:
        facts = orjson.loads(raw)
        if facts["mirror"] != mirror:
            return None
        newest = None
        if facts["newest"] is not None:
            entry_text, version, digest = facts["newest"]
            if (entry := parse_id(entry_text)) is None:
                return None
            newest = NewestPage(entry, int(version), Digest(bytes.fromhex(digest)) if digest else None)
        return _Ack(int(facts["acks"]), int(facts["seq"]), str(facts["epoch"]), newest)
    except (ValueError, KeyError, TypeError):
        log.warning("ack_unreadable")
        return None


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
            marker = tree_marker.Marker(sides.name, sides.tenant, sides.mirror, sides.dialect, sides.days)
            tree_marker.write(sides.tree, marker)
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
