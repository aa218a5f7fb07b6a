"""Clients that registered themselves (RFC 7591): what is accepted, how many are remembered, and in which files."""

import ipaddress
import re
import time
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from mcp.server.auth.provider import RegistrationError
from mcp.shared.auth import OAuthClientInformationFull

from mirrord.auth.delegations import DelegationStore
from mirrord.auth.signed_tokens import write_file
from mirrord.domain.trust import RateLimit

MAX_CLIENTS = 100  # per tenant; above it the oldest without a delegation is forgotten
MAX_REGISTRATIONS = 10  # a minute, of all clients together
MAX_REGISTRATION_BYTES = 16 << 10  # of one request
MAX_REDIRECTS = 10  # redirect URIs of one client
MAX_REDIRECT_CHARACTERS = 500
MAX_NAME_CHARACTERS = 60
UNUSED_SECONDS = 86400  # seconds after which a client without a delegation may be forgotten
UNNAMED = "a client without a name"
_ID_PATTERN = re.compile("[0-9a-f-]{36}")
_STORED_FACTS = {
    *("client_id", "client_secret", "client_id_issued_at", "client_secret_expires_at", "client_name"),
    *("redirect_uris", "grant_types", "response_types", "scope", "token_endpoint_auth_method"),
}


@dataclass(frozen=True, slots=True)
class ClientRegistry:
    """The registered clients of one tenant, a file each, for its owner only. delegations: keep their clients."""

    directory: Path
    delegations: DelegationStore
    _rate: RateLimit = field(default_factory=lambda: RateLimit(MAX_REGISTRATIONS))

    def allows_registration(self) -> bool:
        """Whether another client may register in this minute; if so, it is counted."""
        return self._rate.seconds_to_wait(time.monotonic()) == 0

    def find(self, client_id: str) -> OAuthClientInformationFull | None:
        """The client with this id."""
        if not _ID_PATTERN.fullmatch(client_id):
            return None
        try:
            return OAuthClientInformationFull.model_validate_json(self._file(client_id).read_bytes())
        except FileNotFoundError:
            return None

    def add(self, client: OAuthClientInformationFull) -> None:
        """Remember a client. Raises RegistrationError for redirect URIs that are refused, and if there is no space."""
        check_redirect_uris(client)
        self.directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._make_space()
        stored = client.model_dump_json(include=_STORED_FACTS, exclude_none=True)
        write_file(self._file(client.client_id), stored.encode())

    def _make_space(self) -> None:
        """Forget clients without a delegation: those that are old, and the oldest if there are too many."""
        in_use = {delegation.client for delegation in self.delegations.list_all()}
        files = sorted(self.directory.glob("*.json"), key=lambda file: file.stat().st_mtime)
        unused = [file for file in files if file.stem not in in_use]
        excess = len(files) - MAX_CLIENTS + 1
        for index, file in enumerate(unused):
            if index < excess or file.stat().st_mtime < time.time() - UNUSED_SECONDS:
                file.unlink(missing_ok=True)
        if excess > len(unused):
            raise RegistrationError("invalid_client_metadata", "Too many clients are connected to this server.")

    def _file(self, client_id: str) -> Path:
        return self.directory / f"{client_id}.json"


def name_of(client: OAuthClientInformationFull) -> str:
    """The client's own name for people: one line, shortened. It proves nothing, so the redirect URI is shown beside."""
    words = "".join(letter if letter.isprintable() else " " for letter in client.client_name or "").split()
    return " ".join(words)[:MAX_NAME_CHARACTERS].strip() or UNNAMED


def check_redirect_uris(client: OAuthClientInformationFull) -> None:
    """Raise RegistrationError unless all redirect URIs of *client* are allowed, and it has some."""
    uris = [str(uri) for uri in client.redirect_uris or ()]
    if not 0 < len(uris) <= MAX_REDIRECTS:
        raise RegistrationError("invalid_redirect_uri", f"A client has 1 to {MAX_REDIRECTS} redirect URIs.")
    for uri in uris:
        _check_redirect_uri(uri)


def _check_redirect_uri(uri: str) -> None:
    """Raise RegistrationError unless *uri* is one of a site with TLS, or of a program on the person's machine."""
    parts = urlsplit(uri)
    is_allowed = parts.scheme == "https" or (parts.scheme == "http" and _is_loopback(parts.hostname or ""))
    if not is_allowed or parts.username is not None or "#" in uri or len(uri) > MAX_REDIRECT_CHARACTERS:
        sentence = "A redirect URI has https, or http on a loopback address, and no fragment and no user."
        raise RegistrationError("invalid_redirect_uri", sentence)


def _is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
