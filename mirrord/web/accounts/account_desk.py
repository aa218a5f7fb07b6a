"""Questions to the identity provider: few at once, in threads, so that nothing else waits for it."""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from starlette.exceptions import HTTPException

from mirrord.auth.issuer.openid_issuer import OpenIdIssuer, SignInAttempt

_MAX_AT_ONCE = 2  # questions
_MAX_WAITING = 50  # questions

_T = TypeVar("_T")


@dataclass(slots=True)
class AccountDesk:
    """The console's side of the provider."""

    issuer: OpenIdIssuer
    _turns: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(_MAX_AT_ONCE))
    _waiting: int = 0

    async def sign_in_url(self, attempt: SignInAttempt) -> str:
        """As the issuer's. Raises 429 where too many wait."""
        return await self._ask(self.issuer.sign_in_url, attempt)

    async def redeem(self, code: str, attempt: SignInAttempt) -> Mapping[str, Any]:
        """As the issuer's. Raises 429 where too many wait."""
        return await self._ask(self.issuer.redeem, code, attempt)

    async def _ask(self, question: Callable[..., _T], *values: object) -> _T:
        if self._waiting >= _MAX_WAITING:
            raise HTTPException(429, "Too many people sign in just now. Try again in a moment.")
        self._waiting += 1
        try:
            async with self._turns:
                return await asyncio.to_thread(question, *values)
        finally:
            self._waiting -= 1
