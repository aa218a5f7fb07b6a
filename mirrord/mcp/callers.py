"""Who calls: what they may do, and the session that remembers what they were shown."""

from collections import OrderedDict
from collections.abc import Callable
from contextvars import ContextVar
from functools import partial
from typing import Any, TypeVar

import anyio.to_thread
from mcp.server.auth.middleware.auth_context import get_access_token
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext

from mirrord.commands.failure import Failed
from mirrord.commands.gate import Gate
from mirrord.commands.memory import Memory, ShownDigests, remembering
from mirrord.commands.session import Session
from mirrord.errors import MirrordError
from mirrord.mcp.lanes import Lane, Lanes

T = TypeVar("T")

MAX_SESSIONS_PER_TOKEN = 1_000  # whose memories are kept; a session that is older reads its pages once more

_SESSION_HEADER = "mcp-session-id"  # of Streamable HTTP up to 2025-11-25
_session_id: ContextVar[str | None] = ContextVar("session_id", default=None)

_NEW_TOKEN = "Ask an operator for a token, which `mirrord tenant token NAME` makes, and connect again with it."


async def note_session(ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
    """Middleware: remember of which HTTP session a message is; the protocol of 2026 and stdio have none."""
    headers = getattr(ctx.request, "headers", {})
    _session_id.set(headers.get(_SESSION_HEADER))
    return await call_next(ctx)


class Caller:
    """
    One client: on stdio the connection's, over HTTP whoever shows the same token.

    still_holds: raises Refused once the token expired or was revoked.
    by_session: each HTTP session has a memory of its own of what it was shown. Where the protocol has no sessions, a
    write of a whole page needs the digest of a text that was shown to this token.
    """

    def __init__(
        self,
        session: Session,
        gate: Gate,
        *,
        may_write: bool,
        still_holds: Callable[[], None],
        by_session: bool = False,
    ) -> None:
        self.session = session
        self.gate = gate
        self.may_write = may_write
        self._still_holds = still_holds
        self._by_session = by_session
        self._memories: OrderedDict[str, Memory] = OrderedDict()
        self._token_digests = ShownDigests()
        self._lanes = Lanes()

    def check(self) -> None:
        """Raises Failed once the token counts no longer."""
        try:
            self._still_holds()
        except MirrordError as error:
            raise Failed("TOKEN_REFUSED", "no_session", str(error), _NEW_TOKEN) from error

    async def perform(self, work: Callable[[], T], lane: Lane | None) -> T:
        """Do blocking *work* off the event loop; lane: beside what; None: beside whatever else is asked for."""
        if (memory := self._memory()) is not None:
            work = partial(_remembered, memory, work)
        if lane is None:
            return await anyio.to_thread.run_sync(work)
        return await self._lanes.perform(work, lane)

    def _memory(self) -> Memory | None:
        """Of whoever calls now; None: that of the session, which is the connection's on stdio."""
        if not self._by_session:
            return None
        name = _session_id.get()
        if name is None:
            return Memory(self._token_digests)
        memory = self._memories.setdefault(name, Memory())
        self._memories.move_to_end(name)
        if len(self._memories) > MAX_SESSIONS_PER_TOKEN:
            self._memories.popitem(last=False)
        return memory

    def close(self) -> None:
        """Give the session's files back, once nothing works on them."""
        self._lanes.close()
        self.session.close()


def _remembered(memory: Memory, work: Callable[[], T]) -> T:
    with remembering(memory):
        return work()


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

    def may_hear(self) -> bool:
        """Whether clients may be told of changes: on stdio as long as the token counts; over HTTP streams end then."""
        try:
            if self._local is not None:
                self._local.check()
        except Failed:
            return False
        return True

    def close(self) -> None:
        """Give every session's files back."""
        for caller in [*self._by_token.values(), *([self._local] if self._local else [])]:
            caller.close()
