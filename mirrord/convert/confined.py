"""
`python -m mirrord.convert.confined`: apply limits, then become the converter.

Run as `python -m mirrord.convert.confined CPU ADDRESS FILE PROGRAM ARGUMENT…`: seconds, bytes, bytes.
"""

import contextlib
import ctypes
import os
import resource
import signal
import sys

_PR_SET_PDEATHSIG = 1
_CLONE_NEWUSER, _CLONE_NEWNET = 0x10000000, 0x40000000
_MAX_OPEN_FILES = 64


def main(arguments: list[str]) -> None:
    """Become the converter that *arguments* name."""
    cpu, address, file = map(int, arguments[:3])
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    libc.unshare(_CLONE_NEWUSER | _CLONE_NEWNET)  # if that is forbidden, the sandboxes of the converters remain
    limits = (
        (resource.RLIMIT_CPU, cpu),
        (resource.RLIMIT_AS, address),
        (resource.RLIMIT_FSIZE, file),
        (resource.RLIMIT_NOFILE, _MAX_OPEN_FILES),
        (resource.RLIMIT_CORE, 0),
    )
    for kind, limit in limits:
        with contextlib.suppress(ValueError):  # the hard limit is lower already
            resource.setrlimit(kind, (limit, limit))
    os.execv(arguments[3], arguments[3:])


if __name__ == "__main__":
    main(sys.argv[1:])
