"""`mirrord bind`: what it checks, what it installs, and that nothing of it stays."""

import json
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psycopg
import pytest

from mirrord.db.notify_channel import BOUND_PAYLOAD
from mirrord.db.server.embedded_server import EmbeddedPostgres
from tests.binding.knowledge_base import MAPPING, TENANT, BoundWorld
from tests.support.entries import value
from tests.support.harness import eventually

ROLE_OF_BINDING = "SELECT 'mirrord_bind_' || left(replace(id::text, '-', ''), 12) FROM mirrord.binding"


def schema_of(dsn: str | None) -> str:
    """The schema of the app as pg_dump writes it."""
    assert dsn is not None
    program = EmbeddedPostgres.program_path("pg_dump")
    dumped = subprocess.run(
        [program, "--schema-only", "--exclude-schema=mirrord", "--restrict-key=test", dsn],
        check=True,
        capture_output=True,
        text=True,
    )
    return dumped.stdout


def write_mapping(world: BoundWorld, old: str, new: str) -> Path:
    assert old in MAPPING
    world.mapping.write_text(MAPPING.replace(old, new))
    return world.mapping


def test_dropping_a_binding_leaves_the_database_as_it_was(world: BoundWorld) -> None:
    world.app.create("Page", "Text.")
    before = schema_of(world.mirrord.dsn)
    world.bind("add", str(world.mapping))
    assert "mirrord_bind" in schema_of(world.mirrord.dsn)
    world.mirrord.up()
    world.await_text("Page.md", "Text.")
    role = value(world.admin, ROLE_OF_BINDING)
    world.bind("drop", "kb")
    assert schema_of(world.mirrord.dsn) == before
    assert value(world.admin, "SELECT count(*) FROM pg_roles WHERE rolname = %s", role) == 0
    assert world.mirrord.text("Page.md") is not None
    assert world.bind("list") == ""


def test_a_binding_that_is_added_again_finds_its_pages(world: BoundWorld) -> None:
    page = world.app.create("Page", "Text.")
    world.bind("add", str(world.mapping))
    world.mirrord.up()
    world.await_text("Page.md", "Text.")
    world.bind("drop", "kb")
    world.app.save(page, "Written meanwhile.")
    world.bind("add", str(world.mapping))
    world.await_text("Page.md", "Written meanwhile.")
    world.await_rest()
    assert sorted(path.name for path in world.mirrord.root.glob("*.md")) == ["Page.md"]


def test_daemons_are_notified_of_a_binding_that_is_added_or_resumed(world: BoundWorld) -> None:
    channel = value(world.admin, "SELECT mirrord.channel(id) FROM mirrord.tenant")
    world.admin.execute(f'LISTEN "{channel}"'.encode())
    world.bind("add", str(world.mapping))
    assert notified_payloads(world) == [BOUND_PAYLOAD]
    world.bind("pause", "kb")
    assert notified_payloads(world) == []
    world.bind("resume", "kb")
    assert notified_payloads(world) == [BOUND_PAYLOAD]


def notified_payloads(world: BoundWorld) -> list[str]:
    """What the channel that is listened to was told by transactions that have ended."""
    world.admin.execute("SELECT 1")
    return [notification.payload for notification in world.admin.notifies(timeout=0)]


def test_check_says_what_would_happen_and_writes_nothing(world: BoundWorld) -> None:
    top = world.app.create("Top")
    world.app.create("Same", parent=top)
    world.app.create("same", parent=top)
    world.app.create("Lost", parent=world.app.create("Gone", space_type="PRIVATE"))
    circle = world.app.create("Circle")
    world.app.change(circle, parent_id=circle)
    world.app.connection.execute("UPDATE kb.blocks SET content = '3' WHERE page_id = %s", [top])
    before = schema_of(world.mirrord.dsn)
    report = json.loads(world.bind("check", str(world.mapping), "--json", code=1))
    assert schema_of(world.mirrord.dsn) == before
    assert report["pages"] == 5
    assert [failure["title"] for failure in report["failures"]] == ["Top"]
    assert [sorted(titles) for titles in report["clashes"]] == [["Same", "same"]]
    assert (report["orphans"], report["cycles"]) == (["Lost"], ["Circle"])
    assert sum(statement.startswith("CREATE TRIGGER") for statement in report["sql"]) == 2
    assert "SECURITY DEFINER SET search_path = pg_catalog, pg_temp" in "".join(report["sql"])
    printed = world.bind("check", str(world.mapping), code=1)
    assert "5 rows would be pages." in printed
    assert "Top: its body is no document" in printed


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ('table = "kb.pages"', 'table = "kb.leaves"', "There is no table kb.leaves."),
        ('title = "title"', 'title = "heading"', "kb.pages has no column heading."),
        ('id = "id"\ntitle', 'id = "tenant_id"\ntitle', "must be the column `page.id`"),
        ('parent = "parent_id"', 'parent = "position"', "kb.pages.position is of type integer and cannot be compared"),
        ('table = "kb.pages"', 'table = "kb.shown"', "kb.shown is a view"),
        ('= "demo"', '= "another"', "The mapping has no rows of the tenant 'demo'; it names another."),
    ],
)
def test_a_mapping_that_does_not_fit_is_refused(world: BoundWorld, old: str, new: str, sentence: str) -> None:
    world.app.connection.execute("CREATE VIEW kb.shown AS SELECT * FROM kb.pages")
    file = write_mapping(world, old, new)
    for command in ("check", "add"):
        assert sentence in world.bind(command, str(file), code=2)
    assert value(world.admin, "SELECT count(*) FROM mirrord.binding") == 0


def test_a_column_of_a_type_with_functions_of_the_app_is_refused(world: BoundWorld) -> None:
    world.app.connection.execute("CREATE DOMAIN kb.heading AS text CHECK (length(VALUE) < 500)")
    world.app.connection.execute("ALTER TABLE kb.pages ALTER COLUMN title TYPE kb.heading")
    assert "kb.pages.title is of type kb.heading" in world.bind("add", str(world.mapping), code=2)


def test_a_second_binding_waits_for_no_writes_of_the_first(world: BoundWorld) -> None:
    world.bind("add", str(world.mapping))
    world.app.connection.execute("CREATE TABLE kb.notes (id serial PRIMARY KEY, title text, body text)")
    second = world.mapping.with_name("notes.toml")
    second.write_text(
        '[binding]\nname = "notes"\n[tenant]\nfixed = "demo"\n[page]\ntable = "kb.notes"\nid = "id"\ntitle = "title"\n'
        '[body]\ncolumn = "body"\nformat = "markdown"\n'
    )
    with world.app.connection.transaction():
        world.app.create("Page")
        world.bind("add", str(second))


def test_one_table_is_bound_once(world: BoundWorld) -> None:
    world.bind("add", str(world.mapping))
    assert "There is a binding 'kb' already" in world.bind("add", str(world.mapping), code=4)
    file = write_mapping(world, 'name = "kb"', 'name = "second"')
    assert "are bound already, by 'kb'" in world.bind("add", str(file), code=4)


def test_the_role_of_a_binding_reads_the_mapped_columns_only(world: BoundWorld) -> None:
    world.bind("add", str(world.mapping))
    role = value(world.admin, ROLE_OF_BINDING)
    world.admin.execute(f'SET ROLE "{role}"'.encode())
    world.admin.execute("SELECT id, title, xmin FROM kb.pages")
    for query in ("SELECT view_count FROM kb.pages", "SELECT plain_text FROM kb.blocks", "DELETE FROM kb.pages"):
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            world.admin.execute(query.encode())


def test_a_database_that_holds_the_tables_is_left_alone(world: BoundWorld) -> None:
    with world.app.connection.transaction():
        world.app.create("Held")
        assert "The app holds its tables" in world.bind("add", str(world.mapping), code=3)
    world.bind("add", str(world.mapping))


@pytest.mark.parametrize("command", ["add", "resume", "drop"])
def test_no_transaction_of_the_app_fails_as_a_binding_comes_or_goes(world: BoundWorld, command: str) -> None:
    page = world.app.create("Page", "Text.")
    if command != "add":
        world.bind("add", str(world.mapping))
    subject = str(world.mapping) if command == "add" else "kb"
    waits = "SELECT count(*) FROM pg_locks WHERE NOT granted AND relation = 'kb.blocks'::regclass"
    world.app.connection.execute("BEGIN")
    world.app.save(page, "Saved.")

    def change_title() -> None:
        eventually(lambda: value(world.admin, waits), "the command waits for the table of bodies", pause=0.01)
        world.app.change(page, title="Saved, too")  # in a table that the command may have locked by now
        world.app.connection.execute("COMMIT")

    with ThreadPoolExecutor(1) as changes:
        ending = changes.submit(change_title)
        world.bind(command, subject)
        ending.result()
    assert world.app.page(page)["title"] == "Saved, too"


def test_one_mapping_serves_several_tenants(world: BoundWorld) -> None:
    file = write_mapping(world, f'"{TENANT}" = "demo"', f'"{TENANT}" = "demo", "1c2d" = "second"')
    assert world.mirrord.run("init", "second").returncode == 0
    world.bind("add", str(file), "--tenant", "demo")
    world.bind("add", str(file), "--tenant", "second")
    assert "There is a binding 'kb' already" in world.bind("add", str(file), "--tenant", "second", code=4)
    world.mirrord.up("--tenant", "second")
    world.app.create("Ours", "Of the first.")
    world.app.create("Theirs", "Of the second.", tenant_id="1c2d")
    trees = world.mirrord.root.parent
    for path in ("demo/Ours.md", "second/Theirs.md"):
        eventually((trees / path).exists, f"there is {path}")
    assert not (trees / "demo/Theirs.md").exists()
    assert not (trees / "second/Ours.md").exists()
    world.bind("drop", "kb", "--tenant", "second")
    world.app.create("Later", "L.")
    eventually((trees / "demo/Later.md").exists, "the other binding goes on")
