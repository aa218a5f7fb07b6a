"""Spaces of an app are pages above those of their rows; hidden ones, and those of other tenants, never come."""

import pytest

from tests.binding.knowledge_base import TENANT, BoundWorld
from tests.support.entries import value
from tests.support.harness import eventually

TABLES = """
CREATE TABLE kb.spaces (
    id serial PRIMARY KEY, tenant_id text NOT NULL, name text NOT NULL, kind text NOT NULL DEFAULT 'open',
    deleted_at timestamptz
);
CREATE TABLE kb.docs (
    id serial PRIMARY KEY, tenant_id text NOT NULL, space_id integer REFERENCES kb.spaces ON DELETE CASCADE,
    parent_id integer REFERENCES kb.docs ON DELETE CASCADE, title text NOT NULL, body text
);
"""
MAPPING = f"""
[binding]
name = "kb"
[tenant]
column = "tenant_id"
map = {{ "{TENANT}" = "demo" }}
[space]
table = "kb.spaces"
id = "id"
title = "name"
tenant = "tenant_id"
deleted = "deleted_at"
filter = {{ kind = {{ not = "private" }} }}
[page]
table = "kb.docs"
id = "id"
title = "title"
parent = "parent_id"
space = "space_id"
url = "https://kb.example/d/{{id}}"
[body]
column = "body"
format = "markdown"
"""


@pytest.fixture
def spaces(world: BoundWorld) -> BoundWorld:
    """A world with a table of spaces, one of them with two pages; its daemon runs."""
    world.app.connection.execute(TABLES.encode())
    world.mapping.write_text(MAPPING)
    add_space(world, "Garden")
    add_doc(world, "Beans", 1, "Green.\n")
    add_doc(world, "Soil", 1, "Brown.\n", parent=1)
    world.bind("add", str(world.mapping))
    world.mirrord.up()
    world.await_text("Garden/Beans/Soil.md", "Brown.")
    return world


def add_space(world: BoundWorld, name: str, kind: str = "open", tenant: str = TENANT) -> None:
    world.app.connection.execute(
        "INSERT INTO kb.spaces (name, kind, tenant_id) VALUES (%s, %s, %s)", [name, kind, tenant]
    )


def add_doc(world: BoundWorld, title: str, space: int | None, body: str, parent: int | None = None) -> None:
    world.app.connection.execute(
        "INSERT INTO kb.docs (tenant_id, title, space_id, body, parent_id) VALUES (%s, %s, %s, %s, %s)",
        [TENANT, title, space, body, parent],
    )


def files_of(world: BoundWorld) -> list[str]:
    root = world.mirrord.root
    return sorted(str(path.relative_to(root)) for path in root.rglob("*.md") if ".mirrord" not in path.parts)


def test_a_space_is_a_page_above_its_pages_and_follows_its_row(spaces: BoundWorld) -> None:
    assert "bound_url: https://kb.example/d/1" in spaces.await_text("Garden/Beans.md", "Green.")
    text = spaces.await_text("Garden.md", "title: Garden", "bound_to: kb")
    assert "bound_url" not in text
    add_doc(spaces, "Loose", None, "Of no space.\n")
    spaces.await_text("Loose.md", "Of no space.")
    spaces.app.connection.execute("UPDATE kb.spaces SET name = 'Allotment'")
    spaces.await_text("Allotment/Beans/Soil.md", "Brown.")
    add_space(spaces, "House")
    spaces.app.connection.execute("UPDATE kb.docs SET space_id = 2 WHERE id IN (1, 2)")
    spaces.await_text("House/Beans/Soil.md", "Brown.")
    spaces.await_rest()
    assert files_of(spaces) == ["Allotment.md", "House.md", "House/Beans.md", "House/Beans/Soil.md", "Loose.md"]
    assert spaces.status()["problems"] == []
    assert value(spaces.admin, "SELECT count(*) FROM mirrord.page WHERE deleted_at IS NULL") == 5


def test_hidden_spaces_and_those_of_other_tenants_never_come_nor_their_pages(spaces: BoundWorld) -> None:
    add_space(spaces, "Diary", kind="private")
    add_space(spaces, "Foreign", tenant="another")
    add_doc(spaces, "Secret", 2, "Hidden.\n")
    add_doc(spaces, "Lost", 3, "Hidden, too.\n")
    add_doc(spaces, "Peas", 1, "Sweet.\n")
    spaces.await_text("Garden/Peas.md", "Sweet.")
    spaces.await_rest()
    assert files_of(spaces) == ["Garden.md", "Garden/Beans.md", "Garden/Beans/Soil.md", "Garden/Peas.md"]
    names = "SELECT count(*) FROM mirrord.page WHERE name IN ('Diary', 'Secret', 'Foreign', 'Lost')"
    assert value(spaces.admin, names) == 0


def test_a_space_that_is_shown_comes_with_its_pages_and_leaves_with_them(spaces: BoundWorld) -> None:
    add_space(spaces, "Diary", kind="private")
    add_doc(spaces, "Monday", 2, "Rain.\n")
    add_doc(spaces, "Evening", 2, "More rain.\n", parent=3)
    for number in range(12):
        add_doc(spaces, f"Other {number}", 1, "Other.\n")
    spaces.await_text("Garden/Other 11.md", "Other.")
    spaces.app.connection.execute("UPDATE kb.spaces SET kind = 'open' WHERE id = 2")
    spaces.await_text("Diary/Monday/Evening.md", "More rain.")
    spaces.app.connection.execute("UPDATE kb.spaces SET kind = 'private' WHERE id = 2")
    for path in ("Diary/Monday/Evening.md", "Diary/Monday.md", "Diary.md"):
        spaces.await_absence(path)
    spaces.await_rest()
    eventually(lambda: spaces.status()["pages"] == 15, "the hidden rows are forgotten")
    spaces.app.connection.execute("UPDATE kb.spaces SET kind = 'open' WHERE id = 2")
    spaces.await_text("Diary/Monday/Evening.md", "More rain.")


def test_a_space_in_the_trash_and_one_that_is_removed_take_their_pages_along(spaces: BoundWorld) -> None:
    add_space(spaces, "House")
    for number in range(12):
        add_doc(spaces, f"Room {number}", 2, "Warm.\n")
    spaces.await_text("House/Room 11.md", "Warm.")
    spaces.app.connection.execute("UPDATE kb.spaces SET deleted_at = now() WHERE id = 1")
    spaces.await_absence("Garden/Beans/Soil.md")
    spaces.await_absence("Garden.md")
    spaces.app.connection.execute("UPDATE kb.spaces SET deleted_at = NULL WHERE id = 1")
    spaces.await_text("Garden/Beans/Soil.md", "Brown.")
    spaces.app.connection.execute("DELETE FROM kb.spaces WHERE id = 1")
    spaces.await_absence("Garden/Beans/Soil.md")
    spaces.await_absence("Garden.md")


def test_the_check_counts_spaces_and_the_drop_leaves_the_tables_as_they_were(spaces: BoundWorld) -> None:
    triggers = "SELECT count(*) FROM pg_trigger WHERE starts_with(tgname, 'mirrord_bind_')"
    assert value(spaces.admin, triggers) == 2
    spaces.bind("drop", "kb")
    assert value(spaces.admin, triggers) == 0
    assert value(spaces.admin, "SELECT count(*) FROM pg_namespace WHERE nspname = 'mirrord_bind'") == 0
    report = spaces.bind("check", str(spaces.mapping))
    assert "3 rows would be pages" in report
    assert 'ON "kb"."spaces"' in report
    spaces.mapping.write_text(MAPPING.replace('title = "name"', 'title = "label"'))
    assert "kb.spaces has no column label" in spaces.bind("check", str(spaces.mapping), code=2)


def test_spaces_and_files_of_an_app_are_bound_together(world: BoundWorld) -> None:
    world.app.connection.execute(TABLES.encode())
    world.app.connection.execute(
        "CREATE TABLE kb.files (id serial PRIMARY KEY, doc_id integer REFERENCES kb.docs, name text, content bytea)"
    )
    files = '[files]\ntable = "kb.files"\nid = "id"\npage = "doc_id"\nname = "name"\nbytes = "content"\n'
    world.mapping.write_text(MAPPING + files)
    add_space(world, "Garden")
    add_doc(world, "Beans", 1, "Green.\n")
    for number in range(12):
        add_doc(world, f"Loose {number}", None, "Of no space.\n")
    world.app.connection.execute("INSERT INTO kb.files (doc_id, name, content) VALUES (1, 'pods.png', 'PNG')")
    world.bind("add", str(world.mapping))
    world.mirrord.up()
    photo = world.mirrord.root / "Garden/Beans/assets/pods.png"
    eventually(lambda: photo.is_file() and photo.read_bytes() == b"PNG", "the file is an attachment of its page", 60)
    world.app.connection.execute("UPDATE kb.spaces SET deleted_at = now()")
    world.await_absence("Garden/Beans.md")
    eventually(lambda: not photo.exists(), "the file leaves with the page", 60)
    world.await_rest()
    assert world.status()["problems"] == []
