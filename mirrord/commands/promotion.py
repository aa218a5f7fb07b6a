"""A page that gets its first child becomes the index file of its directory."""

from mirrord.commands.relocating import Change, relocate
from mirrord.commands.session import Session
from mirrord.mirror.journal import Journal
from mirrord.mirror.layout import INDEX_FILE, SUFFIX, lineage, parent_of
from mirrord.mirror.tree import Tree


def promote(session: Session, journal: Journal, path: str) -> None:
    """Let every leaf above *path*, of which a page is to be made, be the page of its directory. Inside `writing()`."""
    if found := renames(session.tree, path):
        relocate(session, journal, Change(found, dict(found), {}))


def renames(tree: Tree, path: str) -> list[tuple[str, str]]:
    """The leaves above *path*, the topmost first, each with the index file that it is to be."""
    found = []
    for directory in reversed(list(lineage(parent_of(path)))):
        leaf = tree.stat(directory + SUFFIX) if tree.stat(directory) is None else None
        if leaf is not None and leaf.is_file:
            found.append((directory + SUFFIX, f"{directory}/{INDEX_FILE}"))
    return found
