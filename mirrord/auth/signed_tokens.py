"""Tokens: signed statements (JWT, Ed25519) of who may read or write which tenant, and until when."""

import secrets
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import jwt
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from mirrord.auth.access_grant import Grant
from mirrord.auth.token_keys import Keyring, key_id
from mirrord.domain.entry import Actor, TenantId
from mirrord.errors import Refused

ISSUER = "mirrord"
_ALGORITHM = "EdDSA"
_REQUIRED_CLAIMS = ["iss", "jti", "sub", "iat", "kind", "tenant", "tenant_id", "scope"]
_MAX_CHARACTERS = 8192  # ours have about 500


def issue_token(
    private: Ed25519PrivateKey,
    tenant: str,
    tenant_id: TenantId,
    actor: Actor,
    *,
    may_write: bool,
    expires: datetime | None,
) -> tuple[str, str]:
    """A new token and its id."""
    token_id = secrets.token_hex(8)
    claims = {
        "iss": ISSUER,
        "jti": token_id,
        "sub": actor.name,
        "kind": actor.kind,
        "tenant": tenant,
        "tenant_id": str(tenant_id),
        "scope": "read write" if may_write else "read",
        "iat": datetime.now(UTC),
    }
    if expires is not None:
        claims["exp"] = expires
    return jwt.encode(claims, private, _ALGORITHM, headers={"kid": key_id(private.public_key())}), token_id


def verify_token(keyring: Keyring, token: str) -> Grant:
    """The grant of *token*. Raises Refused with a sentence that never repeats the token."""
    if len(token) > _MAX_CHARACTERS:
        raise Refused("The token is too long to be one of mirrord's.")
    try:
        key = str(jwt.get_unverified_header(token).get("kid"))
    except (jwt.InvalidTokenError, ValueError):
        raise Refused("The token is not one of mirrord's: it is cut or mistyped.") from None
    public = keyring.public_key(key)
    if public is None:
        raise Refused("The token was signed with a key that is not known here.")
    grant = _grant_from_claims(key, _decode_claims(token, public))
    check_grant(keyring, grant)
    return grant


def check_grant(keyring: Keyring, grant: Grant) -> None:
    """Raise Refused if a grant has expired or was revoked meanwhile."""
    if grant.expires is not None and grant.expires <= datetime.now(UTC):
        raise Refused("The token has expired.")
    if keyring.revoked_ids() & {grant.key, grant.token}:
        raise Refused("The token was revoked.")


def _decode_claims(token: str, public: Any) -> Mapping[str, Any]:
    try:
        claims: Mapping[str, Any] = jwt.decode(
            token, public, algorithms=[_ALGORITHM], issuer=ISSUER, options={"require": _REQUIRED_CLAIMS}
        )
    except jwt.ExpiredSignatureError:
        raise Refused("The token has expired.") from None
    except jwt.InvalidTokenError:
        raise Refused("The token is not valid: its signature or its content is wrong.") from None
    return claims


def _grant_from_claims(key: str, claims: Mapping[str, Any]) -> Grant:
    try:
        expires = datetime.fromtimestamp(claims["exp"], UTC) if "exp" in claims else None
        return Grant(
            token=str(claims["jti"]),
            key=key,
            tenant=str(claims["tenant"]),
            tenant_id=TenantId(UUID(str(claims["tenant_id"]))),
            actor=Actor(str(claims["kind"]), str(claims["sub"])),
            may_write="write" in str(claims["scope"]).split(),
            expires=expires,
        )
    except (ValueError, OverflowError, OSError):
        raise Refused("The token is not valid: its content is wrong.") from None
