"""New pages get rows in the app, where the mapping says what a new row has; else they stay pages of a person."""

from uuid import UUID

import pytest

from tests.binding.knowledge_base import CREATING_MAPPING, TWO_WAY_MAPPING, BoundWorld, document_of
from tests.support.entries import value
from tests.support.harness import eventually

NOTES = """
[binding]
name = "notes"
mode = "both"
[page]
table = "kb.notes"
id = "id"
title = "title"
parent = "parent"
create = { slug = "uuid" }
delete = "row"
[body]
column = "body"
format = "markdown"
"""
NOTES_TABLE = """
CREATE TABLE kb.notes (
    id serial PRIMARY KEY, parent integer REFERENCES kb.notes, slug text NOT NULL, title varchar(40) NOT NULL, body text
)"""


@pytest.fixture
def creating(world: BoundWorld) -> BoundWorld:
    """A world with a binding in mode `both` that makes rows; its daemon runs."""
    world.mapping.write_text(CREATING_MAPPING)
    world.bind("add", str(world.mapping))
    world.mirrord.up()
    return world


@pytest.fixture
def notes(world: BoundWorld) -> BoundWorld:
    """A world with notes in one table, whose ids the app's database gives."""
    world.app.connection.execute(NOTES_TABLE.encode())
    world.mapping.write_text(NOTES)
    world.bind("add", str(world.mapping))
    world.mirrord.up()
    return world


def test_a_new_file_is_a_page_of_the_app_with_its_id(creating: BoundWorld) -> None:
    home = creating.app.create("Home", "H.")
    creating.await_text("Home.md", "H.")
    creating.mirrord.file("Home").mkdir()
    creating.mirrord.file("Home/Beans.md").write_text("---\nicon: 🌱\ntags: [garden]\n---\nGreen.\n\nAnd *tasty*.\n")
    text = creating.await_text("Home/Beans.md", "id: ", "title: Beans", "position: a0", "tags: [garden]", "Green.")
    page = next(line.removeprefix("id: ") for line in text.splitlines() if line.startswith("id: "))
    row, block = creating.app.page(str(UUID(page))), creating.app.block(page)
    assert (row["title"], row["parent_id"], row["icon"], row["space_type"]) == ("Beans", home, "🌱", "TEAM")
    assert block["content"]["content"][0] == document_of("Green.")["content"][0]
    assert (block["plain_text"], block["version"]) == ("Green.\nAnd tasty.", 1)
    creating.app.save(page, "Of the app.", expected=1)
    creating.await_text("Home/Beans.md", "Of the app.", "tags: [garden]")
    assert creating.status()["problems"] == []


def test_new_files_below_new_files_come_parents_first(creating: BoundWorld) -> None:
    creating.mirrord.file("A/B").mkdir(parents=True)
    creating.mirrord.file("A/B/C.md").write_text("c\n")
    creating.mirrord.file("A/B.md").write_text("b\n")
    creating.mirrord.file("A.md").write_text("a\n")
    names = "SELECT string_agg(c.title || '<' || coalesce(p.title, ''), ' ' ORDER BY c.title) FROM kb.pages AS c LEFT JOIN kb.pages AS p ON p.id = c.parent_id"  # noqa: E501
    eventually(lambda: value(creating.admin, names) == "A< B<A C<B", "all three are in the app")
    creating.await_rest()
    assert creating.status()["pages"] == 3


def test_pages_from_before_the_binding_and_in_other_folders_are_not_given_to_the_app(world: BoundWorld) -> None:
    world.mirrord.up()
    world.mirrord.file("Old.md").write_text("From before.\n")
    eventually(lambda: world.mirrord.page("Old.md"), "the file is a page")
    world.mapping.write_text(CREATING_MAPPING)
    world.bind("add", str(world.mapping))
    world.mirrord.file("Folder").mkdir()
    world.mirrord.file("Folder/Mine.md").write_text("Mine.\n")
    world.mirrord.file("New.md").write_text("New.\n")
    world.await_text("New.md", "title: New")
    world.mirrord.file("Old.md").write_text("From before, edited.\n")
    world.await_rest()
    assert value(world.admin, "SELECT string_agg(title, ' ') FROM kb.pages") == "New"
    assert world.status()["problems"] == []


def test_a_row_gets_its_id_from_the_app_and_is_removed_with_its_file(notes: BoundWorld) -> None:
    for name in ("One", "Two", "Three", "Four"):
        notes.mirrord.file(f"{name}.md").write_text(f"{name}.\n")
        notes.await_text(f"{name}.md", f"title: {name}")
    assert value(notes.admin, "SELECT string_agg(body, '' ORDER BY id) FROM kb.notes") == "One.\nTwo.\nThree.\nFour.\n"
    notes.app.connection.execute("UPDATE kb.notes SET body = 'Of the app.' WHERE title = 'One'")
    text = notes.await_text("One.md", "Of the app.")
    notes.mirrord.file("One.md").write_text(text.replace("Of the app.", "Of the app, edited."))
    body = "SELECT body FROM kb.notes WHERE title = 'One'"
    eventually(lambda: value(notes.admin, body) == "Of the app, edited.", "the edit is in the app")
    notes.mirrord.file("Two.md").unlink()
    eventually(lambda: value(notes.admin, "SELECT count(*) FROM kb.notes") == 3, "the row is removed")


def test_what_the_app_refuses_stays_a_file_and_is_tried_again(notes: BoundWorld) -> None:
    notes.mirrord.file("Long.md").write_text(f"---\ntitle: {'Very ' * 10}long\n---\nText.\n")
    problems = "SELECT sentence FROM mirrord.problem WHERE code = 'bound-new'"
    sentence = eventually(
        lambda: (notes.admin.execute(problems).fetchone() or [None])[0], "the refusal is a problem of the page"
    )
    assert "too long for type character varying(40)" in sentence
    assert (notes.mirrord.text("Long.md") or "").endswith("Text.\n")
    notes.mirrord.file("Long.md").write_text("---\ntitle: Short\n---\nText.\n")
    notes.await_text("Short.md", "title: Short", "Text.")
    eventually(lambda: notes.admin.execute(problems).fetchone() is None, "the problem is over")
    assert value(notes.admin, "SELECT title FROM kb.notes") == "Short"


def test_without_a_rule_a_new_file_below_a_page_of_the_app_is_a_problem_and_stays(world: BoundWorld) -> None:
    world.mapping.write_text(TWO_WAY_MAPPING)
    world.bind("add", str(world.mapping))
    world.mirrord.up()
    world.app.create("Home", "H.")
    world.await_text("Home.md", "H.")
    world.mirrord.file("Home").mkdir()
    world.mirrord.file("Home/New.md").write_text("New.\n")
    (problem,) = eventually(lambda: world.status()["problems"], "the page is a problem")
    assert "the mapping has no `page.create`" in problem["sentence"]
    assert world.mirrord.text("Home/New.md") == "New.\n"
    world.mirrord.file("Home/New.md").rename(world.mirrord.file("New.md"))
    eventually(lambda: not world.status()["problems"], "the problem is over")
    assert value(world.admin, "SELECT count(*) FROM kb.pages") == 1


def test_files_that_come_while_the_daemon_is_killed_are_one_row_each(creating: BoundWorld) -> None:
    for turn in range(3):
        for number in range(30):
            creating.mirrord.file(f"Page {turn}-{number}.md").write_text(f"Text {turn}-{number}.\n")
        creating.await_text(f"Page {turn}-0.md", "title: ")
        creating.mirrord.kill()
        creating.mirrord.up()
    eventually(lambda: value(creating.admin, "SELECT count(*) FROM kb.pages") == 90, "all files have rows", 60)
    creating.await_rest()
    assert value(creating.admin, "SELECT count(DISTINCT title) FROM kb.pages") == 90
    assert value(creating.admin, "SELECT count(*) FROM kb.blocks") == 90
    assert creating.status()["pages"] == 90
    assert creating.mirrord.check() == {}


def test_a_file_that_comes_back_has_its_row_again(world: BoundWorld) -> None:
    world.mapping.write_text(TWO_WAY_MAPPING)
    world.bind("add", str(world.mapping))
    world.mirrord.up()
    page = world.app.create("Old", "O.")
    for title in ("Stays", "Stays too", "And this"):
        world.app.create(title)
    text = world.await_text("Old.md", "O.")
    world.await_text("And this.md")
    world.await_rest()  # a file that goes before its page is known to have one is written again
    world.mirrord.file("Old.md").unlink()
    eventually(lambda: world.app.page(page)["deleted_at"] is not None, "the page is in the app's trash")
    world.await_rest()
    world.mirrord.file("Old.md").write_text(text.replace("O.", "Old, again."))
    world.await_column(page, "deleted_at", None)
    world.await_body(page, "Old, again.")
    world.await_rest()
    assert world.status()["problems"] == []


def test_a_file_that_comes_back_has_the_pages_below_its_row_again(creating: BoundWorld) -> None:
    for title in ("Stays", "Stays too", "And this", "And that"):  # else most pages would be gone
        creating.app.create(title)
    parent = creating.app.create("Parent", "P.")
    creating.app.create("Child", "C.", parent=parent)
    creating.await_text("Parent/Child.md", "C.")
    text = creating.await_text("Parent.md", "P.")
    creating.app.delete(parent)
    creating.await_absence("Parent.md")
    creating.await_text("Child.md", "C.")
    creating.mirrord.file("Parent.md").write_text(text.replace("P.", "P again."))
    creating.await_text("Parent/Child.md", "C.")
    assert creating.app.page(parent)["deleted_at"] is None


def test_a_new_page_at_the_top_is_a_row_of_one_of_two_bindings(notes: BoundWorld) -> None:
    second = notes.mapping.with_name("second.toml")
    notes.app.connection.execute(NOTES_TABLE.replace("notes", "memos").encode())
    second.write_text(NOTES.replace("notes", "memos"))
    notes.bind("add", str(second))
    compared = "SELECT bool_and(compared_at > '-infinity') FROM mirrord.binding"
    eventually(lambda: value(notes.admin, compared), "both bindings have compared all rows")
    notes.mirrord.file("Beans.md").write_text("Green.\n")
    counts = "SELECT (SELECT count(*) FROM kb.notes) + (SELECT count(*) FROM kb.memos)"
    eventually(lambda: value(notes.admin, counts) == 1, "the page is a row")
    file = notes.mirrord.file("Beans.md")
    notes.mirrord.flush()
    file.write_text(file.read_text().replace("Green.", "Long."))
    bodies = "SELECT body FROM kb.notes UNION ALL SELECT body FROM kb.memos"
    eventually(lambda: value(notes.admin, bodies) == "Long.\n", "its edit is in the same row")
    assert value(notes.admin, counts) == 1
