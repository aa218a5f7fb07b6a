"""How many rows of a list an answer holds: as many as fit, whatever they are, and one at least."""

from itertools import accumulate

from hypothesis import example, given
from hypothesis import strategies as st

from mirrord.commands.core.answer_budget import row_bytes, rows_bytes, take_rows
from mirrord.commands.pages.page_listing import ListedPage

ROWS = st.lists(
    st.one_of(
        st.builds(ListedPage, st.text(), st.text(), st.none() | st.text(), st.booleans(), st.text(max_size=36)),
        st.dictionaries(st.text(), st.integers() | st.text(), max_size=3),
    ),
    max_size=60,
)


@given(ROWS, st.integers(0, 70), st.integers(-1, 6_000))
@example([{"number": 2**70}] * 30, 30, 500)  # which is measured in another way
def test_a_list_holds_the_first_rows_that_fit_and_one_at_least(rows: list[object], limit: int, budget: int) -> None:
    fitting = take_rows(iter(rows), limit, budget)
    sizes = [*accumulate(map(row_bytes, rows[:limit]))]
    assert fitting == rows[: len(fitting)]
    assert len(fitting) == max(min(1, len(sizes)), sum(size <= budget for size in sizes))


@given(ROWS)
def test_rows_measured_together_take_what_they_take_alone(rows: list[object]) -> None:
    assert not rows or rows_bytes(rows) == sum(map(row_bytes, rows))
