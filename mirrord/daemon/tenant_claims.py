"""The share of an engine process: it claims and gives back tenants until all processes have equally many."""

import asyncio
import logging
import time

from mirrord.config import Config
from mirrord.db import process_pool, tenant_rows
from mirrord.db.database import Database
from mirrord.db.process_pool import EXPIRY_SECONDS, RENEWAL_SECONDS, PoolMember, PoolState
from mirrord.domain.entry import TenantId
from mirrord.domain.tenant_shares import ShareChange, plan_share
from mirrord.errors import Unavailable
from mirrord.sync.timing import pause

log = logging.getLogger(__name__)

SETTLING_SECONDS = 10.0  # seconds for others to start, or to come back after Postgres was away
SETTLING_RENEWAL_SECONDS = 0.25  # seconds between renewals until the share is complete for the first time


class TenantClaims:
    """
    The claims of one engine process.

    claimed: tenants to work on, by name. surplus: tenants that it still claims and is to give back once it does not
    work on them any more. changed: set when one of the three changed. is_complete: whether nothing is left to claim.
    """

    def __init__(self, config: Config, member: PoolMember, siblings: frozenset[str]) -> None:
        """siblings: names of the processes that are started together, *member* among them."""
        self.member = member
        self.claimed: dict[str, TenantId] = {}
        self.surplus: dict[str, TenantId] = {}
        self.changed = asyncio.Event()
        self.is_complete = False
        self._config, self._siblings = config, siblings
        self._renewed_at, self._settled_at = -float("inf"), 0.0

    async def keep(self, database: Database, stop: asyncio.Event) -> None:
        """Renew and adjust the claims until *stop*. Without Postgres they stay as they are."""
        while not stop.is_set():
            try:
                await self._take_step(database)
            except Unavailable as error:
                log.warning("claims_wait", extra={"error": str(error)})
            await pause(stop, RENEWAL_SECONDS if self.is_complete else SETTLING_RENEWAL_SECONDS)

    async def give_back(self, database: Database, names: list[str]) -> None:
        """Give back those of the surplus that are named."""
        tenants = [self.surplus[name] for name in names if name in self.surplus]
        if tenants:
            await process_pool.release_claims(database, self.member, tenants)

    async def leave(self, database: Database) -> None:
        """Give everything back: the process ends."""
        await process_pool.leave_pool(database, self.member)

    async def _take_step(self, database: Database) -> None:
        state = await process_pool.renew_membership(database, self.member)
        tenants = await self._load_tenants(database)
        change = plan_share(list(tenants), *self._holders(tenants, state, time.monotonic()), self.member.name)
        gained = frozenset[TenantId]()
        if change.claimed:
            gained = await process_pool.claim_tenants(database, self.member, [tenants[name] for name in change.claimed])
        owned_tenants = {
            name: tenant
            for name, tenant in tenants.items()
            if tenant in gained or state.claims.get(tenant) == self.member.name
        }
        self._store(owned_tenants, change)

    async def _load_tenants(self, database: Database) -> dict[str, TenantId]:
        existing = await tenant_rows.load_tenants(database)
        chosen = self._config.tenants
        return {name: tenant for name, tenant in existing.items() if not chosen or name in chosen}

    def _holders(
        self, tenants: dict[str, TenantId], state: PoolState, now: float
    ) -> tuple[dict[str, str], frozenset[str]]:
        """
        The process of each tenant that is held, and all processes that share.

        After the start, and after Postgres was away, processes that are not back yet count for a few seconds: their
        tenants would only move there and back.
        """
        if now - self._renewed_at > EXPIRY_SECONDS:
            self._settled_at = now + SETTLING_SECONDS
        self._renewed_at = now
        processes = state.living
        if now < self._settled_at:
            processes |= self._siblings | state.ended
        claims = ((name, state.claims.get(tenant)) for name, tenant in tenants.items())
        return {name: process for name, process in claims if process in processes and process is not None}, processes

    def _store(self, owned_tenants: dict[str, TenantId], change: ShareChange) -> None:
        claimed = {name: tenant for name, tenant in owned_tenants.items() if name not in change.released}
        surplus = {name: tenant for name, tenant in owned_tenants.items() if name in change.released}
        was_complete, self.is_complete = self.is_complete, not change.claimed
        if claimed != self.claimed or surplus or self.is_complete is not was_complete:
            self.claimed, self.surplus = claimed, surplus
            self.changed.set()
        else:
            self.surplus = surplus
