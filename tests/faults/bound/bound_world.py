"""The world of one history with a bound app: two daemons mirror one tenant, and an app has tables in its database."""

import json
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psycopg
from psycopg.conninfo import make_conninfo

from mirrord.binding.mappings.mapping import FILE_PREFIX, SPACE_PREFIX
from tests.faults.bound.shapes import AppRow, Shape
from tests.faults.tokens import Ledger, tokens_in
from tests.faults.world import PATIENCE, Cluster, World
from tests.support.commands import Done, commands
from tests.support.harness import eventually
from tests.support.rows import Connection

NAME = "app"  # of the binding
OWNER = "bound_app"  # owns the tables of every app, and has no right in mirrord
LOCK_SECONDS = 1  # that an app waits for a row; another transaction of the same app may have it


@dataclass(slots=True)
class BoundLedger(Ledger):
    """
    What was written in a history.

    removed: tokens that a person, an agent or the app took out of a page or deleted with it: the history is enough.
    undone: tokens of transactions that were rolled back: nothing may have them. removed_rows: ids of rows that the app
    removed, for which it has no way back. is_blind: triggers missed changes, so that only a comparison finds them.
    """

    removed: set[str] = field(default_factory=set)
    undone: set[str] = field(default_factory=set)
    removed_rows: set[str] = field(default_factory=set)
    is_blind: bool = False

    def destroy(self, world: World, data: bytes) -> None:
        """The author is about to remove *data* from a file, or the app from a row."""
        self.removed |= tokens_in(data)
        Ledger.destroy(self, world, data)  # super() does not work in a class with slots of a dataclass


class BoundWorld(World):
    """What a history acts on. The app's connection is made again when Postgres cut it."""

    def __init__(self, cluster: Cluster, directory: Path, name: str, shape: Shape) -> None:
        World.__init__(self, cluster, directory, name)
        self.shape = shape
        self.schema = "app_" + "".join(letter if letter.isalnum() else "_" for letter in name)
        self._owner: Connection | None = None
        self._bind = commands(cluster.dsn, name, directory / "host-0")
        self._mapping = directory / "app.toml"
        self._mapping.write_text(self.sql(shape.mapping))
        with cluster.administered() as connection:
            connection.execute(
                f"DO $$ BEGIN CREATE ROLE {OWNER} LOGIN; EXCEPTION WHEN duplicate_object THEN NULL; END $$".encode()
            )
            connection.execute(f"CREATE SCHEMA {self.schema} AUTHORIZATION {OWNER}".encode())
        self.owner.execute(self.sql(shape.tables).encode())
        self.bind("add", str(self._mapping))

    def sql(self, text: str) -> str:
        """*text* with the schema of this history's app."""
        return text.replace("{s}", self.schema)

    @property
    def owner(self) -> Connection:
        """The app's connection, each statement a transaction of its own."""
        if self._owner is not None and (self._owner.closed or self._owner.broken):
            self._owner = None
        if self._owner is None:
            self._owner = self.connect_owner(autocommit=True)
        return self._owner

    def connect_owner(self, *, autocommit: bool) -> Connection:
        """Another connection of the app's."""
        dsn = make_conninfo(self.cluster.dsn, user=OWNER)
        connection = psycopg.connect(dsn, autocommit=True, connect_timeout=5)
        connection.execute(f"SET lock_timeout = '{LOCK_SECONDS}s'; SET statement_timeout = '10s'")
        connection.execute(f"SET mirrord.notify = '{'off' if self.silent else 'on'}'")
        connection.autocommit = autocommit
        return connection

    def ring(self, *, loud: bool) -> None:
        """Whether commits of any app ring the bell."""
        World.ring(self, loud=loud)
        self.owner.execute(f"SET mirrord.notify = '{'on' if loud else 'off'}'".encode())

    def write(self, text: str, *values: object) -> int:
        """A statement of the app; returns how many rows it had."""
        return self.owner.execute(self.sql(text).encode(), values).rowcount

    def rows(self) -> dict[str, AppRow]:
        """The living rows of the app, by id; on another connection, where Postgres cut the last one."""
        try:
            rows = self._load_rows()
        except psycopg.OperationalError:
            rows = self._load_rows()
        return {key: self.shape.row_of(values) for key, *values in rows}

    def _load_rows(self) -> list[tuple[Any, ...]]:
        return self.owner.execute(self.sql(self.shape.rows).encode()).fetchall()

    def files(self) -> dict[str, tuple[str | None, bytes]]:
        """The page and the bytes of each file of the app, by its id in the binding."""
        if not self.shape.has_files:
            return {}
        rows = self.owner.execute(self.sql("SELECT id, note::text, content FROM {s}.upload").encode()).fetchall()
        return {f"{FILE_PREFIX}{key}": (note, bytes(content)) for key, note, content in rows}

    def spaces(self) -> dict[str, str]:
        """The names of the app's spaces, by their ids in the binding."""
        if not self.shape.has_spaces:
            return {}
        rows = self.owner.execute(self.sql("SELECT id, name FROM {s}.space").encode()).fetchall()
        return {f"{SPACE_PREFIX}{key}": name for key, name in rows}

    def trashed_tokens(self) -> set[str]:
        """The tokens of rows in the app's trash: the app has them, wherever they were written last."""
        if not self.shape.has_trash:
            return set()
        query = f"SELECT b::text FROM {self.shape.body} AS b JOIN {self.shape.pages} AS p ON p.id = b.page "
        rows = self.owner.execute(self.sql(f"{query} WHERE p.deleted_at IS NOT NULL").encode()).fetchall()
        return {token for (text,) in rows for token in tokens_in(text)}

    def bind(self, *words: str) -> Done:
        """`mirrord bind`. Raises OSError where it refuses."""
        answer = self._bind("bind", *words)
        if answer.code:
            raise OSError(f"`bind {' '.join(words)}` refused: {answer.err or answer.out}")
        return answer

    def add(self) -> None:
        """`mirrord bind add`."""
        self.bind("add", str(self._mapping))

    def status(self) -> dict[str, Any] | None:
        """`mirrord bind status`; None: there is no such binding."""
        with suppress(OSError):
            status: dict[str, Any] = json.loads(self.bind("status", NAME, "--json").out)
            return status
        return None

    def await_rest(self, *, is_blind: bool) -> None:
        """
        Return when the binding runs and has nothing left to do.

        is_blind: let it compare all rows; else its queue has to have every change.
        """
        status = self.status()
        if status is None:
            self.add()
        elif is_blind or status["state"] != "running":
            self.bind("resume", NAME, "--deletions")
        eventually(self._is_at_rest, f"the binding is at rest; it is {self.status()}", PATIENCE, pause=0.1)

    def _is_at_rest(self) -> bool:
        status = self.status()
        if status is not None and status["state"] == "halted":
            self.bind("resume", NAME, "--deletions")
        with self.cluster.administered() as connection:
            row = connection.execute(_REST, {"t": self.tenant}).fetchone()
        return row is not None and all(row)

    def close(self) -> None:
        """End everything that was started here, and leave the database as it was."""
        with suppress(psycopg.Error, OSError):
            self.bind("drop", NAME)
        if self._owner is not None:
            self._owner.close()
        World.close(self)


_REST = """
SELECT b.state = 'running', b.compared_at > '-infinity', b.feed_seq = c.seq,
       NOT EXISTS (SELECT FROM mirrord_bind.change AS q WHERE q.binding = b.id)
  FROM mirrord.binding AS b JOIN mirrord.tenant_clock AS c USING (tenant_id) WHERE b.tenant_id = %(t)s"""
