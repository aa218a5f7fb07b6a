"""One tenant's connection never reads or writes another's rows, and forgetting to say which tenant is an error."""

from collections.abc import Callable

import psycopg
import pytest
from psycopg import errors, sql
from psycopg.conninfo import make_conninfo
from psycopg.types.json import Jsonb

from mirrord.db.database import app_dsn, daemon_dsn
from mirrord.db.migrate import newest_number
from mirrord.domain.entry import TenantId
from tests.support.entries import add, add_attachment, add_page, change, delete, row_of, value
from tests.support.rows import Connection

ALL_TENANTS_OF_THE_DAEMON = {"tenant", "tenant_clock", "mirror", "tenant_claim", "binding"}  # of all by one statement
NOT_A_TENANTS = {"migration", "epoch", "engine_process"}

FILL = """
INSERT INTO mirrord.mirror (tenant_id, id) VALUES (mirrord.current_tenant(), gen_random_uuid());
INSERT INTO mirrord.tenant_claim (tenant_id, pool, process) VALUES (mirrord.current_tenant(), 'x', 'x');
INSERT INTO mirrord.page_link (source_id, number, target, kind) SELECT id, 0, 'x', 'page' FROM mirrord.page;
INSERT INTO mirrord.link_name (tenant_id, entry_id, number, kind, index, called, name, key)
    SELECT tenant_id, id, 0, 'page', false, 'name', 'x', 'x' FROM mirrord.page;
INSERT INTO mirrord.link_cursor (tenant_id, seq, entry_id) VALUES (mirrord.current_tenant(), 0, gen_random_uuid());
INSERT INTO mirrord.segment_cursor (tenant_id, seq, entry_id) VALUES (mirrord.current_tenant(), 0, gen_random_uuid());
INSERT INTO mirrord.segment_anchor (tenant_id, page_id, page_version, record_version)
    SELECT tenant_id, id, 1, 1 FROM mirrord.page;
INSERT INTO mirrord.blob (digest, part, bytes) VALUES ('x', 0, 'x');
INSERT INTO mirrord.event (type) VALUES ('PageCreated');
INSERT INTO mirrord.event_claim (tenant_id, event_id) SELECT tenant_id, id FROM mirrord.event;
INSERT INTO mirrord.approval (id, mirror_id, command, arguments, arguments_digest, actor, preview, level, expires_at)
    VALUES (gen_random_uuid(), gen_random_uuid(), 'delete_page', '{}', 'x', '{}', '{"summary": "x"}', 'REQUIRE', now());
INSERT INTO mirrord.mirror_base (tenant_id, mirror_id, entry_id, kind, path, name, version)
    SELECT tenant_id, id, gen_random_uuid(), 'page', 'a.md', 'a', 1 FROM mirrord.mirror
     WHERE tenant_id = mirrord.current_tenant();
INSERT INTO mirrord.conflict (tenant_id, mirror_id, entry_id, path)
    SELECT tenant_id, mirror_id, entry_id, path FROM mirrord.mirror_base;
INSERT INTO mirrord.halt (tenant_id, mirror_id, reason, sentence)
    SELECT tenant_id, mirror_id, 'mass-delete', 'x' FROM mirrord.mirror_base;
INSERT INTO mirrord.problem (tenant_id, mirror_id, path, code, sentence)
    SELECT tenant_id, mirror_id, path, 'x', 'x' FROM mirrord.mirror_base;
INSERT INTO mirrord.binding (tenant_id, id, name, mapping, fingerprint, compare_every)
    VALUES (mirrord.current_tenant(), gen_random_uuid(), 'x', '', '{}', '1 s');
INSERT INTO mirrord.binding_entry (tenant_id, binding_id, external_id, entry_id, version, digest, external_version)
    SELECT tenant_id, id, 'x', gen_random_uuid(), 1, 'x', '1' FROM mirrord.binding
     WHERE tenant_id = mirrord.current_tenant();
INSERT INTO mirrord.former_binding_entry (tenant_id, binding_id, external_id, entry_id, version, page_table)
    SELECT tenant_id, binding_id, external_id, entry_id, version, 'x' FROM mirrord.binding_entry
     WHERE tenant_id = mirrord.current_tenant();
INSERT INTO mirrord.change_set (kind, title, actor) VALUES ('connection', 'x', '{}');
INSERT INTO mirrord.search_due (tenant_id, page_id) VALUES (mirrord.current_tenant(), gen_random_uuid());
INSERT INTO mirrord.page_search (tenant_id, page_id, words, names, name_lines, changed_at)
    VALUES (mirrord.current_tenant(), gen_random_uuid(), '', '', '', now());
"""


@pytest.fixture
def filled(daemon_connection: Connection, app_connection: Connection) -> list[str]:
    """Every table of the schema, with at least one row of the tenant in it."""
    add_page(app_connection, markdown="secret")
    add_attachment(app_connection)
    add(app_connection, "record", kind="category", key="red", data=Jsonb({}))
    daemon_connection.execute(FILL.encode())
    names = daemon_connection.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'mirrord'").fetchall()
    tables = sorted(name for (name,) in names if name not in NOT_A_TENANTS)
    empty = [table for table in tables if not _count(daemon_connection, table)]
    assert empty == []
    return tables


@pytest.fixture
def stranger(admin_dsn: str, other_tenant: TenantId, connect: Callable[[str], Connection]) -> Connection:
    """An app of another tenant."""
    return connect(app_dsn(admin_dsn, other_tenant))


@pytest.fixture
def strange_daemon(admin_dsn: str, other_tenant: TenantId, connect: Callable[[str], Connection]) -> Connection:
    """The daemon itself, while it works for another tenant."""
    connection = connect(daemon_dsn(admin_dsn))
    connection.execute(f"SET mirrord.tenant = '{other_tenant}'".encode())
    return connection


def _count(connection: Connection, table: str) -> int:
    query = sql.SQL("SELECT count(*) FROM mirrord.{}").format(sql.Identifier(table))
    row = connection.execute(query).fetchone()
    assert row is not None
    return int(row[0])


def _count_of(connection: Connection, table: str, tenant: TenantId) -> int:
    key = "id" if table == "tenant" else "tenant_id"
    query = sql.SQL("SELECT count(*) FROM mirrord.{} WHERE {} = %s").format(sql.Identifier(table), sql.Identifier(key))
    row = connection.execute(query, [tenant]).fetchone()
    assert row is not None
    return int(row[0])


@pytest.mark.parametrize("setting", [None, ""])
def test_a_forgotten_tenant_is_an_error_on_every_table(
    admin_dsn: str, filled: list[str], connect: Callable[[str], Connection], setting: str | None
) -> None:
    app, daemon = connect(make_conninfo(admin_dsn, user="mirrord_app")), connect(daemon_dsn(admin_dsn))
    for connection in (app, daemon):
        if setting is not None:
            connection.execute(f"SET mirrord.tenant = '{setting}'".encode())
        for table in filled:
            if connection is app or table not in ALL_TENANTS_OF_THE_DAEMON:
                with pytest.raises(errors.InsufficientPrivilege, match=r"mirrord\.tenant is not set") as refused:
                    _count(connection, table)
                assert "mirrord dsn" in str(refused.value.diag.message_hint)


def test_a_tenant_that_is_no_uuid_is_an_error(admin_dsn: str, filled: list[str], app_connection: Connection) -> None:
    app_connection.execute("SET mirrord.tenant = 'acme'")
    for table in filled:
        with pytest.raises(errors.InvalidTextRepresentation):
            _count(app_connection, table)


def test_an_app_sees_nothing_of_another_tenant(
    filled: list[str], stranger: Connection, tenant: TenantId, app_connection: Connection
) -> None:
    for table in filled:
        assert _count_of(app_connection, table, tenant) >= 1
        assert _count_of(stranger, table, tenant) == 0
    assert value(stranger, "SELECT count(*) FROM mirrord.tenant") == 1


def test_the_daemon_sees_of_other_tenants_only_ids_counters_and_leases(
    filled: list[str], strange_daemon: Connection, tenant: TenantId
) -> None:
    visible = {table for table in filled if _count_of(strange_daemon, table, tenant)}
    assert visible == ALL_TENANTS_OF_THE_DAEMON


@pytest.mark.parametrize("table", ["page", "attachment", "record"])
def test_nobody_changes_or_deletes_rows_of_another_tenant(
    app_connection: Connection, stranger: Connection, strange_daemon: Connection, filled: list[str], table: str
) -> None:
    assert table in filled
    entry = value(app_connection, f"SELECT id FROM mirrord.{table}")
    before = row_of(app_connection, entry, table)
    for connection in (stranger, strange_daemon):
        assert change(connection, entry, table, deleted_at="2030-01-01") == 0
        delete(connection, entry, table)
    assert row_of(app_connection, entry, table) == before


def test_nobody_adds_rows_to_another_tenant(
    tenant: TenantId, stranger: Connection, strange_daemon: Connection, app_connection: Connection
) -> None:
    for connection in (stranger, strange_daemon):
        with pytest.raises(errors.InsufficientPrivilege):
            add_page(connection, tenant_id=tenant)
        with pytest.raises(errors.InsufficientPrivilege):
            add_attachment(connection, tenant_id=tenant)
        with pytest.raises(errors.InsufficientPrivilege):
            add(connection, "event", tenant_id=tenant, type="PageCreated")
    assert value(app_connection, "SELECT count(*) FROM mirrord.page") == 0


def test_a_row_cannot_hang_below_another_tenants_page(app_connection: Connection, stranger: Connection) -> None:
    page = add_page(app_connection)
    with pytest.raises(errors.ForeignKeyViolation):
        add_page(stranger, parent_id=page)
    own_page = add_page(stranger)
    with pytest.raises(errors.ForeignKeyViolation):
        change(stranger, own_page, parent_id=page)


def test_two_tenants_may_use_the_same_id(app_connection: Connection, stranger: Connection) -> None:
    page = add_page(app_connection, title="Mine")
    add_page(stranger, id=page, title="Theirs")
    assert row_of(app_connection, page)["title"] == "Mine"
    assert row_of(stranger, page)["title"] == "Theirs"


def test_the_guard_stops_what_row_level_security_lets_pass(
    admin_dsn: str, tenant: TenantId, other_tenant: TenantId, filled: list[str]
) -> None:
    """A superuser, or COPY on a shard, is not subject to policies; the trigger still asks whose row it is."""
    with psycopg.connect(admin_dsn, autocommit=True) as superuser:
        superuser.execute(f"SET mirrord.tenant = '{other_tenant}'".encode())
        for table in sorted(set(filled) - ALL_TENANTS_OF_THE_DAEMON):
            query = sql.SQL("UPDATE mirrord.{} SET tenant_id = tenant_id WHERE tenant_id = %s")
            with pytest.raises(errors.InsufficientPrivilege, match="cannot be written while"):
                superuser.execute(query.format(sql.Identifier(table)), [tenant])


def test_an_app_cannot_become_anybody_else(app_connection: Connection) -> None:
    for statement in (
        "SET ROLE mirrord_daemon",
        "SET ROLE mirrord_owner",
        "SET ROLE postgres",
        "SET row_security = off; SELECT 1 FROM mirrord.page",
        "ALTER TABLE mirrord.page DISABLE ROW LEVEL SECURITY",
        "ALTER TABLE mirrord.page DISABLE TRIGGER ALL",
        "SET session_replication_role = replica",
        "CREATE TABLE mirrord.mine (a int)",
    ):
        with pytest.raises((errors.InsufficientPrivilege, errors.ActiveSqlTransaction)):
            app_connection.execute(statement.encode())


def catalogue(dsn: str, query: str) -> set[str]:
    with psycopg.connect(dsn) as superuser:
        return {name for (name,) in superuser.execute(query.encode()).fetchall()}


def test_every_table_of_the_schema_is_secured_for_everybody(admin_dsn: str) -> None:
    secured = (
        "SELECT relname FROM pg_class WHERE relnamespace = 'mirrord'::regnamespace AND relkind IN ('r', 'p') "
        "AND relrowsecurity AND relforcerowsecurity AND (SELECT array_agg(DISTINCT roles.rolname::text) "
        "FROM pg_policy JOIN pg_roles AS roles ON roles.oid = ANY (polroles) WHERE polrelid = pg_class.oid) "
        "@> '{mirrord_app, mirrord_daemon, mirrord_definer, mirrord_owner}'"
    )
    tables = "SELECT tablename FROM pg_tables WHERE schemaname = 'mirrord'"
    assert catalogue(admin_dsn, tables) - catalogue(admin_dsn, secured) == NOT_A_TENANTS


def test_no_policy_is_for_everybody_or_without_a_tenant(admin_dsn: str) -> None:
    loose = (
        "SELECT tablename FROM pg_policies WHERE schemaname = 'mirrord' AND ('public' = ANY (roles) "
        "OR coalesce(qual, '') !~ 'current_tenant' OR coalesce(with_check, '') !~ 'current_tenant')"
    )
    assert catalogue(admin_dsn, loose) == ALL_TENANTS_OF_THE_DAEMON | {"page_search"}  # docs/decisions/0079


def test_everything_belongs_to_an_owner_who_cannot_log_in(admin_dsn: str) -> None:
    owners = "SELECT tableowner FROM pg_tables WHERE schemaname = 'mirrord'"
    functions = (
        "SELECT proowner::regrole::text FROM pg_proc WHERE pronamespace = 'mirrord'::regnamespace UNION "
        "SELECT nspowner::regrole::text FROM pg_namespace WHERE nspname = 'mirrord'"
    )
    can_log_in = "SELECT rolname FROM pg_roles WHERE rolname = 'mirrord_owner' AND rolcanlogin"
    assert catalogue(admin_dsn, owners) == {"mirrord_owner"}
    assert catalogue(admin_dsn, functions) == {"mirrord_owner", "mirrord_definer"}
    assert catalogue(admin_dsn, can_log_in) == set()


def test_functions_with_rights_of_their_own_run_as_a_role_that_owns_and_may_create_nothing(admin_dsn: str) -> None:
    """keep_statistics is the table owner's, because ANALYZE is; only the daemon may call it."""
    of_the_owner = (
        "SELECT proname FROM pg_proc WHERE pronamespace = 'mirrord'::regnamespace AND prosecdef "
        "AND proowner <> 'mirrord_definer'::regrole"
    )
    may_call = (
        "SELECT grantee::regrole::text FROM pg_proc, aclexplode(proacl) WHERE proname = 'keep_statistics' "
        "AND pronamespace = 'mirrord'::regnamespace"
    )
    owned = "SELECT relname FROM pg_class WHERE relowner = 'mirrord_definer'::regrole"
    creates = (
        "SELECT nspname FROM pg_namespace WHERE has_schema_privilege('mirrord_definer', oid, 'CREATE') UNION "
        "SELECT datname FROM pg_database WHERE datname = current_database() "
        "AND has_database_privilege('mirrord_definer', oid, 'CREATE, TEMPORARY')"
    )
    attributes = "SELECT rolname FROM pg_roles WHERE rolname = 'mirrord_definer' AND (rolcanlogin OR rolcreaterole)"
    assert catalogue(admin_dsn, of_the_owner) == {"keep_statistics"}
    assert catalogue(admin_dsn, may_call) == {"mirrord_owner", "mirrord_daemon"}
    assert catalogue(admin_dsn, owned) == catalogue(admin_dsn, creates) == catalogue(admin_dsn, attributes) == set()


def test_no_role_but_the_clusters_own_first_one_stands_above_the_policies(admin_dsn: str) -> None:
    above = "SELECT rolname FROM pg_roles WHERE oid <> 10 AND (rolsuper OR rolbypassrls)"
    assert catalogue(admin_dsn, above) == set()


def test_what_names_in_functions_mean_is_settled_before_anybody_calls_them(admin_dsn: str) -> None:
    """Either the body was parsed when it was made, or the path says where to look, the temporary schema last."""
    exposed = (
        "SELECT proname FROM pg_proc WHERE pronamespace = 'mirrord'::regnamespace AND prosqlbody IS NULL "
        "AND coalesce(proconfig, '{}') @> '{\"search_path=pg_catalog, pg_temp\"}' IS NOT TRUE"
    )
    assert catalogue(admin_dsn, exposed) == set()


def test_policies_defaults_checks_and_triggers_use_nothing_but_what_is_mirrords_or_of_postgres(admin_dsn: str) -> None:
    """What Postgres itself brings is pinned, and has no line in pg_depend."""
    of_others = (
        "SELECT pg_describe_object(refclassid, refobjid, 0) FROM pg_depend "
        "WHERE classid IN ('pg_policy'::regclass, 'pg_attrdef'::regclass, 'pg_constraint'::regclass, "
        "'pg_trigger'::regclass, 'pg_rewrite'::regclass, 'pg_proc'::regclass) "
        "AND pg_describe_object(classid, objid, 0) LIKE '%mirrord%' AND refclassid IN ('pg_proc'::regclass, "
        "'pg_operator'::regclass, 'pg_type'::regclass, 'pg_class'::regclass, 'pg_cast'::regclass) "
        "AND pg_describe_object(refclassid, refobjid, 0) !~ 'mirrord\\.'"
    )
    assert catalogue(make_conninfo(admin_dsn, options="-c search_path=pg_catalog"), of_others) == set()


def test_every_table_with_a_tenant_has_the_guard(admin_dsn: str) -> None:
    tables = "SELECT tablename FROM pg_tables WHERE schemaname = 'mirrord'"
    guarded = "SELECT tgrelid::regclass::text FROM pg_trigger WHERE tgname = 'a_guard'"
    names = {name.removeprefix("mirrord.") for name in catalogue(admin_dsn, guarded)}
    assert catalogue(admin_dsn, tables) - names == NOT_A_TENANTS | ALL_TENANTS_OF_THE_DAEMON


def test_every_key_contains_the_tenant(admin_dsn: str) -> None:
    """Nothing spans tenants: so the schema can be divided by tenant."""
    without = (
        "SELECT conname FROM pg_constraint AS c WHERE c.connamespace = 'mirrord'::regnamespace "
        "AND c.contype IN ('p', 'u', 'f') AND NOT EXISTS (SELECT FROM pg_attribute AS a "
        "WHERE a.attrelid = c.conrelid AND a.attnum = ANY (c.conkey) AND a.attname = 'tenant_id')"
    )
    assert catalogue(admin_dsn, without) == {
        *("migration_pkey", "epoch_pkey", "tenant_pkey", "tenant_name_key"),
        "engine_process_pkey",
    }


def test_of_the_indexes_of_what_sync_writes_only_primary_keys_begin_with_the_tenant(admin_dsn: str) -> None:
    """Before there are statistics another one would be taken for the primary key (docs/decisions/0005)."""
    others = (
        "SELECT i.indexrelid::regclass::text FROM pg_index AS i "
        "JOIN pg_attribute AS a ON a.attrelid = i.indrelid AND a.attnum = i.indkey[0] "
        "WHERE i.indrelid IN ('mirrord.page'::regclass, 'mirrord.attachment'::regclass, "
        "'mirrord.mirror_base'::regclass, 'mirrord.page_revision'::regclass, 'mirrord.page_link'::regclass, "
        "'mirrord.link_name'::regclass) "
        "AND a.attname = 'tenant_id' AND i.indpred IS NULL AND (NOT i.indisprimary "
        "OR i.indrelid IN ('mirrord.page_link'::regclass, 'mirrord.link_name'::regclass))"
    )
    assert catalogue(admin_dsn, others) == set()


def test_an_app_may_ask_for_the_number_of_the_schema(app_connection: Connection) -> None:
    assert value(app_connection, "SELECT max(number) FROM mirrord.migration") == newest_number()
