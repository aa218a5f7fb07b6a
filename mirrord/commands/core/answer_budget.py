"""How much of a long list an answer holds: a number of items if the caller names one, else what fits in 4 KB."""

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TypeVar

from mirrord.commands.core.failure import invalid_argument

T = TypeVar("T")

ANSWER_BYTES = 4_096  # of JSON, unless the caller names a limit
MAX_RESULTS = 100  # items of one answer
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


def json_bytes(*values: object) -> int:
    """The bytes of *values* as JSON."""
    return sum(len(json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()) for value in values)


def check_limit(limit: int | None) -> None:
    """Raises Failed for a limit that no answer has."""
    if limit is not None and not 1 <= limit <= MAX_RESULTS:
        raise invalid_argument(
            "INVALID_LIMIT", f"The limit is a number from 1 to {MAX_RESULTS}.", "Use the cursor for more."
        )
