"""
Syncs that go on beside us: requests that the kernel's own threads carry out (io_submit(2)).

A thread of ours would have to wake and get Python's lock before it could even begin: on two cores that took as long as
a quick disk's sync. Not in C's library, hence by number; a sandbox or an old kernel may refuse them.
"""

import contextlib
import ctypes
import errno
import os
import platform
from collections.abc import Sequence
from typing import NamedTuple

MOST = 4  # syncs that one call asks for at once
_FSYNC = 2  # IOCB_CMD_FSYNC

_libc = ctypes.CDLL(None, use_errno=True)


class _Numbers(NamedTuple):
    setup: ctypes.c_long
    submit: ctypes.c_long
    getevents: ctypes.c_long


_NUMBERS = {
    "x86_64": _Numbers(ctypes.c_long(206), ctypes.c_long(209), ctypes.c_long(208)),
    "aarch64": _Numbers(ctypes.c_long(0), ctypes.c_long(2), ctypes.c_long(4)),
}.get(platform.machine())


class _Request(ctypes.Structure):
    """struct iocb of linux/aio_abi.h, where bytes are little-endian."""

    _fields_ = (
        ("data", ctypes.c_uint64),
        ("key", ctypes.c_uint32),
        ("rw_flags", ctypes.c_int32),
        ("opcode", ctypes.c_uint16),
        ("priority", ctypes.c_int16),
        ("descriptor", ctypes.c_uint32),
        ("buffer", ctypes.c_uint64),
        ("bytes", ctypes.c_uint64),
        ("offset", ctypes.c_int64),
        ("reserved", ctypes.c_uint64),
        ("flags", ctypes.c_uint32),
        ("event_descriptor", ctypes.c_uint32),
    )


class _Event(ctypes.Structure):
    """struct io_event of linux/aio_abi.h. result: 0, or what failed as a negative number."""

    _fields_ = (
        ("data", ctypes.c_uint64),
        ("request", ctypes.c_uint64),
        ("result", ctypes.c_int64),
        ("result2", ctypes.c_int64),
    )


class _Context:
    """What holds requests, for one caller at a time. Raises OSError where there can be none (more)."""

    def __init__(self, numbers: _Numbers) -> None:
        self._numbers = numbers
        self._context = ctypes.c_ulong(0)
        _called(numbers.setup, ctypes.c_uint(MOST), ctypes.byref(self._context))
        self._requests = (_Request * MOST)()
        self._places = (ctypes.c_void_p * MOST)(*map(ctypes.addressof, self._requests))
        self._events = (_Event * MOST)()

    def submit(self, descriptors: Sequence[int]) -> int:
        """Of how many, from the first on, the kernel took the request."""
        for request, descriptor in zip(self._requests, descriptors, strict=False):
            request.opcode, request.descriptor = _FSYNC, descriptor
        return _called(self._numbers.submit, self._context, ctypes.c_long(len(descriptors)), self._places)

    def results(self, count: int) -> list[int]:
        """Of *count* requests, once all have ended; below 0: the number of an error."""
        found: list[int] = []
        while len(found) < count:
            left = ctypes.c_long(count - len(found))
            number = _called(self._numbers.getevents, self._context, left, left, self._events, None)
            found += [event.result for event in self._events[:number]]
        return found


_idle: list[_Context] = []
os.register_at_fork(after_in_child=_idle.clear)  # they are the parent's


class Begun:
    """
    Syncs of files and directories that were begun; end() has to be called.

    count: of how many, from the first on; the others the kernel does not sync beside us.
    """

    def __init__(self, descriptors: Sequence[int]) -> None:
        self._context = _borrowed() if descriptors else None
        self.count = 0
        if self._context is not None:
            with contextlib.suppress(OSError):
                self.count = self._context.submit(descriptors[:MOST])

    def end(self) -> OSError | None:
        """Wait for them; why one of them is not durable, None if all are."""
        if self._context is None:
            return None
        try:
            failed = -min([0, *self._context.results(self.count)])
        except OSError as error:  # what has not ended would be taken for the next caller's
            return error
        _idle.append(self._context)
        return OSError(failed, os.strerror(failed)) if failed else None


def _borrowed() -> _Context | None:
    if _NUMBERS is None:
        return None
    with contextlib.suppress(IndexError):
        return _idle.pop()
    with contextlib.suppress(OSError):
        return _Context(_NUMBERS)
    return None


def _called(number: ctypes.c_long, *arguments: object) -> int:
    while True:
        result: int = _libc.syscall(number, *arguments)
        if result >= 0:
            return result
        code = ctypes.get_errno()
        if code != errno.EINTR:
            raise OSError(code, os.strerror(code))
