"""Change sets as an agent's connection leaves them: what a mirror takes in during a `with` belongs to one."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from uuid import UUID

from psycopg.types.json import Jsonb

from tests.support.entries import add, value
from tests.support.mirrors import Mirror
from tests.support.rows import Connection

AGENT = {"kind": "agent", "name": "researcher"}

State = tuple[dict[str, str], dict[str, list[tuple[object, ...]]]]


@dataclass(frozen=True, slots=True)
class Work:
    """A mirror, and the daemon's connection to its rows."""

    mirror: Mirror
    daemon: Connection

    async def settle(self) -> None:
        """Let the mirror work until nothing is left to do; nobody else renews its lease here."""
        self.mirror.opened.sides.note_renewal()
        await self.mirror.settle()

    @asynccontextmanager
    async def changing(self, title: str = "an agent, 10:12") -> AsyncIterator[UUID]:
        """What becomes a version during the `with` belongs to the change set, and has an agent as its author."""
        await self.settle()
        change_set = add(self.daemon, "change_set", kind="connection", title=title, actor=Jsonb(AGENT))
        moment = value(self.daemon, "SELECT clock_timestamp()")
        yield change_set
        await self.settle()
        for table in ("page", "attachment", "record"):
            self.daemon.execute(
                f"UPDATE mirrord.{table}_revision SET change_set = %s, actor = %s WHERE created_at > %s".encode(),
                [change_set, Jsonb(AGENT), moment],
            )

    def state(self) -> State:
        """Every file, and every living row without its version and times."""
        columns = {
            "page": "id, parent_id, kind, name, name_key, index, title, icon, position, frontmatter, markdown, digest",
            "attachment": "id, parent_id, name, name_key, digest, size, media_type",
            "record": "id, kind, key, text, data, digest",
        }
        queries = {
            table: f"SELECT {names} FROM mirrord.{table} WHERE deleted_at IS NULL ORDER BY id"
            for table, names in columns.items()
        }
        rows = {table: self.daemon.execute(query.encode()).fetchall() for table, query in queries.items()}
        return self.mirror.files(), rows
