"""Whole installations: two hosts' of one tenant, and one that agents are guests of."""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from mirrord.db.database import Database
from mirrord.domain.entry import TenantId
from tests.support.commands import Near
from tests.support.guests import Host, hosting
from tests.support.harness import Mirrord
from tests.support.mirrors import Mirror, opened_mirror
from tests.support.rows import Connection


@pytest.fixture
def first_host(fresh_dsn: str, tmp_path: Path) -> Iterator[Mirrord]:
    """One host's installation; its daemon is down."""
    with Near(tmp_path / "here", dsn=fresh_dsn) as installed:
        yield installed


@pytest.fixture
def second_host(fresh_dsn: str, tmp_path: Path) -> Iterator[Mirrord]:
    """Another host's, of the same tenant."""
    with Near(tmp_path / "there", dsn=fresh_dsn) as installed:
        yield installed


@pytest.fixture(scope="module")
def host(admin_dsn: str, tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Iterator[Host]:
    """One daemon for all tests of a module, which have files of their own; its tenant is called like the module."""
    name = request.path.stem.removeprefix("test_").replace("_", "-")
    with hosting(admin_dsn, tmp_path_factory.mktemp(name), name) as hosted:
        yield hosted


@pytest.fixture
async def mirror(
    database: Database,
    app_connection: Connection,
    tenant: TenantId,
    tmp_path: Path,
) -> AsyncIterator[Mirror]:
    """A mirror whose engine works in this process, when it is asked to."""
    async with opened_mirror(database, app_connection, tmp_path, tenant) as opened:
        yield opened
