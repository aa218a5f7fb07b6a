"""Tables of apps as nobody drew them for mirrord: partitions, wide rows, large numbers, triggers, late constraints."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.binding.knowledge_base import NOTES_MAPPING, BoundWorld
from tests.support.entries import value
from tests.support.harness import eventually

MAPPING = """
[binding]
name = "kb"
mode = "both"
[page]
table = "kb.note"
id = "id"
title = "title"
[body]
column = "body"
format = "markdown"
[front]
score = "score"
"""
PARTS_MAPPING = """
[binding]
name = "kb"
[page]
table = "kb.note"
id = "id"
title = "title"
[body]
table = "kb.part"
match = { note = "id" }
column = "words"
format = "markdown"
"""
FIRST_LARGE = 2**53  # the first whole number that a float cannot tell from the next one
NORMALISING_TRIGGER = """
CREATE FUNCTION kb.normalise() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.title := btrim(regexp_replace(NEW.title, '\\s+', ' ', 'g'));
    NEW.slug := lower(replace(NEW.title, ' ', '-'));
    NEW.body := rtrim(NEW.body, E'\\n');
    NEW.updated_at := clock_timestamp();
    RETURN NEW;
END
$$;
CREATE TRIGGER normalise BEFORE INSERT OR UPDATE ON kb.note FOR EACH ROW EXECUTE FUNCTION kb.normalise()"""


@pytest.fixture
def create_note(world: BoundWorld) -> Callable[..., BoundWorld]:
    """Creates the table `kb.note` with some columns and options, and a mapping of it."""

    def create(columns: str, options: str = "") -> BoundWorld:
        world.app.connection.execute(f"CREATE TABLE kb.note ({columns}) {options}".encode())
        world.mapping.write_text(MAPPING)
        return world

    return create


def start(world: BoundWorld) -> None:
    """Bind the table as it is by now, and start the daemon."""
    world.bind("add", str(world.mapping))
    world.mirrord.up()


def edit(world: BoundWorld, path: str, old: str, new: str) -> None:
    """Replace words in a file."""
    file: Path = world.mirrord.file(path)
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new))


def await_note(world: BoundWorld, condition: str, *values: object) -> None:
    """Return when a row of the app meets *condition*."""
    query = f"SELECT count(*) FROM kb.note WHERE {condition}"
    eventually(
        lambda: value(world.admin, query, *values) == 1,
        f"{condition}; the rows are {world.admin.execute('SELECT * FROM kb.note').fetchall()}",
    )


def test_ids_that_no_float_holds_stay_exact_and_such_numbers_in_front_matter_are_problems(
    create_note: Callable[..., BoundWorld],
) -> None:
    world = create_note("id bigint PRIMARY KEY, title text NOT NULL, body text, score bigint")
    ids = [FIRST_LARGE, FIRST_LARGE + 1, 2**63 - 1]
    for number, note in enumerate(ids):
        world.app.connection.execute("INSERT INTO kb.note VALUES (%s, %s, 'Before.', 1)", [note, f"Note {number}"])
    start(world)
    for number, note in enumerate(ids):
        world.await_text(f"Note {number}.md", "Before.")
        edit(world, f"Note {number}.md", "Before.", f"After {number}.")
        await_note(world, "id = %s AND starts_with(body, %s)", note, f"After {number}.")
    world.app.connection.execute("UPDATE kb.note SET score = %s WHERE id = %s", [FIRST_LARGE + 1, ids[0]])
    (problem,) = eventually(lambda: world.status()["problems"], "the number is a problem")
    assert str(FIRST_LARGE + 1) in problem["sentence"]
    await_note(world, "id = %s AND score = %s", ids[0], FIRST_LARGE + 1)
    world.app.connection.execute("UPDATE kb.note SET score = 2 WHERE id = %s", [ids[0]])
    world.await_text("Note 0.md", "score: 2\n", "After 0.")
    eventually(lambda: world.status()["problems"] == [], "the problem is over")


def test_rows_of_a_partitioned_table_are_carried_over_in_both_directions(
    create_note: Callable[..., BoundWorld],
) -> None:
    world = create_note(
        "id uuid PRIMARY KEY DEFAULT gen_random_uuid(), title text NOT NULL, body text, score integer",
        "PARTITION BY HASH (id)",
    )
    for number in range(2):
        share = f"FOR VALUES WITH (MODULUS 2, REMAINDER {number})"
        world.app.connection.execute(f"CREATE TABLE kb.note_{number} PARTITION OF kb.note {share}".encode())
    titles = [f"Note {number}" for number in range(6)]  # in both partitions, but for one time in 32
    for title in titles:
        world.app.connection.execute("INSERT INTO kb.note (title, body) VALUES (%s, 'Before.')", [title])
    start(world)
    for title in titles:
        world.await_text(f"{title}.md", "Before.")
        edit(world, f"{title}.md", "Before.", "Edited.")
        await_note(world, "title = %s AND starts_with(body, 'Edited.')", title)
    for number in range(2):
        world.app.connection.execute(f"UPDATE kb.note_{number} SET body = 'Written into a partition.'".encode())
    for title in titles:
        world.await_text(f"{title}.md", "Written into a partition.")
    status = world.status()
    assert (status["problems"], status["sentence"]) == ([], None)


def test_what_a_trigger_of_the_app_makes_of_an_edit_is_in_the_page_and_nothing_goes_back_and_forth(
    create_note: Callable[..., BoundWorld],
) -> None:
    world = create_note(
        "id uuid PRIMARY KEY DEFAULT gen_random_uuid(), title text NOT NULL, body text, score integer, slug text, "
        "updated_at timestamptz"
    )
    world.app.connection.execute(NORMALISING_TRIGGER.encode())
    world.app.connection.execute("INSERT INTO kb.note (title, body) VALUES ('Note', 'Before.')")
    start(world)
    world.await_text("Note.md", "Before.")
    edit(world, "Note.md", "title: Note", "title: A   new  name")
    world.await_text("A new name.md", "title: A new name\n")
    edit(world, "A new name.md", "Before.", "After.\n\n\n")
    await_note(world, "body = 'After.' AND slug = 'a-new-name'")
    world.await_rest()
    moment = value(world.admin, "SELECT updated_at FROM kb.note")
    world.app.connection.execute("INSERT INTO kb.note (title, body) VALUES ('Later', 'Words.')")
    world.await_text("Later.md", "Words.")
    assert value(world.admin, "SELECT updated_at FROM kb.note WHERE slug = 'a-new-name'") == moment
    assert world.status()["problems"] == []
    assert world.mirrord.check() == {}


def test_a_title_that_is_only_refused_at_the_end_of_a_transaction_holds_up_its_page_alone(
    create_note: Callable[..., BoundWorld],
) -> None:
    world = create_note(
        "id uuid PRIMARY KEY DEFAULT gen_random_uuid(), title text NOT NULL UNIQUE DEFERRABLE INITIALLY DEFERRED, "
        "body text, score integer"
    )
    world.app.connection.execute("INSERT INTO kb.note (title, body) VALUES ('One', 'Before.'), ('Two', 'Before.')")
    start(world)
    world.await_text("One.md", "Before.")
    world.await_text("Two.md", "Before.")
    edit(world, "One.md", "title: One", "title: Two")
    (problem,) = eventually(lambda: world.status()["problems"], "the refused title is a problem")
    assert "title" in problem["sentence"]
    edit(world, "Two.md", "Before.", "After.")
    await_note(world, "title = 'Two' AND starts_with(body, 'After.')")
    await_note(world, "title = 'One'")
    assert world.status()["state"] == "running"


def test_a_column_that_the_app_computes_is_read_and_an_edit_of_it_is_a_problem(
    create_note: Callable[..., BoundWorld],
) -> None:
    wide = ", ".join(f"extra_{number} text DEFAULT 'x'" for number in range(200))
    world = create_note(
        "id uuid PRIMARY KEY DEFAULT gen_random_uuid(), title text NOT NULL, body text, "
        f"score integer GENERATED ALWAYS AS (length(title)) STORED, {wide}"
    )
    world.app.connection.execute("INSERT INTO kb.note (title, body) VALUES ('Note', 'Before.'), ('Stays', 'Before.')")
    start(world)
    world.await_text("Note.md", "score: 4\n")
    edit(world, "Note.md", "Before.", "After.")
    await_note(world, "starts_with(body, 'After.')")
    edit(world, "Note.md", "score: 4", "score: 5")
    (problem,) = eventually(lambda: world.status()["problems"], "the refused key is a problem")
    assert "score" in problem["sentence"]
    edit(world, "Stays.md", "Before.", "After.")
    eventually(
        lambda: value(world.admin, "SELECT count(*) FROM kb.note WHERE starts_with(body, 'After.')") == 2, "both rows"
    )
    edit(world, "Note.md", "score: 5", "score: 4")
    eventually(lambda: world.status()["problems"] == [], "the problem is over")


def test_a_body_that_belonged_to_no_page_is_in_the_file_of_the_page_that_it_is_given_to(world: BoundWorld) -> None:
    world.app.connection.execute("CREATE TABLE kb.note (id integer PRIMARY KEY, title text NOT NULL)")
    world.app.connection.execute("CREATE TABLE kb.part (id serial PRIMARY KEY, note integer, words text)")
    world.mapping.write_text(PARTS_MAPPING)
    world.app.connection.execute("INSERT INTO kb.note VALUES (1, 'Note'), (2, 'Other')")
    world.app.connection.execute("INSERT INTO kb.part (note, words) VALUES (NULL, 'Before.')")
    start(world)
    world.await_text("Note.md", "title: Note")
    world.await_text("Other.md", "title: Other")
    world.await_rest()
    world.app.connection.execute("UPDATE kb.part SET note = 1")
    world.await_text("Note.md", "Before.")
    world.app.connection.execute("UPDATE kb.part SET note = 2")
    world.await_text("Other.md", "Before.")
    world.app.connection.execute("UPDATE kb.part SET note = NULL")
    eventually(lambda: "Before." not in (world.mirrord.text("Other.md") or ""), "the page has lost its body")
    assert "Before." not in (world.mirrord.text("Note.md") or "")


def test_a_body_of_five_megabytes_goes_both_ways_byte_for_byte(world: BoundWorld) -> None:
    world.app.connection.execute("CREATE TABLE kb.notes (id serial PRIMARY KEY, title text NOT NULL, body text)")
    world.mapping.write_text(NOTES_MAPPING.replace('name = "notes"', 'name = "notes"\nmode = "both"'))
    body = "".join(f"Line {number} of a long note.\n\n" for number in range(190_000))
    assert len(body) > 5_000_000
    world.app.connection.execute("INSERT INTO kb.notes (title, body) VALUES ('Long', %s)", [body])
    world.bind("add", str(world.mapping))
    world.mirrord.up()
    text = world.await_text("Long.md", "Line 189999 of")
    assert text.endswith(body)
    world.mirrord.file("Long.md").write_text(text.replace("Line 7 of", "Edited line 7 of"))
    edited = body.replace("Line 7 of", "Edited line 7 of")
    query = "SELECT body = %s FROM kb.notes"
    eventually(lambda: value(world.admin, query, edited), "the app has the edit, and the rest as it was", 120)


def test_a_row_whose_id_begins_like_those_of_files_is_followed(create_note: Callable[..., BoundWorld]) -> None:
    world = create_note("id text PRIMARY KEY, title text NOT NULL, body text, score bigint")
    world.app.connection.execute("INSERT INTO kb.note VALUES ('file:1', 'Note', 'Before.', 1)")
    start(world)
    world.await_text("Note.md", "Before.")
    world.await_rest()
    world.app.connection.execute("UPDATE kb.note SET body = 'After.'")
    world.await_text("Note.md", "After.")
    edit(world, "Note.md", "After.", "Edited.")
    await_note(world, "starts_with(body, 'Edited.')")
