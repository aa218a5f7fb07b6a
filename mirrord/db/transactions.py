"""Transactions in few round trips, and how long they wait for locks of apps."""

import time
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager, nullcontext, suppress
from dataclasses import dataclass
from functools import partial
from typing import Any

import psycopg
from psycopg.pq import TransactionStatus

from mirrord.domain.entry import TenantId


@dataclass(slots=True)
class TransactionChanges:
    """
    What a transaction changed, known once it is committed.

    seq: its number in the feed; None: no entry changed. expected_entries: how many entries the caller has changed;
    None: unknown. followed_seq: links and segments followed the feed up to it in this transaction; None: they did not.
    """

    seq: int | None = None
    entries: int = 0
    expected_entries: int | None = None
    followed_seq: int | None = None


class CommandQueue(deque[Callable[[], None]]):
    """Commands of a pipeline, sent together: sent singly, each wakes the server, which costs processor time."""

    _is_held = False

    def __init__(
        self, commands: Iterable[Callable[[], None]] = (), pipeline: psycopg.AsyncPipeline | None = None
    ) -> None:
        """pipeline: whose commands they are, for add()."""
        super().__init__(commands)
        self._pipeline = pipeline

    def add(self, statement: bytes) -> None:
        """
        Add a statement without values and without a result; its error is raised by a later one.

        A cursor would take several times the processor time, and the driver would prepare the statement: the settings
        of a hundred tenants would push statements that are worth it out of what it keeps prepared.
        """
        assert self._pipeline is not None
        self.append(partial(self._pipeline.pgconn.send_query_params, statement, None))
        self._pipeline.result_queue.append(None)

    def __bool__(self) -> bool:
        return len(self) > 0 and not self._is_held

    def popleft(self) -> Callable[[], None]:
        """One command that runs all of them."""
        commands = list(self)
        self.clear()

        def send_all() -> None:
            for command in commands:
                command()

        return send_all

    @contextmanager
    def hold(self) -> Iterator[None]:
        """Delay commands until the next send after the block."""
        self._is_held = True
        try:
            yield
        finally:
            self._is_held = False


@asynccontextmanager
async def pipelined_transaction(connection: psycopg.AsyncConnection[Any]) -> AsyncIterator[CommandQueue]:
    """
    One transaction in pipeline mode: statements without a fetch cost no round trip, neither does its BEGIN.

    connection: in autocommit mode. After an error it may still be in the transaction: roll it back, as a pool does.
    """
    try:
        async with connection.pipeline() as pipeline:
            pipeline.command_queue = outbox = CommandQueue(pipeline=pipeline)
            outbox.add(b"BEGIN")
            completed = False
            try:
                yield outbox
                completed = True
            finally:
                if not completed:
                    with suppress(psycopg.Error):  # of pending statements; only the first error matters
                        await pipeline.sync()
            outbox.add(b"COMMIT")
    except psycopg.errors.PipelineAborted as error:
        raise _first_error_of(error) from None


@asynccontextmanager
async def joined_statements(connection: psycopg.AsyncConnection[Any]) -> AsyncIterator[None]:
    """
    Send the statements of the block together, in one round trip; their answers are there after it.

    Nothing may be fetched in the block, and no other pipeline may begin in it. In a pipelined_transaction() it takes
    along what was not sent yet.
    """
    outer = connection._pipeline
    before = outer.command_queue if outer is not None else None
    outbox = before if isinstance(before, CommandQueue) else CommandQueue()
    try:
        async with _pipeline_with(connection, outbox):
            with outbox.hold():
                yield
    except psycopg.errors.PipelineAborted as error:
        raise _first_error_of(error) from None


@asynccontextmanager
async def _pipeline_with(connection: psycopg.AsyncConnection[Any], outbox: CommandQueue) -> AsyncIterator[None]:
    """
    A pipeline with the commands of *outbox*, perhaps within another one that has the same.

    The driver would begin an inner one with a round trip for these, which is only needed where answers to others are
    due.
    """
    is_answered = connection.pgconn.transaction_status != TransactionStatus.ACTIVE
    async with AsyncExitStack() as stack:
        with outbox.hold() if is_answered else nullcontext():
            pipeline = await stack.enter_async_context(connection.pipeline())
        pipeline.command_queue = outbox
        yield


@contextmanager
def unsent_statements(connection: psycopg.AsyncConnection[Any]) -> Iterator[None]:
    """In a pipelined_transaction(): the statements of the block are sent with the next one after it."""
    pipeline = connection._pipeline
    assert pipeline is not None
    queue = pipeline.command_queue
    assert isinstance(queue, CommandQueue)
    with queue.hold():
        yield


def _first_error_of(error: psycopg.errors.PipelineAborted) -> psycopg.Error:
    """
    The error that aborted a pipeline.

    Where its answer arrives while the last statements are sent, the driver raises theirs, with that one as context.
    """
    first_error: BaseException | None = error.__context__
    while isinstance(first_error, psycopg.errors.PipelineAborted):
        first_error = first_error.__context__
    return first_error if isinstance(first_error, psycopg.Error) else error


LOCK_TIMEOUT_MS = 700  # milliseconds; Postgres looks for deadlocks after a second, and would end the app's transaction
SHORT_LOCK_TIMEOUT_MS = 100  # milliseconds; many times as long as a commit holds its tenant's clock
SHORT_WAITS_SECONDS = 2.0  # seconds of short waits for a tenant after a wait that timed out


class LockWaits:
    """
    Decides which transactions may wait for LOCK_TIMEOUT: at most half of the connections at a time, and none of a
    tenant whose last full wait timed out recently. All others wait for SHORT_LOCK_TIMEOUT.
    """

    def __init__(self, connections: int) -> None:
        self._max_full_waits = max(1, connections // 2)
        self._full_waits = 0
        self._timed_out_at: dict[TenantId, float] = {}

    @contextmanager
    def limit_wait(self, tenant: TenantId) -> Iterator[int]:
        """The milliseconds that one transaction of *tenant* may wait for a lock."""
        is_full = self._full_waits < self._max_full_waits and not (
            self._timed_out_at and self._timed_out_recently(tenant)
        )
        self._full_waits += is_full
        try:
            yield LOCK_TIMEOUT_MS if is_full else SHORT_LOCK_TIMEOUT_MS
        except psycopg.errors.LockNotAvailable:
            if is_full:
                self._timed_out_at[tenant] = time.monotonic()
            raise
        finally:
            self._full_waits -= is_full

    def _timed_out_recently(self, tenant: TenantId) -> bool:
        """Whether a full wait of *tenant* timed out within the last HELD_SECONDS."""
        if time.monotonic() - self._timed_out_at.get(tenant, -SHORT_WAITS_SECONDS) < SHORT_WAITS_SECONDS:
            return True
        self._timed_out_at.pop(tenant, None)
        return False
