"""
Copies of what commands wrote, for who comes between: a page may be overwritten before the daemon looked at it.

A copy stays in the journal, under the name `a.…`, until the daemon finds its bytes in the page's history; bytes that
it does not find are taken in then. What another command replaces is in the trash and needs no copy any more.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from mirrord.domain.entry import Digest, EntryId
from mirrord.errors import Busy, Refused
from mirrord.mirror import kernel
from mirrord.mirror.journal import COPY, STAGED, TMP, TRASH, Journal, writers
from mirrord.mirror.label import Label, label_of, name_of
from mirrord.mirror.tree import Opened, Tree


@contextmanager
def kept(journal: Journal, label: Label, data: bytes) -> Iterator[None]:
    """
    Keep a copy of *data*, which is written in the `with`; if that ends in an exception, none is kept.

    It is there before the write: of a writer that dies in between, the text not yet in place tells (see `unwritten`).
    """
    name, is_written = name_of("a", label), False
    try:
        _begin(journal, name, data)
        yield
        is_written = True
    finally:
        if not is_written:
            journal.discard(name)
    _replaces(journal, name, label)


def _begin(journal: Journal, name: str, data: bytes) -> None:
    """
    A copy outlives every process, but is not synced: that would make each write half as slow again.

    What is acknowledged is durable in its place. The copy is for who overwrites that; only a power cut within seconds
    of both, and before the daemon looked, would take it.
    """
    with Opened(journal.begin(name)) as descriptor:
        kernel.write(descriptor, data)


def keep(journal: Journal, staged: str, label: Label) -> None:
    """Let a file of the journal, which holds what was written, be the copy of it."""
    name = name_of("a", label)
    kernel.rename(journal.descriptor, staged, journal.descriptor, name)
    kernel.fsync(journal.descriptor)
    _replaces(journal, name, label)


def unwritten(journal: Journal, label: Label) -> None:
    """Drop the copies of a text that never got to its place."""
    for name, found in waiting(journal).items():
        if found == label:
            journal.discard(name)


def _replaces(journal: Journal, name: str, label: Label) -> None:
    """What this writer wrote before, and has replaced now, is in the trash."""
    if (old := journal.copies.pop((label.entry, label.expected), None)) is not None:
        journal.discard(old)
    journal.copies[label.entry, label.new] = name


def written(tree: Tree) -> dict[Digest, EntryId]:
    """Whose new bytes commands wrote lately, as far as copies tell."""
    found: dict[Digest, EntryId] = {}
    for writer in writers(tree):
        with suppress(FileNotFoundError), tree.directory(f"{TMP}/{writer}") as journal:
            labels = _labels(journal, COPY, STAGED).values()  # what is staged may be in place a moment before
            found |= {label.new: label.entry for label in labels if label.new is not None}
    return found


def waiting(journal: Journal) -> dict[str, Label]:
    """The copies in one journal by their names."""
    return _labels(journal.descriptor, COPY)


def retire(journal: Journal, name: str, label: Label) -> None:
    """Move a copy into the trash: there is no page any more that it could be a version of."""
    assert label.new is not None
    trashed = name_of("w", Label(label.entry, label.new, None))
    kernel.rename(journal.descriptor, name, journal.descriptor, trashed)
    journal.settle(trashed, keep=True)


def was_replaced(tree: Tree, label: Label) -> bool:
    """
    Whether somebody who had seen the bytes of a copy replaced them: then they are in the trash.

    The files there are read. Names say where to look, and a name that says what its file does not hold costs a text.
    """
    try:
        labels = {name: label_of(name) for name in tree.names(TRASH)}
    except FileNotFoundError:
        return False
    named = [
        name for name, found in labels.items() if found and (found.entry, found.expected) == (label.entry, label.new)
    ]
    return any(_holds(tree, f"{TRASH}/{name}", label.new) for name in named)


def _holds(tree: Tree, path: str, digest: Digest | None) -> bool:
    """False where it cannot be read now: a copy that is kept too long costs nothing."""
    try:
        return tree.digest(path)[0] == digest
    except (Busy, Refused, OSError):
        return False


def _labels(directory: int, *kinds: str) -> dict[str, Label]:
    names = [name for name in os.listdir(directory) if name.startswith(kinds)]
    return {name: label for name in names if (label := label_of(name)) is not None}
