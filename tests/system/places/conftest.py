"""Mirrors for tests of places."""

import errno
import os
import zlib
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import pytest

from mirrord.db.database import Database
from mirrord.domain.entry import TenantId
from mirrord.domain.place import name_key
from mirrord.mirror.process_setup import prepare_process
from mirrord.mirror.tree import kernel
from mirrord.sync import deletions, passes
from mirrord.sync.decisions.entry_decision import Decision
from mirrord.sync.observation.mirror_handles import Sides
from mirrord.sync.writing.write_outcomes import Outcome
from tests.support.mirrors import Mirror, opened_mirror
from tests.support.rows import Connection


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out every second case of these tests, if the run asks for a half; a test without cases is always played."""
    number: int | None = config.getoption("half_of_places")
    directory = Path(__file__).parent
    if number is None:
        return
    cases = [item for item in items if directory in item.path.parents and hasattr(item, "callspec")]
    left_out = {item for item in cases if (_hash_of(item) + number) % 2}
    config.hook.pytest_deselected(items=list(left_out))
    items[:] = [item for item in items if item not in left_out]


def _hash_of(item: pytest.Item) -> int:
    return zlib.crc32(item.nodeid.encode())


@pytest.fixture(scope="module", autouse=True)
def _prepared() -> None:
    prepare_process()


@pytest.fixture
def ignoring_case(monkeypatch: pytest.MonkeyPatch) -> None:
    """
    The kernel answers as for a file system that takes two spellings for one name and keeps the one given first.

    No such file system can be counted on where tests run; so these are its answers, at the lowest layer of calls.
    """
    opened, renamed = kernel.openat2, kernel._renameat2

    def openat2(directory: int, path: str, flags: int, mode: int = 0) -> int:
        return opened(directory, spelled(directory, path), flags, mode)

    def renameat2(source_in: int, source: str, target_in: int, target: str, flags: int) -> None:
        target_name = spelled(target_in, target)
        if flags == kernel._NOREPLACE and target_name in os.listdir(target_in):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), target)
        renamed(source_in, spelled(source_in, source), target_in, target_name, flags)

    monkeypatch.setattr(kernel, "openat2", openat2)
    monkeypatch.setattr(kernel, "_renameat2", renameat2)


def spelled(directory: int, path: str) -> str:
    """*path* with every part as its directory spells it."""
    spelling = ""
    for part in path.split("/"):
        above = f"/proc/self/fd/{directory}/{spelling}"
        names = [entry.name for entry in Path(above).iterdir()] if Path(above).is_dir() else []
        same = [part] if part in names else [name for name in names if name_key(name) == name_key(part)]
        spelling = f"{spelling}/{(same or [part])[0]}".lstrip("/")
    return spelling


@pytest.fixture
async def mirror(
    database: Database,
    app_connection: Connection,
    tmp_path: Path,
    tenant: TenantId,
    monkeypatch: pytest.MonkeyPatch,
) -> AsyncIterator[Mirror]:
    """A mirror of an empty tree. Deletions wait a moment only: nobody but the test writes."""
    monkeypatch.setattr(deletions, "QUIET_SECONDS", 0.05)
    async with opened_mirror(database, app_connection, tmp_path / "mirror", tenant) as opened:
        yield opened


@pytest.fixture
def poison(monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """Paths of files: mirrord itself fails on deletions with one of them, and tries again soon."""
    paths, entomb = set[str](), deletions.entomb_rows

    async def failing(sides: Sides, decisions: Sequence[Decision]) -> Outcome:
        if any(decision.state.base is not None and decision.state.base.path in paths for decision in decisions):
            raise RuntimeError("nobody foresaw this")
        return await entomb(sides, decisions)

    monkeypatch.setattr(deletions, "entomb_rows", failing)
    monkeypatch.setattr(passes, "FAILED_RETRY_SECONDS", 0.2)
    return paths
