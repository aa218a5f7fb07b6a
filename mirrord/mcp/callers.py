"""Who calls: permissions, and the session that remembers what was shown."""

from collections import OrderedDict
from collections.abc import Callable
from contextvars import ContextVar
from functools import partial
from typing import Any, TypeVar

import anyio.to_thread
from mcp.server.auth.middleware.auth_context import get_access_token
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext

from mirrord.commands.core.failure import Failed
from mirrord.commands.core.seen_pages import Memory, ShownDigests, using_memory
from mirrord.commands.core.session import Gate, Session
from mirrord.errors import MirrordError
from mirrord.mcp.tools.request_lanes import Lane, Lanes

T = TypeVar("T")

MAX_SESSIONS_PER_TOKEN = 1_000  # with a memory; older sessions have to read their pages again

_SESSION_HEADER = "mcp-session-id"  # of Streamable HTTP up to 2025-11-25
_session_id: ContextVar[str | None] = ContextVar("session_id", default=None)

_NEW_TOKEN = "Ask an operator for a token, which `mirrord tenant token NAME` makes, and connect again with it."


async def note_session(ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
    """Middleware: note the HTTP session of a message; the protocol of 2026 and stdio have none."""
    headers = getattr(ctx.request, "headers", {})
    _session_id.set(headers.get(_SESSION_HEADER))
    return await call_next(ctx)


class Caller:
    """
    One client: on stdio the connection, over HTTP all holders of one token.

    still_holds: raises Refused if the token has expired or been revoked.
    by_session: each HTTP session has its own memory of shown texts. If the protocol has no sessions, a write of a whole
    page needs the digest of a text shown to this token.
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
        """Raise Failed if the token is no longer valid."""
        try:
            self._still_holds()
        except MirrordError as error:
            raise Failed("TOKEN_REFUSED", "no_session", str(error), _NEW_TOKEN) from error

    async def perform(self, work: Callable[[], T], lane: Lane | None) -> T:
        """Do blocking *work* off the event loop. lane: limits concurrent work; None: no limit."""
        if (memory := self._memory()) is not None:
            work = partial(_with_memory, memory, work)
        if lane is None:
            return await anyio.to_thread.run_sync(work)
        return await self._lanes.perform(work, lane)

    def _memory(self) -> Memory | None:
        """The memory of the current HTTP session; None: use that of the command session (stdio)."""
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
        """Close the session's files after the work on them has ended."""
        self._lanes.close()
        self.session.close()


def _with_memory(memory: Memory, work: Callable[[], T]) -> T:
    with using_memory(memory):
        return work()


class Callers:
    """All callers of this process."""

    def __init__(self, local: Caller | None = None) -> None:
        """*local*: caller of requests without a token, as on stdio; None: such requests are refused."""
        self._local = local
        self._by_token: dict[str, Caller] = {}

    def admit(self, token: str, make: Callable[[], Caller]) -> None:
        """Admit the token of this id; *make* creates its caller the first time."""
        if token not in self._by_token:
            self._by_token[token] = make()

    def current(self) -> Caller:
        """The caller of the current request. Raises Failed if it is not admitted."""
        access = get_access_token()
        caller = self._local if access is None else self._by_token.get(access.client_id)
        if caller is None:
            raise Failed("TOKEN_REFUSED", "no_session", "This server needs a token.", _NEW_TOKEN)
        caller.check()
        return caller

    def any_caller(self) -> Caller | None:
        """Any caller, for reads of the tree on behalf of all; None: there is none yet."""
        return self._local or next(iter(self._by_token.values()), None)

    def may_notify(self) -> bool:
        """Whether clients may be notified: on stdio while the token is valid; over HTTP its streams end with it."""
        try:
            if self._local is not None:
                self._local.check()
        except Failed:
            return False
        return True

    def close(self) -> None:
        """Close the files of every session."""
        for caller in [*self._by_token.values(), *([self._local] if self._local else [])]:
            caller.close()
