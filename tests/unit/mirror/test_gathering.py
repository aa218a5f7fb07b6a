from hypothesis import given
from hypothesis import strategies as st

from mirrord.mirror.change_batches import MAX_ASKED_PATHS, MAX_BURST_SECONDS, SILENCE_SECONDS, Gathering

paths = st.builds("{}/{}.md".format, st.sampled_from("abc"), st.integers(0, 40))
moments = st.lists(st.tuples(st.floats(0, 0.02), st.sets(paths, min_size=1)), min_size=1)


def never(_: set[str]) -> bool:
    return False


def test_a_tree_is_handed_out_when_it_is_silent() -> None:
    gathering = Gathering(never)
    gathering.add(["a/1.md"], 0.0)
    gathering.add(["a/2.md"], 0.005)
    assert gathering.take_complete(SILENCE_SECONDS) == set()
    assert gathering.take_complete(0.005 + SILENCE_SECONDS) == {"a/1.md", "a/2.md"}
    assert gathering.seconds_left(1.0) is None


def test_a_tree_where_something_always_happens_is_handed_out_all_the_same() -> None:
    gathering, now = Gathering(never), 0.0
    while not (batch := gathering.take_complete(now)):
        gathering.add([f"a/{now}.md"], now)
        now += SILENCE_SECONDS / 2
    assert MAX_BURST_SECONDS <= now <= MAX_BURST_SECONDS + SILENCE_SECONDS
    assert len(batch) > 1


def test_what_is_told_is_handed_out_at_once_and_other_trees_wait() -> None:
    gathering = Gathering(lambda paths: paths == {"a/1.md"})
    gathering.add(["a/1.md", "b/1.md"], 0.0)
    assert gathering.take_complete(0.0) == {"a/1.md"}
    assert gathering.seconds_left(0.0) == SILENCE_SECONDS


def test_a_tree_of_which_one_path_is_not_told_waits_as_a_whole() -> None:
    gathering = Gathering(lambda paths: "a/2.md" not in paths)
    gathering.add(["a/2.md"], 0.0)
    assert gathering.take_complete(0.0) == set()
    gathering.add(["a/1.md"], 0.001)
    assert gathering.take_complete(0.001) == set()
    assert gathering.take_complete(0.001 + SILENCE_SECONDS) == {"a/1.md", "a/2.md"}


def test_of_many_paths_nobody_is_asked_whether_they_are_told() -> None:
    gathering = Gathering(lambda _: True)
    gathering.add([f"a/{number}.md" for number in range(MAX_ASKED_PATHS + 1)], 0.0)
    assert gathering.take_complete(0.0) == set()


@given(moments, st.sets(paths))
def test_whatever_was_added_is_handed_out_once_and_in_time(
    added: list[tuple[float, set[str]]], told_paths: set[str]
) -> None:
    gathering, now = Gathering(told_paths.issuperset), 0.0
    waits: dict[str, float] = {}
    for pause, paths in added:
        now += pause
        _take(gathering, now, waits)
        gathering.add(paths, now)
        for path in paths:
            waits.setdefault(path, now)
        _take(gathering, now, waits)
    _take(gathering, now + MAX_BURST_SECONDS, waits)
    assert not waits


def _take(gathering: Gathering, now: float, waits: dict[str, float]) -> None:
    """Take what is whole; nothing waited longer than it may, and nothing is handed out that does not wait."""
    for path in gathering.take_complete(now):
        del waits[path]
    seconds = gathering.seconds_left(now)
    assert (seconds is None) == (not waits)
    assert all(now - since < MAX_BURST_SECONDS for since in waits.values())
