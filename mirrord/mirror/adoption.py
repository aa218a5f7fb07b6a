"""What other writers left: plans of dead ones are finished, bytes that wait come into one living journal."""

import logging
import os
from contextlib import suppress

from mirrord.errors import Busy, Refused
from mirrord.mirror import kernel, relocation
from mirrord.mirror.journal import DAEMON, STAGED, TMP, Journal, writers
from mirrord.mirror.label import label_of
from mirrord.mirror.tree import Tree

log = logging.getLogger(__name__)


def adopt(tree: Tree, journal: Journal, *, living: bool) -> bool:
    """
    Take over what all other writers but the daemon left; whether there is more in *journal* than there was.

    Call it under the write lock: then none of them is at work. living: also what those left that are still alive.
    """
    took = False
    for writer in writers(tree):
        path = f"{TMP}/{writer}"
        if path in (journal.path, f"{TMP}/{DAEMON}"):
            continue
        with suppress(FileNotFoundError, Refused):
            try:
                dead = Journal(tree, writer)
            except Busy:
                took |= living and _take_leftovers(tree, journal, path)
            else:
                took |= _take_all(tree, journal, dead)
    return took


def _take_all(tree: Tree, journal: Journal, dead: Journal) -> bool:
    took = False
    try:
        relocation.finish(tree, dead)
        dead.bring_back()
        took = _take_leftovers(tree, journal, dead.path)
        with tree.directory(TMP) as above, suppress(OSError):
            kernel.rmdir(above, dead.path.rpartition("/")[2])
    except OSError as error:  # the disk is full, or worse: what is there stays for another time
        log.warning("writer_not_adopted", extra={"writer": dead.path, "error": str(error)})
    finally:
        dead.close()
    return took


def _take_leftovers(tree: Tree, journal: Journal, path: str) -> bool:
    with tree.directory(path) as theirs:
        found = [name for name in os.listdir(theirs) if label_of(name) is not None and not name.startswith(STAGED)]
        for name in found:
            kernel.rename(theirs, name, journal.descriptor, name)
        if found:
            kernel.fsync(journal.descriptor)
            kernel.fsync(theirs)
    return bool(found)
