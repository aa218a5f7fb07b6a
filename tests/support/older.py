"""The database of an older installation, from the dump in tests/fixtures/older."""

import subprocess
from pathlib import Path

import psycopg
from psycopg import sql

from mirrord.db.server.embedded_server import EmbeddedPostgres

FIXTURE = Path(__file__).parents[1] / "fixtures" / "older"
OLD_SCHEMA = 20  # the newest migration of that installation

_ROLES = {"mirrord_owner": "NOLOGIN", "mirrord_daemon": "LOGIN", "mirrord_app": "LOGIN"}  # that a dump does not hold
_UNKNOWN_BEFORE_17 = "SET transaction_timeout = 0;\n"


def restore_dump(dsn: str) -> None:
    """Replace the schema of the database by that of the dump, with its rows."""
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute("DROP SCHEMA IF EXISTS mirrord CASCADE")
        _prepare_roles(connection)
        database = sql.Identifier(connection.info.dbname)
        connection.execute(sql.SQL("ALTER DATABASE {} SET search_path = mirrord, public").format(database))
    dump = (FIXTURE / "dump.sql").read_text(encoding="utf-8").replace(_UNKNOWN_BEFORE_17, "")
    command = [str(EmbeddedPostgres.program_path("psql")), "-qX", "-v", "ON_ERROR_STOP=1", "-o", "/dev/null", dsn]
    subprocess.run(command, input=dump, text=True, check=True)


def list_dumped_migrations() -> list[str]:
    """The rows of the dump's table of migrations."""
    text = (FIXTURE / "dump.sql").read_text(encoding="utf-8")
    return text.partition("COPY mirrord.migration ")[2].partition("\\.\n")[0].splitlines()[1:]


def _prepare_roles(connection: psycopg.Connection[tuple[object, ...]]) -> None:
    existing = {name for (name,) in connection.execute("SELECT rolname FROM pg_roles")}
    for name, login in _ROLES.items():
        if name not in existing:
            connection.execute(f"CREATE ROLE {name} {login}".encode())
