"""PgBouncer pools transactions: mirrord and apps work through it, and leave the sessions of Postgres as they were."""

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from mirrord.web.console_server import last_url
from tests.support.browsing import Browser
from tests.support.commands import Done, Near, run_command
from tests.support.editors import save
from tests.support.harness import Mirrord, eventually
from tests.support.health import assert_syncs
from tests.support.poolers import POOLER, PoolerTarget, pooled, role_settings, write_configuration
from tests.support.servers import Server, programs, served

pytestmark = [
    pytest.mark.timeout(300),
    pytest.mark.skipif(not POOLER.exists(), reason="needs PgBouncer"),
]

SESSIONS = 4  # of Postgres, which the pooler keeps for each role
SETTINGS = {
    "pool_mode": "transaction",
    "ignore_startup_parameters": "options",
    "default_pool_size": str(SESSIONS),
    "server_reset_query": "DISCARD ALL",
    "server_reset_query_always": "1",
}
_SESSION_STATE = """
SELECT pg_backend_pid(), coalesce(current_setting('mirrord.tenant', true), ''), current_user::text,
       current_setting('TimeZone') = reset_val, (SELECT count(*) FROM pg_prepared_statements),
       (SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid()),
       current_setting('statement_timeout')
  FROM pg_settings WHERE name = 'TimeZone'"""


class PooledMirrord(Near):
    """A daemon whose file of configuration names the pooler, and Postgres itself for what listens."""

    @property
    def places(self) -> list[str]:
        return [
            "--mirror",
            str(self.mirror),
            "--data",
            str(self.data),
            "--config",
            str(self.directory / "mirrord.toml"),
        ]


@pytest.fixture(scope="module", params=sorted(programs()))
def server(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """With a migrated database `notes`, and the settings of the guide for the role that is pooled."""
    with served(tmp_path_factory.mktemp("server"), request.param) as running:
        with psycopg.connect(running.dsn(), autocommit=True) as superuser:
            superuser.execute("CREATE DATABASE notes")
        assert run_command("migrate", "--dsn", running.dsn("notes")).code == 0
        with psycopg.connect(running.dsn(), autocommit=True) as superuser:
            for statement in role_settings():
                superuser.execute(statement.encode())
            if running.version >= 17:
                superuser.execute("ALTER ROLE mirrord_daemon SET transaction_timeout = '30s'")
        yield running


@pytest.fixture(scope="module")
def pooled_dsn(server: Server, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    # The sessions are not reset after transactions: what mirrord leaves in them would be seen.
    settings = {**SETTINGS, "server_reset_query_always": "0"}
    with pooled(PoolerTarget(server.directory), tmp_path_factory.mktemp("pooler"), settings) as dsn:
        yield dsn


@pytest.fixture(scope="module")
def mirrord(server: Server, pooled_dsn: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mirrord]:
    directory = tmp_path_factory.mktemp("mirrord")
    write_configuration(directory, pooled_dsn, server.dsn("notes"))
    with PooledMirrord(directory, dsn=pooled_dsn) as installed:
        installed.up("--console", "0")
        yield installed


def test_edits_go_both_ways_and_leave_nothing_in_the_sessions(mirrord: Mirrord, pooled_dsn: str) -> None:
    for number in range(30):
        save(mirrord.file(f"Folder/Page {number}.md"), f"# Page {number}\n\nSee [[Page {number + 1}]].\n")
    assert_syncs(mirrord)
    mirrord.flush()
    mirrord.app.execute("UPDATE page SET title = 'Another' WHERE name = 'Page 3'")
    eventually(lambda: "title: Another" in mirrord.file("Folder/Page 3.md").read_text(), "the title in the file")
    mirrord.flush()
    assert mirrord.check() == {}
    assert_untouched(pooled_dsn)


def assert_untouched(dsn: str) -> None:
    """No session of Postgres has a tenant, a role, a time zone, prepared statements or locks that a client left."""
    with ExitStack() as connections:
        states = []
        for _ in range(SESSIONS):
            connection = connections.enter_context(psycopg.connect(dsn, prepare_threshold=None))
            connection.execute("SET LOCAL idle_in_transaction_session_timeout = 0")  # others may be in use for long
            states.append(connection.execute(_SESSION_STATE.encode()).fetchone())
    processes = {state[0] for state in states if state is not None}
    assert len(processes) == SESSIONS
    assert {state[1:] for state in states if state is not None} == {("", "mirrord_daemon", True, 0, 0, "30s")}


def test_the_doctor_finds_all_well(mirrord: Mirrord) -> None:
    report = mirrord.run("doctor", "--json").stdout
    for check in ("roles", "tenants apart", "feed latency", "tenant demo"):
        assert f'"check": "{check}",\n    "verdict": "ok"' in report, report


def test_a_person_edits_in_the_console_as_an_app(mirrord: Mirrord) -> None:
    save(mirrord.file("Console.md"), "# Console\n")
    page = eventually(lambda: mirrord.page("Console"), "the row")
    url = eventually(lambda: last_url(mirrord.data), "the console's address")
    link = mirrord.run("console", "link").stdout.strip()
    browser = Browser(url, tenant=mirrord.tenant).sign_in(link)
    answer = browser.ask("PATCH", f"/t/demo/api/pages/{page.id}", {"version": page.version, "icon": "🌱"})
    assert answer.status == 200, answer.text
    eventually(lambda: "icon: 🌱" in mirrord.file("Console.md").read_text("utf-8"), "the icon in the file")


def test_a_backup_is_made_and_restored(mirrord: Mirrord, pooled_dsn: str, tmp_path: Path) -> None:
    save(mirrord.file("Kept.md"), "kept\n")
    mirrord.flush()
    for words in (("create", str(tmp_path)), ("restore", str(tmp_path), "--as", "copy")):
        completed = mirrord.run("backup", *words, "--tenant", "demo")
        assert completed.returncode == 0, completed.stderr
    assert_untouched(pooled_dsn)


def test_the_ticker_and_several_processes_work(server: Server, pooled_dsn: str, mirrord: Mirrord) -> None:
    mirrord.stop()
    write_configuration(mirrord.directory, pooled_dsn, server.dsn("notes"), 'notify = "ticker"')
    try:
        mirrord.up("--processes", "2")
        assert_syncs(mirrord)
        mirrord.stop()
    finally:
        write_configuration(mirrord.directory, pooled_dsn, server.dsn("notes"))
    mirrord.up()
    assert_syncs(mirrord)


def test_edits_go_on_after_the_pooler_was_away(server: Server, tmp_path: Path) -> None:
    directory = tmp_path / "pooler"
    directory.mkdir()
    with PooledMirrord(tmp_path, tenant="patient") as mirrord:
        with pooled(PoolerTarget(server.directory), directory, SETTINGS) as mirrord.dsn:
            write_configuration(tmp_path, mirrord.dsn, server.dsn("notes"))
            mirrord.up()
            assert_syncs(mirrord)
        save(mirrord.file("Between.md"), "saved while there is no pooler\n")
        with pooled(PoolerTarget(server.directory), directory, SETTINGS):
            eventually(lambda: mirrord.page("Between"), "the row", 60.0)
            assert_syncs(mirrord)


def test_apps_name_their_tenant_in_each_transaction(mirrord: Mirrord, server: Server, tmp_path: Path) -> None:
    save(mirrord.file("Of an app.md"), "text\n")
    page = eventually(lambda: mirrord.page("Of an app"), "the row")
    with pooled(PoolerTarget(server.directory), tmp_path, SETTINGS) as dsn:
        app = make_conninfo(dsn, user="mirrord_app")
        with psycopg.connect(app, autocommit=True) as first, psycopg.connect(app, autocommit=True) as second:
            tenant = tenant_of(mirrord, server)
            with first.transaction():
                first.execute(f"SET LOCAL mirrord.tenant = '{tenant}'".encode())
                first.execute("UPDATE mirrord.page SET title = 'Through the pooler' WHERE id = %s", (page.id,))
            first.execute(f"SET mirrord.tenant = '{tenant}'".encode())  # a mistake: of the session
            for connection in (first, second):
                with pytest.raises(psycopg.errors.InsufficientPrivilege, match=r"mirrord\.tenant"):
                    connection.execute("SELECT count(*) FROM mirrord.page")
    eventually(lambda: "Through the pooler" in mirrord.file("Of an app.md").read_text(), "the title in the file")


def tenant_of(mirrord: Mirrord, server: Server) -> str:
    with psycopg.connect(server.dsn("notes")) as superuser:
        row = superuser.execute("SELECT id FROM mirrord.tenant WHERE name = %s", (mirrord.tenant,)).fetchone()
    assert row is not None
    return str(row[0])


@pytest.mark.parametrize("words", [("tenant", "list"), ("migrate",), ("migrate", "--policies")])
def test_without_a_dsn_of_postgres_itself_a_sentence_asks_for_it(
    pooled_dsn: str, server: Server, tmp_path: Path, words: tuple[str, ...]
) -> None:
    refused = run_on(tmp_path, *words, "--dsn", pooled_dsn)
    assert refused.code == 2
    assert "let `listen_dsn` name Postgres itself" in refused.err
    with psycopg.connect(server.dsn("notes")) as superuser:
        locks = superuser.execute("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'").fetchone()
    assert locks == (0,)


def test_a_listen_dsn_that_reaches_the_pooler_is_refused(pooled_dsn: str, tmp_path: Path) -> None:
    refused = run_on(tmp_path, "tenant", "list", "--config", str(write_configuration(tmp_path, pooled_dsn, pooled_dsn)))
    assert refused.code == 2
    assert "let `listen_dsn` name Postgres itself" in refused.err or "`listen_dsn` reaches a pooler" in refused.err


def run_on(directory: Path, *words: str) -> Done:
    return run_command(*words, "--mirror", str(directory / "mirror"), "--data", str(directory / "data"))


def test_a_pooler_that_drops_the_time_limits_is_told(server: Server, tmp_path: Path) -> None:
    with (
        pooled(PoolerTarget(server.directory), tmp_path, SETTINGS) as dsn,
        psycopg.connect(server.dsn(), autocommit=True) as superuser,
    ):
        superuser.execute("ALTER ROLE mirrord_daemon IN DATABASE notes SET lock_timeout = 0")
        try:
            refused = run_on(tmp_path, "tenant", "list", "--dsn", dsn)
        finally:
            superuser.execute("ALTER ROLE mirrord_daemon IN DATABASE notes RESET lock_timeout")
    assert refused.code == 2
    assert "drops the settings of mirrord's connections" in refused.err
