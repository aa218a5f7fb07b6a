"""What a daemon's look at its bindings tells: which of them need a pass, and which of these comes first."""

import asyncio
import time
from collections.abc import Sequence
from uuid import UUID

from mirrord.binding import binding_loop
from mirrord.binding.binding_loop import NotedTenants, Notes
from mirrord.binding.passes import Comparison, PassOrder, run_pass
from mirrord.db.bindings import binding_rows, due_bindings
from mirrord.db.bindings.binding_rows import DueBinding
from mirrord.db.bindings.due_bindings import Look
from mirrord.db.database import Database
from mirrord.domain.entry import TenantId
from tests.binding.knowledge_base import TWO_WAY_MAPPING, BoundWorld
from tests.support.entries import value

TENANT, BINDING = TenantId(UUID(int=7)), UUID(int=8)
MEMOS = """
CREATE TABLE kb.memos (id uuid PRIMARY KEY DEFAULT gen_random_uuid(), title text NOT NULL, body text);
INSERT INTO kb.memos (title, body) VALUES ('Memo', 'Before.')"""
MEMO_MAPPING = """
[binding]
name = "memos"
mode = "both"
[page]
table = "kb.memos"
id = "id"
title = "title"
[body]
column = "body"
format = "markdown"
"""


def load_due(world: BoundWorld, reading: Sequence[UUID] = ()) -> list[DueBinding]:
    """What a look tells. reading: bindings to which pages of others mean nothing."""
    return asyncio.run(_load_due(world, reading))


async def _load_due(world: BoundWorld, reading: Sequence[UUID]) -> list[DueBinding]:
    assert world.mirrord.dsn is not None
    async with Database(world.mirrord.dsn, size=2) as database:
        return await due_bindings.load_due(database, Look({_tenant_of(world)}, True, reading))


def _tenant_of(world: BoundWorld) -> TenantId:
    return TenantId(value(world.admin, "SELECT id FROM mirrord.tenant"))


def run_passes(world: BoundWorld) -> None:
    """Carry over all that waits, as a daemon would; nothing gives names to pages."""
    asyncio.run(_run_passes(world))


async def _run_passes(world: BoundWorld) -> None:
    assert world.mirrord.dsn is not None
    comparisons: dict[UUID, Comparison | None] = {}
    async with Database(world.mirrord.dsn, size=2) as database:
        for _ in range(20):
            due = await due_bindings.load_due(database, Look({_tenant_of(world)}, has_queue=True))
            pending = [each for each in due if each.is_due or each.has_changes]
            if not pending:
                return
            for each in pending:
                comparison = comparisons.get(each.id) or (Comparison() if each.is_due else None)
                report = await run_pass(database, PassOrder(each, "demo", comparison=comparison))
                comparisons[each.id] = report.comparison
    raise AssertionError("the passes never end")


def is_read(world: BoundWorld) -> bool:
    """Whether every binding has looked at every change of pages."""
    clocks = "mirrord.tenant_clock AS c USING (tenant_id)"
    return bool(value(world.admin, f"SELECT bool_and(b.feed_seq = c.seq) FROM mirrord.binding AS b JOIN {clocks}"))


def ring_for(world: BoundWorld, page: object) -> None:
    """Let the feed have *page* again, as a document that was derived of it does."""
    world.admin.execute(f"SET mirrord.tenant = '{_tenant_of(world)}'".encode())
    world.admin.execute("UPDATE mirrord.tenant_clock SET seq = seq + 1")
    world.admin.execute(
        "UPDATE mirrord.entry_feed SET seq = (SELECT seq FROM mirrord.tenant_clock) WHERE entry_id = %s", [page]
    )


def bind_page(world: BoundWorld) -> object:
    """Bind the knowledge base with one page, without a daemon; returns the id of the page."""
    world.mapping.write_text(TWO_WAY_MAPPING)
    world.app.create("Page", "Before.")
    world.bind("add", str(world.mapping))
    run_passes(world)
    return value(world.admin, "SELECT entry_id FROM mirrord.binding_entry")


def test_a_document_of_a_bound_page_leads_to_no_pass_and_counts_as_looked_at(world: BoundWorld) -> None:
    page = bind_page(world)
    ring_for(world, page)
    assert not is_read(world)
    (due,) = load_due(world)
    assert not due.has_changes
    assert is_read(world)


def test_an_edit_of_a_bound_page_a_new_page_and_a_row_lead_to_passes(world: BoundWorld) -> None:
    page = bind_page(world)
    world.admin.execute(f"SET mirrord.tenant = '{_tenant_of(world)}'".encode())
    world.admin.execute("UPDATE mirrord.page SET markdown = markdown || 'More.' WHERE id = %s", [page])
    (due,) = load_due(world)
    assert due.has_changes
    assert not is_read(world)
    run_passes(world)
    world.admin.execute("INSERT INTO mirrord.page (name, markdown) VALUES ('New', 'Words.')")
    (due,) = load_due(world)
    assert due.has_changes
    assert not load_due(world, [due.id])[0].has_changes, "a binding that only reads its app creates no rows"
    world.app.create("Other", "Before.")
    assert load_due(world)[0].has_changes


def test_a_comparison_that_was_begun_makes_its_binding_due_until_it_is_complete(world: BoundWorld) -> None:
    bind_page(world)
    assert not load_due(world)[0].is_due
    asyncio.run(_begin_comparison(world))
    assert load_due(world)[0].is_due
    run_passes(world)
    assert not load_due(world)[0].is_due


def test_a_binding_that_was_never_compared_is_not_while_its_first_comparison_lasts(world: BoundWorld) -> None:
    bind_page(world)
    world.admin.execute("UPDATE mirrord.binding SET compared_at = NULL")
    asyncio.run(_begin_comparison(world))
    assert value(world.admin, "SELECT compared_at = '-infinity' FROM mirrord.binding")
    assert load_due(world)[0].is_due


async def _begin_comparison(world: BoundWorld) -> None:
    assert world.mirrord.dsn is not None
    async with Database(world.mirrord.dsn, size=2) as database, database.transaction(_tenant_of(world)) as connection:
        [binding] = await binding_rows.list_bindings(connection, _tenant_of(world))
        await binding_rows.begin_comparison(connection, binding)


def test_a_page_that_was_not_rendered_when_it_was_looked_at_leads_to_a_pass(world: BoundWorld) -> None:
    page = bind_page(world)
    ring_for(world, page)
    world.admin.execute("UPDATE mirrord.binding_entry SET external_version = ''")
    assert load_due(world)[0].has_changes


def test_more_changes_than_a_look_weighs_lead_to_a_pass(world: BoundWorld) -> None:
    page = bind_page(world)
    ring_for(world, page)
    world.admin.execute(
        "INSERT INTO mirrord.entry_feed (tenant_id, entry_id, kind, seq) "
        "SELECT f.tenant_id, gen_random_uuid(), 'page', f.seq FROM mirrord.entry_feed AS f, generate_series(1, 200) "
        "WHERE f.entry_id = %s",
        [page],
    )
    assert load_due(world)[0].has_changes


def test_the_binding_with_an_edited_page_is_worked_on_before_the_others(world: BoundWorld) -> None:
    bind_page(world)
    world.admin.execute(MEMOS.encode())
    memos = world.mapping.with_name("memos.toml")
    memos.write_text(MEMO_MAPPING)
    world.bind("add", str(memos))
    run_passes(world)
    world.admin.execute(f"SET mirrord.tenant = '{_tenant_of(world)}'".encode())
    bindings: dict[str, UUID] = dict(world.admin.execute("SELECT name, id FROM mirrord.binding").fetchall())
    for name in bindings:
        world.admin.execute(
            "UPDATE mirrord.page SET markdown = markdown || 'More.' "
            "WHERE id IN (SELECT entry_id FROM mirrord.binding_entry WHERE binding_id = %s)",
            [bindings[name]],
        )
        due = load_due(world)
        assert due[0].name == name
        assert [each.has_changes for each in due] == [True, True], "the other one has a page of others to pass over"
        run_passes(world)


def test_pages_that_change_lead_to_a_look_soon_after_a_pass_and_where_bindings_only_read() -> None:
    noted = NotedTenants()
    noted.add_pages(TENANT)
    assert not noted.noted.is_set(), "the tenant has no binding"
    noted.bound = {TENANT}
    noted.worked_at = time.monotonic() - binding_loop.BUSY_SECONDS
    noted.add_pages(TENANT)
    assert noted.noted.is_set()
    assert noted.take() == Notes(of_pages={TENANT}, is_notified=True)
    noted.reading = {TENANT}
    noted.add_pages(TENANT)
    assert noted.noted.is_set()
    assert noted.take() == Notes(is_notified=True, is_look_needed=True)
    noted.reading = set()
    noted.worked_at = time.monotonic() + 600
    noted.add_pages(TENANT)
    assert noted.noted.is_set()
    assert noted.rest_seconds > 0
    assert not noted.from_apps.is_set()
    assert noted.take() == Notes(is_notified=True, is_look_needed=True)
    noted.add(TENANT, str(BINDING))
    assert noted.from_apps.is_set(), "rows of apps wait for nothing"
    assert noted.take() == Notes(written={BINDING}, is_notified=True)
    assert not noted.from_apps.is_set()
    noted.add(TENANT)
    assert noted.take() == Notes(of_apps={TENANT}, is_notified=True), "a trigger of an earlier version says no more"
    assert noted.take() == Notes()


def test_a_page_that_changes_after_a_pass_without_work_leads_to_a_pass_but_not_one_after_another() -> None:
    noted, now = NotedTenants(), time.monotonic()
    noted.bound = {TENANT}
    noted.note_pass(now, is_idle=True)
    noted.add_pages(TENANT)
    assert noted.take() == Notes(of_pages={TENANT}, is_notified=True)
    assert noted.rest_seconds <= 0
    noted.note_pass(now + 600, is_idle=True)
    noted.note_pass(now + 600, is_idle=True)
    noted.add_pages(TENANT)
    assert noted.take() == Notes(is_notified=True, is_look_needed=True)
    assert noted.rest_seconds > 0


def test_a_page_that_changes_after_a_pass_with_work_waits_for_a_look() -> None:
    noted = NotedTenants()
    noted.bound = {TENANT}
    noted.note_pass(time.monotonic() + 600, is_idle=False)
    noted.add_pages(TENANT)
    assert noted.take() == Notes(is_notified=True, is_look_needed=True)
