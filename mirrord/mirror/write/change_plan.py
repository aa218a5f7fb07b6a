"""
Carries out changes of many files as a whole: all of them or none, even if this process dies in the middle.

New texts are staged in a directory of the journal, `c.KEY`, and every step is an exchange or a rename that leaves a
trace: from the inodes in place and in the directory follows which steps were done. A plan without the mark of its end
is taken back as a whole by the next writer, with the mark it is finished. Each file that leaves its place is compared
afterwards; a save of another program in between takes everything back, and stays.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from uuid import UUID

from mirrord.domain.entry import Digest, EntryId, digest_of
from mirrord.errors import Busy, Refused, Stale
from mirrord.mirror.tree import contained_files, file_access, kernel
from mirrord.mirror.tree.observed_work import report_work
from mirrord.mirror.tree.tenant_tree import Tree, check_entry
from mirrord.mirror.tree.tree_layout import lineage, parent_of, printable
from mirrord.mirror.write import applied_plans, change_recovery
from mirrord.mirror.write.applied_plans import AppliedPlan
from mirrord.mirror.write.change_recovery import (
    MARK_NAME,
    PLAN_NAME,
    PLANS_PREFIX,
    ChangePlan,
    Disposal,
    Step,
    StepKind,
    encode_plan,
)
from mirrord.mirror.write.journal import Journal
from mirrord.mirror.write.journal_labels import Label, new_key, new_name
from mirrord.mirror.write.rename_plan import Removal
from mirrord.mirror.write.tree_locks import lock_for, mark_unfinished

SETTLED_PERCENT = 50  # of applying a change set: when it is compared, and before it is staged
_MAX_OPEN_FILES = 64  # staged files that are synced together
_WRITER_SECONDS = 1.0  # for a program that still writes a displaced file


@dataclass(frozen=True, slots=True)
class FileMove:
    """A file that gets another path. expected: its digest."""

    source: str
    target: str
    entry: EntryId
    expected: Digest


@dataclass(frozen=True, slots=True)
class FileText:
    """A file with a new content, at its path after all moves. expected: its digest before; None: it is new."""

    path: str
    entry: EntryId
    expected: Digest | None
    data: bytes


@dataclass(frozen=True, slots=True)
class FileChanges:
    """
    Changes that belong together; their paths are those after all moves, those of removals before.

    directories: to make if they are missing. folder_records: removed directories, for the trash. approved_by: the
    request that a person approved; None: no person looked at it. Others: as in ChangePlan.
    """

    moves: Sequence[FileMove] = ()
    texts: Sequence[FileText] = ()
    removals: Sequence[Removal] = ()
    directories: Sequence[str] = ()
    folder_records: Sequence[Removal] = ()
    emptied: Sequence[str] = ()
    restored: Sequence[str] = ()
    appended_lines: tuple[str, str] | None = None
    draft: tuple[str, str] | None = None
    approved_by: str | None = None

    @property
    def paths(self) -> list[str]:
        """The paths of all affected files."""
        paths = [removal.path for removal in self.removals] + [text.path for text in self.texts]
        return paths + [path for move in self.moves for path in (move.source, move.target)]


@dataclass(slots=True)
class _Staging:
    """Slots of one plan, and the steps for them."""

    tree: Tree
    journal: Journal
    slots: int
    steps: list[Step] = field(default_factory=list)
    disposals: list[Disposal] = field(default_factory=list)
    copies: list[str] = field(default_factory=list)
    slots_count: int = 0

    def next_slot(self) -> str:
        self.slots_count += 1
        return str(self.slots_count)


class Unfinished(OSError):
    """All files are as they were meant to be, and events or the trash are not yet: the next writer sees to it."""


def carry_out(tree: Tree, journal: Journal, changes: FileChanges) -> None:
    """
    Carry out *changes*, under the write lock.

    Raises Stale, Busy, Refused or OSError, and then nothing is changed, nor is anything that others saved lost; but
    Unfinished if everything is changed, and the next writer does what is left to do.
    """
    for path in changes.paths:
        check_entry(path)
    with lock_for(tree, changes.paths), _slots_directory(journal) as (name, slots):
        staging = _Staging(tree, journal, slots)
        with ExitStack() as undone:
            undone.callback(_drop_staged, staging, name)
            plan = _stage(staging, changes)
            mark_unfinished(tree)
            _write_plan(journal, slots, plan)
            applied_plans.note_plan(tree, _noted(plan, f"{journal.path}/{name}", changes.approved_by))
            undone.pop_all()
        try:
            _do_steps(tree, plan, slots)
            _mark_finished(slots)
        except (Stale, Busy, Refused, OSError):
            change_recovery.take_back(tree, journal, plan, slots)
            applied_plans.forget_plan(tree, f"{journal.path}/{name}")
            change_recovery.remove_slots(journal, name)
            raise
        try:
            change_recovery.finish(tree, journal, plan, slots)
            change_recovery.remove_slots(journal, name)
        except OSError as error:
            raise Unfinished(*error.args) from error


@contextmanager
def _slots_directory(journal: Journal) -> Iterator[tuple[str, int]]:
    name = PLANS_PREFIX + new_key()
    journal.make_directory(name)
    slots = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=journal.descriptor)
    try:
        yield name, slots
    finally:
        os.close(slots)


def _stage(staging: _Staging, changes: FileChanges) -> ChangePlan:
    """Stage the new texts durably, and write the steps in their order: removals, moves, new files, new texts."""
    for removal in changes.removals:
        _plan_removal(staging, removal)
    _plan_moves(staging, changes.moves)
    places = {move.target: move.source for move in changes.moves}
    new, replaced = _stage_texts(staging, changes.texts, places)
    staging.steps += [*new, *replaced]
    records = [_disposal_of("", removal) for removal in changes.folder_records]
    return ChangePlan(
        steps=staging.steps,
        disposals=[*staging.disposals, *records],
        made_directories=_missing_directories(staging.tree, changes),
        emptied=changes.emptied,
        copies=staging.copies,
        restored=changes.restored,
        appended_lines=changes.appended_lines,
        draft=changes.draft,
    )


def _plan_removal(staging: _Staging, removal: Removal) -> None:
    slot = staging.next_slot()
    inode = _inode_of(staging.tree, removal.path)
    staging.steps.append(Step(StepKind.TAKE, removal.path, removal.entry, inode, removal.expected, slot=slot))
    staging.disposals.append(_disposal_of(slot, removal))


def _disposal_of(slot: str, removal: Removal) -> Disposal:
    return Disposal(slot, removal.entry, removal.expected, "", removal.key, removal.path, removal.title, removal.reason)


def _plan_moves(staging: _Staging, moves: Sequence[FileMove]) -> None:
    """Each move after the one that frees its target; in a circle one file waits in a slot."""
    pending = {move.source: move for move in moves}
    while pending:
        move = next((move for move in pending.values() if move.target not in pending), None)
        if move is not None:
            del pending[move.source]
            staging.steps.append(_move_step(staging, move))
            continue
        move = pending.pop(next(iter(pending)))
        slot, inode = staging.next_slot(), _inode_of(staging.tree, move.source)
        digest, entry = move.expected.hex(), str(move.entry)
        staging.steps.append(Step(StepKind.TAKE, move.source, entry, inode, digest, slot=slot))
        later = Step(StepKind.PUT, move.target, entry, inode, new=digest, slot=slot)
        _plan_moves(staging, list(pending.values()))
        staging.steps.append(later)
        return


def _move_step(staging: _Staging, move: FileMove) -> Step:
    inode = _inode_of(staging.tree, move.source)
    return Step(StepKind.MOVE, move.target, str(move.entry), inode, move.expected.hex(), source=move.source)


def _stage_texts(
    staging: _Staging, texts: Sequence[FileText], places: Mapping[str, str]
) -> tuple[list[Step], list[Step]]:
    """Steps of new files, and of new texts. places: present paths of moved files by their new ones."""
    new: list[Step] = []
    replaced: list[Step] = []
    for start in range(0, len(texts), _MAX_OPEN_FILES):
        with ExitStack() as resources:
            descriptors = []
            for text in texts[start : start + _MAX_OPEN_FILES]:
                steps, descriptor = _stage_text(staging, text, places.get(text.path, text.path))
                resources.callback(os.close, descriptor)
                descriptors.append(descriptor)
                (new if text.expected is None else replaced).extend(steps)
            kernel.fsync_all(*descriptors)
        report_work(start + len(descriptors), len(texts), first=SETTLED_PERCENT)
    return new, replaced


def _stage_text(staging: _Staging, text: FileText, place: str) -> tuple[list[Step], int]:
    slot, entry, digest = staging.next_slot(), str(text.entry), digest_of(text.data)
    _write_copy(staging, Label(text.entry, text.expected, digest), text.data)
    mode = file_access.FILE_MODE if text.expected is None else 0o600
    descriptor = kernel.create(staging.slots, slot, mode)
    with ExitStack() as undone:
        undone.callback(os.close, descriptor)
        kernel.write(descriptor, text.data)
        _dress(staging.tree, descriptor, place, is_new=text.expected is None)
        inode = os.fstat(descriptor).st_ino
        undone.pop_all()
    put = Step(StepKind.PUT, text.path, entry, inode, new=digest.hex(), slot=slot)
    if text.expected is None:
        return [put], descriptor
    swaps = staging.tree.can_exchange
    expected, old_slot = text.expected.hex(), slot if swaps else staging.next_slot()
    staging.disposals.append(Disposal(old_slot, entry, expected, digest.hex(), new_key(), text.path))
    if swaps:
        return [Step(StepKind.SWAP, text.path, entry, inode, expected, digest.hex(), slot=slot)], descriptor
    old_inode = _inode_of(staging.tree, place)
    return [Step(StepKind.TAKE, text.path, entry, old_inode, expected, slot=old_slot), put], descriptor


def _write_copy(staging: _Staging, label: Label, data: bytes) -> None:
    """As in written_copies: what the daemon knows the entry by, and keeps as a version if the text is replaced soon."""
    name = new_name("a", label)
    descriptor = staging.journal.create_empty(name)
    try:
        kernel.write(descriptor, data)
    finally:
        os.close(descriptor)
    staging.copies.append(name)


def _dress(tree: Tree, descriptor: int, place: str, *, is_new: bool) -> None:
    if not is_new:
        with tree.open_file(place) as old:
            file_access.copy_access(descriptor, old, place)
        return
    directory = next((path for path in lineage(parent_of(place)) if tree.stat(path) is not None), "")
    with tree.open_directory(directory) as parent:
        file_access.inherit_access(descriptor, parent)


def _missing_directories(tree: Tree, changes: FileChanges) -> list[str]:
    parents = {
        parent_of(path) for path in (*(move.target for move in changes.moves), *(text.path for text in changes.texts))
    }
    directories = {path for directory in (*parents, *changes.directories) for path in lineage(directory)}
    return sorted((path for path in directories if tree.stat(path) is None), key=lambda path: path.count("/"))


def _inode_of(tree: Tree, path: str) -> int:
    stat = tree.stat(path)
    if stat is None or not stat.is_file:
        raise Stale(f"{printable(path)!r} is no longer there.")
    return stat.inode


def _noted(plan: ChangePlan, directory: str, approved_by: str | None) -> AppliedPlan:
    """The note about *plan*. directory: of the plan, in its journal."""
    places = {path for step in plan.steps for path in (step.path, step.source) if path}
    removed = {disposal.path for disposal in plan.disposals if disposal.reason} | {*plan.emptied}
    return AppliedPlan(
        directory,
        paths=frozenset(places.union(plan.made_directories, removed)),
        removed=frozenset(removed),
        entries=frozenset(EntryId(UUID(step.entry)) for step in plan.steps),
        approved_by=approved_by,
    )


def _write_plan(journal: Journal, slots: int, plan: ChangePlan) -> None:
    unfinished = f"{PLAN_NAME}.new"
    kernel.write_new(slots, unfinished, encode_plan(plan))
    kernel.rename(slots, unfinished, slots, PLAN_NAME)
    kernel.fsync_all(slots, journal.descriptor)


def _drop_staged(staging: _Staging, name: str) -> None:
    for copy in staging.copies:
        staging.journal.discard(copy)
    applied_plans.forget_plan(staging.tree, f"{staging.journal.path}/{name}")
    change_recovery.remove_slots(staging.journal, name)


def _do_steps(tree: Tree, plan: ChangePlan, slots: int) -> None:
    for directory in plan.made_directories:
        tree.make_directories(directory)
    for step in plan.steps:
        _do_step(tree, step, slots)
    change_recovery.sync_places(tree, plan, slots)


def _mark_finished(slots: int) -> None:
    """Mark the plan; if that is not durable it is unmarked: a crash while it is taken back must not finish it."""
    kernel.rename(slots, PLAN_NAME, slots, MARK_NAME)
    with ExitStack() as unmarked:
        unmarked.callback(kernel.rename, slots, MARK_NAME, slots, PLAN_NAME)
        kernel.fsync(slots)
        unmarked.pop_all()


def _do_step(tree: Tree, step: Step, slots: int) -> None:
    """Do a step. Raises Stale if the file that left its place is not the expected one, Busy if it is being written."""
    name = step.path.rpartition("/")[2]
    try:
        with tree.open_directory(parent_of(step.path)) as directory:
            if step.kind is StepKind.PUT:
                tree.rename_new(slots, step.slot, directory, name)
                return
            _check_no_writer(tree, step.source or step.path)
            if step.kind is StepKind.MOVE:
                with tree.open_directory(parent_of(step.source)) as out:
                    _move_file(tree, step, out, directory)
                return
            if step.kind is StepKind.TAKE:
                tree.rename_new(directory, name, slots, step.slot)
            else:
                kernel.exchange(slots, step.slot, directory, name)
            _check_displaced(step, slots, step.slot)
    except FileExistsError:
        raise Stale(f"{printable(step.path)!r} exists already.") from None
    except FileNotFoundError:
        raise Stale(f"{printable(step.source or step.path)!r} is no longer there.") from None


def _move_file(tree: Tree, step: Step, out: int, into: int) -> None:
    source, name = step.source.rpartition("/")[2], step.path.rpartition("/")[2]
    tree.rename_new(out, source, into, name)
    try:
        _check_displaced(step, into, name)
    except (Stale, Busy):
        with suppress(FileExistsError, FileNotFoundError):  # it may be another file, which no step would move back
            tree.rename_new(into, name, out, source)
        raise


def _check_no_writer(tree: Tree, path: str) -> None:
    with tree.open_file(path) as descriptor:
        if kernel.has_writer(descriptor):
            raise Busy(f"{printable(path)!r} is open for writing in another program.")


def _check_displaced(step: Step, directory: int, name: str) -> None:
    path = step.source or step.path
    descriptor = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=directory)
    try:
        if not contained_files.wait_for_writers(descriptor, _WRITER_SECONDS):
            raise Busy(f"{printable(path)!r} is open for writing in another program.")
        if contained_files.digest_now(descriptor).hex() != step.expected:
            raise Stale(f"{printable(path)!r} was saved meanwhile.")
    finally:
        os.close(descriptor)
