"""Postgres goes away, refuses or makes mirrord wait: it says so, tries again, and takes in everything or nothing."""

from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest

from tests.system.editors import save
from tests.system.harness import Mirrord, eventually
from tests.system.rows import Connection

_LISTENERS = "application_name = 'mirrord' AND datname = current_database() AND query LIKE 'LISTEN%%'"
_OURS = "application_name = 'mirrord' AND datname = current_database()"


@pytest.fixture
def mirrord(fresh_dsn: str, tmp_path: Path) -> Iterator[Mirrord]:
    with Mirrord(tmp_path, tenant="outages", dsn=fresh_dsn) as started:
        started.up()
        yield started


@pytest.fixture
def admin(fresh_dsn: str, connect: Callable[[str], Connection]) -> Connection:
    return connect(fresh_dsn)


def write_page(mirrord: Mirrord, path: str, text: str) -> None:
    save(mirrord.file(path), text)
    eventually(lambda: has_row(mirrord, path, text), f"the row of {path}")


def has_row(mirrord: Mirrord, path: str, text: str) -> bool:
    page = mirrord.page(path)
    return page is not None and page.markdown == text


def app_writes(mirrord: Mirrord, path: str, text: str) -> None:
    mirrord.app.execute("UPDATE mirrord.page SET markdown = %s WHERE name = %s", [text, path.removesuffix(".md")])


def terminate(admin: Connection, which: str) -> list[int]:
    """End backends; their process ids."""
    query = f"SELECT pid FROM pg_stat_activity WHERE {which} AND pg_terminate_backend(pid)"
    return [row[0] for row in admin.execute(query.encode()).fetchall()]


def listeners(admin: Connection) -> set[int]:
    return {row[0] for row in admin.execute(f"SELECT pid FROM pg_stat_activity WHERE {_LISTENERS}".encode())}


def outage(mirrord: Mirrord, words: str) -> str | None:
    return next((one for one in mirrord.status()["degraded"] if words in one), None)


def test_losing_only_the_listening_connection_costs_a_second_and_it_comes_back(
    mirrord: Mirrord, admin: Connection
) -> None:
    write_page(mirrord, "Bell.md", "one\n")
    lost = terminate(admin, _LISTENERS)
    assert len(lost) == 1
    app_writes(mirrord, "Bell.md", "two\n")
    eventually(lambda: mirrord.text("Bell.md") == "two\n", "the row's text, found by the poll")
    eventually(lambda: listeners(admin) - set(lost), "another listening connection")
    assert mirrord.running


def test_losing_all_connections_at_once_loses_nothing(mirrord: Mirrord, admin: Connection) -> None:
    write_page(mirrord, "Both.md", "one\n")
    for number in range(5):
        assert terminate(admin, _OURS)
        save(mirrord.file(f"File {number}.md"), f"{number}\n")
        app_writes(mirrord, "Both.md", f"by the app {number}\n")
        eventually(lambda: has_row(mirrord, f"File {number}.md", f"{number}\n"), "the file's row")  # noqa: B023
        eventually(lambda: mirrord.text("Both.md") == f"by the app {number}\n", "the row's text")  # noqa: B023
    mirrord.flush()
    assert mirrord.check() == {}


def test_a_postgres_that_restarts_finds_the_daemon_waiting(tmp_path: Path) -> None:
    with Mirrord(tmp_path) as mirrord:
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
    eventually(lambda: mirrord.text("Silent.md") == "two\n", "the row's text, found by the poll", 5)


def test_a_row_that_an_app_holds_keeps_nobody_else_waiting(mirrord: Mirrord, admin: Connection) -> None:
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


FAIL = """
CREATE SEQUENCE public.tries;
GRANT USAGE ON public.tries TO PUBLIC;
CREATE FUNCTION public.fail() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF nextval('public.tries') <= {times} THEN
        RAISE EXCEPTION 'as told' USING ERRCODE = '{code}';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER z_fail BEFORE INSERT OR UPDATE ON mirrord.mirror_base FOR EACH ROW EXECUTE FUNCTION public.fail();
"""


@pytest.mark.parametrize("code", ["deadlock_detected", "serialization_failure", "query_canceled", "lock_not_available"])
def test_a_transaction_that_postgres_undoes_is_tried_again(mirrord: Mirrord, admin: Connection, code: str) -> None:
    write_page(mirrord, "Page.md", "one\n")
    admin.execute(FAIL.format(times=2, code=code).encode())
    save(mirrord.file("Page.md"), "two\n")
    eventually(lambda: has_row(mirrord, "Page.md", "two\n"), "the row after two failures")
    versions = "SELECT version FROM mirrord.page_revision ORDER BY 1"
    assert [row[0] for row in mirrord.app.execute(versions)] == [1, 2]
    assert mirrord.app.execute("SELECT sentence FROM mirrord.problem").fetchall() == []


def test_a_full_disk_of_postgres_takes_in_nothing_by_half(mirrord: Mirrord, admin: Connection) -> None:
    write_page(mirrord, "Page.md", "one\n")
    admin.execute(FAIL.format(times=10**9, code="disk_full").encode())
    save(mirrord.file("Page.md"), "two\n")
    save(mirrord.file("New.md"), "new\n")
    eventually(lambda: outage(mirrord, "no disk space"), "a sentence about it", pause=0.2)
    rows = "SELECT (SELECT count(*) FROM mirrord.page), (SELECT max(version) FROM mirrord.page_revision)"
    assert mirrord.app.execute(rows).fetchone() == (1, 1)
    assert mirrord.text("Page.md") == "two\n"
    admin.execute("DROP TRIGGER z_fail ON mirrord.mirror_base")
    eventually(lambda: has_row(mirrord, "Page.md", "two\n"), "what was saved meanwhile", 60)
    eventually(lambda: has_row(mirrord, "New.md", "new\n"), "what was made meanwhile", 60)
    assert mirrord.check() == {}
