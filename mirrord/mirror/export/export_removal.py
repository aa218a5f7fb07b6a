"""Removes files that are known by their digests and no others: moved out of place first, then checked."""

import os
import secrets
from collections.abc import Collection
from contextlib import suppress

from mirrord.domain.entry import Digest
from mirrord.errors import Refused
from mirrord.mirror.tree import contained_paths, kernel, stable_reads
from mirrord.mirror.tree.tenant_tree import Tree
from mirrord.mirror.tree.tree_layout import parent_of
from mirrord.mirror.write.bulk_create import raise_fatal

_ASIDE_PREFIX = "w."  # of the names of files moved aside


def remove_exported(tree: Tree, path: str, digests: Collection[Digest], aside: int) -> bool | None:
    """
    Remove the file at *path* if it has one of *digests*. False: it has another one, and stays; None: no file is there.

    aside: descriptor of a directory of the same file system, where the file is verified. A save whose place is taken
    again stays there, and so does one when this process dies. Raises OSError if the disk is full, read-only or broken.
    """
    name, hidden = path.rpartition("/")[2], f"{_ASIDE_PREFIX}{secrets.token_hex(8)}"
    try:
        stat = tree.stat(path)
        if stat is None or stat.is_directory:
            return None
        if tree.digest_now(path) not in digests:
            return False
        with tree.open_directory(parent_of(path)) as directory:
            tree.rename_new(directory, name, aside, hidden)
            if drop_known(aside, hidden, digests):
                return True
            with suppress(FileExistsError):
                tree.rename_new(aside, hidden, directory, name)
    except FileNotFoundError:
        return None
    except (OSError, Refused) as error:
        raise_fatal(error)
    return False


def drop_known(directory: int, name: str, digests: Collection[Digest]) -> bool:
    """Remove the file *name* if it has one of *digests* and no writer. Return whether it was removed."""
    try:
        descriptor = os.open(name, contained_paths.FILE_FLAGS | os.O_CLOEXEC, dir_fd=directory)
    except OSError:  # a symbolic link, or unreadable
        return False
    try:
        is_known = not kernel.has_writer(descriptor) and stable_reads.digest_now(descriptor) in digests
    finally:
        os.close(descriptor)
    if is_known:
        kernel.unlink(directory, name)
    return is_known
