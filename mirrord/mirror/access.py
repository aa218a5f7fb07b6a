"""Who may read and write a file that takes the place of another, or is new in a directory."""

import contextlib
import errno
import grp
import os
import pwd
import stat

from mirrord.errors import Refused
from mirrord.mirror.layout import printable

FILE_MODE = 0o660  # of new files, before the umask

_ACL = "system.posix_acl_access"
_DEFAULT_ACL = "system.posix_acl_default"
_NO_ATTRIBUTES = (errno.EOPNOTSUPP, errno.ENODATA, errno.EPERM, errno.EACCES)


def inherit(descriptor: int, directory: int) -> None:
    """Give a new file, made elsewhere, the group and ACL it would have got if made in *directory*."""
    above = os.fstat(directory)
    if above.st_mode & stat.S_ISGID:
        with contextlib.suppress(PermissionError):
            os.fchown(descriptor, -1, above.st_gid)
    if acl := _attribute(directory, _DEFAULT_ACL):
        os.setxattr(descriptor, _ACL, acl)
        os.fchmod(descriptor, os.fstat(descriptor).st_mode & FILE_MODE)


def imitate(directory: int, other: int) -> None:
    """Let what is made in *directory* get the group and ACL it would get in *other*."""
    above = os.fstat(other)
    if above.st_mode & stat.S_ISGID:
        with contextlib.suppress(PermissionError):
            os.fchown(directory, -1, above.st_gid)
            os.fchmod(directory, stat.S_IMODE(os.fstat(directory).st_mode) | stat.S_ISGID)
    if acl := _attribute(other, _DEFAULT_ACL):
        os.setxattr(directory, _DEFAULT_ACL, acl)


def take_over(descriptor: int, old: int, path: str) -> None:
    """
    Give the file that will replace *old* the same owner, group, mode, ACL and user attributes.

    Raises:
        Refused: owner or group cannot be kept and somebody would lose write access by that.
    """
    was, found = os.fstat(old), os.fstat(descriptor)
    if found.st_gid != was.st_gid:
        _keep_group(descriptor, was, path)
    if found.st_uid != was.st_uid:
        _keep_owner(descriptor, was, path)
    for name in _attribute_names(old):
        with contextlib.suppress(OSError) if name.startswith("user.") else contextlib.nullcontext():
            os.setxattr(descriptor, name, os.getxattr(old, name))
    os.fchmod(descriptor, stat.S_IMODE(was.st_mode) & 0o777)


def _keep_group(descriptor: int, was: os.stat_result, path: str) -> None:
    try:
        os.fchown(descriptor, -1, was.st_gid)
    except PermissionError:
        if was.st_mode & stat.S_IRWXG:
            raise Refused(
                f"Replacing {printable(path)!r} would take it from the group {was.st_gid}; "
                "make mirrord's user a member of that group."
            ) from None


def _keep_owner(descriptor: int, was: os.stat_result, path: str) -> None:
    try:
        os.fchown(descriptor, was.st_uid, -1)
    except PermissionError:
        if was.st_mode & stat.S_IWUSR and not _writes_anyway(was):
            raise Refused(
                f"Replacing {printable(path)!r} would take write access from its owner {was.st_uid}; "
                "let its group write (chmod g+w), or let mirrord change owners (CAP_CHOWN)."
            ) from None


def _writes_anyway(was: os.stat_result) -> bool:
    if was.st_mode & stat.S_IWOTH:
        return True
    if not was.st_mode & stat.S_IWGRP:
        return False
    try:
        owner = pwd.getpwuid(was.st_uid)
        return owner.pw_gid == was.st_gid or owner.pw_name in grp.getgrgid(was.st_gid).gr_mem
    except KeyError:
        return False


def _attribute_names(descriptor: int) -> list[str]:
    try:
        names = os.listxattr(descriptor)
    except OSError as error:
        if error.errno in _NO_ATTRIBUTES:
            return []
        raise
    return [name for name in names if name == _ACL or name.startswith("user.")]


def _attribute(descriptor: int, name: str) -> bytes | None:
    try:
        return os.getxattr(descriptor, name)
    except OSError as error:
        if error.errno in _NO_ATTRIBUTES:
            return None
        raise
