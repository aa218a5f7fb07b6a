"""
The list of tokens that were made: what each allows, by whom and until when, and never the token itself.

DATA/tokens/TENANT_ID/ID.json   one token
"""

import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import orjson

from mirrord.auth import signed_tokens
from mirrord.auth.access_grant import Rights
from mirrord.auth.signed_tokens import Keyring, key_id, signing_key
from mirrord.domain.entry import Actor, TenantId
from mirrord.errors import UserError

MAX_LISTED = 500  # tokens of a tenant
_KEPT_SECONDS = 90 * 86_400  # for which a token stays in the list after its end, if there is room
MAX_ACTOR_CHARACTERS = 60


@dataclass(frozen=True, slots=True)
class ListedToken:
    """
    A token in the list.

    key: the id of the key that signed it. scope: `read`, `write` or `review`. paths: its patterns; "": none.
    by: who made it. made_at, until: Unix seconds; until None: it does not expire. ended_at, ended_by: when and by whom
    it was revoked. is_revoked: it or its key was, which may be known without a moment and a person.
    """

    id: str
    key: str
    actor: str
    scope: str
    paths: str
    by: str
    made_at: float
    until: float | None
    ended_at: float | None = None
    ended_by: str | None = None
    is_revoked: bool = False


@dataclass(frozen=True, slots=True)
class TokenOrder:
    """A token to be made. by: the person who makes it. expires: None: never."""

    actor: str
    rights: Rights
    by: str
    expires: datetime | None


def expiry_after(days: int) -> datetime:
    """The moment so many days from now."""
    return datetime.now(UTC) + timedelta(days=days)


def check_actor_name(name: str) -> str:
    """The name of an agent, without space around it. Raises UserError if it is no short line of text."""
    name = name.strip()
    if not name or len(name) > MAX_ACTOR_CHARACTERS or not name.isprintable():
        raise UserError(f"The name of an agent is a line of at most {MAX_ACTOR_CHARACTERS} characters.")
    return name


@dataclass(frozen=True, slots=True)
class TokenDesk:
    """Makes, lists and revokes the tokens of one tenant. data, mirror: directories. signing: the private key's file."""

    data: Path
    mirror: Path
    tenant: str
    tenant_id: TenantId
    signing: Path | None = None

    def make(self, order: TokenOrder) -> tuple[str, ListedToken]:
        """A new token, which is kept nowhere, and its line in the list. Raises UserError if there are too many."""
        self._make_room()
        private = signing_key(self.data, self._keyring, self.signing)
        actor = Actor("agent", order.actor)
        text, token_id = signed_tokens.issue_token(
            private, self.tenant, self.tenant_id, actor, rights=order.rights, expires=order.expires
        )
        listed = ListedToken(
            id=token_id,
            key=key_id(private.public_key()),
            actor=order.actor,
            scope=order.rights.scope.split()[-1],
            paths="" if order.rights.paths.is_unlimited else str(order.rights.paths),
            by=order.by,
            made_at=time.time(),
            until=order.expires.timestamp() if order.expires is not None else None,
        )
        _write(self._directory, listed)
        return text, listed

    def list_all(self) -> list[ListedToken]:
        """The tokens that were made, the newest first; those that are long over leave the list."""
        revoked = self._keyring.revoked_ids()
        listed = []
        for file in self._directory.glob("*.json"):
            token = _read(file)
            if token is None:
                continue
            if _ended_at(token) < time.time() - _KEPT_SECONDS:
                file.unlink(missing_ok=True)
                continue
            listed.append(replace(token, is_revoked=not revoked.isdisjoint((token.id, token.key))))
        return sorted(listed, key=lambda token: (-token.made_at, token.id))

    def revoke(self, token_id: str, by: str) -> bool:
        """End a token at once. False: this tenant made none with this id."""
        token = next((token for token in self.list_all() if token.id == token_id), None)
        if token is None:
            return False
        if not token.is_revoked:
            self._keyring.revoke(token_id)
            note_end(self.data, token_id, by)
        return True

    def _make_room(self) -> None:
        """Let tokens that are over leave a full list, the oldest first; scripts make many that work for an hour."""
        listed = self.list_all()
        excess = max(0, len(listed) - MAX_LISTED + 1)
        over = [token for token in reversed(listed) if token.is_revoked or _ended_at(token) < time.time()]
        if len(over) < excess:
            raise UserError(f"{MAX_LISTED} tokens of this tenant work. End one that is not needed any more.")
        for token in over[:excess]:
            (self._directory / f"{token.id}.json").unlink(missing_ok=True)

    @property
    def _keyring(self) -> Keyring:
        return Keyring(self.mirror)

    @property
    def _directory(self) -> Path:
        return self.data / "tokens" / str(self.tenant_id)


def note_end(data: Path, token_id: str, by: str) -> None:
    """Let the list say who revoked a token, of whichever tenant; data: the data directory."""
    for file in (data / "tokens").glob(f"*/{token_id}.json"):
        token = _read(file)
        if token is not None and token.ended_at is None:
            _write(file.parent, replace(token, ended_at=time.time(), ended_by=by))


def _write(directory: Path, token: ListedToken) -> None:
    """Raises UserError if the list cannot be written."""
    try:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        signed_tokens.write_file(directory / f"{token.id}.json", orjson.dumps(asdict(token)))
    except OSError as error:
        raise UserError(f"The list of tokens in {directory} cannot be written: {error.strerror}.") from error


def _ended_at(token: ListedToken) -> float:
    """When a token ended or will end; in a future without end if it does not expire."""
    ends = [moment for moment in (token.ended_at, token.until) if moment is not None]
    return min(ends, default=float("inf"))


def _read(file: Path) -> ListedToken | None:
    """The token in a file; None: the file is gone or damaged."""
    with suppress(OSError, ValueError, TypeError):
        facts: Mapping[str, Any] = orjson.loads(file.read_bytes())
        token = ListedToken(**facts)
        _ended_at(token)  # raises TypeError where its moments are none
        return token if token.id == file.stem and isinstance(token.made_at, float) else None
    return None
