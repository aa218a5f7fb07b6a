"""
Delegations: what a person allowed a client (OAuth 2.1), and the tokens that follow from it.

DATA/oauth/TENANT_ID/delegations/ID.json, each for its owner only; revoking one also adds its id to the list of
revoked ids, which ends all its tokens in every process.
"""

import fcntl
import hmac
import os
import re
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import orjson
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from mirrord.auth.access_grant import DAEMON_AUDIENCE, Rights
from mirrord.auth.signed_tokens import Keyring, sign_claims, write_file
from mirrord.domain.entry import Actor, TenantId
from mirrord.errors import Refused

DELEGATION_DAYS = 90  # days until a person is asked again
ACCESS_SECONDS = 3600  # seconds until an access token expires
MAX_DELEGATIONS = 500  # per tenant; each needs a person
_ID_PATTERN = re.compile("[0-9a-f]{16}")
_REFRESH_PATTERN = re.compile(r"([0-9a-f]{16})\.([0-9]{1,9})\.([0-9a-f]{64})")


@dataclass(frozen=True, slots=True)
class Delegation:
    """
    A person's permission for one client.

    client: the id of its registration. person: who allowed it. actor: the client's name in the history.
    audience: the server it is for. created, expires: Unix times. seed: makes its refresh tokens. turn: the number of
    the refresh token that is valid now.
    """

    id: str
    client: str
    person: str
    actor: str
    may_write: bool
    is_reviewed: bool
    audience: str
    created: int
    expires: int
    seed: str
    turn: int = 0

    @property
    def rights(self) -> Rights:
        """What the client may do."""
        return Rights(self.may_write, self.is_reviewed)

    @property
    def refresh_token(self) -> str:
        """The refresh token that is valid now."""
        return f"{self.id}.{self.turn}.{_mac_of(self, self.turn)}"


@dataclass(frozen=True, slots=True)
class DelegationStore:
    """The delegations of one tenant. directory: see above."""

    directory: Path
    keyring: Keyring

    def create(self, client: str, person: str, actor: str, rights: Rights, audience: str) -> Delegation:
        """A new delegation. Expired ones are removed, and above the maximum the oldest."""
        now = datetime.now(UTC)
        delegation = Delegation(
            id=secrets.token_hex(8),
            client=client,
            person=person,
            actor=actor,
            may_write=rights.may_write,
            is_reviewed=rights.is_reviewed,
            audience=audience,
            created=int(now.timestamp()),
            expires=int((now + timedelta(days=DELEGATION_DAYS)).timestamp()),
            seed=secrets.token_hex(32),
        )
        with self._locked():
            self._make_space()
            self._write(delegation)
        return delegation

    def keep(self, delegation: Delegation) -> Delegation:
        """
        The delegation with the id of *delegation*: as it is if it says the same, else it is written.

        Raises Refused if it was revoked, or there is no space: none is revoked for it, because its id would come again.
        """
        with self._locked():
            stored = self.find(delegation.id)
            if stored is not None and replace(delegation, created=stored.created, expires=stored.expires) == stored:
                return stored
            if delegation.id in self.keyring.revoked_ids():
                raise Refused("The token was revoked.")
            if stored is None and len(self.list_all()) >= MAX_DELEGATIONS:
                raise Refused("Too many programs have access.")
            self._write(delegation)
        return delegation

    def find(self, delegation_id: str) -> Delegation | None:
        """The delegation with this id; None: there is none, it has expired, or it was revoked."""
        if not _ID_PATTERN.fullmatch(delegation_id):
            return None
        try:
            delegation = Delegation(**orjson.loads((self.directory / f"{delegation_id}.json").read_bytes()))
        except FileNotFoundError:
            return None
        is_over = delegation.expires <= datetime.now(UTC).timestamp() or delegation.id in self.keyring.revoked_ids()
        return None if is_over else delegation

    def list_all(self) -> list[Delegation]:
        """All valid delegations, the oldest first."""
        with suppress(FileNotFoundError):
            listed = [self.find(file.stem) for file in self.directory.iterdir() if file.suffix == ".json"]
            return sorted(filter(None, listed), key=lambda delegation: (delegation.created, delegation.id))
        return []

    def find_by_refresh_token(self, token: str, client: str) -> Delegation | None:
        """
        The delegation of a refresh token that *client* shows; None: it is not valid.

        A refresh token that was used before has been stolen, or its successor was: the delegation is revoked.
        """
        match = _REFRESH_PATTERN.fullmatch(token)
        delegation = self.find(match[1]) if match else None
        if match is None or delegation is None or delegation.client != client:
            return None
        turn = int(match[2])
        if not hmac.compare_digest(_mac_of(delegation, turn), match[3]):
            return None
        if turn != delegation.turn:
            self.revoke(delegation.id)
            return None
        return delegation

    def rotate(self, token: str, client: str) -> Delegation | None:
        """Use a refresh token up: the delegation with the next one; None as in find_by_refresh_token()."""
        with self._locked():
            delegation = self.find_by_refresh_token(token, client)
            if delegation is None:
                return None
            delegation = replace(delegation, turn=delegation.turn + 1)
            self._write(delegation)
            return delegation

    def revoke(self, delegation_id: str) -> None:
        """End a delegation with all its tokens."""
        self.keyring.revoke(delegation_id)
        (self.directory / f"{delegation_id}.json").unlink(missing_ok=True)

    def _make_space(self) -> None:
        listed = self.list_all()
        valid = {delegation.id for delegation in listed}
        for file in self.directory.glob("*.json"):
            if file.stem not in valid:
                file.unlink(missing_ok=True)
        for delegation in listed[: max(0, len(listed) - MAX_DELEGATIONS + 1)]:
            self.revoke(delegation.id)

    @contextmanager
    def _locked(self) -> Iterator[None]:
        self.directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor = os.open(self.directory / "lock", os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield
        finally:
            os.close(descriptor)

    def _write(self, delegation: Delegation) -> None:
        write_file(self.directory / f"{delegation.id}.json", orjson.dumps(asdict(delegation)))


def stores_below(data: Path, keyring: Keyring) -> dict[str, DelegationStore]:
    """The stores in the data directory, by the ids of their tenants."""
    directories = sorted((data / "oauth").glob("*/delegations"))
    return {directory.parent.name: DelegationStore(directory, keyring) for directory in directories}


def store_of(data: Path, tenant_id: TenantId, keyring: Keyring) -> DelegationStore:
    """The store of one tenant."""
    return DelegationStore(data / "oauth" / str(tenant_id) / "delegations", keyring)


@dataclass(frozen=True, slots=True)
class TokenMaker:
    """Makes the tokens of delegations of one tenant."""

    private: Ed25519PrivateKey
    tenant: str
    tenant_id: TenantId

    def access_token(self, delegation: Delegation) -> tuple[str, int]:
        """A token for the delegation's server, and its lifetime in seconds."""
        now = int(datetime.now(UTC).timestamp())
        seconds = min(ACCESS_SECONDS, delegation.expires - now)
        claims = {"jti": secrets.token_hex(8), "aud": delegation.audience, "iat": now, "exp": now + seconds}
        return self._sign(delegation, claims), seconds

    def request_token(self, delegation: Delegation) -> str:
        """
        The token that requests through files show: valid as long as the delegation, because a person decides later.

        It is the same text each time, so that change sets belong to the delegation, also after a restart.
        """
        claims = {"jti": delegation.id, "aud": DAEMON_AUDIENCE, "iat": delegation.created, "exp": delegation.expires}
        return self._sign(delegation, claims)

    def _sign(self, delegation: Delegation, claims: dict[str, Any]) -> str:
        actor = Actor("agent", delegation.actor)
        facts = {
            "sub": actor.name,
            "kind": actor.kind,
            "tenant": self.tenant,
            "tenant_id": str(self.tenant_id),
            "scope": delegation.rights.scope,
            "delegation": delegation.id,
        }
        return sign_claims(self.private, {**facts, **claims})


def _mac_of(delegation: Delegation, turn: int) -> str:
    return hmac.new(bytes.fromhex(delegation.seed), f"{delegation.id}.{turn}".encode(), "sha256").hexdigest()
