"""People who sign in at an authorization server elsewhere: whose tokens count, for whom, and what they allow."""

import json
import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import httpx2
import jwt
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from mirrord.auth.access_grant import DAEMON_AUDIENCE, Rights
from mirrord.auth.issuer import issuer_keys
from mirrord.auth.issuer.issuer_keys import IssuerKeys
from mirrord.auth.issuer.issuer_settings import Issuer
from mirrord.auth.signed_tokens import Keyring, issue_token, signing_key, verify_token
from mirrord.config import Agents, Config
from mirrord.domain.entry import Actor
from mirrord.errors import Refused, UserError
from mirrord.mcp.admission import Tenant
from mirrord.mcp.oauth.external_issuer import create_issuer
from tests.support.clients import Agent, tenant_in
from tests.support.commands import commands_on_files
from tests.support.document_sites import Document, Site, serving_site
from tests.support.oauth_clients import issuer_server, plain_client

HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}},
}
PEOPLE = {"ada@example.com": "write", "ben@example.com": "review", "cara@example.com": "read"}


@dataclass(slots=True)
class SignIns:
    """An authorization server at *site*, and the server for agents at *url* that accepts its tokens."""

    site: Site
    config: Config
    tenant: Tenant
    url: str = ""
    keys: dict[str, Any] = field(default_factory=dict)

    def publish(self, **keys: Any) -> None:
        """Publish these private keys' public ones, by their ids."""
        self.keys = keys
        published = []
        for name, key in keys.items():
            algorithm = (
                jwt.algorithms.RSAAlgorithm if isinstance(key, rsa.RSAPrivateKey) else jwt.algorithms.ECAlgorithm
            )
            published.append({**json.loads(algorithm.to_jwk(key.public_key())), "kid": name, "use": "sig"})
        self.site.documents["/keys.json"] = Document(json.dumps({"keys": published}).encode())
        metadata = {"issuer": self.site.origin, "jwks_uri": f"{self.site.origin}/keys.json"}
        self.site.documents["/.well-known/openid-configuration"] = Document(json.dumps(metadata).encode())

    def token(self, key: str = "one", algorithm: str = "RS256", **changed: Any) -> str:
        """A token for Ada, signed with the key of this id. changed: other claims; None: without that one."""
        claims = {
            "iss": self.site.origin,
            "aud": f"{self.url}/mcp",
            "exp": int(time.time()) + 300,
            "sub": "248289761001",
            "email": "ada@example.com",
            "client_id": "notes-app",
            **changed,
        }
        present = {name: value for name, value in claims.items() if value is not None}
        return jwt.encode(present, self.keys[key], algorithm, headers={"kid": key})

    def status(self, token: str) -> int:
        """The status of a first request with *token*."""
        headers = {"accept": "application/json, text/event-stream", "authorization": f"Bearer {token}"}
        with plain_client() as client:
            return client.post(f"{self.url}/mcp", json=HELLO, headers=headers).status_code


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with serving_site(tmp_path_factory.mktemp("site")) as serving:
        yield serving


@pytest.fixture(scope="module")
def keys() -> dict[str, Any]:
    return {"one": rsa.generate_private_key(65537, 2048), "two": ec.generate_private_key(ec.SECP256R1())}


@pytest.fixture
def sign_ins(tmp_path: Path, site: Site, keys: dict[str, Any]) -> Iterator[SignIns]:
    config = Config(mirror=tmp_path / "mirror", data=tmp_path / "data", agents=Agents(local_trust=False))
    tenant = tenant_in(config.mirror, pages={"Welcome.md": "# Welcome\n"})
    serving = SignIns(site, config, tenant)
    serving.publish(one=keys["one"])
    with issuer_server(config, tenant, Issuer(site.origin, "", PEOPLE, "email"), site.fetcher) as url:
        serving.url = url
        yield serving


async def test_a_person_of_the_table_works_with_a_token_of_the_issuer(sign_ins: SignIns) -> None:
    headers = {"authorization": f"Bearer {sign_ins.token()}"}
    async with (
        httpx2.AsyncClient(verify=False, headers=headers, timeout=60) as bare,
        Client(streamable_http_client(f"{sign_ins.url}/mcp", http_client=bare)) as client,
    ):
        agent = Agent(client)
        await agent.call("write_page", path="New.md", content="# New\n")

    (file,) = (sign_ins.tenant.root / ".records/events").glob("*.jsonl")
    event = json.loads(file.read_text(encoding="utf-8").splitlines()[-1])
    assert event["actor"] == {"kind": "agent", "name": "notes-app for ada@example.com"}


@pytest.mark.parametrize(("person", "rights"), [*PEOPLE.items()])
def test_rights_are_those_of_the_table(sign_ins: SignIns, person: str, rights: str) -> None:
    issuer = create_issuer(
        sign_ins.config, sign_ins.tenant, Issuer(sign_ins.site.origin, sign_ins.url, PEOPLE, "email")
    )
    issuer.keys.fetcher = sign_ins.site.fetcher
    grant = issuer.verify(sign_ins.token(email=person))
    _, request_token = issuer.lasting_grant(grant)
    request_grant = verify_token(Keyring(sign_ins.config.mirror), request_token, DAEMON_AUDIENCE)

    assert (grant.may_write, grant.is_reviewed) == (rights != "read", rights == "review")
    assert (request_grant.actor, request_grant.may_write) == (grant.actor, grant.may_write)
    assert request_grant.is_reviewed == grant.is_reviewed
    assert issuer.verify(sign_ins.token(email=person, jti="another")).token == grant.token
    assert issuer.lasting_grant(grant)[1] == request_token  # change sets stay the person's


@pytest.mark.parametrize(
    "changed",
    [
        {"email": "eve@example.com"},
        {"email": "ADA@example.com"},
        {"email": None},
        {"email": ["ada@example.com"]},
        {"email_verified": False},
        {"aud": "https://other.example/mcp"},
        {"aud": None},
        {"iss": "https://other.example"},
        {"iss": None},
        {"exp": int(time.time()) - 60},
        {"exp": None},
        {"nbf": int(time.time()) + 600},
    ],
)
def test_other_tokens_of_the_issuer_let_nobody_in(sign_ins: SignIns, changed: dict[str, Any]) -> None:
    assert sign_ins.status(sign_ins.token()) == 200
    assert sign_ins.status(sign_ins.token(**changed)) == 401


def test_a_token_that_the_issuer_did_not_sign_lets_nobody_in(sign_ins: SignIns, keys: dict[str, Any]) -> None:
    claims = jwt.decode(sign_ins.token(), options={"verify_signature": False})
    encoding, form = serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    public = keys["one"].public_key().public_bytes(encoding, form)
    headers = {"kid": "one"}
    stranger = rsa.generate_private_key(65537, 2048)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(jwt.algorithms.HMACAlgorithm, "prepare_key", lambda _, key: key)  # which refuses public keys
        confused = jwt.encode(claims, public, "HS256", headers=headers)
    forged = [
        jwt.encode(claims, stranger, "RS256", headers=headers),
        jwt.encode(claims, stranger, "RS256", headers={"kid": "unknown"}),
        jwt.encode(claims, "", "none", headers=headers),
        confused,
        sign_ins.token()[:-4] + "AAAA",
        "a.b.c",
    ]
    assert [sign_ins.status(token) for token in forged] == [401] * len(forged)


def test_new_keys_of_the_issuer_count_and_old_ones_no_longer(
    sign_ins: SignIns, keys: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    old = sign_ins.token()
    assert sign_ins.status(old) == 200
    monkeypatch.setattr(issuer_keys, "RETRY_SECONDS", 0.0)
    sign_ins.publish(two=keys["two"])
    assert sign_ins.status(sign_ins.token("two", "ES256")) == 200
    assert sign_ins.status(old) == 401


def test_keys_that_are_known_count_while_the_issuer_is_silent(
    sign_ins: SignIns, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(issuer_keys, "KEYS_SECONDS", 0.0)
    assert sign_ins.status(sign_ins.token()) == 200
    sign_ins.site.documents.clear()
    sign_ins.site.requests.clear()
    assert sign_ins.status(sign_ins.token()) == 200
    assert sign_ins.site.requests


def test_unknown_keys_make_one_look_a_minute(sign_ins: SignIns, keys: dict[str, Any]) -> None:
    assert sign_ins.status(sign_ins.token()) == 200
    sign_ins.site.requests.clear()
    for name in ("unknown", "another"):
        forged = jwt.encode({"iss": sign_ins.site.origin}, keys["one"], "RS256", headers={"kid": name})
        assert sign_ins.status(forged) == 401
    assert sign_ins.site.requests == []  # the keys were read just now
    assert sign_ins.status(sign_ins.token()) == 200


def test_keys_may_be_a_file(sign_ins: SignIns, tmp_path: Path) -> None:
    file = tmp_path / "keys.json"
    file.write_bytes(sign_ins.site.documents["/keys.json"].body)
    settings = Issuer(sign_ins.site.origin, sign_ins.url, PEOPLE, "email", file)
    issuer = create_issuer(sign_ins.config, sign_ins.tenant, settings)
    sign_ins.site.documents.clear()

    assert issuer.verify(sign_ins.token()).actor.name == "notes-app for ada@example.com"


def test_metadata_of_another_issuer_give_no_keys(sign_ins: SignIns) -> None:
    metadata = {"issuer": "https://other.example", "jwks_uri": f"{sign_ins.site.origin}/keys.json"}
    sign_ins.site.documents["/.well-known/openid-configuration"] = Document(json.dumps(metadata).encode())
    with pytest.raises(Exception, match="another issuer"):
        IssuerKeys(sign_ins.site.origin, fetcher=sign_ins.site.fetcher).find("one")


def test_an_operator_ends_the_access_of_a_person(sign_ins: SignIns, tmp_path: Path) -> None:
    assert sign_ins.status(sign_ins.token()) == 200
    run = commands_on_files(tmp_path)
    (listed,) = json.loads(run("tenant", "clients", "--json").out)
    assert listed["person"] == "ada@example.com"
    run("tenant", "revoke", listed["id"])

    assert sign_ins.status(sign_ins.token()) == 401
    assert sign_ins.status(sign_ins.token(email="ben@example.com")) == 200


def test_clients_learn_where_to_sign_in_and_tokens_of_mirrord_count_beside(sign_ins: SignIns) -> None:
    with plain_client() as client:
        metadata = client.get(f"{sign_ins.url}/.well-known/oauth-protected-resource/mcp").json()
        refused = client.post(f"{sign_ins.url}/mcp", json=HELLO)
    private = signing_key(sign_ins.config.data, Keyring(sign_ins.config.mirror))
    tenant = sign_ins.tenant
    own_token, _ = issue_token(private, tenant.name, tenant.id, Actor("agent", "own"), rights=Rights(), expires=None)

    assert metadata["authorization_servers"] == [sign_ins.site.origin]
    assert metadata["resource"] == f"{sign_ins.url}/mcp"
    assert "oauth-protected-resource" in refused.headers["www-authenticate"]
    assert sign_ins.status(own_token) == 200


def test_people_sign_in_at_one_place(sign_ins: SignIns) -> None:
    both = replace(sign_ins.config, agents=Agents(oauth="https://pages.example"))
    settings = Issuer(sign_ins.site.origin, "https://pages.example", PEOPLE)
    with pytest.raises(UserError, match="one place"):
        create_issuer(both, sign_ins.tenant, settings)
    with pytest.raises(UserError, match=r"mcp\.issuer\.url"):
        create_issuer(sign_ins.config, sign_ins.tenant, replace(settings, url="http://login.example"))


def test_a_token_without_a_person_is_refused_in_a_sentence_that_does_not_repeat_it(sign_ins: SignIns) -> None:
    issuer = create_issuer(
        sign_ins.config, sign_ins.tenant, Issuer(sign_ins.site.origin, sign_ins.url, PEOPLE, "email")
    )
    issuer.keys.fetcher = sign_ins.site.fetcher
    token = sign_ins.token(email="eve@example.com")
    with pytest.raises(Refused) as refusal:
        issuer.verify(token)
    assert token not in str(refusal.value)


@pytest.mark.parametrize(
    "path", ["/.well-known/oauth-authorization-server/realms/a", "/realms/a/.well-known/openid-configuration"]
)
def test_an_issuer_with_a_path_publishes_its_metadata_in_one_of_two_places(sign_ins: SignIns, path: str) -> None:
    issuer = f"{sign_ins.site.origin}/realms/a"
    metadata = {"issuer": issuer, "jwks_uri": f"{sign_ins.site.origin}/keys.json"}
    sign_ins.site.documents[path] = Document(json.dumps(metadata).encode())
    assert IssuerKeys(issuer, fetcher=sign_ins.site.fetcher).find("one").key_type == "RSA"
    del sign_ins.site.documents[path]
