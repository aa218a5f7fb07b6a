"""
Tokens: signed statements (JWT, Ed25519) of who may read or write which tenant until when, and their keys.

The signer has the private key, every reader of MIRROR_DIR the public ones:

DATA/keys/signing.pem           the private key, for its owner only
MIRROR_DIR/.mirrord/keys/ID.pem public keys of valid tokens
MIRROR_DIR/.mirrord/revoked     ids of revoked keys and tokens, one per line
"""

import os
import re
import secrets
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import UUID

import jwt
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_pem_private_key,
    load_pem_public_key,
)

from mirrord.auth.access_grant import PATHS_CLAIM, REVIEW_SCOPE, RIGHTS_CLAIM, Grant, Rights
from mirrord.domain.entry import Actor, TenantId, digest_of
from mirrord.domain.scope import scope_of_claims
from mirrord.errors import Refused, UserError
from mirrord.mirror.tree.tree_layout import STATE_DIRECTORY

_KEY_ID = re.compile("[0-9a-f]{16}")
_MAX_LIST_BYTES = 1 << 20  # of the list of revoked ids


class Keyring:
    """The public keys of one MIRROR_DIR, and its list of revoked ids."""

    def __init__(self, mirror: Path) -> None:
        self._keys = mirror / STATE_DIRECTORY / "keys"
        self._revoked = mirror / STATE_DIRECTORY / "revoked"

    def public_key(self, key: str) -> Ed25519PublicKey | None:
        """The public key with the id *key*; None if it is not published here."""
        if not _KEY_ID.fullmatch(key):
            return None
        try:
            public_key = load_pem_public_key((self._keys / f"{key}.pem").read_bytes())
        except (FileNotFoundError, NotADirectoryError, ValueError, UnsupportedAlgorithm):
            return None
        return public_key if isinstance(public_key, Ed25519PublicKey) and key_id(public_key) == key else None

    def publish(self, public: Ed25519PublicKey) -> None:
        """Make tokens of this key valid."""
        self._keys.mkdir(parents=True, exist_ok=True)
        encoded = public.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
        write_file(self._keys / f"{key_id(public)}.pem", encoded, 0o644)

    def revoked_ids(self) -> frozenset[str]:
        """Ids of revoked keys and tokens. Raises UserError if the list cannot be read."""
        try:
            with self._revoked.open("rb") as file:
                text = file.read(_MAX_LIST_BYTES).decode("utf-8", "replace")
        except (FileNotFoundError, NotADirectoryError):
            return frozenset()
        except OSError as error:  # an unreadable list is not an empty one
            raise UserError(f"The list of revoked tokens cannot be read: {error.strerror}.") from error
        lines = (line.partition("#")[0].strip() for line in text.splitlines())
        return frozenset(filter(None, lines))

    def revoke(self, revoked: str) -> None:
        """Add the id of a key or token to the list, unless it is listed."""
        if revoked in self.revoked_ids():
            return
        self._revoked.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(self._revoked, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            os.write(descriptor, f"{revoked}\n".encode())
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def signing_key(data: Path, keyring: Keyring, file: Path | None = None) -> Ed25519PrivateKey:
    """
    The private key in *file*, or below *data*: created there on first use and after a revocation.

    Its public key is published. Raises UserError if the file is no such key, or a given one is missing or revoked.
    """
    given_file, file = file, file or data / "keys" / "signing.pem"
    private_key = _read_private_key(file)
    if private_key is None or key_id(private_key.public_key()) in keyring.revoked_ids():
        if given_file is not None:
            raise UserError(f"The key {given_file} was revoked, or is missing: pass another one.")
        private_key = Ed25519PrivateKey.generate()
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_file(file, private_key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()), 0o600)
    keyring.publish(private_key.public_key())
    return private_key


def key_id(public: Ed25519PublicKey) -> str:
    """The id of a key: 16 hex digits."""
    return digest_of(public.public_bytes(Encoding.Raw, PublicFormat.Raw)).hex()[:16]


def _read_private_key(file: Path) -> Ed25519PrivateKey | None:
    try:
        private_key = load_pem_private_key(file.read_bytes(), password=None)
    except FileNotFoundError:
        return None
    except (ValueError, TypeError, UnsupportedAlgorithm) as error:
        raise UserError(f"{file} is not a private key; move it away, and a new one is made.") from error
    if not isinstance(private_key, Ed25519PrivateKey):
        raise UserError(f"{file} is not an Ed25519 key; move it away, and a new one is made.")
    return private_key


def write_file(file: Path, data: bytes, mode: int = 0o600) -> None:
    """Write the file atomically, never readable by others on the way. mode: by default for its owner only."""
    fresh = file.with_name(f"{file.name}.{secrets.token_hex(4)}")
    descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)
    try:
        os.write(descriptor, data)
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    fresh.replace(file)


ISSUER = "mirrord"
_ALGORITHM = "EdDSA"
_REQUIRED_CLAIMS = ["iss", "jti", "sub", "iat", "kind", "tenant", "tenant_id"]
_MAX_CHARACTERS = 8192  # ours have about 500


def issue_token(
    private: Ed25519PrivateKey,
    tenant: str,
    tenant_id: TenantId,
    actor: Actor,
    *,
    rights: Rights,
    expires: datetime | None,
) -> tuple[str, str]:
    """A new token and its id."""
    token_id = secrets.token_hex(8)
    claims: dict[str, object] = {
        "jti": token_id,
        "sub": actor.name,
        "kind": actor.kind,
        "tenant": tenant,
        "tenant_id": str(tenant_id),
        "iat": datetime.now(UTC),
        **rights.to_claims(),
    }
    if expires is not None:
        claims["exp"] = expires
    return sign_claims(private, claims), token_id


def sign_claims(private: Ed25519PrivateKey, claims: Mapping[str, Any]) -> str:
    """A token with *claims*, besides those of its form."""
    return jwt.encode({"iss": ISSUER, **claims}, private, _ALGORITHM, headers={"kid": key_id(private.public_key())})


def verify_token(keyring: Keyring, token: str, audience: str | None = None) -> Grant:
    """
    The grant of *token*. audience: who asks; a token that names another audience is refused, None: any that names one.

    Raises Refused with a sentence that never repeats the token.
    """
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
    if grant.audience not in (None, audience):
        raise Refused("The token is for another server.")
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
            token,
            public,
            algorithms=[_ALGORITHM],
            issuer=ISSUER,
            options={"require": _REQUIRED_CLAIMS, "verify_aud": False},  # verify_token() does
        )
    except jwt.ExpiredSignatureError:
        raise Refused("The token has expired.") from None
    except jwt.InvalidTokenError:
        raise Refused("The token is not valid: its signature or its content is wrong.") from None
    return claims


def _grant_from_claims(key: str, claims: Mapping[str, Any]) -> Grant:
    try:
        expires = datetime.fromtimestamp(claims["exp"], UTC) if "exp" in claims else None
        scopes = str(claims[RIGHTS_CLAIM if PATHS_CLAIM in claims else "scope"]).split()
        return Grant(
            token=str(claims.get("delegation", claims["jti"])),
            key=key,
            tenant=str(claims["tenant"]),
            tenant_id=TenantId(UUID(str(claims["tenant_id"]))),
            actor=Actor(str(claims["kind"]), str(claims["sub"])),
            may_write="write" in scopes or REVIEW_SCOPE in scopes,
            expires=expires,
            is_reviewed=REVIEW_SCOPE in scopes,
            audience=str(claims["aud"]) if "aud" in claims else None,
            paths=scope_of_claims(claims.get(PATHS_CLAIM, {})),
        )
    except (KeyError, TypeError, ValueError, OverflowError, OSError, UserError):
        raise Refused("The token is not valid: its content is wrong.") from None
