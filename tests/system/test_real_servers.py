"""
Postgres as others run it: TLS, a role that is no superuser, a standby that is promoted at another port, PgBouncer.

One primary with a standby that follows it; the tests take them from the start to the failover, in this order.
"""

import os
import shutil
import signal
import socket
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from tests.support.clusters import place_copy
from tests.support.commands import Done, Near, run_command
from tests.support.editors import save
from tests.support.entries import value
from tests.support.harness import Mirrord, eventually
from tests.support.health import assert_syncs
from tests.support.poolers import POOLER, PoolerTarget, pooled, role_settings, write_configuration
from tests.support.servers import DEBIAN_15, launch

pytestmark = [
    pytest.mark.timeout(400),
    pytest.mark.skipif(
        not (DEBIAN_15 / "pg_basebackup").exists() or shutil.which("openssl") is None,
        reason="needs Debian's postgresql-15 and openssl",
    ),
]

HBA = "local all all trust\nlocal replication all trust\nhostssl all all 127.0.0.1/32 trust\n"
WAIT_SECONDS = 90.0


@dataclass(slots=True)
class Host:
    """A server of its own below *directory*, reached by its socket, and over TLS at its port of loopback."""

    directory: Path
    port: int
    pid: int | None = None

    @property
    def cluster(self) -> Path:
        return self.directory / "cluster"

    def superuser_dsn(self, database: str = "notes") -> str:
        return make_conninfo(host=str(self.directory), port=self.port, user="root_of_all", dbname=database)

    def start(self) -> None:
        options = {
            "listen_addresses": "127.0.0.1",
            "port": self.port,
            "unix_socket_directories": self.directory,
            "ssl": "on",
            "fsync": "off",
            "max_connections": "40",
        }
        words = [word for name, setting in options.items() for word in ("-c", f"{name}={setting}")]
        log = self.directory / "log"
        self.pid = int(launch("--log", log, DEBIAN_15 / "postgres", "-D", self.cluster, *words))
        eventually(self._answers, f"an answer of the server at {self.port}", WAIT_SECONDS)

    def end(self) -> None:
        """As a power cut does."""
        if self.pid is not None:
            os.kill(self.pid, signal.SIGQUIT)
            eventually(lambda: not (self.cluster / "postmaster.pid").exists(), "the end of the server", WAIT_SECONDS)
            self.pid = None

    def _answers(self) -> bool:
        try:
            psycopg.connect(self.superuser_dsn("postgres")).close()
        except psycopg.OperationalError:
            return False
        return True


def find_free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture(scope="module")
def primary(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Host]:
    """With the database `notes` of the role `installer`, which may create roles and is no superuser."""
    host = Host(tmp_path_factory.mktemp("primary"), find_free_port())
    initdb = (DEBIAN_15 / "initdb", "--username=root_of_all", "--auth=trust", "--encoding=UTF8", "-N", "-D")
    place_copy("cluster-15", host.cluster, partial(launch, *initdb))
    (host.cluster / "pg_hba.conf").write_text(HBA)
    make_certificate(host.cluster)
    host.start()
    with psycopg.connect(host.superuser_dsn("postgres"), autocommit=True) as superuser:
        superuser.execute("CREATE ROLE installer LOGIN CREATEROLE")
        superuser.execute("CREATE DATABASE notes OWNER installer")
    yield host
    host.end()


def make_certificate(cluster: Path) -> None:
    """Its own authority, for `localhost`."""
    words = ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"]
    words += ["-subj", "/CN=localhost", "-keyout", str(cluster / "server.key"), "-out", str(cluster / "server.crt")]
    subprocess.run(["openssl", *words], check=True, capture_output=True)


@pytest.fixture(scope="module")
def standby(primary: Host, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Host]:
    host = Host(tmp_path_factory.mktemp("standby"), find_free_port())
    backup = [
        DEBIAN_15 / "pg_basebackup",
        "--checkpoint=fast",
        "--write-recovery-conf",
        "--no-sync",
        "-D",
        host.cluster,
    ]
    launch(*backup, "-d", primary.superuser_dsn("postgres"))
    host.start()
    yield host
    host.end()


@pytest.fixture(scope="module")
def mirrord(primary: Host, standby: Host, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mirrord]:
    """A daemon that knows both servers, and works as `installer`."""
    with Near(tmp_path_factory.mktemp("failover"), dsn=over_tls(primary, standby)) as installed:
        installed.start()
        installed.wait_ready(WAIT_SECONDS)
        yield installed


def over_tls(*hosts: Host, mode: str = "verify-full") -> str:
    return make_conninfo(
        host=",".join("localhost" for _ in hosts),
        port=",".join(str(host.port) for host in hosts),
        user="installer",
        dbname="notes",
        sslmode=mode,
        sslrootcert=str(hosts[0].cluster / "server.crt"),
        target_session_attrs="read-write" if len(hosts) > 1 else "any",
    )


def test_a_role_without_a_superusers_rights_works_over_tls(mirrord: Mirrord, primary: Host) -> None:
    assert_syncs(mirrord)
    with psycopg.connect(primary.superuser_dsn()) as superuser:
        logins = "SELECT DISTINCT usename::text, ssl FROM pg_stat_activity JOIN pg_stat_ssl USING (pid)"
        assert superuser.execute(f"{logins} WHERE application_name = 'mirrord'").fetchall() == [("installer", True)]


def test_a_connection_without_the_required_tls_ends_with_its_reason(primary: Host, tmp_path: Path) -> None:
    refused = run_on(over_tls(primary, mode="disable"), tmp_path, "tenant", "list")
    assert refused.code == 2
    assert "Postgres refused the connection" in refused.err
    assert "no encryption" in refused.err


def test_a_standby_alone_is_said_to_be_read_only(mirrord: Mirrord, standby: Host, tmp_path: Path) -> None:
    assert mirrord.running
    refused = run_on(over_tls(standby), tmp_path, "tenant", "add", "other")
    assert refused.code == 3
    assert "Postgres is read-only, as a standby is; changes stay in files until it can be written" in refused.err


def run_on(dsn: str, directory: Path, *words: str) -> Done:
    return run_command(*words, "--dsn", dsn, "--mirror", str(directory / "mirror"), "--data", str(directory / "data"))


@pytest.mark.skipif(not POOLER.exists(), reason="needs PgBouncer")
@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"pool_mode": "session"}, "set `ignore_startup_parameters = options`"),
        (
            {"pool_mode": "session", "ignore_startup_parameters": "options"},
            "drops the settings of mirrord's connections",
        ),
    ],
)
def test_a_pooler_that_does_not_do_is_said_to_need_other_settings(
    mirrord: Mirrord, primary: Host, tmp_path: Path, settings: dict[str, str], words: str
) -> None:
    assert mirrord.running
    with pooled(PoolerTarget(primary.directory, primary.port), tmp_path, settings) as dsn:
        refused = run_on(dsn, tmp_path, "tenant", "list")
    assert refused.code == 2
    assert words in refused.err


@pytest.mark.skipif(not POOLER.exists(), reason="needs PgBouncer")
def test_a_pooler_of_sessions_does_once_the_role_has_the_settings(mirrord: Mirrord, primary: Host) -> None:
    settings = {"pool_mode": "session", "ignore_startup_parameters": "options"}
    with psycopg.connect(primary.superuser_dsn(), autocommit=True) as superuser:
        for statement in role_settings():
            superuser.execute(statement.encode())
    direct, directory = mirrord.dsn, mirrord.directory / "pooler"
    directory.mkdir()
    try:
        with pooled(PoolerTarget(primary.directory, primary.port), directory, settings) as mirrord.dsn:
            report = mirrord.run("doctor", "--json").stdout
    finally:
        mirrord.dsn = direct
    for check in ("roles", "tenants apart", "feed latency", "tenant demo"):
        assert f'"check": "{check}",\n    "verdict": "ok"' in report, report


@pytest.mark.skipif(not POOLER.exists(), reason="needs PgBouncer")
def test_a_pooler_of_statements_is_said_to_need_transactions(mirrord: Mirrord, primary: Host, tmp_path: Path) -> None:
    """With the settings of the test before."""
    assert mirrord.running
    target, settings = PoolerTarget(primary.directory, primary.port), {"ignore_startup_parameters": "options"}
    with pooled(target, tmp_path, {"pool_mode": "statement", **settings}) as dsn:
        file = write_configuration(tmp_path, dsn, primary.superuser_dsn())
        refused = run_command("tenant", "list", "--config", str(file), "--data", str(tmp_path / "data"))
    assert refused.code == 2
    assert "set `pool_mode = transaction` and `listen_dsn`" in refused.err


def test_edits_go_on_at_the_promoted_server_at_another_port(mirrord: Mirrord, primary: Host, standby: Host) -> None:
    save(mirrord.file("Before.md"), "saved before\n")
    with psycopg.connect(primary.superuser_dsn()) as first_server:
        eventually(partial(has_one_page, primary, "Before"), "the row of the page", WAIT_SECONDS)
        position = value(first_server, "SELECT pg_current_wal_lsn()::text")
    with psycopg.connect(standby.superuser_dsn(), autocommit=True) as second_server:
        replayed = f"SELECT pg_last_wal_replay_lsn() >= '{position}'"
        eventually(lambda: value(second_server, replayed), "the standby to have all", WAIT_SECONDS)
        primary.end()
        save(mirrord.file("Between.md"), "saved while no server accepts writes\n")
        second_server.execute("SELECT pg_promote()")
    for page in ("Before", "Between"):
        eventually(partial(has_one_page, standby, page), f"one row of {page}", WAIT_SECONDS)
    mirrord.flush()
    assert_syncs(mirrord)


def has_one_page(host: Host, name: str) -> bool:
    with psycopg.connect(host.superuser_dsn()) as superuser:
        return bool(value(superuser, "SELECT count(*) = 1 FROM mirrord.page WHERE name = %s", name))
