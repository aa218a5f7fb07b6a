"""One agent's or person's connection to one tenant: its tree, who acts, and which pages it was shown."""

import threading
from pathlib import Path
from uuid import UUID

from mirrord.domain.entry import Actor, Digest, TenantId
from mirrord.mirror.catalogue import Catalogue
from mirrord.mirror.journal import Journal
from mirrord.mirror.tree import Tree


class Session:
    """
    What commands work with.

    tenant_name, tenant_id: of the tenant whose root *tree* is; the session closes the tree.
    writer: the name of this process's journal, a valid file name that no other process has.
    attach_from: absolute directories below which files may be attached.
    catalogue: what pages the tree has, at any moment.
    seen: by path, the digest of each page as this session last saw or left it.
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
    ) -> None:
        self.tree = tree
        self.tenant_name = tenant_name
        self.tenant_id = TenantId(tenant_id)
        self.actor = actor
        self.writer = writer
        self.attach_from = attach_from
        self.catalogue = Catalogue(tree, self.tenant_id)
        self.seen: dict[str, Digest] = {}
        self._journal: Journal | None = None
        self._opening = threading.Lock()

    @property
    def journal(self) -> Journal:
        """This session's journal, opened by the first write: reading leaves no trace."""
        with self._opening:
            if self._journal is None:
                self._journal = Journal(self.tree, self.writer)
            return self._journal

    def close(self) -> None:
        """Give tree and journal back; no command may be called afterwards."""
        if self._journal is not None:
            self._journal.close()
        self.tree.close()
