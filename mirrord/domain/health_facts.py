"""Facts that show whether an installation is well; their meaning is judged elsewhere."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from mirrord.domain.history_rule import HistoryCost, HistoryRule


@dataclass(frozen=True, slots=True)
class Directory:
    """
    A directory that mirrord works in. error: why it cannot be written now; None: it can.

    owner: a user id; mode: permission bits; free, total: bytes; file_system: its name in the kernel.
    """

    path: str
    error: str | None = None
    owner: int = 0
    mode: int = 0
    free: int = 0
    total: int = 0
    file_system: str = ""


@dataclass(frozen=True, slots=True)
class KernelCalls:
    """Whether the kernel and the file system support the calls that keep files safe."""

    openat2: bool
    exchange: bool
    leases: bool


@dataclass(frozen=True, slots=True)
class WatchLimits:
    """
    most_watches, most_instances: limits of inotify. directories: number to watch.

    latency_seconds: seconds from a save to its report; None: it was not reported.
    """

    most_watches: int
    most_instances: int
    directories: int
    latency_seconds: float | None


@dataclass(frozen=True, slots=True)
class Host:
    """The facts of one machine. user: id of the caller; readable: secret files readable by others than their owner."""

    user: int
    mirror: Directory
    data: Directory
    trees: tuple[Directory, ...] = ()
    readable_secrets: tuple[str, ...] = ()
    calls: KernelCalls | None = None
    watching: WatchLimits | None = None
    can_search: bool = True
    missing_converters: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class TenantIsolation:
    """The result of an attempt to cross from one tenant to another. leaks: sentences; as_app: also tried as an app."""

    leaks: tuple[str, ...]
    as_app: bool


@dataclass(frozen=True, slots=True)
class TenantStatus:
    """
    The status of one tenant. oldest_seconds: seconds for which the oldest change not yet synced by this mirror has
    waited.

    is_leased: whether the lease of the mirror here is held; None: there is no mirror here. rule: which earlier versions
    keep their texts.
    """

    tenant: str
    is_leased: bool | None
    problems: int
    halts: int
    conflicts: int
    oldest_seconds: float | None
    history: HistoryCost = field(default_factory=HistoryCost)
    rule: HistoryRule = field(default_factory=HistoryRule)


@dataclass(frozen=True, slots=True)
class Login:
    """The role that mirrord logs in as."""

    name: str
    is_superuser: bool


@dataclass(frozen=True, slots=True)
class Server:
    """
    The facts of a database. version: as a number, 180004. skew_seconds: seconds by which its clock is ahead of ours.

    missing_roles: required roles that do not exist. bypassing_roles: roles of mirrord that bypass row-level security.
    unprotected_tables: tables with tenants' rows on which it is not forced. excess_app_rights: possible actions of apps
    beyond their rows, as sentences. login: None: not checked. notification_seconds: seconds from a commit to its
    notification; None: none arrived.
    """

    version: int
    skew_seconds: float
    schema: int
    newest_schema: int
    missing_roles: tuple[str, ...] = ()
    bypassing_roles: tuple[str, ...] = ()
    unprotected_tables: tuple[str, ...] = ()
    excess_app_rights: tuple[str, ...] = ()
    login: Login | None = None
    isolation: TenantIsolation | None = None
    notification_seconds: float | None = None
    tenants: tuple[TenantStatus, ...] = ()


@dataclass(frozen=True, slots=True)
class DaemonStatus:
    """The daemon. degraded: its own sentences; pending: known changes, by tenant."""

    alive: bool
    degraded: tuple[str, ...] = ()
    pending: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Facts:
    """All facts. server: None if Postgres is unreachable, then outage says why; both None: there is no database yet."""

    host: Host
    daemon: DaemonStatus
    server: Server | None
    outage: str | None = None
