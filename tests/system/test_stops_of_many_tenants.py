"""The stop of a daemon of many tenants: that it waits for no idle one, and what it asks Postgres for."""

import time
from pathlib import Path

import psycopg

from mirrord.mirror.write.tree_locks import Lock
from mirrord.sync.decisions.pacing import seconds_between_looks
from tests.support.commands import Near
from tests.support.harness import Mirrord
from tests.support.statement_log import StatementLog, list_names

NAMES = [f"tenant-{number}" for number in range(5)]
MANY = 60  # tenants, whose roots are looked at every twelve seconds
_HELD = "SELECT count(*) FROM mirrord.mirror WHERE holder IS NOT NULL"


def start_on_own_server(mirrord: Mirrord, names: list[str]) -> None:
    """Start a daemon with a Postgres that outlives it."""
    mirrord.postgres.start()
    mirrord.dsn = mirrord.postgres.dsn()
    mirrord.run("init", mirrord.tenant)
    mirrord.start(*(word for name in names for word in ("--tenant", name)))
    mirrord.wait_ready()


def test_a_stop_releases_the_leases_of_all_tenants_in_one_statement(tmp_path: Path) -> None:
    with Near(tmp_path) as mirrord:
        start_on_own_server(mirrord, NAMES)
        log = StatementLog(mirrord)
        mirrord.stop()
        sent = log.sent()
        released = [statement for statement in [*sent.statements, *sent.by_clock] if "holder = NULL" in statement]
        assert len(released) == 1, "\n".join(list_names(sent))
        with psycopg.connect(mirrord.postgres.dsn()) as rows:
            assert rows.execute(_HELD).fetchone() == (0,)
        for name in NAMES:
            with Lock(mirrord.mirror / name):  # refused while it is held
                pass


def test_a_stop_waits_for_no_tenant_at_rest(tmp_path: Path) -> None:
    with Near(tmp_path) as mirrord:
        start_on_own_server(mirrord, [f"tenant-{number}" for number in range(MANY)])
        mirrord.flush()
        looks_apart_seconds = seconds_between_looks(MANY, is_halted=False)
        began = time.monotonic()
        mirrord.stop()
        assert time.monotonic() - began < looks_apart_seconds / 2
