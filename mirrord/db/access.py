"""Who may connect to the embedded Postgres: the user that runs it, whom the kernel names, and nobody else."""

import os
import pwd
from pathlib import Path

from mirrord.db.launch import ordinary_uid

_MAP = "mirrord"
_HOSTS = f"""\
# Written by mirrord before every start of the server. The kernel says who connects: no password, and no other user.
local all all peer map={_MAP}
local replication all peer map={_MAP}
"""


def access_settings(cluster: Path) -> list[str]:
    """Settings of a server that lets in only its own user, as any role; writes the files they name."""
    hosts, users = cluster / "mirrord_hba.conf", cluster / "mirrord_ident.conf"
    _write(hosts, _HOSTS)
    _write(users, "".join(f'{_MAP} "{name}" all\n' for name in _own_names()))
    return [f"hba_file={hosts}", f"ident_file={users}", "unix_socket_permissions=0700"]


def _own_names() -> list[str]:
    """Of this user as the server sees it, which runs in a user namespace where this user is root (db.launch)."""
    own = os.geteuid()
    if own == 0:
        return [pwd.getpwuid(ordinary_uid()).pw_name]
    return [pwd.getpwuid(own).pw_name, "root"]  # root may become this user anyway


def _write(path: Path, text: str) -> None:
    if path.exists() and path.read_text(encoding="utf-8") == text:
        return  # a full disk is no reason not to start
    path.write_text(text, encoding="utf-8")
    path.chmod(0o600)
