"""A server with OAuth in a thread, a program that asks for access, and the browser of the person who answers."""

import base64
import hashlib
import re
import secrets
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import httpx2
import uvicorn

from mirrord.auth.issuer.document_fetching import DocumentFetcher
from mirrord.auth.issuer.issuer_settings import Issuer
from mirrord.auth.roles import Role
from mirrord.config import Config
from mirrord.mcp import http
from mirrord.mcp.admission import Tenant
from mirrord.mcp.callers import Callers
from mirrord.mcp.oauth.external_issuer import ExternalIssuer, create_issuer
from mirrord.mcp.oauth.oauth_routes import create_provider
from mirrord.mcp.oauth.provider import Provider
from tests.support.harness import eventually

REDIRECT = "https://client.example/callback"


@dataclass(frozen=True, slots=True)
class OAuthServer:
    """A server of *tenant* at *url*."""

    url: str
    config: Config
    tenant: Tenant
    provider: Provider

    @property
    def resource(self) -> str:
        """The URL of the protocol."""
        return f"{self.url}/mcp"


@contextmanager
def oauth_server(config: Config, tenant: Tenant, port: int = 0) -> Iterator[OAuthServer]:
    """Serve until the end of the `with`. port: 0: any free one."""
    with socket.create_server(("127.0.0.1", port)) as listener:
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        provider = create_provider(config, tenant, url)
        with serving(config, tenant, url, listener, provider):
            yield OAuthServer(url, config, tenant, provider)


@contextmanager
def issuer_server(config: Config, tenant: Tenant, settings: Issuer, fetcher: DocumentFetcher) -> Iterator[str]:
    """Serve until the end of the `with`, for tokens of an issuer elsewhere; its URL."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        issuer = create_issuer(config, tenant, replace(settings, resource=url))
        issuer.keys.fetcher = fetcher
        with serving(config, tenant, url, listener, issuer):
            yield url


@contextmanager
def serving(
    config: Config, tenant: Tenant, url: str, listener: socket.socket, provider: Provider | ExternalIssuer
) -> Iterator[None]:
    """Serve until the end of the `with`."""
    callers = Callers()
    try:
        app = http.create_app(config, tenant, callers, url, http.security_settings("127.0.0.1", ()), provider)
        server = uvicorn.Server(uvicorn.Config(app, log_level="error", ws="none"))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        try:
            eventually(lambda: server.started, "the server listens")
            yield
        finally:
            server.should_exit = True
            thread.join()
    finally:
        callers.close()


def plain_client() -> httpx2.Client:
    """A client without the certificates of authorities, which take longer to load than a test takes."""
    return httpx2.Client(verify=False, timeout=60)


@dataclass(slots=True)
class Program:
    """A client that registers itself, and asks for access with PKCE."""

    server: OAuthServer
    http: httpx2.Client
    facts: dict[str, Any] = field(default_factory=dict)
    verifier: str = field(default_factory=lambda: secrets.token_urlsafe(48))

    def register(self, **changed: Any) -> httpx2.Response:
        """Register; *changed*: other metadata."""
        metadata = {
            "client_name": "Notes",
            "redirect_uris": [REDIRECT],
            "token_endpoint_auth_method": "none",
            **changed,
        }
        response = self.http.post(f"{self.server.url}/register", json=metadata)
        if response.status_code == 201:
            self.facts = response.json()
        return response

    def authorize_url(self, **changed: str | None) -> str:
        """The URL for the person's browser. changed: other parameters; None: without that one."""
        digest = hashlib.sha256(self.verifier.encode()).digest()
        parameters: dict[str, str | None] = {
            "client_id": self.facts["client_id"],
            "response_type": "code",
            "redirect_uri": REDIRECT,
            "code_challenge": base64.urlsafe_b64encode(digest).decode().rstrip("="),
            "code_challenge_method": "S256",
            "state": "st&te",
            "resource": self.server.resource,
            **changed,
        }
        present = {name: value for name, value in parameters.items() if value is not None}
        return f"{self.server.url}/authorize?{urlencode(present)}"

    def exchange(self, code: str, **changed: str) -> httpx2.Response:
        """Exchange a code for tokens."""
        form = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": REDIRECT,
            "client_id": self.facts["client_id"],
            "code_verifier": self.verifier,
            **changed,
        }
        return self.http.post(f"{self.server.url}/token", data=form)

    def refresh(self, token: str, **changed: str) -> httpx2.Response:
        """Exchange a refresh token for the next tokens."""
        form = {"grant_type": "refresh_token", "refresh_token": token, "client_id": self.facts["client_id"], **changed}
        return self.http.post(f"{self.server.url}/token", data=form)

    def revoke(self, token: str) -> httpx2.Response:
        """Give a token back."""
        form = {"token": token, "client_id": self.facts["client_id"]}
        return self.http.post(f"{self.server.url}/revoke", data=form)


@dataclass(slots=True)
class Person:
    """A person's browser: it follows nothing by itself."""

    server: OAuthServer
    http: httpx2.Client

    def sign_in(self, tenant: Any = None, name: str = "Ada", role: Role = Role.WRITER) -> None:
        """Sign in with a link, as an operator or with a role in one tenant."""
        gate = self.server.provider.gate
        cookie = gate.admit(gate.invite(name, tenant, role=role))
        self.http.cookies.set(gate.cookie, cookie or "", domain="127.0.0.1")

    def open_question(self, url: str) -> httpx2.Response:
        """Open a program's URL, and the page that asks."""
        return self.http.get(self.http.get(url).headers["location"])

    def answer(self, page: httpx2.Response, decision: str = "allow", rights: str = "write") -> httpx2.Response:
        """Press a button of the page."""
        form = {**hidden_fields(page.text), "decision": decision, "rights": rights}
        return self.http.post(f"{self.server.url}/consent", data=form)

    def allow(self, program: Program, rights: str = "write") -> str:
        """Allow what *program* asks for: the code."""
        response = self.answer(self.open_question(program.authorize_url()), rights=rights)
        return parameters_of(response)["code"]


def hidden_fields(html: str) -> dict[str, str]:
    """The hidden fields of a form."""
    return dict(re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)">', html))


def parameters_of(response: httpx2.Response) -> dict[str, str]:
    """The parameters of the URL that a response redirects to."""
    return {name: values[0] for name, values in parse_qs(urlsplit(response.headers["location"]).query).items()}
