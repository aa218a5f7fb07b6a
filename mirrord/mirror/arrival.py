"""Room for new files: directories are made, and one that comes with its page is never seen without."""

import secrets
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress

from mirrord.mirror import kernel
from mirrord.mirror.layout import INDEX_FILE, parent_of
from mirrord.mirror.tree import Tree

_UNSEEN = ".arriving-"  # a dot-name: neither sync nor any list looks into it


@contextmanager
def room_for(tree: Tree, path: str) -> Iterator[str]:
    """
    Where to write the new file that is at *path* at the end of the `with`. Under the write lock.

    A directory that lacks is made; for an index file only when that is in it: whoever looked between the two would give
    the directory an id of its own. Raises Stale if somebody else made it meanwhile.
    """
    directory = parent_of(path)
    if path.endswith("/" + INDEX_FILE) and tree.stat(directory) is None:
        with _arriving(tree, directory) as unseen:
            yield f"{unseen}/{INDEX_FILE}"
    else:
        tree.make_directories(directory)
        yield path


@contextmanager
def _arriving(tree: Tree, path: str) -> Iterator[str]:
    """A directory beside *path*, which is there at the end; what a process left that died in here is cleared away."""
    above = parent_of(path)
    tree.make_directories(above)
    for name in tree.names(above):
        if name.startswith(_UNSEEN):
            _discard(tree, f"{above}/{name}".lstrip("/"))
    unseen = f"{above}/{_UNSEEN}{secrets.token_hex(8)}".lstrip("/")
    with ExitStack() as undone:
        undone.callback(_discard, tree, unseen)
        tree.make_directories(unseen)
        yield unseen
        tree.move(unseen, path)
        undone.pop_all()


def _discard(tree: Tree, unseen: str) -> None:
    with suppress(OSError):
        with tree.directory(unseen) as directory, suppress(FileNotFoundError):
            kernel.unlink(directory, INDEX_FILE)
        tree.remove_directory(unseen)
