"""
Who may in: links that work once, and sessions, which are signed with a key of the installation's own.

A link is a file by the digest of its token, which whoever follows it removes; a session that was ended is a file by its
digest, too. So both hold for every process, and after a restart.
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
import orjson

from mirrord.errors import UserError

SESSION = 14 * 86400  # seconds a sign-in lasts
INVITATION = 12 * 3600  # seconds a link waits for being followed
_SLACK = 3600  # seconds after which nobody can have use for what expired
_ALGORITHM, _PURPOSE = "HS256", "session"
_TOKEN_BYTES = 16
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
            self._directory.mkdir(mode=0o700, parents=True, exist_ok=True)
            for name in ("invited", "ended"):
                (self._directory / name).mkdir(mode=0o700, exist_ok=True)
            self._key = _kept_key(self._directory / "key")
        except OSError as error:
            where = self._directory
            raise UserError(f"The console keeps its key in {where}, which cannot be used: {error.strerror}.") from error
        # two consoles on one host share its cookies, whatever their ports
        self.cookie = f"mirrord_{hashlib.sha256(self._key).hexdigest()[:8]}"

    def invite(self, name: str, tenant: UUID | None, seconds: float = INVITATION) -> str:
        """A token that lets somebody in once, as *name*. tenant None: as an operator."""
        self._sweep()
        token = secrets.token_urlsafe(_TOKEN_BYTES)
        facts = {"name": name, "tenant": str(tenant) if tenant else None, "until": time.time() + seconds}
        with os.fdopen(os.open(self._invitation(token), _MADE, 0o600), "wb") as stream:
            stream.write(orjson.dumps(facts))
        return token

    def is_open(self, token: str) -> bool:
        """Whether a link was not followed yet."""
        return self._invitation(token).exists()

    def admit(self, token: str, seconds: float = SESSION) -> str | None:
        """The cookie of a new session, for a token that nobody used; None: it lets nobody in, or not any more."""
        invitation = self._invitation(token)
        try:
            facts = orjson.loads(invitation.read_bytes())
            invitation.unlink()  # of two at once one fails here
        except FileNotFoundError:
            return None
        if facts["until"] < time.time():
            return None
        tenant = UUID(facts["tenant"]) if facts["tenant"] else None
        return self._signed(Session(secrets.token_urlsafe(_TOKEN_BYTES), facts["name"], tenant), seconds)

    def session(self, cookie: str) -> Session | None:
        """Whose cookie it is; None: nobody's, or the session ended."""
        found = self._read(cookie)
        return found if found is not None and not self._ended(found).exists() else None

    def end(self, session: Session) -> None:
        """Let nobody in with this session's cookie any more."""
        with suppress(FileExistsError):
            os.close(os.open(self._ended(session), _MADE, 0o600))

    def mark(self, session: Session) -> str:
        """What a page of this session shows with every change it asks for, and no other site can know."""
        return hmac.new(self._key, f"csrf {session.id}".encode(), "sha256").hexdigest()

    def is_mark_of(self, session: Session, mark: str) -> bool:
        """Whether a page of this session shows that mark."""
        return hmac.compare_digest(self.mark(session).encode(), mark.encode())

    def _signed(self, session: Session, seconds: float) -> str:
        tenant = str(session.tenant) if session.tenant else "*"
        facts = {"aud": _PURPOSE, "jti": session.id, "name": session.name, "tenant": tenant}
        return jwt.encode({**facts, "exp": int(time.time() + seconds)}, self._key, _ALGORITHM)

    def _read(self, cookie: str) -> Session | None:
        wanted = {"require": ["aud", "jti", "exp", "name", "tenant"]}
        try:
            facts = jwt.decode(cookie, self._key, [_ALGORITHM], audience=_PURPOSE, options=wanted)  # type: ignore[arg-type]
            return Session(
                str(facts["jti"]), str(facts["name"]), UUID(facts["tenant"]) if facts["tenant"] != "*" else None
            )
        except (jwt.InvalidTokenError, ValueError):
            return None

    def _invitation(self, token: str) -> Path:
        return self._directory / "invited" / hashlib.sha256(token.encode()).hexdigest()

    def _ended(self, session: Session) -> Path:
        return self._directory / "ended" / hashlib.sha256(session.id.encode()).hexdigest()

    def _sweep(self) -> None:
        """Forget what expired anyway."""
        for name, seconds in (("invited", INVITATION), ("ended", SESSION)):
            for file in (self._directory / name).iterdir():
                with suppress(FileNotFoundError):
                    if file.stat().st_mtime < time.time() - seconds - _SLACK:
                        file.unlink()


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
