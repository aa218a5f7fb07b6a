"""Attacks on sign-in with accounts: forged tokens and metadata, and answers that belong to another browser."""

import base64
import hmac
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import jwt
import orjson
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

from mirrord.auth.issuer.issuer_settings import AccountIssuer
from mirrord.auth.issuer.openid_issuer import OpenIdIssuer, SignInAttempt, person_of
from mirrord.errors import Refused
from tests.support.browsing import Answer, Browser
from tests.support.commands import Near
from tests.support.document_sites import Document, Site, serving_site
from tests.support.editors import save
from tests.support.harness import Mirrord
from tests.support.openid_providers import free_port, serving_provider

ATTEMPT = SignInAttempt("state", "nonce", "verifier")
METADATA = "/.well-known/openid-configuration"
KEY, OTHER_KEY = (ec.generate_private_key(ec.SECP256R1()) for _ in range(2))


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with serving_site(tmp_path_factory.mktemp("site")) as served:
        public = json.loads(jwt.algorithms.ECAlgorithm.to_jwk(KEY.public_key()))
        keys = {"keys": [{**public, "kid": "one", "use": "sig", "alg": "ES256"}]}
        served.documents["/jwks"] = Document(json.dumps(keys).encode())
        yield served


def metadata_of(site: Site, **changes: str) -> dict[str, str]:
    paths = {"authorization_endpoint": "/authorize", "token_endpoint": "/token", "jwks_uri": "/jwks"}
    return {"issuer": site.origin} | {name: site.origin + path for name, path in paths.items()} | changes


@pytest.fixture
def issuer(site: Site) -> OpenIdIssuer:
    site.documents[METADATA] = Document(json.dumps(metadata_of(site)).encode())
    return OpenIdIssuer(AccountIssuer(site.origin, "console", "https://notes.example"), site.fetcher)


def claims_of(site: Site, **changes: Any) -> dict[str, Any]:
    now = int(time.time())
    claims = {"iss": site.origin, "aud": "console", "sub": "1", "iat": now, "exp": now + 60, "nonce": "nonce"}
    claims |= {"email": "ada@example.org", "email_verified": True} | changes
    return {name: value for name, value in claims.items() if value is not None}


def give(site: Site, token: object) -> None:
    """Let the provider answer this token."""
    site.documents["/token"] = Document(json.dumps({"id_token": token}).encode())


def signed(claims: dict[str, Any], key: Any = KEY, algorithm: str = "ES256", kid: str = "one") -> str:
    return jwt.encode(claims, key, algorithm, headers={"kid": kid})


def test_a_person_is_who_the_verified_token_says(site: Site, issuer: OpenIdIssuer) -> None:
    give(site, signed(claims_of(site)))
    assert person_of(issuer.redeem("code", ATTEMPT), "email") == "ada@example.org"


CHANGES: dict[str, dict[str, Any]] = {
    "another nonce": {"nonce": "other"},
    "no nonce": {"nonce": None},
    "a nonce that is no text": {"nonce": 7},
    "another audience": {"aud": "other"},
    "no audience": {"aud": None},
    "another program among audiences": {"aud": ["console", "other"], "azp": "other"},
    "another issuer": {"iss": "https://evil.example"},
    "no issuer": {"iss": None},
    "over": {"exp": 1},
    "no end": {"exp": None},
    "no beginning": {"iat": None},
    "no person": {"sub": None},
}


@pytest.mark.parametrize("changes", CHANGES.values(), ids=CHANGES)
def test_a_token_with_wrong_claims_is_refused(site: Site, issuer: OpenIdIssuer, changes: dict[str, Any]) -> None:
    give(site, signed(claims_of(site, **changes)))
    with pytest.raises(Refused):
        issuer.redeem("code", ATTEMPT)


FORGERIES = (
    *("another key", "an unknown key", "no signature", "the public key as a secret", "a cut signature"),
    *("other claims", "no token", "no text", "a long text", "empty"),
)


def signed_by_secret(claims: dict[str, Any], secret: bytes) -> str:
    """A token as a verifier accepts it that confuses both kinds of keys; PyJWT makes none."""
    parts = [orjson.dumps(part) for part in ({"alg": "HS256", "kid": "one", "typ": "JWT"}, claims)]
    body = b".".join(base64.urlsafe_b64encode(part).rstrip(b"=") for part in parts)
    signature = hmac.new(secret, body, "sha256").digest()
    return (body + b"." + base64.urlsafe_b64encode(signature).rstrip(b"=")).decode()


def forged_tokens(site: Site) -> dict[str, object]:
    claims = claims_of(site)
    public = KEY.public_key().public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    head, _, tail = signed(claims).partition(".")
    return {
        "another key": signed(claims, OTHER_KEY),
        "an unknown key": signed(claims, OTHER_KEY, kid="two"),
        "no signature": jwt.encode(claims, "", "none", headers={"kid": "one"}),
        "the public key as a secret": signed_by_secret(claims, public),
        "a cut signature": signed(claims)[:-4],
        "other claims": f"{head}.e30.{tail.rpartition('.')[2]}",
        "no token": None,
        "no text": 7,
        "a long text": "a" * 20_000,
        "empty": "",
    }


@pytest.mark.parametrize("kind", FORGERIES)
def test_a_forged_token_is_refused(site: Site, issuer: OpenIdIssuer, kind: str) -> None:
    give(site, forged_tokens(site)[kind])
    with pytest.raises(Refused):
        issuer.redeem("code", ATTEMPT)


@pytest.mark.parametrize(
    "changes",
    [
        {"issuer": "https://evil.example"},
        {"token_endpoint": "http://localhost/token"},
        {"jwks_uri": "http://localhost/jwks"},
        {"authorization_endpoint": "javascript:alert(1)"},
        {"authorization_endpoint": ""},
    ],
    ids=str,
)
def test_metadata_of_another_issuer_or_without_tls_are_refused(
    site: Site, issuer: OpenIdIssuer, changes: dict[str, str]
) -> None:
    site.documents[METADATA] = Document(json.dumps(metadata_of(site, **changes)).encode())
    with pytest.raises(Refused):
        issuer.sign_in_url(ATTEMPT)


@pytest.mark.parametrize("stated", [False, None, "true", 1])
def test_an_address_that_is_not_verified_is_no_person(stated: object) -> None:
    with pytest.raises(Refused):
        person_of({"email": "ada@example.org", "email_verified": stated}, "email")


@pytest.mark.parametrize("person", [None, "", 7, ["ada"], {"a": 1}])
def test_a_claim_that_is_no_text_is_no_person(person: object) -> None:
    with pytest.raises(Refused):
        person_of({"sub": person}, "sub")


# The console, at a real provider


@pytest.fixture(scope="module")
def accounts(module_dsn: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Mirrord, str]]:
    directory: Path = tmp_path_factory.mktemp("accounts")
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    with (
        serving_provider(directory, f"{url}/sign-in/account/return") as provider,
        Near(directory / "installation", dsn=module_dsn) as mirrord,
    ):
        save(mirrord.file("Notes.md"), "# Notes\n")
        (mirrord.directory / "mirrord.toml").write_text(provider.settings(url, directory), encoding="utf-8")
        mirrord.surroundings["SSL_CERT_FILE"] = str(provider.certificate)
        mirrord.up("--console", str(port))
        yield mirrord, url


def begin(url: str) -> tuple[Browser, dict[str, str]]:
    """A browser that was sent to the provider, and with what."""
    browser = Browser(url)
    answer = browser.ask("GET", "/sign-in/account")
    assert answer.status == 303, answer.text
    browser.cookie = answer.headers["set-cookie"].partition(";")[0]
    return browser, {name: values[0] for name, values in parse_qs(urlsplit(answer.headers["location"]).query).items()}


def come_back(browser: Browser, **query: str) -> Answer:
    return browser.ask("GET", f"/sign-in/account/return?{urlencode(query)}")


def test_each_attempt_has_a_state_a_nonce_and_a_challenge_of_its_own(accounts: tuple[Mirrord, str]) -> None:
    (first, first_query), (_, second_query) = begin(accounts[1]), begin(accounts[1])
    assert first_query["code_challenge_method"] == "S256"
    assert not {first_query[name] for name in ("state", "nonce", "code_challenge")} & set(second_query.values())
    cookie = first.ask("GET", "/sign-in/account").headers["set-cookie"].lower()
    assert all(word in cookie for word in ("httponly", "samesite=lax", "path=/sign-in"))


@pytest.mark.parametrize("state", ["", "made-up", "theirs"])
def test_an_answer_of_another_attempt_signs_no_person_in(accounts: tuple[Mirrord, str], state: str) -> None:
    browser, _ = begin(accounts[1])
    _, theirs = begin(accounts[1])
    answer = come_back(browser, code="code", state=theirs["state"] if state == "theirs" else state)
    assert answer.status == 403
    assert "max-age=0" in answer.headers["set-cookie"].lower()
    assert browser.ask("GET", "/t/demo/api/tree").status == 401


def test_an_answer_that_a_browser_did_not_ask_for_signs_no_person_in(accounts: tuple[Mirrord, str]) -> None:
    _, query_of = begin(accounts[1])
    assert come_back(Browser(accounts[1]), code="code", state=query_of["state"]).status == 403


def test_a_made_up_code_signs_no_person_in(accounts: tuple[Mirrord, str]) -> None:
    browser, query_of = begin(accounts[1])
    assert come_back(browser, code="made-up", state=query_of["state"]).status == 403


@pytest.mark.parametrize(
    "query", [{}, {"code": ""}, {"error": "access_denied"}, {"code": "x", "iss": "https://evil.example"}]
)
def test_an_answer_without_a_code_or_of_another_issuer_signs_no_person_in(
    accounts: tuple[Mirrord, str], query: dict[str, str]
) -> None:
    browser, query_of = begin(accounts[1])
    answer = come_back(browser, state=query_of["state"], **query)
    assert answer.status == 403
    assert browser.ask("GET", "/t/demo/api/tree").status == 401


def test_words_of_the_answer_are_not_shown(accounts: tuple[Mirrord, str]) -> None:
    browser, query_of = begin(accounts[1])
    answer = come_back(browser, state=query_of["state"], error="x", error_description="<script>alert(1)</script>")
    assert "alert(1)" not in answer.text


def test_an_attempts_cookie_is_no_session(accounts: tuple[Mirrord, str]) -> None:
    browser, _ = begin(accounts[1])
    name, _, value = browser.cookie.partition("=")
    session = f"{name.removesuffix('_account')}={value}"
    assert browser.ask("GET", "/t/demo/api/tree", cookie=session).status == 401


def test_an_address_that_begins_without_end_is_refused(accounts: tuple[Mirrord, str]) -> None:
    browser = Browser(accounts[1])
    statuses = [browser.ask("GET", "/sign-in/account").status for _ in range(120)]
    assert 429 in statuses
    assert browser.ask("GET", "/sign-in").status == 401
