"""What a start is decided from: a tree with its marker, and the mirrors that Postgres knows."""

import asyncio
import socket
from pathlib import Path

from mirrord.db.content import entry_comparison
from mirrord.db.database import Database
from mirrord.domain.entry import MirrorId, TenantId
from mirrord.errors import MirrordError
from mirrord.mirror import tree_marker as marker
from mirrord.mirror.tree.tenant_tree import Tree
from mirrord.sync.decisions.tree_history import Circumstances, KnownMirror, StartDecision, decide_start
from mirrord.sync.handshake import has_current_counters


async def decide_start_of(
    database: Database, tree: Tree, tenant: TenantId, known_mirrors: list[KnownMirror]
) -> StartDecision:
    """How to start on *tree*. known_mirrors: those that Postgres has of the tenant."""
    tree_marker = marker.read(tree)
    host, root = socket.gethostname(), str(tree.root)
    at_old_root = next(
        (row for row in known_mirrors if tree_marker and row.mirror == tree_marker.mirror and row.host == host), None
    )
    at_root = next((row for row in known_mirrors if (row.host, row.root) == (host, root)), None)
    elsewhere = next(
        (row for row in known_mirrors if tree_marker and row.mirror == tree_marker.mirror and row.host != host), None
    )
    is_lost = tree_marker is None or tree_marker.tenant_id != tenant
    circumstances = Circumstances(
        tenant=tenant,
        host=host,
        root=root,
        old_root_carries=_has_id_of(at_old_root) if at_old_root is not None else None,
        recognised=await _share_found(database, tree, tenant, at_root.mirror)
        if at_root is not None and is_lost
        else 0.0,
        is_current=elsewhere is not None and await has_current_counters(database, tree, tenant, elsewhere.mirror),
    )
    return decide_start(tree_marker, known_mirrors, circumstances)


def _has_id_of(row: KnownMirror) -> bool | None:
    """Whether the root of a mirror row still has that mirror's id; None: it cannot be seen."""
    assert row.root is not None
    try:
        tree = Tree(Path(row.root))
    except MirrordError:
        return False
    try:
        tree_marker = marker.read(tree)
    except (MirrordError, OSError):
        return None
    finally:
        tree.close()
    return tree_marker is not None and tree_marker.mirror == row.mirror


async def _share_found(database: Database, tree: Tree, tenant: TenantId, mirror: MirrorId) -> float:
    """The share of a mirror's paths that are in this tree; a mirror that had none is recognised."""
    paths = await entry_comparison.load_base_paths(database, tenant, mirror)
    if not paths:
        return 1.0
    present = await asyncio.to_thread(lambda: sum(tree.stat(path) is not None for path in paths))
    return present / len(paths)
