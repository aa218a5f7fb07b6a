"""A page that gets its first child becomes the index file of its directory."""

from mirrord.commands.relocating import relocate
from mirrord.commands.session import Session
from mirrord.mirror.journal import Journal
from mirrord.mirror.layout import INDEX_FILE, SUFFIX, lineage, parent_of


def promote(session: Session, journal: Journal, path: str) -> None:
    """Let every leaf above *path*, of which a page is to be made, be the page of its directory. Inside `writing()`."""
    tree = session.tree
    for directory in reversed(list(lineage(parent_of(path)))):
        note = directory + SUFFIX
        if tree.stat(directory) is None and (found := tree.stat(note)) is not None and found.is_file:
            relocate(session, journal, {note: f"{directory}/{INDEX_FILE}"})
