"""
Asynchronous fsync: requests that the kernel's own threads carry out (io_submit(2)).

A Python thread would have to wake and get the interpreter's lock before it could begin: on two cores that took as long
as the sync of a fast disk. The C library lacks these calls, hence the numbers; a sandbox or an old kernel may refuse.
"""

import contextlib
import ctypes
import errno
import os
import platform
from collections.abc import Sequence
from typing import NamedTuple

MAX_SYNCS = 64  # in one request to the kernel: each that is not in it waits for a flush of its own
_FSYNC = 2  # IOCB_CMD_FSYNC

_libc = ctypes.CDLL(None, use_errno=True)


class _SyscallNumbers(NamedTuple):
    setup: ctypes.c_long
    submit: ctypes.c_long
    getevents: ctypes.c_long


_SYSCALL_NUMBERS = {
    "x86_64": _SyscallNumbers(ctypes.c_long(206), ctypes.c_long(209), ctypes.c_long(208)),
    "aarch64": _SyscallNumbers(ctypes.c_long(0), ctypes.c_long(2), ctypes.c_long(4)),
}.get(platform.machine())


class _Request(ctypes.Structure):
    """struct iocb of linux/aio_abi.h, on little-endian machines."""

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
    """struct io_event of linux/aio_abi.h. result: 0, or a negative error number."""

    _fields_ = (
        ("data", ctypes.c_uint64),
        ("request", ctypes.c_uint64),
        ("result", ctypes.c_int64),
        ("result2", ctypes.c_int64),
    )


class _Context:
    """A kernel context of requests, for one caller at a time. Raises OSError if the kernel gives none (or no more)."""

    def __init__(self, numbers: _SyscallNumbers) -> None:
        self._numbers = numbers
        self._context = ctypes.c_ulong(0)
        _call_kernel(numbers.setup, ctypes.c_uint(MAX_SYNCS), ctypes.byref(self._context))
        self._requests = (_Request * MAX_SYNCS)()
        self._places = (ctypes.c_void_p * MAX_SYNCS)(*map(ctypes.addressof, self._requests))
        self._events = (_Event * MAX_SYNCS)()

    def submit(self, descriptors: Sequence[int]) -> int:
        """How many requests, from the first on, the kernel accepted."""
        for request, descriptor in zip(self._requests, descriptors, strict=False):
            request.opcode, request.descriptor = _FSYNC, descriptor
        return _call_kernel(self._numbers.submit, self._context, ctypes.c_long(len(descriptors)), self._places)

    def results(self, count: int) -> list[int]:
        """Results of *count* requests, once all have ended; below 0: a negative error number."""
        results: list[int] = []
        while len(results) < count:
            remaining = ctypes.c_long(count - len(results))
            number = _call_kernel(self._numbers.getevents, self._context, remaining, remaining, self._events, None)
            results += [event.result for event in self._events[:number]]
        return results


_idle_contexts: list[_Context] = []
os.register_at_fork(after_in_child=_idle_contexts.clear)  # they belong to the parent


class PendingSyncs:
    """
    Pending syncs of files and directories; end() has to be called.

    count: how many the kernel accepted, from the first on; the caller syncs the others itself.
    """

    def __init__(self, descriptors: Sequence[int]) -> None:
        self._context = _take_context() if descriptors else None
        self.count = 0
        if self._context is not None:
            with contextlib.suppress(OSError):
                self.count = self._context.submit(descriptors[:MAX_SYNCS])

    def wait(self) -> OSError | None:
        """Wait for all syncs. Return the error of one that failed, or None."""
        if self._context is None:
            return None
        try:
            failed = -min([0, *self._context.results(self.count)])
        except OSError as error:  # the next caller would receive the pending results
            return error
        _idle_contexts.append(self._context)
        return OSError(failed, os.strerror(failed)) if failed else None


def _take_context() -> _Context | None:
    if _SYSCALL_NUMBERS is None:
        return None
    with contextlib.suppress(IndexError):
        return _idle_contexts.pop()
    with contextlib.suppress(OSError):
        return _Context(_SYSCALL_NUMBERS)
    return None


def _call_kernel(number: ctypes.c_long, *arguments: object) -> int:
    while True:
        result: int = _libc.syscall(number, *arguments)
        if result >= 0:
            return result
        code = ctypes.get_errno()
        if code != errno.EINTR:
            raise OSError(code, os.strerror(code))
