"""A row of the app changes while mirrord has not placed its page yet: the page is looked at again then."""

import asyncio

import pytest

from mirrord.binding.passes import Comparison, PassOrder, run_pass
from mirrord.db.bindings import due_bindings
from mirrord.db.database import Database
from mirrord.domain.entry import TenantId
from tests.binding.knowledge_base import TWO_WAY_MAPPING, BoundWorld
from tests.support.entries import value
from tests.support.harness import eventually

UNNAMED = "SELECT id::text FROM mirrord.page WHERE name IS NULL OR ahead <> '{}'"


@pytest.fixture
def unnamed(world: BoundWorld) -> tuple[BoundWorld, str]:
    """A binding in mode `both`, whose daemon never ran, and the id of a page that has no name yet, and of its row."""
    world.mapping.write_text(TWO_WAY_MAPPING)
    world.bind("add", str(world.mapping))
    for title in ("Same", "Same", "Stays", "Stays too", "And this", "And that"):  # else most pages would be gone
        world.app.create(title, "Before.")
    run_passes(world, is_first=True)
    return world, str(value(world.admin, UNNAMED))


def run_passes(world: BoundWorld, *, is_first: bool = False) -> None:
    """Make the passes of the binding that a daemon would make, without a daemon that gives names to pages."""
    asyncio.run(_run_passes(world, Comparison() if is_first else None))


async def _run_passes(world: BoundWorld, comparison: Comparison | None) -> None:
    tenant = TenantId(value(world.admin, "SELECT id FROM mirrord.tenant"))
    assert world.mirrord.dsn is not None
    async with Database(world.mirrord.dsn, size=2) as database:
        for _ in range(10):
            (due,) = await due_bindings.load_due(database, due_bindings.Look({tenant}, has_queue=True))
            report = await run_pass(database, PassOrder(due, "demo", comparison=comparison))
            comparison = report.comparison
            if not report.has_more:
                return


def test_the_page_gets_what_the_app_wrote_before_it_had_a_name(unnamed: tuple[BoundWorld, str]) -> None:
    world, page = unnamed
    world.app.save(page, "After.")
    run_passes(world)
    world.mirrord.up()
    text = eventually(lambda: world.mirrord.text("Same (2).md"), "the page has a name")
    assert f"id: {page}" in text
    world.await_text("Same (2).md", "After.")


def test_the_page_is_deleted_that_the_app_deleted_before_it_had_a_name(unnamed: tuple[BoundWorld, str]) -> None:
    world, page = unnamed
    world.app.delete(page)
    run_passes(world)
    world.mirrord.up()
    is_deleted = "SELECT deleted_at IS NOT NULL FROM mirrord.page WHERE id = %s"
    eventually(lambda: value(world.admin, is_deleted, page), "the page is deleted")
    world.await_absence("Same (2).md")
