"""How much of a long list an answer holds: a number of items if the caller names one, else what fits in 4 or 8 KB."""

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, is_dataclass
from itertools import accumulate, islice, takewhile
from typing import TypeVar

import orjson

from mirrord.commands.core.failure import invalid_argument

T = TypeVar("T")

ANSWER_BYTES = 4_096  # of JSON of ranked results, unless the caller names a limit
LIST_BYTES = 7_500  # of JSON of the rows of a list in an order of its own, which with the rest take 8 KB
MAX_RESULTS = 100  # items of one answer
_ROWS_AT_ONCE = 25  # rows that are measured together
_FRAME_BYTES = 260  # around the items: keys, counts, a cursor's own text


@dataclass(frozen=True, slots=True)
class AnswerPart:
    """
    Which part of all results an answer holds, and what it tells of the whole.

    limit: of results, up to MAX_RESULTS; None: as fit in ANSWER_BYTES. cursor: from an answer to the same question, to
    continue it; None: from the beginning. facets: count those of all results, in the first answer.
    """

    limit: int | None = None
    cursor: str | None = None
    facets: bool = False

    @property
    def counts_facets(self) -> bool:
        """Whether this answer has facets."""
        return self.facets and self.cursor is None


FIRST_PART = AnswerPart()


def take_fitting(
    items: Iterable[T], limit: int | None, size_of: Callable[[T], int], taken_bytes: int = 0
) -> tuple[list[T], bool]:
    """
    The first of *items*, at least one of them, and whether more follow.

    size_of: the bytes of an item as JSON. taken_bytes: of the answer's other parts.
    """
    fitting, size = list[T](), _FRAME_BYTES + taken_bytes
    for item in items:
        size += size_of(item)
        is_over = size > ANSWER_BYTES and limit is None and fitting
        if is_over or len(fitting) >= (MAX_RESULTS if limit is None else limit):
            return fitting, True
        fitting.append(item)
    return fitting, False


def take_rows(rows: Iterable[T], limit: int | None, budget_bytes: int = LIST_BYTES) -> list[T]:
    """The first of *rows*, dataclasses or JSON, that a list holds: at least one, up to *limit*. None: all."""
    if limit is None:
        return [*rows]
    fitting, left_rows = list[T](), islice(rows, limit)
    while some_rows := list(islice(left_rows, _ROWS_AT_ONCE)):
        size = rows_bytes(some_rows)
        if size > budget_bytes:
            return fitting + _take_one_by_one(some_rows, budget_bytes, minimum=0 if fitting else 1)
        budget_bytes -= size
        fitting += some_rows
    return fitting


def _take_one_by_one(rows: Sequence[T], budget_bytes: int, *, minimum: int) -> list[T]:
    sizes = accumulate(map(row_bytes, rows))
    return [*rows[: max(minimum, sum(1 for _ in takewhile(lambda size: size <= budget_bytes, sizes)))]]


def rows_bytes(rows: Sequence[object]) -> int:
    """The bytes of rows of a list as JSON, each with its comma."""
    try:
        return len(orjson.dumps(rows)) - 1
    except TypeError:
        return sum(map(row_bytes, rows))


def row_bytes(row: object) -> int:
    """The bytes of a row of a list as JSON, with its comma."""
    try:
        return len(orjson.dumps(row)) + 1  # of a dataclass, too
    except TypeError:  # a number of more than 64 bits, or a key that is no text
        return json_bytes(asdict(row) if is_dataclass(row) and not isinstance(row, type) else row) + 1


def json_bytes(*values: object) -> int:
    """The bytes of *values* as JSON."""
    return sum(len(json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()) for value in values)


def check_limit(limit: int | None) -> None:
    """Raises Failed for a limit that no answer has."""
    if limit is not None and not 1 <= limit <= MAX_RESULTS:
        raise invalid_argument(
            "INVALID_LIMIT", f"The limit is a number from 1 to {MAX_RESULTS}.", "Use the cursor for more."
        )
