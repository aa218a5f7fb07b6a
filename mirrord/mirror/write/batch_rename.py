"""
Carries out a plan of renames and new texts as a whole, even if this process dies in the middle.

All new texts are in the journal (`r.…`) before the plan; once it holds the plan, the next writer of this journal
continues it. Either every rename is done, or none; a file has its complete new text, or the old one.

Journals of dead writers are recovered: their plans are finished, waiting bytes move into a living journal.
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
from mirrord.mirror.tree import kernel
from mirrord.mirror.tree.tenant_tree import Tree
from mirrord.mirror.tree.tree_layout import BUILDING_PREFIX, parent_of, printable
from mirrord.mirror.write import bulk_create, change_recovery, replace, trash, written_copies
from mirrord.mirror.write.append_only_files import append
from mirrord.mirror.write.journal import DAEMON_WRITER, JOURNALS_PATH, STAGED_PREFIX, Journal, list_writers
from mirrord.mirror.write.journal_labels import Label, label_of, new_name
from mirrord.mirror.write.rename_plan import BatchPlan, Removal, Rename, Rewrite, decode_plan, encode_plan
from mirrord.mirror.write.tree_locks import clear_unfinished, is_marked_unfinished, lock_for, mark_unfinished

_PLAN = "t.plan"
_MAX_TRIES = 40  # of one text, against a program that keeps saving the file
_PAUSE_SECONDS = 0.05  # between two tries
_PIECE_BYTES = 1 << 20  # of lines appended at once

log = logging.getLogger(__name__)


NewTextOf = Callable[[str], tuple[Digest, bytes] | None]


def stage_text(journal: Journal, path: str, entry: EntryId, expected: Digest, data: bytes) -> Rewrite:
    """Stage the new text of the file with the digest *expected* in the journal."""
    staged = new_name("r", Label(entry, expected, digest_of(data)))
    journal.create(staged, data)
    return Rewrite(path, staged)


def carry_out_plan(tree: Tree, journal: Journal, plan: BatchPlan, new_text_of: NewTextOf) -> list[str]:
    """
    Carry out *plan*, under the write lock. Return the paths whose text or removal as a follower failed.

    new_text_of: returns digest and new text for a file that was saved meanwhile; None: it stays unchanged.
    Raises Stale, Busy or Refused if the removal or a rename is not possible any more: nothing is changed then.
    """
    _note(journal, plan)
    try:
        if plan.removal is not None:
            _remove_file(tree, journal, plan.removal)
        _rename_all(tree, plan.renames)
    except _UndoFailed:  # half done: left to the next attempt
        raise
    except (Stale, Busy, Refused, OSError):
        _discard_plan(journal)
        raise
    failed_paths = [removal.path for removal in plan.followers if not _remove_follower(tree, journal, removal)]
    failed_paths += _rewrite_all(tree, journal, plan, new_text_of)
    for path in plan.emptied:
        with suppress(OSError, Refused):
            tree.remove_directory(path)
    if plan.appended_lines is not None:
        append(tree, plan.appended_lines[0], plan.appended_lines[1].encode())
    if plan.staged_lines is not None:
        _append_staged_lines(tree, *plan.staged_lines)
    _discard_plan(journal)
    return failed_paths


def has_unfinished_plan(tree: Tree) -> bool:
    """Whether an unfinished plan may exist; under the write lock."""
    if not is_marked_unfinished(tree):
        return False
    for writer in list_writers(tree):
        if tree.stat(f"{JOURNALS_PATH}/{writer}/{_PLAN}") is not None or change_recovery.has_plan(tree, writer):
            return True
    clear_unfinished(tree)
    return False


def finish_plan(tree: Tree, journal: Journal) -> None:
    """
    Continue the plan of a dead writer, if there is one; under the write lock.

    Raises Busy if it is about records, and another process writes those.
    """
    change_recovery.settle_plans(tree, journal)
    try:
        with journal.open_file(_PLAN) as descriptor:
            plan = decode_plan(os.pread(descriptor, os.fstat(descriptor).st_size, 0))
    except FileNotFoundError:
        plan = None
    if plan is None:
        _discard_plan(journal)
        return
    try:
        with lock_for(tree, plan.paths):
            failed_paths = carry_out_plan(tree, journal, plan, lambda _: None)
    except (Stale, Refused) as error:
        log.warning("plan_dropped", extra={"reason": str(error)})
    else:
        log.warning("plan_finished", extra={"left": failed_paths})


class _UndoFailed(OSError):
    """A rename failed, and so did the undoing of those before it."""


def _remove_file(tree: Tree, journal: Journal, removal: Removal) -> None:
    """Remove the file, unless it is gone already. Raises Stale if another file is there."""
    if tree.stat(removal.path) is None:
        return
    try:
        save = replace.remove(
            tree,
            journal,
            removal.path,
            replace.ExpectedFile(EntryId(UUID(removal.entry)), Digest(bytes.fromhex(removal.expected))),
            replace.Removal(removal.reason, title=removal.title, key=removal.key),
        )
    except Stale:
        if trash.find_removed(tree, removal.key) is None:
            raise
        return  # it was removed earlier, and the current file is new
    if save is not None:
        raise Stale(f"{printable(removal.path)!r} was saved meanwhile.")


def _remove_follower(tree: Tree, journal: Journal, removal: Removal) -> bool:
    """Remove a follower and return whether it is gone. A file saved at this moment stays."""
    for _ in range(_MAX_TRIES):
        try:
            _remove_file(tree, journal, removal)
        except Busy:
            time.sleep(_PAUSE_SECONDS)
            continue
        except (Stale, Refused, OSError) as error:
            log.warning("not_removed", extra={"path": removal.path, "error": str(error)})
            return False
        return True
    return False


def _rename_all(tree: Tree, renames: Sequence[Rename]) -> None:
    completed: list[Rename] = []
    created_directories: list[str] = []
    for rename in renames:
        try:
            if tree.stat(parent_of(rename.target)) is None:
                created_directories.append(parent_of(rename.target))
            if _is_pending(tree, rename):
                tree.make_directories(parent_of(rename.target))
                tree.move(rename.source, rename.target)
            completed.append(rename)
        except (Stale, Refused, OSError):
            _undo_renames(tree, completed, created_directories)
            raise


def _is_pending(tree: Tree, rename: Rename) -> bool:
    """Whether the rename is still to be done. Raises Stale if it is neither possible nor done."""
    source, target = tree.stat(rename.source), tree.stat(rename.target)
    is_pending = source is not None and source.inode == rename.inode
    if is_pending and target is not None and target.inode != rename.inode:
        raise Stale(f"{printable(rename.target)!r} exists already.")
    if not is_pending and target is None:
        raise Stale(f"{printable(rename.source)!r} is no longer what was there.")
    return is_pending


def _undo_renames(tree: Tree, completed: Sequence[Rename], created_directories: Sequence[str]) -> None:
    try:
        for rename in reversed(completed):
            tree.move(rename.target, rename.source)
        for path in reversed(created_directories):
            tree.remove_directory(path)
    except (OSError, Stale, Refused) as error:
        raise _UndoFailed(f"Renames could not be taken back: {error}") from error


def _rewrite_all(tree: Tree, journal: Journal, plan: BatchPlan, again: NewTextOf) -> list[str]:
    rewrites, failed_paths = list(plan.rewrites), []
    for number, rewrite in enumerate(rewrites):
        for _ in range(_MAX_TRIES):
            is_rewritten = _try_rewrite(tree, journal, rewrite)
            if is_rewritten:
                break
            if is_rewritten is None:
                time.sleep(_PAUSE_SECONDS)
                continue
            fresh = again(rewrite.path)
            if fresh is None:
                failed_paths.append(rewrite.path)
                break
            rewrite = rewrites[number] = stage_text(journal, rewrite.path, rewrite.label.entry, *fresh)
            _note(journal, changed(plan, rewrites=rewrites))
        else:
            failed_paths.append(rewrite.path)
    return failed_paths


def _try_rewrite(tree: Tree, journal: Journal, rewrite: Rewrite) -> bool | None:
    """Write the new text and return whether it is in place; None: the file has a writer. No save is ever dropped."""
    label = rewrite.label
    assert label.expected is not None
    assert label.new is not None
    try:
        data = journal.read(rewrite.staged)
        written = replace.write(tree, journal, rewrite.path, data, replace.ExpectedFile(label.entry, label.expected))
        if written.displaced is not None:
            replace.retract(tree, journal, rewrite.path, written.displaced, ours=label.new)
            return False
    except FileNotFoundError:  # its text is a copy already, or its directory is gone
        return not journal.has(rewrite.staged)
    except Stale:
        if not _has_digest(tree, rewrite.path, label.new):
            return False
    except Busy:
        return None
    except (Refused, OSError) as error:
        log.warning("not_rewritten", extra={"path": rewrite.path, "error": str(error)})
        return False
    written_copies.rename_to_copy(journal, rewrite.staged, label)
    return True


def _append_staged_lines(tree: Tree, file: str, staged_path: str) -> None:
    with tree.open_file(staged_path) as descriptor, os.fdopen(os.dup(descriptor), "rb") as stream:
        while lines := stream.readlines(_PIECE_BYTES):
            append(tree, file, b"".join(lines))


def _has_digest(tree: Tree, path: str, digest: Digest) -> bool:
    try:
        return tree.digest(path)[0] == digest
    except (Busy, Refused, OSError):
        return False


def _note(journal: Journal, plan: BatchPlan) -> None:
    mark_unfinished(journal.tree)
    unfinished = f"p.{_PLAN}"
    journal.discard(unfinished)
    journal.create(unfinished, encode_plan(plan))
    kernel.rename(journal.descriptor, unfinished, journal.descriptor, _PLAN)
    kernel.fsync(journal.descriptor)


def _discard_plan(journal: Journal) -> None:
    """Discard the plan first: without it, staged texts and files under construction are unused."""
    journal.discard(_PLAN)
    kernel.fsync(journal.descriptor)
    for name in os.listdir(journal.descriptor):
        if name.startswith(STAGED_PREFIX):
            journal.discard(name)
        elif name.startswith(BUILDING_PREFIX) and not journal.is_active(name):
            bulk_create.remove_build_directory(journal, name)


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
        finish_plan(tree, dead)
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
