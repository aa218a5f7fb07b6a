"""
Runs a program that may not use the network: the kernel kills it, and whatever it starts, at the first such call.

    python -m tests.support.sealed PROGRAM ARGUMENT…

A pair of sockets connected to each other is allowed: event loops wake themselves with one.
"""

import ctypes
import os
import platform
import struct
import sys

_FORBIDDEN = {  # numbers of socket, connect, accept, bind, listen, accept4
    "x86_64": (0xC000003E, (41, 42, 43, 49, 50, 288)),
    "aarch64": (0xC00000B7, (198, 203, 202, 200, 201, 242)),
}
_LOAD, _EQUAL, _RETURN = 0x20, 0x15, 0x06  # BPF
_NUMBER, _ARCHITECTURE = 0, 4  # offsets in struct seccomp_data
_ALLOW, _KILL = 0x7FFF0000, 0x80000000
_NO_NEW_PRIVILEGES, _SECCOMP, _FILTER = 38, 22, 2  # prctl(2)


def is_possible() -> bool:
    """Whether this machine's calls are known here."""
    return sys.platform == "linux" and platform.machine() in _FORBIDDEN


def seal() -> None:
    """Forbid the network to this process, for good. Raises OSError if the kernel cannot."""
    program = _program()
    buffer = ctypes.create_string_buffer(program)
    fprog = struct.pack("HxxxxxxP", len(program) // 8, ctypes.addressof(buffer))
    libc = ctypes.CDLL(None, use_errno=True)
    for option, value, address in ((_NO_NEW_PRIVILEGES, 1, None), (_SECCOMP, _FILTER, fprog)):
        if libc.prctl(option, value, address, 0, 0):
            raise OSError(ctypes.get_errno(), "prctl")


def _program() -> bytes:
    architecture, numbers = _FORBIDDEN[platform.machine()]
    lines = [
        (_LOAD, 0, 0, _ARCHITECTURE),
        (_EQUAL, 1, 0, architecture),
        (_RETURN, 0, 0, _KILL),
        (_LOAD, 0, 0, _NUMBER),
        *((_EQUAL, len(numbers) - index, 0, number) for index, number in enumerate(numbers)),
        (_RETURN, 0, 0, _ALLOW),
        (_RETURN, 0, 0, _KILL),
    ]
    return b"".join(struct.pack("HBBI", *line) for line in lines)


if __name__ == "__main__":
    seal()
    os.execvp(sys.argv[1], sys.argv[1:])
