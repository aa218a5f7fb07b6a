"""Probes the machine: what kernel and file system can do, limits, latency."""

import asyncio
import contextlib
import importlib.util
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import aclosing
from pathlib import Path

from mirrord.domain.health_facts import Directory, Host, KernelCalls, WatchLimits
from mirrord.mirror.tree import kernel
from mirrord.mirror.tree.tree_layout import STATE_DIRECTORY
from mirrord.mirror.tree_watch import watch

REPORT_SECONDS = 5.0  # seconds to wait for the report of a save
_LIMITS_DIRECTORY = Path("/proc/sys/fs/inotify")
_CONVERTERS = {"pypandoc": "pandoc", "pdfplumber": "pdfplumber"}  # module: converter


async def probe_host(mirror: Path, data: Path) -> Host:
    """All facts about the host but those of the database. Leaves no files behind."""
    directory = await asyncio.to_thread(probe_directory, mirror)
    calls, latency = None, None
    if directory.error is None:
        with _scratch_directory(mirror) as scratch:
            calls = await asyncio.to_thread(_try_calls, scratch)
            latency = await _measure_latency(scratch)
    trees = [path for path in sorted(mirror.iterdir()) if _is_tree(path)] if directory.error is None else []
    return Host(
        user=os.geteuid(),
        mirror=directory,
        data=await asyncio.to_thread(probe_directory, _nearest_existing(data)),
        trees=tuple([await asyncio.to_thread(probe_directory, path) for path in trees]),
        readable_secrets=tuple(str(path) for path in (data / "keys").glob("*.pem") if path.stat().st_mode & 0o077),
        calls=calls,
        watching=await asyncio.to_thread(_read_limits, mirror, latency) if calls is not None else None,
        can_search=importlib.util.find_spec("pyripgrep") is not None,
        missing_converters=tuple(name for module, name in _CONVERTERS.items() if not importlib.util.find_spec(module)),
    )


def probe_directory(path: Path) -> Directory:
    """Facts of a directory. Write access is tried, since modes do not show read-only file systems."""
    try:
        status, space = path.stat(), os.statvfs(path)
    except OSError as error:
        return Directory(str(path), error.strerror)
    try:
        with tempfile.TemporaryFile(dir=path / STATE_DIRECTORY if (path / STATE_DIRECTORY).is_dir() else path):
            refusal = None
    except OSError as error:
        refusal = error.strerror
    return Directory(
        path=str(path),
        error=refusal,
        owner=status.st_uid,
        mode=status.st_mode & 0o7777,
        free=space.f_bavail * space.f_frsize,
        total=space.f_blocks * space.f_frsize,
        file_system=file_system_of(path, Path("/proc/self/mountinfo").read_text(encoding="utf-8")),
    )


def file_system_of(path: Path, mounts: str) -> str:
    """The type of file system at *path*, from mountinfo of proc(5); "" if it is not listed."""
    place, depth, file_system = path.resolve(), -1, ""
    for line in mounts.splitlines():
        mount, _, type_and_options = line.partition(" - ")
        point = Path(mount.split(" ")[4].encode().decode("unicode_escape"))  # a blank is \040
        if (
            place.is_relative_to(point) and len(point.parts) >= depth
        ):  # of two mounts on one point the later one hides the other
            depth, file_system = len(point.parts), type_and_options.split(" ")[0]
    return file_system


def _nearest_existing(path: Path) -> Path:
    """The nearest existing directory: the path itself is created at first use."""
    return path if path.exists() or path == path.parent else _nearest_existing(path.parent)


def _is_tree(path: Path) -> bool:
    return not path.name.startswith(".") and path.is_dir() and not path.is_symlink()


@contextlib.contextmanager
def _scratch_directory(mirror: Path) -> Iterator[Path]:
    machine = mirror / STATE_DIRECTORY
    is_new = not machine.exists()
    machine.mkdir(exist_ok=True)
    scratch = Path(tempfile.mkdtemp(prefix="doctor-", dir=machine))
    try:
        yield scratch
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
        if is_new:
            with contextlib.suppress(OSError):  # a daemon has started meanwhile
                machine.rmdir()


def _try_calls(scratch: Path) -> KernelCalls:
    (scratch / "one").write_bytes(b"1")
    (scratch / "two").write_bytes(b"2")
    directory = os.open(scratch, os.O_RDONLY | os.O_DIRECTORY)
    try:
        return KernelCalls(
            openat2=_is_supported(lambda: os.close(kernel.openat2(directory, "one", os.O_RDONLY))),
            exchange=_is_supported(lambda: kernel.exchange(directory, "one", directory, "two")),
            leases=_has_leases(scratch / "one"),
        )
    finally:
        os.close(directory)


def _is_supported(call: Callable[[], None]) -> bool:
    try:
        call()
    except OSError:
        return False
    return True


def _has_leases(file: Path) -> bool:
    descriptor = os.open(file, os.O_RDONLY)
    try:
        return kernel.has_writer(descriptor) is not None
    finally:
        os.close(descriptor)


async def _measure_latency(scratch: Path) -> float | None:
    """Seconds from a save to its report, with the watcher of the daemon."""
    stop, saved = asyncio.Event(), 0.0
    try:
        async with asyncio.timeout(REPORT_SECONDS), aclosing(watch(scratch, stop)) as batches:
            async for batch in batches:
                if saved and batch != set():
                    return time.monotonic() - saved
                if batch is None:  # live from now on
                    saved = time.monotonic()
                    (scratch / "saved").write_bytes(b"saved")
    except TimeoutError:
        pass
    finally:
        stop.set()
    return None


def _read_limits(mirror: Path, latency: float | None) -> WatchLimits:
    return WatchLimits(
        most_watches=_read_number(_LIMITS_DIRECTORY / "max_user_watches"),
        most_instances=_read_number(_LIMITS_DIRECTORY / "max_user_instances"),
        directories=sum(1 for _ in os.walk(mirror)),
        latency_seconds=latency,
    )


def _read_number(file: Path) -> int:
    return int(file.read_text(encoding="ascii"))
