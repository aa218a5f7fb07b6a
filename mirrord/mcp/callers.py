"""Who calls: what they may do, and the session that remembers what they were shown."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import anyio
import anyio.to_thread
from mcp.server.auth.middleware.auth_context import get_access_token

from mirrord.commands.failure import Failed
from mirrord.commands.gate import Gate
from mirrord.commands.session import Session
from mirrord.errors import MirrordError

T = TypeVar("T")

_NEW_TOKEN = "Ask an operator for a token, which `mirrord tenant token NAME` makes, and connect again with it."


class Caller:
    """
    One client: on stdio the connection's, over HTTP whoever shows the same token.

    still_holds: raises Refused once the token expired or was revoked.
    """

    def __init__(self, session: Session, gate: Gate, *, may_write: bool, still_holds: Callable[[], None]) -> None:
        self.session = session
        self.gate = gate
        self.may_write = may_write
        self._still_holds = still_holds
        self._thread = ThreadPoolExecutor(1, "commands")  # a session does one thing at a time

    def check(self) -> None:
        """Raises Failed once the token counts no longer."""
        try:
            self._still_holds()
        except MirrordError as error:
            raise Failed("TOKEN_REFUSED", "no_session", str(error), _NEW_TOKEN) from error

    async def perform(self, work: Callable[[], T], *, waits: bool = False) -> T:
        """Do blocking *work* off the event loop; waits: beside whatever else this caller asked for."""
        if waits:
            return await anyio.to_thread.run_sync(work)
        # neither anyio's thread nor run_in_executor(): what they do besides takes as long as a short command
        loop = asyncio.get_running_loop()
        done = loop.create_future()
        working = self._thread.submit(work)
        working.add_done_callback(lambda _: loop.call_soon_threadsafe(done.set_result, None))
        with anyio.CancelScope(shield=True):
            await done
        return working.result()

    def close(self) -> None:
        """Give the session's files back, once nothing works on them."""
        self._thread.shutdown()
        self.session.close()


class Callers:
    """Everybody this process serves."""

    def __init__(self, local: Caller | None = None) -> None:
        """*local*: who calls where no token comes with the call, as on stdio; None: nobody may."""
        self._local = local
        self._by_token: dict[str, Caller] = {}

    def admit(self, token: str, make: Callable[[], Caller]) -> None:
        """Let calls with the token of this id count; *make* is asked the first time."""
        if token not in self._by_token:
            self._by_token[token] = make()

    def current(self) -> Caller:
        """Who makes the call that is being served. Raises Failed if they may not."""
        shown = get_access_token()
        caller = self._local if shown is None else self._by_token.get(shown.client_id)
        if caller is None:
            raise Failed("TOKEN_REFUSED", "no_session", "This server needs a token.", _NEW_TOKEN)
        caller.check()
        return caller

    def anybody(self) -> Caller | None:
        """Someone to look at the tree for all; None before anybody came."""
        return self._local or next(iter(self._by_token.values()), None)

    def close(self) -> None:
        """Give every session's files back."""
        for caller in [*self._by_token.values(), *([self._local] if self._local else [])]:
            caller.close()
