"""Postgres goes away, refuses or makes mirrord wait: it says so, tries again, and takes in everything or nothing."""

from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest

from mirrord.domain.entry import digest_of
from tests.support.commands import Near
from tests.support.editors import save
from tests.support.entries import value
from tests.support.harness import Mirrord, eventually
from tests.support.rows import Connection

_OURS = "application_name = 'mirrord' AND datname = current_database()"
_LISTENERS = f"{_OURS} AND (query LIKE 'LISTEN%%' OR query LIKE '%%seq > 0')"  # its last statement is either


FAIL = """
CREATE SEQUENCE IF NOT EXISTS public.tries;
GRANT USAGE ON public.tries TO PUBLIC;
CREATE OR REPLACE FUNCTION public.fail() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF nextval('public.tries') <= {times} THEN
        RAISE EXCEPTION 'as told' USING ERRCODE = '{code}';
    END IF;
    RETURN NEW;
END $$;
CREATE OR REPLACE TRIGGER z_fail BEFORE INSERT OR UPDATE ON mirrord.mirror_base
    FOR EACH ROW EXECUTE FUNCTION public.fail();
"""
MEND = "DROP FUNCTION IF EXISTS public.fail CASCADE; DROP SEQUENCE IF EXISTS public.tries"


@pytest.fixture(scope="module")
def mirrord(module_dsn: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mirrord]:
    """One daemon for all tests of this module, in a database of its own, because they break it."""
    with Near(tmp_path_factory.mktemp("outages"), tenant="outages", dsn=module_dsn) as started:
        started.up()
        yield started


@pytest.fixture
def admin(module_dsn: str, connect: Callable[[str], Connection]) -> Connection:
    return connect(module_dsn)


@pytest.fixture
def fail(admin: Connection) -> Iterator[Callable[[str, int], None]]:
    """Lets Postgres refuse to record the next bases, with an error of that name, so many times."""

    def begin(code: str, times: int) -> None:
        admin.execute(FAIL.format(times=times, code=code).encode())

    yield begin
    admin.execute(MEND)


def write_page(mirrord: Mirrord, path: str, text: str) -> None:
    save(mirrord.file(path), text)
    eventually(lambda: has_row(mirrord, path, text), f"the row of {path}")


def has_row(mirrord: Mirrord, path: str, text: str) -> bool:
    page = mirrord.page(path)
    return page is not None and page.markdown == text


def app_writes(mirrord: Mirrord, path: str, text: str) -> None:
    mirrord.app.execute("UPDATE mirrord.page SET markdown = %s WHERE name = %s", [text, path.removesuffix(".md")])


def terminate(admin: Connection, condition: str) -> list[int]:
    """End backends; their process ids."""
    rows = admin.execute(f"SELECT pid FROM pg_stat_activity WHERE {condition}".encode()).fetchall()
    for (pid,) in rows:
        admin.execute("SELECT pg_terminate_backend(%s)", [pid])
    return [pid for (pid,) in rows]


def listeners(admin: Connection) -> set[int]:
    return {row[0] for row in admin.execute(f"SELECT pid FROM pg_stat_activity WHERE {_LISTENERS}".encode())}


def outage(mirrord: Mirrord, words: str) -> str | None:
    return next((reason for reason in mirrord.status()["degraded"] if words in reason), None)


def test_losing_only_the_listening_connection_costs_a_second_and_it_comes_back(
    mirrord: Mirrord, admin: Connection
) -> None:
    write_page(mirrord, "Bell.md", "one\n")
    lost = eventually(lambda: terminate(admin, _LISTENERS), "a listening connection")
    assert len(lost) == 1
    app_writes(mirrord, "Bell.md", "two\n")
    eventually(lambda: mirrord.text("Bell.md") == "two\n", "the row's text, found by the poll")
    eventually(lambda: listeners(admin) - set(lost), "another listening connection")
    assert mirrord.running


def test_losing_all_connections_at_once_loses_nothing(mirrord: Mirrord, admin: Connection) -> None:
    write_page(mirrord, "Both.md", "one\n")
    for number in range(2):
        assert terminate(admin, _OURS)
        save(mirrord.file(f"File {number}.md"), f"{number}\n")
        app_writes(mirrord, "Both.md", f"by the app {number}\n")
        eventually(lambda: has_row(mirrord, f"File {number}.md", f"{number}\n"), "the file's row")  # noqa: B023
        eventually(lambda: mirrord.text("Both.md") == f"by the app {number}\n", "the row's text")  # noqa: B023
    mirrord.flush()
    assert mirrord.check() == {}


def test_a_postgres_that_restarts_finds_the_daemon_waiting(tmp_path: Path) -> None:
    with Near(tmp_path) as mirrord:
        mirrord.up()
        write_page(mirrord, "Restart.md", "one\n")
        mirrord.postgres.stop()
        save(mirrord.file("Restart.md"), "two\n")
        save(mirrord.file("New.md"), "new\n")
        mirrord.postgres.start()
        eventually(lambda: has_row(mirrord, "Restart.md", "two\n"), "what was saved meanwhile", 60)
        eventually(lambda: has_row(mirrord, "New.md", "new\n"), "what was made meanwhile", 60)
        app_writes(mirrord, "New.md", "by the app\n")
        eventually(lambda: mirrord.text("New.md") == "by the app\n", "a change of the row afterwards")


def test_a_bell_that_never_rings_costs_a_second(mirrord: Mirrord) -> None:
    write_page(mirrord, "Silent.md", "one\n")
    mirrord.app.execute("SET mirrord.notify = 'off'")
    app_writes(mirrord, "Silent.md", "two\n")
    eventually(lambda: mirrord.text("Silent.md") == "two\n", "the row's text, found by the poll", 20)


def test_a_row_that_an_app_holds_keeps_nobody_else_waiting(mirrord: Mirrord) -> None:
    for name in ("Held", "Free", "Row held", "Row free"):
        write_page(mirrord, f"{name}.md", "one\n")
    app_writes(mirrord, "Row free.md", "one more\n")
    eventually(lambda: mirrord.text("Row free.md") == "one more\n", "the change before")
    with psycopg.connect(mirrord.app_dsn) as app:
        with mirrord.frozen():
            app_writes(mirrord, "Row held.md", "by the app\n")
            app_writes(mirrord, "Row free.md", "by the app\n")
            app.execute("SELECT FROM mirrord.page WHERE name LIKE '%held' OR name = 'Held' FOR UPDATE")
            save(mirrord.file("Held.md"), "two\n")
            save(mirrord.file("Free.md"), "two\n")
        eventually(lambda: has_row(mirrord, "Free.md", "two\n"), "the row nobody holds", 60)
        eventually(lambda: mirrord.text("Row free.md") == "by the app\n", "the file whose row nobody holds", 60)
        assert has_row(mirrord, "Held.md", "one\n")
        app.rollback()
    eventually(lambda: has_row(mirrord, "Held.md", "two\n"), "the row that was held", 60)
    eventually(lambda: mirrord.text("Row held.md") == "by the app\n", "the file whose row was held", 60)


def test_a_database_that_is_read_only_is_an_outage_that_ends(mirrord: Mirrord, admin: Connection) -> None:
    write_page(mirrord, "Read.md", "one\n")
    name = psycopg.conninfo.conninfo_to_dict(mirrord.dsn or "")["dbname"]
    admin.execute(f"ALTER DATABASE {name} SET default_transaction_read_only = on".encode())
    terminate(admin, _OURS)
    save(mirrord.file("Read.md"), "two\n")
    eventually(lambda: outage(mirrord, "read-only"), "a sentence about it", pause=0.2)
    admin.execute("SET default_transaction_read_only = off")
    admin.execute(f"ALTER DATABASE {name} RESET default_transaction_read_only".encode())
    terminate(admin, _OURS)
    eventually(lambda: has_row(mirrord, "Read.md", "two\n"), "what was saved meanwhile", 60)
    eventually(lambda: not outage(mirrord, "read-only"), "the end of the outage", 60, pause=0.2)


@pytest.mark.parametrize("code", ["deadlock_detected", "serialization_failure", "query_canceled", "lock_not_available"])
def test_a_transaction_that_postgres_undoes_is_tried_again(
    mirrord: Mirrord, fail: Callable[[str, int], None], code: str
) -> None:
    write_page(mirrord, f"{code}.md", "one\n")
    fail(code, 2)
    save(mirrord.file(f"{code}.md"), "two\n")
    eventually(lambda: has_row(mirrord, f"{code}.md", "two\n"), "the row after two failures")
    versions = "SELECT r.version FROM mirrord.page_revision r JOIN mirrord.page p ON p.id = page_id WHERE p.name = %s"
    assert sorted(row[0] for row in mirrord.app.execute(versions, [code])) == [1, 2]
    assert mirrord.app.execute("SELECT sentence FROM mirrord.problem").fetchall() == []


def test_a_full_disk_of_postgres_takes_in_nothing_by_half(mirrord: Mirrord, fail: Callable[[str, int], None]) -> None:
    write_page(mirrord, "Full.md", "one\n")
    fail("disk_full", 10**9)
    save(mirrord.file("Full.md"), "two\n")
    save(mirrord.file("More.md"), "new\n")
    eventually(lambda: outage(mirrord, "no disk space"), "a sentence about it", pause=0.2)
    assert has_row(mirrord, "Full.md", "one\n")
    assert mirrord.page("More.md") is None
    revisions = (
        "SELECT count(*) FROM mirrord.page_revision r JOIN mirrord.page p ON p.id = page_id WHERE p.name = 'Full'"
    )
    assert value(mirrord.app, revisions) == 1
    assert mirrord.text("Full.md") == "two\n"
    fail("disk_full", 0)
    eventually(lambda: has_row(mirrord, "Full.md", "two\n"), "what was saved meanwhile", 60)
    eventually(lambda: has_row(mirrord, "More.md", "new\n"), "what was made meanwhile", 60)
    assert mirrord.check() == {}


def test_what_happened_behind_the_triggers_is_found_at_the_next_full_compare(
    mirrord: Mirrord, admin: Connection
) -> None:
    """Rows deleted without a tombstone come back from their files; texts written without a version reach theirs."""
    for name in ("Lost", "Forged"):
        write_page(mirrord, f"{name}.md", "one\n")
    lost = mirrord.page("Lost.md")
    assert lost is not None
    admin.execute("SET session_replication_role = replica")
    admin.execute("DELETE FROM mirrord.page WHERE name = 'Lost'")
    text = "by nobody\n"
    admin.execute(
        "UPDATE mirrord.page SET markdown = %s, digest = %s WHERE name = 'Forged'", [text, digest_of(text.encode())]
    )
    mirrord.restart()
    eventually(lambda: has_row(mirrord, "Lost.md", "one\n"), "the row again")
    page = mirrord.page("Lost.md")
    assert page is not None
    assert page.id == lost.id
    eventually(lambda: mirrord.text("Forged.md") == text, "the row's text")
