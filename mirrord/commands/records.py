"""Files of categories and collections: read directly, changed under the lock of all records."""

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Generic, TypeVar

from mirrord.codec.collections import category_of, category_text, collection_of, collection_text
from mirrord.codec.text import decode
from mirrord.commands.failure import Failed, Kind, translating_errors
from mirrord.commands.session import Session
from mirrord.domain.collection import Category, Collection, key_of, sorted_names
from mirrord.domain.entry import Digest, digest_of
from mirrord.domain.record import name_of_record, record_path
from mirrord.errors import Busy, Damaged
from mirrord.mirror.card import MAX_PAGE_BYTES
from mirrord.mirror.journal import Journal
from mirrord.mirror.layout import parent_of
from mirrord.mirror.lock import RECORDS_LOCK_SECONDS, records_lock

V = TypeVar("V", Category, Collection)

_PROMISED: Mapping[str, Kind] = {  # by codes
    **dict.fromkeys(("BUSY", "CONFLICT"), "lock_error"),
    **dict.fromkeys(("UNAVAILABLE", "DISK_FULL", "REFUSED", "INVALID_PAGE"), "write_error"),
}
MAX_QUOTED_CHARACTERS = 60  # characters of an unknown name in a sentence
_MAX_NAMES = 20  # names in a sentence


@dataclass(frozen=True, slots=True)
class Shelf(Generic[V]):
    """
    All records of one kind.

    plural: the plural of kind. read: parses a file, given name and text. write: renders a value into the old text of
    a file; None for a new file.
    """

    kind: str
    plural: str
    read: Callable[[str, str], V]
    write: Callable[[str | None, V], str]

    def path(self, name: str) -> str:
        """Path of the file of the record *name*, which need not exist."""
        return record_path(f"{self.kind}/{name}")


CATEGORIES = Shelf("category", "categories", category_of, category_text)
COLLECTIONS = Shelf("collection", "collections", collection_of, collection_text)


@dataclass(frozen=True, slots=True)
class StoredRecord(Generic[V]):
    """A readable record in its current state."""

    path: str
    text: str
    digest: Digest
    value: V


@dataclass(frozen=True, slots=True)
class UnreadableRecord:
    """An unreadable record. problem: the reason, with the line. is_busy: it is only being written."""

    name: str
    problem: str
    is_busy: bool = False


@contextmanager
def changing_records(session: Session) -> Iterator[Journal]:
    """
    Hold the lock of all records within a `with` block; yields the journal for changes.

    File errors inside are raised as the documented tool errors: `lock_error` if another program holds the lock for
    two seconds or saves in between, else `write_error`.
    """
    end = time.monotonic() + RECORDS_LOCK_SECONDS
    try:
        with (
            translating_errors(),
            session.writing(RECORDS_LOCK_SECONDS) as journal,
            records_lock(session.tree, max(end - time.monotonic(), 0.0)),
        ):
            yield journal
    except Failed as failed:
        raise _to_promised(failed) from failed
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError) as error:
        sentence = f"The file system refused: {error.strerror}."
        raise Failed("WRITE_ERROR", "write_error", sentence, "Look at `.records`, then try again.") from error


def _to_promised(failed: Failed) -> Failed:
    kind = _PROMISED.get(failed.code, failed.kind)
    return Failed(failed.code, kind, str(failed), failed.instruction, failed.facts)


def list_names(session: Session, shelf: Shelf[V]) -> list[str]:
    """Names of all records of this kind, readable or not, sorted."""
    try:
        with translating_errors():
            stats = session.tree.list_stats(parent_of(shelf.path("x")))
    except (FileNotFoundError, NotADirectoryError):
        return []
    paths = {file: f"{parent_of(shelf.path('x'))}/{file}" for file, stat in stats.items() if stat.is_file}
    record_names = [name.partition("/")[2] for path in paths.values() if (name := name_of_record(path)) is not None]
    return sorted(record_names, key=lambda name: (key_of(name), name))


def find_spelling(session: Session, shelf: Shelf[V], name: str) -> str | None:
    """The spelling of the record *name*, ignoring case, or None."""
    existing = list_names(session, shelf)
    return (
        name
        if name in existing
        else next((candidate for candidate in existing if key_of(candidate) == key_of(name)), None)
    )


def find_record(session: Session, shelf: Shelf[V], name: str) -> StoredRecord[V]:
    """The record *name*, ignoring case. Raises Failed, NOT_FOUND, or UNREADABLE for a record broken by an edit."""
    with translating_errors():
        spelling = find_spelling(session, shelf, name)
        record = load_record(session, shelf, spelling) if spelling is not None else None
    if record is None:
        raise _not_found(session, shelf, name)
    if isinstance(record, UnreadableRecord):
        raise unreadable_record(shelf, record)
    return record


def load_record(session: Session, shelf: Shelf[V], name: str) -> StoredRecord[V] | UnreadableRecord | None:
    """The record with exactly this name, or None."""
    path = shelf.path(name)
    try:
        data, _ = session.tree.read(path, MAX_PAGE_BYTES)
        text = decode(data)
        return StoredRecord(path, text, digest_of(data), shelf.read(name, text))
    except FileNotFoundError:
        return None
    except (Damaged, Busy) as error:
        return UnreadableRecord(name, str(error).rstrip("."), isinstance(error, Busy))


def load_records(session: Session, shelf: Shelf[V]) -> tuple[list[StoredRecord[V]], list[UnreadableRecord]]:
    """All records of this kind in list order, and the unreadable ones."""
    with translating_errors():
        loaded = [load_record(session, shelf, name) for name in list_names(session, shelf)]
    readable = {record.value.name: record for record in loaded if isinstance(record, StoredRecord)}
    broken = [record for record in loaded if isinstance(record, UnreadableRecord)]
    return [readable[name] for name in sorted_names(record.value for record in readable.values())], broken


def unreadable_record(shelf: Shelf[V], broken: UnreadableRecord) -> Failed:
    """Failure for an unreadable record, which is not overwritten because a person has to mend it."""
    path = shelf.path(broken.name)
    if broken.is_busy:
        return Failed("BUSY", "lock_error", f"{broken.problem}.", "Try again in a moment.", {"path": path})
    return Failed(
        "UNREADABLE",
        "write_error",
        f"The {shelf.kind} {broken.name} cannot be read: {path}, {broken.problem}.",
        f"Ask the person to mend that line of {path}; the file is not overwritten.",
        {"path": path},
    )


def _not_found(session: Session, shelf: Shelf[V], name: str) -> Failed:
    existing = list_names(session, shelf)
    return Failed(
        "NOT_FOUND",
        "not_found",
        f"There is no {shelf.kind} {name[:MAX_QUOTED_CHARACTERS]!r}.",
        existing_names(shelf, existing, get_close_matches(name[:MAX_QUOTED_CHARACTERS], existing, 3, 0.5)),
    )


def existing_names(shelf: Shelf[V], existing: list[str], nearest: list[str]) -> str:
    """Instruction that lists the existing records."""
    suggestion = f"Did you mean {' or '.join(nearest)}? " if nearest else ""
    remainder = f" and {len(existing) - _MAX_NAMES} more" if len(existing) > _MAX_NAMES else ""
    overview = (
        f"There are: {', '.join(existing[:_MAX_NAMES])}{remainder}."
        if existing
        else f"There are no {shelf.plural} yet."
    )
    return f"{suggestion}{overview}"
