"""Hosted clients sign in by OAuth: a person allows them, tokens are for one server, and what is stolen is worthless."""

import json
import re
import stat
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from urllib.parse import urlsplit

import httpx2
import pytest
from mcp import Client
from mcp.client.auth import OAuthClientProvider
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import AuthorizationCodeResult, OAuthClientInformationFull, OAuthClientMetadata, OAuthToken
from pydantic import AnyUrl

from mirrord.auth import delegations
from mirrord.auth.access_grant import DAEMON_AUDIENCE
from mirrord.auth.roles import Role
from mirrord.auth.signed_tokens import Keyring, verify_token
from mirrord.config import Config
from mirrord.errors import Refused, UserError
from mirrord.mcp.oauth import authorization_codes, client_registry
from mirrord.mcp.oauth.oauth_routes import check_origin
from tests.support.clients import Agent, tenant_in
from tests.support.commands import commands_on_files
from tests.support.oauth_clients import (
    REDIRECT,
    OAuthServer,
    Person,
    Program,
    hidden_fields,
    oauth_server,
    parameters_of,
    plain_client,
)

HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}},
}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OAuthServer]:
    base = tmp_path_factory.mktemp("oauth")
    config = Config(mirror=base / "mirror", data=base / "data")
    tenant = tenant_in(config.mirror, pages={"Welcome.md": "# Welcome\n"})
    with oauth_server(config, tenant) as serving:
        yield serving


@pytest.fixture
def http() -> Iterator[httpx2.Client]:
    with plain_client() as client:
        yield client


@pytest.fixture
def program(server: OAuthServer, http: httpx2.Client, monkeypatch: pytest.MonkeyPatch) -> Program:
    monkeypatch.setattr(server.provider.clients._rate, "limit", 0)
    registered = Program(server, http)
    assert registered.register().status_code == 201
    return registered


@pytest.fixture
def person(server: OAuthServer) -> Iterator[Person]:
    with plain_client() as browser:
        signed_in = Person(server, browser)
        signed_in.sign_in()
        yield signed_in


ENDPOINTS = (
    ("GET", "/.well-known/oauth-authorization-server"),
    ("GET", "/.well-known/oauth-protected-resource/mcp"),
    ("GET", "/authorize"),
    ("POST", "/authorize"),
    ("POST", "/register"),
    ("POST", "/token"),
    ("POST", "/revoke"),
    ("GET", "/consent"),
    ("POST", "/consent"),
)


@pytest.mark.parametrize(("method", "path"), ENDPOINTS)
def test_a_foreign_page_in_a_browser_reaches_no_endpoint(
    server: OAuthServer, http: httpx2.Client, method: str, path: str
) -> None:
    """A page of another site whose name leads to this server (DNS rebinding) has that name as Host and Origin."""
    url, own_host = f"{server.url}{path}", urlsplit(server.url).netloc
    assert http.request(method, url, headers={"host": "evil.example"}).status_code == 421
    assert http.request(method, url, headers={"host": "localhost.evil.example:80"}).status_code == 421
    assert http.request(method, url, headers={"origin": "http://evil.example"}).status_code == 403
    for headers in ({}, {"origin": server.url, "host": own_host}):
        answer = http.request(method, url, headers=headers)
        assert answer.text not in ("Invalid Host header", "Invalid Origin header")


def status_with(url: str, token: str) -> int:
    headers = {"accept": "application/json, text/event-stream", "authorization": f"Bearer {token}"}
    with plain_client() as client:
        return client.post(url, json=HELLO, headers=headers).status_code


class Storage:
    """What a client remembers."""

    def __init__(self) -> None:
        self.tokens: OAuthToken | None = None
        self.client: OAuthClientInformationFull | None = None

    async def get_tokens(self) -> OAuthToken | None:
        return self.tokens

    async def set_tokens(self, tokens: OAuthToken) -> None:
        self.tokens = tokens

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return self.client

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        self.client = client_info


@pytest.mark.parametrize("mode", ["legacy", "2026-07-28"])
async def test_a_client_comes_from_nothing_to_a_tool_call_by_a_persons_consent(
    server: OAuthServer, person: Person, mode: str
) -> None:
    answers: list[dict[str, str]] = []

    async def consent(url: str) -> None:
        answers.append(parameters_of(person.answer(person.open_question(url))))

    async def callback() -> AuthorizationCodeResult:
        return AuthorizationCodeResult(code=answers[-1]["code"], state=answers[-1]["state"], iss=answers[-1]["iss"])

    metadata = OAuthClientMetadata(client_name="Claude", redirect_uris=[AnyUrl(REDIRECT)])
    storage = Storage()
    auth = OAuthClientProvider(server.resource, metadata, storage, consent, callback)
    async with (
        httpx2.AsyncClient(auth=auth, timeout=60) as bare,
        Client(streamable_http_client(server.resource, http_client=bare), mode=mode) as client,
    ):
        agent = Agent(client)
        await agent.call("write_page", path=f"By {mode}.md", content="# New\n")
        first = storage.tokens
        auth.context.token_expiry_time = 1.0  # the client refreshes, and the session goes on
        page = await agent.call("read_page", path="Welcome.md")
    assert page["content"] == "# Welcome\n"
    assert len(answers) == 1
    assert storage.tokens is not None
    assert storage.tokens != first
    assert storage.tokens.scope == "read write"
    grant = verify_token(Keyring(server.config.mirror), storage.tokens.access_token, server.resource)
    assert (grant.actor.name, grant.tenant_id) == ("Claude for Ada", server.tenant.id)


def test_without_a_token_the_server_says_where_to_get_one(server: OAuthServer, http: httpx2.Client) -> None:
    refusal = http.post(server.resource, json=HELLO)
    resource_metadata = f"{server.url}/.well-known/oauth-protected-resource/mcp"
    assert refusal.status_code == 401
    assert f'resource_metadata="{resource_metadata}"' in refusal.headers["www-authenticate"]
    resource = http.get(resource_metadata).json()
    assert (resource["resource"], resource["authorization_servers"]) == (server.resource, [server.url])
    assert resource["scopes_supported"] == ["read", "write", "review"]
    issuer = http.get(f"{server.url}/.well-known/oauth-authorization-server").json()
    assert (issuer["issuer"], issuer["code_challenge_methods_supported"]) == (server.url, ["S256"])
    assert issuer["token_endpoint_auth_methods_supported"][0] == "none"


def test_metadata_and_pages_have_no_secrets(server: OAuthServer, program: Program, person: Person) -> None:
    gate_key = (server.config.data / "console" / "key").read_bytes().hex()
    texts = [
        program.http.get(f"{server.url}/.well-known/{name}").text
        for name in ("oauth-authorization-server", "oauth-protected-resource/mcp")
    ]
    texts.append(person.open_question(program.authorize_url()).text)
    for text in texts:
        assert gate_key not in text
        assert str(server.config.data) not in text
        assert str(server.tenant.id) not in text


@pytest.mark.parametrize(
    ("rights", "scope", "may_write", "is_reviewed"),
    [("read", "read", False, False), ("review", "read review", True, True), ("write", "read write", True, False)],
)
def test_a_person_decides_what_a_client_may_do(
    server: OAuthServer, program: Program, person: Person, rights: str, scope: str, may_write: bool, is_reviewed: bool
) -> None:
    tokens = program.exchange(person.allow(program, rights)).json()
    grant = verify_token(Keyring(server.config.mirror), tokens["access_token"], server.resource)
    assert (tokens["scope"], grant.may_write, grant.is_reviewed) == (scope, may_write, is_reviewed)
    assert status_with(server.resource, tokens["access_token"]) == 200


def test_a_client_gets_no_more_than_it_asks_for(program: Program, person: Person) -> None:
    page = person.open_question(program.authorize_url(scope="read"))
    assert 'value="write"' not in page.text
    assert person.answer(page, rights="write").status_code == 400
    assert program.exchange(parameters_of(person.answer(page, rights="read"))["code"]).json()["scope"] == "read"


def test_a_refusal_reaches_the_client(program: Program, person: Person) -> None:
    response = person.answer(person.open_question(program.authorize_url()), decision="deny")
    assert response.headers["location"].startswith(f"{REDIRECT}?")
    assert parameters_of(response) == {"error": "access_denied", "state": "st&te", "iss": program.server.url}


# Attacks on codes


@pytest.mark.parametrize(
    "changed",
    [
        {"code_verifier": "x" * 64},
        {"redirect_uri": "https://client.example/other"},
        {"code": "guessed"},
    ],
)
def test_a_code_needs_its_verifier_and_its_redirect_uri(
    program: Program, person: Person, changed: dict[str, str]
) -> None:
    code = person.allow(program)
    assert program.exchange(**{"code": code, **changed}).status_code == 400
    assert program.exchange(code).status_code == 200


def test_a_replayed_code_ends_what_it_was_exchanged_for(server: OAuthServer, program: Program, person: Person) -> None:
    code = person.allow(program)
    tokens = program.exchange(code).json()
    assert status_with(server.resource, tokens["access_token"]) == 200
    assert program.exchange(code).json()["error"] == "invalid_grant"
    assert status_with(server.resource, tokens["access_token"]) == 401
    assert program.refresh(tokens["refresh_token"]).status_code == 400


def test_a_code_is_of_one_client_only(server: OAuthServer, program: Program, person: Person) -> None:
    thief = Program(server, program.http, verifier=program.verifier)
    thief.register(client_name="Thief")
    code = person.allow(program)
    assert thief.exchange(code).json()["error"] == "invalid_grant"
    assert thief.exchange(code, client_id="no-such-client").status_code == 401
    assert program.exchange(code).status_code == 200


def test_a_code_expires(program: Program, person: Person, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(authorization_codes, "CODE_SECONDS", -1)
    assert program.exchange(person.allow(program)).json()["error"] == "invalid_grant"


def test_a_client_with_a_secret_has_to_show_it(server: OAuthServer, program: Program, person: Person) -> None:
    program.register(token_endpoint_auth_method="client_secret_post")
    secret = program.facts["client_secret"]
    code = person.allow(program)
    assert program.exchange(code).status_code == 401
    assert program.exchange(code, client_secret="wrong").status_code == 401
    assert program.exchange(code, client_secret=secret).status_code == 200


@pytest.mark.parametrize(
    "changed",
    [
        {"code_challenge_method": "plain"},
        {"code_challenge": None},
        {"code_challenge": "short"},
        {"response_type": "token"},
        {"scope": "admin"},
        {"resource": "https://other.example/mcp"},
        {"state": "x" * 5_000},
        {"redirect_uri": "https://evil.example/"},
        {"redirect_uri": f"{REDIRECT}/../evil"},
        {"redirect_uri": f"{REDIRECT}?more=1"},
        {"client_id": "../../etc/passwd"},
    ],
)
def test_a_wrong_request_is_shown_and_leads_nowhere(program: Program, changed: dict[str, str | None]) -> None:
    response = program.http.get(program.authorize_url(**changed))
    assert response.status_code == 400
    assert "location" not in response.headers
    assert response.json()["error"]


# Attacks on tokens


def test_a_refresh_token_works_once_and_its_second_use_ends_all(
    server: OAuthServer, program: Program, person: Person
) -> None:
    first = program.exchange(person.allow(program)).json()
    second = program.refresh(first["refresh_token"]).json()
    assert second["refresh_token"] != first["refresh_token"]
    assert [status_with(server.resource, tokens["access_token"]) for tokens in (first, second)] == [200, 200]
    assert program.refresh(first["refresh_token"]).json()["error"] == "invalid_grant"
    assert [status_with(server.resource, tokens["access_token"]) for tokens in (first, second)] == [401, 401]
    assert program.refresh(second["refresh_token"]).json()["error"] == "invalid_grant"


def test_refresh_tokens_that_were_not_issued_end_nothing(program: Program, person: Person) -> None:
    token = program.exchange(person.allow(program)).json()["refresh_token"]
    number, _, mac = token.split(".")
    forged = [f"{number}.1.{mac}", f"{number}.0.{'0' * 64}", f"{number}.x.{mac}", "../lock.0." + mac, ""]
    assert [program.refresh(text).status_code for text in forged] == [400] * len(forged)
    assert program.refresh(token, scope="read").json()["error"] == "invalid_scope"
    assert program.refresh(token).status_code == 200


def test_a_refresh_token_is_of_one_client_only(server: OAuthServer, program: Program, person: Person) -> None:
    token = program.exchange(person.allow(program)).json()["refresh_token"]
    thief = Program(server, program.http)
    thief.register(client_name="Thief")
    assert thief.refresh(token).json()["error"] == "invalid_grant"
    assert program.refresh(token).status_code == 200


def test_an_access_token_expires(
    server: OAuthServer, program: Program, person: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(delegations, "ACCESS_SECONDS", -1)
    tokens = program.exchange(person.allow(program)).json()
    assert status_with(server.resource, tokens["access_token"]) == 401


def test_a_token_is_for_one_server_and_tenant(
    server: OAuthServer, program: Program, person: Person, tmp_path: Path
) -> None:
    token = program.exchange(person.allow(program)).json()["access_token"]
    keyring = Keyring(server.config.mirror)
    for audience in (None, DAEMON_AUDIENCE, "https://other.example/mcp"):
        with pytest.raises(Refused, match="another server"):
            verify_token(keyring, token, audience)
    rival = tenant_in(server.config.mirror, f"rival-{tmp_path.name[-8:].replace('_', '-')}")
    with oauth_server(server.config, rival) as elsewhere:
        assert status_with(elsewhere.resource, token) == 401
        maker = replace(elsewhere.provider.tokens, tenant="demo")
        delegation = server.provider.delegations.list_all()[-1]
        assert status_with(server.resource, maker.access_token(delegation)[0]) == 401


def test_the_token_of_requests_is_no_token_for_a_server(server: OAuthServer, program: Program, person: Person) -> None:
    program.exchange(person.allow(program))
    delegation = server.provider.delegations.list_all()[-1]
    token = server.provider.tokens.request_token(delegation)
    assert token == server.provider.tokens.request_token(delegation)
    assert status_with(server.resource, token) == 401
    assert verify_token(Keyring(server.config.mirror), token, DAEMON_AUDIENCE).actor.name == "Notes for Ada"


@pytest.mark.parametrize("kind", ["access_token", "refresh_token"])
def test_a_client_gives_its_access_back(server: OAuthServer, program: Program, person: Person, kind: str) -> None:
    tokens = program.exchange(person.allow(program)).json()
    thief = Program(server, program.http)
    thief.register(client_name="Thief")
    assert thief.revoke(tokens[kind]).status_code == 200
    assert status_with(server.resource, tokens["access_token"]) == 200
    assert program.revoke(tokens[kind]).status_code == 200
    assert status_with(server.resource, tokens["access_token"]) == 401
    assert program.refresh(tokens["refresh_token"]).status_code == 400


def test_an_operator_lists_who_has_access_and_ends_it(server: OAuthServer, program: Program, person: Person) -> None:
    tokens = program.exchange(person.allow(program)).json()
    run = commands_on_files(server.config.data.parent)
    listed = {facts["id"]: facts for facts in json.loads(run("tenant", "clients", "--json").out)}
    facts = listed[tokens["refresh_token"].split(".")[0]]
    assert (facts["actor"], facts["scope"], facts["server"]) == ("Notes for Ada", "write", server.resource)
    assert f"{facts['id']}  Notes for Ada  write" in run("tenant", "clients").out
    assert run("tenant", "revoke", facts["id"]).code == 0
    assert facts["id"] not in run("tenant", "clients").out
    assert status_with(server.resource, tokens["access_token"]) == 401
    assert program.refresh(tokens["refresh_token"]).status_code == 400


# Attacks on the person's page


def test_the_page_shows_who_asks_and_cannot_be_framed(program: Program, person: Person) -> None:
    program.register(client_name='<script>alert("x")</script>\n' + "Long " * 50)
    page = person.open_question(program.authorize_url())
    policy = page.headers["content-security-policy"]
    assert "&lt;script&gt;" in page.text
    assert "<script" not in page.text
    assert REDIRECT in page.text
    assert page.headers["x-frame-options"] == "DENY"
    assert "frame-ancestors 'none'" in policy
    assert "form-action 'self' https://client.example;" in policy


@pytest.mark.parametrize("attack", ["no csrf", "other session", "origin", "site", "host"])
def test_an_answer_comes_from_the_page_that_asked(
    server: OAuthServer, program: Program, person: Person, attack: str
) -> None:
    page = person.open_question(program.authorize_url())
    form = {**hidden_fields(page.text), "decision": "allow", "rights": "write"}
    headers: dict[str, str] = {}
    if attack == "no csrf":
        del form["csrf"]
    elif attack == "other session":
        person.sign_in(name="Eve")
    else:
        headers = {
            "origin": {"origin": "https://evil.example"},
            "site": {"sec-fetch-site": "cross-site"},
            "host": {"host": "evil.example"},
        }[attack]
    response = person.http.post(f"{server.url}/consent", data=form, headers=headers)
    assert response.status_code == (421 if attack == "host" else 403)
    assert "location" not in response.headers


def test_a_request_is_answered_once_and_cannot_be_made_up(
    server: OAuthServer, program: Program, person: Person
) -> None:
    page = person.open_question(program.authorize_url())
    assert person.answer(page).status_code == 303
    assert person.answer(page).status_code == 400
    gate = server.provider.gate
    other_purpose = gate.seal("session", {"id": "1"}, 60)
    for sealed in ("", "x.y.z", other_purpose, hidden_fields(page.text)["request"][:-2]):
        assert person.http.get(f"{server.url}/consent", params={"request": sealed}).status_code == 400


def test_who_is_not_signed_in_signs_in_with_a_link(server: OAuthServer, program: Program) -> None:
    gate = server.provider.gate
    link = f"http://127.0.0.1:7447/sign-in?token={gate.invite('Ben', server.tenant.id)}"
    with plain_client() as browser:
        person = Person(server, browser)
        page = person.open_question(program.authorize_url())
        assert page.status_code == 401
        form = hidden_fields(page.text)
        sign_in = f"{server.url}/consent/sign-in"
        assert browser.post(sign_in, data={**form, "link": "guess"}).status_code == 403
        assert browser.post(sign_in, data={**form, "link": link}, headers={"origin": "null"}).status_code == 403
        response = browser.post(sign_in, data={**form, "link": link})
        assert "HttpOnly" in response.headers["set-cookie"]
        assert urlsplit(response.headers["location"]).netloc == ""
        question = browser.get(f"{server.url}{response.headers['location']}")
        code = parameters_of(person.answer(question))["code"]
        assert browser.post(sign_in, data={**form, "link": link}).status_code == 400
    assert program.exchange(code).status_code == 200


def test_a_reader_lets_a_program_read_and_nothing_more(server: OAuthServer, program: Program) -> None:
    with plain_client() as browser:
        reader = Person(server, browser)
        reader.sign_in(server.tenant.id, "Rea", Role.READER)
        page = reader.open_question(program.authorize_url())
        assert re.findall(r'name="rights" value="(\w+)"', page.text) == ["read"]
        assert [reader.answer(page, rights=rights).status_code for rights in ("write", "review")] == [400, 400]
        code = parameters_of(reader.answer(page, rights="read"))["code"]
    assert program.exchange(code).json()["scope"] == "read"


def test_people_of_another_tenant_decide_nothing_here(server: OAuthServer, program: Program, tmp_path: Path) -> None:
    with plain_client() as browser:
        stranger = Person(server, browser)
        stranger.sign_in(tenant_in(tmp_path).id)
        assert stranger.open_question(program.authorize_url()).status_code == 401


# Registration


@pytest.mark.parametrize(
    "uri",
    [
        "http://client.example/callback",
        "javascript:alert(1)",
        "cursor://callback",
        "https://user@client.example/",
        "https://client.example/#fragment",
        "http://127.0.0.1.evil.example/",
        "https://client.example/" + "x" * 600,
    ],
)
def test_redirect_uris_are_of_sites_with_tls_or_of_the_persons_machine(program: Program, uri: str) -> None:
    assert program.register(redirect_uris=[uri]).status_code == 400
    assert program.register(redirect_uris=["http://127.0.0.1:4321/x", "http://localhost/x"]).status_code == 201


def test_registrations_are_limited_in_size_number_and_rate(
    server: OAuthServer, program: Program, person: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    registry = server.provider.clients
    assert program.exchange(person.allow(program)).status_code == 200
    connected = program.facts["client_id"]
    assert program.register(client_name="x" * (32 << 10)).status_code == 413
    assert program.register(redirect_uris=[f"https://client.example/{index}" for index in range(11)]).status_code == 400
    monkeypatch.setattr(client_registry, "MAX_CLIENTS", 60)
    assert {program.register().status_code for _ in range(60)} == {201}
    assert len(list(registry.directory.glob("*.json"))) <= 60
    assert registry.find(connected) is not None
    monkeypatch.setattr(registry._rate, "limit", 3)
    assert program.register().status_code == 429


# State


def test_clients_and_their_access_outlive_a_restart_in_private_files(tmp_path: Path) -> None:
    config = Config(mirror=tmp_path / "mirror", data=tmp_path / "data")
    tenant = tenant_in(config.mirror)
    with plain_client() as client, plain_client() as browser:
        with oauth_server(config, tenant) as first:
            program, person = Program(first, client), Person(first, browser)
            person.sign_in()
            program.register()
            tokens = program.exchange(person.allow(program)).json()
        with oauth_server(config, tenant, urlsplit(first.url).port or 0) as again:
            assert status_with(again.resource, tokens["access_token"]) == 200
            assert program.refresh(tokens["refresh_token"]).status_code == 200
    files = [file for file in (config.data / "oauth").rglob("*") if file.is_file()]
    assert {stat.S_IMODE(file.stat().st_mode) for file in files} == {0o600}
    assert stat.S_IMODE((config.data / "oauth" / str(tenant.id) / "clients").stat().st_mode) == 0o700
    stored = json.dumps([file.read_text(encoding="utf-8") for file in files])
    assert tokens["access_token"] not in stored
    assert tokens["refresh_token"] not in stored


@pytest.mark.parametrize("url", ["http://pages.example", "https://pages.example/path", "pages.example", "https://a@b"])
def test_the_address_for_oauth_is_an_origin_with_tls(url: str) -> None:
    with pytest.raises(UserError, match="no address for OAuth"):
        check_origin(url)
