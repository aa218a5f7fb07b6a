"""Killing a process at one of its calls that change a tree."""

import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from mirrord.mirror.tree import kernel, kernel_aio

_CALLS = ("mkdir", "create", "write", "fsync", "rename", "rename_new", "exchange", "link", "unlink", "rmdir")
_SYNCS = ("fsync", "syncfs", "begin_writeback")


def forgo_syncs(patch: pytest.MonkeyPatch) -> None:
    """Until *patch* is undone nothing is synced: only a power cut could tell, and each sync waits for the disk."""
    for call in _SYNCS:
        patch.setattr(kernel, call, _sync_nothing)
    patch.setattr(kernel_aio, "_SYSCALL_NUMBERS", None)  # no sync passes kernel.fsync by


def killed_at(number: int, root: Path, act: Callable[[Path], None]) -> bool:
    """Whether *act*, in a process of its own, was killed at its call *number* that changes the tree; else it ended."""
    child = os.fork()
    if child == 0:
        try:
            _kill_at(number)
            act(root)
        finally:
            os._exit(0)
    return os.WIFSIGNALED(os.waitpid(child, 0)[1])


def _sync_nothing(_: int) -> None:
    """A call that a process can be killed at; what was written survives a kill without it."""


def _kill_at(number: int) -> None:
    remaining = [number]
    vars(kernel).update(dict.fromkeys(_SYNCS, _sync_nothing))
    vars(kernel_aio)["_SYSCALL_NUMBERS"] = None  # every sync is a call that can be counted
    for call in _CALLS:
        original = getattr(kernel, call)

        def counted(*arguments: object, original: Callable[..., object] = original) -> object:
            remaining[0] -= 1
            if remaining[0] == 0:
                os.kill(os.getpid(), signal.SIGKILL)
            return original(*arguments)

        setattr(kernel, call, counted)
