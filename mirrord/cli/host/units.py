"""PURE: the systemd units as text."""

from dataclasses import dataclass

NAME = "mirrord"
SERVICE, CHECK, TIMER = f"{NAME}.service", f"{NAME}-check.service", f"{NAME}-check.timer"
BACKUP, BACKUP_TIMER = f"{NAME}-backup.service", f"{NAME}-backup.timer"
KEPT_BACKUPS = 14  # backups of each tenant
_HOME_PREFIXES = ("/home/", "/root/", "/run/user/")


@dataclass(frozen=True, slots=True)
class Layout:
    """
    An installation. is_system: for the machine, under a user of its own; otherwise for the installing person.

    program: the command of mirrord in words. mirror, data, backup: directories; None: below the state directory.
    """

    is_system: bool
    program: tuple[str, ...] = ("/usr/bin/env", "mirrord")
    mirror: str | None = None
    data: str | None = None
    backup: str | None = None


def render_units(layout: Layout) -> dict[str, str]:
    """The texts of all units of an installation, by name."""
    target = "multi-user.target" if layout.is_system else "default.target"
    command = " ".join(_quote(word, command=True) for word in layout.program)
    parts = {"command": command, "target": target, "places": _place_settings(layout), "kept": KEPT_BACKUPS}
    parts["backup"] = _quote(layout.backup, command=True) if layout.backup else "%S/mirrord/backup"
    writable = {SERVICE: f"-{layout.backup}", BACKUP: layout.backup} if layout.backup else {}
    return {
        name: text.format(**parts, sandbox=_sandbox_settings(layout, writable.get(name)))
        for name, text in _UNITS.items()
    }


def _place_settings(layout: Layout) -> str:
    data = _quote(f"MIRRORD_DATA={layout.data}") if layout.data else "MIRRORD_DATA=%S/mirrord"
    mirror = _quote(f"MIRROR_DIR={layout.mirror}") if layout.mirror else "MIRROR_DIR=%S/mirrord/mirror"
    backup = f"Environment={_quote(f'MIRRORD_BACKUP={layout.backup}')}\n" if layout.backup else ""
    user = _USER if layout.is_system else ""
    return f"{user}{_DIRECTORIES}Environment={data}\nEnvironment={mirror}\n{backup}"


def _sandbox_settings(layout: Layout, writable: str | None) -> str:
    """
    The settings of the sandbox. User services cannot use mount namespaces; only system-call filters apply to them.

    writable: one more directory that the unit writes; with "-" before it the unit also starts while that is missing.
    """
    if not layout.is_system:
        return _FILTERS
    directories = [path for path in (layout.mirror, layout.data, writable) if path is not None]
    places = [path.removeprefix("-") for path in (*directories, *layout.program)]
    homes = "read-only" if any(path.startswith(_HOME_PREFIXES) for path in places) else "yes"
    writable_lines = "".join(f"ReadWritePaths={_quote(path)}\n" for path in directories)
    return f"{_NAMESPACES}ProtectHome={homes}\n{writable_lines}{_FILTERS}"


def _quote(word: str, *, command: bool = False) -> str:
    """*word* quoted as one word of a unit; in a command `$` is escaped too."""
    escaped = word.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%")
    escaped = escaped.replace("$", "$$") if command else escaped
    return f'"{escaped}"' if escaped != word or set(word) & set(" \t';") else word


_SERVICE = """\
[Unit]
Description=mirrord: keeps trees of Markdown files and Postgres in sync
After=network.target postgresql.service
# It never gives up: a disk may be mounted, a database come back, hours later.
StartLimitIntervalSec=0

[Service]
Type=notify
NotifyAccess=main
ExecStart={command} up --plain
# What is wrong with the configuration no restart mends.
Restart=on-failure
RestartPreventExitStatus=2
RestartSec=5
# Fed only while every tenant's engine takes its steps. SIGABRT leaves in the log where it stood.
WatchdogSec=60
# A start that goes on asks for more time: waiting for Postgres is no failure.
TimeoutStartSec=90
# Only the daemon is asked to stop: it finishes what is under way, then stops its Postgres.
KillMode=mixed
TimeoutStopSec=120
OOMPolicy=continue
LimitNOFILE=524288
# Of the log, besides the journal, and of the socket of Postgres where the path of its cluster is too long for one.
LogsDirectory=mirrord
LogsDirectoryMode=0750
RuntimeDirectory=mirrord
RuntimeDirectoryMode=0750
{places}
{sandbox}
[Install]
WantedBy={target}
"""

_CHECK = """\
[Unit]
Description=mirrord: compares every file with its row
After=mirrord.service

[Service]
Type=oneshot
# What is on its way is no difference. A failure here shows in the comparison.
ExecStartPre=-{command} flush --timeout 300
# 1 is the exit code for differences: the unit has failed then, and the journal lists them.
ExecStart={command} check
TimeoutStartSec=2h
Nice=10
{places}
{sandbox}"""


def _nightly_timer(task: str, at: str) -> str:
    """A nightly timer. at: HH:MM; it fires within the hour after, or at the next start if the machine was off."""
    return f"""\
[Unit]
Description=mirrord: {task}, every night

[Timer]
OnCalendar=*-*-* {at}
RandomizedDelaySec=1h
Persistent=yes

[Install]
WantedBy=timers.target
"""


_BACKUP = """\
[Unit]
Description=mirrord: keeps every tenant with its history
After=mirrord.service

[Service]
Type=oneshot
# What was saved a moment ago is in the rows then; what is not is kept as files.
ExecStartPre=-{command} flush --timeout 300
# A failure here is a backup that was not made, or files that could not be read; the journal says which.
# One that a person asked for in the console is waited for.
ExecStart={command} backup create {backup} --keep {kept} --wait 3600
TimeoutStartSec=6h
Nice=10
IOSchedulingClass=idle
{places}
{sandbox}"""

_UNITS = {
    SERVICE: _SERVICE,
    CHECK: _CHECK,
    TIMER: _nightly_timer("compares every file with its row", "03:30"),
    BACKUP: _BACKUP,
    BACKUP_TIMER: _nightly_timer("keeps every tenant with its history", "01:30"),
}

_USER = """\
User=mirrord
Group=mirrord
# People of the group may share a tree whose `mirror.mode` is 2770.
UMask=0007
StateDirectory=mirrord
StateDirectoryMode=0750
"""

_DIRECTORIES = """\
ConfigurationDirectory=mirrord
# mirrord.toml is read there, if it exists.
WorkingDirectory=%E/mirrord
# /etc/credstore/mirrord.dsn, if it exists: a DSN with its password.
LoadCredential=dsn:mirrord.dsn
"""

_NAMESPACES = """\
# To ask whether a program has a file of another user open for writing.
AmbientCapabilities=CAP_LEASE
CapabilityBoundingSet=CAP_LEASE
DevicePolicy=closed
PrivateDevices=yes
PrivateTmp=yes
ProcSubset=pid
ProtectClock=yes
ProtectControlGroups=yes
ProtectHostname=yes
ProtectKernelLogs=yes
ProtectKernelModules=yes
ProtectKernelTunables=yes
ProtectProc=invisible
ProtectSystem=strict
"""

_FILTERS = """\
NoNewPrivileges=yes
LockPersonality=yes
MemoryDenyWriteExecute=yes
RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6
RestrictNamespaces=yes
RestrictRealtime=yes
SystemCallArchitectures=native
SystemCallErrorNumber=EPERM
SystemCallFilter=@system-service
SystemCallFilter=~@privileged @resources
# A replacing file keeps the group and, where that is permitted, the owner of the old one.
SystemCallFilter=@chown
"""
