"""
One-time sign-in links and signed sessions.

A link is a file named by the digest of its token, removed when the link is followed; an ended session is also a file
named by its digest. So both are valid for every process, and after a restart.
"""

import hashlib
import hmac
import os
import secrets
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import UUID

import jwt
import orjson

from mirrord.auth.accounts import Account, AccountStore
from mirrord.auth.roles import Role
from mirrord.errors import UserError

SESSION_SECONDS = 14 * 86400  # seconds until a session expires
INVITATION_SECONDS = 12 * 3600  # seconds until an unused link expires
_SLACK_SECONDS = 3600  # added before files of expired links and sessions are removed
_ALGORITHM, _PURPOSE = "HS256", "session"
_ALL_TENANTS = "*"  # in cookies
_TOKEN_BYTES = 16
_KEY_BYTES = 32
_CREATE_FLAGS = os.O_CREAT | os.O_EXCL | os.O_WRONLY


@dataclass(frozen=True, slots=True)
class Session:
    """
    A signed-in user.

    roles: by tenant, which are all that the user sees; None: an operator of all tenants. person: who signed in with
    an account; None: a person with a link.
    """

    id: str
    name: str
    roles: Mapping[UUID, Role] | None
    person: str | None = None

    @property
    def owner(self) -> str:
        """What tells people apart: the account, the same in all browsers; of a link its one session."""
        return f"session {self.id}" if self.person is None else f"person {self.person}"

    @property
    def sees_all(self) -> bool:
        """Whether the session sees every tenant, and the machine."""
        return self.roles is None

    def role_in(self, tenant: UUID) -> Role | None:
        """What the user may do in a tenant; None: not even know of it."""
        return Role.OPERATOR if self.roles is None else self.roles.get(tenant)


class Gate:
    """Creates links, and creates, verifies and ends sessions."""

    def __init__(self, data: Path) -> None:
        """data: the data directory. Raises UserError if the key cannot be stored in it."""
        self.data = data
        self.accounts = AccountStore(data)
        self._directory = data / "console"
        try:
            self._directory.mkdir(mode=0o700, parents=True, exist_ok=True)
            for name in ("invited", "ended"):
                (self._directory / name).mkdir(mode=0o700, exist_ok=True)
            self._key = _load_or_create_key(self._directory / "key")
        except OSError as error:
            where = self._directory
            raise UserError(f"The console keeps its key in {where}, which cannot be used: {error.strerror}.") from error
        # two consoles on one host share its cookies, also on different ports
        self.cookie = f"mirrord_{hashlib.sha256(self._key).hexdigest()[:8]}"

    def invite(
        self, name: str, tenant: UUID | None, seconds: float = INVITATION_SECONDS, role: Role = Role.WRITER
    ) -> str:
        """A token for one sign-in as *name*. role: in *tenant*; tenant None: as an operator of all."""
        self._remove_expired()
        token = secrets.token_urlsafe(_TOKEN_BYTES)
        until = time.time() + seconds
        facts = {"name": name, "tenant": str(tenant) if tenant else None, "role": role, "until": until}
        with os.fdopen(os.open(self._invitation_path(token), _CREATE_FLAGS, 0o600), "wb") as stream:
            stream.write(orjson.dumps(facts))
        return token

    def is_unused(self, token: str) -> bool:
        """Whether a link is still unused, and has not expired."""
        try:
            facts = orjson.loads(self._invitation_path(token).read_bytes())
        except FileNotFoundError:
            return False
        return bool(facts["until"] >= time.time())

    def admit(self, token: str, seconds: float = SESSION_SECONDS) -> str | None:
        """The cookie of a new session for an unused token; None: unknown, used or expired."""
        invitation = self._invitation_path(token)
        try:
            facts = orjson.loads(invitation.read_bytes())
            invitation.unlink()  # the second of two concurrent calls fails here
        except FileNotFoundError:
            return None
        if facts["until"] < time.time():
            return None
        granted = {"tenant": facts["tenant"] or _ALL_TENANTS, "role": facts.get("role", Role.WRITER)}
        return self._sign({"name": facts["name"], **granted}, seconds)

    def admit_account(self, account: Account, name: str, seconds: float = SESSION_SECONDS) -> str:
        """The cookie of a new session of a person who signed in elsewhere. name: in the history."""
        return self._sign({"name": name, "person": account.person, "mark": account.mark}, seconds)

    def session(self, cookie: str) -> Session | None:
        """The session of a cookie; None: invalid, expired or ended."""
        session = self._decode_cookie(cookie)
        return session if session is not None and not self._ended_path(session).exists() else None

    def end_session(self, session: Session) -> None:
        """Invalidate the cookie of this session."""
        with suppress(FileExistsError):
            os.close(os.open(self._ended_path(session), _CREATE_FLAGS, 0o600))

    def csrf_token(self, session: Session) -> str:
        """The CSRF token of this session: its pages send it with every change, other sites cannot know it."""
        return hmac.new(self._key, f"csrf {session.id}".encode(), "sha256").hexdigest()

    def is_csrf_token(self, session: Session, mark: str) -> bool:
        """Whether *mark* is the CSRF token of this session."""
        return hmac.compare_digest(self.csrf_token(session).encode(), mark.encode())

    def seal(self, purpose: str, facts: Mapping[str, str | None], seconds: float) -> str:
        """*facts* as a text that only this installation can make, and open() reads for the same *purpose*."""
        return jwt.encode({"facts": facts, "aud": purpose, "exp": int(time.time() + seconds)}, self._key, _ALGORITHM)

    def open(self, purpose: str, sealed: str) -> Mapping[str, str | None] | None:
        """What seal() was given; None: another purpose, expired, or not sealed here."""
        claims = self._decode_claims(purpose, sealed, "facts")
        return claims["facts"] if claims is not None else None

    def _sign(self, facts: Mapping[str, str], seconds: float) -> str:
        claims = {"aud": _PURPOSE, "jti": secrets.token_urlsafe(_TOKEN_BYTES), "exp": int(time.time() + seconds)}
        return jwt.encode({**facts, **claims}, self._key, _ALGORITHM)

    def _decode_cookie(self, cookie: str) -> Session | None:
        claims = self._decode_claims(_PURPOSE, cookie, "jti", "name")
        if claims is None:
            return None
        try:
            return Session(str(claims["jti"]), str(claims["name"]), self._roles_of(claims), claims.get("person"))
        except (KeyError, ValueError):
            return None

    def _roles_of(self, claims: Mapping[str, Any]) -> Mapping[UUID, Role] | None:
        """The roles of a cookie, those of an account as they are now. Raises KeyError and ValueError without any."""
        if "person" in claims:
            account = self.accounts.find(claims["person"])
            if account is None or account.mark != claims["mark"]:
                raise ValueError
            return account.roles
        if claims["tenant"] == _ALL_TENANTS:
            return None
        return {UUID(claims["tenant"]): Role(claims.get("role", Role.WRITER))}

    def _decode_claims(self, purpose: str, signed: str, *required: str) -> Mapping[str, Any] | None:
        options = {"require": ["aud", "exp", *required]}
        try:
            claims: Mapping[str, Any] = jwt.decode(
                signed,
                self._key,
                [_ALGORITHM],
                audience=purpose,
                options=options,  # type: ignore[arg-type]
            )
        except (jwt.InvalidTokenError, ValueError):
            return None
        return claims

    def _invitation_path(self, token: str) -> Path:
        return self._directory / "invited" / hashlib.sha256(token.encode()).hexdigest()

    def _ended_path(self, session: Session) -> Path:
        return self._directory / "ended" / hashlib.sha256(session.id.encode()).hexdigest()

    def _remove_expired(self) -> None:
        """Remove the files of expired links and sessions."""
        for name, seconds in (("invited", INVITATION_SECONDS), ("ended", SESSION_SECONDS)):
            for file in (self._directory / name).iterdir():
                with suppress(FileNotFoundError):
                    if file.stat().st_mtime < time.time() - seconds - _SLACK_SECONDS:
                        file.unlink()


def _load_or_create_key(file: Path) -> bytes:
    """Create the key under a temporary name, so that no process reads part of it."""
    temporary = file.with_name(f"{file.name}-{secrets.token_hex(8)}")
    if not file.exists():
        descriptor = os.open(temporary, _CREATE_FLAGS, 0o600)
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(secrets.token_bytes(_KEY_BYTES))
            stream.flush()
            os.fsync(stream.fileno())
        with suppress(FileExistsError):
            os.link(temporary, file)
        temporary.unlink()
    key = file.read_bytes()
    if len(key) != _KEY_BYTES:
        raise UserError(f"{file} is not a key of the console: remove it; then all users must sign in again.")
    return key
