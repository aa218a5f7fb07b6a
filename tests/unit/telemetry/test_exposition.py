"""What monitoring gets: measurements that its own parser reads, and answers about life and readiness."""

import asyncio
import socket
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, closing
from pathlib import Path

import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families
from prometheus_client.samples import Sample

from mirrord.domain.measures import BOUNDS_SECONDS, MAX_TENANTS, OTHER_TENANTS, Endpoint, Measures, Waiting
from mirrord.errors import Unavailable
from mirrord.telemetry.local_server import SOCKET_MODE, make_application, serve
from mirrord.telemetry.open_metrics import MeasuresCollector, registry_of

OPENMETRICS = "application/openmetrics-text; version=1.0.0"


@asynccontextmanager
async def served(
    endpoint: Endpoint, several: Sequence[Measures] = (), reasons: Sequence[str] = ()
) -> AsyncIterator[None]:
    async def unready() -> list[str]:
        return list(reasons)

    registry = registry_of(MeasuresCollector(lambda: several, lambda: not reasons, lambda: len(reasons)))
    stop = asyncio.Event()
    serving = asyncio.ensure_future(serve(make_application(registry, unready, endpoint), endpoint, stop))
    try:
        yield
    finally:
        stop.set()
        await serving


async def asked(endpoint: Endpoint, path: str, host: str = "localhost") -> tuple[int, str]:
    """Status and body; asked again until somebody listens, for a minute."""
    async with asyncio.timeout(60):
        while True:
            try:
                reader, writer = await (
                    asyncio.open_unix_connection(endpoint)
                    if isinstance(endpoint, str)
                    else asyncio.open_connection(*endpoint)
                )
            except (FileNotFoundError, ConnectionRefusedError):
                await asyncio.sleep(0.005)
            else:
                break
        with closing(writer):  # also when whoever asks waits no longer
            writer.write(
                f"GET {path} HTTP/1.1\r\nHost: {host}\r\nAccept: {OPENMETRICS}\r\nConnection: close\r\n\r\n".encode()
            )
            head, _, body = (await reader.read()).decode().partition("\r\n\r\n")
    return int(head.split()[1]), body


def samples(text: str) -> list[Sample]:
    families = text_string_to_metric_families(text)  # type: ignore[no-untyped-call]
    return [sample for family in families for sample in family.samples]


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


async def test_measurements_are_read_by_the_parser_of_the_format(tmp_path: Path) -> None:
    demo = Measures("demo", moves=7, pending=2, leases=1, feed_seconds=1.5, feed_changes=3, waiting=Waiting(1, 2, 3, 4))
    for seconds in (0.001, 0.02, 0.0201, 99.0):
        demo.file_to_row.add(seconds, 0.0)
    async with served(str(tmp_path / "metrics"), [demo, Measures("new")]):
        status, text = await asked(str(tmp_path / "metrics"), "/metrics")
    assert status == 200
    values = {
        (sample.name, sample.labels.get("le")): sample.value
        for sample in samples(text)
        if sample.labels.get("tenant") in ("demo", None)
    }
    for name, value in {
        "pending": 2,
        "leases": 1,
        "feed_lag_seconds": 1.5,
        "feed_lag_changes": 3,
        "moves_total": 7,
        "conflicts": 1,
        "halts": 2,
        "problems": 3,
        "approvals": 4,
        "tenants": 2,
        "ready": 1,
        "degraded": 0,
        "file_to_row_seconds_count": 4,
        "file_to_row_seconds_sum": 99.0411,
        "scan_seconds_count": 0,
    }.items():
        assert values[f"mirrord_{name}", None] == pytest.approx(value), name
    buckets = [values["mirrord_file_to_row_seconds_bucket", le] for le in (*map(str, BOUNDS_SECONDS), "+Inf")]
    assert buckets == [1, 1, 1, 1, 2, *[3] * 11, 4]
    assert values["process_open_fds", None] > 0
    assert not [
        sample for sample in samples(text) if sample.name == "mirrord_halts" and sample.labels["tenant"] == "new"
    ]


async def test_a_thousand_tenants_are_a_bounded_number_of_series(tmp_path: Path) -> None:
    several = [Measures(f"tenant-{number:04}", pending=1) for number in range(1000)]
    async with served(str(tmp_path / "metrics"), several):
        _, text = await asked(str(tmp_path / "metrics"), "/metrics")
    pending = {sample.labels["tenant"]: sample.value for sample in samples(text) if sample.name == "mirrord_pending"}
    assert len(pending) == MAX_TENANTS + 1
    assert pending[OTHER_TENANTS] == 1000 - MAX_TENANTS


async def test_life_and_readiness_are_two_answers(tmp_path: Path) -> None:
    async with served(str(tmp_path / "metrics"), reasons=["Postgres does not answer."]):
        assert await asked(str(tmp_path / "metrics"), "/healthz") == (200, "ok\n")
        status, text = await asked(str(tmp_path / "metrics"), "/readyz")
        assert (status, text) == (503, '{"ready":false,"reasons":["Postgres does not answer."]}')
        assert (await asked(str(tmp_path / "metrics"), "/other"))[0] == 404
    async with served(str(tmp_path / "metrics")):
        assert await asked(str(tmp_path / "metrics"), "/readyz") == (200, '{"ready":true,"reasons":[]}')


async def test_a_page_in_a_browser_that_lets_its_name_mean_loopback_gets_nothing() -> None:
    endpoint = ("127.0.0.1", free_port())
    async with served(endpoint):
        assert [
            (await asked(endpoint, "/healthz", host))[0] for host in ("localhost", "127.0.0.1:9464", "[::1]:1")
        ] == [*[200] * 3]
        assert (await asked(endpoint, "/metrics", "attacker.example"))[0] == 400


async def test_a_port_that_somebody_has_is_named() -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        with pytest.raises(Unavailable, match=f"127.0.0.1:{port} cannot be had"):
            async with served(("127.0.0.1", port)):
                pass


async def test_a_socket_belongs_to_user_and_group_and_goes_at_the_end(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as stale_socket:
        stale_socket.bind(str(tmp_path / "metrics"))  # what a killed daemon leaves
    async with served(str(tmp_path / "metrics")):
        await asked(str(tmp_path / "metrics"), "/healthz")
        assert (tmp_path / "metrics").stat().st_mode & 0o777 == SOCKET_MODE
        with pytest.raises(Unavailable, match="cannot be had"):
            async with served(str(tmp_path / "metrics")):
                pass
        await asked(str(tmp_path / "metrics"), "/healthz")
    assert list(tmp_path.iterdir()) == []


async def test_a_file_in_the_place_of_the_socket_stays(tmp_path: Path) -> None:
    (tmp_path / "metrics").write_text("mine", encoding="utf-8")
    with pytest.raises(Unavailable, match="cannot be had"):
        async with served(str(tmp_path / "metrics")):
            pass
    assert (tmp_path / "metrics").read_text(encoding="utf-8") == "mine"
