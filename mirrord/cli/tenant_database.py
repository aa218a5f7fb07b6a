"""Work of commands on one tenant's rows."""

from collections.abc import Awaitable, Callable
from typing import TypeVar

from mirrord import app
from mirrord.cli.options import find_tenant, run
from mirrord.cli.output import current_person
from mirrord.config import Config
from mirrord.db.database import Connection, Database
from mirrord.domain.entry import TenantId

T = TypeVar("T")


def run_with_database(config: Config, tenant: str | None, work: Callable[[Database, TenantId], Awaitable[T]]) -> T:
    """The result of *work* on the command's tenant."""

    async def open_and_work() -> T:
        async with app.open_database(config) as database:
            _, tenant_id = await find_tenant(database, config, tenant)
            return await work(database, tenant_id)

    return run(open_and_work())


def run_in_transaction(config: Config, tenant: str | None, work: Callable[[Connection, TenantId], Awaitable[T]]) -> T:
    """The result of *work* in one transaction, with the operating person as the actor."""

    async def begin_and_work(database: Database, tenant_id: TenantId) -> T:
        async with database.transaction(tenant_id, actor=current_person()) as connection:
            return await work(connection, tenant_id)

    return run_with_database(config, tenant, begin_and_work)
