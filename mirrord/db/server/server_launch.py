"""
Runs a Postgres program, which refuses uid 0: as root inside a user namespace, under another uid. Run as a file,
without site-packages.

    python -I -S launch.py COMMAND…               in place of this process
    python -I -S launch.py --log FILE COMMAND…    detached, output appended to FILE; prints the process id

Detached means: a session of its own and no parent, so that neither Ctrl-C nor the end of the caller reaches
it. Exit status 77 means that this system refuses user namespaces; standard error says why.
"""

import ctypes
import os
import pwd
import sys
from pathlib import Path

NO_NAMESPACE_STATUS = 77
_CLONE_NEWUSER = 0x10000000  # linux/sched.h


def main(arguments: list[str]) -> None:
    log = None
    if arguments[0] == "--log":
        log = os.open(arguments[1], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        arguments = arguments[2:]
    if os.geteuid() == 0:
        try:
            _leave_root()
        except OSError as refusal:
            print(refusal, file=sys.stderr)
            sys.exit(NO_NAMESPACE_STATUS)
    if log is None or _detach(log):
        os.execv(arguments[0], arguments)


def _leave_root() -> None:
    """Continue in a new user namespace as another uid; outside it, process and files still belong to root."""
    outside = {"uid_map": os.geteuid(), "gid_map": os.getegid()}
    inside = ordinary_uid()
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(_CLONE_NEWUSER) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    Path("/proc/self/setgroups").write_text("deny")  # the kernel's condition for writing gid_map
    for table, number in outside.items():
        Path("/proc/self", table).write_text(f"{inside} {number} 1")


def ordinary_uid() -> int:
    """A uid that has a name, because initdb looks up its own."""
    return next((account.pw_uid for account in pwd.getpwall() if account.pw_uid != 0), 1000)


def _detach(log: int) -> bool:
    """Fork: False in the parent, which printed the child's process id; True in the child, ready for exec."""
    child = os.fork()
    if child:
        print(child)
        return False
    os.setsid()
    os.dup2(log, 1)
    os.dup2(log, 2)
    return True


if __name__ == "__main__":
    main(sys.argv[1:])
