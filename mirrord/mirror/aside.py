"""What a write took out of its place: looked at, given back, kept, or handed over as somebody's save."""

from dataclasses import dataclass

from mirrord.domain.entry import Digest
from mirrord.errors import Busy, Refused, Stale
from mirrord.mirror import contents, kernel
from mirrord.mirror.journal import Journal
from mirrord.mirror.label import Label
from mirrord.mirror.layout import printable
from mirrord.mirror.tree import Tree

WRITER_PATIENCE = 30.0  # seconds to wait for a program that still writes to a displaced file


@dataclass(frozen=True, slots=True)
class Displaced:
    """
    Somebody's save that came between our look and our write.

    name: in the journal, until the caller has taken the bytes in and calls `journal.settle(name, keep=...)`.
    data: None: still open for writing; look again with `journal.leftovers()`.
    """

    name: str
    data: bytes | None


@dataclass(frozen=True, slots=True)
class Place:
    """The name to be written, in its open directory."""

    tree: Tree
    path: str
    directory: int
    name: str


def move_aside(place: Place, journal: Journal, name: str) -> None:
    try:
        kernel.rename(place.directory, place.name, journal.descriptor, name)
    except FileNotFoundError:
        raise Stale(f"{printable(place.path)!r} is no longer there.") from None


def holds(journal: Journal, name: str, expected: Digest) -> bool:
    """Whether the file moved aside is the one expected, can be read, and nobody writes to it now."""
    try:
        if not journal.is_file(name):
            return False
        with journal.opened(name) as descriptor:
            return not kernel.has_writer(descriptor) and contents.digest_now(descriptor) == expected
    except OSError:
        return False  # so that it is put back, whatever it is


def give_back(place: Place, journal: Journal, name: str) -> Displaced:
    """Undo moving aside and raise Stale; where the name was taken again, keep and return the save."""
    if put_back(place, journal, name):
        raise Stale(f"{printable(place.path)!r} was saved meanwhile.")
    return _save(journal, name)


def put_back(place: Place, journal: Journal, name: str) -> bool:
    try:
        place.tree.rename_new(journal.descriptor, name, place.directory, place.name)
    except FileExistsError:
        return False
    sync(place, journal)
    return True


def displaced(journal: Journal, label: Label, name: str) -> Displaced | None:
    """The displaced file, if it is somebody's save; None: it is what was to be replaced."""
    with journal.opened(name) as descriptor:
        if not contents.wait_for_writers(descriptor, WRITER_PATIENCE):
            return Displaced(name, None)
        found = contents.digest_now(descriptor)
    return None if found == label.expected else _save(journal, name)


def _save(journal: Journal, name: str) -> Displaced:
    try:
        return Displaced(name, journal.read(name))
    except (Busy, Refused):
        return Displaced(name, None)


def drop_if(journal: Journal, name: str, ours: Digest) -> bool:
    if not journal.is_file(name):
        return False
    with journal.opened(name) as descriptor:
        if contents.digest_now(descriptor) != ours:
            return False
    journal.settle(name, keep=False)
    return True


def sync(place: Place, journal: Journal, *also: int) -> None:
    """Make durable where a file went, and what else these descriptors are of."""
    kernel.fsync_all(place.directory, journal.descriptor, *also)
