"""Files displaced by a write: inspected, put back, kept, or handed over as a save."""

from dataclasses import dataclass

from mirrord.domain.entry import Digest
from mirrord.errors import Busy, Refused, Stale
from mirrord.mirror.tree import contained_files, kernel
from mirrord.mirror.tree.tenant_tree import Tree
from mirrord.mirror.tree.tree_layout import printable
from mirrord.mirror.write.journal import Journal
from mirrord.mirror.write.journal_labels import Label

WRITER_PATIENCE_SECONDS = 30.0  # seconds to wait for a program that still writes to a displaced file


@dataclass(frozen=True, slots=True)
class DisplacedSave:
    """
    A foreign save between our check and our write.

    name: in the journal, until the caller has stored the bytes and calls `journal.settle(name, keep=...)`.
    data: None: still open for writing; try again with `journal.leftovers()`.
    """

    name: str
    data: bytes | None


@dataclass(frozen=True, slots=True)
class WriteTarget:
    """The name to write, in its open directory."""

    tree: Tree
    path: str
    directory: int
    name: str


def move_aside(place: WriteTarget, journal: Journal, name: str) -> None:
    try:
        kernel.rename(place.directory, place.name, journal.descriptor, name)
    except FileNotFoundError:
        raise Stale(f"{printable(place.path)!r} is no longer there.") from None


def has_digest(journal: Journal, name: str, expected: Digest) -> bool:
    """Whether the file moved aside is the expected one, is readable, and has no writer now."""
    try:
        if not journal.is_file(name):
            return False
        with journal.open_file(name) as descriptor:
            return not kernel.has_writer(descriptor) and contained_files.digest_now(descriptor) == expected
    except OSError:
        return False  # the caller puts it back then


def put_back_or_keep(place: WriteTarget, journal: Journal, name: str) -> DisplacedSave:
    """Undo moving aside and raise Stale; if the name is taken again, keep and return the save."""
    if put_back(place, journal, name):
        raise Stale(f"{printable(place.path)!r} was saved meanwhile.")
    return _displaced_save(journal, name)


def put_back(place: WriteTarget, journal: Journal, name: str) -> bool:
    try:
        place.tree.rename_new(journal.descriptor, name, place.directory, place.name)
    except FileExistsError:
        return False
    sync_directories(place, journal)
    return True


def find_foreign_save(journal: Journal, label: Label, name: str) -> DisplacedSave | None:
    """The displaced file, if it is a foreign save; None: it is the file to be replaced."""
    with journal.open_file(name) as descriptor:
        if not contained_files.wait_for_writers(descriptor, WRITER_PATIENCE_SECONDS):
            return DisplacedSave(name, None)
        digest = contained_files.digest_now(descriptor)
    return None if digest == label.expected else _displaced_save(journal, name)


def _displaced_save(journal: Journal, name: str) -> DisplacedSave:
    try:
        return DisplacedSave(name, journal.read(name))
    except (Busy, Refused):
        return DisplacedSave(name, None)


def drop_if_equal(journal: Journal, name: str, ours: Digest) -> bool:
    if not journal.is_file(name):
        return False
    with journal.open_file(name) as descriptor:
        if contained_files.digest_now(descriptor) != ours:
            return False
    journal.dispose(name, keep=False)
    return True


def sync_directories(place: WriteTarget, journal: Journal, *also: int) -> None:
    """Make both directories of a rename durable, notes about it, and the descriptors *also*."""
    with place.tree.syncing_notes() as notes:
        kernel.fsync_all(place.directory, journal.descriptor, *notes, *also)
