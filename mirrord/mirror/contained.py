"""Opens paths beneath a directory: never above it, never through a symbolic link."""

import errno
import os
import stat

from mirrord.errors import Refused
from mirrord.mirror import kernel
from mirrord.mirror.layout import printable

DIRECTORY = os.O_RDONLY | os.O_DIRECTORY
ITSELF = os.O_PATH | os.O_NOFOLLOW  # to look at whatever has that name, a link too
FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY  # a fifo must not block

_PATH_MAX = 4096  # bytes with the final zero; longer paths go step by step
_SURELY_SHORT = _PATH_MAX // 4  # code points, none of which has more bytes
_OUTSIDE = frozenset({"", ".", ".."})


def check(path: str) -> None:
    """Refuse a path that is not plainly inside: absolute, `..`, empty parts, a zero byte."""
    if (path and not _OUTSIDE.isdisjoint(path.split("/"))) or "\0" in path:
        raise Refused(f"The path {printable(path)!r} does not stay plainly inside the tree.")


def opened(root: int, path: str, flags: int, *, native: bool) -> int:
    """
    A descriptor of *path* beneath *root*.

    native: use openat2; else go step by step, each without following.

    Raises:
        Refused: the path leaves the tree, or a symbolic link is in the way.
        OSError: as open(2).
    """
    check(path)
    try:
        if native and (len(path) < _SURELY_SHORT or len(os.fsencode(path)) < _PATH_MAX):
            return kernel.openat2(root, path or ".", flags)
        return _walked(root, path.split("/") if path else [], flags)
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.EXDEV):
            raise Refused(f"A symbolic link is in the path {printable(path)!r}; links are not followed.") from None
        if error.errno == errno.ENAMETOOLONG:
            raise Refused(f"A name in {printable(path)!r} is too long for this file system.") from None
        raise


def _walked(root: int, parts: list[str], flags: int) -> int:
    directory = root
    try:
        for part in parts[:-1]:
            below = _step(directory, part, DIRECTORY)
            if directory != root:
                os.close(directory)
            directory = below
        return _step(directory, parts[-1] if parts else ".", flags)
    finally:
        if directory != root:
            os.close(directory)


def _step(directory: int, name: str, flags: int) -> int:
    try:
        return os.open(name, flags | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=directory)
    except NotADirectoryError:
        if stat.S_ISLNK(os.stat(name, dir_fd=directory, follow_symlinks=False).st_mode):
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), name) from None
        raise
