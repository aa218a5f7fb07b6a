"""Sessions of agents on a whole mirrord's tree, in the test's own process."""

import itertools
from collections.abc import Iterator
from contextlib import contextmanager
from uuid import UUID

from mirrord.commands.session import Session
from mirrord.domain.entry import Actor
from mirrord.mirror import marker
from mirrord.mirror.process import prepare_process
from mirrord.mirror.tree import Tree
from tests.system.harness import Mirrord

AGENT = Actor("agent", "writer")

_numbers = itertools.count(1)


@contextmanager
def agent(mirrord: Mirrord) -> Iterator[Session]:
    """A session of one agent; it dies at the end of the `with`."""
    prepare_process()
    tree = Tree(mirrord.root)
    found = marker.read(tree)
    assert found is not None
    session = Session(tree, mirrord.tenant, UUID(str(found.tenant_id)), AGENT, f"mcp-{next(_numbers)}")
    try:
        yield session
    finally:
        session.close()
