"""Documents of many pages at once: each is there in the end, whatever one of the texts does to a parser."""

import asyncio
import multiprocessing
import os
import time
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path

import pytest

from mirrord.db.content.derived_rows import UnderivedPage
from mirrord.db.database import Lease
from mirrord.documents import document_derivation
from mirrord.documents.derivation_schedule import DerivationLoop, follow_batch
from mirrord.documents.document_derivation import Deriver, PageRate, Workers
from mirrord.domain.dialect import Dialect
from mirrord.errors import Fenced
from mirrord.markdown.read.known_readings import LATEST_READINGS
from mirrord.markdown.write.stored_form import StoredValues, values_to_store
from mirrord.sync.decisions.pacing import MAX_DELAY_SECONDS
from tests.support.entries import value
from tests.support.harness import Mirrord, eventually
from tests.support.mirrors import Mirror
from tests.support.rows import Connection

pytestmark = pytest.mark.timeout(300)  # each pool of workers loads for a second of CPU

DEADLY, ENDLESS = "deadly", "endless"
BEGUN = "MIRRORD_TEST_BEGUN"  # the variable of the path of a file
UNDERIVED = "SELECT count(*) FROM mirrord.page WHERE content IS NULL"
DUE, INDEXED = "SELECT count(*) FROM mirrord.search_due", "SELECT count(*) FROM mirrord.page_search"
TYPES = "SELECT content #>> '{content,0,type}' FROM mirrord.page WHERE name = %s"


def suffering(text: str, prior: str | None, dialect: Dialect) -> StoredValues:
    """`stored`, as a parser with a fault would make it."""
    if DEADLY in text:
        os._exit(9)
    if ENDLESS in text:
        while True:
            pass
    return values_to_store(text, prior, dialect)


def suffering_together(pages: Sequence[tuple[str, str | None, Dialect]]) -> list[StoredValues]:
    """The same of several."""
    return [suffering(text, prior, dialect) for text, prior, dialect in pages]


def waiting(seconds: float) -> float:
    """Uses no processor time."""
    time.sleep(seconds)
    return seconds


@pytest.fixture(autouse=True)
def _eager_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a busy machine, workers that let everybody else go first do not begin before a test's time is over."""
    monkeypatch.setattr(document_derivation, "WORKER_NICENESS", 0)


@pytest.fixture
async def deriver(mirror: Mirror) -> AsyncIterator[Deriver]:
    workers = Workers()
    yield Deriver(mirror.opened.sides, workers, PageRate())
    workers.terminate()


@pytest.mark.parametrize("fault", [DEADLY, ENDLESS])
async def test_a_text_that_a_worker_fails_on_is_one_opaque_block_and_its_neighbours_have_documents(
    mirror: Mirror, deriver: Deriver, monkeypatch: pytest.MonkeyPatch, fault: str
) -> None:
    monkeypatch.setattr(document_derivation, "values_to_store", suffering)
    monkeypatch.setattr(document_derivation, "values_to_store_of_pages", suffering_together)
    monkeypatch.setattr(document_derivation, "WORK_SECONDS", 0.5)
    mirror.write({f"Page {number}.md": f"# Number {number}\n" for number in range(6)})
    mirror.write({"Bad.md": f"# {fault}\n"})
    await mirror.settle()

    while await deriver.derive_some():
        pass

    assert value(mirror.app, UNDERIVED) == 0
    assert value(mirror.app, TYPES, "Bad") == "rawBlock"
    assert {value(mirror.app, TYPES, f"Page {number}") for number in range(6)} == {"heading"}


async def test_a_worker_that_waits_for_a_processor_is_not_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(document_derivation, "WORK_SECONDS", 0.1)
    workers = Workers()
    assert await workers.run(waiting, 1.0) == 1.0
    workers.terminate()


async def test_a_worker_that_hangs_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(document_derivation, "MAX_WAIT_SECONDS", 1.0)
    workers = Workers()
    with pytest.raises(TimeoutError):
        await workers.run(waiting, 3600.0)
    workers.terminate()


def sleeping_together(pages: Sequence[tuple[str, str | None, Dialect]]) -> list[StoredValues]:
    """A parser that gets no processor; says that it has begun."""
    Path(os.environ[BEGUN]).touch()
    time.sleep(3600)
    return []


async def test_a_daemon_that_is_stopped_does_not_wait_for_a_batch(
    mirror: Mirror, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(document_derivation, "values_to_store_of_pages", sleeping_together)
    monkeypatch.setenv(BEGUN, str(tmp_path / "begun"))
    mirror.write({f"Page {number}.md": f"# Number {number}\n" for number in range(6)})
    await mirror.settle()
    workers, stop = Workers(), asyncio.Event()
    deriver = Deriver(mirror.opened.sides, workers, PageRate())
    running = asyncio.create_task(DerivationLoop(mirror.engine, deriver, asyncio.Event()).run(stop))
    await asyncio.to_thread(eventually, (tmp_path / "begun").exists, "a worker at work", 120)

    stop.set()
    await asyncio.wait_for(running, 90)
    workers.terminate()

    monkeypatch.undo()
    assert value(mirror.app, UNDERIVED) == 6
    while await deriver.derive_some():
        pass
    assert value(mirror.app, UNDERIVED) == 0
    workers.terminate()


async def test_while_a_full_batch_is_stored_the_next_is_derived_and_each_page_once(
    mirror: Mirror, deriver: Deriver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(document_derivation, "MAX_BATCH_PAGES", 3)
    mirror.write({f"Page {number}.md": f"# Number {number}\n" for number in range(8)})
    await mirror.settle()

    counts = [await deriver.derive_some() for _ in range(4)]

    assert counts == [3, 3, 2, 0]
    assert value(mirror.app, UNDERIVED) == 0


async def test_a_batch_that_could_not_be_stored_is_derived_again(
    mirror: Mirror, deriver: Deriver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(document_derivation, "MAX_BATCH_PAGES", 2)
    mirror.write({"Page.md": "# Page\n", "Other.md": "# Other\n"})
    await mirror.settle()
    sides, derive_batch = mirror.opened.sides, deriver._derive_batch
    lease = sides.lease
    assert lease is not None

    async def lose_lease(batch: Sequence[UnderivedPage]) -> list[StoredValues]:
        documents = await derive_batch(batch)
        sides.lease = Lease(lease.mirror, lease.token - 1)
        return documents

    monkeypatch.setattr(deriver, "_derive_batch", lose_lease)
    assert await deriver.derive_some() == 2
    with pytest.raises(Fenced):
        await deriver.finish()
    sides.lease = lease
    monkeypatch.setattr(deriver, "_derive_batch", derive_batch)

    assert [await deriver.derive_some(), await deriver.derive_some()] == [2, 0]
    assert value(mirror.app, TYPES, "Page") == "heading"


async def test_a_single_page_is_not_derived_without_the_lease(mirror: Mirror, deriver: Deriver) -> None:
    mirror.write({"Page.md": "# Page\n"})
    await mirror.settle()
    sides = mirror.opened.sides
    lease = sides.lease
    assert lease is not None
    sides.lease = Lease(lease.mirror, lease.token - 1)

    with pytest.raises(Fenced):
        await deriver.derive_some()
    assert value(mirror.app, UNDERIVED) == 1
    sides.lease = lease

    assert [await deriver.derive_some(), await deriver.derive_some()] == [1, 0]
    assert value(mirror.app, TYPES, "Page") == "heading"


async def test_a_page_whose_row_an_app_holds_is_passed_over_and_gets_its_document_later(
    mirror: Mirror, deriver: Deriver, connect: Callable[[str], Connection], admin_dsn: str
) -> None:
    mirror.write({"Held.md": "# Held\n", "Free.md": "# Free\n"})
    await mirror.settle()
    holder = connect(admin_dsn)

    with holder.transaction():
        holder.execute("SELECT FROM mirrord.page WHERE name = 'Held' FOR UPDATE")
        assert [await deriver.derive_some(), await deriver.derive_some()] == [2, 0]
        assert (value(mirror.app, TYPES, "Free"), value(mirror.app, TYPES, "Held")) == ("heading", None)
        assert deriver.postponed

    assert [await deriver.derive_some(), await deriver.derive_some()] == [1, 0]
    assert value(mirror.app, TYPES, "Held") == "heading"
    assert not deriver.postponed


def test_a_statement_that_fails_while_links_follow_does_not_end_the_daemon(
    first_host: Mirrord, connect: Callable[[str], Connection]
) -> None:
    assert first_host.dsn is not None
    first_host.up()
    admin = connect(first_host.dsn)
    source = value(admin, "SELECT pg_get_functiondef('mirrord.index_due_pages'::regproc)")
    admin.execute(
        "CREATE OR REPLACE FUNCTION mirrord.index_due_pages(of_tenant uuid) RETURNS void LANGUAGE plpgsql AS "
        "$$ BEGIN RAISE EXCEPTION 'not foreseen'; END $$"
    )
    first_host.file("Target.md").write_text("Here.\n")
    first_host.file("Source.md").write_text("[[Target]]\n")
    first_host.wait_event("derivation_failed")
    first_host.file("Later.md").write_text("After the failure.\n")
    eventually(lambda: first_host.page("Later.md"), "files go on")
    admin.execute(source.encode())
    links = "SELECT count(*) FROM mirrord.page_link WHERE target_id IS NOT NULL"
    eventually(lambda: value(admin, links), "links follow when the statement works again")
    assert first_host.running


async def test_the_words_of_many_texts_are_indexed_after_all_documents(
    mirror: Mirror, deriver: Deriver, connect: Callable[[str], Connection], admin_dsn: str
) -> None:
    mirror.write({f"Page {number}.md": f"Zebrafish {number}.\n" for number in range(3)})
    await mirror.settle()
    admin, tenant = connect(admin_dsn), mirror.opened.sides.tenant

    while await deriver.derive_some():
        pass
    assert value(mirror.app, UNDERIVED) == 0
    assert value(admin, f"{DUE} WHERE tenant_id = %s", tenant) == 3
    assert value(admin, f"{INDEXED} WHERE tenant_id = %s", tenant) == 0

    while value(admin, f"{DUE} WHERE tenant_id = %s", tenant):
        await follow_batch(mirror.opened.sides)
    assert value(mirror.app, "SELECT count(*) FROM mirrord.search('zebrafish')") == 3


async def test_the_words_of_many_pages_let_edits_go_first_and_are_indexed_in_the_end(
    mirror: Mirror, deriver: Deriver, connect: Callable[[str], Connection], admin_dsn: str
) -> None:
    """While edits keep coming, a batch of words has to wait for as long as deferred work waits."""
    mirror.app.execute(
        "INSERT INTO mirrord.page (kind, name) SELECT 'folder', 'Zebrafish ' || n FROM generate_series(1, 101) AS n"
    )
    admin, stop, tenant = connect(admin_dsn), asyncio.Event(), mirror.opened.sides.tenant
    mirror.engine.parts.last_done_at = time.monotonic() + 3600.0  # as if every moment had an edit
    mirror.engine.rows_changed.set()

    began = time.monotonic()
    running = asyncio.create_task(DerivationLoop(mirror.engine, deriver, asyncio.Event()).run(stop))
    due = f"{DUE} WHERE tenant_id = %s"
    await asyncio.to_thread(eventually, lambda: not value(admin, due, tenant), "two batches are indexed", 120)
    seconds = time.monotonic() - began
    stop.set()
    await asyncio.wait_for(running, 90)

    assert value(mirror.app, "SELECT count(*) FROM mirrord.search('zebrafish')") > 0
    assert seconds >= 2 * MAX_DELAY_SECONDS


def test_a_page_that_an_app_holds_and_does_not_change_is_indexed_when_the_app_lets_go(
    first_host: Mirrord, connect: Callable[[str], Connection]
) -> None:
    assert first_host.dsn is not None
    first_host.up()
    admin, holder = connect(first_host.dsn), connect(first_host.dsn)
    for name in ("Held", "Free"):
        first_host.file(f"{name}.md").write_text(f"# {name}\n")
    eventually(lambda: value(admin, INDEXED) == 2 and not value(admin, DUE), "both pages are indexed")

    with holder.transaction(force_rollback=True):
        holder.execute("SELECT FROM mirrord.page WHERE name = 'Held' FOR UPDATE")
        with admin.transaction():
            admin.execute("SELECT set_config('mirrord.tenant', id::text, true) FROM mirrord.tenant")
            admin.execute("SELECT mirrord.rebuild_search()")
        first_host.file("Later.md").write_text("The daemon looks.\n")
        eventually(lambda: value(admin, INDEXED) == 3 and value(admin, DUE) == 1, "only the held page is due")

    eventually(lambda: not value(admin, DUE), "nothing is due")


async def test_a_single_page_is_read_derived_and_stored_in_one_transaction(mirror: Mirror, deriver: Deriver) -> None:
    """So edits of many tenants cost one transaction each for their documents, and no process."""
    mirror.write({"Page.md": "# One\n"})
    await mirror.settle()
    while await deriver.derive_some():
        pass
    mirror.write({"Page.md": "Two\n"})
    await mirror.settle()
    sides, clock = mirror.engine.sides, value(mirror.app, "SELECT seq FROM mirrord.tenant_clock")

    assert await deriver.derive_some() == 1

    assert value(mirror.app, TYPES, "Page") == "paragraph"
    assert value(mirror.app, "SELECT seq FROM mirrord.tenant_clock") == clock + 1
    assert sides.own_changes.pass_over(clock) == clock + 1
    assert not multiprocessing.active_children()
    assert not deriver.has_more
    assert await deriver.derive_some() == 0


async def test_the_text_of_a_page_that_is_derived_alone_is_known_to_its_next_save(
    mirror: Mirror, deriver: Deriver
) -> None:
    mirror.write({"Page.md": "# One\n", "Other.md": "# Other\n"})
    await mirror.settle()
    while await deriver.derive_some():
        pass
    mirror.write({"Page.md": "Two, edited alone\n"})
    await mirror.settle()

    assert await deriver.derive_some() == 1

    assert LATEST_READINGS.recall("Two, edited alone\n", Dialect.PLAIN) is not None
