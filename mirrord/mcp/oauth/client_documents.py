"""Clients that are named by the URL of a document about themselves, instead of a registration."""

import time
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

import anyio.to_thread
import orjson
from mcp.server.auth.provider import RegistrationError
from mcp.shared.auth import OAuthClientInformationFull
from pydantic import ValidationError

from mirrord.auth.issuer.document_fetching import DocumentFetcher
from mirrord.domain.trust import RateLimit
from mirrord.errors import MirrordError, Refused
from mirrord.mcp.oauth.client_registry import check_redirect_uris, name_of

DOCUMENT_SECONDS = 3600.0  # until a document is fetched again
REFUSED_SECONDS = 60.0  # until one that was refused is
MAX_DOCUMENTS = 100  # remembered; the one that was used longest ago is forgotten first
MAX_FETCHES = 30  # a minute, of all clients together
MAX_URL_CHARACTERS = 500
_NO_SECRET = "none"
_CLIENT_FACTS = {"client_id", "redirect_uris", "grant_types", "response_types", "client_name", "scope"}


def is_document_url(client_id: str) -> bool:
    """Whether a client's id is the URL of a document: HTTPS with a path, and nothing that hides what it means."""
    if (
        len(client_id) > MAX_URL_CHARACTERS
        or "#" in client_id
        or not client_id.isascii()
        or not client_id.isprintable()
    ):
        return False
    try:
        parts = urlsplit(client_id)
        has_port = parts.port is None or parts.port > 0
    except ValueError:
        return False
    is_plain = parts.username is None and parts.password is None and " " not in client_id and has_port
    names = parts.path.split("/")
    return (
        parts.scheme == "https"
        and bool(parts.hostname)
        and is_plain
        and len(parts.path) > 1
        and not {".", ".."} & {*names}
    )


@dataclass(slots=True)
class _StoredClient:
    """client: None: the document was refused. until: when it is fetched again, by the monotonic clock."""

    client: OAuthClientInformationFull | None
    until: float


@dataclass(slots=True)
class ClientDocuments:
    """
    The clients with documents, in this process only.

    A document that was accepted counts until the next one is: a site that is down does not end what a person allowed.
    """

    fetcher: DocumentFetcher = field(default_factory=DocumentFetcher)
    _stored: OrderedDict[str, _StoredClient] = field(default_factory=OrderedDict)
    _rate: RateLimit = field(default_factory=lambda: RateLimit(MAX_FETCHES))

    async def find(self, client_id: str) -> OAuthClientInformationFull | None:
        """The client of the document at this URL; None: there is none that counts."""
        stored, now = self._stored.get(client_id), time.monotonic()
        if stored is not None and now < stored.until:
            self._stored.move_to_end(client_id)
            return stored.client
        before = stored.client if stored is not None else None
        if self._rate.seconds_to_wait(now):
            return before
        try:
            data = await anyio.to_thread.run_sync(self.fetcher.fetch, client_id)
            self._remember(client_id, _StoredClient(client_of(client_id, data), now + DOCUMENT_SECONDS))
        except MirrordError as error:
            self._remember(
                client_id, _StoredClient(None if isinstance(error, Refused) else before, now + REFUSED_SECONDS)
            )
        return self._stored[client_id].client

    def remembered(self, client_id: str) -> OAuthClientInformationFull | None:
        """The client, without a look at its document."""
        stored = self._stored.get(client_id)
        return stored.client if stored is not None else None

    def _remember(self, client_id: str, stored: _StoredClient) -> None:
        self._stored[client_id] = stored
        self._stored.move_to_end(client_id)
        if len(self._stored) > MAX_DOCUMENTS:
            self._stored.popitem(last=False)


def client_of(url: str, data: bytes) -> OAuthClientInformationFull:
    """
    The client of the document *data* at *url*. Raises Refused.

    Its host is a part of its name, because a document may call itself anything. It has no secret: a document is public.
    """
    try:
        facts: Any = orjson.loads(data)
        if not isinstance(facts, dict) or facts.get("client_id") != url:
            raise Refused(f"The document at {url} is not about that URL.")
        if facts.get("token_endpoint_auth_method", _NO_SECRET) != _NO_SECRET or "client_secret" in facts:
            raise Refused(f"The document at {url} asks for a way to prove who the client is that this server lacks.")
        client_facts = {key: value for key, value in facts.items() if key in _CLIENT_FACTS}
        client = OAuthClientInformationFull.model_validate({**client_facts, "token_endpoint_auth_method": _NO_SECRET})
        check_redirect_uris(client)
    except (ValueError, ValidationError, RegistrationError) as error:
        raise Refused(f"The document at {url} describes no client: {error}") from error
    return client.model_copy(update={"client_name": f"{name_of(client)} ({urlsplit(url).hostname})"})
