"""Cursors of paged lists; each is meaningful only to the command that issued it."""

import base64
import hashlib
import json
from collections.abc import Sequence

from mirrord.commands.core.failure import Failed, invalid_argument


def cursor_of(question: str, path: str, number: int) -> str:
    """A cursor after *path*, the *number*-th answer to *question*."""
    values = json.dumps([_mark_of(question), path, number], ensure_ascii=False)
    return base64.urlsafe_b64encode(values.encode()).decode().rstrip("=")


def cursor_position(cursor: str, question: str) -> tuple[str, int]:
    """Path and number of a cursor. Raises Failed for a cursor of another question and for an invalid one."""
    try:
        mark, path, number = json.loads(base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)))
    except (ValueError, TypeError, RecursionError):
        raise invalid_cursor() from None
    if mark != _mark_of(question) or not isinstance(path, str) or type(number) is not int or number < 0:
        raise invalid_cursor()
    return path, number


def start_index(paths: Sequence[str], cursor: str | None, question: str) -> int:
    """Index at which the list *paths* continues: after the path of the cursor; if it is missing, at its number."""
    if cursor is None:
        return 0
    path, number = cursor_position(cursor, question)
    return next((index + 1 for index, candidate in enumerate(paths) if candidate == path), number)


def _mark_of(question: str) -> str:
    return hashlib.blake2b(question.encode("utf-8", "replace"), digest_size=6).hexdigest()


def invalid_cursor() -> Failed:
    """Failure for a cursor that is none, or belongs to another question."""
    return invalid_argument(
        "INVALID_CURSOR", "The cursor does not belong to this question.", "Ask again without a cursor, then go on."
    )
