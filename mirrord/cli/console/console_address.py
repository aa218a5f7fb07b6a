"""The address that links to the console begin with, and whether a console answers there."""

import socket
from urllib.parse import urlsplit

import click

from mirrord.config import Config
from mirrord.web.console_server import last_url, url_of

_SECONDS_TO_CONNECT = 1.0


def console_url(config: Config) -> str:
    """Where the console was served last, else where it would be. Prints on standard error if nothing listens there."""
    url = last_url(config.data) or url_of(config.console.port)
    port = urlsplit(url).port
    if port is not None and not _is_listening(port):
        click.echo(
            f"No console is served at {url} now. Start it before the link is opened: "
            f"`mirrord up --console {port}` with the daemon, or `mirrord console --port {port}` beside it.",
            err=True,
        )
    return url


def _is_listening(port: int) -> bool:
    try:
        with socket.create_connection(("127.0.0.1", port), _SECONDS_TO_CONNECT):
            return True
    except OSError:
        return False
