"""Sign-in at an identity provider elsewhere: OpenID Connect with codes, PKCE, state and nonce."""

import base64
import hashlib
import hmac
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

import orjson

from mirrord.auth.issuer.document_fetching import DocumentFetcher
from mirrord.auth.issuer.issuer_keys import IssuerKeys
from mirrord.auth.issuer.issuer_settings import AccountIssuer
from mirrord.errors import Refused

METADATA_SECONDS = 3600.0  # until metadata are read again
MAX_TOKEN_CHARACTERS = 16_384
_ENDPOINTS = ("authorization_endpoint", "token_endpoint", "jwks_uri")


@dataclass(frozen=True, slots=True)
class SignInAttempt:
    """What the browser of one attempt keeps until it comes back. Each is a random text."""

    state: str
    nonce: str
    verifier: str


@dataclass(slots=True)
class OpenIdIssuer:
    """The provider of *settings*. Its methods ask it over the network, for seconds: call them in a thread."""

    settings: AccountIssuer
    fetcher: DocumentFetcher = field(default_factory=lambda: DocumentFetcher(may_reach=lambda _: True))
    _keys: IssuerKeys = field(init=False)
    _metadata: Mapping[str, str] | None = None
    _due_at: float = 0.0  # by the monotonic clock
    _guard: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        self._keys = IssuerKeys(self.settings.url, fetcher=self.fetcher)

    def sign_in_url(self, attempt: SignInAttempt) -> str:
        """Where the browser goes. Raises Unavailable, and Refused for metadata of another issuer."""
        challenge = hashlib.sha256(attempt.verifier.encode()).digest()
        query = {
            "response_type": "code",
            "client_id": self.settings.client,
            "redirect_uri": self.settings.redirect_uri,
            "scope": "openid email profile",
            "state": attempt.state,
            "nonce": attempt.nonce,
            "code_challenge": base64.urlsafe_b64encode(challenge).rstrip(b"=").decode(),
            "code_challenge_method": "S256",
        }
        endpoint = self._load_metadata()["authorization_endpoint"]
        return f"{endpoint}{'&' if '?' in endpoint else '?'}{urlencode(query)}"

    def redeem(self, code: str, attempt: SignInAttempt) -> Mapping[str, Any]:
        """The verified claims of the person who signed in. Raises Refused and Unavailable."""
        form = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": self.settings.redirect_uri,
            "client_id": self.settings.client,
            "code_verifier": attempt.verifier,
        }
        secret = self.settings.secret()
        answer = self.fetcher.post_form(
            self._load_metadata()["token_endpoint"], form, (self.settings.client, secret) if secret else None
        )
        token = _parse_object(answer).get("id_token")
        if not isinstance(token, str) or len(token) > MAX_TOKEN_CHARACTERS:
            raise Refused("The identity provider gave no token that says who signed in.")
        return self._verify(token, attempt.nonce)

    def _verify(self, token: str, nonce: str) -> Mapping[str, Any]:
        claims = self._keys.verify(token, self.settings.client, "iat", "sub")
        stated = claims.get("nonce")
        if not isinstance(stated, str) or not hmac.compare_digest(stated.encode(), nonce.encode()):
            raise Refused("The token of the identity provider is for another attempt.")
        if claims.get("azp", self.settings.client) != self.settings.client:
            raise Refused("The token of the identity provider is for another program.")
        return claims

    def _load_metadata(self) -> Mapping[str, str]:
        with self._guard:
            if self._metadata is None or time.monotonic() >= self._due_at:
                url = f"{self.settings.url.rstrip('/')}/.well-known/openid-configuration"
                self._metadata = _checked_metadata(_parse_object(self.fetcher.fetch(url)), self.settings.url)
                self._due_at = time.monotonic() + METADATA_SECONDS
            return self._metadata


def _checked_metadata(metadata: Mapping[str, Any], url: str) -> Mapping[str, str]:
    if metadata.get("issuer") != url:
        raise Refused(f"The metadata at {url} are those of another issuer.")
    endpoints = {name: str(metadata.get(name, "")) for name in _ENDPOINTS}
    if not all(endpoint.startswith("https://") for endpoint in endpoints.values()):
        raise Refused(f"The metadata at {url} lack an address, or have one without https.")
    return endpoints


def _parse_object(data: bytes) -> Mapping[str, Any]:
    try:
        parsed = orjson.loads(data)
    except ValueError as error:
        raise Refused("The identity provider did not answer with JSON.") from error
    if not isinstance(parsed, dict):
        raise Refused("The identity provider did not answer with a JSON object.")
    return parsed


def person_of(claims: Mapping[str, Any], claim: str) -> str:
    """The person of verified claims. Raises Refused for an address that the provider does not call verified."""
    person = claims.get(claim)
    if not isinstance(person, str) or not person:
        raise Refused(f"The identity provider does not say the {claim} of the person.")
    if claim == "email" and claims.get("email_verified") is not True:
        raise Refused("The identity provider has not verified that address.")
    return person
