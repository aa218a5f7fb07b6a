"""One agent's or person's connection to one tenant: its tree, who acts, and which pages it was shown."""

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING
from uuid import UUID, uuid5

from mirrord.commands.failure import explained
from mirrord.commands.memory import Memory, current_memory
from mirrord.domain.entry import Actor, Digest, EntryId, TenantId, new_id
from mirrord.domain.event import FOLDER
from mirrord.domain.source import DIRECTORY
from mirrord.mirror.catalogue import Catalogue
from mirrord.mirror.journal import Journal
from mirrord.mirror.lock import PATIENCE, write_lock
from mirrord.mirror.tree import Tree

if TYPE_CHECKING:
    from mirrord.domain.approval import Input
    from mirrord.mirror.grep import Grep
    from mirrord.mirror.linkage import Linkage


class Session:
    """
    What commands work with. Those that only read may be run from several threads at once, beside one that writes.

    tenant_name, tenant_id: of the tenant whose root *tree* is; the session closes the tree.
    writer: the name of this process's journal, a valid file name that no other process has.
    attach_from: absolute directories below which files may be attached; kept_from: what is never, in them or not,
        such as the data directory. The mirror's own root is always kept.
    sources_dir: the directory of the tree below which sources are.
    staged: files outside the tree, by the path that names one, whose bytes were copied when a command was asked for;
        it works with those.
    catalogue: what pages the tree has, at any moment.
    told: what every event that follows says beside its own data; JSON.
    """

    def __init__(
        self,
        tree: Tree,
        tenant_name: str,
        tenant_id: UUID,
        actor: Actor,
        writer: str,
        *,
        attach_from: tuple[Path, ...] = (),
        kept_from: tuple[Path, ...] = (),
        sources_dir: str = DIRECTORY,
        staged: "Mapping[str, Input]" = MappingProxyType({}),
    ) -> None:
        self.tree = tree
        self.tenant_name = tenant_name
        self.tenant_id = TenantId(tenant_id)
        self.actor = actor
        self.writer = writer
        self.attach_from = attach_from
        self.kept_from = kept_from
        self.sources_dir = sources_dir
        self.staged = staged
        self.catalogue = Catalogue(tree, self.tenant_id)
        self.told: Mapping[str, object] = {}
        self._seed: UUID | None = None
        self._memory = Memory()
        self._guard = threading.Lock()
        self._journal: Journal | None = None
        self._linkage: Linkage | None = None
        self._grep: Grep | None = None

    @property
    def linkage(self) -> "Linkage":
        """How the pages link."""
        from mirrord.mirror.linkage import Linkage  # noqa: PLC0415  (its parser takes long to load, and most never ask)

        with self._guard:
            self._linkage = self._linkage or Linkage()
            return self._linkage

    @property
    def grep(self) -> "Grep":
        """What the pages say."""
        from mirrord.mirror.grep import Grep  # noqa: PLC0415  (as linkage)

        with self._guard:
            self._grep = self._grep or Grep(self.tree)
            return self._grep

    @contextmanager
    def writing(self, patience: float = PATIENCE) -> Iterator[Journal]:
        """
        The journal to write with, while no other command works on this tenant.

        What dead processes left half done is finished before. Raises Failed for what files and codec refuse inside, and
        if another command does not end within *patience* seconds.
        """
        with explained(), write_lock(self.tree, patience):
            self._check_events()
            yield self._opened()

    def _check_events(self) -> None:
        """Raises Refused where what is done could not be told afterwards: then it is not done."""
        with suppress(FileNotFoundError), self.tree.directory(FOLDER):
            pass

    def _opened(self) -> Journal:
        """Opened by the first write: reading leaves no trace."""
        from mirrord.mirror import relocation  # noqa: PLC0415  (as linkage: readers start without)
        from mirrord.mirror.adoption import adopt  # noqa: PLC0415

        if self._journal is None:
            self._journal = Journal(self.tree, self.writer)
            adopt(self.tree, self._journal, living=False)
        elif relocation.waits(self.tree):
            relocation.finish(self.tree, self._journal)
            adopt(self.tree, self._journal, living=False)
        return self._journal

    @contextmanager
    def seeded(self, seed: UUID) -> Iterator[None]:
        """For the length of a `with` new pages get ids that follow from *seed*: a preview shows those that will be."""
        before, self._seed = self._seed, seed
        try:
            yield
        finally:
            self._seed = before

    def new_page_id(self, path: str) -> EntryId:
        """The id of a page that is made at *path*."""
        return EntryId(uuid5(self._seed, path)) if self._seed is not None else new_id()

    @property
    def memory(self) -> Memory:
        """What whoever calls now was shown; over HTTP several sessions of one token share the rest."""
        return current_memory() or self._memory

    @property
    def seen(self) -> Mapping[str, Digest]:
        """By path, the digest of each page as this session last saw or left it."""
        return self.memory.seen

    def saw(self, path: str, digest: Digest, *, until: int | None = None) -> None:
        """
        This session was shown the page at *path*, or left it, with this *digest*.

        until: the first character that it was not shown, though all before; None: it was shown all.
        """
        self.memory.note(path, digest, until)

    def close(self) -> None:
        """Give tree and journal back; no command may be called afterwards."""
        if self._journal is not None:
            self._journal.close()
        if self._grep is not None:  # somebody searched
            self._grep.close()
        self.catalogue.close()
        self.tree.close()
