"""Mirrors for tests of places."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from mirrord.db.connect import Database
from mirrord.domain.entry import TenantId
from mirrord.mirror.process import prepare_process
from mirrord.sync import deletions
from tests.system.mirrors import Mirror, opened_mirror
from tests.system.rows import Connection


@pytest.fixture(scope="module", autouse=True)
def _prepared() -> None:
    prepare_process()


@pytest.fixture
async def mirror(
    database: Database,
    app_connection: Connection,
    tmp_path: Path,
    tenant: TenantId,
    monkeypatch: pytest.MonkeyPatch,
) -> AsyncIterator[Mirror]:
    """A mirror of an empty tree. Deletions wait a moment only: nobody but the test writes."""
    monkeypatch.setattr(deletions, "QUIET", 0.05)
    async with opened_mirror(database, app_connection, tmp_path / "mirror", tenant) as opened:
        yield opened
