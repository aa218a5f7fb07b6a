"""One row of an app changes, which is what people wait for: few statements, and the careful pass where they fail."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass
from pathlib import Path
from uuid import UUID

import psycopg
import pytest

from mirrord.binding import binding_loop
from mirrord.binding.binding_loop import BindingLoop, NotedTenants
from mirrord.db.database import Connection, Database
from mirrord.domain.entry import TenantId
from tests.binding.knowledge_base import MAPPING, TWO_WAY_MAPPING, BoundWorld, install_app
from tests.support.commands import Near
from tests.support.entries import value
from tests.support.harness import eventually
from tests.support.statement_log import SentStatements, StatementLog, list_names

EDITS = 3  # of a page each; the fewest count, because other work may fall into an edit
MAX_TRANSACTIONS, MAX_STATEMENTS = 9, 60  # with those of its document, and a pass that finds no more
ALTERING_TRIGGER = """
CREATE FUNCTION public.sign() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.markdown NOT LIKE '%Signed.%' THEN
        NEW.markdown := rtrim(NEW.markdown, E'\\n') || E'\\n\\nSigned.\\n';
    END IF;
    RETURN NEW;
END
$$;
CREATE TRIGGER sign BEFORE UPDATE OF markdown ON mirrord.page FOR EACH ROW EXECUTE FUNCTION public.sign()"""
REFUSING_TRIGGER = """
CREATE FUNCTION public.refuse() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'not now';
END
$$;
CREATE TRIGGER refuse BEFORE UPDATE OF markdown ON mirrord.page
    FOR EACH ROW WHEN (NEW.markdown LIKE '%Refuse me.%') EXECUTE FUNCTION public.refuse()"""


@pytest.fixture
def embedded(tmp_path: Path) -> Iterator[BoundWorld]:
    """A world with a binding whose daemon has a Postgres of its own, which logs statements."""
    mapping = tmp_path / "kb.toml"
    mapping.write_text(MAPPING)
    with Near(tmp_path / "here") as mirrord:
        mirrord.up()
        dsn = mirrord.postgres.dsn()
        app = install_app(dsn)
        with closing(app.connection), closing(psycopg.connect(dsn, autocommit=True)) as admin:
            world = BoundWorld(mirrord, app, admin, mapping)
            world.bind("add", str(mapping))
            yield world


def test_a_lone_change_of_an_app_takes_few_transactions_and_statements(embedded: BoundWorld) -> None:
    pages = add_pages(embedded)
    log = StatementLog(embedded.mirrord)
    log.sent_until_rest()

    def change(number: int) -> None:
        embedded.app.save(pages[number], "After.")
        embedded.await_text(f"Page {number}.md", "After.")

    sent = fewest_sent(log, change)
    assert sent.by_name()["UPDATE page"] == 1, f"the engine renders what the binding wrote:\n{list_names(sent)}"
    assert sent.by_name()["SELECT mirror_base"] == 0, f"the file is looked up once more:\n{list_names(sent)}"


def test_a_lone_edit_of_a_file_takes_few_transactions_and_statements(embedded: BoundWorld) -> None:
    embedded.bind("drop", "kb")
    embedded.mapping.write_text(TWO_WAY_MAPPING)
    embedded.bind("add", str(embedded.mapping))
    pages = add_pages(embedded)
    log = StatementLog(embedded.mirrord)
    log.sent_until_rest()

    def edit(number: int) -> None:
        file = embedded.mirrord.file(f"Page {number}.md")
        file.write_text(file.read_text("utf-8").replace("Before.", "After."), "utf-8")
        embedded.await_body(pages[number], "After.")

    fewest_sent(log, edit)


def add_pages(world: BoundWorld) -> list[str]:
    """Pages of the app with the words `Before.`, and with their files."""
    pages = [world.app.create(f"Page {number}", "Before.") for number in range(EDITS)]
    for number in range(EDITS):
        world.await_text(f"Page {number}.md", "Before.")
    world.await_rest()
    return pages


def fewest_sent(log: StatementLog, act: Callable[[int], None]) -> SentStatements:
    """What the cheapest of EDITS acts sent; none of them may be more than a few statements, without a savepoint."""
    results = []
    for number in range(EDITS):
        log.forget()
        act(number)
        results.append(log.sent_until_rest())
    sent = min(results, key=lambda each: (each.transactions, len(each.statements)))
    names = "\n".join(list_names(sent))
    assert sent.transactions <= MAX_TRANSACTIONS, names
    assert len(sent.statements) <= MAX_STATEMENTS, names
    assert not any(statement.startswith("SAVEPOINT") for statement in sent.statements), names
    return sent


def test_a_lone_change_that_a_trigger_of_an_app_alters_reaches_its_file(bound: BoundWorld) -> None:
    page = bound.app.create("Page", "First.")
    bound.await_text("Page.md", "First.")
    bound.await_rest()
    bound.admin.execute(ALTERING_TRIGGER.encode())
    bound.app.save(page, "Second.")
    bound.await_text("Page.md", "Second.", "Signed.")
    bound.await_rest()
    assert bound.mirrord.check() == {}
    bound.app.save(page, "Third.")
    bound.await_text("Page.md", "Third.", "Signed.")
    assert bound.status()["problems"] == []


def test_a_lone_change_that_postgres_refuses_is_a_problem_until_it_passes(bound: BoundWorld) -> None:
    page, other = bound.app.create("Page", "First."), bound.app.create("Other", "First.")
    bound.await_text("Page.md", "First.")
    bound.await_text("Other.md", "First.")
    bound.await_rest()
    bound.admin.execute(REFUSING_TRIGGER.encode())
    bound.app.save(page, "Refuse me.")
    (problem,) = eventually(lambda: bound.status()["problems"], "the refused change is a problem")
    assert "not now" in problem["sentence"]
    bound.app.save(other, "Second.")
    bound.await_text("Other.md", "Second.")
    assert "First." in (bound.mirrord.text("Page.md") or "")
    bound.app.save(page, "Allowed.")
    bound.await_text("Page.md", "Allowed.")
    eventually(lambda: not bound.status()["problems"], "the problem is over")


class CountedDatabase(Database):
    """A pool that counts how often a connection was taken."""

    turns = 0

    @asynccontextmanager
    async def autocommit(self, *, urgent: bool = False) -> AsyncIterator[Connection]:
        """As in Database."""
        self.turns += 1
        async with super().autocommit(urgent=urgent) as connection:
            yield connection


@dataclass
class LoneLoop:
    """The loop of bindings without a daemon, which only notifications wake."""

    world: BoundWorld
    database: CountedDatabase
    tenant: TenantId
    noted: NotedTenants

    async def await_value(self, query: str, *values: object) -> None:
        """Return when *query* has a true value."""
        await asyncio.to_thread(eventually, lambda: value(self.world.admin, query, *values), query, 60)

    async def await_page(self, text: str) -> None:
        """Return when a page has *text*."""
        await self.await_value("SELECT count(*) FROM mirrord.page WHERE markdown LIKE %s", f"%{text}%")

    async def await_row(self, text: str) -> None:
        """Return when a body of the app has *text*."""
        await self.await_value("SELECT count(*) FROM kb.blocks WHERE content::text LIKE %s", f"%{text}%")


def play_alone(world: BoundWorld, monkeypatch: pytest.MonkeyPatch, act: Callable[[LoneLoop], Awaitable[None]]) -> int:
    """Let *act* happen to a page with the words `Before.`; how often the loop took a connection meanwhile."""
    for pause in ("BUSY_SECONDS", "LOOK_SECONDS", "KNOWN_SECONDS"):
        monkeypatch.setattr(binding_loop, pause, 600.0)
    world.app.create("Page", "Before.")
    world.bind("add", str(world.mapping))
    tenant = value(world.admin, "SELECT id FROM mirrord.tenant")

    async def play() -> int:
        stop, lone = asyncio.Event(), LoneLoop(world, CountedDatabase(world.admin.info.dsn), tenant, NotedTenants())
        async with lone.database:
            running = asyncio.create_task(BindingLoop(lone.database, lambda: {tenant: "demo"}, stop, lone.noted).run())
            await lone.await_value("SELECT count(*) FROM mirrord.binding WHERE compared_at > '-infinity'")
            await asyncio.to_thread(eventually, lambda: lone.noted.worked_at > 0, "the first pass ends", 60)
            turns = lone.database.turns
            await act(lone)
            turns = lone.database.turns - turns
            stop.set()
            await running
        return turns

    return asyncio.run(play())


def test_a_change_that_is_notified_is_carried_without_a_look_at_all_bindings(
    world: BoundWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def change_row(lone: LoneLoop) -> None:
        world.app.save(str(value(world.admin, "SELECT id FROM kb.pages")), "After.")
        lone.noted.add(lone.tenant)
        await lone.await_page("After.")

    assert play_alone(world, monkeypatch, change_row) == 1


def test_an_edit_of_a_page_is_carried_to_the_app_when_it_is_notified(
    world: BoundWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.mapping.write_text(TWO_WAY_MAPPING)

    async def edit_page(lone: LoneLoop) -> None:
        world.admin.execute(f"SET mirrord.tenant = '{lone.tenant}'".encode())
        edit = "UPDATE mirrord.page SET markdown = replace(markdown, 'Before.', 'After.')"
        world.admin.execute(edit.encode())
        lone.noted.worked_at = -binding_loop.BUSY_SECONDS
        lone.noted.add_pages(TenantId(UUID(int=1)))
        assert not lone.noted.noted.is_set(), "that tenant has no binding"
        lone.noted.add_pages(lone.tenant)
        await lone.await_row("After.")

    assert play_alone(world, monkeypatch, edit_page) == 1
