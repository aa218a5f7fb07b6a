"""The embedded Postgres, started for real."""

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict

from mirrord.config_settings import MAX_PROCESSES
from mirrord.daemon.engine_process import ProcessPlace
from mirrord.db.server import server_launch
from mirrord.db.server.embedded_server import EmbeddedPostgres
from mirrord.db.server.server_files import Postmaster
from mirrord.errors import Unavailable

pytestmark = pytest.mark.timeout(60)

ROOT = Path(__file__).parents[2]
START = (
    "import sys, pathlib, mirrord.db.server.embedded_server as e; e.EmbeddedPostgres(pathlib.Path(sys.argv[1])).start()"
)
AS_ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data directory whose cluster the tests of this module share; its name is not a simple one."""
    return tmp_path_factory.mktemp("o'hara naïve") / "da\\ta"


@pytest.fixture
def embedded(data: Path) -> Iterator[EmbeddedPostgres]:
    embedded = EmbeddedPostgres(data)
    yield embedded
    embedded.stop()


def pid(embedded: EmbeddedPostgres) -> int:
    recorded = Postmaster.read_record(embedded.cluster)
    assert recorded
    return recorded.pid


def ask(embedded: EmbeddedPostgres, query: str) -> object:
    with psycopg.connect(embedded.dsn()) as connection:
        row = connection.execute(query.encode()).fetchone()
        return row[0] if row else None


def wait_until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 10
    while not holds():
        assert time.monotonic() < deadline, "the condition never came"
        time.sleep(0.01)


def nothing_left_after_a_start(embedded: EmbeddedPostgres, data: Path) -> bool:
    embedded.start()
    return not any(data.glob(".pg-new-*"))


def start_elsewhere(data: Path, **options: object) -> "subprocess.Popen[str]":
    command = [sys.executable, "-c", START, str(data)]
    return subprocess.Popen(command, cwd=ROOT, text=True, stderr=subprocess.PIPE, **options)  # type: ignore[call-overload, no-any-return]


def test_a_start_makes_a_cluster_with_a_database_in_utf8(embedded: EmbeddedPostgres) -> None:
    embedded.start()
    assert embedded.is_running
    assert ask(embedded, "SELECT current_database()") == "mirrord"
    assert ask(embedded, "SHOW server_encoding") == "UTF8"
    assert ask(embedded, "SELECT lower('É') || (U&'e\\0301' IS NOT NFC NORMALIZED)") == "étrue"


def test_it_listens_on_a_private_socket_only(embedded: EmbeddedPostgres) -> None:
    embedded.start()
    assert ask(embedded, "SHOW listen_addresses") == ""
    assert embedded.socket_directory.stat().st_mode & 0o777 == 0o700
    assert conninfo_to_dict(embedded.dsn("o'neil", "x y"))["user"] == "o'neil"


def test_it_is_modest_and_durable(embedded: EmbeddedPostgres) -> None:
    embedded.start()
    settings = {name: ask(embedded, f"SHOW {name}") for name in ("fsync", "jit", "max_connections", "autovacuum")}
    assert settings == {"fsync": "on", "jit": "off", "max_connections": "60", "autovacuum": "on"}


def test_it_has_connections_for_ten_processes_and_for_others(embedded: EmbeddedPostgres) -> None:
    embedded.start()
    of_process = ProcessPlace(1, MAX_PROCESSES).connections + 1  # it listens with one
    reserved = int(str(ask(embedded, "SHOW superuser_reserved_connections")))
    assert MAX_PROCESSES * of_process <= int(str(ask(embedded, "SHOW max_connections"))) - reserved - 5


def test_its_log_never_shows_what_an_app_wrote(embedded: EmbeddedPostgres) -> None:
    embedded.start()
    with pytest.raises(psycopg.errors.InvalidTextRepresentation):
        ask(embedded, "SELECT 'a secret line'::integer")
    assert b"secret" not in embedded.log.read_bytes()


def test_a_second_start_attaches_to_the_running_server(embedded: EmbeddedPostgres, data: Path) -> None:
    embedded.start()
    first = pid(embedded)
    EmbeddedPostgres(data).start()
    assert pid(embedded) == first


def test_another_object_stops_the_server_and_a_second_stop_is_nothing(embedded: EmbeddedPostgres, data: Path) -> None:
    embedded.start()
    EmbeddedPostgres(data).stop()
    assert not embedded.is_running
    embedded.stop()
    assert not embedded.is_running


def test_a_stop_does_not_wait_for_open_connections(embedded: EmbeddedPostgres) -> None:
    embedded.start()
    with psycopg.connect(embedded.dsn()) as connection:
        embedded.stop()
        with pytest.raises(psycopg.OperationalError):
            connection.execute("SELECT 1")


def test_data_survive_a_stop(embedded: EmbeddedPostgres) -> None:
    embedded.start()
    with psycopg.connect(embedded.dsn()) as connection:
        connection.execute("CREATE TABLE kept AS SELECT 42 AS answer")
    embedded.stop()
    embedded.start()
    assert ask(embedded, "SELECT answer FROM kept") == 42


def test_data_survive_a_killed_server(embedded: EmbeddedPostgres) -> None:
    embedded.start()
    with psycopg.connect(embedded.dsn()) as connection:
        connection.execute("CREATE TABLE committed AS SELECT 7 AS answer")
    killed = pid(embedded)
    os.kill(killed, signal.SIGKILL)
    embedded.start()
    assert pid(embedded) != killed
    assert ask(embedded, "SELECT answer FROM committed") == 7


def test_it_waits_for_backends_that_outlive_a_killed_server(embedded: EmbeddedPostgres) -> None:
    embedded.start()
    with psycopg.connect(embedded.dsn()) as connection:
        backend = connection.info.backend_pid
        os.kill(backend, signal.SIGSTOP)
        os.kill(pid(embedded), signal.SIGKILL)
        starting = start_elsewhere(embedded.cluster.parent)
        wait_until(lambda: b"pre-existing shared memory" in embedded.log.read_bytes())
        os.kill(backend, signal.SIGCONT)
        _, complaint = starting.communicate(timeout=30)
    assert (starting.returncode, complaint) == (0, "")
    assert embedded.is_running


@pytest.mark.parametrize("record", [b"", b"not a number\n"], ids=["empty", "nonsense"])
def test_a_record_that_cannot_be_read_is_no_obstacle(embedded: EmbeddedPostgres, record: bytes) -> None:
    embedded.start()
    embedded.stop()
    (embedded.cluster / "postmaster.pid").write_bytes(record)
    embedded.start()
    assert embedded.is_running


def test_a_stale_record_whose_pid_is_now_another_process_is_no_obstacle(embedded: EmbeddedPostgres) -> None:
    embedded.start()
    record = embedded.cluster / "postmaster.pid"
    lines = record.read_text().split("\n")
    embedded.stop()
    bystander = subprocess.Popen(["sleep", "60"])
    try:
        record.write_text("\n".join([str(bystander.pid), *lines[1:]]))
        (embedded.socket_directory / ".s.PGSQL.5432.lock").write_text(f"{bystander.pid}\n")
        assert not embedded.is_running
        embedded.stop()
        embedded.start()
        assert ask(embedded, "SELECT 1") == 1
        assert bystander.poll() is None
    finally:
        bystander.kill()
        bystander.wait()


def test_a_server_whose_socket_was_removed_is_replaced(embedded: EmbeddedPostgres) -> None:
    embedded.start()
    unreachable = pid(embedded)
    (embedded.socket_directory / ".s.PGSQL.5432").unlink()
    embedded.start()
    assert embedded.is_running
    assert pid(embedded) != unreachable


def test_starts_at_once_make_one_server(tmp_path: Path) -> None:
    starting = [start_elsewhere(tmp_path / "data") for _ in range(3)]
    complaints = [process.communicate(timeout=50)[1] for process in starting]
    embedded = EmbeddedPostgres(tmp_path / "data")
    try:
        assert complaints == ["", "", ""]
        assert embedded.is_running
        assert embedded.log.read_text().count("starting PostgreSQL") == 1
    finally:
        embedded.stop()


def test_the_server_outlives_a_killed_caller_and_holds_none_of_its_descriptors(
    embedded: EmbeddedPostgres, data: Path
) -> None:
    kill_after_start = f"import os, signal; {START}; os.kill(os.getpid(), signal.SIGKILL)"
    with tempfile.TemporaryFile() as ours:
        command = [sys.executable, "-c", kill_after_start, str(data)]
        subprocess.run(command, cwd=ROOT, pass_fds=[ours.fileno()])
        assert embedded.is_running
        open_files = {file.readlink() for file in Path(f"/proc/{pid(embedded)}/fd").iterdir()}
    assert not [file for file in open_files if "/run/" in str(file) or "deleted" in str(file)]
    assert os.getsid(pid(embedded)) == pid(embedded)


def test_a_kill_while_the_cluster_is_made_leaves_nothing_half(tmp_path: Path) -> None:
    data = tmp_path / "data"
    starting = start_elsewhere(data)
    wait_until(lambda: any(data.glob(".pg-new-*/PG_VERSION")))
    starting.kill()
    starting.communicate()
    assert not (data / "pg").exists()
    embedded = EmbeddedPostgres(data)
    try:
        embedded.start()
        assert ask(embedded, "SELECT 1") == 1
        wait_until(lambda: nothing_left_after_a_start(embedded, data))
    finally:
        embedded.stop()


def test_a_long_path_gets_its_socket_elsewhere(tmp_path: Path) -> None:
    embedded = EmbeddedPostgres(tmp_path / ("long" * 25) / "data, too")
    try:
        embedded.start()
        place = embedded.socket_directory
        assert ask(embedded, "SELECT 1") == 1
        assert place != embedded.cluster
        assert place.stat().st_mode & 0o777 == 0o700
    finally:
        embedded.stop()
    assert not place.exists()


def test_a_service_managers_directory_is_taken_for_the_socket_before_one_nobody_else_may_see(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RUNTIME_DIRECTORY", "/run/mirrord")
    assert EmbeddedPostgres(tmp_path / ("long" * 25)).socket_directory.parent == Path("/run/mirrord")


def test_a_socket_directory_that_others_can_enter_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    embedded = EmbeddedPostgres(tmp_path / ("long" * 25))
    with tempfile.TemporaryDirectory() as short:
        monkeypatch.setattr(tempfile, "tempdir", short)
        monkeypatch.setenv("XDG_RUNTIME_DIR", short)
        open_to_all = embedded.socket_directory
        assert open_to_all.parent == Path(short)
        open_to_all.mkdir(mode=0o755)
        try:
            embedded.start()
            assert embedded.socket_directory != open_to_all
            assert embedded.socket_directory.stat().st_mode & 0o777 == 0o700
        finally:
            embedded.stop()


def test_a_cluster_that_cannot_start_is_explained_with_its_log(tmp_path: Path) -> None:
    embedded = EmbeddedPostgres(tmp_path)
    embedded.cluster.mkdir(mode=0o700)
    (embedded.cluster / "PG_VERSION").write_text("9.4\n")
    (embedded.cluster / "postgresql.conf").touch()
    with pytest.raises(Unavailable, match=r"(?s)server\.log ends with.*(FATAL|could not)"):
        embedded.start()


def test_a_directory_that_is_no_cluster_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "pg").mkdir()
    (tmp_path / "pg" / "mine.txt").write_text("keep")
    with pytest.raises(Unavailable, match="cannot be made"):
        EmbeddedPostgres(tmp_path).start()
    assert [path.name for path in (tmp_path / "pg").iterdir()] == ["mine.txt"]


def test_a_large_log_is_cut_to_its_end(embedded: EmbeddedPostgres) -> None:
    embedded.start()
    with embedded.log.open("ab") as log:
        log.write(b"old line\n" * 600_000 + b"newest line\n")
    embedded.trim_log()
    assert embedded.log.stat().st_size < 100_000
    assert embedded.log.read_bytes().endswith(b"newest line\n")
    embedded.stop()
    assert b"shut down" in embedded.log.read_bytes()[-200:]


def test_its_programs_are_found_by_name() -> None:
    version = subprocess.run(
        [EmbeddedPostgres.program_path("psql"), "--version"], capture_output=True, text=True, check=True
    )
    assert version.stdout.startswith("psql (PostgreSQL) 18")


def test_without_the_extra_the_error_names_both_ways_out(tmp_path: Path) -> None:
    """The interpreter runs without site-packages but for what mirrord itself needs."""
    packages = tmp_path / "packages"
    packages.mkdir()
    for needed in ("psycopg", "typing_extensions.py", "psycopg_binary", "psycopg_binary.libs"):
        (packages / needed).symlink_to(Path(psycopg.__file__).parents[1] / needed)
    run = subprocess.run(
        [sys.executable, "-S", "-c", START, str(tmp_path / "data")],
        cwd=ROOT,
        env={"PYTHONPATH": str(packages)},
        capture_output=True,
        text=True,
    )
    assert "install `mirrord[embedded]`, or name a database with `--dsn`" in run.stderr


@AS_ROOT
def test_where_user_namespaces_are_refused_root_hears_the_two_ways_out(tmp_path: Path) -> None:
    forbid = 'echo 0 > /proc/sys/user/max_user_namespaces && exec "$@"'
    command = ["unshare", "-Ur", "sh", "-c", forbid, "sh", sys.executable, "-c", START, str(tmp_path)]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert "run mirrord as an ordinary user, or name a database with `--dsn`" in run.stderr


@AS_ROOT
def test_an_ordinary_user_needs_no_namespace(tmp_path: Path) -> None:
    """Under the launcher mirrord itself has an ordinary uid."""
    embedded = EmbeddedPostgres(tmp_path / "data")
    start = f"import os; assert os.geteuid(); {START}"
    command = [sys.executable, server_launch.__file__, sys.executable, "-c", start, str(tmp_path / "data")]
    run = subprocess.run(command, cwd=ROOT, stderr=subprocess.PIPE, text=True)
    try:
        assert (run.returncode, run.stderr) == (0, "")
        assert ask(embedded, "SELECT 1") == 1
    finally:
        embedded.stop()
