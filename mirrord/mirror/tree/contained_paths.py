"""Opens paths beneath a directory: never above it, never through a symbolic link, never across a mount."""

import errno
import os
import stat

from mirrord.errors import Mounted, Refused
from mirrord.mirror.tree import kernel
from mirrord.mirror.tree.tree_layout import lineage, printable

DIRECTORY_FLAGS = os.O_RDONLY | os.O_DIRECTORY
PATH_ONLY_FLAGS = os.O_PATH | os.O_NOFOLLOW  # to inspect the entry of that name, a link too
FILE_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY  # a fifo must not block

_MAX_PATH_BYTES = 4096  # with the final zero; longer paths go step by step
_MAX_SHORT_CODE_POINTS = _MAX_PATH_BYTES // 4  # of at most 4 bytes each
_OUTSIDE = frozenset({"", ".", ".."})


def check_path(path: str) -> None:
    """Refuse a path that is not plainly inside: absolute, `..`, empty parts, a zero byte."""
    if (path and not _OUTSIDE.isdisjoint(path.split("/"))) or "\0" in path:
        raise Refused(f"The path {printable(path)!r} does not stay plainly inside the tree.")


def open_beneath(root: int, path: str, flags: int, *, native: bool, crosses_mounts: bool = False) -> int:
    """
    A descriptor of *path* beneath *root*.

    native: use openat2; else go step by step without following links, and mounts are not detected.
    crosses_mounts: whether mounts below *root* belong to it.

    Raises:
        Mounted: something is mounted on the way.
        Refused: the path leaves the tree, or a symbolic link is in the way.
        OSError: as open(2).
    """
    check_path(path)
    try:
        if native and (len(path) < _MAX_SHORT_CODE_POINTS or len(os.fsencode(path)) < _MAX_PATH_BYTES):
            return (kernel.openat2_across if crosses_mounts else kernel.openat2)(root, path or ".", flags)
        return _open_stepwise(root, path.split("/") if path else [], flags)
    except OSError as error:
        if error.errno == errno.EXDEV and (mount := _mount_above(root, path)) is not None:
            raise mount_error(path, mount) from None
        if error.errno in (errno.ELOOP, errno.EXDEV):
            raise Refused(f"A symbolic link is in the path {printable(path)!r}; links are not followed.") from None
        if error.errno == errno.ENAMETOOLONG:
            raise Refused(f"A name in {printable(path)!r} is too long for this file system.") from None
        raise


def mount_error(path: str, mount: str) -> Mounted:
    """The error for *path* below a mount on the directory or file *mount*."""
    return Mounted(f"{printable(path)!r} {why_not_mirrored(mount)}.")


def why_not_mirrored(mount: str) -> str:
    """The rest of a sentence that begins with a path at or below *mount*."""
    return (
        f"is not mirrored, because another file system or a bind mount is on {printable(mount)!r}; unmount that, or "
        "mount it outside the tree and put the files themselves here"
    )


def _mount_above(root: int, path: str) -> str | None:
    """The first part of *path* that is a mount point; None: there is none."""
    for above in [*lineage(path)][::-1]:
        try:
            os.close(kernel.openat2(root, above, PATH_ONLY_FLAGS))
        except OSError as error:
            if error.errno == errno.EXDEV and _is_inside(root, above):
                return above
    return None


def _is_inside(root: int, path: str) -> bool:
    """Whether a mount is the only obstacle on the way to *path*."""
    try:
        os.close(kernel.openat2_across(root, path, PATH_ONLY_FLAGS))
    except OSError:
        return False
    return True


def _open_stepwise(root: int, parts: list[str], flags: int) -> int:
    directory = root
    try:
        for part in parts[:-1]:
            below = _open_part(directory, part, DIRECTORY_FLAGS)
            if directory != root:
                os.close(directory)
            directory = below
        return _open_part(directory, parts[-1] if parts else ".", flags)
    finally:
        if directory != root:
            os.close(directory)


def _open_part(directory: int, name: str, flags: int) -> int:
    try:
        return os.open(name, flags | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=directory)
    except NotADirectoryError:
        if stat.S_ISLNK(os.stat(name, dir_fd=directory, follow_symlinks=False).st_mode):
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), name) from None
        raise
