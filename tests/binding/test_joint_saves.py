"""A file of a bound page is saved: its page and the row of the app are written in one transaction, or one by one."""

import time
from collections.abc import Iterator
from contextlib import closing
from typing import LiteralString

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from mirrord.binding.joint_saves import REST_SECONDS
from mirrord.sync.decisions.stale_buffers import BUFFER_SECONDS
from tests.binding.knowledge_base import ROLE, TWO_WAY_MAPPING, BoundWorld
from tests.binding.test_lone_changes import ALTERING_TRIGGER
from tests.support.harness import eventually

TRIES = 5  # saves, of which one writes its row, too
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
# What a trigger of the app does to pages of its tenant, and what is noted of that for events, while it is.
_CLEARING: LiteralString = """
CREATE TABLE kb.noted (mirror text);
CREATE FUNCTION kb.clear() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
BEGIN
    UPDATE mirrord.page SET deleted_at = now() WHERE name = 'Shelf' AND deleted_at IS NULL;
    INSERT INTO kb.noted SELECT o.mirror_id::text FROM mirrord.event_outbox AS o
      JOIN mirrord.page AS p ON (p.tenant_id, p.id) = (o.tenant_id, o.entry_id) AND p.version = o.version
     WHERE p.name = 'Shelf' AND p.deleted_at IS NOT NULL;
    RETURN NULL;
END
$$;
CREATE CONSTRAINT TRIGGER clear AFTER UPDATE ON kb.blocks {time} FOR EACH ROW EXECUTE FUNCTION kb.clear()"""
_SHELVED: LiteralString = """
SELECT name, deleted_at IS NOT NULL, updated_by FROM mirrord.page WHERE name IN ('Shelf', 'Box') ORDER BY name"""
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


def edit_while_the_row_is_held(world: BoundWorld, page: str) -> None:
    """Save the file while an app holds its row, which lets it go when the page is saved."""
    with closing(psycopg.connect(make_conninfo(world.admin.info.dsn, user=ROLE))) as other:
        other.execute("SELECT FROM kb.blocks WHERE page_id = %s FOR UPDATE", [page])
        edit(world, "Before.", "After.")
        await_page(world, page, "After.")
        assert world.app.body_text(page) == "Before."
        other.rollback()


def list_writers(world: BoundWorld) -> list[tuple[str, str]]:
    """The transactions that wrote page and row, of each write of a row since the witness was made."""
    return [(of_page, of_row) for of_page, of_row in world.admin.execute("SELECT * FROM kb.witness").fetchall()]


def test_a_save_writes_page_and_row_in_one_transaction(world: BoundWorld, page: str) -> None:
    world.admin.execute(_WITNESS)
    text = save_jointly(world, page)
    world.await_rest()
    assert world.app.block(page)["version"] == 1 + len(list_writers(world))
    assert world.app.block(page)["plain_text"] == text


@pytest.mark.parametrize("moment", ["", "DEFERRABLE INITIALLY DEFERRED"], ids=["at once", "at its end"])
@pytest.mark.parametrize("is_joint", [True, False], ids=["with its page", "after its page"])
def test_what_a_trigger_of_the_app_does_to_pages_is_the_same_in_a_joint_save(
    world: BoundWorld, page: str, moment: str, is_joint: bool
) -> None:
    for title in ("Stays", "Stays too", "And this"):  # else most pages would be gone
        world.mirrord.file(f"{title}.md").write_text("S.\n")
    world.mirrord.file("Shelf").mkdir()
    world.mirrord.file("Shelf.md").write_text("Shelf.\n")
    world.mirrord.file("Shelf/Box.md").write_text("Box.\n")
    eventually(lambda: len(world.admin.execute(_SHELVED).fetchall()) == 2, "both files have pages")
    world.await_rest()
    world.admin.execute(_WITNESS)
    world.admin.execute(_CLEARING.format(time=moment).encode())
    if is_joint:
        edit(world, "Before.", "After.")
    else:
        edit_while_the_row_is_held(world, page)
    world.await_body(page, "After.")
    ((of_page, of_row),) = list_writers(world)
    assert is_joint or of_page != of_row  # a busy machine may keep a save from being joint, which changes nothing else
    author = {"kind": "app", "name": "binding kb"}
    assert world.admin.execute(_SHELVED).fetchall() == [("Box", True, author), ("Shelf", True, author)]
    assert world.admin.execute("SELECT mirror FROM kb.noted").fetchall() == [(None,)]
    world.await_absence("Shelf/Box.md")
    world.await_absence("Shelf.md")
    world.await_rest()


def test_so_does_an_engine_process(world: BoundWorld, page_of_processes: str) -> None:
    world.admin.execute(_WITNESS)
    save_jointly(world, page_of_processes)
    world.await_rest()


def test_a_row_that_an_app_holds_keeps_no_save_from_its_page(world: BoundWorld, page: str) -> None:
    edit_while_the_row_is_held(world, page)
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


@pytest.mark.parametrize("moment", ["", "DEFERRABLE INITIALLY DEFERRED"], ids=["at once", "at its end"])
def test_the_save_after_two_that_took_the_app_a_while_does_not_wait_for_it(
    world: BoundWorld, page: str, moment: str
) -> None:
    world.admin.execute(_WITNESS)
    world.admin.execute(_REFUSAL.format(act="PERFORM pg_sleep(0.07)", time=moment).encode())
    before = save_jointly(world, page, save_jointly(world, page))
    edit(world, before, "Last.")
    world.await_body(page, "Last.")
    of_page, of_row = list_writers(world)[-1]
    assert of_page != of_row, "the third save waited for the app, too"
    world.await_rest()


def await_time(moment: float) -> None:
    """Return at a monotonic time."""
    eventually(lambda: time.monotonic() > moment, "it is time")


def save_jointly(world: BoundWorld, page: str, text: str = "Before.") -> str:
    """Save the file until page and row are written together, from which a busy machine may keep it; the new text."""
    for number in range(TRIES):
        before, text, next_at = text, f"After. {text} {number}", time.monotonic() + REST_SECONDS
        edit(world, before, text)
        world.await_body(page, text)
        of_page, of_row = list_writers(world)[-1]
        if of_page == of_row:
            return text
        await_time(next_at)
    pytest.fail(f"none of {TRIES} saves wrote its row")


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
