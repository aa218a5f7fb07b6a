"""An identity provider from npm at work on this machine, and a certificate that a console trusts it by."""

import secrets
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.support.document_sites import make_certificate
from tests.support.harness import eventually
from tests.support.node import installed

SOURCE = Path(__file__).parent / "openid"


@dataclass(frozen=True, slots=True)
class OpenIdProvider:
    """A provider at *url*. certificate: of whom it is trusted by. secret: of the console there."""

    url: str
    certificate: Path
    secret: str

    def settings(self, origin: str, directory: Path) -> str:
        """The table of the console's configuration. origin: of the console."""
        secret_file = directory / "secret"
        secret_file.write_text(f"{self.secret}\n", encoding="utf-8")
        return (
            f'[console.accounts]\nurl = "{self.url}"\nclient = "console"\norigin = "{origin}"\n'
            f'secret_file = "{secret_file}"\n'
        )


@contextmanager
def serving_provider(directory: Path, redirect_uri: str) -> Iterator[OpenIdProvider]:
    """Serve until the end of the `with`. directory: for the certificate. redirect_uri: of the console."""
    source = installed(SOURCE)
    certificate, key = make_certificate(directory)
    port, secret = free_port(), secrets.token_urlsafe(16)
    arguments = [str(certificate), str(key), str(port), redirect_uri, secret]
    log = directory / "provider.log"
    with log.open("wb") as output:
        process = subprocess.Popen(["node", "server.js", *arguments], cwd=source, stdout=output, stderr=output)
    try:
        eventually(lambda: process.poll() is not None or b"listening" in log.read_bytes(), "the identity provider")
        assert process.poll() is None, log.read_text(encoding="utf-8")
        yield OpenIdProvider(f"https://localhost:{port}", certificate, secret)
    finally:
        process.kill()
        process.wait()


def free_port() -> int:
    """A port of loopback on which nothing listens."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])
