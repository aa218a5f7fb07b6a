"""The coalescing queue."""

import asyncio
import time
from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st

from mirrord.domain.entry import EntryId
from mirrord.mirror.tree.tree_layout import by_depth
from mirrord.sync.observation.observe import Dirty
from mirrord.sync.work_queue import Queue

ONE, OTHER = EntryId(UUID(int=1)), EntryId(UUID(int=2))
SOON = 0.02  # seconds
PATHS = st.frozensets(st.text("ab/", min_size=1, max_size=5), max_size=8)


def test_marks_of_one_place_become_one() -> None:
    queue = Queue()
    queue.mark({"a.md"}, {ONE})
    queue.mark({"a.md", "b.md"}, {ONE, OTHER})
    assert len(queue) == 4
    assert queue.take_marks(100) == Dirty(frozenset({"a.md", "b.md"}), frozenset({ONE, OTHER}))


def test_taking_empties_the_queue() -> None:
    queue = Queue()
    queue.mark({"a.md"}, {ONE}, forced=True)
    queue.take_marks(100)
    assert (len(queue), queue.is_ready) == (0, False)
    assert queue.take_marks(100) == Dirty()


def test_a_forced_mark_stays_forced_when_a_mere_hint_joins_it() -> None:
    queue = Queue()
    queue.mark({"a.md"}, forced=True)
    queue.mark({"a.md", "b.md"})
    assert queue.take_marks(100).forced == {"a.md"}
    queue.mark({"a.md"})
    assert queue.take_marks(100).forced == frozenset()


@given(PATHS, st.integers(1, 4))
def test_everything_is_taken_once_in_portions_parents_first(paths: frozenset[str], limit: int) -> None:
    queue = Queue()
    queue.mark(paths, forced=True)
    taken_paths: list[str] = []
    while queue.is_ready:
        portion = queue.take_marks(limit)
        assert portion.paths == portion.forced
        assert 0 < len(portion.paths) <= limit
        taken_paths += sorted(portion.paths, key=lambda path: path.count("/"))
    assert sorted(taken_paths) == sorted(paths)
    depths = [path.count("/") for path in taken_paths]
    assert depths == sorted(depths)


def test_entries_are_taken_in_portions_too() -> None:
    queue = Queue()
    queue.mark(entries={EntryId(UUID(int=number)) for number in range(10)})
    assert [len(queue.take_marks(4).entries) for _ in range(4)] == [4, 4, 2, 0]


def test_what_is_put_back_is_read_again() -> None:
    queue = Queue()
    queue.mark({"a.md"}, {ONE})
    queue.put_back(queue.take_marks(100))
    assert queue.take_marks(100) == Dirty(frozenset({"a.md"}), frozenset({ONE}), frozenset({"a.md"}))


async def test_a_delayed_mark_counts_at_once_and_is_taken_when_it_is_due() -> None:
    queue = Queue()
    begin = time.monotonic()
    queue.mark({"late.md"}, delay=SOON, forced=True)
    assert (len(queue), queue.is_ready) == (1, False)
    while not queue.is_ready:
        await queue.wait(5)
    assert time.monotonic() - begin >= SOON
    assert queue.take_marks(100) == Dirty(frozenset({"late.md"}), forced=frozenset({"late.md"}))
    assert len(queue) == 0


async def test_delayed_marks_come_in_the_order_of_their_time() -> None:
    queue = Queue()
    queue.mark({"second.md"}, delay=SOON)
    queue.mark({"third.md"}, delay=60)
    queue.mark({"first.md"}, delay=SOON / 4)
    order: list[str] = []
    while len(queue) > 1:
        await queue.wait(5)
        order += sorted(queue.take_marks(100).paths)  # on a busy machine both are due at once
    assert order == ["first.md", "second.md"]


async def test_waiting_ends_with_a_mark() -> None:
    queue = Queue()
    waiting = asyncio.ensure_future(queue.wait(60))
    await asyncio.sleep(0)
    queue.mark({"a.md"})
    await asyncio.wait_for(waiting, 30)
    assert queue.is_ready


async def test_a_mark_made_before_waiting_is_not_waited_for() -> None:
    queue = Queue()
    queue.mark({"a.md"})
    await asyncio.wait_for(queue.wait(60), 30)
    assert queue.is_ready


async def test_waiting_ends_when_its_time_is_over() -> None:
    queue = Queue()
    await asyncio.wait_for(queue.wait(SOON), 30)
    assert not queue.is_ready


def test_the_time_of_a_change_is_told_once_and_the_first_notice_counts() -> None:
    queue = Queue()
    queue.mark({"a.md"}, noticed=1.0)
    queue.mark({"a.md"}, {ONE}, noticed=2.0)
    assert (queue.pop_notice_time("a.md"), queue.pop_notice_time(ONE)) == (1.0, 2.0)
    assert (queue.pop_notice_time("a.md"), queue.pop_notice_time(ONE)) == (None, None)


def test_a_place_that_is_marked_again_keeps_the_time_of_its_change_and_others_lose_it() -> None:
    queue = Queue()
    queue.mark({"echo.md", "again.md", "later.md"}, {ONE}, noticed=1.0)
    marks = queue.take_marks(100)
    queue.mark({"again.md"}, forced=True)
    queue.mark({"later.md"}, {ONE}, delay=1000)
    queue.forget_times(marks)
    times = [queue.pop_notice_time(place) for place in ("echo.md", "again.md", "later.md", ONE)]
    assert times == [None, 1.0, 1.0, 1.0]


def test_what_a_scan_found_is_not_measured() -> None:
    queue = Queue()
    queue.mark({"a.md"}, {ONE}, forced=True)
    assert (queue.pop_notice_time("a.md"), queue.pop_notice_time(ONE)) == (None, None)


@given(st.lists(st.tuples(st.frozensets(st.text("ab/", min_size=1, max_size=4), max_size=9), st.integers(1, 4))))
def test_chunks_come_parents_first_and_each_place_once_for_each_time_it_was_marked(
    marks: list[tuple[frozenset[str], int]],
) -> None:
    queue, waiting = Queue(), set[str]()
    for paths, limit in marks:
        queue.mark(paths)
        waiting |= paths
        taken_paths = queue.take_marks(limit).paths
        first = sorted(waiting, key=by_depth)[:limit]
        assert sorted(taken_paths, key=by_depth) == first
        waiting -= taken_paths
    assert queue.take_marks(1000).paths == waiting


async def test_what_waits_is_looked_at_where_it_is_now_too() -> None:
    queue = Queue()
    queue.mark({"Box/a.md"}, {ONE}, forced=True)
    queue.mark({"Box", "Boxes/b.md", "c.md"})
    queue.mark({"Box/In/d.md", "e.md"}, {OTHER}, forced=True, delay=SOON)
    queue.mark_renamed({"Box": "Crate", "Box/In": "In", "e.md": "f.md"})
    now = queue.take_marks(100)
    assert now.paths == {"Box/a.md", "Crate/a.md", "Box", "Crate", "Boxes/b.md", "c.md"}
    assert now.forced == {"Box/a.md", "Crate/a.md"}
    while not queue.is_ready:
        await queue.wait(5)
    later = frozenset({"Box/In/d.md", "In/d.md", "e.md", "f.md"})
    assert queue.take_marks(100) == Dirty(later, frozenset({OTHER}), later)


def test_what_waits_with_an_entry_comes_with_it_and_waits_no_more() -> None:
    queue = Queue()
    queue.mark({"a.md"}, {ONE}, forced=True, delay=60)
    queue.mark({"ab.md"}, {ONE, OTHER}, delay=60)
    queue.mark({"b.md"}, {OTHER}, forced=True, delay=60)
    queue.mark({"c.md"}, delay=60)
    queue.mark(entries={ONE})
    assert queue.take_marks(100) == Dirty(frozenset({"a.md", "ab.md"}), frozenset({ONE}), frozenset({"a.md"}))
    assert len(queue) == 6  # a.md and its entry are not waited for any more
    queue.mark(entries={OTHER})
    assert queue.take_marks(100).paths == {"ab.md", "b.md"}
