"""Files of the embedded Postgres server: the record of its process, its socket, and who may connect."""

import hashlib
import os
import pwd
import stat
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from mirrord.db.server.server_launch import ordinary_uid
from mirrord.errors import Unavailable

PORT = "5432"  # only a part of the socket's name: nothing listens on TCP
SOCKET_NAME = f".s.PGSQL.{PORT}"
_SOCKET_PATH_BYTES = 107  # sun_path of unix(7), without its NUL
_NO_PROCESS = b"4194305"  # Linux gives no pid above PID_MAX_LIMIT, 4194304


@dataclass(frozen=True, slots=True)
class Postmaster:
    """
    The contents of `postmaster.pid` in a cluster; a server completes it while it starts.

    sockets: directory of its socket; None: unknown yet.
    status: starting, ready, standby, stopping, or empty.
    """

    cluster: Path
    pid: int
    sockets: Path | None
    status: str

    @classmethod
    def read_record(cls, cluster: Path) -> "Postmaster | None":
        """Read the record; None: missing or unreadable. The server in it may be dead."""
        try:
            lines = (cluster / "postmaster.pid").read_bytes().split(b"\n")
        except FileNotFoundError:
            return None
        if not lines[0].isdigit():
            return None
        lines += [b""] * 8
        sockets = Path(os.fsdecode(lines[4])) if lines[4] else None
        return cls(cluster, int(lines[0]), sockets, lines[7].decode().strip())

    @property
    def is_unreachable(self) -> bool:
        """Whether connecting has become impossible: it is stopping, or its socket was removed."""
        socket_missing = self.status == "ready" and not (self.sockets or self.cluster).joinpath(SOCKET_NAME).exists()
        return socket_missing or self.status == "stopping"


def is_server_of(pid: int, cluster: Path) -> bool:
    """Whether *pid* is a live server of *cluster*: the number may have been reused by another process."""
    if Path("/proc/self").exists():
        try:
            return Path("/proc", str(pid), "cwd").samefile(cluster)  # the working directory of Postgres is its cluster
        except OSError:
            return False  # no such process, a zombie, or another user's
    output = subprocess.run(["ps", "-o", "comm=", "-p", str(pid)], capture_output=True, text=True)
    return output.stdout.strip().endswith("postgres")


def disarm_lock_files(cluster: Path, sockets: Path) -> None:
    """
    Make the lock files of a dead server harmless: its pid may have been reused.

    The record itself stays, with an impossible pid: Postgres reads the shared memory in it, by which it
    recognises backends that outlived their server, and refuses to start beside them.
    """
    for name in (SOCKET_NAME, f"{SOCKET_NAME}.lock"):
        (sockets / name).unlink(missing_ok=True)
    record = cluster / "postmaster.pid"
    if Postmaster.read_record(cluster) is None:
        record.unlink(missing_ok=True)
        return
    _, tail = record.read_bytes().split(b"\n", 1)
    replacement = cluster / "postmaster.pid.new"
    replacement.write_bytes(_NO_PROCESS + b"\n" + tail)
    replacement.replace(record)


def socket_directories(cluster: Path) -> Iterator[Path]:
    """Directories with a path short enough for a socket: the cluster, else ones named by its digest."""
    digest = hashlib.blake2b(os.fsencode(cluster), digest_size=8).hexdigest()
    # a service manager's directory first: its services may have a private temporary directory
    managed = os.environ.get("RUNTIME_DIRECTORY", tempfile.gettempdir())
    roots = (managed, tempfile.gettempdir(), os.environ.get("XDG_RUNTIME_DIR", "/tmp"), "/tmp")
    for place in (cluster, *(Path(root, f"mirrord-{os.geteuid()}-{digest}") for root in roots)):
        if len(os.fsencode(place / SOCKET_NAME)) <= _SOCKET_PATH_BYTES and _libpq_can_name(place):
            yield place


def private_directory(cluster: Path) -> Path:
    """The first of these directories that only this user can enter; created if missing. Raises Unavailable."""
    places = [place for place in socket_directories(cluster) if place.parent.is_dir()]
    for place in places:
        place.mkdir(mode=0o700, exist_ok=True)
        status = place.lstat()
        is_own_directory = stat.S_ISDIR(status.st_mode) and status.st_uid == os.geteuid()
        if is_own_directory and not status.st_mode & 0o077:
            return place
    raise Unavailable(
        "Postgres needs a directory of its own user with mode 0700 for its socket, and none of these is one: "
        f"{', '.join(map(str, places))}. Remove one, or use a data directory with a shorter path."
    )


def _libpq_can_name(place: Path) -> bool:
    """The hosts of libpq are separated by commas, and the path must be absolute and UTF-8."""
    return place.is_absolute() and "," not in str(place) and str(place).isprintable()


_USER_MAP = "mirrord"
_HBA_LINES = f"""\
# Written by mirrord before every start of the server. The kernel says who connects: no password, and no other user.
local all all peer map={_USER_MAP}
local replication all peer map={_USER_MAP}
"""


def access_settings(cluster: Path) -> list[str]:
    """Settings of a server that admits only its own user, in any role. Writes the files that they name."""
    hosts, users = cluster / "mirrord_hba.conf", cluster / "mirrord_ident.conf"
    _write(hosts, _HBA_LINES)
    _write(users, "".join(f'{_USER_MAP} "{name}" all\n' for name in _user_names()))
    return [f"hba_file={hosts}", f"ident_file={users}", "unix_socket_permissions=0700"]


def _user_names() -> list[str]:
    """Names of this user as the server sees them. Root runs it in a user namespace, see db.launch."""
    uid = os.geteuid()
    if uid == 0:
        return [pwd.getpwuid(ordinary_uid()).pw_name]
    return [pwd.getpwuid(uid).pw_name, "root"]  # root may become this user anyway


def _write(path: Path, text: str) -> None:
    if path.exists() and path.read_text(encoding="utf-8") == text:
        return  # a full disk is no reason not to start
    path.write_text(text, encoding="utf-8")
    path.chmod(0o600)
