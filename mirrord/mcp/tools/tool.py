"""A tool: its description for models, the command behind it, and how much of its work runs at once."""

import asyncio
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any, Generic, TypeVar

import anyio
from mcp_types import Tool as Listed
from mcp_types import ToolAnnotations
from pydantic import TypeAdapter

from mirrord.commands.core.session import Session
from mirrord.domain.trust import Trust
from mirrord.mcp.tools.arguments import A, Schema, or_pending, schema_of

T = TypeVar("T")

MAX_READS = 8
MAX_SEARCHES = 2  # at once: they share one search process


class Lane(StrEnum):
    """A class of work with its own limit of concurrency."""

    READ = "read"
    SEARCH = "search"  # reads the whole tree, and must not delay short reads
    WRITE = "write"


_WIDTHS = {Lane.READ: MAX_READS - 1, Lane.SEARCH: MAX_SEARCHES, Lane.WRITE: 1}


class Lanes:
    """
    Threads for blocking work. Writes run in the order of arrival, and later work sees their effect.

    One read after the other has the same thread: each item wakes all idle threads of a pool, one by one.
    """

    def __init__(self) -> None:
        self._threads = {lane: ThreadPoolExecutor(width, lane.value) for lane, width in _WIDTHS.items()}
        self._lone_thread = ThreadPoolExecutor(1, Lane.READ.value)
        self._lone_read: Future[object] | None = None
        self._last_write: Future[object] | None = None

    async def perform(self, work: Callable[[], T], lane: Lane) -> T:
        """Do *work* off the event loop. A cancellation drops work that has not started, and waits for work that has."""
        if lane is Lane.WRITE:
            future = self._threads[lane].submit(work)
            self._last_write = future  # type: ignore[assignment]  # only waited for
        else:
            if self._last_write is not None and not self._last_write.done():
                await _wait_for(self._last_write)
            future = self._submit_read(work, lane)
        try:
            await _wait_for(future)
        except anyio.get_cancelled_exc_class():
            if not future.cancel():
                with anyio.CancelScope(shield=True):
                    await _wait_for(future)
            raise
        return future.result()

    def _submit_read(self, work: Callable[[], T], lane: Lane) -> "Future[T]":
        if lane is not Lane.READ or not (self._lone_read is None or self._lone_read.done()):
            return self._threads[lane].submit(work)
        future = self._lone_thread.submit(work)
        self._lone_read = future  # type: ignore[assignment]  # only looked at
        return future

    def close(self) -> None:
        """Wait for all work that has started."""
        for threads in (self._lone_thread, *self._threads.values()):
            threads.shutdown()


async def _wait_for(future: "Future[T]") -> None:
    """Wait for *future*. anyio's threads and run_in_executor() have an overhead as long as a short command."""
    loop = asyncio.get_running_loop()
    ended = loop.create_future()
    future.add_done_callback(lambda _: loop.call_soon_threadsafe(_set_ended, ended))
    await ended


def _set_ended(ended: "asyncio.Future[None]") -> None:
    if not ended.done():  # the waiting call was cancelled
        ended.set_result(None)


Wire = Mapping[str, Any]  # JSON, keys as the client sees them

_PENDING_NOTE = " A person decides first; call again for the outcome."


def fields_of(result: Any) -> Wire:
    """The fields of a dataclass."""
    return asdict(result)


@dataclass(frozen=True, slots=True)
class Tool(Generic[A]):
    """
    One tool.

    description: for the model, with an example. result: schema of the result.
    run: the implementation; None: the command of that name in `commands.registry`, through the trust gate. wire:
    converts the result of such a command, a dataclass, to JSON; default: its fields.
    writes: changes files. destructive: may remove existing content. idempotent: a second call changes nothing.
    choose_command: for some arguments gives another tool, whose command is run instead, and the arguments of that.
    waits: may take seconds without work on files. searches: reads the whole tree, and takes long.
    about_changes: works on the tree even while a change set is open, which it is about. changes_rows: the daemon
    changes rows for it, which no draft holds.
    """

    name: str
    title: str
    description: str
    arguments: type[A]
    result: Schema
    run: Callable[[Session, A], Wire] | None = None
    wire: Callable[[Any], Wire] = fields_of
    choose_command: "Callable[[Session, A], tuple[Tool[Any], Mapping[str, Any]] | None] | None" = None
    writes: bool = False
    destructive: bool = False
    idempotent: bool = True
    waits: bool = False
    searches: bool = False
    about_changes: bool = False
    changes_rows: bool = False

    @property
    def lane(self) -> Lane | None:
        """The lane of its work; None: no limit of concurrency."""
        if self.waits:
            return None
        if self.writes or self.run is None:
            return Lane.WRITE
        return Lane.SEARCH if self.searches else Lane.READ

    def is_open(self, level: Trust) -> bool:
        """Whether agents may call it. A read has nothing to approve, so a higher level closes it to them."""
        return self.run is None or level <= Trust.NOTIFY

    def to_wire(self, result: Any) -> Wire:
        """The JSON of its command's *result*, which is a new one or comes from a file."""
        if isinstance(result, Mapping):
            from mirrord.commands.command_registry import COMMANDS  # noqa: PLC0415  (as in calls)

            result = TypeAdapter(COMMANDS[self.name].result_type).validate_python(result)
        return self.wire(result)

    def result_for(self, level: Trust) -> Schema:
        """The schema of its answers to a caller of that trust level."""
        return or_pending(self.result) if level >= Trust.SUGGEST else self.result

    def entry_for(self, level: Trust) -> Listed:
        """
        Its entry in `tools/list` for a caller of that trust level.

        Without the schema of its result, and without what clients assume where it is missing (decision 58).
        """
        return Listed(
            name=self.name,
            title=self.title,
            description=self.description + (_PENDING_NOTE if level >= Trust.SUGGEST else ""),
            input_schema=schema_of(self.arguments),
            annotations=self._annotations(),
            _meta=None if level is Trust.AUTONOMOUS else {"mirrord/trust": level.name},
        )

    def _annotations(self) -> ToolAnnotations:
        """What differs from the protocol's defaults; and destructiveHint of writes, as some clients ask only for it."""
        if not self.writes:
            return ToolAnnotations(read_only_hint=True, open_world_hint=False)
        idempotent = True if self.idempotent else None
        return ToolAnnotations(destructive_hint=self.destructive, idempotent_hint=idempotent, open_world_hint=False)
