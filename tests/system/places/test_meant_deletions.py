"""Deletions that an undo meant halt nothing, however many; a halt ends when nothing of it is lost any more."""

import time

import pytest

from mirrord.db.database import Database
from mirrord.domain.entry import Actor, TenantId, new_id
from mirrord.operations.undo import UndoRequest, undo
from mirrord.sync import handshake, known_losses
from mirrord.sync.decisions import guard
from tests.support.change_sets import Work
from tests.support.entries import value
from tests.support.mirrors import PATIENCE, Mirror
from tests.support.rows import Connection

PERSON = Actor("human", "ada")
MANY = {f"Many/Page {number:02}.md": f"# {number}\n" for number in range(40)}
FEW = {f"Few/Page {number:02}.md": f"# few {number}\n" for number in range(4)}


@pytest.fixture
async def work(mirror: Mirror, daemon_connection: Connection) -> Work:
    mirror.write(FEW)
    await mirror.settle()
    return Work(mirror, daemon_connection)


def count_halts(mirror: Mirror) -> int:
    """Those that stand."""
    count: int = value(mirror.app, "SELECT count(*) FROM mirrord.halt WHERE closed_at IS NULL")
    return count


async def test_an_undo_of_many_new_pages_removes_their_files(database: Database, tenant: TenantId, work: Work) -> None:
    async with work.changing() as change_set:
        work.mirror.write(MANY)
    undone = await undo(database, tenant, UndoRequest(PERSON, str(change_set)))
    await work.settle()
    assert (work.mirror.files(), count_halts(work.mirror)) == (FEW, 0)
    await undo(database, tenant, UndoRequest(PERSON, str(undone.change_set)))
    await work.settle()
    assert (work.mirror.files(), count_halts(work.mirror)) == (FEW | MANY, 0)


async def test_deletions_of_an_app_halt_as_ever_where_an_undo_deleted_more(
    database: Database, tenant: TenantId, work: Work
) -> None:
    async with work.changing() as change_set:
        work.mirror.write(MANY)
    await undo(database, tenant, UndoRequest(PERSON, str(change_set)))
    await work.settle()
    work.mirror.write({path.replace("Many", "More"): text for path, text in MANY.items()})
    await work.settle()
    work.mirror.app.execute("UPDATE mirrord.page SET deleted_at = now() WHERE name LIKE 'Page%' AND deleted_at IS NULL")
    await work.settle()
    assert count_halts(work.mirror) == 1
    assert len(work.mirror.files()) == len(FEW | MANY)


async def test_a_halt_ends_when_the_files_are_back(work: Work) -> None:
    work.mirror.write(MANY)
    await work.settle()
    for path in MANY:
        (work.mirror.root / path).unlink()
    await work.settle()
    assert count_halts(work.mirror) == 1
    first, *further_paths = MANY
    work.mirror.write({path: MANY[path] for path in further_paths})
    await work.settle()
    assert count_halts(work.mirror) == 1
    work.mirror.write({first: MANY[first]})
    await work.settle()
    assert (count_halts(work.mirror), work.mirror.files()) == (0, FEW | MANY)


async def test_a_halt_ends_when_the_rows_live_again(work: Work) -> None:
    work.mirror.write(MANY)
    await work.settle()
    work.mirror.app.execute("UPDATE mirrord.page SET deleted_at = now() WHERE name LIKE 'Page%'")
    await work.settle()
    assert count_halts(work.mirror) == 1
    work.mirror.app.execute("UPDATE mirrord.page SET deleted_at = NULL WHERE deleted_at IS NOT NULL")
    await work.settle()
    assert (count_halts(work.mirror), work.mirror.files()) == (0, FEW | MANY)


async def test_files_that_a_person_wants_back_are_not_lost_on_a_full_disk(
    work: Work, monkeypatch: pytest.MonkeyPatch
) -> None:
    mirror, engine = work.mirror, work.mirror.engine
    mirror.write(MANY)
    await work.settle()
    for path in MANY:
        (mirror.root / path).unlink()
    await work.settle()
    rows = "SELECT count(*) FROM mirrord.page WHERE deleted_at IS NULL AND kind = 'page'"
    with monkeypatch.context() as patched:
        patched.setattr(handshake, "OWN_STATE_SECONDS", 0.0)
        patched.setattr(guard, "MIN_FREE_BYTES", 1 << 60)
        patched.setattr(guard, "MIN_FREE_SHARE", 2.0)
        assert value(mirror.app, "SELECT mirrord.decide_halt(id, 'discard') FROM mirrord.halt WHERE closed_at IS NULL")
        await mirror.work()
        assert (engine.halts.retry_at > 0, count_halts(mirror), mirror.files()) == (True, 1, FEW)
        patched.setattr(guard, "MIN_FREE_BYTES", 0)
        await engine.root.is_sound()
    end = time.monotonic() + PATIENCE  # the space on the disk is asked for now and then only
    while count_halts(mirror) and time.monotonic() < end:
        engine.halts.retry_at = 0.0
        await mirror.work()
    await work.settle()
    assert (count_halts(mirror), mirror.files(), value(mirror.app, rows)) == (0, FEW | MANY, len(FEW | MANY))


async def test_a_request_that_rows_do_not_know_approves_no_deletion(mirror: Mirror) -> None:
    assert not await known_losses.are_approved(mirror.engine.sides, {str(new_id())}, [])
