"""A binding that is dropped and added again under its name: rows and pages that belonged together still do."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest

from tests.binding.knowledge_base import CREATING_MAPPING, TWO_WAY_MAPPING, BoundWorld
from tests.binding.test_new_rows import NOTES, NOTES_TABLE
from tests.support.entries import value
from tests.support.harness import eventually

BODY = "SELECT body FROM kb.notes WHERE title = 'Beans'"
COUNT = "SELECT count(*) FROM kb.notes"
SIX_LINES = "One.\n\nTwo.\n\nThree.\n\nFour.\n\nFive.\n\nSix.\n"


@pytest.fixture
def notes(world: BoundWorld) -> BoundWorld:
    """An app whose database gives ids that are numbers, and a page that came from a file; the binding is dropped."""
    world.app.connection.execute(NOTES_TABLE.encode())
    world.mapping.write_text(NOTES)
    world.bind("add", str(world.mapping))
    world.mirrord.up()
    world.mirrord.file("Beans.md").write_text(SIX_LINES)
    eventually(lambda: value(world.admin, BODY) == SIX_LINES, "the row is there")
    world.mirrord.flush()
    world.bind("drop", "notes")
    return world


def write_file(world: BoundWorld, path: str, change: Callable[[str], str]) -> None:
    """Edit a file, and return when its page has the edit."""
    text = change(world.mirrord.text(path) or "")
    world.mirrord.file(path).write_text(text)
    markdown = "SELECT count(*) FROM mirrord.page WHERE markdown = %s AND deleted_at IS NULL"
    eventually(lambda: value(world.admin, markdown, text) == 1, f"the page of {path} has the edit")


def add_notes(world: BoundWorld) -> None:
    """Add the binding again, and return when all rows were compared."""
    world.bind("add", str(world.mapping))
    compared = "SELECT compared_at > '-infinity' FROM mirrord.binding"
    eventually(lambda: value(world.admin, compared), "all rows are compared")
    world.mirrord.flush()


def problems(world: BoundWorld) -> list[str]:
    """The sentences of all problems."""
    return [sentence for (sentence,) in world.admin.execute("SELECT sentence FROM mirrord.problem").fetchall()]


def living_pages(world: BoundWorld) -> list[str]:
    """The names of all pages that live."""
    query = "SELECT name FROM mirrord.page WHERE deleted_at IS NULL AND kind = 'page' ORDER BY name"
    return [name for (name,) in world.admin.execute(query).fetchall()]


def test_a_page_from_a_file_is_that_of_its_row_again(notes: BoundWorld) -> None:
    text = notes.mirrord.text("Beans.md")
    add_notes(notes)
    assert (living_pages(notes), value(notes.admin, COUNT), problems(notes)) == (["Beans"], 1, [])
    assert notes.mirrord.text("Beans.md") == text
    notes.app.connection.execute("UPDATE kb.notes SET body = 'Of the app.'")
    notes.await_text("Beans.md", "Of the app.")


def test_edits_of_both_sides_from_the_time_between_are_merged(notes: BoundWorld) -> None:
    write_file(notes, "Beans.md", lambda text: text.replace("One.", "One, of the file."))
    notes.app.connection.execute("UPDATE kb.notes SET body = replace(body, 'Six.', 'Six, of the app.')")
    add_notes(notes)
    merged = SIX_LINES.replace("One.", "One, of the file.").replace("Six.", "Six, of the app.")
    eventually(lambda: value(notes.admin, BODY) == merged, "the app has both edits")
    notes.await_text("Beans.md", "One, of the file.", "Six, of the app.")
    assert (living_pages(notes), problems(notes)) == (["Beans"], [])


def test_the_same_words_of_both_sides_are_a_conflict(notes: BoundWorld) -> None:
    write_file(notes, "Beans.md", lambda text: text.replace("One.", "First of the file."))
    notes.app.connection.execute("UPDATE kb.notes SET body = replace(body, 'One.', 'First of the app.')")
    add_notes(notes)
    notes.await_text("Beans.md", "First of the app.")
    eventually(notes.conflicts, "the conflict is listed")
    notes.mirrord.flush()
    (beside,) = notes.mirrord.root.glob("*(conflict*.md")
    assert "First of the file." in beside.read_text()
    assert "First of the app." in value(notes.admin, BODY)


def test_a_page_that_was_deleted_between_is_there_again_and_its_row_stays(notes: BoundWorld) -> None:
    notes.mirrord.file("Beans.md").unlink()
    eventually(lambda: not living_pages(notes), "the page is deleted")
    add_notes(notes)
    notes.await_text("Beans.md", "Six.")
    assert (living_pages(notes), value(notes.admin, COUNT)) == (["Beans"], 1)


def test_a_page_of_a_row_that_was_removed_between_stays_a_page_of_your_own(notes: BoundWorld) -> None:
    notes.app.connection.execute("DELETE FROM kb.notes")
    add_notes(notes)
    assert (living_pages(notes), value(notes.admin, COUNT)) == (["Beans"], 0)
    assert (notes.mirrord.text("Beans.md") or "").endswith(SIX_LINES)


def test_the_rows_of_another_table_do_not_take_the_pages_of_the_first(notes: BoundWorld) -> None:
    notes.app.connection.execute(NOTES_TABLE.replace("kb.notes", "kb.others").encode())
    notes.app.connection.execute("INSERT INTO kb.others (slug, title, body) VALUES ('x', 'Other', 'Of others.')")
    notes.mapping.write_text(NOTES.replace("kb.notes", "kb.others"))
    add_notes(notes)
    notes.await_text("Other.md", "Of others.")
    assert living_pages(notes) == ["Beans", "Other"]
    assert (notes.mirrord.text("Beans.md") or "").endswith(SIX_LINES)


def test_it_is_so_after_a_second_time_too(notes: BoundWorld) -> None:
    add_notes(notes)
    notes.bind("drop", "notes")
    write_file(notes, "Beans.md", lambda text: text.replace("One.", "One, edited."))
    add_notes(notes)
    eventually(lambda: "One, edited." in value(notes.admin, BODY), "the app has the edit")
    assert (living_pages(notes), value(notes.admin, COUNT), problems(notes)) == (["Beans"], 1, [])


def test_a_row_with_the_id_of_its_page_from_a_file_is_no_problem(world: BoundWorld) -> None:
    world.mapping.write_text(CREATING_MAPPING)
    world.bind("add", str(world.mapping))
    world.mirrord.up()
    above = world.app.create("Above", "A.")
    world.await_text("Above.md", "A.")
    world.mirrord.file("Above").mkdir()
    world.mirrord.file("Above/Beans.md").write_text("Green.\n")
    world.await_text("Above/Beans.md", "position: ")
    world.await_rest()
    page = str(value(world.admin, "SELECT id FROM kb.pages WHERE title = 'Beans'"))
    world.bind("drop", "kb")
    write_file(world, "Above/Beans.md", lambda text: text.replace("Green.", "Green, edited."))
    world.app.change(page, parent_id=None)
    world.bind("add", str(world.mapping))
    world.await_body(page, "Green, edited.")
    world.await_text("Beans.md", f"id: {page}", "Green, edited.")
    world.await_rest()
    assert world.status()["problems"] == []
    assert world.app.page(above)["deleted_at"] is None


def test_a_binding_with_many_rows_is_dropped_again_at_once(world: BoundWorld) -> None:
    """Postgres has not counted the rows yet; each one of before was compared with all others, for minutes."""
    entries = (
        "INSERT INTO mirrord.binding_entry "
        "(tenant_id, binding_id, external_id, entry_id, version, digest, external_version) "
        "SELECT tenant_id, id, %s || n, gen_random_uuid(), 1, '', '' "
        "FROM mirrord.binding, generate_series(1, 20000) AS n"
    )
    for prefix in ("a", "b", "b"):
        world.bind("add", str(world.mapping))
        world.admin.execute("SELECT set_config('mirrord.tenant', id::text, false) FROM mirrord.tenant")
        world.admin.execute(entries, [prefix])
        world.bind("drop", "kb")
    former_rows = "SELECT count(*), count(DISTINCT external_id) FROM mirrord.former_binding_entry"
    assert world.admin.execute(former_rows).fetchall() == [(20_000, 20_000)]  # the others had no pages


def test_another_column_of_ids_is_refused_while_the_pages_of_the_binding_are_there(notes: BoundWorld) -> None:
    notes.app.connection.execute("ALTER TABLE kb.notes ADD number integer UNIQUE")
    notes.app.connection.execute("INSERT INTO kb.notes (title, slug, body) VALUES ('Peas', 'peas', 'Sweet.')")
    add_notes(notes)
    notes.await_text("Peas.md", "Sweet.")
    notes.bind("drop", "notes")
    notes.app.connection.execute("UPDATE kb.notes SET number = 3 - id")  # each row has the id of the other one
    first = notes.mapping.read_text()
    notes.mapping.write_text(first.replace('id = "id"', 'id = "number"'))
    sentence = notes.bind("add", str(notes.mapping), code=4)
    assert "belong to rows by kb.notes.id, and by number each row would be a second page" in sentence
    notes.mapping.write_text(first)
    add_notes(notes)
    assert (living_pages(notes), problems(notes)) == (["Beans", "Peas"], [])
    notes.await_text("Peas.md", "Sweet.")


def test_a_binding_that_is_added_again_at_once_goes_by_its_new_mapping(bound: BoundWorld) -> None:
    page = bound.app.create("Page", "First.")
    bound.await_text("Page.md", "First.")
    bound.await_rest()
    bound.bind("drop", "kb")
    bound.mapping.write_text(TWO_WAY_MAPPING)
    bound.bind("add", str(bound.mapping))
    write_file(bound, "Page.md", lambda text: text.replace("First.", "Second."))
    bound.await_body(page, "Second.")
    assert problems(bound) == []


def test_what_a_pass_agrees_on_while_its_binding_is_dropped_is_kept(world: BoundWorld) -> None:
    world.bind("add", str(world.mapping))
    waiting = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
    with psycopg.connect(world.admin.info.dsn) as working, ThreadPoolExecutor(1) as passes:
        tenant = value(world.admin, "SELECT id FROM mirrord.tenant")
        working.execute(f"SET LOCAL mirrord.tenant = '{tenant}'".encode())
        working.execute("SELECT FROM mirrord.binding FOR UPDATE")
        working.execute(
            "INSERT INTO mirrord.binding_entry (tenant_id, binding_id, external_id, entry_id, version, digest, "
            "external_version) SELECT tenant_id, id, 'row', gen_random_uuid(), 1, '', '' FROM mirrord.binding"
        )

        def end_pass() -> None:
            eventually(lambda: value(world.admin, waiting), "the command waits for the pass")
            working.commit()

        ending = passes.submit(end_pass)
        world.bind("drop", "kb")
        ending.result()
    assert value(world.admin, "SELECT count(*) FROM mirrord.former_binding_entry") == 1
