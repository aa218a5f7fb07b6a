"""Access to the embedded Postgres: only the user that runs it, as identified by the kernel."""

import os
import pwd
from pathlib import Path

from mirrord.db.launch import ordinary_uid

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
