"""What an entry does by itself is bounded, and what others do is never counted."""

from collections.abc import Iterable
from dataclasses import replace
from itertools import cycle, islice
from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st

from mirrord.domain.entry import Digest, EntryId, Place, digest_of
from mirrord.sync.decisions.move_history import (
    MAX_FOLLOWED,
    MAX_LISTED_MOVES,
    MAX_OWN_MOVES,
    WINDOW_SECONDS,
    Direction,
    MoveHistories,
    MoveHistory,
    PlannedMove,
    ShownState,
    add_move,
    is_caused_by_others,
    is_over,
    without_last_move,
)

HERE = Place(None, "Page")
MANY = 5 * MAX_OWN_MOVES


def digest(number: int) -> Digest:
    return digest_of(str(number).encode())


def turn(
    way: Direction, file: int, row: int, *, at: float = 0.0, version: int = 1, foreign: bool = True
) -> PlannedMove:
    """One whose sides show texts that are told by numbers."""
    return PlannedMove(at, way, ShownState(digest(file), "Page.md"), ShownState(digest(row), HERE), version, foreign)


def taken(turns: Iterable[PlannedMove]) -> list[MoveHistory]:
    """The course after each turn."""
    courses = [MoveHistory()]
    for turn in turns:
        courses.append(add_move(courses[-1], turn))
    return courses[1:]


def first_stop(turns: Iterable[PlannedMove]) -> int | None:
    """How many turns were carried out before the entry was stopped."""
    return next((count for count, course in enumerate(taken(turns)) if course.is_stopped), None)


def ping_pong(seconds: float = 0.0) -> Iterable[PlannedMove]:
    """A formatter gives the file text 1, a trigger gives the row text 2."""
    ways = islice(cycle((Direction.TO_ROW, Direction.TO_FILE)), MANY)
    return [turn(way, 1, 2, at=number * seconds, version=number) for number, way in enumerate(ways)]


def test_what_is_merged_again_and_again_without_a_new_text_is_stopped() -> None:
    assert first_stop([turn(Direction.BOTH, 1, 2)] * MANY) == 1 + MAX_OWN_MOVES


def test_a_text_that_only_merges_make_is_nothing_new() -> None:
    merges = (turn(Direction.BOTH, 1, 2 + number) for number in range(MANY))
    assert first_stop(merges) == 1 + MAX_OWN_MOVES


def test_two_programs_that_change_each_others_text_are_stopped() -> None:
    assert first_stop(ping_pong()) == 1 + MAX_OWN_MOVES


def test_two_programs_that_do_so_seldom_are_not() -> None:
    assert first_stop(ping_pong(seconds=WINDOW_SECONDS / MAX_OWN_MOVES)) is None


def test_a_trigger_that_answers_every_write_of_ours_is_stopped() -> None:
    texts = islice(cycle((1, 2)), MANY)
    answers = (turn(Direction.TO_FILE, 3 - text, text, version=at, foreign=False) for at, text in enumerate(texts))
    assert first_stop(answers) == 1 + MAX_OWN_MOVES


def test_a_trigger_that_answers_with_a_new_text_each_time_is_stopped_too() -> None:
    answers = (turn(Direction.TO_FILE, text, text + 1, version=text, foreign=False) for text in range(MANY))
    assert first_stop(answers) == 1 + MAX_OWN_MOVES


def test_a_logger_is_never_stopped() -> None:
    assert first_stop(turn(Direction.TO_ROW, number + 1, number, at=number / 100) for number in range(MANY)) is None


def test_an_app_that_repeats_its_texts_is_never_stopped() -> None:
    texts = islice(cycle((1, 2)), MANY)
    toggled = (turn(Direction.TO_FILE, 3 - text, text, version=number) for number, text in enumerate(texts))
    assert first_stop(toggled) is None


def test_an_editor_that_repeats_its_texts_is_never_stopped() -> None:
    texts = islice(cycle((1, 2)), MANY)
    assert (
        first_stop(turn(Direction.TO_ROW, text, 3 - text, version=number) for number, text in enumerate(texts)) is None
    )


def test_a_stopped_entry_stays_so_however_long_it_is_looked_at() -> None:
    stopped = taken(ping_pong())[-1]
    later = turn(Direction.TO_ROW, 1, 2, at=10 * WINDOW_SECONDS)
    assert add_move(stopped, later).is_stopped == stopped.is_stopped
    assert len(stopped.moves) == MAX_LISTED_MOVES


def test_a_stopped_entry_goes_on_when_a_side_shows_something_new() -> None:
    stopped = taken(ping_pong())[-1]
    assert not add_move(stopped, turn(Direction.TO_ROW, 3, 2)).is_stopped
    assert not add_move(stopped, turn(Direction.TO_FILE, 1, 3)).is_stopped
    renamed = PlannedMove(
        0.0, Direction.TO_FILE, ShownState(digest(1), "Page.md"), ShownState(digest(2), Place(None, "Other"))
    )
    assert not add_move(stopped, renamed).is_stopped


WAYS = st.sampled_from(Direction)
SIDES = st.integers(0, 3)


@given(st.lists(st.tuples(WAYS, SIDES, SIDES, st.floats(0, WINDOW_SECONDS / 200)), max_size=200))
def test_a_finite_number_of_moves_follows_the_last_that_others_caused(
    acts: list[tuple[Direction, int, int, float]],
) -> None:
    """Whatever the sides show: of any moves within a minute that nobody else caused, at most so many are done."""
    at, course, carried_out = 0.0, MoveHistory(), 0
    for way, file, row, pause in acts:
        at += pause
        now = turn(way, file, row, at=at)
        caused = is_caused_by_others(course, now)
        course = add_move(course, now)
        carried_out = 0 if caused else carried_out + (not course.is_stopped)
        assert carried_out <= MAX_OWN_MOVES


@given(st.lists(st.tuples(WAYS, st.booleans()), max_size=200))
def test_a_new_text_of_the_file_is_never_counted(acts: list[tuple[Direction, bool]]) -> None:
    course = MoveHistory()
    for number, (way, foreign) in enumerate(acts):
        course = add_move(course, turn(way, 1000 + number, number % 2, version=number, foreign=foreign))
        assert course.own_move_times == ()
        assert not course.is_stopped


STOPPED_ENTRY = EntryId(UUID(int=0))


@given(
    st.lists(st.tuples(WAYS, SIDES, SIDES, st.floats(0, WINDOW_SECONDS / 2), st.booleans()), max_size=60), SIDES, SIDES
)
def test_a_history_that_is_over_judges_the_next_move_as_none_would(
    acts: list[tuple[Direction, int, int, float, bool]], file: int, row: int
) -> None:
    at, course = 0.0, MoveHistory()
    for way, file_text, row_text, pause, is_discounted in acts:
        at += pause
        course = add_move(course, turn(way, file_text, row_text, at=at))
        if is_discounted and not course.is_stopped:
            course = without_last_move(course)
    rested_at = at + WINDOW_SECONDS + 1
    next_move = turn(Direction.TO_ROW, file, row, at=rested_at)
    assert is_over(course, rested_at) is not course.is_stopped
    if is_over(course, rested_at):
        assert replace(add_move(course, next_move), moves=(next_move,)) == add_move(MoveHistory(), next_move)


def test_histories_that_are_over_are_forgotten_while_others_move() -> None:
    histories = MoveHistories()
    for number in range(1000):
        histories.add(EntryId(UUID(int=number)), turn(Direction.TO_ROW, number, 0, at=number))
    assert len(histories) <= WINDOW_SECONDS + 1


def test_a_stopped_entry_is_remembered_while_others_move() -> None:
    histories = MoveHistories()
    for planned in ping_pong():
        histories.add(STOPPED_ENTRY, planned)
    assert histories.history_of(STOPPED_ENTRY).is_stopped
    for number in range(1000):
        histories.add(EntryId(UUID(int=10 + number)), turn(Direction.TO_ROW, number, 0, at=1000.0 + number))
    assert histories.history_of(STOPPED_ENTRY).is_stopped
    assert len(histories) <= WINDOW_SECONDS + 2
    assert histories.forget_all() == [STOPPED_ENTRY]


def test_no_more_histories_are_remembered_than_the_limit() -> None:
    histories = MoveHistories()
    for number in range(MAX_FOLLOWED + 10):
        histories.add(EntryId(UUID(int=number)), turn(Direction.TO_ROW, number, 0))
    assert len(histories) == MAX_FOLLOWED
    assert not histories.history_of(EntryId(UUID(int=0))).moves
