"""The web console inside the daemon."""

import sys

import click

from mirrord.auth.sign_in import Gate
from mirrord.cli.output import current_person
from mirrord.daemon.daemon import Daemon
from mirrord.errors import MirrordError, UserError
from mirrord.sync.timing import pause
from mirrord.web.console_server import place_of, serve_console, sign_in_url


class DaemonConsole:
    """A running console. status_line: its address for a person; "" until it is served."""

    def __init__(self, daemon: Daemon, *, plain: bool) -> None:
        self._daemon = daemon
        self._plain = plain
        self._gate: Gate | None = None
        self._url = self._token = ""

    async def serve(self) -> None:
        """
        Serve until the daemon stops.

        A port in use does not stop the sync: it is only reported as a reason of degradation.
        """
        daemon, settings = self._daemon, self._daemon.config.console
        await pause(daemon.stop, None, daemon.reached)
        if daemon.stop.is_set():
            return
        try:
            gate = self._gate = Gate(daemon.config.data)
            config = daemon.config
            place = place_of(config, settings.port)
            await serve_console(place, daemon.postgres.session_dsn, gate, daemon.stop, self._announce)
        except UserError as error:
            daemon.degraded["console"] = f"The console is not served: {error}"
        except MirrordError as error:
            daemon.degraded["console"] = f"The console is not served: {error} Choose another port: `--console PORT`."

    def status_line(self) -> str:
        """A link that works once; after its use, the command that prints another one."""
        if self._gate is None or not self._url:
            return ""
        if self._gate.is_unused(self._token):
            return f"Console: {sign_in_url(self._url, self._token)}"
        return f"Console: {self._url}   another way in: mirrord console link"

    def _announce(self, url: str) -> None:
        assert self._gate is not None
        self._url = url
        if not self._plain:
            self._token = self._gate.invite(current_person().name, None)
        elif not sys.stdout.isatty():  # a log must not contain a working link
            click.echo(f"Console: {url}   a way in: mirrord console link")
        else:
            click.echo(f"Console: {sign_in_url(url, self._gate.invite(current_person().name, None))}")
