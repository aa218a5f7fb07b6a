import asyncio
import itertools
import sys
import threading
import time
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing, asynccontextmanager, suppress
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from mirrord.mirror import change_batches, watch_bursts
from mirrord.mirror import tree_watch as watching
from mirrord.mirror.tree_watch import watch
from tests.support.harness import eventually


class Watched:
    """What a watch told: paths, and how often it said "everywhere"."""

    def __init__(self) -> None:
        self.paths: set[str] = set()
        self.everywhere = 0
        self.problem: str | None = None
        self.news = asyncio.Condition()

    async def until(self, condition: Callable[["Watched"], bool]) -> None:
        async with asyncio.timeout(60), self.news:
            await self.news.wait_for(lambda: condition(self))

    async def collect(self, root: Path, stop: asyncio.Event, select: watching.Selection | None) -> None:
        async for batch in watch(root, stop, self.report, select=select):
            async with self.news:
                self.everywhere += batch is None
                self.paths |= batch or set()
                self.news.notify_all()

    def report(self, problem: str | None) -> None:
        self.problem = problem


@asynccontextmanager
async def watched(root: Path, select: watching.Selection | None = None) -> AsyncIterator[Watched]:
    stop, log = asyncio.Event(), Watched()
    task = asyncio.create_task(log.collect(root, stop, select))
    await log.until(lambda log: log.everywhere == 1)
    yield log
    stop.set()
    async with asyncio.timeout(30):
        await task


async def test_of_selected_directories_only_what_is_below_them_is_told_also_when_the_selection_changes(
    root: Path,
) -> None:
    for name in ("a", "b", "c"):
        (root / name).mkdir()
    selection = {"a", "b", "missing"}
    async with watched(root, lambda: frozenset(selection)) as log:
        (root / "c/Foreign.md").write_bytes(b"not told")
        (root / "b/Page.md").write_bytes(b"told")
        await log.until(lambda log: "b/Page.md" in log.paths)
        selection.add("c")
        await log.until(lambda log: log.everywhere == 2)
        (root / "c/Page.md").write_bytes(b"told")
        await log.until(lambda log: "c/Page.md" in log.paths)
        assert "c/Foreign.md" not in log.paths
        assert log.problem is None


async def test_a_selected_directory_that_is_replaced_or_comes_back_is_watched_again(root: Path) -> None:
    (root / "a").mkdir()
    async with watched(root, lambda: frozenset({"a", "b"})) as log:
        (root / "a").rename(root / "was-a")
        (root / "a").mkdir()
        (root / "b").mkdir()
        await log.until(lambda log: log.everywhere >= 2)
        for number in itertools.count():
            (root / f"a/{number}.md").write_bytes(b"x")
            (root / f"b/{number}.md").write_bytes(b"x")
            with suppress(TimeoutError):
                async with asyncio.timeout(0.5):
                    await log.until(lambda log: {path[:2] for path in log.paths} >= {"a/", "b/"})
                    break


async def test_a_live_watch_says_look_everywhere_and_then_names_paths(root: Path) -> None:
    async with watched(root) as log:
        (root / "A.md").write_bytes(b"alpha")
        await log.until(lambda log: "A.md" in log.paths)

        assert log.problem is None
        assert log.everywhere == 1


async def test_directories_made_with_files_in_them_are_announced(root: Path) -> None:
    async with watched(root) as log:
        for number in range(50):
            (root / f"{number}/b/c").mkdir(parents=True)
            (root / f"{number}/b/c/A.md").write_bytes(b"alpha")

        def covers_all(log: Watched) -> bool:
            return all(_covered(log.paths, f"{number}/b/c/A.md") for number in range(50))

        await log.until(covers_all)


def _covered(paths: set[str], path: str) -> bool:
    return any(path == known_path or path.startswith(f"{known_path}/") for known_path in paths)


async def test_a_name_that_is_not_utf_8_does_not_end_the_watch(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watching, "REWATCH_SECONDS", 0.01)
    async with watched(root) as log:
        (root / "caf\udce9.md").write_bytes(b"alpha")
        await log.until(lambda log: log.everywhere >= 3)  # given up, live again
        (root / "B.md").write_bytes(b"beta")
        await log.until(lambda log: "B.md" in log.paths)


async def test_a_root_that_goes_and_comes_back_is_watched_again(root: Path) -> None:
    async with watched(root) as log:
        root.rename(root.with_name("away"))
        await log.until(lambda log: log.problem is not None)
        assert log.problem is not None
        assert "missing" in log.problem

        looks_before = log.everywhere
        root.mkdir()
        await log.until(lambda log: log.everywhere > looks_before and log.problem is None)
        (root / "B.md").write_bytes(b"beta")
        await log.until(lambda log: "B.md" in log.paths)


async def test_a_root_swapped_for_another_is_watched_again(root: Path) -> None:
    other = root.with_name("other")
    other.mkdir()
    async with watched(root) as log:
        root.rename(root.with_name("away"))
        other.rename(root)
        await log.until(lambda log: log.everywhere >= 2)
        looks_before = log.everywhere
        (root / "B.md").write_bytes(b"beta")
        await log.until(lambda log: "B.md" in log.paths or log.everywhere > looks_before)


async def test_a_linked_directory_is_not_followed_but_the_real_ones_are_watched(root: Path, tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (root / "link").symlink_to(tmp_path / "outside")
    (root / "A/B").mkdir(parents=True)
    async with watched(root) as log:
        assert log.problem is not None
        assert "link is a symbolic link" in log.problem
        (tmp_path / "outside/secret.md").write_bytes(b"secret")
        (root / "A/B/C.md").write_bytes(b"gamma")
        await log.until(lambda log: "A/B/C.md" in log.paths)
        (root / "A/new").mkdir()
        await log.until(lambda log: log.everywhere >= 2)
        (root / "A/new/D.md").write_bytes(b"delta")
        await log.until(lambda log: "A/new/D.md" in log.paths)

        assert not any("secret" in path for path in log.paths)


async def test_too_many_paths_at_once_mean_everywhere(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watching, "MAX_BATCH_PATHS", 3)
    async with watched(root) as log:
        for number in range(200):
            (root / f"{number}.md").write_bytes(b"")
        await log.until(lambda log: log.everywhere >= 2)


async def test_what_is_told_need_not_wait_for_silence(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(change_batches, "SILENCE_SECONDS", 10)
    monkeypatch.setattr(change_batches, "MAX_BURST_SECONDS", 10)
    async with asyncio.timeout(60), aclosing(watch(root, asyncio.Event(), is_complete=lambda _: True)) as batches:
        assert await anext(batches) is None
        (root / "A.md").write_bytes(b"alpha")
        assert await anext(batches) == {"A.md"}


async def test_what_is_not_told_waits_for_what_comes_after_it(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(change_batches, "SILENCE_SECONDS", 0.5)
    monkeypatch.setattr(change_batches, "MAX_BURST_SECONDS", 5)
    (root / "t").mkdir()
    asking = threading.Event()

    def told(_: set[str]) -> bool:
        asking.set()
        return False

    async with asyncio.timeout(60), aclosing(watch(root, asyncio.Event(), is_complete=told)) as batches:
        assert await anext(batches) is None
        (root / "t/A.md").write_bytes(b"alpha")
        batch = asyncio.ensure_future(anext(batches))
        assert await asyncio.to_thread(asking.wait, 5)
        (root / "t/B.md").write_bytes(b"beta")
        assert await batch == {"t/A.md", "t/B.md"}


async def test_what_goes_on_in_one_tree_does_not_hold_up_another(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(change_batches, "SILENCE_SECONDS", 10)
    monkeypatch.setattr(change_batches, "MAX_BURST_SECONDS", 10)
    for tree in ("restless", "quiet"):
        (root / tree).mkdir()
    is_complete = partial(all_below, "quiet")
    async with asyncio.timeout(60), aclosing(watch(root, asyncio.Event(), is_complete=is_complete)) as batches:
        assert await anext(batches) is None
        (root / "restless/A.md").write_bytes(b"alpha")
        (root / "quiet/B.md").write_bytes(b"beta")
        assert await anext(batches) == {"quiet/B.md"}


def all_below(tree: str, paths: set[str]) -> bool:
    return all(path.startswith(f"{tree}/") for path in paths)


async def test_of_many_paths_nobody_is_asked(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(change_batches, "MAX_ASKED_PATHS", 0)
    async with asyncio.timeout(60), aclosing(watch(root, asyncio.Event(), is_complete=_fails)) as batches:
        assert await anext(batches) is None
        (root / "A.md").write_bytes(b"alpha")
        assert await anext(batches) == {"A.md"}


def _fails(_: set[str]) -> bool:
    raise AssertionError("asked")


async def test_a_watch_sleeps_until_something_happens(root: Path) -> None:
    async with watched(root) as log:
        (root / "A.md").write_bytes(b"alpha")
        await log.until(lambda log: "A.md" in log.paths)
        await asyncio.to_thread(eventually, lambda: _wakes_in(0.3) <= 10, "a watch that hardly wakes")
        (root / "B.md").write_bytes(b"beta")
        await log.until(lambda log: "B.md" in log.paths)


async def test_a_watch_that_no_signal_wakes_looks_around_by_itself(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watch_bursts, "_inotify_descriptors", list)
    async with watched(root) as log:
        (root / "A.md").write_bytes(b"alpha")
        await log.until(lambda log: "A.md" in log.paths)


async def test_two_watches_of_one_process_wake_each_its_own_thread(root: Path, tmp_path: Path) -> None:
    async with watched(root) as first, watched(tmp_path) as other:
        (root / "A.md").write_bytes(b"alpha")
        await first.until(lambda log: "A.md" in log.paths)
        (tmp_path / "B.md").write_bytes(b"beta")
        await other.until(lambda log: "B.md" in log.paths)


def _wakes_in(seconds: float) -> int:
    """How often the thread of a watch went on within *seconds*."""
    watching = next(thread for thread in threading.enumerate() if thread.name.startswith("mirrord-watch"))
    status = Path(f"/proc/self/task/{watching.native_id}/status")
    before = _switches(status)
    time.sleep(seconds)
    return _switches(status) - before


def _switches(status: Path) -> int:
    lines = status.read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("voluntary_ctxt_switches"))


async def test_a_watch_left_early_ends_its_thread(root: Path) -> None:
    async with aclosing(watch(root, asyncio.Event())) as batches:
        assert await anext(batches) is None
        threads = [thread for thread in threading.enumerate() if thread.name.startswith("mirrord-watch")]
    assert threads
    for thread in threads:
        await asyncio.to_thread(thread.join, 5)
        assert not thread.is_alive()


REFUSED = """
import asyncio, pathlib, sys
from mirrord.mirror.tree_watch import watch
async def main():
    stop = asyncio.Event()
    async for batch in watch(pathlib.Path(sys.argv[1]), stop, print):
        print(batch)
        stop.set()
asyncio.run(main())
"""


@pytest.mark.parametrize("limit", ["max_inotify_watches", "max_inotify_instances"])
async def test_a_system_that_refuses_to_watch_is_a_problem_not_an_end(root: Path, limit: str) -> None:
    for number in range(5):
        (root / str(number)).mkdir()
    limited = f'echo {2 if limit.endswith("watches") else 0} > /proc/sys/user/{limit} && exec "$@"'
    unshare = ["unshare", "-U", "-r", "sh", "-c", limited, "sh"]

    process = await asyncio.create_subprocess_exec(
        *unshare, sys.executable, "-c", REFUSED, str(root), stdout=-1, stderr=-1
    )
    out, err = await process.communicate()
    if b"unshare" in err:
        pytest.skip("user namespaces are refused here")
    assert b"cannot be watched" in out
    assert b"None" in out


CLOSED = """
import asyncio, os, pathlib, sys
from mirrord.mirror.tree_watch import watch
async def main():
    stop, root = asyncio.Event(), pathlib.Path(sys.argv[1])
    async for batch in watch(root, stop, print):
        if batch is None:
            (root / "open" / "A.md").write_bytes(b"alpha")
        elif "open/A.md" in batch:
            print("found")
            stop.set()
if os.geteuid() == 0:
    os.setresuid(65534, 65534, 65534)
asyncio.run(asyncio.wait_for(main(), 60))
"""


async def test_a_closed_directory_does_not_blind_the_watch() -> None:
    with TemporaryDirectory() as directory:
        root = Path(directory)
        for name, mode in (("", 0o777), ("open", 0o777), ("closed", 0)):
            (root / name).mkdir(exist_ok=True)
            (root / name).chmod(mode)
        process = await asyncio.create_subprocess_exec(sys.executable, "-c", CLOSED, directory, stdout=-1)
        out, _ = await process.communicate()
        (root / "closed").chmod(0o700)

    assert b"closed cannot be read" in out
    assert out.endswith(b"found\n")
