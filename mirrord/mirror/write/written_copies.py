"""
Copies of what commands wrote, kept because a page may be overwritten before the daemon looks at it.

A copy stays in the journal, under the name `a.…`, until the daemon finds its bytes in the page's history; missing
bytes are stored then. A text that another command replaces is in the trash and needs no copy any more.
"""

import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import TypeVar, cast

from mirrord.domain.entry import Digest, EntryId
from mirrord.errors import Busy, Refused
from mirrord.mirror.tree import kernel
from mirrord.mirror.tree.kernel import OpenDescriptor, Stat, stat_of
from mirrord.mirror.tree.tenant_tree import Tree
from mirrord.mirror.write.journal import COPY_PREFIX, JOURNALS_PATH, STAGED_PREFIX, TRASH_PATH, Journal
from mirrord.mirror.write.journal_labels import Label, label_of, new_name

T = TypeVar("T")


@contextmanager
def copy_during_write(journal: Journal, label: Label, data: bytes) -> Iterator[None]:
    """
    Keep a copy of *data*, which is written in the `with`; after an exception none is kept.

    The copy exists before the write. After a crash in between, the staged text shows it (see `unwritten`).
    """
    name, is_written = new_name("a", label), False
    try:
        _write_copy(journal, name, data)
        yield
        is_written = True
    finally:
        if not is_written:
            journal.discard(name)
    _replace_older_copy(journal, name, label)


def _write_copy(journal: Journal, name: str, data: bytes) -> None:
    """
    A copy outlives every process, but is not synced: that would make each write half as slow again.

    An acknowledged text is durable in its place. The copy protects it against overwriting; only a power cut within
    seconds of both, and before the daemon reads the page, would lose it.
    """
    with OpenDescriptor(journal.create_empty(name)) as descriptor:
        kernel.write(descriptor, data)


def rename_to_copy(journal: Journal, staged: str, label: Label) -> None:
    """Make a file of the journal, which holds the written text, its copy."""
    name = new_name("a", label)
    kernel.rename(journal.descriptor, staged, journal.descriptor, name)
    kernel.fsync(journal.descriptor)
    _replace_older_copy(journal, name, label)


def drop_unwritten(journal: Journal, label: Label) -> None:
    """Drop the copies of a text that never reached its place."""
    for name, copy_label in list_copies(journal).items():
        if copy_label == label:
            journal.discard(name)


def _replace_older_copy(journal: Journal, name: str, label: Label) -> None:
    """Register the copy; drop the copy of this writer's older text, which is in the trash now."""
    if (old := journal.copies.pop((label.entry, label.expected), None)) is not None:
        journal.discard(old)
    journal.copies[label.entry, label.new] = name


class WrittenEntries:
    """Entries of the bytes that commands wrote; a directory of copies is listed again only if its stat changed."""

    def __init__(self) -> None:
        self._by_directory: Mapping[Stat, object] = {}

    def of_tree(self, tree: Tree) -> dict[Digest, EntryId]:
        """The entries of *tree*, by digest, and those of the tree that it, a draft, is laid over."""
        lower_entries, entries = self.of_layers(tree)
        return lower_entries | entries

    def of_layers(self, tree: Tree) -> tuple[dict[Digest, EntryId], dict[Digest, EntryId]]:
        """The entries of the tree that *tree*, a draft, is laid over, none if it is no draft; and its own."""
        current: dict[Stat, object] = {}
        lower_entries = self._of_layer(tree.lower, current) if tree.lower is not None else {}
        entries = self._of_layer(tree, current)
        self._by_directory = current
        return lower_entries, entries

    def _of_layer(self, layer: Tree, current: dict[Stat, object]) -> dict[Digest, EntryId]:
        entries: dict[Digest, EntryId] = {}
        for writer in self._look(layer, JOURNALS_PATH, _list_directories, current) or ():
            entries |= self._look(layer, f"{JOURNALS_PATH}/{writer}", _entries_of_journal, current) or {}
        return entries

    def _look(self, tree: Tree, path: str, read: Callable[[int], T], current: dict[Stat, object]) -> T | None:
        """What *read* returns for the directory, or returned before; None: there is none."""
        with suppress(FileNotFoundError), tree.open_directory(path) as directory:
            began, before = time.time_ns(), stat_of(os.fstat(directory))
            is_known = before in self._by_directory
            content = cast("T", self._by_directory[before]) if is_known else read(directory)
            if before.is_settled(began) and stat_of(os.fstat(directory)) == before:
                current[before] = content
            return content
        return None


def list_copies(journal: Journal) -> dict[str, Label]:
    """The copies in one journal by their names."""
    return _list_labels(journal.descriptor, COPY_PREFIX)


def move_to_trash(journal: Journal, name: str, label: Label) -> None:
    """Move a copy into the trash: its page does not exist any more."""
    assert label.new is not None
    trashed = new_name("w", Label(label.entry, label.new, None))
    kernel.rename(journal.descriptor, name, journal.descriptor, trashed)
    journal.dispose(trashed, keep=True)


def was_replaced(tree: Tree, label: Label) -> bool:
    """
    Whether a writer that knew the bytes of a copy replaced them: then they are in the trash.

    The files there are read: names only show where to look, and a wrong name would cost a text.
    """
    try:
        labels = {name: label_of(name) for name in tree.list_stats(TRASH_PATH)}
    except FileNotFoundError:
        return False
    matching_names = [
        name
        for name, trash_label in labels.items()
        if trash_label and (trash_label.entry, trash_label.expected) == (label.entry, label.new)
    ]
    return any(_has_digest(tree, f"{TRASH_PATH}/{name}", label.new) for name in matching_names)


def _has_digest(tree: Tree, path: str, digest: Digest | None) -> bool:
    """False if the file is unreadable now: a copy that is kept too long costs nothing."""
    try:
        return tree.digest(path)[0] == digest
    except (Busy, Refused, OSError):
        return False


def _list_labels(directory: int, *kinds: str) -> dict[str, Label]:
    names = [name for name in os.listdir(directory) if name.startswith(kinds)]
    return {name: label for name in names if (label := label_of(name)) is not None}


def _list_directories(directory: int) -> list[str]:
    with os.scandir(directory) as entries:
        return sorted(entry.name for entry in entries if entry.is_dir(follow_symlinks=False))


def _entries_of_journal(journal: int) -> dict[Digest, EntryId]:
    labels = _list_labels(journal, COPY_PREFIX, STAGED_PREFIX)  # a staged text may be in place a moment before its copy
    return {label.new: label.entry for label in labels.values() if label.new is not None}
