"""Sessions of agents on a whole mirrord's tree, in the test's own process."""

import itertools
from collections.abc import Iterator
from contextlib import contextmanager
from uuid import UUID

from mirrord.commands.core.session import Session
from mirrord.domain.entry import Actor
from mirrord.mirror import tree_marker
from mirrord.mirror.process_setup import prepare_process
from mirrord.mirror.tree.tenant_tree import Tree
from tests.support.harness import Mirrord

AGENT = Actor("agent", "writer")

_numbers = itertools.count(1)


@contextmanager
def agent(mirrord: Mirrord) -> Iterator[Session]:
    """A session of one agent; it dies at the end of the `with`."""
    prepare_process()
    tree = Tree(mirrord.root)
    marker = tree_marker.read(tree)
    assert marker is not None
    session = Session(tree, mirrord.tenant, UUID(str(marker.tenant_id)), AGENT, f"mcp-{next(_numbers)}")
    try:
        yield session
    finally:
        session.close()
