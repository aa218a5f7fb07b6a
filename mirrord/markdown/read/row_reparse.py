"""
Read a long table again after an edit and parse only the rows that may have changed.

A row is one line. What it means depends on that line and on the first two lines of its table alone, which are read
together with the changed rows; whether a line ends the table depends on that line. Rows that fill missing cells have a
limit for all rows of a table, so a table that could meet it is read as a whole.
"""

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass

from markdown_it.token import Token

from mirrord.markdown.read.page_outline import Outline, splice_tokens
from mirrord.markdown.read.reader import read_block
from mirrord.markdown.schema.document import Node

_MAX_CELLS = 50_000  # of a table that is read by rows; markdown-it fills about 65,000 missing ones


@dataclass(frozen=True, slots=True)
class ChangedRows:
    """
    The rows of a table that an edit may have changed, with an unchanged one before and behind them.

    first, last: the numbers of those two, the header being 0. head: the first two lines of the table. start, end: where
    all of the rows are in the page before; last_start: the last.
    """

    first: int
    last: int
    head: str
    start: int
    last_start: int
    end: int


def find_changed_rows(page: Outline, index: int, node: Node, head: int, tail: int) -> ChangedRows | None:
    """
    The rows of the block *index*, which is *node*, that an edit of *page* may have changed; None: perhaps more.

    head, tail: how many characters of the page before and behind the edit did not change.
    """
    segment = page.segments[index]
    if node["type"] != "table" or segment.tokens is None:
        return None
    starts = _row_starts(page, index)
    if len(starts) != len(node["content"]) or len(starts) < 4:
        return None
    first = bisect_left(starts, head) - 2  # the whole row and the line ending behind it did not change
    last = bisect_left(starts, len(page.body) - tail)
    if first < 1 or last >= len(starts):
        return None
    end = starts[last + 1] if last + 1 < len(starts) else segment.end
    return ChangedRows(first, last, page.body[segment.start : starts[1]], starts[first], starts[last], end)


def _row_starts(page: Outline, index: int) -> Sequence[int]:
    tokens = page.segments[index].tokens or ()
    return page.token_starts(index, [token for token in tokens if token.type == "tr_open"])


def read_changed_rows(node: Node, rows: ChangedRows, now: Outline) -> Node | None:
    """
    The table *node* after an edit of *rows*; None if they are no longer what is between the others.

    now: the outline of the first two lines and of the new text between their start and end.
    """
    tokens = now.segments[0].tokens if len(now.segments) == 1 else None
    if not tokens or tokens[0].type != "table_open":
        return None
    starts, old, new = _row_starts(now, 0), node["content"], read_block(tokens)["content"]
    is_between = (
        len(starts) == len(new) > 2
        and starts[1] == len(rows.head)
        and len(now.body) - starts[-1] == rows.end - rows.last_start
    )
    ends = (new[0], new[1], new[-1]) if is_between else ()
    if ends != (old[0], old[rows.first], old[rows.last]):
        return None
    content = [*old[: rows.first + 1], *new[2:-1], *old[rows.last :]]
    return {**node, "content": content} if len(content) * len(old[0]["content"]) < _MAX_CELLS else None


def tokens_of_changed_rows(before: Outline, index: int, rows: ChangedRows, now: Outline) -> Sequence[Token] | None:
    """The tokens of that table after the edit; None: the whole page has to be parsed for them."""
    old, new = before.segments[index].tokens or (), now.segments[0].tokens or ()
    places, new_places = _row_places(old), _row_places(new)
    return splice_tokens(old, new, (places[rows.first], places[rows.last]), (new_places[1], new_places[-1]))


def _row_places(tokens: Sequence[Token]) -> Sequence[int]:
    return [at for at, token in enumerate(tokens) if token.type == "tr_open"]
