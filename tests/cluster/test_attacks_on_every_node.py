"""Attacks in SQL from a session of another tenant's app, on every node: no text of the victim is read or changed."""

from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from uuid import UUID

import psycopg
import pytest

from tests.redteam.sql.attack import Attacker
from tests.redteam.sql.direct import direct
from tests.support.citus_nodes import CitusCluster
from tests.support.rows import Connection

SECRET = "what only the victim may read"
# What Citus adds to the ways of a session: commands for other nodes, shards by their names, statements of others.
OF_CITUS = (
    "SELECT * FROM run_command_on_workers('SELECT markdown FROM mirrord.page')",
    "SELECT * FROM run_command_on_all_nodes('SELECT markdown FROM mirrord.page')",
    "SELECT * FROM run_command_on_shards('mirrord.page', 'SELECT markdown FROM %s')",
    "SELECT * FROM run_command_on_placements('mirrord.page', 'SELECT markdown FROM %s')",
    "SELECT query FROM citus_stat_activity",
    "SELECT query FROM citus_dist_stat_activity",
    "SELECT * FROM citus_lock_waits",
    "SELECT * FROM citus_stat_statements",
    "SET citus.enable_manual_changes_to_shards = on; UPDATE {shard} SET markdown = 'gone'",
    "SET citus.override_table_visibility = off; SELECT markdown FROM {shard}",
    "SELECT markdown FROM {shard} WHERE tenant_id = '{b}'",
    "INSERT INTO {shard} (tenant_id, name, markdown) VALUES ('{b}', 'Planted', 'x')",
    "COPY {shard} (tenant_id, name, markdown) FROM PROGRAM 'echo {b}'",
    "SET citus.allow_nested_distributed_execution = on; UPDATE mirrord.page SET markdown = 'gone'",
    "SET citus.propagate_set_commands = 'none'; SELECT markdown FROM mirrord.page",
    "SELECT mirrord.store_base('{b}', gen_random_uuid(), 0, '{{}}')",
    "SELECT * FROM mirrord.name_authors('{b}', ARRAY[gen_random_uuid()])",
    "SELECT mirrord.begin_restore('{b}')",
    "SELECT citus_move_shard_placement(102008, 'localhost', 1, 'localhost', 2)",
    "SELECT undistribute_table('mirrord.page', cascade_via_foreign_keys => true)",
    "SELECT master_remove_node('localhost', 1)",
    "SELECT citus_set_node_property('localhost', 1, 'shouldhaveshards', true)",
    "TRUNCATE mirrord.page CASCADE",
)


@pytest.fixture(scope="module")
def victim(citus: CitusCluster, tenants: Callable[[], UUID]) -> UUID:
    """A tenant with one page."""
    tenant = tenants()
    with psycopg.connect(citus.dsn("mirrord_app", "migrated")) as app:
        app.execute(f"SET LOCAL mirrord.tenant = '{tenant}'".encode())
        app.execute("INSERT INTO mirrord.page (tenant_id, name, markdown) VALUES (%s, 'Own', %s)", [tenant, SECRET])
    return tenant


def test_no_attack_reads_or_changes_the_page_of_another_tenant(
    citus: CitusCluster, victim: UUID, tenants: Callable[[], UUID], superuser: Connection
) -> None:
    intruder = tenants()
    rows = superuser.execute("SELECT to_jsonb(page) FROM mirrord.page WHERE tenant_id = %s", [victim]).fetchall()
    assert SECRET in str(rows)
    answer = _answer(citus.dsn("mirrord_app", "migrated"), victim, "SELECT markdown FROM mirrord.page")
    assert SECRET in answer
    leaks = [
        (str(node.port), statement)
        for node in citus.nodes
        for statement in _statements(superuser, intruder, victim)
        if SECRET in _answer(node.dsn("migrated", "mirrord_app"), intruder, statement)
    ]
    assert leaks == []
    after = superuser.execute("SELECT to_jsonb(page) FROM mirrord.page WHERE tenant_id = %s", [victim]).fetchall()
    assert after == rows


def _statements(superuser: Connection, intruder: UUID, victim: UUID) -> Iterator[str]:
    query = "SELECT 'mirrord.page_' || get_shard_id_for_distribution_column('mirrord.page', %s::uuid)"
    (shard,) = superuser.execute(query.encode(), [victim]).fetchone() or ("",)
    names = {
        "a": intruder,
        "b": victim,
        "shard": shard,
        "superuser": "postgres",
        "marker": "/nonexistent/marker",
        "victim": 1,
    }
    names["database"] = "migrated"
    direct_attacks = [attack.statements[0] for attack in direct() if Attacker.APP in attack.attackers]
    for statement in (*direct_attacks, *OF_CITUS):
        yield statement.format(**names)


def _answer(dsn: str, intruder: UUID, statement: str) -> str:
    """All that an app of *intruder* is told: rows and messages."""
    heard: list[str] = []
    with closing(psycopg.connect(dsn)) as app:
        app.add_notice_handler(lambda notice: heard.append(notice.message_primary or ""))
        app.execute("SET LOCAL statement_timeout = '5s'")
        app.execute(f"SET LOCAL mirrord.tenant = '{intruder}'".encode())
        try:
            heard += _rows_of(app, statement)
            app.commit()
        except psycopg.Error as refusal:
            heard.append(str(refusal))
    return " ".join(heard)


def _rows_of(app: Connection, statement: str) -> list[str]:
    cursor = app.cursor()
    if statement.endswith("TO STDOUT"):
        with cursor.copy(statement.encode()) as copy:
            return [bytes(line).decode() for line in copy]
    cursor.execute(statement.encode())
    with suppress(psycopg.ProgrammingError):  # the statement returns no rows
        return [str(cursor.fetchall())]
    return []
