"""Killing a process at one of its calls that change a tree."""

import os
import signal
from collections.abc import Callable
from pathlib import Path

from mirrord.mirror.tree import kernel, kernel_aio

_CALLS = ("mkdir", "create", "write", "fsync", "rename", "rename_new", "exchange", "link", "unlink", "rmdir")


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


def _kill_at(number: int) -> None:
    remaining = [number]
    vars(kernel_aio)["_SYSCALL_NUMBERS"] = None  # every sync is a call that can be counted
    for call in _CALLS:
        original = getattr(kernel, call)

        def counted(*arguments: object, original: Callable[..., object] = original) -> object:
            remaining[0] -= 1
            if remaining[0] == 0:
                os.kill(os.getpid(), signal.SIGKILL)
            return original(*arguments)

        setattr(kernel, call, counted)
