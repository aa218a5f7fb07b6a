"""
Replaces, creates and removes files so that no save of anybody is lost.

Editors take no lock, so nothing that is checked before a rename still holds after it. What was displaced is
therefore looked at afterwards: if it is not what we expected, it is somebody's save, and it is handed back.
"""

import os
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass

from mirrord.domain.entry import Digest, EntryId, digest_of
from mirrord.errors import Refused, Stale
from mirrord.mirror import access, aside, contents, kernel, trash
from mirrord.mirror.aside import Displaced, Place
from mirrord.mirror.journal import Journal
from mirrord.mirror.kernel import Stat, stat_of
from mirrord.mirror.label import Label, label_of
from mirrord.mirror.layout import parent_of, printable
from mirrord.mirror.tree import Tree, check_entry

__all__ = ["Beside", "Displaced", "Written", "nothing", "remove", "retract", "write"]

Beside = Callable[[], Sequence[int]]  # see write()


@dataclass(frozen=True, slots=True)
class Written:
    """
    What came of a write.

    stat: of the file that now has the new text; None: it changed again already, or never got there; look again.
    displaced: a save that must be taken in, based on what was to be replaced.
    """

    stat: Stat | None
    displaced: Displaced | None = None


def nothing() -> Sequence[int]:
    """What is done beside most writes."""
    return ()


def write(
    tree: Tree,
    journal: Journal,
    path: str,
    data: bytes,
    *,
    entry: EntryId,
    over: Digest | None,
    mode: int | None = None,
    seen: Stat | None = None,
    beside: Beside = nothing,
) -> Written:
    """
    Make *data* the whole content of the file at *path*, whose directory exists.

    over: digest the file must have; None: it must not exist.
    seen: of the file, taken when it was *over*; while it has that, it is not read again beforehand.
    beside: done once a text is in place and displaced nobody's save; what has to be durable with it, as descriptors: of
        all that is synced at once a journal of the file system makes one transaction.
    mode: None: 0660 less the umask for a new file, the old file's for a replaced one.

    Raises:
        Stale: the file is not *over* any more; nothing was changed.
        Busy: somebody has it open for writing; nothing was changed.
        Refused: not a regular file, or somebody would lose the right to write it.
        FileNotFoundError: the directory does not exist.
        OSError: disk full, fsync failed and the like; the file in place is whole, old or new.
    """
    check_entry(path)
    label = Label(entry, over, digest_of(data))
    with tree.directory(parent_of(path)) as directory:
        place = Place(tree, path, directory, _name(path))
        if over is None:
            return _create(place, journal, label, data, mode, beside)
        return _replace(place, journal, label, data, mode, seen, beside)


def retract(tree: Tree, journal: Journal, path: str, save: Displaced, *, ours: Digest) -> bool:
    """
    Put a displaced save back in its place and drop our text that was there.

    False: what is there is not *ours* but one more save. Nothing is dropped then; what is not in place is in the
    journal, and swapping ends.
    """
    check_entry(path)
    with tree.directory(parent_of(path)) as directory:
        place = Place(tree, path, directory, _name(path))
        if not tree.can_exchange:
            return _retract_stepwise(place, journal, save, ours)
        kernel.exchange(journal.descriptor, save.name, directory, place.name)
        aside.sync(place, journal)
        return aside.drop_if(journal, save.name, ours)


def remove(
    tree: Tree,
    journal: Journal,
    path: str,
    *,
    entry: EntryId,
    over: Digest,
    reason: str,
    title: str | None = None,
    key: str | None = None,
) -> Displaced | None:
    """
    Move the file at *path* to the trash, if it still is *over*. key: the last part of its name there; None: any.

    Returns a save that came in between and could not be put back, because its name was taken again.

    Raises:
        Stale: the file is not *over*, or is gone; what is in place is untouched or put back.
        Busy: somebody has it open for writing; it stays.
    """
    check_entry(path)
    label = Label(entry, over, None)
    with ExitStack() as stack:
        place = Place(tree, path, stack.enter_context(tree.directory(parent_of(path))), _name(path))
        _open_expected(stack, place, over)
        name = stack.enter_context(journal.aside(label, None, key))
        aside.move_aside(place, journal, name)
        if not aside.holds(journal, name, over):
            return aside.give_back(place, journal, name)
        try:
            trash.put_card(tree, name, label, trash.Card(path, title, reason, time.time()))
        except (OSError, Refused):
            aside.put_back(place, journal, name)
            raise
        journal.settle(name, keep=True)
        trash.sync(tree)  # in the trash for good before the journal forgets it
        aside.sync(place, journal)
        return None


def _create(place: Place, journal: Journal, label: Label, data: bytes, mode: int | None, beside: Beside) -> Written:
    if place.tree.stat(place.path):
        raise Stale(f"{printable(place.path)!r} exists already.")

    def dress(descriptor: int) -> None:
        access.inherit(descriptor, place.directory)
        if mode is not None:
            os.fchmod(descriptor, mode)

    with journal.put(label, data, access.FILE_MODE, dress) as (name, made):
        try:
            kernel.rename_new(journal.descriptor, name, place.directory, place.name)
        except OSError as error:
            journal.discard(name)
            if isinstance(error, FileExistsError):
                raise Stale(f"{printable(place.path)!r} exists already.") from None
            raise
        aside.sync(place, journal, *beside())
    return Written(_still(place, made))


def _replace(
    place: Place,
    journal: Journal,
    label: Label,
    data: bytes,
    mode: int | None,
    seen: Stat | None,
    beside: Beside,
) -> Written:
    assert label.expected is not None
    with ExitStack() as stack:
        old = _open_expected(stack, place, label.expected, seen)

        def dress(descriptor: int) -> None:
            access.take_over(descriptor, old, place.path)
            if mode is not None:
                os.fchmod(descriptor, mode)

        name, made = stack.enter_context(journal.put(label, data, 0o600, dress))
        swap = _exchange if place.tree.can_exchange else _stepwise
        return swap(place, journal, label, name, made, beside)


def _exchange(place: Place, journal: Journal, label: Label, name: str, made: Stat, beside: Beside) -> Written:
    try:
        kernel.exchange(journal.descriptor, name, place.directory, place.name)
    except OSError as error:
        journal.discard(name)
        if isinstance(error, FileNotFoundError):
            raise Stale(f"{printable(place.path)!r} is no longer there.") from None
        raise
    if not stat_of(os.stat(name, dir_fd=journal.descriptor, follow_symlinks=False)).is_file:
        _swap_back(place, journal, label, name)
    displaced = aside.displaced(journal, label, name)
    aside.sync(place, journal, *(beside() if displaced is None else ()))
    if displaced is None:
        journal.settle(name, keep=True)  # out of the journal only when it is there for good
    return Written(_still(place, made), displaced)


def _swap_back(place: Place, journal: Journal, label: Label, name: str) -> None:
    kernel.exchange(journal.descriptor, name, place.directory, place.name)
    aside.sync(place, journal)
    if label.new:
        aside.drop_if(journal, name, label.new)
    raise Stale(f"{printable(place.path)!r} is no longer a regular file.")


def _stepwise(place: Place, journal: Journal, label: Label, name: str, made: Stat, beside: Beside) -> Written:
    """Where names cannot be exchanged: move aside, verify, then put the new text where nothing may be."""
    assert label.expected is not None
    with journal.aside(label, place.path) as old:
        try:
            aside.move_aside(place, journal, old)
            if not aside.holds(journal, old, label.expected):
                return Written(None, aside.give_back(place, journal, old))
            arrived = _arrive(place, journal, name, old)
            aside.sync(place, journal)
        finally:
            journal.discard(name)
    displaced = aside.displaced(journal, label, old)
    if displaced is None:
        journal.settle(old, keep=True)
        if not arrived:
            raise Stale(f"{printable(place.path)!r} was saved meanwhile.")
        kernel.fsync_all(*beside())
    return Written(_still(place, made) if arrived else None, displaced)


def _retract_stepwise(place: Place, journal: Journal, save: Displaced, ours: Digest) -> bool:
    label = label_of(save.name)
    assert label is not None
    with journal.aside(label, place.path) as name:
        aside.move_aside(place, journal, name)
        if not aside.holds(journal, name, ours):
            aside.put_back(place, journal, name)
            return False
        if not aside.put_back(place, journal, save.name):
            return False
        journal.settle(name, keep=False)
        return True


def _arrive(place: Place, journal: Journal, name: str, old: str) -> bool:
    """Whether the new text got the free name; a save that took it first stays."""
    try:
        kernel.rename_new(journal.descriptor, name, place.directory, place.name)
    except FileExistsError:
        return False
    except OSError:
        aside.put_back(place, journal, old)
        raise
    return True


def _open_expected(stack: ExitStack, place: Place, over: Digest, seen: Stat | None = None) -> int:
    """The file in place, open as long as *stack*, if it is still the one expected and nobody writes to it."""
    try:
        descriptor = stack.enter_context(place.tree.file(place.path, seen))
    except FileNotFoundError:
        raise Stale(f"{printable(place.path)!r} is no longer there.") from None
    if seen is not None and kernel.has_writer(descriptor) is False and stat_of(os.fstat(descriptor)) == seen:
        return descriptor  # what comes between is found afterwards in any case
    if contents.digest(descriptor, place.path)[0] != over:
        raise Stale(f"{printable(place.path)!r} was saved meanwhile.")
    return descriptor


def _still(place: Place, made: Stat) -> Stat | None:
    try:
        found = stat_of(os.stat(place.name, dir_fd=place.directory, follow_symlinks=False))
    except FileNotFoundError:
        return None
    return found if found.same_content(made) else None


def _name(path: str) -> str:
    return path.rpartition("/")[2]
