"""No token but one that mirrord signed for this tenant, and that counts still, lets anybody in."""

import base64
import hmac
import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from mirrord.auth.signed_tokens import Keyring, key_id, signing_key
from mirrord.errors import Refused
from mirrord.mcp.callers import Callers, local_caller
from mirrord.mcp.http import Verifier
from tests.redteam.judging import told
from tests.redteam.world import World, outside, world_in

Claims = dict[str, Any]


def good(world: World) -> str:
    assert world.config.agents.token is not None
    return world.config.agents.token


def claims_of(world: World) -> Claims:
    claims: Claims = jwt.decode(good(world), options={"verify_signature": False})
    return claims


def private(world: World) -> Ed25519PrivateKey:
    return signing_key(world.config.data, Keyring(world.config.mirror))


def kid(world: World) -> str:
    return key_id(private(world).public_key())


def encoded(value: object) -> str:
    return base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")


def signed(world: World, **changes: Any) -> str:
    """By the right key; None takes a claim away."""
    claims = {key: value for key, value in (claims_of(world) | changes).items() if value is not None}
    return jwt.encode(claims, private(world), "EdDSA", headers={"kid": kid(world)})


def by_stranger(world: World, key: str) -> str:
    return jwt.encode(claims_of(world), Ed25519PrivateKey.generate(), "EdDSA", headers={"kid": key})


def hashed(world: World, form: Encoding, kind: PublicFormat) -> str:
    """HS256, the public key as its secret."""
    head = encoded({"alg": "HS256", "typ": "JWT", "kid": kid(world)})
    text = f"{head}.{encoded(claims_of(world))}"
    secret = private(world).public_key().public_bytes(form, kind)
    mark = base64.urlsafe_b64encode(hmac.digest(secret, text.encode(), "sha256")).decode().rstrip("=")
    return f"{text}.{mark}"


def unsigned(world: World, algorithm: str) -> str:
    return f"{encoded({'alg': algorithm, 'typ': 'JWT', 'kid': kid(world)})}.{encoded(claims_of(world))}."


def changed(world: World, **changes: Any) -> str:
    """Other claims under the good signature."""
    head, _, mark = good(world).split(".")
    return f"{head}.{encoded(claims_of(world) | changes)}.{mark}"


def with_head(world: World, **head: Any) -> str:
    _, claims, mark = good(world).split(".")
    return f"{encoded({'alg': 'EdDSA', 'kid': kid(world), **head})}.{claims}.{mark}"


def revoked(world: World, claim: str) -> str:
    ring = Keyring(world.config.mirror)
    ring.revoke(kid(world) if claim == "kid" else claims_of(world)[claim])
    return good(world)


PAST = datetime.now(UTC) - timedelta(hours=1)
FORGERIES: Mapping[str, Callable[[World], str]] = {
    "nothing": lambda _: "",
    "dots": lambda _: "..",
    "noise": lambda _: "x.y.z",
    "NUL": lambda world: good(world) + "\0",
    "no ASCII": lambda world: good(world) + "ä",
    "too long": lambda world: good(world) + "A" * 100_000,
    "cut": lambda world: good(world)[:-10],
    "no signature": lambda world: good(world).rpartition(".")[0] + ".",
    **{f"alg {name}": lambda world, name=name: unsigned(world, name) for name in ("none", "None", "NONE", "nOnE", "")},  # type: ignore[misc]
    "HS256 with the PEM": lambda world: hashed(world, Encoding.PEM, PublicFormat.SubjectPublicKeyInfo),
    "HS256 with the DER": lambda world: hashed(world, Encoding.DER, PublicFormat.SubjectPublicKeyInfo),
    "HS256 with the raw key": lambda world: hashed(world, Encoding.Raw, PublicFormat.Raw),
    "another key under the id": lambda world: by_stranger(world, kid(world)),
    "another key": lambda world: by_stranger(world, "0" * 16),
    "a key that is a path": lambda world: by_stranger(world, "../../../data/keys/signing"),
    "a key that is absolute": lambda world: by_stranger(world, "/etc/ssl/cert"),
    "a key of its own": lambda world: with_head(world, jwk={"kty": "OKP"}, kid=None),
    "a key elsewhere": lambda world: with_head(world, jku="https://example.org/keys", x5u="https://example.org"),
    "a key that is a list": lambda world: with_head(world, kid=[kid(world)]),
    "a critical extension": lambda world: with_head(world, crit=["x"], x=1),
    "another tenant's name": lambda world: changed(world, tenant="rival-ltd"),
    "another tenant's id": lambda world: changed(world, tenant_id=str(world.rival.id)),
    "more rights": lambda world: changed(world, scope="read write admin", sub="root"),
    "a later end": lambda world: changed(world, exp=4_000_000_000),
    "expired": lambda world: signed(world, exp=PAST),
    "not yet": lambda world: signed(world, nbf=4_000_000_000),
    "issued later": lambda world: signed(world, iat=4_000_000_000),
    "another issuer": lambda world: signed(world, iss="other"),
    "an end that is none": lambda world: signed(world, exp="never"),
    "no id": lambda world: signed(world, jti=None),
    "no tenant": lambda world: signed(world, tenant_id=None),
    "a tenant that is a path": lambda world: signed(world, tenant="../rival-ltd", tenant_id=str(UUID(int=0))),
    "the rival's, rightly signed": lambda world: signed(world, tenant="rival-ltd", tenant_id=str(world.rival.id)),
    "our name, the rival's id": lambda world: signed(world, tenant_id=str(world.rival.id)),
    "a revoked token": lambda world: revoked(world, "jti"),
    "a revoked key": lambda world: revoked(world, "kid"),
}


@pytest.mark.parametrize("forgery", FORGERIES)
async def test_a_forged_token_lets_nobody_in(tmp_path: Path, forgery: str) -> None:
    world = world_in(tmp_path)
    token, callers = FORGERIES[forgery](world), Callers()
    before = outside(world)

    assert await Verifier(world.config, world.tenant, callers).verify_token(token) is None
    assert not callers._by_token
    assert outside(world) == before


@pytest.mark.parametrize("forgery", FORGERIES)
def test_a_forged_token_starts_no_server_and_its_refusal_tells_nothing(tmp_path: Path, forgery: str) -> None:
    world = world_in(tmp_path)
    token = FORGERIES[forgery](world)
    config = replace(world.config, tenants=("demo",), agents=replace(world.config.agents, token=token))

    with pytest.raises(Refused) as refused:
        local_caller(config)
    assert told(world, [], str(refused.value)) == []
    assert token[:20] not in str(refused.value) or len(token) < 20


async def test_the_token_all_these_are_made_of_lets_in(tmp_path: Path) -> None:
    world, callers = world_in(tmp_path), Callers()
    verifier = Verifier(world.config, world.tenant, callers)
    assert await verifier.verify_token(good(world)) is not None
    assert await verifier.verify_token(signed(world)) is not None
    callers.close()
