"""The console at its address: on loopback, in the loop of whoever runs it, with a pool of its own."""

import asyncio
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from uuid import UUID

from mirrord.db import tenants
from mirrord.db.connect import APP_ROLE, Database
from mirrord.telemetry.exposition import serve
from mirrord.web.application import console
from mirrord.web.gate import Gate

HOST = "127.0.0.1"
_ADDRESS = Path("console") / "address"  # below the data directory: where it was served last, for who prints links


@dataclass(frozen=True, slots=True)
class Place:
    """
    Where the console is. port 0: any that is free. data: the data directory, which has its key.

    hosts: names it may be called by besides those of loopback.
    """

    port: int
    data: Path
    hosts: Collection[str] = ()


def url_of(port: int) -> str:
    """Without a slash at the end."""
    return f"http://{HOST}:{port}"


def link(url: str, token: str) -> str:
    """What lets somebody in when it is opened."""
    return f"{url}/sign-in?token={token}"


def last_url(data: Path) -> str | None:
    """Where the console of this data directory was served last; None: never."""
    try:
        return (data / _ADDRESS).read_text(encoding="utf-8").strip() or None
    except OSError:
        return None


async def serve_console(
    place: Place, dsn: str, gate: Gate, stop: asyncio.Event, told: Callable[[str], None] = lambda _: None
) -> None:
    """
    Answer until *stop*. told: hears the address once it is had.

    Raises Unavailable if the port cannot be had.
    """

    def is_there(port: int) -> None:
        (place.data / _ADDRESS).write_text(url_of(port), encoding="utf-8")
        told(url_of(port))

    async with (
        Database(dsn, role=APP_ROLE, checked=True) as database,
        Database(dsn, size=1, checked=True) as directory,
    ):

        async def known() -> Mapping[str, UUID]:
            return await tenants.names(directory)  # an app's role sees one tenant at a time, and no list of them

        application = console(dsn, database, gate, known, stop, place.hosts)
        await serve(application, (HOST, place.port), stop, is_there)
