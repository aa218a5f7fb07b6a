"""What is looked at to tell whether an installation is well. Facts only: what they mean is said elsewhere."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Directory:
    """
    A directory that mirrord works in. error: why it cannot be written now; None: it can.

    owner: a user's id; mode: permission bits; free, total: bytes; file_system: as the kernel calls it.
    """

    path: str
    error: str | None = None
    owner: int = 0
    mode: int = 0
    free: int = 0
    total: int = 0
    file_system: str = ""


@dataclass(frozen=True, slots=True)
class Calls:
    """Whether the kernel and the file system have what keeps files safe."""

    openat2: bool
    exchange: bool
    leases: bool


@dataclass(frozen=True, slots=True)
class Watching:
    """
    most_watches, most_instances: limits of inotify. directories: to be watched.

    latency: seconds from a save to its report; None: it was not reported.
    """

    most_watches: int
    most_instances: int
    directories: int
    latency: float | None


@dataclass(frozen=True, slots=True)
class Host:
    """What one machine has. user: who asks; readable: secret files that others than their owner may read."""

    user: int
    mirror: Directory
    data: Directory
    trees: tuple[Directory, ...] = ()
    readable: tuple[str, ...] = ()
    calls: Calls | None = None
    watching: Watching | None = None
    can_search: bool = True
    missing_converters: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Wall:
    """What a try to cross from one tenant to another showed. leaks: sentences; as_app: whether it was tried so, too."""

    leaks: tuple[str, ...]
    as_app: bool


@dataclass(frozen=True, slots=True)
class Standing:
    """
    How one tenant stands. oldest: seconds that the oldest change this mirror has not taken yet is waiting.

    is_leased: whether somebody holds the lease of the mirror here; None: there is none here.
    """

    tenant: str
    is_leased: bool | None
    problems: int
    halts: int
    conflicts: int
    oldest: float | None


@dataclass(frozen=True, slots=True)
class Login:
    """Who mirrord logs in as."""

    name: str
    is_superuser: bool


@dataclass(frozen=True, slots=True)
class Server:
    """
    What a database has. version: as a number, 180004. skew: seconds its clock is ahead of ours.

    missing_roles: that there should be. mighty_roles: of ours, that row-level security does not hold. unguarded: tables
    with tenants' rows on which it is not forced. open_walls: what apps could do beyond their rows, as sentences.
    login: None where it was not asked. bell: seconds from a commit to its notification; None: none came.
    """

    version: int
    skew: float
    schema: int
    newest_schema: int
    missing_roles: tuple[str, ...] = ()
    mighty_roles: tuple[str, ...] = ()
    unguarded: tuple[str, ...] = ()
    open_walls: tuple[str, ...] = ()
    login: Login | None = None
    wall: Wall | None = None
    bell: float | None = None
    tenants: tuple[Standing, ...] = ()


@dataclass(frozen=True, slots=True)
class Running:
    """The daemon. degraded: its own sentences; pending: changes it knows of, by tenant."""

    alive: bool
    degraded: tuple[str, ...] = ()
    pending: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Facts:
    """All of it. server: None where Postgres is out of reach, and outage says why; both None: there is none yet."""

    host: Host
    daemon: Running
    server: Server | None
    outage: str | None = None
