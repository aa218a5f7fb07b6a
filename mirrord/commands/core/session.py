"""One agent's or person's connection to one tenant: its tree, actor, permissions and limits."""

import math
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import UUID, uuid5

from mirrord.commands.core.failure import Failed, translating_errors
from mirrord.commands.core.seen_pages import Memory, current_memory
from mirrord.domain.approval import InputFile, Request
from mirrord.domain.dialect import Dialect, TenantDialect
from mirrord.domain.entry import Actor, Digest, EntryId, TenantId, new_id
from mirrord.domain.event import EVENTS_FOLDER
from mirrord.domain.trust import DEFAULTS, Limits, RateLimit, Trust
from mirrord.domain.write_rules import WriteRules
from mirrord.errors import Busy, Damaged, Refused
from mirrord.mirror import tree_marker
from mirrord.mirror.read.page_catalogue import Catalogue
from mirrord.mirror.tree import kernel
from mirrord.mirror.tree.scoped_tree import scope_of
from mirrord.mirror.tree.tenant_tree import Tree
from mirrord.mirror.write.journal import Journal
from mirrord.mirror.write.tree_locks import WRITE_LOCK_SECONDS, write_lock
from mirrord.research.sources.source_kinds import DIRECTORY

if TYPE_CHECKING:
    from mirrord.commands.core.connection_changes import Draft
    from mirrord.mirror.read.grep_process import Grep
    from mirrord.mirror.read.link_index import LinkIndex
    from mirrord.mirror.tree.kernel import Stat


@dataclass(slots=True)
class Gate:
    """
    The permissions of one caller.

    levels: trust level by command name. elicits: a person may approve through the caller's client.
    """

    levels: Mapping[str, Trust] = field(default_factory=lambda: DEFAULTS)
    limits: Limits = field(default_factory=Limits)
    elicits: bool = False
    rules: WriteRules = field(default_factory=WriteRules)
    _calls: RateLimit = field(init=False)
    _mutations: RateLimit = field(init=False)

    def __post_init__(self) -> None:
        self._calls, self._mutations = RateLimit(self.limits.calls), RateLimit(self.limits.mutations)

    def count_call(self, *, writes: bool) -> None:
        """Count a call. Raises Failed, RATE_LIMITED, if it exceeds a limit."""
        now = time.monotonic()
        wait = self._calls.seconds_to_wait(now) or (self._mutations.seconds_to_wait(now) if writes else 0.0)
        if wait > 0:
            seconds = math.ceil(wait)
            sentence = f"Too many calls{' that change something' if writes else ''} in a minute."
            raise Failed("RATE_LIMITED", "busy", sentence, f"Wait {seconds} seconds.", {"seconds": seconds})


@dataclass(frozen=True, slots=True)
class SessionSettings:
    """
    What a session may read outside its tree, where the sources in the tree are, and who vouches for its caller.

    attach_from: absolute directories below which files may be attached. excluded_paths: paths never attached from, such
    as the data directory; the mirror's own root is always excluded.
    staged: files outside the tree by path, whose bytes were copied when a command was requested and are used by it.
    sources_dir: the directory of the tree below which sources are.
    token: of the caller, for requests that the daemon checks; None: a local caller.
    """

    attach_from: tuple[Path, ...] = ()
    excluded_paths: tuple[Path, ...] = ()
    staged: Mapping[str, InputFile] = field(default_factory=dict)
    sources_dir: str = DIRECTORY
    token: str | None = field(default=None, repr=False)


DEFAULT_SETTINGS = SessionSettings()


class Session:
    """
    The context of commands. Reading commands may run in several threads at once, beside one writing command.

    tenant_name, tenant_id: of the tenant whose root *tree* is; the session closes the tree.
    writer: the name of this process's journal, a valid file name unique among processes.
    attach_from, excluded_paths, staged, sources_dir, token: see SessionSettings.
    catalogue: the current pages of the tree.
    event_facts: facts added to the data of every later event; JSON.
    draft: the draft whose tree *tree* is; None: it is a tenant's.
    """

    def __init__(
        self,
        tree: Tree,
        tenant_name: str,
        tenant_id: UUID,
        actor: Actor,
        writer: str,
        settings: SessionSettings = DEFAULT_SETTINGS,
    ) -> None:
        self.tree = tree
        self.tenant_name = tenant_name
        self.tenant_id = TenantId(tenant_id)
        self.actor = actor
        self.writer = writer
        self.attach_from = settings.attach_from
        self.excluded_paths = settings.excluded_paths
        self.sources_dir = settings.sources_dir
        self.staged = settings.staged
        self.token = settings.token
        self.catalogue = Catalogue(tree, self.tenant_id)
        self.event_facts: Mapping[str, object] = {}
        self.draft: Draft | None = None
        self._seed: UUID | None = None
        self._memory = Memory()
        self._guard = threading.Lock()
        self._journal: Journal | None = None
        self._whole: Session | None = None
        self._opens_journal: Callable[[], Journal] | None = None
        self._known_dialect: tuple[Stat | None, TenantDialect] = None, TenantDialect()  # stat of the marker, its words
        self._linkage: LinkIndex | None = None
        self._grep: Grep | None = None

    @property
    def dialect(self) -> Dialect:
        """The dialect of the tenant's pages, as the daemon last found it."""
        return self._spoken.dialect

    @property
    def _spoken(self) -> TenantDialect:
        tree = self.tree.whole
        stat, spoken = self._known_dialect
        new_stat = kernel.stat_loosely((tree.lower or tree).descriptor, tree_marker.MARKER_PATH)
        if new_stat == stat:
            return spoken
        with suppress(Busy, Damaged, Refused):  # a damaged marker is made again by the daemon
            marker = tree_marker.read(tree)
            spoken = TenantDialect(marker.dialect, marker.days) if marker is not None else TenantDialect()
            self._known_dialect = new_stat, spoken
        return spoken

    @property
    def linkage(self) -> "LinkIndex":
        """The links between pages."""
        from mirrord.mirror.read.link_index import LinkIndex  # noqa: PLC0415  (its parser loads slowly and is rarely needed)

        spoken = self._spoken
        with self._guard:
            if self._linkage is None or (self._linkage.dialect, self._linkage.days) != spoken:
                self._linkage = LinkIndex(*spoken)
            return self._linkage

    @property
    def grep(self) -> "Grep":
        """Text search over the pages."""
        from mirrord.mirror.read.grep_process import open_grep  # noqa: PLC0415  (as linkage)

        with self._guard:
            self._grep = self._grep or open_grep(self.tree)
            return self._grep

    @property
    def whole(self) -> "Session":
        """The same session without the limits of a scope, for what the server does by itself; it shares the journal."""
        if self.tree.whole is self.tree:
            return self
        with self._guard:
            if self._whole is None:
                paths = self.attach_from, self.excluded_paths, self.staged, self.sources_dir, self.token
                settings = SessionSettings(*paths)
                actor, tree = self.actor, self.tree.whole
                self._whole = Session(tree, self.tenant_name, self.tenant_id, actor, self.writer, settings)
                self._whole._opens_journal = self._open_journal
        self._whole.draft, self._whole.event_facts, self._whole._seed = self.draft, self.event_facts, self._seed
        self._whole._memory = self._memory
        return self._whole

    @contextmanager
    def writing(self, patience: float = WRITE_LOCK_SECONDS) -> Iterator[Journal]:
        """
        Hold the write lock of this tenant; yields the journal to write with.

        Interrupted work of dead processes is finished first. Raises Failed for errors of files and codec inside, and
        if another command holds the lock for more than *patience* seconds.
        """
        with translating_errors(), write_lock(self.tree, patience):
            self._check_events()
            yield self._open_journal()

    def _check_events(self) -> None:
        """Raises Refused, before any change, if events could not be recorded afterwards."""
        with suppress(FileNotFoundError), self.tree.open_directory(EVENTS_FOLDER):
            pass

    def _open_journal(self) -> Journal:
        """The journal, opened at the first write: reading leaves no trace."""
        from mirrord.mirror.write import batch_rename  # noqa: PLC0415  (as linkage: readers start without)
        from mirrord.mirror.write.batch_rename import adopt_leftovers  # noqa: PLC0415

        if self._opens_journal is not None:
            return self._opens_journal()
        tree = self.tree.whole
        if self._journal is None:
            self._journal = Journal(tree, self.writer)
            adopt_leftovers(tree, self._journal, include_living=False)
        elif batch_rename.has_unfinished_plan(tree):
            batch_rename.finish_plan(tree, self._journal)
            adopt_leftovers(tree, self._journal, include_living=False)
        return self._journal

    @contextmanager
    def deriving_ids(self, seed: UUID) -> Iterator[None]:
        """Derive ids of new pages from *seed* within a `with` block, so that a preview shows the later ids."""
        before, self._seed = self._seed, seed
        try:
            yield
        finally:
            self._seed = before

    def new_page_id(self, path: str) -> EntryId:
        """The id of a new page at *path*."""
        return EntryId(uuid5(self._seed, path)) if self._seed is not None else new_id()

    def new_request(self, command: str, arguments: Mapping[str, object]) -> Request:
        """A request of this caller to the daemon; inputs and bases are added once it is known to be new."""
        return Request(
            id=new_id(),
            command=command,
            arguments=arguments,
            inputs={},
            bases={},
            tenant_id=self.tenant_id,
            actor=self.actor,
            token=self.token,
            requested_at=datetime.now(UTC),
            scope=scope_of(self.tree),
        )

    def share_knowledge(self, other: "Session") -> None:
        """Share what *other* was shown and has read of the tree; files that differ are read again."""
        self._memory = other.memory
        self.catalogue.take_over(other.catalogue)

    @property
    def memory(self) -> Memory:
        """Memory of the texts shown to the current caller; over HTTP, sessions of one token share this object."""
        return current_memory() or self._memory

    @property
    def last_digests(self) -> Mapping[str, Digest]:
        """Digest of each page as this session last saw or wrote it, by path."""
        return self.memory.last_digests

    def note_shown(self, path: str, digest: Digest, *, until: int | None = None) -> None:
        """
        Note that this session was shown or wrote the page at *path* with this *digest*.

        until: offset of the first character not shown; None: all were shown.
        """
        self.memory.note_shown(path, digest, until)

    def close(self) -> None:
        """Close tree and journal; no command may be called afterwards."""
        if self._journal is not None:
            self._journal.close()
        if self._whole is not None:
            self._whole._close_readers()
        self._close_readers()
        self.tree.close()

    def _close_readers(self) -> None:
        if self._grep is not None:  # opened by a search
            self._grep.close()
        self.catalogue.close()
