"""Documents of other sites over HTTPS, for a server that anybody may give a URL to: public addresses only, bounded."""

import base64
import http.client
import ipaddress
import socket
import ssl
import time
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass
from urllib.parse import quote, urlencode, urlsplit

from mirrord.errors import Refused, Unavailable

FETCH_SECONDS = 5.0  # for all of a document
MAX_DOCUMENT_BYTES = 16 << 10
_PIECE_BYTES = 4096
_HTTPS_PORT = 443


def is_public_address(address: str) -> bool:
    """Whether an IP address is one of the public internet, not of this machine or a network around it."""
    parsed = ipaddress.ip_address(address.partition("%")[0])
    mapped = parsed.ipv4_mapped if isinstance(parsed, ipaddress.IPv6Address) else None
    return (mapped or parsed).is_global and not parsed.is_multicast


@dataclass(frozen=True, slots=True)
class DocumentFetcher:
    """context: whose certificates count; None: those of the system. may_reach: whether an address is connected to."""

    context: ssl.SSLContext | None = None
    may_reach: Callable[[str], bool] = is_public_address

    def fetch(self, url: str) -> bytes:
        """
        The JSON at *url*; redirects are not followed.

        Raises Refused for another answer, and for a site at an address that is not public; Unavailable without one.
        """
        return self._ask(url, "GET", None, _HEADERS)

    def post_form(self, url: str, form: Mapping[str, str], client: tuple[str, str] | None) -> bytes:
        """The JSON that *url* answers to a form. client: id and secret of who asks, if any. Raises as fetch()."""
        headers = {**_HEADERS, "Content-Type": "application/x-www-form-urlencoded"}
        if client is not None:
            both = ":".join(quote(part, safe="") for part in client)
            headers["Authorization"] = f"Basic {base64.b64encode(both.encode()).decode()}"
        return self._ask(url, "POST", urlencode(form).encode(), headers)

    def _ask(self, url: str, method: str, body: bytes | None, headers: Mapping[str, str]) -> bytes:
        parts, deadline = urlsplit(url), time.monotonic() + FETCH_SECONDS
        host, port = parts.hostname or "", parts.port or _HTTPS_PORT
        try:
            connection = _Connection(host, port, self._address_of(host, port), self.context or _system_context())
            try:
                connection.request(method, parts.path + (f"?{parts.query}" if parts.query else ""), body, headers)
                return _read_answer(connection, deadline)
            finally:
                connection.close()
        except (OSError, http.client.HTTPException, UnicodeError) as error:
            raise Unavailable(f"{host} did not answer as it should: {error}") from error

    def _address_of(self, host: str, port: int) -> str:
        """An address of *host*, looked up once: the one that is checked is the one that is connected to."""
        addresses_of_host = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        addresses = [str(address[4][0]) for address in addresses_of_host]
        if not all(map(self.may_reach, addresses)):
            raise Refused(f"{host} is at an address that this server does not connect to.")
        return addresses[0]


_HEADERS = {"Accept": "application/json", "User-Agent": "mirrord"}


class _Connection(http.client.HTTPSConnection):
    """A connection to a given address of a host, with the host's certificate."""

    def __init__(self, host: str, port: int, address: str, context: ssl.SSLContext) -> None:
        super().__init__(host, port, timeout=FETCH_SECONDS, context=context)
        self._address, self._tls = address, context

    def connect(self) -> None:
        """As in HTTPSConnection, but without another look-up of the name."""
        self.sock = socket.create_connection((self._address, self.port), FETCH_SECONDS)  # closed with the connection
        self.sock = self._tls.wrap_socket(self.sock, server_hostname=self.host)


def _system_context() -> ssl.SSLContext:
    return ssl.create_default_context()


def _read_answer(connection: _Connection, deadline: float) -> bytes:
    with closing(connection.getresponse()) as response:
        kind, data = response.headers.get_content_type(), b""
        if response.status != http.HTTPStatus.OK or not (kind == "application/json" or kind.endswith("+json")):
            raise Refused(f"{connection.host} answered with status {response.status} and {kind}, not with JSON.")
        while piece := response.read1(_PIECE_BYTES):
            data += piece
            if len(data) > MAX_DOCUMENT_BYTES:
                raise Refused(f"The document of {connection.host} has more than {MAX_DOCUMENT_BYTES} bytes.")
            if time.monotonic() > deadline:
                raise Unavailable(f"{connection.host} took more than {FETCH_SECONDS:.0f} seconds.")
    return data
