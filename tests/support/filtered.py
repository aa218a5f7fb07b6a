"""
Runs a program under the filters of system calls that a unit of systemd asks for, without systemd running.

    python -m tests.support.filtered UNIT PROGRAM ARGUMENT…

The filters are made with libseccomp, as systemd makes its own. What a unit asks of mounts is not played.
"""

import ctypes
import errno
import os
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

_ALLOW, _ERRNO = 0x7FFF0000, 0x00050000  # SCMP_ACT_…
_NOT_EQUAL, _EQUAL, _MASKED = 1, 4, 7  # SCMP_CMP_…
_WRITE, _EXECUTE = 2, 4  # PROT_…
_SHM_EXECUTE = 0o100000
_NAMESPACES = (0x00020000, 0x02000000, 0x04000000, 0x08000000, 0x10000000, 0x20000000, 0x40000000)  # CLONE_NEW…
_NO_NEW_PRIVILEGES = 38  # prctl(2)


class _Compared(ctypes.Structure):
    """struct scmp_arg_cmp: an argument of a call, by its number, and what it is compared with."""

    _fields_ = (
        ("argument", ctypes.c_uint),
        ("comparison", ctypes.c_int),
        ("one", ctypes.c_uint64),
        ("other", ctypes.c_uint64),
    )


class _Filter:
    """Calls are treated by *default* unless a rule says otherwise."""

    def __init__(self, default: int) -> None:
        self._library = ctypes.CDLL("libseccomp.so.2", use_errno=True)
        self._library.seccomp_init.restype = ctypes.c_void_p
        self._context = ctypes.c_void_p(self._library.seccomp_init(ctypes.c_uint32(default)))

    def rule(self, action: int, call: str, *compared: _Compared) -> None:
        """One that this machine does not have needs no rule."""
        number = self._library.seccomp_syscall_resolve_name(call.encode())
        if number >= 0:
            array = (_Compared * len(compared))(*compared)
            code = self._library.seccomp_rule_add_array(
                self._context, ctypes.c_uint32(action), number, len(compared), array
            )
            assert code == 0, f"{call}: {os.strerror(-code)}"

    def load(self) -> None:
        """From now on, for this process and all it starts."""
        code = self._library.seccomp_load(self._context)
        assert code == 0, os.strerror(-code)


def asked(unit: str, key: str) -> list[str]:
    """What a unit says of *key*, line by line."""
    return [line.partition("=")[2] for line in unit.splitlines() if line.startswith(f"{key}=")]


def allowed_calls(unit: str) -> set[str]:
    """The names of all calls that `SystemCallFilter=` leaves."""
    allowed: set[str] = set()
    groups = _groups()
    for line in asked(unit, "SystemCallFilter"):
        calls = {call for word in line.lstrip("~").split() for call in _expanded(word, groups)}
        allowed = allowed - calls if line.startswith("~") else allowed | calls
    return allowed


def _groups() -> dict[str, list[str]]:
    """What each of systemd's groups of calls has in it: calls and groups."""
    listed = subprocess.run(["systemd-analyze", "syscall-filter"], capture_output=True, text=True, check=True)
    groups: dict[str, list[str]] = {}
    for line in listed.stdout.splitlines():
        if line.startswith("@"):
            groups[line] = members = []
        elif line.startswith("    ") and not line.strip().startswith("#"):
            members.append(line.strip())
    return groups


def _expanded(word: str, groups: Mapping[str, Sequence[str]]) -> Iterator[str]:
    if word.startswith("@"):
        for member in groups[word]:
            yield from _expanded(member, groups)
    else:
        yield word


def confine(unit: str) -> None:
    """As systemd would before it starts the unit's program."""
    libc = ctypes.CDLL(None, use_errno=True)
    assert libc.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0) == 0
    odd = _Filter(_ALLOW)
    refused = _ERRNO | errno.EPERM
    if asked(unit, "MemoryDenyWriteExecute") == ["yes"]:
        both = _WRITE | _EXECUTE
        odd.rule(refused, "mmap", _Compared(2, _MASKED, both, both))
        for call in ("mprotect", "pkey_mprotect"):
            odd.rule(refused, call, _Compared(2, _MASKED, _EXECUTE, _EXECUTE))
        odd.rule(refused, "shmat", _Compared(2, _MASKED, _SHM_EXECUTE, _SHM_EXECUTE))
    if asked(unit, "RestrictNamespaces") == ["yes"]:
        for flag in _NAMESPACES:
            odd.rule(refused, "clone", _Compared(0, _MASKED, flag, flag))
        odd.rule(_ERRNO | errno.ENOSYS, "clone3")
        odd.rule(refused, "unshare")
        odd.rule(refused, "setns")
    if asked(unit, "LockPersonality") == ["yes"]:
        odd.rule(refused, "personality", _Compared(0, _NOT_EQUAL, 0))
    for families in asked(unit, "RestrictAddressFamilies"):
        family_numbers = {int(getattr(socket, name)) for name in families.split()}
        for family in set(range(64)) - family_numbers:
            odd.rule(_ERRNO | errno.EAFNOSUPPORT, "socket", _Compared(0, _EQUAL, family))
    (number,) = asked(unit, "SystemCallErrorNumber")
    listed = _Filter(_ERRNO | int(getattr(errno, number)))
    for call in allowed_calls(unit):
        listed.rule(_ALLOW, call)
    odd.load()
    listed.load()


def main(arguments: Sequence[str]) -> None:
    """Become the program that *arguments* name."""
    confine(Path(arguments[0]).read_text(encoding="utf-8"))
    os.execvp(arguments[1], list(arguments[1:]))


if __name__ == "__main__":
    main(sys.argv[1:])
