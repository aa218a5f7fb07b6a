"""Promotion of a leaf page that gets its first child to the index file of its directory."""

from mirrord.commands.relocating import TreeChange, apply_change
from mirrord.commands.session import Session
from mirrord.mirror.journal import Journal
from mirrord.mirror.layout import INDEX_FILE, SUFFIX, lineage, parent_of
from mirrord.mirror.tree import Tree


def promote_leaves(session: Session, journal: Journal, path: str) -> None:
    """Turn every leaf above the new page *path* into the page of its directory, inside `writing()`."""
    if leaf_renames := promotion_renames(session.tree, path):
        apply_change(session, journal, TreeChange(leaf_renames, dict(leaf_renames), {}))


def promotion_renames(tree: Tree, path: str) -> list[tuple[str, str]]:
    """The leaves above *path*, topmost first, each with its future index file."""
    pairs = []
    for directory in reversed(list(lineage(parent_of(path)))):
        leaf = tree.stat(directory + SUFFIX) if tree.stat(directory) is None else None
        if leaf is not None and leaf.is_file:
            pairs.append((directory + SUFFIX, f"{directory}/{INDEX_FILE}"))
    return pairs
