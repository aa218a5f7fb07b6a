"""The public keys of an authorization server elsewhere: from a file, or from where its metadata say."""

import math
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import jwt
import orjson

from mirrord.auth.issuer.document_fetching import DocumentFetcher
from mirrord.errors import MirrordError, Refused, Unavailable, UserError

ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA")
LEEWAY_SECONDS = 10  # of clocks that differ
KEYS_SECONDS = 3600.0  # until keys are read again
RETRY_SECONDS = 60.0  # between two looks for a key that is not known
_OAUTH_PATH, _OPENID_PATH = "/.well-known/oauth-authorization-server", "/.well-known/openid-configuration"


@dataclass(slots=True)
class IssuerKeys:
    """
    The keys of the issuer at *url*, by their ids, as they were at the last look.

    file: with the keys, as a JWK set; None: they are fetched. A look that fails leaves the keys of the one before.
    """

    url: str
    file: Path | None = None
    fetcher: DocumentFetcher = field(default_factory=lambda: DocumentFetcher(may_reach=lambda _: True))
    _keys: dict[str | None, jwt.PyJWK] = field(default_factory=dict)
    _looked_at: float = -math.inf  # these two by the monotonic clock
    _due_at: float = -math.inf
    _guard: threading.Lock = field(default_factory=threading.Lock)

    def find(self, key_id: str | None) -> jwt.PyJWK:
        """
        The key with this id, or without one the only key. Raises Refused, and Unavailable without any keys.

        A token with an unknown key makes at most one look a minute, for which tokens with known keys do not wait.
        """
        key = self._find(key_id)
        if key is None or time.monotonic() >= self._due_at:
            with self._guard:
                self._look_if_due(key_id)
            key = self._find(key_id)
        if key is None:
            raise Refused("The token was signed with a key that its issuer does not name.")
        return key

    def verify(self, token: str, audience: str, *required: str) -> dict[str, Any]:
        """
        The claims of a token that this issuer signed for *audience*, and that has not expired.

        required: claims that it must have beside issuer, audience and expiry. Raises Refused, and Unavailable without
        any keys.
        """
        try:
            key = self.find(jwt.get_unverified_header(token).get("kid"))
            return jwt.decode(
                token,
                key.key,
                algorithms=[name for name in ALGORITHMS if name == key.algorithm_name],
                issuer=self.url,
                audience=audience,
                leeway=LEEWAY_SECONDS,
                options={"require": ["iss", "aud", "exp", *required]},
            )
        except (jwt.InvalidTokenError, ValueError, TypeError):
            raise Refused("The token is not valid: its signature or its content is wrong.") from None

    def _look_if_due(self, key_id: str | None) -> None:
        now = time.monotonic()
        if now >= self._due_at or (self._find(key_id) is None and now >= self._looked_at + RETRY_SECONDS):
            self._looked_at, self._due_at = now, now + RETRY_SECONDS
            self._look()
            self._due_at = now + KEYS_SECONDS

    def _find(self, key_id: str | None) -> jwt.PyJWK | None:
        if key_id is None:
            return next(iter(self._keys.values())) if len(self._keys) == 1 else None
        return self._keys.get(key_id)

    def _look(self) -> None:
        try:
            self._keys = _read_keys(self.file.read_bytes() if self.file is not None else self._fetch())
        except (MirrordError, OSError) as error:
            if not self._keys:
                raise Unavailable(f"The keys of {self.url} cannot be read: {error}") from error

    def _fetch(self) -> bytes:
        for url in _metadata_urls(self.url):
            try:
                metadata = _parse_json(self.fetcher.fetch(url))
            except Refused:
                continue  # it publishes the other kind
            if metadata.get("issuer") != self.url or not str(metadata.get("jwks_uri", "")).startswith("https://"):
                raise Refused(f"The metadata at {self.url} are those of another issuer, or name no keys.")
            return self.fetcher.fetch(metadata["jwks_uri"])
        raise Refused(f"{self.url} publishes no metadata.")


def _metadata_urls(issuer: str) -> tuple[str, str]:
    """Where an issuer publishes its metadata: OAuth puts the path of the issuer behind, OpenID before."""
    parts = urlsplit(issuer)
    origin, path = f"{parts.scheme}://{parts.netloc}", parts.path.rstrip("/")
    return f"{origin}{_OAUTH_PATH}{path}", f"{origin}{path}{_OPENID_PATH}"


def check_issuer_url(url: str) -> str:
    """*url*, if it can be that of an issuer. Raises UserError."""
    parts = urlsplit(url)
    if parts.scheme != "https" or not parts.hostname or parts.query or parts.fragment or parts.username:
        raise UserError(f"mcp.issuer.url is {url!r}; write a URL with https, such as https://login.example.")
    return url


def _read_keys(data: bytes) -> dict[str | None, jwt.PyJWK]:
    """The keys of a JWK set that can verify signatures; others are left out."""
    keys: dict[str | None, jwt.PyJWK] = {}
    for facts in _parse_json(data).get("keys", ()):
        if not isinstance(facts, dict) or facts.get("use", "sig") != "sig" or facts.get("kty") == "oct":
            continue
        try:
            keys[facts.get("kid")] = jwt.PyJWK(facts)
        except (jwt.InvalidKeyError, jwt.PyJWKError):
            continue
    if not keys:
        raise Refused("There is no key in the set.")
    return keys


def _parse_json(data: bytes) -> dict[str, Any]:
    try:
        parsed = orjson.loads(data)
    except ValueError as error:
        raise Refused(f"It is not JSON: {error}") from error
    if not isinstance(parsed, dict):
        raise Refused("It is not a JSON object.")
    return parsed
