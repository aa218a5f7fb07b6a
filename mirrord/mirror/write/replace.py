"""
Replaces, creates and removes files so that no concurrent save is lost.

Editors take no lock, so a check before a rename may be wrong after it. The displaced file is therefore verified
afterwards: if it is not the expected one, it is a foreign save, and the caller gets it.
"""

import os
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass

from mirrord.domain.entry import Digest, EntryId, digest_of
from mirrord.errors import Refused, Stale
from mirrord.mirror.tree import contained_files, file_access, kernel
from mirrord.mirror.tree.kernel import Stat, stat_of
from mirrord.mirror.tree.replaced_file import Replaced
from mirrord.mirror.tree.tenant_tree import Tree, check_entry
from mirrord.mirror.tree.tree_layout import name_of, parent_of, printable
from mirrord.mirror.write import displaced_files, trash
from mirrord.mirror.write.displaced_files import DisplacedSave, WriteTarget
from mirrord.mirror.write.journal import Journal
from mirrord.mirror.write.journal_labels import Label, label_of, new_name

__all__ = [
    "AlsoSync",
    "DisplacedSave",
    "ExpectedFile",
    "Removal",
    "Written",
    "remove",
    "retract",
    "sync_nothing_else",
    "write",
]

AlsoSync = Callable[[], Sequence[int]]  # see write()


@dataclass(frozen=True, slots=True)
class Written:
    """
    The result of a write.

    stat: of the file with the new text; None: it changed again already, or never got there; look again.
    displaced: a save to store, based on the replaced text.
    """

    stat: Stat | None
    displaced: DisplacedSave | None = None


@dataclass(frozen=True, slots=True)
class ExpectedFile:
    """
    The file that has to be in place.

    entry: what it is a file of. digest: of its bytes; None: there must be none. stat: its stat when it had that digest;
    as long as it is the same, the file is not read beforehand.
    """

    entry: EntryId
    digest: Digest | None
    stat: Stat | None = None


@dataclass(frozen=True, slots=True)
class Removal:
    """Why a file goes to the trash, for its card there. key: the last part of its name there; None: a random one."""

    reason: str
    title: str | None = None
    key: str | None = None


def sync_nothing_else() -> Sequence[int]:
    """The default for *beside*: no further descriptors."""
    return ()


def write(
    tree: Tree,
    journal: Journal,
    path: str,
    data: bytes,
    expected: ExpectedFile,
    also_sync: AlsoSync = sync_nothing_else,
) -> Written:
    """
    Make *data* the whole content of the file at *path*, whose directory exists.

    A new file gets the mode 0660 less the umask, a replaced one keeps its own.

    also_sync: called once the text is in place without displacing a foreign save; returns descriptors to sync with it:
    a journaling file system makes one transaction of all concurrent syncs.

    Raises:
        Stale: the file is not the expected one any more; nothing was changed.
        Busy: the file has a writer; nothing was changed.
        Refused: not a regular file, or a user would lose write access to it.
        FileNotFoundError: the directory does not exist.
        OSError: disk full, fsync failed and the like; the file in place is whole, old or new.
    """
    check_entry(path)
    label = Label(expected.entry, expected.digest, digest_of(data))
    if _is_first_text(tree, path, data, expected, label):
        kernel.fsync_all(*also_sync())
        return Written(None)
    tree.claim_with_next_syncs(path, len(data))  # with the new text, and with its place
    with tree.open_directory(parent_of(path)) as directory:
        place = WriteTarget(tree, path, directory, name_of(path))
        if expected.digest is None:
            return _create(place, journal, label, data, also_sync)
        return _replace(place, journal, label, data, expected.stat, also_sync)


def _is_first_text(tree: Tree, path: str, data: bytes, expected: ExpectedFile, label: Label) -> bool:
    """Whether it is the first text that a draft has at *path*, which is there now: no program but this changes it."""
    if tree.lower is None or expected.digest is None or expected.stat is None or label.new is None:
        return False
    replaced = Replaced(expected.digest, expected.stat, new_name("w", label), label.new)
    return tree.write_first_text(path, data, replaced)


def retract(tree: Tree, journal: Journal, path: str, save: DisplacedSave, *, ours: Digest) -> bool:
    """
    Put a displaced save back in its place and drop our text that was there.

    False: the file in place is not *ours* but a further save. Nothing is dropped then: the other save is in the
    journal, and swapping ends.
    """
    check_entry(path)
    with tree.open_directory(parent_of(path)) as directory:
        place = WriteTarget(tree, path, directory, name_of(path))
        if not tree.can_exchange:
            return _retract_stepwise(place, journal, save, ours)
        kernel.exchange(journal.descriptor, save.name, directory, place.name)
        displaced_files.sync_directories(place, journal)
        return displaced_files.drop_if_equal(journal, save.name, ours)


def remove(tree: Tree, journal: Journal, path: str, expected: ExpectedFile, removal: Removal) -> DisplacedSave | None:
    """
    Move the file at *path* to the trash, if it is still the expected one.

    Returns a save that came in between and could not be put back, because its name was taken again.

    Raises:
        Stale: the file is another one, or gone; a file in place is untouched or put back.
        Busy: the file has a writer; it stays.
    """
    check_entry(path)
    tree.claim(path)
    assert expected.digest is not None
    label = Label(expected.entry, expected.digest, None)
    with ExitStack() as stack:
        place = WriteTarget(tree, path, stack.enter_context(tree.open_directory(parent_of(path))), name_of(path))
        _open_expected(stack, place, expected.digest)
        name = stack.enter_context(journal.set_aside(label, None, removal.key))
        displaced_files.move_aside(place, journal, name)
        if not displaced_files.has_digest(journal, name, expected.digest):
            return displaced_files.put_back_or_keep(place, journal, name)
        try:
            trash.write_card(tree, name, label, trash.TrashCard(path, removal.title, removal.reason, time.time()))
        except (OSError, Refused):
            displaced_files.put_back(place, journal, name)
            raise
        journal.dispose(name, keep=True)
        trash.sync_trash(tree)  # durable in the trash before it leaves the journal durably
        displaced_files.sync_directories(place, journal)
        tree.note_removal(path)
        return None


def _create(place: WriteTarget, journal: Journal, label: Label, data: bytes, also_sync: AlsoSync) -> Written:
    if place.tree.stat(place.path):
        raise Stale(f"{printable(place.path)!r} exists already.")

    def dress(descriptor: int) -> None:
        file_access.inherit_access(descriptor, place.directory)

    with journal.staged_file(label, data, file_access.FILE_MODE, dress) as (name, stat):
        try:
            kernel.rename_new(journal.descriptor, name, place.directory, place.name)
        except OSError as error:
            journal.discard(name)
            if isinstance(error, FileExistsError):
                raise Stale(f"{printable(place.path)!r} exists already.") from None
            raise
        displaced_files.sync_directories(place, journal, *also_sync())
    return Written(_stat_if_unchanged(place, stat))


def _replace(
    place: WriteTarget,
    journal: Journal,
    label: Label,
    data: bytes,
    earlier: Stat | None,
    also_sync: AlsoSync,
) -> Written:
    assert label.expected is not None
    with ExitStack() as stack:
        old_descriptor = _open_expected(stack, place, label.expected, earlier)

        def dress(descriptor: int) -> None:
            file_access.copy_access(descriptor, old_descriptor, place.path)

        name, stat = stack.enter_context(journal.staged_file(label, data, 0o600, dress))
        swap = _exchange if place.tree.can_exchange else _replace_stepwise
        return swap(place, journal, label, name, stat, also_sync)


def _exchange(
    place: WriteTarget, journal: Journal, label: Label, name: str, stat: Stat, also_sync: AlsoSync
) -> Written:
    try:
        kernel.exchange(journal.descriptor, name, place.directory, place.name)
    except OSError as error:
        journal.discard(name)
        if isinstance(error, FileNotFoundError):
            raise Stale(f"{printable(place.path)!r} is no longer there.") from None
        raise
    if not stat_of(os.stat(name, dir_fd=journal.descriptor, follow_symlinks=False)).is_file:
        _swap_back(place, journal, label, name)
    save = displaced_files.find_foreign_save(journal, label, name)
    displaced_files.sync_directories(place, journal, *(also_sync() if save is None else ()))
    if save is None:
        journal.dispose(name, keep=True)  # out of the journal only when the new text is durable
    return Written(_stat_if_unchanged(place, stat), save)


def _swap_back(place: WriteTarget, journal: Journal, label: Label, name: str) -> None:
    kernel.exchange(journal.descriptor, name, place.directory, place.name)
    displaced_files.sync_directories(place, journal)
    if label.new:
        displaced_files.drop_if_equal(journal, name, label.new)
    raise Stale(f"{printable(place.path)!r} is no longer a regular file.")


def _replace_stepwise(
    place: WriteTarget, journal: Journal, label: Label, name: str, stat: Stat, also_sync: AlsoSync
) -> Written:
    """Without exchange of names: move the old file aside, verify it, then rename the new text to the free path."""
    assert label.expected is not None
    with journal.set_aside(label, place.path) as old_name:
        try:
            displaced_files.move_aside(place, journal, old_name)
            if not displaced_files.has_digest(journal, old_name, label.expected):
                return Written(None, displaced_files.put_back_or_keep(place, journal, old_name))
            has_arrived = _rename_into_place(place, journal, name, old_name)
            displaced_files.sync_directories(place, journal)
        finally:
            journal.discard(name)
    save = displaced_files.find_foreign_save(journal, label, old_name)
    if save is None:
        journal.dispose(old_name, keep=True)
        if not has_arrived:
            raise Stale(f"{printable(place.path)!r} was saved meanwhile.")
        kernel.fsync_all(*also_sync())
    return Written(_stat_if_unchanged(place, stat) if has_arrived else None, save)


def _retract_stepwise(place: WriteTarget, journal: Journal, save: DisplacedSave, ours: Digest) -> bool:
    label = label_of(save.name)
    assert label is not None
    with journal.set_aside(label, place.path) as name:
        displaced_files.move_aside(place, journal, name)
        if not displaced_files.has_digest(journal, name, ours):
            displaced_files.put_back(place, journal, name)
            return False
        if not displaced_files.put_back(place, journal, save.name):
            return False
        journal.dispose(name, keep=False)
        return True


def _rename_into_place(place: WriteTarget, journal: Journal, name: str, old_name: str) -> bool:
    """Rename the new text to the free name. False: a save took the name first, and stays."""
    try:
        kernel.rename_new(journal.descriptor, name, place.directory, place.name)
    except FileExistsError:
        return False
    except OSError:
        displaced_files.put_back(place, journal, old_name)
        raise
    return True


def _open_expected(stack: ExitStack, place: WriteTarget, over: Digest, earlier: Stat | None = None) -> int:
    """Open the file in place for the life of *stack*, if it is the expected one and has no writer."""
    try:
        descriptor = stack.enter_context(place.tree.open_file(place.path, earlier))
    except FileNotFoundError:
        raise Stale(f"{printable(place.path)!r} is no longer there.") from None
    if earlier is not None and kernel.has_writer(descriptor) is False and stat_of(os.fstat(descriptor)) == earlier:
        return descriptor  # a later save is found afterwards in any case
    if contained_files.digest(descriptor, place.path)[0] != over:
        raise Stale(f"{printable(place.path)!r} was saved meanwhile.")
    return descriptor


def _stat_if_unchanged(place: WriteTarget, expected: Stat) -> Stat | None:
    try:
        current = stat_of(os.stat(place.name, dir_fd=place.directory, follow_symlinks=False))
    except FileNotFoundError:
        return None
    return current if current.has_same_content(expected) else None
