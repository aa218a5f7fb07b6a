"""The handshake of a tree and its database: each remembers the last work, so that a rewind of one is noticed."""

import asyncio
import logging
from dataclasses import dataclass

import orjson

from mirrord.db import mirror_leases
from mirrord.db.content import entry_states
from mirrord.db.mirror_leases import NewestPage
from mirrord.domain.entry import Digest, parse_id
from mirrord.sync.decisions.rewind import Counters, Rewind, find_rewind
from mirrord.sync.observation.mirror_handles import Sides

log = logging.getLogger(__name__)

_KEY = "ack"  # in the tree's state


@dataclass(frozen=True, slots=True)
class _Ack:
    """The tree's record of the last round of work."""

    acks: int
    seq: int
    epoch: str
    newest: NewestPage | None


class Handshake:
    """The handshake of one tree with its database. is_owed: there is work that is not acknowledged yet."""

    def __init__(self, sides: Sides) -> None:
        self._sides = sides
        self._known_breaks: int | None = None
        self.is_owed = False

    @property
    def is_due(self) -> bool:
        """Whether the server may be another one than at the last comparison, because a connection broke since."""
        return self._known_breaks != self._sides.database.break_count

    def doubt(self) -> None:
        """Note that a side may be another one, so that both are compared again."""
        self._known_breaks = None

    def accept_replaced_state(self) -> None:
        """Take a replaced tree state: an empty one is filled, any other may be an earlier state."""
        if self._load_ack() is None:
            self.is_owed = True
        else:
            self.doubt()

    async def compare_sides(self) -> Rewind:
        """Compare the records of both sides."""
        sides, breaks = self._sides, self._sides.database.break_count
        ack = await asyncio.to_thread(self._load_ack)
        async with sides.database.connection() as connection:
            epoch = await mirror_leases.load_epoch(connection)
            acks = await mirror_leases.load_acknowledged_rounds(connection, sides.tenant, sides.mirror)
            seqs = await entry_states.load_seqs(connection, [sides.tenant])
        remembered_facts = Counters(
            tree_acks=ack.acks if ack else None,
            row_acks=acks,
            tree_seq=ack.seq if ack else 0,
            row_seq=seqs.get(sides.tenant, 0),
            remembered=ack is None or ack.newest is None or await self._is_in_history(ack.newest),
            same_epoch=ack is not None and ack.epoch == epoch,
        )
        self._known_breaks = breaks
        return find_rewind(remembered_facts)

    async def acknowledge(self) -> None:
        """Record the work so far as done: durably in the tree, then in the mirror's row."""
        sides = self._sides
        if sides.lease is None:
            return
        ack = await self._next_ack()
        # a tree that cannot remember must not fall behind its row: that would look like a rewind
        if await asyncio.to_thread(self._store_ack, ack):
            await mirror_leases.store_acknowledged_rounds(sides.database, sides.lease, ack.acks)
        self.is_owed = False

    async def _next_ack(self) -> _Ack:
        sides = self._sides
        async with sides.database.transaction(sides.tenant) as connection:
            epoch = await mirror_leases.load_epoch(connection)
            acks = await mirror_leases.load_acknowledged_rounds(connection, sides.tenant, sides.mirror)
            seqs = await entry_states.load_seqs(connection, [sides.tenant])
            newest = await mirror_leases.load_newest_page(connection, sides.tenant)
        return _Ack(acks + 1, seqs.get(sides.tenant, 0), epoch, newest)

    async def _is_in_history(self, newest: NewestPage) -> bool:
        async with self._sides.database.transaction(self._sides.tenant) as connection:
            return await mirror_leases.is_in_history(connection, self._sides.tenant, newest)

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
