"""
Who may in: one-time tokens and sessions, both signed with a key of the installation's own.

What was used up (a token that let somebody in, a session that was ended) is a file by its digest, made exclusively: so
it is used up once, whichever process asks, and also after a restart.
"""

import hashlib
import hmac
import os
import secrets
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from uuid import UUID

import jwt

from mirrord.errors import UserError

SESSION = 14 * 86400  # seconds a sign-in lasts
INVITATION = 12 * 3600  # seconds a link waits for being followed
_ALGORITHM = "HS256"
_KEY_BYTES = 32
_MADE = os.O_CREAT | os.O_EXCL | os.O_WRONLY


@dataclass(frozen=True, slots=True)
class Session:
    """Somebody who signed in. tenant: the only one they see; None: an operator, who sees all."""

    id: str
    name: str
    tenant: UUID | None

    @property
    def is_operator(self) -> bool:
        """Whether they see every tenant."""
        return self.tenant is None


class Gate:
    """Lets people in, knows them again, and lets them out."""

    def __init__(self, data: Path) -> None:
        """*data*: the data directory. Raises UserError if the key cannot be kept below it."""
        self._directory = data / "console"
        try:
            (self._directory / "spent").mkdir(parents=True, mode=0o700, exist_ok=True)
            self._key = _kept_key(self._directory / "key")
        except OSError as error:
            where = self._directory
            raise UserError(f"The console keeps its key in {where}, which cannot be used: {error.strerror}.") from error
        # two consoles on one host share its cookies, whatever their ports
        self.cookie = f"mirrord_{hashlib.sha256(self._key).hexdigest()[:8]}"

    def invite(self, name: str, tenant: UUID | None, seconds: float = INVITATION) -> str:
        """A token that lets somebody in once, as *name*. tenant None: as an operator."""
        self._sweep()
        return self._signed("sign-in", Session(secrets.token_urlsafe(16), name, tenant), seconds)

    def is_open(self, token: str) -> bool:
        """Whether an invitation was not followed yet, and still may be."""
        found = self._read("sign-in", token)
        return found is not None and not self._spent(found.id).exists()

    def admit(self, token: str, seconds: float = SESSION) -> str | None:
        """The cookie of a new session, for a token that nobody used; None: it lets nobody in, or not any more."""
        invited = self._read("sign-in", token)
        if invited is None or not self._spend(invited.id):
            return None
        return self._signed("session", Session(secrets.token_urlsafe(16), invited.name, invited.tenant), seconds)

    def session(self, cookie: str) -> Session | None:
        """Whose cookie it is; None: nobody's, or the session ended."""
        found = self._read("session", cookie)
        return found if found is not None and not self._spent(found.id).exists() else None

    def end(self, session: Session) -> None:
        """Let nobody in with this session's cookie any more."""
        self._spend(session.id)

    def mark(self, session: Session) -> str:
        """What a page of this session shows with every change it asks for, and no other site can know."""
        return hmac.new(self._key, f"csrf {session.id}".encode(), "sha256").hexdigest()

    def is_mark_of(self, session: Session, mark: str) -> bool:
        """Whether a page of this session shows that mark."""
        return hmac.compare_digest(self.mark(session).encode(), mark.encode())

    def _signed(self, purpose: str, session: Session, seconds: float) -> str:
        tenant = str(session.tenant) if session.tenant else "*"
        facts = {"aud": purpose, "jti": session.id, "name": session.name, "tenant": tenant}
        return jwt.encode({**facts, "exp": int(time.time() + seconds)}, self._key, _ALGORITHM)

    def _read(self, purpose: str, token: str) -> Session | None:
        wanted = {"require": ["aud", "jti", "exp", "name", "tenant"]}
        try:
            facts = jwt.decode(token, self._key, [_ALGORITHM], audience=purpose, options=wanted)  # type: ignore[arg-type]
            return Session(
                str(facts["jti"]), str(facts["name"]), UUID(facts["tenant"]) if facts["tenant"] != "*" else None
            )
        except (jwt.InvalidTokenError, ValueError):
            return None

    def _spent(self, name: str) -> Path:
        return self._directory / "spent" / hashlib.sha256(name.encode()).hexdigest()

    def _spend(self, name: str) -> bool:
        """False: it was used up before."""
        try:
            os.close(os.open(self._spent(name), _MADE, 0o600))
        except FileExistsError:
            return False
        return True

    def _sweep(self) -> None:
        """What expired needs no mark any more."""
        for mark in (self._directory / "spent").iterdir():
            with suppress(FileNotFoundError):
                if mark.stat().st_mtime < time.time() - 2 * max(SESSION, INVITATION):
                    mark.unlink()


def _kept_key(file: Path) -> bytes:
    """Made whole under another name first, so that nobody reads half of it."""
    fresh = file.with_name(f"{file.name}-{secrets.token_hex(8)}")
    if not file.exists():
        descriptor = os.open(fresh, _MADE, 0o600)
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(secrets.token_bytes(_KEY_BYTES))
            stream.flush()
            os.fsync(stream.fileno())
        with suppress(FileExistsError):
            os.link(fresh, file)
        fresh.unlink()
    key = file.read_bytes()
    if len(key) != _KEY_BYTES:
        raise UserError(f"{file} is no key of the console: remove it, and everybody signs in anew.")
    return key
