"""Agents that work on sources as guests of one daemon, each with a server of its own, and what Postgres was told."""

from collections.abc import Iterator
from contextlib import AbstractAsyncContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.support.clients import Agent, on_stdio, process
from tests.support.commands import Near
from tests.support.editors import save
from tests.support.harness import Mirrord, eventually

ACTOR = "organiser"


@dataclass(frozen=True, slots=True)
class Host:
    """A daemon at work. token: lets the agent ACTOR in."""

    mirrord: Mirrord
    token: str

    def agent(self) -> AbstractAsyncContextManager[Agent]:
        """An agent over stdio, whose server may read below the system's temporary directory."""
        return on_stdio(process(self.mirrord.mirror, {"MIRRORD_TOKEN": self.token}, "--tools", "sources"))

    def told(self, count: int, **data: Any) -> list[tuple[Any, ...]]:
        """Type, kind and name of the actor of the events in Postgres about that, as soon as there are *count*."""
        ((key, value),) = data.items()
        query = (
            "SELECT type, actor ->> 'kind', actor ->> 'name' FROM mirrord.event WHERE data ->> %s = %s "
            "ORDER BY occurred_at"
        )

        def found() -> list[tuple[Any, ...]] | None:
            rows = self.mirrord.app.execute(query, [key, str(value)]).fetchall()
            return rows if len(rows) >= count else None

        return eventually(found, f"{count} events about {value}")


@contextmanager
def hosting(dsn: str, directory: Path, tenant: str) -> Iterator[Host]:
    """A daemon of its own for *tenant*, in *directory*."""
    with Near(directory, tenant=tenant, dsn=dsn) as started:
        save(started.file("Welcome.md"), "a tree that loses its last file halts\n")
        started.up()
        yield Host(started, started.create_token(ACTOR))
