"""
The keys of tokens: whoever signs has the private one, every reader of MIRROR_DIR the public ones.

    DATA/keys/signing.pem           the private key, for its owner only
    MIRROR_DIR/.mirrord/keys/ID.pem public keys whose tokens count
    MIRROR_DIR/.mirrord/revoked     ids of keys and tokens that count no longer, one a line
"""

import os
import re
import secrets
from pathlib import Path

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

from mirrord.domain.entry import digest_of
from mirrord.errors import UserError
from mirrord.mirror.layout import MACHINE

_ID = re.compile("[0-9a-f]{16}")
_LIMIT = 1 << 20  # bytes of the list of what is revoked


class Keyring:
    """The public keys of one MIRROR_DIR, and what was revoked there."""

    def __init__(self, mirror: Path) -> None:
        self._keys = mirror / MACHINE / "keys"
        self._revoked = mirror / MACHINE / "revoked"

    def public(self, key: str) -> Ed25519PublicKey | None:
        """The public key of that id; None if nobody published one here."""
        if not _ID.fullmatch(key):
            return None
        try:
            found = load_pem_public_key((self._keys / f"{key}.pem").read_bytes())
        except (FileNotFoundError, NotADirectoryError, ValueError, UnsupportedAlgorithm):
            return None
        return found if isinstance(found, Ed25519PublicKey) and id_of(found) == key else None

    def publish(self, public: Ed25519PublicKey) -> None:
        """Let tokens of this key count."""
        self._keys.mkdir(parents=True, exist_ok=True)
        encoded = public.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
        _put(self._keys / f"{id_of(public)}.pem", encoded, 0o644)

    def revoked(self) -> frozenset[str]:
        """Ids of keys and tokens that count no longer. Raises UserError if the list cannot be read."""
        try:
            with self._revoked.open("rb") as file:
                text = file.read(_LIMIT).decode("utf-8", "replace")
        except (FileNotFoundError, NotADirectoryError):
            return frozenset()
        except OSError as error:  # not readable is not the same as empty
            raise UserError(f"The list of revoked tokens cannot be read: {error.strerror}.") from error
        lines = (line.partition("#")[0].strip() for line in text.splitlines())
        return frozenset(filter(None, lines))

    def revoke(self, revoked: str) -> None:
        """Add the id of a key or token to the list; harmless if it is there."""
        if revoked in self.revoked():
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
    The private key in *file*, or below *data*: there made on first use, and anew when the one there was revoked.

    It is published. Raises UserError if the file is no such key, or one was given that was revoked.
    """
    given, file = file, file or data / "keys" / "signing.pem"
    found = _read(file)
    if found is None or id_of(found.public_key()) in keyring.revoked():
        if given is not None:
            raise UserError(f"The key {given} was revoked, or is gone: hand over another one.")
        found = Ed25519PrivateKey.generate()
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        _put(file, found.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()), 0o600)
    keyring.publish(found.public_key())
    return found


def id_of(public: Ed25519PublicKey) -> str:
    """What a key is called: 16 hex digits."""
    return digest_of(public.public_bytes(Encoding.Raw, PublicFormat.Raw)).hex()[:16]


def _read(file: Path) -> Ed25519PrivateKey | None:
    try:
        found = load_pem_private_key(file.read_bytes(), password=None)
    except FileNotFoundError:
        return None
    except (ValueError, TypeError, UnsupportedAlgorithm) as error:
        raise UserError(f"{file} is not a private key; move it away, and a new one is made.") from error
    if not isinstance(found, Ed25519PrivateKey):
        raise UserError(f"{file} is not an Ed25519 key; move it away, and a new one is made.")
    return found


def _put(file: Path, data: bytes, mode: int) -> None:
    """Write all at once, never readable for others on the way."""
    fresh = file.with_name(f"{file.name}.{secrets.token_hex(4)}")
    descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)
    try:
        os.write(descriptor, data)
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    fresh.replace(file)
