"""A site with TLS on this machine whose documents a test writes, and a fetcher that trusts it."""

import datetime
import ipaddress
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from mirrord.auth.issuer.document_fetching import DocumentFetcher


@dataclass(frozen=True, slots=True)
class Document:
    """What the site answers at a path. go_on: the body comes when it is set."""

    body: bytes = b""
    status: int = 200
    kind: str = "application/json"
    headers: tuple[tuple[str, str], ...] = ()
    go_on: threading.Event | None = None


@dataclass(frozen=True, slots=True)
class Site:
    """A site at *origin*. documents: by path. requests: the paths that were asked for."""

    origin: str
    context: ssl.SSLContext
    documents: dict[str, Document] = field(default_factory=dict)
    requests: list[str] = field(default_factory=list)

    @property
    def fetcher(self) -> DocumentFetcher:
        """A fetcher that trusts the site, and may reach this machine."""
        return DocumentFetcher(self.context, lambda address: ipaddress.ip_address(address).is_loopback)


@contextmanager
def serving_site(directory: Path) -> Iterator[Site]:
    """Serve until the end of the `with`. directory: for the certificate."""
    certificate, key = make_certificate(directory)
    server_context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server_context.load_cert_chain(certificate, key)
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    server.socket = server_context.wrap_socket(server.socket, server_side=True)
    origin = f"https://localhost:{server.server_address[1]}"
    site = Site(origin, ssl.create_default_context(cafile=str(certificate)))
    server.site = site  # type: ignore[attr-defined]
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield site
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


class _Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        site: Site = self.server.site  # type: ignore[attr-defined]
        site.requests.append(self.path)
        document = site.documents.get(self.path, Document(status=404))
        self.send_response(document.status)
        self.send_header("Content-Type", document.kind)
        for name, value in document.headers:
            self.send_header(name, value)
        self.end_headers()
        if document.go_on is not None:
            document.go_on.wait(30)
        self.wfile.write(document.body)

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers.get("content-length", "0")))
        self.do_GET()

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


def make_certificate(directory: Path) -> tuple[Path, Path]:
    """A certificate of localhost that vouches for itself, and its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    now = datetime.datetime.now(datetime.UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    certificate_file, key_file = directory / "site.pem", directory / "site.key"
    certificate_file.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    encoding, form = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8
    key_file.write_bytes(key.private_bytes(encoding, form, serialization.NoEncryption()))
    return certificate_file, key_file
