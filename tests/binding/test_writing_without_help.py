"""Mode `both` where the app's database gives less: no triggers, policies on writes, a crash in the middle of a pass."""

import os
import signal
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import psycopg
import pytest

from mirrord.db.server.server_files import Postmaster
from tests.binding.knowledge_base import TWO_WAY_MAPPING, BoundWorld, document_of, install_app
from tests.support.commands import Near
from tests.support.entries import value
from tests.support.harness import eventually

POLLING = TWO_WAY_MAPPING.replace('name = "kb"', 'name = "kb"\nwatch = "poll"\npoll_seconds = 1')
POLICIES = """
ALTER TABLE kb.{table} ENABLE ROW LEVEL SECURITY;;
CREATE POLICY shown ON kb.{table} FOR SELECT USING (true);;
CREATE POLICY written ON kb.{table} FOR UPDATE USING ({condition})
"""
WAITING_TRIGGER = """
CREATE FUNCTION kb.wait() RETURNS trigger LANGUAGE plpgsql AS
    'BEGIN PERFORM pg_catalog.pg_advisory_xact_lock_shared(7); RETURN NEW; END';;
CREATE TRIGGER wait BEFORE UPDATE ON kb.blocks FOR EACH ROW EXECUTE FUNCTION kb.wait()
"""
WAITING = "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'advisory'"


def execute_all(world: BoundWorld, statements: str) -> None:
    for statement in statements.split(";;"):
        world.app.connection.execute(statement.encode())


def test_a_binding_without_triggers_writes_and_merges(world: BoundWorld) -> None:
    world.mapping.write_text(POLLING)
    page, other = world.app.create("Page", "One.", "Two."), world.app.create("Other", "O.")
    world.bind("add", str(world.mapping))
    assert value(world.admin, "SELECT count(*) FROM pg_trigger WHERE tgname LIKE 'mirrord%%'") == 0
    world.mirrord.up()
    text = world.await_text("Page.md", "Two.")
    world.await_text("Other.md", "O.")
    world.await_rest()
    world.mirrord.file("Page.md").write_text(text.replace("Two.", "Two of a file."))
    world.await_body(page, "Two of a file.")
    assert world.app.block(page)["version"] == 2
    with world.app.connection.transaction():  # both sides change it before the other is heard of
        world.app.save(page, "One of the app.", "Two of a file.")
        edited = world.mirrord.text("Page.md") or ""
        world.mirrord.file("Page.md").write_text(edited.replace("Two of a file.", "Two of a file, twice."))
        world.mirrord.flush()
    world.await_text("Page.md", "One of the app.", "Two of a file, twice.")
    world.await_body(page, "One of the app.")
    world.await_body(page, "Two of a file, twice.")
    world.mirrord.file("Other.md").unlink()
    eventually(lambda: world.app.page(other)["deleted_at"] is not None, "the page is in the app's trash")
    assert world.conflicts() == []


@pytest.mark.parametrize(
    ("table", "condition"),
    [("pages", "title <> 'Locked'"), ("blocks", "plain_text IS DISTINCT FROM 'closed'")],
    ids=["of the page", "of the body"],
)
def test_a_row_that_a_policy_lets_nobody_write_holds_up_its_own_page_alone(
    world: BoundWorld, table: str, condition: str
) -> None:
    locked, free = world.app.create("Locked", "Before."), world.app.create("Free", "Before.")
    world.app.connection.execute("UPDATE kb.blocks SET plain_text = 'closed' WHERE page_id = %s", [locked])
    execute_all(world, POLICIES.format(table=table, condition=condition))
    world.mapping.write_text(TWO_WAY_MAPPING)
    world.bind("add", str(world.mapping))
    world.mirrord.up()
    text = world.await_text("Locked.md", "Before.")
    world.await_text("Free.md", "Before.")
    world.await_rest()
    world.mirrord.file("Locked.md").write_text(text.replace("Before.", "After."))
    problems = eventually(lambda: world.status()["problems"], "the problem of the page")
    assert "the app does not let it be written" in str(problems)
    world.mirrord.file("Free.md").write_text((world.mirrord.text("Free.md") or "").replace("Before.", "After."))
    world.await_body(free, "After.")
    assert world.app.block(locked)["content"] == document_of("Before.")
    assert "After." in (world.mirrord.text("Locked.md") or ""), "the edit is kept"

    world.app.connection.execute(f"DROP POLICY written ON kb.{table}".encode())
    world.app.connection.execute(f"CREATE POLICY written ON kb.{table} FOR UPDATE USING (true)".encode())
    world.app.change(free, icon="x")
    world.await_body(locked, "After.")
    eventually(lambda: not world.status()["problems"], "the problem is over")


@pytest.fixture
def embedded(tmp_path: Path) -> Iterator[BoundWorld]:
    """An app in the Postgres that the daemon starts itself, bound in mode `both`."""
    with Near(tmp_path / "here") as mirrord:
        mirrord.up()
        app = install_app(mirrord.postgres.dsn())
        mapping = tmp_path / "kb.toml"
        mapping.write_text(TWO_WAY_MAPPING)
        with psycopg.connect(mirrord.postgres.dsn(), autocommit=True) as admin:
            world = BoundWorld(mirrord, app, admin, mapping)
            world.bind("add", str(mapping))
            yield world


def test_an_edit_is_written_once_though_postgres_crashes_in_the_middle_of_the_pass(embedded: BoundWorld) -> None:
    page = embedded.app.create("Page", "Before.", "Stays.")
    text = embedded.await_text("Page.md", "Before.")
    embedded.await_rest()
    execute_all(embedded, WAITING_TRIGGER)
    embedded.admin.execute("SELECT pg_advisory_lock(7)")
    embedded.mirrord.file("Page.md").write_text(text.replace("Before.", "After."))
    eventually(lambda: value(embedded.admin, WAITING), "the pass writes the row", pause=0.01)
    server = Postmaster.read_record(embedded.mirrord.postgres.cluster)
    assert server is not None
    os.kill(server.pid, signal.SIGQUIT)  # as `pg_ctl stop -m immediate`
    eventually(lambda: embedded.mirrord.postgres.is_running and _is_another(embedded, server.pid), "Postgres again", 60)
    with closing(embedded.app.connection), psycopg.connect(embedded.mirrord.postgres.dsn(), autocommit=True) as again:
        query = "SELECT content, version FROM kb.blocks WHERE page_id = %s"

        def is_written() -> bool:
            return again.execute(query, [page]).fetchone() == (document_of("After.", "Stays."), 2)

        eventually(is_written, "the edit is in the app once", 60)
        embedded.mirrord.flush()
        assert is_written()
    assert embedded.mirrord.text("Page.md") == text.replace("Before.", "After.")


def _is_another(world: BoundWorld, pid: int) -> bool:
    server = Postmaster.read_record(world.mirrord.postgres.cluster)
    return server is not None and server.pid != pid
