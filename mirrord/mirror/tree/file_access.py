"""Who may read and write a file that replaces another, or is new in a directory."""

import contextlib
import errno
import grp
import os
import pwd
import stat

from mirrord.errors import Refused
from mirrord.mirror.tree import kernel
from mirrord.mirror.tree.tree_layout import printable

FILE_MODE, DIRECTORY_MODE = 0o660, 0o770  # of new entries, before the umask
FILE_READERS, DIRECTORY_READERS = 0o044, 0o055  # mode bits that new entries take from their directory, with any umask

_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_ACL = "system.posix_acl_access"
_DEFAULT_ACL = "system.posix_acl_default"
_NO_ATTRIBUTE_ERRORS = (errno.EOPNOTSUPP, errno.ENODATA, errno.EPERM, errno.EACCES)


def inherit_access(descriptor: int, directory: int) -> None:
    """Give a new file, created elsewhere, the readers, group and ACL of a file created in *directory*."""
    parent = os.fstat(directory)
    grant_readers(descriptor, parent.st_mode & FILE_READERS)
    if parent.st_mode & stat.S_ISGID:
        with contextlib.suppress(PermissionError):
            os.fchown(descriptor, -1, parent.st_gid)
    if acl := _read_attribute(directory, _DEFAULT_ACL):
        os.setxattr(descriptor, _ACL, acl)
        os.fchmod(descriptor, os.fstat(descriptor).st_mode & FILE_MODE)


def grant_readers(descriptor: int, readers: int) -> None:
    """Let the *readers*, bits of a mode, read a new entry too."""
    if readers & ~(mode := stat.S_IMODE(os.fstat(descriptor).st_mode)):
        os.fchmod(descriptor, mode | readers)


def make_directory(parent: int, name: str, mode: int | None = None) -> None:
    """Make one directory in the open *parent*. mode: before the umask; None: the readers of the parent may read it."""
    kernel.mkdir(parent, name, DIRECTORY_MODE if mode is None else mode)
    if mode is None:
        grant_passage(parent, name, os.fstat(parent).st_mode & DIRECTORY_READERS)


def grant_passage(parent: int, name: str, readers: int) -> None:
    """Let the *readers*, bits of a mode, read and pass the new directory *name* too."""
    if readers:
        with kernel.OpenDescriptor(os.open(name, _FLAGS, dir_fd=parent)) as descriptor:
            grant_readers(descriptor, readers)


def copy_default_access(directory: int, other: int) -> None:
    """Give entries created in *directory* the group and ACL of entries created in *other*."""
    parent = os.fstat(other)
    if parent.st_mode & stat.S_ISGID:
        with contextlib.suppress(PermissionError):
            os.fchown(directory, -1, parent.st_gid)
            os.fchmod(directory, stat.S_IMODE(os.fstat(directory).st_mode) | stat.S_ISGID)
    if acl := _read_attribute(other, _DEFAULT_ACL):
        os.setxattr(directory, _DEFAULT_ACL, acl)


def copy_access(descriptor: int, old: int, path: str) -> None:
    """
    Give the file that will replace *old* the same owner, group, mode, ACL and user attributes.

    Raises:
        Refused: owner or group cannot be kept, and a user would lose write access.
    """
    old_stat, new_stat = os.fstat(old), os.fstat(descriptor)
    if new_stat.st_gid != old_stat.st_gid:
        _keep_group(descriptor, old_stat, path)
    if new_stat.st_uid != old_stat.st_uid:
        _keep_owner(descriptor, old_stat, path)
    for name in _list_attributes(old):
        with contextlib.suppress(OSError) if name.startswith("user.") else contextlib.nullcontext():
            os.setxattr(descriptor, name, os.getxattr(old, name))
    os.fchmod(descriptor, stat.S_IMODE(old_stat.st_mode) & 0o777)


def _keep_group(descriptor: int, old_stat: os.stat_result, path: str) -> None:
    try:
        os.fchown(descriptor, -1, old_stat.st_gid)
    except PermissionError:
        if old_stat.st_mode & stat.S_IRWXG:
            raise Refused(
                f"Replacing {printable(path)!r} would take it from the group {old_stat.st_gid}; "
                "make mirrord's user a member of that group."
            ) from None


def _keep_owner(descriptor: int, old_stat: os.stat_result, path: str) -> None:
    try:
        os.fchown(descriptor, old_stat.st_uid, -1)
    except PermissionError:
        if old_stat.st_mode & stat.S_IWUSR and not _can_owner_write(old_stat):
            raise Refused(
                f"Replacing {printable(path)!r} would take write access from its owner {old_stat.st_uid}; "
                "let its group write (chmod g+w), or let mirrord change owners (CAP_CHOWN)."
            ) from None


def _can_owner_write(old_stat: os.stat_result) -> bool:
    if old_stat.st_mode & stat.S_IWOTH:
        return True
    if not old_stat.st_mode & stat.S_IWGRP:
        return False
    try:
        owner = pwd.getpwuid(old_stat.st_uid)
        return owner.pw_gid == old_stat.st_gid or owner.pw_name in grp.getgrgid(old_stat.st_gid).gr_mem
    except KeyError:
        return False


def _list_attributes(descriptor: int) -> list[str]:
    try:
        names = os.listxattr(descriptor)
    except OSError as error:
        if error.errno in _NO_ATTRIBUTE_ERRORS:
            return []
        raise
    return [name for name in names if name == _ACL or name.startswith("user.")]


def _read_attribute(descriptor: int, name: str) -> bytes | None:
    try:
        return os.getxattr(descriptor, name)
    except OSError as error:
        if error.errno in _NO_ATTRIBUTE_ERRORS:
            return None
        raise
