"""PURE: verdicts, sentences and remedies from facts about an installation."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from mirrord.domain.health_facts import DaemonStatus, Directory, Facts, Host, Server, TenantStatus
from mirrord.sync.decisions.guard import check_space

OLDEST_POSTGRES_VERSION, NEWEST_POSTGRES_VERSION = 15, 18  # versions of Postgres
MAX_CLOCK_SKEW_SECONDS = 5.0  # seconds between two clocks
SLOW_SECONDS = 0.5  # seconds from a save to its report, from a commit to its notification
MAX_WAITING_SECONDS = 60.0  # seconds that a change may wait while a daemon runs
LARGE_HISTORY_BYTES = 4 << 30  # bytes of texts of earlier versions
WATCHES_FACTOR = 1.2  # factor for watches: other programs of the user need some
_REMOTE_FILE_SYSTEMS = {
    "nfs",
    "nfs4",
    "cifs",
    "smb3",
    "9p",
    "afs",
    "ceph",
    "glusterfs",
    "vboxsf",
    "virtiofs",
    "fuse.sshfs",
}
_VOLATILE_FILE_SYSTEMS = {"tmpfs", "ramfs"}


class Verdict(StrEnum):
    """Result of a check. NOTE: worth knowing, nothing is wrong. UNAVAILABLE: the check could not be made."""

    OK = "ok"
    NOTE = "note"
    WRONG = "wrong"
    UNAVAILABLE = "unavailable"


@dataclass(frozen=True, slots=True)
class Finding:
    """One line of the report. remedy: the cure; None: no action is required."""

    check: str
    verdict: Verdict
    sentence: str
    remedy: str | None = None


def diagnose(facts: Facts) -> list[Finding]:
    """All findings, in the order of repair."""
    host = facts.host
    findings = [
        *_check_directories(host),
        _check_permissions(host),
        *_check_kernel(host),
        *_check_watching(host),
        *_check_programs(host),
    ]
    findings += [_check_daemon(facts.daemon)]
    if facts.server is None:
        return [*findings, _report_no_server(facts.outage)]
    return [*findings, *_check_server(facts.server), *_check_tenants(facts.server, facts.daemon)]


def _ok(check: str, sentence: str) -> Finding:
    return Finding(check, Verdict.OK, sentence)


def _wrong(check: str, sentence: str, remedy: str) -> Finding:
    return Finding(check, Verdict.WRONG, sentence, remedy)


def _check_directories(host: Host) -> Iterator[Finding]:
    for check, directory in (("mirror", host.mirror), ("data", host.data)):
        if directory.error is not None:
            remedy = "Give it to the user that runs mirrord, mount it writable, or name another one with "
            sentence = f"{directory.path} cannot be written: {directory.error}."
            yield Finding(check, Verdict.UNAVAILABLE, sentence, f"{remedy}--{check}.")
            continue
        yield _ok(check, f"{directory.path} can be written.")
        yield _check_free_space(check, directory)
        yield _check_file_system(check, directory)
    for tree in host.trees:
        if tree.error is not None:
            remedy = "Give it to the user that runs mirrord, or mount it writable; `mirrord status` says what waits."
            yield Finding("tree", Verdict.UNAVAILABLE, f"{tree.path} cannot be written: {tree.error}.", remedy)


def _check_free_space(check: str, directory: Directory) -> Finding:
    if check_space(directory.free, directory.total) is None:
        return _ok(f"{check} space", f"{_format_size(directory.free)} of {_format_size(directory.total)} are free.")
    return _wrong(
        f"{check} space",
        f"Only {_format_size(directory.free)} of {_format_size(directory.total)} are free at {directory.path}.",
        "Free some: below 1 GiB (or 5 %) rows are no longer written into files.",
    )


def _format_size(size_bytes: int) -> str:
    return f"{size_bytes / (1 << 30):.1f} GiB"


def _format_mebibytes(size_bytes: int) -> str:
    return f"{size_bytes / (1 << 20):,.1f} MiB"


def _check_file_system(check: str, directory: Directory) -> Finding:
    kind = directory.file_system
    if kind in _REMOTE_FILE_SYSTEMS:
        remedy = "Use a local disk, and a mirror of its own on each host: they meet in Postgres."
        return _wrong(f"{check} file system", f"{kind} does not report what other hosts change.", remedy)
    if kind in _VOLATILE_FILE_SYSTEMS:
        remedy = "Use a disk, unless you are only trying mirrord."
        return Finding(f"{check} file system", Verdict.NOTE, f"{kind} is gone with the next start.", remedy)
    return _ok(f"{check} file system", f"{kind or 'unknown'}, local.")


def _check_permissions(host: Host) -> Finding:
    open_to_all = [
        directory.path for directory in (host.mirror, *host.trees) if directory.error is None and directory.mode & 0o002
    ]
    if open_to_all:
        listed = ", ".join(open_to_all)
        return _wrong("permissions", f"Everybody on this machine may write to {listed}.", f"Run `chmod o-w {listed}`.")
    if host.readable_secrets:
        listed = ", ".join(host.readable_secrets)
        return _wrong("permissions", f"Others may read the private key {listed}.", f"Run `chmod 600 {listed}`.")
    foreign = [
        directory.path for directory in host.trees if directory.error is None and directory.owner != host.mirror.owner
    ]
    if foreign and host.mirror.error is None:
        remedy = "Give them to one user: what mirrord may not write waits as a problem."
        return _wrong("permissions", f"{', '.join(foreign)} and {host.mirror.path} belong to different users.", remedy)
    if host.mirror.error is None and host.mirror.owner != host.user:
        remedy = "Ask again as that user: what it may do is not what you may do."
        return Finding("permissions", Verdict.NOTE, f"The mirror belongs to the user {host.mirror.owner}.", remedy)
    return _ok("permissions", "Trees and keys belong to one user, and others cannot write to them.")


def _check_kernel(host: Host) -> Iterator[Finding]:
    if host.calls is None:
        return
    features = {
        "openat2": (host.calls.openat2, "paths are walked step by step; Linux 5.6 has it"),
        "renameat2 with RENAME_EXCHANGE": (host.calls.exchange, "a file being replaced is absent for a moment"),
        "leases": (host.calls.leases, "reading a file takes 0.3 s longer"),
    }
    missing = [f"no {call}: {effect}" for call, (is_available, effect) in features.items() if not is_available]
    if not missing:
        yield _ok("kernel calls", f"{', '.join(features)} work.")
        return
    remedy = "It works, less well. ext4, XFS and Btrfs on a current kernel have all of them."
    yield Finding("kernel calls", Verdict.NOTE, f"{'; '.join(missing)}.", remedy)


def _check_watching(host: Host) -> Iterator[Finding]:
    watching = host.watching
    if watching is None:
        return
    needed = int(watching.directories * WATCHES_FACTOR) + 1
    if watching.most_watches < needed:
        sentence = f"{watching.directories} directories are to be watched, {watching.most_watches} may be."
        yield _wrong("inotify", sentence, f"Run `sysctl fs.inotify.max_user_watches={2 * needed}` as root.")
    else:
        yield _ok("inotify", f"{watching.directories} directories to be watched, {watching.most_watches} may be.")
    if watching.latency_seconds is None:
        remedy = "Changes are found by looking every minute. Does another file system or container keep reports away?"
        yield _wrong("watch latency", "A save was not reported.", remedy)
    else:
        yield _check_latency("watch latency", "A save was reported", watching.latency_seconds)


def _check_latency(check: str, event: str, seconds: float) -> Finding:
    sentence = f"{event} after {seconds * 1000:.0f} ms."
    if seconds <= SLOW_SECONDS:
        return _ok(check, sentence)
    return _wrong(check, sentence, "The machine or the disk is overloaded; see what else runs.")


def _check_programs(host: Host) -> Iterator[Finding]:
    if host.can_search:
        yield _ok("search", "ripgrep is there.")
    else:
        yield _wrong("search", "ripgrep is not installed: agents cannot search.", "Reinstall mirrord's dependencies.")
    if host.missing_converters:
        sentence = f"{' and '.join(host.missing_converters)} are not installed: some documents cannot be imported."
        yield Finding("converters", Verdict.NOTE, sentence, "Install `mirrord[documents]` to import them.")
    else:
        yield _ok("converters", "Documents of all kinds can be imported.")


def _check_daemon(daemon: DaemonStatus) -> Finding:
    if not daemon.alive:
        remedy = "Start it: `mirrord up`, or `systemctl start mirrord`."
        return _wrong("daemon", "No daemon is running: changes wait where they were made.", remedy)
    if daemon.degraded:
        return _wrong("daemon", " ".join(daemon.degraded), "`mirrord status` says more; docs/operations.md has cures.")
    return _ok("daemon", f"It runs; {sum(daemon.pending.values()) or 'no'} changes are waiting.")


def _report_no_server(outage: str | None) -> Finding:
    if outage is None:
        return Finding("Postgres", Verdict.NOTE, "There is no database yet.", "`mirrord up` makes one.")
    remedy = "Start Postgres, or mend the DSN. Until then changes wait in the files, and nothing is lost."
    return Finding("Postgres", Verdict.UNAVAILABLE, outage, remedy)


def _check_server(server: Server) -> Iterator[Finding]:
    major = server.version // 10000
    if OLDEST_POSTGRES_VERSION <= major <= NEWEST_POSTGRES_VERSION:
        yield _ok("Postgres", f"Version {major}.{server.version % 10000}.")
    else:
        sentence = f"Version {major} is none that mirrord is tested with."
        yield _wrong("Postgres", sentence, f"Use Postgres {OLDEST_POSTGRES_VERSION} to {NEWEST_POSTGRES_VERSION}.")
    if abs(server.skew_seconds) <= MAX_CLOCK_SKEW_SECONDS:
        yield _ok("clock", f"Ours and that of Postgres differ by {abs(server.skew_seconds):.1f} s.")
    else:
        sentence = f"Ours and that of Postgres differ by {abs(server.skew_seconds):.0f} s."
        remedy = "Let both hosts keep time (NTP). Sync is not affected; times in histories and of tokens are."
        yield _wrong("clock", sentence, remedy)
    if server.schema != server.newest_schema:
        yield _check_schema(server)
        return
    yield _ok("schema", f"{server.schema}, the newest.")
    yield _check_roles(server)
    yield _check_isolation(server)
    yield _check_rights(server)
    if server.notification_seconds is None:
        remedy = "Rows are polled every second instead. A pooler in between has to pool sessions, not transactions."
        yield _wrong("feed latency", "A commit was not notified.", remedy)
    else:
        yield _check_latency("feed latency", "A commit was notified", server.notification_seconds)


def _check_schema(server: Server) -> Finding:
    sentence = f"The database has schema {server.schema}, this mirrord needs {server.newest_schema}."
    if server.schema > server.newest_schema:
        return _wrong("schema", sentence, "Install a newer mirrord.")
    return _wrong("schema", sentence, "Run `mirrord migrate` as a role that may create roles and schemas.")


def _check_roles(server: Server) -> Finding:
    if server.missing_roles:
        return _wrong("roles", f"There is no {', '.join(server.missing_roles)}.", "Run `mirrord migrate`.")
    if server.bypassing_roles:
        listed = ", ".join(server.bypassing_roles)
        remedy = f"Run `ALTER ROLE {server.bypassing_roles[0]} NOSUPERUSER NOBYPASSRLS`."
        return _wrong("roles", f"Row-level security does not hold {listed}.", remedy)
    if server.login is not None and server.login.is_superuser:
        sentence = f"mirrord may log in as the superuser {server.login.name} only, and works as none."
        remedy = "`ALTER ROLE mirrord_daemon PASSWORD '…'`, and let the DSN name that role and its password."
        return _wrong("roles", sentence, remedy)
    return _ok("roles", "Owner, daemon and app are there; row-level security holds them.")


def _check_isolation(server: Server) -> Finding:
    leaks = list(server.isolation.leaks) if server.isolation is not None else []
    leaks += [f"Row-level security is not forced on {table}." for table in server.unprotected_tables]
    if leaks:
        remedy = "Stop apps, and run `mirrord migrate --policies` (with the `--dsn …` of the database's owner)."
        return _wrong("tenants apart", " ".join(leaks), remedy)
    roles = "as mirrord and as an app" if server.isolation is not None and server.isolation.as_app else "as mirrord"
    return _ok("tenants apart", f"Tried {roles} with two tenants, and rolled back: neither reaches the other.")


def _check_rights(server: Server) -> Finding:
    if server.excess_app_rights:
        remedy = "`mirrord migrate --dsn …` as the owner of the database takes it from them."
        return _wrong("rights of apps", " ".join(server.excess_app_rights), remedy)
    return _ok("rights of apps", "Their rows, and nothing else: no temporary objects, no schemas, no functions.")


def _check_tenants(server: Server, daemon: DaemonStatus) -> Iterator[Finding]:
    if server.schema == server.newest_schema and not server.tenants:
        yield Finding("tenants", Verdict.NOTE, "There is no tenant yet.", "Make one: `mirrord init NAME`.")
    for standing in server.tenants:
        yield from _check_tenant(standing, daemon)
    if server.tenants:
        yield _check_history(server.tenants)


def _check_history(tenants: Sequence[TenantStatus]) -> Finding:
    """What earlier versions cost; worth knowing where they are large and nothing ends them."""
    costs = [standing.history for standing in tenants]
    versions, removed, size = (sum(getattr(cost, part) for cost in costs) for part in ("versions", "removed", "size"))
    rules = {standing.rule.describe() for standing in tenants}
    rule = rules.pop() if len(rules) == 1 else "different times for different tenants"
    texts = f"{versions - removed:,} earlier versions have their text, {_format_mebibytes(size)} in all"
    largest = max(tenants, key=lambda standing: standing.history.size)
    share = (
        f" ({largest.tenant} the most, {_format_mebibytes(largest.history.size)})" if len(tenants) > 1 and size else ""
    )
    sentence = f"{texts}{share}; {removed:,} have none any more. Kept: {rule}."
    if size <= LARGE_HISTORY_BYTES or largest.rule.age is not None:
        return _ok("history", sentence)
    remedy = 'If that is too much, give mirrord.toml `[history]` with `keep = "365d"`: docs/configuration.md.'
    return Finding("history", Verdict.NOTE, sentence, remedy)


def _check_tenant(standing: TenantStatus, daemon: DaemonStatus) -> Iterator[Finding]:
    check = f"tenant {standing.tenant}"
    findings = []
    if daemon.alive and standing.is_leased is False:
        remedy = "`mirrord status` says why; another daemon, or a database that was out of reach, ends with time."
        findings.append(_wrong(check, "The lease of its mirror is not held: nothing is written.", remedy))
    if daemon.alive and standing.oldest_seconds is not None and standing.oldest_seconds > MAX_WAITING_SECONDS:
        sentence = f"A change has been waiting for {standing.oldest_seconds:.0f} s."
        findings.append(_wrong(check, sentence, "`mirrord status` says what hinders it; `mirrord check` what differs."))
    if standing.halts:
        findings.append(_wrong(check, f"{standing.halts} halts wait for a decision.", "`mirrord halts` shows them."))
    if standing.problems:
        sentence = f"{standing.problems} paths do not sync, or not as they are."
        findings.append(_wrong(check, sentence, "`mirrord status` lists them."))
    if standing.conflicts:
        sentence = f"{standing.conflicts} conflicts are open; both sides are kept."
        findings.append(Finding(check, Verdict.NOTE, sentence, "`mirrord conflicts` shows them."))
    yield from findings or [_ok(check, _describe_idle(standing))]


def _describe_idle(standing: TenantStatus) -> str:
    if standing.is_leased is None:
        return "It is not mirrored here."
    if standing.oldest_seconds is not None:
        return f"The oldest change on its way is {standing.oldest_seconds:.0f} s old."
    return "Nothing waits."
