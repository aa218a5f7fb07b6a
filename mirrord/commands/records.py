"""Categories and collections where commands find them: read as files say, changed under the lock of all records."""

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Generic, TypeVar

from mirrord.codec.collections import category_of, category_text, collection_of, collection_text
from mirrord.codec.text import decode
from mirrord.commands.failure import Failed, Kind, explained
from mirrord.commands.session import Session
from mirrord.domain.collection import Category, Collection, in_order, key_of
from mirrord.domain.entry import Digest, digest_of
from mirrord.domain.record import name_of_record, record_path
from mirrord.errors import Busy, Damaged
from mirrord.mirror.card import LIMIT
from mirrord.mirror.journal import Journal
from mirrord.mirror.layout import parent_of
from mirrord.mirror.lock import RECORDS_PATIENCE, records_lock

V = TypeVar("V", Category, Collection)

_PROMISED: Mapping[str, Kind] = {  # by codes
    **dict.fromkeys(("BUSY", "CONFLICT"), "lock_error"),
    **dict.fromkeys(("UNAVAILABLE", "DISK_FULL", "REFUSED", "INVALID_PAGE"), "write_error"),
}
LONGEST_NAME = 60  # characters of one that is none, in a sentence
_NAMED = 20  # names in a sentence


@dataclass(frozen=True, slots=True)
class Shelf(Generic[V]):
    """
    All records of one kind.

    several: the plural of kind. read: what a file of that name says; write: the text of a file before, None if there is
    none, with what it is to say.
    """

    kind: str
    several: str
    read: Callable[[str, str], V]
    write: Callable[[str | None, V], str]

    def path(self, name: str) -> str:
        """The file of the record *name*, there or not."""
        return record_path(f"{self.kind}/{name}")


CATEGORIES = Shelf("category", "categories", category_of, category_text)
COLLECTIONS = Shelf("collection", "collections", collection_of, collection_text)


@dataclass(frozen=True, slots=True)
class Kept(Generic[V]):
    """A record as it is now."""

    path: str
    text: str
    digest: Digest
    value: V


@dataclass(frozen=True, slots=True)
class Broken:
    """A record that cannot be read. problem: why, with the line. is_busy: only because somebody is writing it."""

    name: str
    problem: str
    is_busy: bool = False


@contextmanager
def changing(session: Session) -> Iterator[Journal]:
    """
    The journal to change records with, while nobody else does, for the length of a `with`.

    What files refuse inside is a failure of one of the types agents were promised: `lock_error`, where somebody else is
    at it for two seconds or saves in between, else `write_error`.
    """
    end = time.monotonic() + RECORDS_PATIENCE
    try:
        with (
            explained(),
            session.writing(RECORDS_PATIENCE) as journal,
            records_lock(session.tree, max(end - time.monotonic(), 0.0)),
        ):
            yield journal
    except Failed as failed:
        raise _promised(failed) from failed
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError) as error:
        sentence = f"The file system refused: {error.strerror}."
        raise Failed("WRITE_ERROR", "write_error", sentence, "Look at `.records`, then try again.") from error


def _promised(failed: Failed) -> Failed:
    kind = _PROMISED.get(failed.code, failed.kind)
    return Failed(failed.code, kind, str(failed), failed.instruction, failed.facts)


def names(session: Session, shelf: Shelf[V]) -> list[str]:
    """What all records of that kind are called, readable or not, sorted by name."""
    try:
        with explained():
            found = session.tree.names(parent_of(shelf.path("x")))
    except (FileNotFoundError, NotADirectoryError):
        return []
    paths = {file: f"{parent_of(shelf.path('x'))}/{file}" for file, stat in found.items() if stat.is_file}
    kept = [name.partition("/")[2] for path in paths.values() if (name := name_of_record(path)) is not None]
    return sorted(kept, key=lambda name: (key_of(name), name))


def spelled(session: Session, shelf: Shelf[V], name: str) -> str | None:
    """How the record is called that *name* means, in whatever case; None: there is none."""
    known = names(session, shelf)
    return name if name in known else next((one for one in known if key_of(one) == key_of(name)), None)


def find(session: Session, shelf: Shelf[V], name: str) -> Kept[V]:
    """The record that *name* means. Raises Failed, NOT_FOUND, or UNREADABLE where somebody's edit left it broken."""
    with explained():
        found = spelled(session, shelf, name)
        kept = load(session, shelf, found) if found is not None else None
    if kept is None:
        raise _not_found(session, shelf, name)
    if isinstance(kept, Broken):
        raise unreadable(shelf, kept)
    return kept


def load(session: Session, shelf: Shelf[V], name: str) -> Kept[V] | Broken | None:
    """The record of exactly that name; None: it is gone."""
    path = shelf.path(name)
    try:
        data, _ = session.tree.read(path, LIMIT)
        text = decode(data)
        return Kept(path, text, digest_of(data), shelf.read(name, text))
    except FileNotFoundError:
        return None
    except (Damaged, Busy) as error:
        return Broken(name, str(error).rstrip("."), isinstance(error, Busy))


def every(session: Session, shelf: Shelf[V]) -> tuple[list[Kept[V]], list[Broken]]:
    """All records of that kind in the order of lists, and those that cannot be read."""
    with explained():
        loaded = [load(session, shelf, name) for name in names(session, shelf)]
    found = {one.value.name: one for one in loaded if isinstance(one, Kept)}
    broken = [one for one in loaded if isinstance(one, Broken)]
    return [found[name] for name in in_order(one.value for one in found.values())], broken


def unreadable(shelf: Shelf[V], broken: Broken) -> Failed:
    """A record that is not overwritten, because somebody is about to mend it."""
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
    known = names(session, shelf)
    return Failed(
        "NOT_FOUND",
        "not_found",
        f"There is no {shelf.kind} {name[:LONGEST_NAME]!r}.",
        listing(shelf, known, get_close_matches(name[:LONGEST_NAME], known, 3, 0.5)),
    )


def listing(shelf: Shelf[V], known: list[str], nearest: list[str]) -> str:
    """What there is instead, for an instruction."""
    meant = f"Did you mean {' or '.join(nearest)}? " if nearest else ""
    more = f" and {len(known) - _NAMED} more" if len(known) > _NAMED else ""
    there = f"There are: {', '.join(known[:_NAMED])}{more}." if known else f"There are no {shelf.several} yet."
    return f"{meant}{there}"
