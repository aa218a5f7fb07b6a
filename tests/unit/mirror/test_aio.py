"""Several files and directories made durable at once, by the kernel beside us where it does that."""

import errno
import os
import re
import shutil
import struct
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import pytest

from mirrord.mirror.tree import kernel, kernel_aio

needs_strace = pytest.mark.skipif(shutil.which("strace") is None, reason="strace shows and fails the calls")

SCRIPT = """
import os, sys
from mirrord.mirror.tree import kernel
there = [os.open(path, os.O_RDONLY) for path in sys.argv[1:]]
for _ in range(2):
    try:
        kernel.fsync_all(*there)
        print("durable")
    except OSError as error:
        print(error.errno)
"""


@pytest.fixture
def places(tmp_path: Path) -> list[Path]:
    """Two directories and a file."""
    paths = [tmp_path / name for name in ("one", "two", "file")]
    paths[0].mkdir()
    paths[1].mkdir()
    paths[2].write_bytes(b"text")
    return paths


@pytest.fixture
def descriptors(places: list[Path]) -> Iterator[list[int]]:
    with ExitStack() as stack:
        opened = [os.open(path, os.O_RDONLY) for path in places]
        for descriptor in opened:
            stack.callback(os.close, descriptor)
        yield opened


def traced(places: list[Path], *injected: str) -> tuple[list[str], str]:
    """What was said of two times that all were to be durable, and the calls that did it."""
    trace = places[0] / "trace"
    rules = [part for rule in injected for part in ("-e", f"inject={rule}")]
    strace = [
        "strace",
        "-f",
        "-y",
        "-o",
        str(trace),
        "-e",
        "trace=fsync,sync_file_range,io_setup,io_submit,io_getevents",
        *rules,
    ]
    command = [*strace, sys.executable, "-c", SCRIPT, *map(str, places)]
    completed = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    return completed.stdout.split(), trace.read_text()


@needs_strace
def test_every_one_is_synced_and_waited_for_before_it_is_said(places: list[Path]) -> None:
    output, calls = traced(places)
    assert output == ["durable", "durable"]
    if "io_setup" not in calls or " = -1 " in calls:
        pytest.skip("this kernel syncs nothing beside us")
    assert calls.count("io_setup") == 1
    for place in places[:2]:
        assert len(re.findall(rf"IOCB_CMD_FSYNC, aio_fildes=\d+<{place}>", calls)) == 2
    assert len(re.findall(rf"fsync\(\d+<{places[2]}>\) += 0", calls)) == 2
    waited = re.findall(r"io_getevents\(.*, 2, 2, \[.*res=0, .*res=0, .*= 2$", calls, re.MULTILINE)
    assert len(waited) == 2


@needs_strace
@pytest.mark.parametrize("refused", ["io_setup:error=EAGAIN", "io_setup:error=ENOSYS", "io_submit:error=EINVAL"])
def test_where_the_system_refuses_they_are_synced_one_after_the_other(places: list[Path], refused: str) -> None:
    output, calls = traced(places, refused)
    assert output == ["durable", "durable"]
    for place in places:
        assert len(re.findall(rf"fsync\(\d+<{place}>\) += 0", calls)) == 2


@needs_strace
def test_a_sync_that_failed_beside_us_is_an_error_and_the_next_may_succeed(places: list[Path]) -> None:
    failed = struct.pack("<QQqq", 0, 0, -errno.EIO, 0).hex()
    output, calls = traced(places, f"io_getevents:poke_exit=@arg4={failed}:when=1")
    if "io_getevents" not in calls:
        pytest.skip("this kernel syncs nothing beside us")
    assert output == [str(errno.EIO), "durable"]
    assert calls.count("io_setup") == 1


@needs_strace
def test_what_could_not_be_waited_for_counts_as_failed_and_is_nobody_elses(places: list[Path]) -> None:
    output, calls = traced(places, "io_getevents:error=EIO:when=1")
    if "io_getevents" not in calls:
        pytest.skip("this kernel syncs nothing beside us")
    assert output == [str(errno.EIO), "durable"]
    assert calls.count("io_setup") == 2


@needs_strace
def test_a_wait_that_a_signal_ends_goes_on(places: list[Path]) -> None:
    output, _ = traced(places, "io_getevents:error=EINTR:when=1")
    assert output == ["durable", "durable"]


@needs_strace
def test_all_are_on_their_way_to_the_disk_before_the_first_is_synced(places: list[Path]) -> None:
    _, calls = traced(places)
    before = calls[: re.search(r"io_submit|fsync\(", calls).start()]  # type: ignore[union-attr]  # else it fails too
    for place in places:
        assert len(re.findall(rf"sync_file_range\(\d+<{place}>, 0, 0, SYNC_FILE_RANGE_WRITE\)", before)) == 1


@needs_strace
def test_a_system_that_sends_nothing_to_the_disk_beforehand_syncs_all_the_same(places: list[Path]) -> None:
    output, calls = traced(places, "sync_file_range:error=ENOSYS")
    assert output == ["durable", "durable"]
    assert len(re.findall(rf"fsync\(\d+<{places[2]}>\) += 0", calls)) == 2


def test_one_that_cannot_be_synced_is_an_error_whichever_it_is(descriptors: list[int]) -> None:
    ends = os.pipe()
    for place in range(len(descriptors) + 1):
        with pytest.raises(OSError, match="Invalid argument"):
            kernel.fsync_all(*descriptors[:place], ends[0], *descriptors[place:])
    for end in ends:
        os.close(end)
    kernel.fsync_all(*descriptors)


def test_more_than_are_asked_for_at_once_are_all_synced(descriptors: list[int]) -> None:
    ends = os.pipe()
    limit = kernel_aio.MAX_SYNCS
    many = (descriptors * limit)[: limit + 3]
    kernel.fsync_all(*many)
    for place in (0, 1, limit - 1, limit, limit + 1, len(many)):
        with pytest.raises(OSError, match="Invalid argument"):
            kernel.fsync_all(*many[:place], ends[1], *many[place:])
    for end in ends:
        os.close(end)


def test_threads_do_not_take_each_others_results(descriptors: list[int]) -> None:
    def sync(_: int) -> None:
        kernel.fsync_all(*descriptors)

    with ThreadPoolExecutor(8) as threads:
        assert len(list(threads.map(sync, range(200)))) == 200


def test_a_child_that_was_forked_has_its_own(descriptors: list[int]) -> None:
    kernel.fsync_all(*descriptors)
    child = os.fork()
    if child == 0:
        code = 1
        try:
            kernel.fsync_all(*descriptors)
            code = 0
        finally:
            os._exit(code)
    assert os.waitpid(child, 0)[1] == 0
    kernel.fsync_all(*descriptors)
