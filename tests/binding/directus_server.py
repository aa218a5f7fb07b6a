"""Directus, a real content platform from npm, with its own tables; its REST API is all that a test writes with."""

import json
import os
import socket
import subprocess
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
from psycopg.conninfo import conninfo_to_dict

from tests.support.harness import eventually

VERSION = "11.3.5"
ROLE = "directus_app"  # owns its tables, and has no right in mirrord
_TOKEN = "token-of-the-administrator"
_START_SECONDS = 120.0  # seconds, on a busy machine
_ARTICLE = {
    "collection": "article",
    "schema": {},
    "meta": {},
    "fields": [
        {"field": "id", "type": "uuid", "schema": {"is_primary_key": True}, "meta": {"special": ["uuid"]}},
        {"field": "title", "type": "string", "schema": {"is_nullable": False}},
        {"field": "body", "type": "text", "schema": {}},
        {"field": "status", "type": "string", "schema": {"default_value": "draft"}},
        {"field": "sort", "type": "integer", "schema": {}},
        {"field": "tags", "type": "json", "schema": {}},
        {"field": "parent", "type": "uuid", "schema": {}},
    ],
}


def directus_directory() -> Path:
    """Where `.ci/run` installs Directus: $MIRRORD_DIRECTUS, or below the cache of the user."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return Path(os.environ.get("MIRRORD_DIRECTUS") or cache / "mirrord" / f"directus-{VERSION}")


def is_directus_installed() -> bool:
    """Whether Directus is in its directory, with all that is compiled for it."""
    return (directus_directory() / "ready").exists()


def _program() -> Path:
    return directus_directory() / "node_modules" / ".bin" / "directus"


@dataclass(frozen=True, slots=True)
class Directus:
    """The running server."""

    port: int

    def ask(self, method: str, path: str, body: object = None) -> Any:
        """A request of the administrator; the `data` of its answer."""
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.port}{path}",
            method=method,
            data=json.dumps(body).encode() if body is not None else None,
            headers={"Content-Type": "application/json", "Authorization": f"Bearer {_TOKEN}"},
        )
        with urllib.request.urlopen(request, timeout=60) as answer:
            text = answer.read()
        return json.loads(text)["data"] if text else None

    def create(self, title: str, body: str, **fields: object) -> str:
        """A new published article; its id."""
        values = {"title": title, "body": body, "status": "published", **fields}
        return str(self.ask("POST", "/items/article", values)["id"])

    def change(self, article: str, **fields: object) -> None:
        """Change fields of an article."""
        self.ask("PATCH", f"/items/article/{article}", fields)


@contextmanager
def running_directus(dsn: str, directory: Path) -> Iterator[Directus]:
    """Directus with a collection `article`, in the database of *dsn*, a superuser's."""
    _prepare_database(dsn)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = int(free.getsockname()[1])
    environment = _environment(dsn, port, directory)
    program, log = ["node", str(_program())], directory / "directus.log"
    directory.mkdir(parents=True, exist_ok=True)
    with log.open("wb") as output:
        subprocess.run(
            [*program, "bootstrap"],
            env=environment,
            cwd=directory,
            stdout=output,
            stderr=output,
            timeout=_START_SECONDS,
            check=True,
        )
        process = subprocess.Popen([*program, "start"], env=environment, cwd=directory, stdout=output, stderr=output)
    try:
        server = Directus(port)
        eventually(lambda: _answers(port), "Directus answers", _START_SECONDS)
        server.ask("POST", "/collections", _ARTICLE)
        yield server
    finally:
        process.terminate()
        process.wait(30)


def _prepare_database(dsn: str) -> None:
    with psycopg.connect(dsn, autocommit=True) as superuser:
        superuser.execute(
            "DO $$ BEGIN CREATE ROLE directus_app LOGIN; EXCEPTION WHEN duplicate_object THEN NULL; END $$"
        )
        superuser.execute("GRANT CREATE, USAGE ON SCHEMA public TO directus_app")


def _environment(dsn: str, port: int, directory: Path) -> dict[str, str]:
    database = conninfo_to_dict(dsn)
    return {
        **os.environ,
        "DB_CLIENT": "pg",
        "DB_HOST": str(database["host"]),
        "DB_PORT": str(database.get("port") or 5432),
        "DB_DATABASE": str(database["dbname"]),
        "DB_USER": ROLE,
        "DB_PASSWORD": "unused",
        "KEY": "key",
        "SECRET": "secret",
        "ADMIN_EMAIL": "admin@example.com",
        "ADMIN_PASSWORD": "password",
        "ADMIN_TOKEN": _TOKEN,
        "HOST": "127.0.0.1",
        "PORT": str(port),
        "PUBLIC_URL": f"http://127.0.0.1:{port}",
        "TELEMETRY": "false",
        "CACHE_ENABLED": "false",
        "EXTENSIONS_PATH": str(directory / "extensions"),
        "STORAGE_LOCAL_ROOT": str(directory / "uploads"),
    }


def _answers(port: int) -> bool:
    with suppress(OSError), urllib.request.urlopen(f"http://127.0.0.1:{port}/server/ping", timeout=3):
        return True
    return False
