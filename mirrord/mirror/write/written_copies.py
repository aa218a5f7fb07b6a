"""
Copies of what commands wrote, kept because a page may be overwritten before the daemon looks at it.

A copy stays in the journal, under the name `a.…`, until the daemon finds its bytes in the page's history; missing
bytes are stored then. A text that another command replaces is in the trash and needs no copy any more.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from mirrord.domain.entry import Digest, EntryId
from mirrord.errors import Busy, Refused
from mirrord.mirror.tree import kernel
from mirrord.mirror.tree.tenant_tree import OpenDescriptor, Tree
from mirrord.mirror.write.journal import COPY_PREFIX, JOURNALS_PATH, STAGED_PREFIX, TRASH_PATH, Journal, list_writers
from mirrord.mirror.write.journal_labels import Label, label_of, new_name


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


def entries_by_digest(tree: Tree) -> dict[Digest, EntryId]:
    """Entries of the bytes that commands wrote recently, according to copies."""
    entries = entries_by_digest(tree.lower) if tree.lower is not None else {}
    for writer in list_writers(tree):
        with suppress(FileNotFoundError), tree.open_directory(f"{JOURNALS_PATH}/{writer}") as journal:
            labels = _list_labels(
                journal, COPY_PREFIX, STAGED_PREFIX
            ).values()  # a staged text may be in place a moment before its copy
            entries |= {label.new: label.entry for label in labels if label.new is not None}
    return entries


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
