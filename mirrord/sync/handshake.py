"""The handshake of a tree and its database: each remembers what was last done, so that a rewind of one is noticed."""

import asyncio
import logging
from dataclasses import dataclass

import orjson

from mirrord.db import epochs, states
from mirrord.db.epochs import Newest
from mirrord.domain.entry import Digest, parse_id
from mirrord.sync.rewind import Rewind, Seen, compare
from mirrord.sync.sides import Sides

log = logging.getLogger(__name__)

_KEY = "ack"  # in the tree's state


@dataclass(frozen=True, slots=True)
class _Ack:
    """What a tree remembers of the last round of work."""

    acks: int
    seq: int
    epoch: str
    newest: Newest | None


class Handshake:
    """Between one tree and its database. owed: work was done that is not acknowledged yet."""

    def __init__(self, sides: Sides) -> None:
        self._sides = sides
        self._breaks: int | None = None
        self.owed = False

    @property
    def is_due(self) -> bool:
        """Whether the server may be another one than when we last looked: a connection broke since."""
        return self._breaks != self._sides.database.breaks

    def doubt(self) -> None:
        """Something says that a side may be another one: look again."""
        self._breaks = None

    def take_state(self) -> None:
        """The tree's state was replaced: an empty one is ours to fill, another may be an earlier one."""
        if self._remembered() is None:
            self.owed = True
        else:
            self.doubt()

    async def look(self) -> Rewind:
        """Compare what both sides remember."""
        sides, breaks = self._sides, self._sides.database.breaks
        ack = await asyncio.to_thread(self._remembered)
        async with sides.database.connection() as connection:
            epoch = await epochs.epoch(connection)
            acks = await epochs.acks_of(connection, sides.tenant, sides.mirror)
            seqs = await states.seqs(connection, [sides.tenant])
        seen = Seen(
            tree_acks=ack.acks if ack else None,
            row_acks=acks,
            tree_seq=ack.seq if ack else 0,
            row_seq=seqs.get(sides.tenant, 0),
            remembered=ack is None or ack.newest is None or await self._is_in_history(ack.newest),
            same_epoch=ack is not None and ack.epoch == epoch,
        )
        self._breaks = breaks
        return compare(seen)

    async def acknowledge(self) -> None:
        """What was done so far is done: the tree says so durably, then the mirror's row."""
        sides = self._sides
        if sides.lease is None:
            return
        ack = await self._next()
        # a tree that cannot remember must not fall behind its row: that would look like a rewind
        if await asyncio.to_thread(self._remembers, ack):
            await epochs.acknowledge(sides.database, sides.lease, ack.acks)
        self.owed = False

    async def _next(self) -> _Ack:
        sides = self._sides
        async with sides.database.transaction(sides.tenant) as connection:
            epoch = await epochs.epoch(connection)
            acks = await epochs.acks_of(connection, sides.tenant, sides.mirror)
            seqs = await states.seqs(connection, [sides.tenant])
            newest = await epochs.newest(connection, sides.tenant)
        return _Ack(acks + 1, seqs.get(sides.tenant, 0), epoch, newest)

    async def _is_in_history(self, newest: Newest) -> bool:
        async with self._sides.database.transaction(self._sides.tenant) as connection:
            return await epochs.is_in_history(connection, self._sides.tenant, newest)

    def _remembers(self, ack: _Ack) -> bool:
        """Blocking: write *ack* down; whether it is there for good."""
        self._sides.state.set(_KEY, _spelled(ack, str(self._sides.mirror)))
        return self._sides.state.is_durable and self._remembered() == ack

    def _remembered(self) -> _Ack | None:
        """None: nothing, or it was another mirror that remembered it (a copied tree)."""
        raw = self._sides.state.get(_KEY)
        return _read(raw, str(self._sides.mirror)) if raw is not None else None


def _spelled(ack: _Ack, mirror: str) -> str:
    newest = ack.newest
    facts = {"mirror": mirror, "acks": ack.acks, "seq": ack.seq, "epoch": ack.epoch, "newest": None}
    if newest is not None:
        digest = newest.digest.hex() if newest.digest is not None else None
        facts["newest"] = [str(newest.entry), newest.version, digest]
    return orjson.dumps(facts).decode()


def _read(raw: str, mirror: str) -> _Ack | None:
    try:
        facts = orjson.loads(raw)
        if facts["mirror"] != mirror:
            return None
        newest = None
        if facts["newest"] is not None:
            spelled, version, digest = facts["newest"]
            if (entry := parse_id(spelled)) is None:
                return None
            newest = Newest(entry, int(version), Digest(bytes.fromhex(digest)) if digest else None)
        return _Ack(int(facts["acks"]), int(facts["seq"]), str(facts["epoch"]), newest)
    except (ValueError, KeyError, TypeError):
        log.warning("ack_unreadable")
        return None
