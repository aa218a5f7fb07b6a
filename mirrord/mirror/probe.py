"""Looking at the machine: what kernel and file system can do, tried in a directory of our own; limits; latency."""

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

from mirrord.domain.health import Calls, Directory, Host, Watching
from mirrord.mirror import kernel
from mirrord.mirror.layout import MACHINE
from mirrord.mirror.watch import watch

PATIENCE = 5.0  # seconds for a save to be reported
_LIMITS = Path("/proc/sys/fs/inotify")
_CONVERTERS = {"pypandoc": "pandoc", "pdfplumber": "pdfplumber"}  # module: what reads documents with it


async def probe(mirror: Path, data: Path) -> Host:
    """Everything but the database. Leaves nothing behind."""
    found = await asyncio.to_thread(look_at, mirror)
    calls, latency = None, None
    if found.error is None:
        with _own_directory(mirror) as own:
            calls = await asyncio.to_thread(_try_calls, own)
            latency = await _latency(own)
    trees = [path for path in sorted(mirror.iterdir()) if _is_tree(path)] if found.error is None else []
    return Host(
        user=os.geteuid(),
        mirror=found,
        data=await asyncio.to_thread(look_at, _nearest(data)),
        trees=tuple([await asyncio.to_thread(look_at, path) for path in trees]),
        readable=tuple(str(path) for path in (data / "keys").glob("*.pem") if path.stat().st_mode & 0o077),
        calls=calls,
        watching=await asyncio.to_thread(_limits, mirror, latency) if calls is not None else None,
        can_search=importlib.util.find_spec("pyripgrep") is not None,
        missing_converters=tuple(name for module, name in _CONVERTERS.items() if not importlib.util.find_spec(module)),
    )


def look_at(path: Path) -> Directory:
    """A directory, and whether it can be written: tried, since rights tell nothing of read-only file systems."""
    try:
        status, space = path.stat(), os.statvfs(path)
    except OSError as error:
        return Directory(str(path), error.strerror)
    try:
        with tempfile.TemporaryFile(dir=path / MACHINE if (path / MACHINE).is_dir() else path):
            refusal = None
    except OSError as error:
        refusal = error.strerror
    return Directory(
        *(str(path), refusal, status.st_uid, status.st_mode & 0o7777),
        *(space.f_bavail * space.f_frsize, space.f_blocks * space.f_frsize),
        file_system_of(path, Path("/proc/self/mountinfo").read_text(encoding="utf-8")),
    )


def file_system_of(path: Path, mounts: str) -> str:
    """The type of file system at *path*, from proc(5)'s mountinfo; "" if that does not say."""
    place, best, found = path.resolve(), -1, ""
    for line in mounts.splitlines():
        left, _, right = line.partition(" - ")
        point = Path(left.split(" ")[4].encode().decode("unicode_escape"))  # a blank is \040
        if place.is_relative_to(point) and len(point.parts) >= best:  # of two on one point the later hides the other
            best, found = len(point.parts), right.split(" ")[0]
    return found


def _nearest(path: Path) -> Path:
    """What there is of it: it is made when something is to be kept there."""
    return path if path.exists() or path == path.parent else _nearest(path.parent)


def _is_tree(path: Path) -> bool:
    return not path.name.startswith(".") and path.is_dir() and not path.is_symlink()


@contextlib.contextmanager
def _own_directory(mirror: Path) -> Iterator[Path]:
    machine = mirror / MACHINE
    is_new = not machine.exists()
    machine.mkdir(exist_ok=True)
    own = Path(tempfile.mkdtemp(prefix="doctor-", dir=machine))
    try:
        yield own
    finally:
        shutil.rmtree(own, ignore_errors=True)
        if is_new:
            with contextlib.suppress(OSError):  # a daemon has begun meanwhile
                machine.rmdir()


def _try_calls(own: Path) -> Calls:
    (own / "one").write_bytes(b"1")
    (own / "two").write_bytes(b"2")
    directory = os.open(own, os.O_RDONLY | os.O_DIRECTORY)
    try:
        return Calls(
            openat2=_works(lambda: os.close(kernel.openat2(directory, "one", os.O_RDONLY))),
            exchange=_works(lambda: kernel.exchange(directory, "one", directory, "two")),
            leases=_has_leases(own / "one"),
        )
    finally:
        os.close(directory)


def _works(call: Callable[[], None]) -> bool:
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


async def _latency(own: Path) -> float | None:
    """Seconds from a save to its report, by the same watcher that the daemon has."""
    stop, saved = asyncio.Event(), 0.0
    try:
        async with asyncio.timeout(PATIENCE), aclosing(watch(own, stop)) as batches:
            async for batch in batches:
                if saved and batch != set():
                    return time.monotonic() - saved
                if batch is None:  # live from now on
                    saved = time.monotonic()
                    (own / "saved").write_bytes(b"saved")
    except TimeoutError:
        pass
    finally:
        stop.set()
    return None


def _limits(mirror: Path, latency: float | None) -> Watching:
    return Watching(
        most_watches=_number(_LIMITS / "max_user_watches"),
        most_instances=_number(_LIMITS / "max_user_instances"),
        directories=sum(1 for _ in os.walk(mirror)),
        latency=latency,
    )


def _number(file: Path) -> int:
    return int(file.read_text(encoding="ascii"))
