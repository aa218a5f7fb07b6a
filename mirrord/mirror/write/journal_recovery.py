"""Recovers journals of dead writers: their plans are finished, waiting bytes move into a living journal."""

import logging
import os
from contextlib import suppress

from mirrord.errors import Busy, Refused
from mirrord.mirror.tree import kernel
from mirrord.mirror.tree.tenant_tree import Tree
from mirrord.mirror.write import batch_rename
from mirrord.mirror.write.journal import DAEMON_WRITER, JOURNALS_PATH, STAGED_PREFIX, Journal, list_writers
from mirrord.mirror.write.journal_labels import label_of

log = logging.getLogger(__name__)


def adopt_leftovers(tree: Tree, journal: Journal, *, include_living: bool) -> bool:
    """
    Adopt the leftovers of all other writers but the daemon. Return whether *journal* has new leftovers.

    Call it under the write lock: then no other writer is at work. include_living: adopt those of living writers too.
    """
    has_new_leftovers = False
    for writer in list_writers(tree):
        path = f"{JOURNALS_PATH}/{writer}"
        if path in (journal.path, f"{JOURNALS_PATH}/{DAEMON_WRITER}"):
            continue
        with suppress(FileNotFoundError, Refused):
            try:
                dead = Journal(tree, writer)
            except Busy:
                has_new_leftovers |= include_living and _move_leftovers(tree, journal, path)
            else:
                has_new_leftovers |= _adopt_dead_writer(tree, journal, dead)
    return has_new_leftovers


def _adopt_dead_writer(tree: Tree, journal: Journal, dead: Journal) -> bool:
    has_new_leftovers = False
    try:
        batch_rename.finish_plan(tree, dead)
        dead.unpark_all()
        has_new_leftovers = _move_leftovers(tree, journal, dead.path)
        with tree.open_directory(JOURNALS_PATH) as above, suppress(OSError):
            kernel.rmdir(above, dead.path.rpartition("/")[2])
    except OSError as error:  # the disk is full, or worse: the leftovers stay for the next attempt
        log.warning("writer_not_adopted", extra={"writer": dead.path, "error": str(error)})
    finally:
        dead.close()
    return has_new_leftovers


def _move_leftovers(tree: Tree, journal: Journal, path: str) -> bool:
    with tree.open_directory(path) as source:
        names = [
            name for name in os.listdir(source) if label_of(name) is not None and not name.startswith(STAGED_PREFIX)
        ]
        for name in names:
            kernel.rename(source, name, journal.descriptor, name)
        if names:
            kernel.fsync(journal.descriptor)
            kernel.fsync(source)
    return bool(names)
