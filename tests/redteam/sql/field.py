"""Where attacks are played: a migrated database with two tenants, and how it is seen that one came through."""

import itertools
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import uuid4

import psycopg
from psycopg import sql
from psycopg.conninfo import make_conninfo

from mirrord.db.database import APP_ROLE, acting_dsn, app_dsn, daemon_dsn
from mirrord.domain.entry import TenantId
from tests.redteam.sql.attack import Attack, Attacker
from tests.support.servers import Server

SECRET = "Kingfisher-7741"  # stands in the other tenant's rows, and nowhere else
CONFESSION = "runs as"
_LONGEST = "5s"  # a statement of an attack
_FEW_STATEMENTS = 3  # of an attack that leaves little behind

_OWN = f"""
CREATE SCHEMA own;
GRANT USAGE ON SCHEMA own TO PUBLIC;
GRANT CREATE ON SCHEMA own TO mirrord_app, mirrord_daemon;
CREATE FUNCTION own.confess() RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
    IF current_user NOT IN ('mirrord_app', 'mirrord_daemon') THEN
        RAISE WARNING '{CONFESSION} %', current_user;
        BEGIN
            EXECUTE 'CREATE OR REPLACE FUNCTION mirrord.guard_tenant() RETURNS trigger LANGUAGE plpgsql AS '
                    '''BEGIN PERFORM own.confess(); RETURN NEW; END''';
        EXCEPTION WHEN OTHERS THEN
            NULL;
        END;
    END IF;
    RETURN true;
END
$$;
CREATE FUNCTION own.leak(text) RETURNS boolean LANGUAGE plpgsql COST 0.0000001 AS $$
BEGIN
    RAISE NOTICE 'seen: %', $1;
    RETURN true;
END
$$;
CREATE FUNCTION own.fire() RETURNS trigger LANGUAGE plpgsql AS
$$ BEGIN PERFORM own.confess(); RETURN NEW; END $$;
GRANT TEMPORARY ON DATABASE {{database}} TO mirrord_app, mirrord_daemon;
"""
_ROWS = """
INSERT INTO mirrord.page (name, markdown) VALUES ({name}, {text});
INSERT INTO mirrord.record (kind, key, data) VALUES ('category', 'blue', jsonb_build_object('dir', {text}));
INSERT INTO mirrord.blob (digest, part, bytes) VALUES ('x', 0, {text}::text::bytea);
INSERT INTO mirrord.attachment (name, digest, size) VALUES ('s.png', 'x', 1);
INSERT INTO mirrord.event (type, data) VALUES ('PageCreated', jsonb_build_object('said', {text}));
INSERT INTO mirrord.approval (id, mirror_id, command, arguments, arguments_digest, actor, preview, level, expires_at)
    VALUES (gen_random_uuid(), gen_random_uuid(), 'delete_page', '{{}}', 'x', '{{}}',
            jsonb_build_object('summary', {text}), 'REQUIRE', now() + interval '1 day');
"""
_CHANGE_SET = (
    "INSERT INTO mirrord.change_set (id, kind, title, actor) "
    'VALUES (%s, \'connection\', %s, \'{"kind": "agent", "name": "one"}\')'
)
# All that says who may do what, and what happens when they do.
_DEFINITIONS = """
SELECT md5(string_agg(line, E'\\n' ORDER BY line)) FROM (
    SELECT concat_ws(' ', 'function', oid, proowner, proacl, prosecdef, prosrc, proconfig, md5(prosqlbody::text))
           AS line
      FROM pg_proc WHERE pronamespace = 'mirrord'::regnamespace
    UNION ALL SELECT concat_ws(' ', 'relation', relname, relowner, relacl, relrowsecurity, relforcerowsecurity,
           relnatts, relhastriggers, relhasrules, relkind) FROM pg_class WHERE relnamespace = 'mirrord'::regnamespace
    UNION ALL SELECT concat_ws(' ', 'policy', p) FROM pg_policy AS p
    UNION ALL SELECT concat_ws(' ', 'trigger', t) FROM pg_trigger AS t
    UNION ALL SELECT concat_ws(' ', 'role', rolname, rolsuper, rolcreaterole, rolcanlogin, rolbypassrls, rolreplication,
           rolcreatedb) FROM pg_roles
    UNION ALL SELECT concat_ws(' ', 'member', roleid, member) FROM pg_auth_members
    UNION ALL SELECT concat_ws(' ', 'setting', setdatabase, setrole, each)
      FROM pg_db_role_setting, unnest(setconfig) AS each
     WHERE each LIKE 'mirrord.%' OR setrole NOT IN ('mirrord_app'::regrole, 'mirrord_daemon'::regrole)
    UNION ALL SELECT concat_ws(' ', 'schema', nspname, nspowner, nspacl) FROM pg_namespace
     WHERE nspname !~ '^pg_(toast_)?temp'
    UNION ALL SELECT concat_ws(' ', 'database', datname, datdba, datacl) FROM pg_database
    UNION ALL SELECT concat_ws(' ', 'event trigger', evtname) FROM pg_event_trigger
    UNION ALL SELECT concat_ws(' ', 'extension', extname) FROM pg_extension
    UNION ALL SELECT concat_ws(' ', 'default', d) FROM pg_default_acl AS d
     WHERE defaclrole NOT IN ('mirrord_app'::regrole, 'mirrord_daemon'::regrole)  -- of what they make themselves
    UNION ALL SELECT concat_ws(' ', 'publication', pubname) FROM pg_publication
    UNION ALL SELECT concat_ws(' ', 'migration', number) FROM mirrord.migration
    UNION ALL SELECT concat_ws(' ', 'slot', slot_name) FROM pg_replication_slots
) AS lines"""

_numbers = itertools.count(1)


@dataclass(slots=True)
class Field:
    """A database under attack. here, there: the attacker's tenant, and the one whose rows are none of its business."""

    server: Server
    database: str
    marker: Path  # a file that only a program or a COPY of the server can make
    own_tenant: TenantId = field(default_factory=lambda: TenantId(uuid4()))
    other_tenant: TenantId = field(default_factory=lambda: TenantId(uuid4()))

    @property
    def dsn(self) -> str:
        """As the server's superuser."""
        return self.server.dsn(self.database)

    def prepare(self) -> None:
        """Two tenants with rows of every kind, and an operator who lets apps make objects in a schema of their own."""
        with psycopg.connect(self.dsn, autocommit=True) as superuser:
            superuser.execute(_OWN.format(database=self.database).encode())
        for tenant, name, text in ((self.own_tenant, "Mine", "mine"), (self.other_tenant, "Theirs", SECRET)):
            with psycopg.connect(daemon_dsn(self.server.dsn(self.database, "mirrord_daemon"))) as daemon:
                daemon.execute("INSERT INTO mirrord.tenant (id, name) VALUES (%s, %s)", [tenant, f"t{tenant.hex}"])
                daemon.execute("INSERT INTO mirrord.tenant_clock (tenant_id) VALUES (%s)", [tenant])
                daemon.execute(sql.SQL("SET mirrord.tenant = {}").format(sql.Literal(str(tenant))))
                for statement in _ROWS.strip().split(";\n"):
                    values = {"name": sql.Literal(name), "text": sql.Literal(text)}
                    daemon.execute(sql.SQL(statement).format(**values))
                if daemon.execute("SELECT to_regclass('mirrord.change_set')").fetchone() != (None,):  # since schema 29
                    daemon.execute(_CHANGE_SET, [tenant, text])

    def come_through(self, attacks: Sequence[Attack], attacker: Attacker) -> list[str]:
        """Play them; what they reached that is not the attacker's, as sentences."""
        definitions, rows = self._definitions(), self._rows()
        words: list[str] = []
        for attack in attacks:
            words += self._play(attack, attacker)
            if len(attack.statements) > _FEW_STATEMENTS:
                self._forget_deleted_entries()
        words += self._others_go_on()
        breaches = [f"it ran: {word}" for word in words if CONFESSION in word]
        breaches += ["it read the other tenant's rows"] if any(SECRET in word for word in words) else []
        breaches += ["it changed definitions or rights"] if self._definitions() != definitions else []
        breaches += ["it changed the other tenant's rows"] if self._rows() != rows else []
        breaches += ["it wrote a file of the server's"] if self.marker.exists() else []
        return breaches

    def _play(self, attack: Attack, attacker: Attacker) -> list[str]:
        words: list[str] = []
        with psycopg.connect(self._login(attacker), autocommit=True) as connection:
            connection.add_notice_handler(lambda notice: words.append(str(notice.message_primary)))
            connection.add_notify_handler(lambda notify: words.append(notify.payload))
            connection.execute(f"SET statement_timeout = '{_LONGEST}'".encode())
            for statement in attack.statements:
                words += _tried(connection, self._filled(statement))
                if connection.closed:
                    break
        return words

    def _login(self, attacker: Attacker) -> str:
        if attacker is Attacker.APP:
            return app_dsn(self.server.dsn(self.database), self.own_tenant)
        working = self.server.dsn(self.database, "mirrord_daemon")
        acting = acting_dsn(working, APP_ROLE) if attacker is Attacker.CONSOLE else daemon_dsn(working)
        parameters = psycopg.conninfo.conninfo_to_dict(acting)
        return make_conninfo(
            "", **{**parameters, "options": f"{parameters['options']} -c mirrord.tenant={self.own_tenant}"}
        )

    def _filled(self, statement: str) -> str:
        if "{" not in statement:
            return statement
        replacements = {"a": self.own_tenant, "b": self.other_tenant, "marker": self.marker, "database": self.database}
        for name, value in (replacements | {"superuser": self.server.superuser, "victim": "1"}).items():
            statement = statement.replace("{" + name + "}", str(value))
        return statement.replace("{{", "{").replace("}}", "}")

    def _others_go_on(self) -> list[str]:
        """The other tenant's app, the daemon and a superuser do what they do every day; what they are told."""
        words: list[str] = []
        daemon = daemon_dsn(self.server.dsn(self.database, "mirrord_daemon"))
        for dsn in (app_dsn(self.server.dsn(self.database), self.other_tenant), daemon, self.dsn):
            with psycopg.connect(dsn) as connection:
                connection.add_notice_handler(lambda notice: words.append(str(notice.message_primary)))
                connection.execute(f"SET LOCAL mirrord.tenant = '{self.other_tenant}'".encode())
                connection.execute("INSERT INTO mirrord.page (name) VALUES ('Daily')")
                connection.execute("UPDATE mirrord.page SET icon = 'x' WHERE name = 'Daily'")
                assert connection.execute("SELECT markdown FROM mirrord.page WHERE name = 'Theirs'").fetchone()
                connection.execute("SET CONSTRAINTS ALL IMMEDIATE")
                connection.rollback()
        with psycopg.connect(self.dsn, autocommit=True) as superuser:
            superuser.execute("ALTER ROLE mirrord_app RESET ALL")
            superuser.execute("ALTER ROLE mirrord_daemon RESET ALL")
        return words

    def _forget_deleted_entries(self) -> None:
        """What attackers deleted is gone: each later attack would restore and delete all of it, which takes minutes."""
        with psycopg.connect(self.dsn) as superuser:
            superuser.execute("SET LOCAL session_replication_role = replica")
            for table in ("page", "attachment", "record"):
                query = sql.SQL("DELETE FROM mirrord.{} WHERE tenant_id = %s AND deleted_at IS NOT NULL")
                superuser.execute(query.format(sql.Identifier(table)), [self.own_tenant])

    def _definitions(self) -> Any:
        with psycopg.connect(self.dsn, autocommit=True) as superuser:
            return superuser.execute(_DEFINITIONS.encode()).fetchone()

    def _rows(self) -> list[Any]:
        with psycopg.connect(self.dsn, autocommit=True) as superuser:
            tables = superuser.execute(
                "SELECT relname FROM pg_class AS c WHERE relnamespace = 'mirrord'::regnamespace AND relrowsecurity "
                "ORDER BY 1"
            ).fetchall()
            query = (
                "SELECT md5(coalesce(string_agg(t::text, E'\\n' ORDER BY t::text), '')) "
                "FROM mirrord.{} AS t WHERE {} = {}"
            )
            return [
                superuser.execute(
                    sql.SQL(query).format(
                        sql.Identifier(table),
                        sql.Identifier("id" if table == "tenant" else "tenant_id"),
                        sql.Literal(self.other_tenant),
                    )
                ).fetchone()
                for (table,) in tables
            ]


def _tried(connection: psycopg.Connection[Any], statement: str) -> list[str]:
    """Execute it; all that comes back, rows and errors."""
    try:
        if statement.startswith("COPY") and "STDOUT" in statement:
            with connection.cursor().copy(statement.encode()) as copy:
                return [bytes(part).decode() for part in copy]
        cursor = connection.execute(statement.encode())
        words = []
        while True:
            with suppress(psycopg.ProgrammingError):
                words += [str(row) for row in cursor.fetchall()]
            if not cursor.nextset():
                return words
    except psycopg.Error as error:
        return [str(error), str(error.diag.message_detail), str(error.diag.context)]


def fields(server: Server, directory: Path) -> Iterator[Field]:
    """New databases on *server*, not migrated yet."""
    while True:
        name = f"field_{next(_numbers)}"
        with psycopg.connect(server.dsn(), autocommit=True) as superuser:
            superuser.execute(f"CREATE DATABASE {name}".encode())
        yield Field(server, name, directory / f"{name}.marker")
