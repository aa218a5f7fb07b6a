"""Where a list goes on: a text that means something only to the command that gave it."""

import base64
import hashlib
import json
from collections.abc import Sequence

from mirrord.commands.failure import Failed, invalid


def cursor_of(question: str, path: str, number: int) -> str:
    """A cursor behind *path*, which was the *number*-th answer to *question*."""
    values = json.dumps([_mark(question), path, number], ensure_ascii=False)
    return base64.urlsafe_b64encode(values.encode()).decode().rstrip("=")


def place_of(cursor: str, question: str) -> tuple[str, int]:
    """The path and the number a cursor was made of. Raises Failed if it was made for another question, or by nobody."""
    try:
        mark, path, number = json.loads(base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)))
    except (ValueError, TypeError, RecursionError):
        raise _unknown() from None
    if mark != _mark(question) or not isinstance(path, str) or type(number) is not int or number < 0:
        raise _unknown()
    return path, number


def start_of(paths: Sequence[str], cursor: str | None, question: str) -> int:
    """Where a list of what is at *paths* goes on: behind the one a cursor names; if that is gone, at its number."""
    if cursor is None:
        return 0
    path, number = place_of(cursor, question)
    return next((at + 1 for at, one in enumerate(paths) if one == path), number)


def _mark(question: str) -> str:
    return hashlib.blake2b(question.encode("utf-8", "replace"), digest_size=6).hexdigest()


def _unknown() -> Failed:
    return invalid(
        "INVALID_CURSOR", "The cursor does not belong to this question.", "Ask again without a cursor, then go on."
    )
