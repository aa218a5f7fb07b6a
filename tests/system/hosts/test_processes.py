"""A daemon of two engine processes is one daemon, and what happens to one of them happens to nobody's pages."""

import asyncio
import json
import os
import resource
import signal
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

import psycopg
import pytest

from mirrord.db.database import app_dsn
from mirrord.domain.entry import TenantId
from mirrord.mirror.heartbeat import Heartbeat, request_compare
from mirrord.web.console_server import last_url
from tests.support.browsing import Browser
from tests.support.commands import Near, run_command
from tests.support.editors import save
from tests.support.entries import value
from tests.support.harness import Mirrord, eventually
from tests.support.manager import Manager
from tests.support.memory_groups import memory_group, put_into
from tests.support.rows import Connection
from tests.support.trees import contents
from tests.unit.telemetry.test_exposition import asked, samples

pytestmark = pytest.mark.timeout(400)  # a busy machine needs half a minute to start a process

TENANTS = ("alpha", "beta", "gamma")
START_SECONDS = 100.0
TAKEOVER_SECONDS = 60.0  # an idle machine needs 4 to 12; a busy one several times as long
MEMORY_BYTES = 1 << 20  # less than a process has when it starts: nothing more can be allocated
MAX_GROUP_BYTES = 4 << 20  # less than a page of 14 MB takes that is read
COPIES = "SELECT count(*), min(markdown) FROM mirrord.page WHERE name = %s AND deleted_at IS NULL"


class Processes:
    """An installation of three tenants that two engine processes share."""

    def __init__(self, mirrord: Mirrord, rows: Connection) -> None:
        """rows: a superuser's connection."""
        self.mirrord, self.rows = mirrord, rows
        self._apps: dict[str, Connection] = {}

    def facts(self) -> dict[str, Any]:
        return json.loads((self.mirrord.mirror / ".mirrord/daemon.json").read_bytes())  # type: ignore[no-any-return]

    def holders(self) -> dict[str, str]:
        """The number of the process of each tenant, as Postgres has it."""
        query = (
            "SELECT name, split_part(process, '#', 2) FROM mirrord.tenant_claim JOIN mirrord.tenant ON id = tenant_id"
        )
        return dict(self.rows.execute(query).fetchall())

    def pid_of(self, tenant: str) -> int:
        number = int(eventually(lambda: self.holders().get(tenant), f"a process of {tenant}"))
        facts = eventually(lambda: self._running(number), f"the process {number}")
        return int(facts["pid"])

    def _running(self, number: int) -> dict[str, Any] | None:
        process: dict[str, Any] = self.facts()["processes"][number - 1]
        return process if process["pid"] is not None else None

    def take_memory(self, number: int) -> None:
        """Let the process of that number, if it runs, allocate no more; while it starts, it ends of that."""
        pid = self.facts()["processes"][number - 1]["pid"]
        if pid in self.mirrord.workers():
            with suppress(ProcessLookupError):
                resource.prlimit(pid, resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))

    def file(self, tenant: str, path: str) -> Path:
        return self.mirrord.mirror / tenant / path

    def assert_both_ways(self, word: str, seconds: float) -> None:
        """In every tenant a new file becomes one row, and the row's change reaches the file."""
        for tenant in TENANTS:
            save(self.file(tenant, f"{word}.md"), f"{word} by a file\n")
        for tenant in TENANTS:
            eventually(partial(self._is_row, tenant, word), f"the row of {word} in {tenant}", seconds)
            self._change(tenant, word)
            eventually(partial(self._is_file, tenant, word), f"the row's text of {word} in {tenant}", seconds)

    def assert_once(self, word: str) -> None:
        """After assert_both_ways() each tenant has one row and one file of it."""
        self.mirrord.flush()
        for tenant in TENANTS:
            assert self.row(tenant, word) == (1, f"{word} by a row\n")
            assert [path.name for path in self.file(tenant, ".").glob(f"{word}*")] == [f"{word}.md"]

    def _is_row(self, tenant: str, word: str) -> bool:
        return self.row(tenant, word) == (1, f"{word} by a file\n")

    def _is_file(self, tenant: str, word: str) -> bool:
        return contents(self.file(tenant, f"{word}.md")) == f"{word} by a row\n".encode()

    def row(self, tenant: str, name: str) -> tuple[int, str]:
        """How many living pages have that name, and the text."""
        count, text = self._app_of(tenant).execute(COPIES, [name]).fetchone() or (0, "")
        return int(count), str(text)

    def _change(self, tenant: str, name: str) -> None:
        update = "UPDATE mirrord.page SET markdown = %s WHERE name = %s"
        assert self._app_of(tenant).execute(update, [f"{name} by a row\n", name]).rowcount == 1

    def _app_of(self, tenant: str) -> Connection:
        if tenant not in self._apps:
            tenant_id = value(self.rows, "SELECT id FROM mirrord.tenant WHERE name = %s", tenant)
            assert self.mirrord.dsn is not None
            self._apps[tenant] = psycopg.connect(app_dsn(self.mirrord.dsn, TenantId(tenant_id)), autocommit=True)
        return self._apps[tenant]

    def close(self) -> None:
        for connection in self._apps.values():
            connection.close()


@pytest.fixture(scope="module")
def manager(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Manager]:
    with closing(Manager(tmp_path_factory.mktemp("manager") / "notify")) as listening:
        yield listening


@pytest.fixture(scope="module")
def processes(module_dsn: str, tmp_path_factory: pytest.TempPathFactory, manager: Manager) -> Iterator[Processes]:
    with Near(tmp_path_factory.mktemp("processes"), tenant=TENANTS[0], dsn=module_dsn) as mirrord:
        mirrord.surroundings["NOTIFY_SOCKET"] = manager.address
        (mirrord.directory / "mirrord.toml").write_text(
            f'metrics = "unix:{mirrord.directory}/metrics"\nprocesses = 2\n'
        )
        for tenant in TENANTS:
            save(mirrord.mirror / tenant / "First.md", f"first of {tenant}\n")
        others = [word for tenant in TENANTS[1:] for word in ("--tenant", tenant)]
        mirrord.start(*others, "--console", "0")
        mirrord.wait_ready(START_SECONDS)
        with psycopg.connect(module_dsn, autocommit=True) as rows, closing(Processes(mirrord, rows)) as running:
            yield running
        assert mirrord.stop() == 0
        assert not (mirrord.mirror / ".mirrord/daemon.json").exists()


def test_two_processes_share_the_tenants_evenly_and_look_like_one_daemon(processes: Processes) -> None:
    eventually(lambda: sorted(map(list(processes.holders().values()).count, "12")) == [1, 2], "even shares")
    assert sorted(processes.holders()) == list(TENANTS)
    processes.mirrord.flush()
    facts = eventually(lambda: complete(processes.facts()), "facts of all tenants")
    assert (facts["pid"], facts["ready"], facts["degraded"]) == (processes.mirrord.pid, True, [])
    assert {name: pulse["files"] for name, pulse in facts["tenants"].items()} == dict.fromkeys(TENANTS, 1)
    status = processes.mirrord.status()
    assert (status["daemon"]["alive"], status["daemon"]["pid"], status["pages"]) == (True, processes.mirrord.pid, 1)


def test_a_service_manager_and_monitoring_see_one_daemon(processes: Processes, manager: Manager) -> None:
    manager.heard_until(lambda notice: "READY=1" in notice)
    manager.heard_until(lambda notice: "STATUS=Mirroring 3 tenants; nothing waiting." in notice)
    endpoint = f"{processes.mirrord.directory}/metrics"
    assert eventually(lambda: readiness(endpoint) == {"ready": True, "reasons": []}, "readiness")
    measured = eventually(lambda: measured_tenants(endpoint), "measurements of all tenants")
    assert measured["mirrord_leases"] == dict.fromkeys(TENANTS, 1.0)
    assert measured["mirrord_engine_processes"] == {None: 2.0}
    assert all(value >= 1 for value in measured["mirrord_moves_total"].values())


def test_doctor_and_check_see_one_daemon(processes: Processes) -> None:
    processes.mirrord.flush()
    completed = processes.mirrord.run("doctor", "--json")
    findings = {finding["check"]: finding for finding in json.loads(completed.stdout)}
    names = ["daemon", "tenants apart", *(f"tenant {tenant}" for tenant in TENANTS)]
    assert {name: findings[name]["verdict"] for name in names} == dict.fromkeys(names, "ok"), findings
    request_compare(processes.mirrord.mirror, TAKEOVER_SECONDS)
    compared = processes.mirrord.run("check", "--json")
    assert (compared.returncode, json.loads(compared.stdout)) == (0, {tenant: [] for tenant in TENANTS})


def test_pages_of_all_processes_are_read_and_saved_in_one_console(processes: Processes) -> None:
    url = eventually(lambda: last_url(processes.mirrord.data), "the console's address")
    link = processes.mirrord.run("console", "link", "--name", "ada").stdout.strip()
    ada = Browser(url, tenant=TENANTS[0]).sign_in(link)
    for ada.tenant in TENANTS:
        (page,) = [node["id"] for node in ada.get("tree")["nodes"] if node["title"] == "First"]
        page_now = ada.get(f"pages/{page}")
        assert page_now["markdown"] == f"first of {ada.tenant}\n"
        body = {"version": page_now["version"], "markdown": f"saved by ada in {ada.tenant}\n"}
        ada.send("PUT", f"pages/{page}/markdown", body)
        file = processes.file(ada.tenant, "First.md")
        eventually(partial(is_text, file, body["markdown"]), f"what ada saved in {file}", TAKEOVER_SECONDS)


def readiness(endpoint: str) -> Any:
    return json.loads(asyncio.run(asked(endpoint, "/readyz"))[1])


def measured_tenants(endpoint: str) -> dict[str, dict[str | None, float]] | None:
    """By name of a series its value for each tenant; None: not every tenant has all of them yet."""
    measured: dict[str, dict[str | None, float]] = {}
    for sample in samples(asyncio.run(asked(endpoint, "/metrics"))[1]):
        measured.setdefault(sample.name, {})[sample.labels.get("tenant")] = sample.value
    is_complete = set(measured.get("mirrord_moves_total", ())) == set(measured.get("mirrord_halts", ())) == set(TENANTS)
    return measured if is_complete else None


def complete(facts: dict[str, Any]) -> dict[str, Any] | None:
    """*facts* with all tenants; None: not yet. The heartbeat is up to a second older than the log's `ready`."""
    return facts if facts["ready"] and set(facts["tenants"]) == set(TENANTS) else None


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGSTOP], ids=["killed", "stopped"])
def test_what_a_process_had_goes_on_when_it_is(processes: Processes, how: signal.Signals) -> None:
    pid = processes.pid_of("alpha")
    others = {process["pid"] for process in processes.facts()["processes"]} - {pid, None}
    os.kill(pid, how)
    word = f"After {how.name}"
    processes.assert_both_ways(word, TAKEOVER_SECONDS)
    assert others <= {process["pid"] for process in processes.facts()["processes"]}
    processes.assert_once(word)


def test_others_take_what_a_process_had_that_has_no_memory_whenever_it_starts(processes: Processes) -> None:
    number, word = int(eventually(lambda: processes.holders().get("beta"), "a process of beta")), "Without memory"
    for tenant in TENANTS:
        save(processes.file(tenant, f"{word}.md"), f"{word} by a file\n")
    os.kill(processes.pid_of("beta"), signal.SIGKILL)  # as the kernel does when no memory is left

    def is_elsewhere() -> bool:
        processes.take_memory(number)
        return processes.holders().get("beta") not in (str(number), None)

    eventually(is_elsewhere, "another process of beta", 2 * TAKEOVER_SECONDS)
    processes.assert_both_ways(word, TAKEOVER_SECONDS)
    processes.assert_once(word)
    ends = [event["code"] for event in processes.mirrord.events() if event.get("event") == "process_ended"]
    assert [code for code in ends if code not in (-signal.SIGKILL, 0)], f"no process ended for want of memory: {ends}"


def test_a_process_that_has_no_memory_for_its_work_ends_and_its_tenants_go_on(processes: Processes) -> None:
    pid, word = processes.pid_of("alpha"), "After want of memory"
    resource.prlimit(pid, resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    large = "a line of a large page\n" * 300_000
    save(processes.file("alpha", "Large.md"), large)
    eventually(lambda: pid not in processes.mirrord.workers(), "the end of the process", TAKEOVER_SECONDS)
    processes.assert_both_ways(word, TAKEOVER_SECONDS)
    processes.assert_once(word)
    log = processes.mirrord.log.read_text()
    assert "there is no memory left" in log or '"event": "no_memory"' in log
    assert processes.row("alpha", "Large") == (1, large)
    assert value(processes.rows, "SELECT count(*) FROM mirrord.problem WHERE code = 'internal'") == 0


def test_what_a_process_had_goes_on_when_the_kernel_kills_it_for_its_memory(processes: Processes) -> None:
    pid, word = processes.pid_of("gamma"), "After the kernel"
    large = "a line of a large page\n" * 600_000
    with memory_group(MAX_GROUP_BYTES) as group:
        put_into(group, pid)
        save(processes.file("gamma", "Huge.md"), large)
        eventually(lambda: pid not in processes.mirrord.workers(), "the end of the process", TAKEOVER_SECONDS)
    processes.assert_both_ways(word, TAKEOVER_SECONDS)
    processes.assert_once(word)
    assert processes.row("gamma", "Huge") == (1, large)


@pytest.mark.parametrize("setting", ["0", "many", "-1", "1000"])
def test_a_number_of_processes_that_is_none_is_refused(setting: str, tmp_path: Path) -> None:
    places = ("--mirror", str(tmp_path / "mirror"), "--data", str(tmp_path / "data"))
    refused = run_command("up", "--plain", f"--processes={setting}", *places)
    assert (refused.code, refused.out) == (2, "")
    assert refused.err == f"mirrord: processes is '{setting}'; write a whole number from 1 to 10, or \"auto\".\n"
    assert list(tmp_path.iterdir()) == []


def test_what_a_host_of_a_pool_had_is_mirrored_by_another_when_it_is_gone(fresh_dsn: str, tmp_path: Path) -> None:
    with pooled(tmp_path / "here", fresh_dsn) as first_host, pooled(tmp_path / "there", fresh_dsn) as second_host:
        shares = eventually(
            partial(shares_of, first_host, second_host), "a share of the tenants on each host", START_SECONDS
        )
        for mirrord, tenants in zip((first_host, second_host), shares, strict=True):
            for tenant in tenants:
                save(mirrord.mirror / tenant / "Page.md", f"a page of {tenant}\n")
        first_host.flush()
        first_host.kill()
        eventually(lambda: not first_host.workers(), "the processes of a killed supervisor to end")
        for tenant in TENANTS:
            page = second_host.mirror / tenant / "Page.md"
            eventually(partial(is_text, page, f"a page of {tenant}\n"), f"the text in {page}", TAKEOVER_SECONDS)
        assert_ends_with_its_terminal(second_host)


def assert_ends_with_its_terminal(mirrord: Mirrord) -> None:
    """A terminal that is closed hangs up on all its processes; they finish their work as at a SIGTERM."""
    os.killpg(mirrord.pid, signal.SIGHUP)
    eventually(lambda: not mirrord.running, "the end of the daemon", TAKEOVER_SECONDS)
    assert mirrord.stop() == 0
    assert Heartbeat(mirrord.mirror).read() is None
    eventually(lambda: not mirrord.workers(), "the end of its processes")


def is_text(file: Path, text: str) -> bool:
    return contents(file) == text.encode()


@contextmanager
def pooled(directory: Path, dsn: str) -> Iterator[Mirrord]:
    """A daemon of one engine process that shares the tenants with others."""
    with Near(directory, tenant=TENANTS[0], dsn=dsn) as mirrord:
        save(directory / "mirrord.toml", "pool = 'notes'\n")
        mirrord.start(*(word for tenant in TENANTS[1:] for word in ("--tenant", tenant)))
        yield mirrord


def shares_of(first: Mirrord, second: Mirrord) -> tuple[set[str], set[str]] | None:
    """The tenants that each host mirrors; None: they are not shared evenly yet."""
    shares = trees_of(first), trees_of(second)
    return shares if sorted(map(len, shares)) == [1, 2] and shares[0] | shares[1] == set(TENANTS) else None


def trees_of(mirrord: Mirrord) -> set[str]:
    facts = Heartbeat(mirrord.mirror).read() or {"tenants": {}}
    return set(facts["tenants"])
