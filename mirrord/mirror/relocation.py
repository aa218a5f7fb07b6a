"""
Renames and new texts of several files that belong together: done as a whole, also if this process dies in the midst.

All new texts are in the journal (`r.…`) before the plan is; once the plan is there the next who may write in this
journal goes on with it. Either every rename is done, or none; a text is there in full, or the file is as it was.
"""

import logging
import os
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace as changed
from uuid import UUID

from mirrord.domain.entry import Digest, EntryId, digest_of
from mirrord.errors import Busy, Refused, Stale
from mirrord.mirror import arrival, copies, kernel, replace, trash
from mirrord.mirror.appending import append
from mirrord.mirror.journal import STAGED, TMP, Journal, writers
from mirrord.mirror.label import Label, name_of
from mirrord.mirror.layout import ARRIVING, parent_of, printable
from mirrord.mirror.lock import is_marked, lock_for, mark, unmark
from mirrord.mirror.plan import Plan, Removal, Rename, Rewrite, decoded, encoded
from mirrord.mirror.tree import Tree

_PLAN = "t.plan"
_TRIES = 40  # of one text, against somebody who keeps saving the file
_PAUSE = 0.05  # seconds between them
_PIECE = 1 << 20  # bytes of lines added at once

log = logging.getLogger(__name__)


Again = Callable[[str], tuple[Digest, bytes] | None]


def stage(journal: Journal, path: str, entry: EntryId, over: Digest, data: bytes) -> Rewrite:
    """Put the new text of the file that is *over* into the journal."""
    staged = name_of("r", Label(entry, over, digest_of(data)))
    journal.create(staged, data)
    return Rewrite(path, staged)


def carry_out(tree: Tree, journal: Journal, plan: Plan, again: Again) -> list[str]:
    """
    Do all of *plan*, under the write lock; the paths whose text could not be changed, or that could not follow.

    again: the digest and the new text of a file that somebody saved meanwhile; None: it is to stay as it is.
    Raises Stale, Busy or Refused if the removal or a rename is not possible any more: nothing is changed then.
    """
    _note(journal, plan)
    try:
        if plan.removal is not None:
            _remove(tree, journal, plan.removal)
        _rename_all(tree, plan.renames)
    except _Stuck:  # half done: another time
        raise
    except (Stale, Busy, Refused, OSError):
        _forget(journal)
        raise
    left = [one.path for one in plan.followers if not _followed(tree, journal, one)]
    left += _rewrite_all(tree, journal, plan, again)
    for path in plan.emptied:
        with suppress(OSError, Refused):
            tree.remove_directory(path)
    if plan.note is not None:
        append(tree, plan.note[0], plan.note[1].encode())
    if plan.told is not None:
        _tell(tree, *plan.told)
    _forget(journal)
    return left


def waits(tree: Tree) -> bool:
    """Whether a plan may wait that its writer did not finish; under the write lock."""
    if not is_marked(tree):
        return False
    if any(tree.stat(f"{TMP}/{writer}/{_PLAN}") is not None for writer in writers(tree)):
        return True
    unmark(tree)
    return False


def finish(tree: Tree, journal: Journal) -> None:
    """
    Go on with the plan of a writer that died, if there is one; under the write lock.

    Raises Busy if it is about records, and somebody else writes those.
    """
    try:
        with journal.opened(_PLAN) as descriptor:
            plan = decoded(os.pread(descriptor, os.fstat(descriptor).st_size, 0))
    except FileNotFoundError:
        plan = None
    if plan is None:
        _forget(journal)
        return
    try:
        with lock_for(tree, plan.paths):
            left = carry_out(tree, journal, plan, lambda _: None)
    except (Stale, Refused) as error:
        log.warning("plan_dropped", extra={"reason": str(error)})
    else:
        log.warning("plan_finished", extra={"left": left})


class _Stuck(OSError):
    """A rename failed, and so did taking back those before it."""


def _remove(tree: Tree, journal: Journal, removal: Removal) -> None:
    """Raises Stale if there is something else by now; that it is gone is what was wanted."""
    if tree.stat(removal.path) is None:
        return
    try:
        save = replace.remove(
            *(tree, journal, removal.path),
            entry=EntryId(UUID(removal.entry)),
            over=Digest(bytes.fromhex(removal.over)),
            reason=removal.reason,
            title=removal.title,
            key=removal.key,
        )
    except Stale:
        if trash.find(tree, removal.key) is None:
            raise
        return  # it went before this process came to it, and what is there is new
    if save is not None:
        raise Stale(f"{printable(removal.path)!r} was saved meanwhile.")


def _followed(tree: Tree, journal: Journal, removal: Removal) -> bool:
    """Whether it is gone. What somebody saved just now stays."""
    for _ in range(_TRIES):
        try:
            _remove(tree, journal, removal)
        except Busy:
            time.sleep(_PAUSE)
            continue
        except (Stale, Refused, OSError) as error:
            log.warning("not_removed", extra={"path": removal.path, "error": str(error)})
            return False
        return True
    return False


def _rename_all(tree: Tree, renames: Sequence[Rename]) -> None:
    done: list[Rename] = []
    made: list[str] = []
    for rename in renames:
        try:
            if tree.stat(parent_of(rename.target)) is None:
                made.append(parent_of(rename.target))
            if _is_open(tree, rename):
                tree.make_directories(parent_of(rename.target))
                tree.move(rename.source, rename.target)
            done.append(rename)
        except (Stale, Refused, OSError):
            _take_back(tree, done, made)
            raise


def _is_open(tree: Tree, rename: Rename) -> bool:
    """Whether it is still to be done. Raises Stale if it can neither be done nor was."""
    source, target = tree.stat(rename.source), tree.stat(rename.target)
    is_there = source is not None and source.inode == rename.inode
    if is_there and target is not None and target.inode != rename.inode:
        raise Stale(f"{printable(rename.target)!r} exists already.")
    if not is_there and target is None:
        raise Stale(f"{printable(rename.source)!r} is no longer what was there.")
    return is_there


def _take_back(tree: Tree, done: Sequence[Rename], made: Sequence[str]) -> None:
    try:
        for rename in reversed(done):
            tree.move(rename.target, rename.source)
        for path in reversed(made):
            tree.remove_directory(path)
    except (OSError, Stale, Refused) as error:
        raise _Stuck(f"Renames could not be taken back: {error}") from error


def _rewrite_all(tree: Tree, journal: Journal, plan: Plan, again: Again) -> list[str]:
    rewrites, left = list(plan.rewrites), []
    for number, rewrite in enumerate(rewrites):
        for _ in range(_TRIES):
            done = _rewritten(tree, journal, rewrite)
            if done:
                break
            if done is None:
                time.sleep(_PAUSE)
                continue
            fresh = again(rewrite.path)
            if fresh is None:
                left.append(rewrite.path)
                break
            rewrite = rewrites[number] = stage(journal, rewrite.path, rewrite.label.entry, *fresh)
            _note(journal, changed(plan, rewrites=rewrites))
        else:
            left.append(rewrite.path)
    return left


def _rewritten(tree: Tree, journal: Journal, rewrite: Rewrite) -> bool | None:
    """Whether the file has its new text; None: somebody is writing it. A save is never dropped for that."""
    label = rewrite.label
    assert label.expected is not None
    assert label.new is not None
    try:
        data = journal.read(rewrite.staged)
        written = replace.write(tree, journal, rewrite.path, data, entry=label.entry, over=label.expected)
        if written.displaced is not None:
            replace.retract(tree, journal, rewrite.path, written.displaced, ours=label.new)
            return False
    except FileNotFoundError:  # its text was kept already, or its directory has gone
        return not journal.has(rewrite.staged)
    except Stale:
        if not _holds(tree, rewrite.path, label.new):
            return False
    except Busy:
        return None
    except (Refused, OSError) as error:
        log.warning("not_rewritten", extra={"path": rewrite.path, "error": str(error)})
        return False
    copies.keep(journal, rewrite.staged, label)
    return True


def _tell(tree: Tree, file: str, waiting: str) -> None:
    with tree.file(waiting) as descriptor, os.fdopen(os.dup(descriptor), "rb") as stream:
        while lines := stream.readlines(_PIECE):
            append(tree, file, b"".join(lines))


def _holds(tree: Tree, path: str, digest: Digest) -> bool:
    try:
        return tree.digest(path)[0] == digest
    except (Busy, Refused, OSError):
        return False


def _note(journal: Journal, plan: Plan) -> None:
    mark(journal.tree)
    unfinished = f"p.{_PLAN}"
    journal.discard(unfinished)
    journal.create(unfinished, encoded(plan))
    kernel.rename(journal.descriptor, unfinished, journal.descriptor, _PLAN)
    kernel.fsync(journal.descriptor)


def _forget(journal: Journal) -> None:
    """The plan first: without it, texts that wait and files that were being built are nothing."""
    journal.discard(_PLAN)
    kernel.fsync(journal.descriptor)
    for name in os.listdir(journal.descriptor):
        if name.startswith(STAGED):
            journal.discard(name)
        elif name.startswith(ARRIVING) and not journal.is_at_work(name):
            arrival.dismantle(journal, name)
