"""Clients that are named by the URL of a document: what counts, what is refused, and what the server never fetches."""

import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from mirrord.auth.issuer import document_fetching
from mirrord.auth.issuer.document_fetching import MAX_DOCUMENT_BYTES, DocumentFetcher, is_public_address
from mirrord.auth.signed_tokens import Keyring, verify_token
from mirrord.config import Agents, Config
from mirrord.errors import Refused, Unavailable
from mirrord.mcp.oauth import client_documents
from mirrord.mcp.oauth.client_documents import ClientDocuments, is_document_url
from tests.support.clients import tenant_in
from tests.support.document_sites import Document, Site, serving_site
from tests.support.oauth_clients import REDIRECT, OAuthServer, Person, Program, oauth_server, plain_client


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with serving_site(tmp_path_factory.mktemp("site")) as serving:
        yield serving


@pytest.fixture
def server(tmp_path: Path, site: Site) -> Iterator[OAuthServer]:
    config = Config(mirror=tmp_path / "mirror", data=tmp_path / "data", agents=Agents(client_documents=True))
    tenant = tenant_in(config.mirror, pages={"Welcome.md": "# Welcome\n"})
    with oauth_server(config, tenant) as serving:
        assert serving.provider.documents is not None
        serving.provider.documents.fetcher = site.fetcher
        yield serving


@pytest.fixture
def http() -> Iterator[httpx2.Client]:
    with plain_client() as client:
        yield client


@pytest.fixture
def person(server: OAuthServer) -> Iterator[Person]:
    with plain_client() as browser:
        signed_in = Person(server, browser)
        signed_in.sign_in()
        yield signed_in


def _document(site: Site, path: str, **changed: Any) -> str:
    """Publish the document of a client; its URL. changed: other facts; None: without that one."""
    url = site.origin + path
    facts = {"client_id": url, "client_name": "Notes", "redirect_uris": [REDIRECT], **changed}
    body = json.dumps({key: value for key, value in facts.items() if value is not None}).encode()
    site.documents[path] = Document(body)
    site.requests.clear()
    return url


def _program(server: OAuthServer, http: httpx2.Client, url: str) -> Program:
    return Program(server, http, {"client_id": url})


def test_a_client_comes_by_its_document_to_a_token(
    server: OAuthServer, site: Site, http: httpx2.Client, person: Person
) -> None:
    program = _program(server, http, _document(site, "/notes.json"))
    page = person.open_question(program.authorize_url())
    assert "Notes (localhost)" in page.text
    answer = program.exchange(person.allow(program))
    tokens = answer.json()
    again = program.refresh(tokens["refresh_token"])

    assert (answer.status_code, again.status_code) == (200, 200)
    grant = verify_token(Keyring(server.config.mirror), tokens["access_token"], server.resource)
    assert grant.actor.name == "Notes (localhost) for Ada"
    assert site.requests == ["/notes.json"]  # once for all of it


def test_metadata_offer_documents_only_where_an_operator_allows_them(
    server: OAuthServer, site: Site, http: httpx2.Client, tmp_path: Path
) -> None:
    metadata = f"{server.url}/.well-known/oauth-authorization-server"
    assert http.get(metadata).json()["client_id_metadata_document_supported"] is True
    config = Config(mirror=tmp_path / "other", data=tmp_path / "other data")
    url = _document(site, "/off.json")
    with oauth_server(config, tenant_in(config.mirror)) as closed:
        facts = http.get(f"{closed.url}/.well-known/oauth-authorization-server").json()
        refused = http.get(_program(closed, http, url).authorize_url())

    assert "client_id_metadata_document_supported" not in facts
    assert refused.status_code == 400
    assert site.requests == []


@pytest.mark.parametrize(
    "changed",
    [
        {"client_id": "https://localhost/other.json"},
        {"client_id": None},
        {"redirect_uris": None},
        {"redirect_uris": []},
        {"redirect_uris": ["http://client.example/callback"]},
        {"redirect_uris": ["cursor://callback"]},
        {"redirect_uris": "https://client.example/callback"},
        {"token_endpoint_auth_method": "client_secret_post"},
        {"token_endpoint_auth_method": "private_key_jwt"},
        {"client_secret": "a secret that everybody reads"},
    ],
)
def test_a_document_that_describes_no_public_client_is_none(
    server: OAuthServer, site: Site, http: httpx2.Client, changed: dict[str, Any]
) -> None:
    program = _program(server, http, _document(site, "/wrong.json", **changed))
    assert http.get(program.authorize_url()).status_code == 400


@pytest.mark.parametrize(
    "document",
    [
        Document(status=404),
        Document(b"{}", status=500),
        Document(status=302, headers=(("Location", "/notes.json"),)),
        Document(b"[" * 5000),
        Document(b"\xff\xfe"),
        Document(b"null"),
        Document(b"{}", kind="text/html"),
        Document(b" " * (MAX_DOCUMENT_BYTES + 1)),
    ],
)
def test_what_is_no_document_is_no_client(
    server: OAuthServer, site: Site, http: httpx2.Client, document: Document
) -> None:
    _document(site, "/notes.json")
    site.documents["/broken.json"] = document
    assert http.get(_program(server, http, f"{site.origin}/broken.json").authorize_url()).status_code == 400
    assert site.requests == ["/broken.json"]  # no redirect was followed


def test_a_code_goes_to_the_redirect_uris_of_the_document_only(
    server: OAuthServer, site: Site, http: httpx2.Client
) -> None:
    program = _program(server, http, _document(site, "/notes.json"))
    refused = http.get(program.authorize_url(redirect_uri="https://attacker.example/callback"))
    assert refused.status_code == 400
    assert "location" not in refused.headers


async def test_a_document_counts_while_its_site_is_silent_and_ends_when_it_says_something_else(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client_documents, "DOCUMENT_SECONDS", 0.0)
    monkeypatch.setattr(client_documents, "REFUSED_SECONDS", 0.0)
    documents = ClientDocuments(site.fetcher)
    url = _document(site, "/notes.json")
    assert await documents.find(url) is not None
    documents.fetcher = DocumentFetcher(may_reach=site.fetcher.may_reach)  # which does not know its certificate
    assert await documents.find(url) is not None
    documents.fetcher = site.fetcher
    _document(site, "/notes.json", client_id="https://localhost/other.json")
    assert await documents.find(url) is None


async def test_documents_are_fetched_a_few_times_a_minute_only(site: Site) -> None:
    documents = ClientDocuments(site.fetcher)
    urls = [_document(site, f"/{number}.json") for number in range(client_documents.MAX_FETCHES + 2)]
    clients = [await documents.find(url) for url in urls]
    assert [client is not None for client in clients] == [True] * client_documents.MAX_FETCHES + [False] * 2


def test_a_slow_site_is_left_after_the_time_for_a_document(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(document_fetching, "FETCH_SECONDS", 0.2)
    go_on = threading.Event()
    site.documents["/slow.json"] = Document(b"{}", go_on=go_on)
    try:
        with pytest.raises(Unavailable):
            site.fetcher.fetch(f"{site.origin}/slow.json")
    finally:
        go_on.set()


def test_nothing_is_asked_for_at_addresses_that_are_not_public(site: Site) -> None:
    url = _document(site, "/notes.json")
    with pytest.raises(Refused, match="does not connect"):
        DocumentFetcher(site.context).fetch(url)
    assert site.requests == []


@pytest.mark.parametrize(
    ("address", "is_public"),
    [
        ("93.184.216.34", True),
        ("2606:2800:220:1::1", True),
        ("127.0.0.1", False),
        ("10.1.2.3", False),
        ("169.254.169.254", False),
        ("0.0.0.0", False),
        ("224.0.0.1", False),
        ("::1", False),
        ("fe80::1%eth0", False),
        ("fd00::1", False),
        ("::ffff:127.0.0.1", False),
    ],
)
def test_addresses_of_this_machine_and_its_networks_are_not_public(address: str, is_public: bool) -> None:
    assert is_public_address(address) is is_public


@pytest.mark.parametrize(
    ("client_id", "is_url"),
    [
        ("https://client.example/notes.json", True),
        ("https://client.example:8443/a/b", True),
        ("https://client.example", False),
        ("https://client.example/", False),
        ("http://client.example/notes.json", False),
        ("https://user@client.example/notes.json", False),
        ("https://client.example/a/../notes.json", False),
        ("https://client.example/notes.json#part", False),
        ("https://client.example:99999/notes.json", False),
        ("https:///notes.json", False),
        ("https://client.example/notes json", False),
        ("https://client.example/" + "a" * 500, False),
        ("0b9a7c1e-0000-4000-8000-000000000000", False),
    ],
)
def test_only_plain_urls_with_a_path_name_documents(client_id: str, is_url: bool) -> None:
    assert is_document_url(client_id) is is_url
