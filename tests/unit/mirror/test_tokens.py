"""Tokens let in exactly whom an operator let in, and nobody whose token was cut, forged, ended or revoked."""

import base64
import json
import stat
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import UUID

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.rsa import generate_private_key
from hypothesis import given
from hypothesis import strategies as st

from mirrord.auth.access_grant import Rights
from mirrord.auth.signed_tokens import Keyring, check_grant, issue_token, key_id, signing_key, verify_token
from mirrord.domain.entry import Actor, TenantId
from mirrord.domain.scope import parse_scope
from mirrord.errors import Refused, UserError

TENANT = TenantId(UUID("018f0000-0000-7000-8000-000000000001"))
ACTOR = Actor("agent", "writer")


def soon() -> datetime:
    return datetime.now(UTC) + timedelta(hours=1)


@pytest.fixture
def keyring(tmp_path: Path) -> Keyring:
    return Keyring(tmp_path / "mirror")


@pytest.fixture
def private(tmp_path: Path, keyring: Keyring) -> Ed25519PrivateKey:
    return signing_key(tmp_path / "data", keyring)


def token_of(private: Ed25519PrivateKey, *, may_write: bool = True, expires: datetime | None = None) -> tuple[str, str]:
    return issue_token(private, "demo", TENANT, ACTOR, rights=Rights(may_write), expires=expires)


def test_a_token_says_who_may_do_what_where_and_how_long(keyring: Keyring, private: Ed25519PrivateKey) -> None:
    until = soon().replace(microsecond=0)
    text, token = token_of(private, may_write=False, expires=until)
    grant = verify_token(keyring, text)

    assert (grant.token, grant.tenant, grant.tenant_id, grant.actor) == (token, "demo", TENANT, ACTOR)
    assert (grant.may_write, grant.expires, grant.key) == (False, until, key_id(private.public_key()))


PATHS = parse_scope(["Inbox/**"], ["Projects"], ["Inbox/Private"])


def scoped_token(private: Ed25519PrivateKey, *, may_write: bool = True) -> str:
    return issue_token(private, "demo", TENANT, ACTOR, rights=Rights(may_write, paths=PATHS), expires=None)[0]


def test_a_token_may_hold_for_a_part_of_the_tree(keyring: Keyring, private: Ed25519PrivateKey) -> None:
    grant = verify_token(keyring, scoped_token(private))
    assert (grant.paths, grant.may_write) == (PATHS, True)
    assert not verify_token(keyring, scoped_token(private, may_write=False)).may_write
    assert verify_token(keyring, token_of(private)[0]).paths.is_unlimited


def test_a_token_with_patterns_lacks_the_claim_that_servers_without_them_require(
    private: Ed25519PrivateKey,
) -> None:
    with pytest.raises(jwt.MissingRequiredClaimError, match="scope"):
        jwt.decode(scoped_token(private), private.public_key(), ["EdDSA"], options={"require": ["scope"]})


@pytest.mark.parametrize("paths", [{"write": ["/"]}, {"audit": ["a"]}, ["a"], "a", {"deny": 7}])
def test_patterns_that_are_none_are_refused(keyring: Keyring, private: Ed25519PrivateKey, paths: object) -> None:
    with pytest.raises(Refused, match="content is wrong"):
        verify_token(keyring, _signed(private, {**_claims(), "rights": "read write", "paths": paths}))


def test_a_token_may_hold_for_ever(keyring: Keyring, private: Ed25519PrivateKey) -> None:
    assert verify_token(keyring, token_of(private)[0]).expires is None


def test_the_private_key_is_its_owners_only(tmp_path: Path, private: Ed25519PrivateKey) -> None:
    file = tmp_path / "data" / "keys" / "signing.pem"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700


def test_the_same_key_signs_next_time(tmp_path: Path, keyring: Keyring, private: Ed25519PrivateKey) -> None:
    assert key_id(signing_key(tmp_path / "data", keyring).public_key()) == key_id(private.public_key())


def test_an_expired_token_is_refused(keyring: Keyring, private: Ed25519PrivateKey) -> None:
    text, _ = token_of(private, expires=datetime.now(UTC) - timedelta(seconds=1))
    with pytest.raises(Refused, match="has expired"):
        verify_token(keyring, text)


def test_a_token_expires_while_somebody_works_with_it(keyring: Keyring, private: Ed25519PrivateKey) -> None:
    grant = verify_token(keyring, token_of(private, expires=soon())[0])
    check_grant(keyring, grant)
    with pytest.raises(Refused, match="has expired"):
        check_grant(keyring, replace(grant, expires=datetime.now(UTC)))


def test_a_revoked_token_is_refused_and_others_of_the_key_are_not(keyring: Keyring, private: Ed25519PrivateKey) -> None:
    (first, token), (other, _) = token_of(private), token_of(private)
    grant = verify_token(keyring, first)
    keyring.revoke(token)

    with pytest.raises(Refused, match="was revoked"):
        check_grant(keyring, grant)
    with pytest.raises(Refused, match="was revoked"):
        verify_token(keyring, first)
    verify_token(keyring, other)


def test_revoking_a_key_ends_its_tokens_and_makes_a_new_one(
    tmp_path: Path, keyring: Keyring, private: Ed25519PrivateKey
) -> None:
    text, _ = token_of(private)
    keyring.revoke(key_id(private.public_key()))
    fresh = signing_key(tmp_path / "data", keyring)

    with pytest.raises(Refused, match="was revoked"):
        verify_token(keyring, text)
    verify_token(keyring, token_of(fresh)[0])


def test_a_key_that_is_handed_over_signs_and_is_never_replaced(
    tmp_path: Path, keyring: Keyring, private: Ed25519PrivateKey
) -> None:
    handed = (tmp_path / "data" / "keys" / "signing.pem").rename(tmp_path / "handed.pem")
    assert key_id(signing_key(tmp_path / "data", keyring, handed).public_key()) == key_id(private.public_key())

    keyring.revoke(key_id(private.public_key()))
    with pytest.raises(UserError, match="was revoked"):
        signing_key(tmp_path / "data", keyring, handed)
    assert not (tmp_path / "data" / "keys" / "signing.pem").exists()


def test_the_list_of_what_is_revoked_may_be_written_by_hand(
    tmp_path: Path, keyring: Keyring, private: Ed25519PrivateKey
) -> None:
    text, token = token_of(private)
    (tmp_path / "mirror" / ".mirrord" / "revoked").write_text(f"# lost laptop\n  {token}  # hers\n\n", encoding="utf-8")
    with pytest.raises(Refused, match="was revoked"):
        verify_token(keyring, text)


def test_a_list_that_cannot_be_read_lets_nobody_in(
    tmp_path: Path, keyring: Keyring, private: Ed25519PrivateKey
) -> None:
    text, _ = token_of(private)
    (tmp_path / "mirror" / ".mirrord" / "revoked").mkdir()
    with pytest.raises(UserError, match="cannot be read"):
        verify_token(keyring, text)


def test_a_key_of_somebody_elses_is_not_known(tmp_path: Path, keyring: Keyring) -> None:
    stranger = Keyring(tmp_path / "elsewhere")
    text, _ = token_of(signing_key(tmp_path / "other", stranger))
    with pytest.raises(Refused, match="not known here"):
        verify_token(keyring, text)


def test_a_key_file_under_anothers_id_does_not_count(
    tmp_path: Path, keyring: Keyring, private: Ed25519PrivateKey
) -> None:
    keys = tmp_path / "mirror" / ".mirrord" / "keys"
    stranger = Ed25519PrivateKey.generate()
    (key_file,) = keys.iterdir()
    key_file.rename(keys / f"{key_id(stranger.public_key())}.pem")
    with pytest.raises(Refused, match="not known here"):
        verify_token(keyring, token_of(stranger)[0])


@pytest.mark.parametrize("key", ["../signing", "", "None", "0" * 64, "\0" * 16, "/etc/passwd"])
def test_a_keys_id_is_no_path(keyring: Keyring, private: Ed25519PrivateKey, key: str) -> None:
    text = jwt.encode(_claims(), private, "EdDSA", headers={"kid": key})
    with pytest.raises(Refused, match="not known here"):
        verify_token(keyring, text)


@pytest.mark.parametrize("missing", ["iss", "jti", "sub", "iat", "kind", "tenant", "tenant_id", "scope"])
def test_a_token_that_lacks_something_is_refused(keyring: Keyring, private: Ed25519PrivateKey, missing: str) -> None:
    claims = {key: value for key, value in _claims().items() if key != missing}
    with pytest.raises(Refused, match="not valid"):
        verify_token(keyring, _signed(private, claims))


@pytest.mark.parametrize(
    ("claim", "value"), [("iss", "other"), ("tenant_id", "demo"), ("exp", "tomorrow"), ("exp", 1e300)]
)
def test_a_token_with_a_wrong_claim_is_refused(
    keyring: Keyring, private: Ed25519PrivateKey, claim: str, value: object
) -> None:
    with pytest.raises(Refused):
        verify_token(keyring, _signed(private, {**_claims(), claim: value}))


def test_another_algorithm_is_refused(keyring: Keyring, private: Ed25519PrivateKey) -> None:
    key = key_id(private.public_key())
    bare = jwt.encode(_claims(), "", "none", headers={"kid": key})
    rsa = jwt.encode(_claims(), generate_private_key(65537, 2048), "RS256", headers={"kid": key})
    for text in (bare, rsa):
        with pytest.raises(Refused, match="not valid"):
            verify_token(keyring, text)


def test_a_scope_raised_by_hand_is_refused(keyring: Keyring, private: Ed25519PrivateKey) -> None:
    header, payload, signature = token_of(private, may_write=False)[0].split(".")
    claims = json.loads(base64.urlsafe_b64decode(payload + "=="))
    raised = base64.urlsafe_b64encode(json.dumps({**claims, "scope": "read write"}).encode()).rstrip(b"=").decode()
    with pytest.raises(Refused, match="not valid"):
        verify_token(keyring, f"{header}.{raised}.{signature}")


@given(st.text(max_size=200))
def test_no_text_is_let_in(text: str) -> None:
    with pytest.raises(Refused):
        verify_token(Keyring(Path("nowhere")), text)


def test_a_refusal_never_repeats_the_token(keyring: Keyring, private: Ed25519PrivateKey) -> None:
    text = token_of(private, expires=datetime.now(UTC) - timedelta(days=1))[0]
    for candidate in (text, text[:-20], f"{text}x", "x" * 10_000):
        with pytest.raises(Refused) as refused:
            verify_token(keyring, candidate)
        assert candidate[:40] not in str(refused.value)


def _claims() -> dict[str, object]:
    return {
        "iss": "mirrord",
        "jti": "0" * 16,
        "sub": "writer",
        "kind": "agent",
        "iat": datetime.now(UTC),
        "tenant": "demo",
        "tenant_id": str(TENANT),
        "scope": "read",
    }


def _signed(private: Ed25519PrivateKey, claims: dict[str, object]) -> str:
    return jwt.encode(claims, private, "EdDSA", headers={"kid": key_id(private.public_key())})
