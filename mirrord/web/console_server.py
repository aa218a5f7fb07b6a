"""Serve the console on its address, with a connection pool of its own."""

import asyncio
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from uuid import UUID

from mirrord.auth.issuer.issuer_settings import AccountIssuer
from mirrord.auth.issuer.openid_issuer import OpenIdIssuer
from mirrord.auth.sign_in import Gate
from mirrord.config import Config
from mirrord.db import tenant_rows
from mirrord.db.database import APP_ROLE, Database
from mirrord.domain.link_rule import LinkRule
from mirrord.telemetry.local_server import serve
from mirrord.web.accounts.account_desk import AccountDesk
from mirrord.web.application import create_application
from mirrord.web.operators.backup_runs import BackupDesk
from mirrord.web.read_limits import CONSOLE_CONNECTIONS

HOST = "127.0.0.1"
_ADDRESS = Path("console") / "address"  # in the data directory: the last URL, for printing links


@dataclass(frozen=True, slots=True)
class ConsolePlace:
    """
    The location of the console. port 0: any free one. data: the data directory, which contains its key.

    hosts: accepted host names in addition to those of loopback. links: what the daemon does with links of moved pages.
    accounts: where people sign in besides by links. trees: the directory of the trees of this machine.
    signing: the private key of tokens; None: below data. backups: the directory of the backups of all tenants; None:
    none are listed or made. has_own_server: whether Postgres is the embedded one.
    """

    port: int
    data: Path
    hosts: Collection[str] = ()
    links: LinkRule = LinkRule.TOOLS
    accounts: AccountIssuer | None = None
    trees: Path | None = None
    signing: Path | None = None
    backups: Path | None = None
    has_own_server: bool = False


def place_of(config: Config, port: int) -> ConsolePlace:
    """The console of an installation, on a port."""
    return ConsolePlace(
        port,
        config.data,
        hosts=config.console.hosts,
        links=config.links,
        accounts=config.console.accounts,
        trees=config.mirror,
        signing=config.signing,
        backups=config.backup_directory,
        has_own_server=config.dsn is None,
    )


def url_of(port: int) -> str:
    """The URL of the console, without a slash at the end."""
    return f"http://{HOST}:{port}"


def sign_in_url(url: str, token: str) -> str:
    """The URL that signs in when it is opened."""
    return f"{url}/sign-in?token={token}"


def last_url(data: Path) -> str | None:
    """The last URL of the console of this data directory; None: never served."""
    try:
        return (data / _ADDRESS).read_text(encoding="utf-8").strip() or None
    except OSError:
        return None


async def serve_console(
    place: ConsolePlace, dsn: str, gate: Gate, stop: asyncio.Event, on_url: Callable[[str], None] = lambda _: None
) -> None:
    """
    Serve until *stop*. on_url: called with the URL once the server listens.

    Raises Unavailable if the port is not available.
    """

    def announce(port: int) -> None:
        (place.data / _ADDRESS).write_text(url_of(port), encoding="utf-8")
        on_url(url_of(port))

    async with (
        Database(dsn, size=CONSOLE_CONNECTIONS, role=APP_ROLE, checked=True) as database,
        Database(dsn, size=1, checked=True) as directory,
    ):

        async def load_tenants() -> Mapping[str, UUID]:
            return await tenant_rows.load_tenants(directory)  # an app's role sees only one tenant at a time

        application = create_application(dsn, database, gate, load_tenants, stop, place.hosts)
        desk = application.state.desk
        desk.links, desk.trees, desk.signing = place.links, place.trees, place.signing
        if place.accounts is not None:
            desk.accounts = AccountDesk(OpenIdIssuer(place.accounts))
        desk.backups = _backup_desk_of(place, dsn)
        try:
            await serve(application, (HOST, place.port), stop, announce)
        finally:
            if desk.backups is not None:
                await desk.backups.close()


def _backup_desk_of(place: ConsolePlace, dsn: str) -> BackupDesk | None:
    if place.backups is None or place.trees is None:
        return None
    return BackupDesk(dsn, place.backups, place.trees, place.data, place.has_own_server)
