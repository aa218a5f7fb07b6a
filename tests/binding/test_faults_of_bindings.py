"""No statement of the app fails by a binding, and what the triggers miss is found."""

import threading
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import psycopg
import pytest

from mirrord.binding.statements.bound_sql import MAX_ROWS
from tests.binding.knowledge_base import MAPPING, NOTES_MAPPING, BoundWorld
from tests.support.entries import value
from tests.support.harness import eventually

SPYING = """
CREATE TABLE kb.seen (who text);;
GRANT USAGE ON SCHEMA kb TO PUBLIC;;
GRANT INSERT ON kb.seen TO PUBLIC;;
CREATE TYPE kb.spy AS (value text);;
CREATE FUNCTION kb.tell(kb.spy) RETURNS text LANGUAGE plpgsql AS
    'BEGIN INSERT INTO kb.seen VALUES (current_user); RETURN ($1).value; END';;
CREATE CAST (kb.spy AS text) WITH FUNCTION kb.tell(kb.spy) AS ASSIGNMENT;;
ALTER TABLE kb.blocks DROP CONSTRAINT blocks_page_id_fkey;;
ALTER TABLE kb.pages DROP CONSTRAINT pages_parent_id_fkey;;
ALTER TABLE kb.{table} ALTER COLUMN {column} TYPE kb.spy USING ROW ({column})::kb.spy
"""


def test_a_binding_without_its_queue_stops_neither_the_app_nor_the_daemon(bound: BoundWorld) -> None:
    page = bound.app.create("Page", "Before.")
    bound.await_text("Page.md", "Before.")
    bound.admin.execute("DROP TABLE mirrord_bind.change CASCADE")
    bound.app.save(page, "After.")
    bound.app.change(page, title="New title")
    bound.app.create("Another")
    bound.app.delete(page)
    bound.mirrord.file("Mine.md").write_text("My own.\n")
    eventually(lambda: bound.mirrord.page("Mine.md"), "the daemon goes on")
    bound.bind("drop", "kb", code=0)


def test_front_matter_that_is_nested_too_deep_is_a_problem_of_its_page_alone(world: BoundWorld) -> None:
    world.app.connection.execute("ALTER TABLE kb.pages ALTER COLUMN summary TYPE jsonb USING NULL")
    world.bind("add", str(world.mapping))
    world.mirrord.up()
    world.app.create("Deep", "D.", summary="[" * 2_000 + "]" * 2_000)
    world.app.create("Deeper", "D.", summary="[" * 300 + "]" * 300)
    world.app.create("Whole", "W.", summary='{"a": 1}')
    world.await_text("Whole.md", "W.")
    eventually(
        lambda: {problem["path"] for problem in world.status()["problems"]} == {"Deep", "Deeper"},
        "the columns of both are problems",
    )
    assert world.status()["state"] == "running"


@pytest.mark.parametrize(
    "statement",
    [
        "ALTER TABLE kb.pages DROP COLUMN summary",
        "ALTER TABLE kb.pages ALTER COLUMN summary TYPE integer USING 0",
        "ALTER TABLE kb.pages RENAME COLUMN summary TO abstract",
    ],
)
def test_a_migration_of_the_app_succeeds_and_halts_the_binding(bound: BoundWorld, statement: str) -> None:
    page = bound.app.create("Page", "Before.")
    bound.await_text("Page.md", "Before.")
    bound.app.connection.execute(statement.encode())
    bound.app.save(page, "After.")
    bound.app.change(page, title="New title")
    bound.await_state("halted")
    assert bound.mirrord.text("Page.md") is not None


def test_a_binding_goes_on_where_the_app_is_as_it_was(bound: BoundWorld) -> None:
    page = bound.app.create("Page", "Before.", summary="S.")
    bound.await_text("Page.md", "Before.")
    bound.app.connection.execute("ALTER TABLE kb.pages RENAME COLUMN summary TO abstract")
    bound.app.save(page, "After.")
    assert "summary" in bound.await_state("halted")["sentence"]
    assert "has no column summary" in bound.bind("resume", "kb", code=2)
    bound.app.connection.execute("ALTER TABLE kb.pages RENAME COLUMN abstract TO summary")
    bound.bind("resume", "kb")
    bound.await_text("Page.md", "After.", "summary: S.")


def test_truncated_tables_halt_the_binding_until_a_person_decides(bound: BoundWorld) -> None:
    bound.app.create("One", "1")
    bound.app.create("Two", "2")
    bound.await_text("One.md", "1")
    bound.await_text("Two.md", "2")
    bound.app.connection.execute("TRUNCATE kb.pages CASCADE")
    bound.bind("pause", "kb")
    bound.bind("resume", "kb")
    status = bound.await_state("halted")
    assert "All 2 synced entries are gone from the app" in status["sentence"]
    assert [problem["path"] for problem in status["problems"]] == ["kb"]
    assert bound.mirrord.text("One.md") is not None
    bound.bind("resume", "kb", "--deletions")
    eventually(lambda: bound.status()["pages"] == 0, "the rows are forgotten")
    eventually(lambda: bound.status()["problems"] == [], "the problem is over")
    deleted = "SELECT count(*) FROM mirrord.page WHERE deleted_at IS NOT NULL"
    eventually(lambda: value(bound.admin, deleted) == 2, "their pages are deleted")


def test_disabled_triggers_are_told_and_comparing_finds_the_change(bound: BoundWorld) -> None:
    page = bound.app.create("Page", "Before.")
    bound.await_text("Page.md", "Before.")
    bound.app.connection.execute("ALTER TABLE kb.blocks DISABLE TRIGGER USER")
    bound.app.save(page, "Unnoticed.")
    bound.admin.execute("UPDATE mirrord.binding SET compared_at = NULL")
    bound.await_text("Page.md", "Unnoticed.")
    eventually(lambda: "gone or disabled" in (bound.status()["sentence"] or ""), "the missing trigger is told")


def test_rolled_back_writes_never_show(bound: BoundWorld) -> None:
    page = bound.app.create("Page", "Before.")
    bound.await_text("Page.md", "Before.")
    with bound.app.connection.transaction(force_rollback=True):
        bound.app.save(page, "Rolled back.")
        bound.app.create("Never")
    with bound.app.connection.transaction():
        bound.app.change(page, icon="1")
        with bound.app.connection.transaction(force_rollback=True):
            bound.app.save(page, "In a savepoint.")
    bound.await_text("Page.md", "icon:", "Before.")
    bound.await_rest()
    assert "Before." in (bound.mirrord.text("Page.md") or "")
    assert not bound.mirrord.file("Never.md").exists()
    history = "SELECT count(*) FROM mirrord.page_revision WHERE markdown ~ 'Rolled|savepoint'"
    assert value(bound.admin, history) == 0


def test_a_binding_without_triggers_finds_changes_by_versions(world: BoundWorld) -> None:
    world.mapping.write_text(MAPPING.replace('name = "kb"', 'name = "kb"\nwatch = "poll"\npoll_seconds = 1'))
    page = world.app.create("Page", "Before.")
    world.bind("add", str(world.mapping))
    assert value(world.admin, "SELECT count(*) FROM pg_trigger WHERE tgname LIKE 'mirrord%%'") == 0
    world.mirrord.up()
    world.await_text("Page.md", "Before.")
    world.app.save(page, "After.")
    world.await_text("Page.md", "After.")
    second = world.app.create("Second")
    world.await_text("Second.md")
    world.app.connection.execute("DELETE FROM kb.pages WHERE id = %s", [second])
    world.await_absence("Second.md")


def test_what_the_app_writes_while_the_daemon_is_killed_again_and_again_is_all_there(bound: BoundWorld) -> None:
    pages = [bound.app.create(f"Page {number}", "0") for number in range(10)]
    bound.await_text("Page 9.md")
    stop, writes = threading.Event(), 200
    counts = dict.fromkeys(pages, 0)

    def write_on() -> None:
        while not stop.is_set():
            for page in pages:
                counts[page] += 1
                bound.app.save(page, f"Word {counts[page]}.")

    def has_written(enough: int) -> bool:
        return sum(counts.values()) >= enough

    writer = threading.Thread(target=write_on)
    writer.start()
    try:
        for _ in range(3):
            enough = sum(counts.values()) + writes
            eventually(partial(has_written, enough), "the app writes")
            bound.mirrord.kill()
            bound.mirrord.up()
    finally:
        stop.set()
        writer.join()
    for number, page in enumerate(pages):
        bound.await_text(f"Page {number}.md", f"Word {counts[page]}.")
    bound.await_rest()
    assert bound.mirrord.check() == {}
    assert bound.status()["problems"] == []


def test_a_whole_table_that_is_written_at_once_is_carried_over(bound: BoundWorld) -> None:
    for number in range(30):
        bound.app.create(f"Page {number}", "Before.")
    bound.await_text("Page 29.md", "Before.")
    bound.app.connection.execute("UPDATE kb.pages SET icon = 'x'")
    for number in range(30):
        bound.await_text(f"Page {number}.md", "icon: x")


def test_many_deletions_halt_the_binding(bound: BoundWorld) -> None:
    for number in range(40):
        bound.app.create(f"Page {number}")
    bound.await_text("Page 39.md")
    bound.await_rest()
    bound.app.connection.execute("UPDATE kb.pages SET deleted_at = now() WHERE title > 'Page 1' AND title < 'Page 4'")
    status = bound.await_state("halted")
    assert "are gone from the app" in status["sentence"]
    assert len(list(bound.mirrord.root.glob("*.md"))) == 40


def test_the_app_cannot_reach_into_mirrord(bound: BoundWorld) -> None:
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        bound.app.connection.execute(
            "INSERT INTO mirrord_bind.change (binding, external_id) VALUES (gen_random_uuid(), '1')"
        )
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        bound.app.connection.execute("SELECT FROM mirrord.page")


def test_a_binding_that_is_held_up_does_not_hold_up_the_others(bound: BoundWorld) -> None:
    page = bound.app.create("Page", "Before.")
    bound.await_text("Page.md", "Before.")
    bound.app.connection.execute("CREATE TABLE kb.notes (id serial PRIMARY KEY, title text, body text)")
    second = bound.mapping.with_name("notes.toml")
    second.write_text(NOTES_MAPPING)
    bound.bind("add", str(second))
    with bound.admin.transaction():
        bound.admin.execute("SELECT FROM mirrord.page WHERE id = %s FOR UPDATE", [page])
        bound.app.save(page, "After.")
        bound.mirrord.wait_event("bindings_wait")
        for number in range(3):
            bound.app.connection.execute(f"INSERT INTO kb.notes (title, body) VALUES ('Note {number}', 'N.')".encode())
            bound.await_text(f"Note {number}.md", "N.")
    bound.await_text("Page.md", "After.")


@pytest.mark.parametrize(("table", "column"), [("pages", "id"), ("pages", "summary"), ("blocks", "page_id")])
def test_no_function_of_the_app_runs_with_the_rights_of_mirrord(world: BoundWorld, table: str, column: str) -> None:
    world.app.create("Page", "Before.")
    world.bind("add", str(world.mapping))
    for statement in SPYING.format(table=table, column=column).split(";;"):
        world.app.connection.execute(statement.encode())
    world.app.connection.execute(f"UPDATE kb.{table} SET {column} = {column}, updated_at = now()".encode())
    world.app.connection.execute(f"DELETE FROM kb.{table}".encode())
    assert value(world.admin, "SELECT count(*) FROM kb.seen WHERE who = 'mirrord_owner'") == 0


def test_an_id_that_becomes_another_type_of_postgres_is_still_noted(world: BoundWorld) -> None:
    world.app.connection.execute("CREATE TABLE kb.notes (id integer PRIMARY KEY, title text, body text)")
    second = world.mapping.with_name("notes.toml")
    second.write_text(NOTES_MAPPING)
    world.bind("add", str(second))
    world.app.connection.execute("ALTER TABLE kb.notes ALTER COLUMN id TYPE bigint")
    world.app.connection.execute("INSERT INTO kb.notes VALUES (1, 'Note', 'N.')")
    assert value(world.admin, "SELECT count(*) FROM mirrord_bind.change") == 1


def test_a_page_of_a_person_with_the_id_of_a_row_stays(world: BoundWorld) -> None:
    world.mirrord.up()
    world.mirrord.file("Mine.md").write_text("My own.\n")
    mine = eventually(lambda: world.mirrord.page("Mine.md"), "the file is a page")
    world.bind("add", str(world.mapping))
    page = world.app.create("Theirs", "Of the app.")
    world.app.connection.execute("ALTER TABLE kb.blocks DROP CONSTRAINT blocks_page_id_fkey")
    world.app.connection.execute("UPDATE kb.blocks SET page_id = %s", [str(mine.id)])
    world.app.change(page, id=str(mine.id))
    world.app.create("Another", "A.")
    world.await_text("Another.md", "A.")
    (problem,) = eventually(lambda: world.status()["problems"], "the id is a problem")
    assert "has the id of another page" in problem["sentence"]
    world.app.connection.execute("DELETE FROM kb.pages WHERE id = %s", [str(mine.id)])
    eventually(lambda: not world.status()["problems"], "the problem is over")
    assert "My own." in (world.mirrord.text("Mine.md") or "")


def test_a_page_that_cannot_be_carried_over_is_not_deleted_with_its_parent(bound: BoundWorld) -> None:
    parent = bound.app.create("Parent", "P.")
    child = bound.app.create("Child", "C.", parent=parent)
    for title in ("Stays", "Stays too", "And this"):
        bound.app.create(title)
    bound.await_text("Parent/Child.md", "C.")
    bound.app.connection.execute("UPDATE kb.blocks SET content = '[]' WHERE page_id = %s", [child])
    bound.app.delete(parent)
    eventually(lambda: len(bound.status()["problems"]) == 2, "both are problems")
    assert "C." in (bound.mirrord.text("Parent/Child.md") or "")
    bound.app.save(child, "Mended.")
    bound.await_text("Child.md", "Mended.")
    bound.await_absence("Parent.md")
    eventually(lambda: not bound.status()["problems"], "the problems are over")


def test_a_page_of_ones_own_comes_to_the_top_when_the_app_deletes_the_page_above(bound: BoundWorld) -> None:
    for title in ("Stays", "Stays too", "And this", "And that"):  # else most pages would be gone
        bound.app.create(title)
    above = bound.app.create("Above", "Of the app.")
    parent = bound.app.create("Parent", "Of the app, too.", parent=above)
    bound.await_text("Above/Parent.md", "Of the app, too.")
    for path in ("Above/Parent/Mine.md", "Above/Parent/Box/Inside.md"):
        bound.mirrord.file(path).parent.mkdir(parents=True, exist_ok=True)
        bound.mirrord.file(path).write_text("My own words.\n")
    bound.mirrord.flush()
    with bound.app.connection.transaction():
        bound.app.delete(above)
        bound.app.delete(parent)
    bound.await_text("Mine.md", "My own words.")
    bound.await_text("Box/Inside.md", "My own words.")
    bound.await_absence("Above/Parent.md")
    bound.await_absence("Above.md")


def test_files_of_ones_own_come_to_the_top_with_the_pages_that_show_them(bound: BoundWorld) -> None:
    for title in ("Stays", "Stays too", "And this", "And that"):  # else most pages would be gone
        bound.app.create(title)
    above = bound.app.create("Above", "Of the app.")
    bound.await_text("Above.md", "Of the app.")
    bound.mirrord.file("Above/assets").mkdir(parents=True)
    for name in ("Plan", "Loose", "Shown"):
        bound.mirrord.file(f"Above/assets/{name}.png").write_bytes(name.encode())
    bound.mirrord.file("Above/Mine.md").write_text("My own words. ![](assets/Plan.png)\n")
    bound.mirrord.flush()
    picture = {"type": "image", "attrs": {"src": "Above/assets/Shown.png"}}
    bound.app.save_document(above, {"type": "doc", "content": [{"type": "paragraph", "content": [picture]}]})
    bound.await_text("Above.md", "![](Above/assets/Shown.png)")
    bound.mirrord.flush()
    query = "SELECT count(*) FROM mirrord.page_link AS l JOIN mirrord.attachment AS a ON a.id = l.target_id"
    eventually(lambda: value(bound.admin, query) == 2, "both links have their meaning")
    bound.app.delete(above)
    bound.await_text("Mine.md", "![](assets/Plan.png)")
    bound.await_absence("Above.md")
    eventually(lambda: not bound.mirrord.file("Above").exists(), "all files have left the directory")
    files = bound.mirrord.file("assets")
    assert {path.name: path.read_bytes() for path in files.iterdir()} == {"Plan.png": b"Plan", "Loose.png": b"Loose"}


def test_a_row_that_comes_back_does_not_bring_back_those_that_were_deleted_with_it(bound: BoundWorld) -> None:
    for title in ("Stays", "Stays too", "And this", "And that"):  # else most pages would be gone
        bound.app.create(title)
    parent = bound.app.create("Parent", "P.")
    child = bound.app.create("Child", "C.", parent=parent)
    bound.await_text("Parent/Child.md", "C.")
    with bound.app.connection.transaction():
        bound.app.delete(parent)
        bound.app.delete(child)
    bound.await_absence("Parent/Child.md")
    bound.await_absence("Parent.md")
    bound.app.change(parent, deleted_at=None)
    bound.await_text("Parent.md", "P.")
    bound.mirrord.flush()
    assert not bound.mirrord.file("Parent/Child.md").exists()
    bound.app.change(child, deleted_at=None)
    bound.await_text("Parent/Child.md", "C.")


def test_a_new_row_is_below_a_page_that_an_earlier_binding_made(bound: BoundWorld) -> None:
    parent = bound.app.create("Parent", "P.")
    bound.await_text("Parent.md", "P.")
    bound.await_rest()
    bound.bind("drop", "kb")
    bound.app.create("Child", "C.", parent=parent)
    bound.bind("add", str(bound.mapping))
    bound.await_text("Parent/Child.md", "C.")


def test_a_page_that_is_held_while_all_rows_are_compared_follows_when_it_is_free(bound: BoundWorld) -> None:
    page = bound.app.create("Page", "Before.")
    bound.await_text("Page.md", "Before.")
    bound.await_rest()
    bound.bind("drop", "kb")
    bound.app.save(page, "After.")
    with bound.admin.transaction():
        bound.admin.execute("SELECT FROM mirrord.page WHERE id = %s FOR UPDATE", [page])
        bound.bind("add", str(bound.mapping))
        bound.mirrord.wait_event("bindings_wait")
    bound.await_text("Page.md", "After.")


def test_pages_that_cannot_be_written_do_not_hide_those_that_changed_after_them(bound: BoundWorld) -> None:
    broken = [bound.app.create(f"Broken {number:03}", "Fine.") for number in range(MAX_ROWS)]
    last = bound.app.create("Last", "Of the app.")
    bound.await_text("Last.md", "Of the app.")
    bound.await_rest()
    bound.app.connection.execute("UPDATE kb.blocks SET content = '[]' WHERE page_id = ANY (%s)", [broken])
    eventually(lambda: len(bound.status()["problems"]) == MAX_ROWS, "every broken body is a problem")
    edit = "UPDATE mirrord.page SET markdown = markdown || 'Edited.' WHERE id = ANY (%s::uuid[])"
    with bound.mirrord.app as connection:
        connection.execute(edit, [broken])
        connection.execute(edit, [[last]])
        version = "SELECT version FROM mirrord.page WHERE id = %s AND markdown NOT LIKE '%%Edited.'"
        assert value(connection, version, last) is None
        eventually(lambda: value(connection, version, last), "the last page is again what the app says")


@pytest.mark.parametrize(
    "change",
    [
        "DROP TRIGGER {trigger} ON kb.blocks",
        "ALTER TABLE kb.blocks DISABLE TRIGGER {trigger}",
        "CREATE OR REPLACE FUNCTION mirrord_bind.note_{id}_body() RETURNS trigger LANGUAGE plpgsql AS "
        "'BEGIN RETURN NULL; END'",
        "REVOKE SELECT ON kb.blocks FROM {trigger}",
        "DROP TABLE mirrord_bind.change",
    ],
)
def test_triggers_and_grants_are_made_again_when_a_binding_goes_on(bound: BoundWorld, change: str) -> None:
    page = bound.app.create("Page", "Before.")
    bound.await_text("Page.md", "Before.")
    bound.bind("pause", "kb")
    binding = value(bound.admin, "SELECT left(replace(id::text, '-', ''), 12) FROM mirrord.binding")
    bound.admin.execute(change.format(id=binding, trigger=f"mirrord_bind_{binding}").encode())
    bound.bind("resume", "kb")
    bound.await_rest()
    bound.app.save(page, "After.")
    bound.await_text("Page.md", "After.")


def test_a_write_of_the_app_notifies_once_after_each_look_unless_the_setting_says_no(world: BoundWorld) -> None:
    world.bind("add", str(world.mapping))
    channel = value(world.admin, "SELECT mirrord.channel(id) FROM mirrord.tenant")
    world.admin.execute(f"LISTEN {channel}".encode())

    def payloads_after(*statements: str) -> list[str]:
        for statement in statements:
            world.app.connection.execute(statement.encode())
        world.admin.execute("SELECT")  # notifications come with its answer
        return [notification.payload for notification in world.admin.notifies(timeout=0)]

    page = world.app.create("Page", "P.")
    payload = f"bound {value(world.admin, 'SELECT id FROM mirrord.binding')}"
    assert payloads_after() == [payload]
    latch = value(world.admin, "SELECT oid::regclass::text FROM pg_class WHERE relname LIKE 'notifies_%%'")
    edit = f"UPDATE kb.pages SET title = title || '.' WHERE id = '{page}'"
    assert payloads_after(edit, edit) == []
    request = f"SELECT setval('{latch}', 1)"  # as the daemon does in each pass
    world.admin.execute(request.encode())
    assert payloads_after("UPDATE kb.pages SET view_count = 1") == []
    assert payloads_after(edit, edit) == [payload]
    world.admin.execute(request.encode())
    assert payloads_after("SET mirrord.notify = 'ticker'", edit, "RESET mirrord.notify") == []


def test_every_pass_asks_for_the_next_notification(bound: BoundWorld) -> None:
    page = bound.app.create("Page", "0")
    bound.await_text("Page.md", "0")
    latch = value(bound.admin, "SELECT oid::regclass::text FROM pg_class WHERE relname LIKE 'notifies_%%'")

    def is_asked_for() -> bool:
        return bool(value(bound.admin, f"SELECT last_value FROM {latch}") == 1)

    for number in range(3):
        bound.app.save(page, f"Word {number}.")
        bound.await_text("Page.md", f"Word {number}.")
        eventually(is_asked_for, "the next write is to notify")


def test_a_commit_without_a_notification_reaches_its_file(bound: BoundWorld) -> None:
    page = bound.app.create("Page", "Before.")
    other = bound.app.create("Other", "Before.")
    bound.await_text("Page.md", "Before.")
    bound.await_text("Other.md", "Before.")
    with bound.app.connection.transaction():  # it is to notify, and does not before its end
        bound.app.change(other, icon="🌍")
        bound.admin.execute("UPDATE kb.pages SET icon = '🌱' WHERE id = %s", [page])
        bound.await_text("Page.md", "icon: 🌱")
    bound.await_text("Other.md", "icon: 🌍")


@pytest.mark.parametrize("kind", ["point", "xml", "json[]"])
def test_a_column_that_cannot_be_compared_hides_no_change(world: BoundWorld, kind: str) -> None:
    world.app.connection.execute(f"ALTER TABLE kb.pages ADD COLUMN place {kind}".encode())
    world.mapping.write_text(f'{MAPPING}\nplace = "place"\n')
    world.bind("add", str(world.mapping))
    world.mirrord.up()
    page = world.app.create("Here", "h.")
    world.await_text("Here.md", "h.")
    world.await_rest()
    world.app.change(page, icon="🌍")
    world.await_text("Here.md", "icon: 🌍")


def test_a_person_who_pauses_a_binding_waits_for_its_pass(bound: BoundWorld) -> None:
    waiting = (
        "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' "
        "AND starts_with(query, 'UPDATE mirrord.binding SET state') "
        "AND clock_timestamp() - query_start > interval '2 seconds'"
    )
    with psycopg.connect(bound.admin.info.dsn, password=bound.admin.info.password) as passing:
        passing.execute("SELECT FROM mirrord.binding FOR UPDATE")

        def end_pass() -> None:
            eventually(lambda: value(bound.admin, waiting), "that the command waits")
            passing.rollback()

        with ThreadPoolExecutor(1) as passes:
            ending = passes.submit(end_pass)
            bound.bind("pause", "kb")
            ending.result()
    assert value(bound.admin, "SELECT state FROM mirrord.binding") == "paused"


def test_a_comparison_begins_again_after_a_pause(world: BoundWorld) -> None:
    with world.app.connection.transaction():
        pages = sorted(world.app.create(f"Page {number}", "Before.") for number in range(8 * MAX_ROWS))
    world.bind("add", str(world.mapping))
    world.mirrord.up()
    bound_rows = "SELECT count(*) FROM mirrord.binding_entry"
    eventually(lambda: value(world.admin, bound_rows), "the comparison has begun", pause=0.01)
    world.bind("pause", "kb")
    world.app.change(pages[0], title="New title")
    world.bind("resume", "kb")
    eventually(lambda: value(world.admin, bound_rows) == len(pages), "all rows are bound", 120)
    world.await_text("New title.md", "Before.")


def test_a_comparison_begins_again_where_a_running_binding_is_resumed(world: BoundWorld) -> None:
    """What the app wrote by then is taken out of the queue, and the row may have been compared before."""
    with world.app.connection.transaction():
        pages = sorted(world.app.create(f"Page {number}", "Before.") for number in range(8 * MAX_ROWS))
    world.bind("add", str(world.mapping))
    world.mirrord.up()
    bound_rows = "SELECT count(*) FROM mirrord.binding_entry"
    eventually(lambda: value(world.admin, bound_rows), "the comparison has begun", pause=0.01)
    waiting = (
        "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' "
        "AND starts_with(query, 'SELECT FROM mirrord.binding WHERE')"
    )
    with psycopg.connect(world.admin.info.dsn, password=world.admin.info.password) as between:
        between.execute("SELECT FROM mirrord.binding FOR UPDATE")  # no pass runs meanwhile
        world.app.change(pages[0], title="New title")

        def end_pause() -> None:
            eventually(lambda: value(world.admin, waiting), "that the command waits")
            between.rollback()

        with ThreadPoolExecutor(1) as pauses:
            ending = pauses.submit(end_pause)
            world.bind("resume", "kb")
            ending.result()
    eventually(lambda: value(world.admin, bound_rows) == len(pages), "all rows are bound", 120)
    world.await_text("New title.md", "Before.")
