"""Authorization codes: single use, valid for a minute, remembered by their digests in this process only."""

import secrets
import time
from dataclasses import dataclass, field

from mcp.server.auth.provider import AuthorizationCode

from mirrord.auth.access_grant import Rights
from mirrord.domain.entry import digest_of

CODE_SECONDS = 60  # seconds until a code expires
_CODE_BYTES = 32


@dataclass(slots=True)
class IssuedCode:
    """
    A code that a person's consent led to. rights, person: of that consent.

    delegation: the id of what it was exchanged for; None: it is unused.
    """

    code: AuthorizationCode
    rights: Rights
    person: str
    delegation: str | None = None


@dataclass(frozen=True, slots=True)
class AuthorizationCodes:
    """The codes of the last minute. People make them one by one, so they need no limit."""

    _issued: dict[bytes, IssuedCode] = field(default_factory=dict)

    def issue(self, code: AuthorizationCode, rights: Rights, person: str) -> str:
        """Remember a code, and return its text; that of *code* is replaced."""
        now = time.time()
        for digest in [digest for digest, issued in self._issued.items() if issued.code.expires_at < now]:
            del self._issued[digest]
        text = secrets.token_urlsafe(_CODE_BYTES)
        stored = code.model_copy(update={"code": "", "expires_at": now + CODE_SECONDS})
        self._issued[digest_of(text.encode())] = IssuedCode(stored, rights, person)
        return text

    def find(self, text: str) -> IssuedCode | None:
        """The code with this text, used or not; None: it is unknown or has expired."""
        issued = self._issued.get(digest_of(text.encode()))
        return issued if issued is not None and issued.code.expires_at >= time.time() else None
