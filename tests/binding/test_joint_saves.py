"""A file of a bound page is saved: its page and the row of the app are written in one transaction, or one by one."""

import time
from collections.abc import Iterator
from contextlib import closing
from typing import LiteralString

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from mirrord.sync.decisions.stale_buffers import BUFFER_SECONDS
from tests.binding.knowledge_base import ROLE, TWO_WAY_MAPPING, BoundWorld
from tests.binding.test_lone_changes import ALTERING_TRIGGER
from tests.support.harness import eventually

_WRITERS: LiteralString = """
SELECT p.xmin::text, b.xmin::text FROM mirrord.page AS p JOIN kb.blocks AS b ON b.page_id = p.id::text
 WHERE p.id::text = %s"""
# Of the transactions at the moment at which the app's row is written: later work may write the page again.
_WITNESS: LiteralString = """
CREATE TABLE kb.witness (of_page text, of_row text);
CREATE FUNCTION kb.witness() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
BEGIN
    INSERT INTO kb.witness SELECT p.xmin::text, pg_current_xact_id()::text::xid::text
      FROM mirrord.page AS p WHERE p.id::text = NEW.page_id;
    RETURN NULL;
END
$$;
CREATE TRIGGER witness AFTER UPDATE ON kb.blocks FOR EACH ROW EXECUTE FUNCTION kb.witness()"""
_REFUSAL = """
CREATE FUNCTION kb.answer() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN {act}; RETURN NULL; END $$;
CREATE CONSTRAINT TRIGGER answer AFTER UPDATE ON kb.blocks {time}
    FOR EACH ROW WHEN (NEW.plain_text LIKE '%After.%') EXECUTE FUNCTION kb.answer()"""


@pytest.fixture
def page(world: BoundWorld) -> Iterator[str]:
    """A page of an app in mode `both`, with its file `Page.md`, which mirrord wrote long enough ago."""
    yield from _serve_page(world)


@pytest.fixture
def page_of_processes(world: BoundWorld) -> Iterator[str]:
    """The same where engines run in processes of their own."""
    yield from _serve_page(world, "--processes", "2")


def _serve_page(world: BoundWorld, *options: str) -> Iterator[str]:
    world.mapping.write_text(TWO_WAY_MAPPING)
    world.bind("add", str(world.mapping))
    world.mirrord.up(*options)
    page = world.app.create("Page", "Before.")
    world.await_text("Page.md", "Before.")
    world.await_rest()
    written_at = world.mirrord.file("Page.md").stat().st_mtime
    eventually(lambda: time.time() - written_at > BUFFER_SECONDS, "no editor has an older text")
    yield page
    assert world.mirrord.check() == {}


def edit(world: BoundWorld, before: str, after: str) -> None:
    """Save the file with *after* in place of *before*."""
    file = world.mirrord.file("Page.md")
    file.write_text(file.read_text("utf-8").replace(before, after), "utf-8")


def writers(world: BoundWorld, page: str) -> tuple[str, str]:
    """The transactions that wrote the page, and the row with its body in the app."""
    (row,) = world.admin.execute(_WRITERS, [page]).fetchall()
    return row[0], row[1]


def await_page(world: BoundWorld, page: str, part: str) -> None:
    """Return when the text of the page has *part*."""
    query = "SELECT markdown LIKE '%%' || %s || '%%' FROM mirrord.page WHERE id::text = %s"
    eventually(lambda: world.admin.execute(query, [part, page]).fetchall() == [(True,)], f"the page has {part!r}")


def test_a_save_writes_page_and_row_in_one_transaction(world: BoundWorld, page: str) -> None:
    world.admin.execute(_WITNESS)
    edit(world, "Before.", "After.")
    world.await_body(page, "After.")
    ((of_page, of_row),) = world.admin.execute("SELECT * FROM kb.witness").fetchall()
    assert of_page == of_row
    world.await_rest()
    assert world.app.block(page)["version"] == 2
    assert world.app.block(page)["plain_text"] == "After."


def test_so_does_an_engine_process(world: BoundWorld, page_of_processes: str) -> None:
    world.admin.execute(_WITNESS)
    edit(world, "Before.", "After.")
    world.await_body(page_of_processes, "After.")
    ((of_page, of_row),) = world.admin.execute("SELECT * FROM kb.witness").fetchall()
    assert of_page == of_row
    world.await_rest()


def test_a_row_that_an_app_holds_keeps_no_save_from_its_page(world: BoundWorld, page: str) -> None:
    with closing(psycopg.connect(make_conninfo(world.admin.info.dsn, user=ROLE))) as other:
        other.execute("SELECT FROM kb.blocks WHERE page_id = %s FOR UPDATE", [page])
        edit(world, "Before.", "After.")
        await_page(world, page, "After.")
        assert world.app.body_text(page) == "Before."
        other.rollback()
    world.await_body(page, "After.")
    world.await_rest()


def test_what_an_app_wrote_meanwhile_is_merged_with_the_save(world: BoundWorld, page: str) -> None:
    world.app.save(page, "Before.", "Of the app.")
    edit(world, "Before.", "After.")
    world.await_body(page, "After.")
    world.await_body(page, "Of the app.")
    world.await_text("Page.md", "After.", "Of the app.")
    world.await_rest()
    assert world.conflicts() == []


@pytest.mark.parametrize("moment", ["", "DEFERRABLE INITIALLY DEFERRED"], ids=["at once", "at its end"])
def test_a_save_that_the_app_refuses_reaches_its_page(world: BoundWorld, page: str, moment: str) -> None:
    world.admin.execute(_REFUSAL.format(act="RAISE EXCEPTION 'not now'", time=moment).encode())
    edit(world, "Before.", "After.")
    await_page(world, page, "After.")
    (problem,) = eventually(lambda: world.status()["problems"], "the refused edit is a problem")
    assert "not now" in problem["sentence"]
    assert world.app.body_text(page) == "Before."
    edit(world, "After.", "Allowed.")
    world.await_body(page, "Allowed.")
    eventually(lambda: not world.status()["problems"], "the problem is over")


@pytest.mark.parametrize("moment", ["", "DEFERRABLE INITIALLY DEFERRED"], ids=["at once", "at its end"])
def test_an_app_that_takes_long_over_a_write_keeps_no_save_from_its_page(
    world: BoundWorld, page: str, moment: str
) -> None:
    world.admin.execute(_REFUSAL.format(act="PERFORM pg_sleep(1)", time=moment).encode())
    edit(world, "Before.", "After.")
    await_page(world, page, "After.")
    assert world.app.body_text(page) == "Before."
    world.await_body(page, "After.")
    of_page, of_row = writers(world, page)
    assert of_page != of_row
    world.await_rest()


def test_an_edit_of_a_key_that_the_app_owns_is_taken_back_by_the_binding(world: BoundWorld, page: str) -> None:
    world.app.change(page, summary="Short.")
    world.await_text("Page.md", "summary: Short.")
    written_at = world.mirrord.file("Page.md").stat().st_mtime
    eventually(lambda: time.time() - written_at > BUFFER_SECONDS, "no editor has an older text")
    edit(world, "summary: Short.", "summary: Mine.")
    eventually(lambda: world.status()["problems"], "the edit is a problem")
    world.await_text("Page.md", "summary: Short.")
    world.await_rest()


def test_what_a_trigger_makes_of_a_saved_page_reaches_the_row(world: BoundWorld, page: str) -> None:
    edit(world, "Before.", "Later.")
    await_page(world, page, "Later.")
    world.await_body(page, "Later.")
    world.await_rest()  # so the binding is free
    world.admin.execute(ALTERING_TRIGGER.encode())
    edit(world, "Later.", "After.")
    world.await_body(page, "After.")
    world.await_body(page, "Signed.")
    world.await_text("Page.md", "After.", "Signed.")
    world.await_rest()
