"""The plan of a change of many files: what its directory in the journal holds, and how it is finished or taken back."""

import json
import logging
import os
import shutil
import time
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, fields
from enum import StrEnum
from uuid import UUID

from mirrord.domain.entry import Digest, EntryId
from mirrord.errors import Refused
from mirrord.mirror.tree import contained_files, kernel
from mirrord.mirror.tree.kernel import OpenDescriptor, Stat, stat_of
from mirrord.mirror.tree.tenant_tree import Tree
from mirrord.mirror.tree.tree_layout import parent_of
from mirrord.mirror.write import applied_plans, trash
from mirrord.mirror.write.append_only_files import append
from mirrord.mirror.write.journal import JOURNALS_PATH, PRIVATE_MODE, TRASH_PATH, Journal
from mirrord.mirror.write.journal_labels import Label, new_key, new_name

KEPT_REASON = "replaced while changes were taken back"  # of a file in the trash
PLANS_PREFIX = "c."  # of the directories of plans in a journal
PLAN_NAME, MARK_NAME = "plan.json", "complete.json"  # the plan's file; the same once all steps are done

_MAX_OPEN_DIRECTORIES = 64  # that are synced together

log = logging.getLogger(__name__)


class StepKind(StrEnum):
    """What a step does: SWAP exchanges a slot and a path, PUT moves a slot to a path, TAKE a path to a slot."""

    MOVE = "move"
    TAKE = "take"
    PUT = "put"
    SWAP = "swap"


@dataclass(frozen=True, slots=True)
class Step:
    """
    One step. inode: of the tree's file that moves or is taken, else of the file in the slot.

    entry: its id. expected: digest in hex of the file that leaves its place, new: of the file that the slot brings; ""
    for none. source: of a MOVE; slot: of the others.
    """

    kind: StepKind
    path: str
    entry: str
    inode: int
    expected: str = ""
    new: str = ""
    source: str = ""
    slot: str = ""


@dataclass(frozen=True, slots=True)
class Disposal:
    """
    A file that goes from its slot to the trash.

    entry: its id. digest, new: in hex, "" for none. key: the last part of its name there.

    path, title, reason: of the card of a removed file; a replaced one has no reason.
    """

    slot: str
    entry: str
    digest: str
    new: str
    key: str
    path: str
    title: str | None = None
    reason: str = ""

    @property
    def label(self) -> Label:
        """The label of its name in the trash."""
        new = Digest(bytes.fromhex(self.new)) if self.new else None
        return Label(EntryId(UUID(self.entry)), Digest(bytes.fromhex(self.digest)), new)

    @property
    def trash_name(self) -> str:
        """Its name in the trash."""
        return new_name("d" if self.reason else "w", self.label, self.key)


@dataclass(frozen=True, slots=True)
class ChangePlan:
    """
    All of a change, as its file says it.

    made_directories: missing ones that the steps need, parents first. emptied: to remove afterwards if they are empty,
    children first. copies: names of copies of the new texts, in the journal. restored: names in the trash of files that
    are back. appended_lines: an event file and the lines for it. draft: the directory of the draft that this was, and
    the text of its `draft.json` from then on.
    """

    steps: Sequence[Step]
    disposals: Sequence[Disposal] = ()
    made_directories: Sequence[str] = ()
    emptied: Sequence[str] = ()
    copies: Sequence[str] = ()
    restored: Sequence[str] = ()
    appended_lines: tuple[str, str] | None = None
    draft: tuple[str, str] | None = None


def encode_plan(plan: ChangePlan) -> bytes:
    """The content of a plan's file."""
    inner = {"steps": list(map(_values_of, plan.steps)), "disposals": list(map(_values_of, plan.disposals))}
    return json.dumps(_values_of(plan) | inner).encode()


def _values_of(part: ChangePlan | Step | Disposal) -> dict[str, object]:
    """As asdict(), which copies every value deeply."""
    return {field.name: getattr(part, field.name) for field in fields(part)}


def decode_plan(data: bytes) -> ChangePlan | None:
    """The plan in a file; None: it is torn, so no step was done."""
    try:
        raw = json.loads(data)
        pairs = {key: tuple(raw[key]) if raw[key] else None for key in ("appended_lines", "draft")}
        steps = [Step(**step | {"kind": StepKind(step["kind"])}) for step in raw["steps"]]
        disposals = [Disposal(**disposal) for disposal in raw["disposals"]]
        return ChangePlan(**raw | pairs | {"steps": steps, "disposals": disposals})
    except (ValueError, KeyError, TypeError, RecursionError):
        return None


def has_plan(tree: Tree, writer: str) -> bool:
    """Whether the journal of *writer* holds a plan."""
    try:
        return any(name.startswith(PLANS_PREFIX) for name in tree.list_names(f"{JOURNALS_PATH}/{writer}"))
    except FileNotFoundError:
        return False


def settle_plans(tree: Tree, journal: Journal) -> None:
    """Finish or take back every plan in the journal of a dead writer; under the write lock."""
    for name in sorted(os.listdir(journal.descriptor)):
        if name.startswith(PLANS_PREFIX):
            settle_plan(tree, journal, name)


def settle_plan(tree: Tree, journal: Journal, name: str) -> None:
    """Finish the plan in the directory *name* of the journal if all its steps are done; else take it back."""
    flags = contained_files.DIRECTORY_FLAGS | os.O_NOFOLLOW | os.O_CLOEXEC
    with OpenDescriptor(os.open(name, flags, dir_fd=journal.descriptor)) as slots:
        if (plan := _read_plan(slots, MARK_NAME)) is not None:
            finish(tree, journal, plan, slots)
            log.warning("changes_finished", extra={"entries": len(plan.steps)})
        elif (plan := _read_plan(slots, PLAN_NAME)) is not None:
            take_back(tree, journal, plan, slots)
            log.warning("changes_taken_back", extra={"entries": len(plan.steps)})
            applied_plans.forget_plan(tree, f"{journal.path}/{name}")
    remove_slots(journal, name)


def remove_slots(journal: Journal, name: str) -> None:
    """Remove the directory of a plan, which holds nothing of the tree's any more."""
    for file in (MARK_NAME, PLAN_NAME):
        journal.discard(f"{name}/{file}")
    shutil.rmtree(name, dir_fd=journal.descriptor)
    kernel.fsync(journal.descriptor)


def take_back(tree: Tree, journal: Journal, plan: ChangePlan, slots: int) -> None:
    """Undo the steps that were done. A file that was saved meanwhile stays, and what it replaced goes to the trash."""
    for step in reversed(plan.steps):
        _undo_step(tree, step, slots)
    for path in reversed(plan.made_directories):
        with suppress(OSError, Refused):
            tree.remove_directory(path)
    sync_places(tree, plan, slots)
    for copy in plan.copies:
        journal.discard(copy)


def finish(tree: Tree, journal: Journal, plan: ChangePlan, slots: int) -> None:
    """Do what follows the steps: trash, emptied directories, events, the end of the draft. Repeating it is harmless."""
    tree.make_directories(TRASH_PATH, PRIVATE_MODE)
    with tree.open_directory(TRASH_PATH) as trash_directory:
        for disposal in plan.disposals:
            dispose(tree, disposal, slots, trash_directory)
        for name in plan.restored:
            for file in (name, f"{name}.json"):
                with suppress(FileNotFoundError):
                    kernel.unlink(trash_directory, file)
        kernel.fsync(trash_directory)
    for path in plan.emptied:
        with suppress(OSError, Refused):
            tree.remove_directory(path)
    if plan.appended_lines is not None:
        append(tree, plan.appended_lines[0], plan.appended_lines[1].encode())
    if plan.draft is not None:
        end_draft(tree, *plan.draft)


def end_draft(tree: Tree, directory: str, facts: str) -> None:
    """Let `draft.json` of a draft say *facts* from now on."""
    with suppress(FileNotFoundError), tree.open_directory(directory) as draft:
        with suppress(FileNotFoundError):
            kernel.unlink(draft, "draft.json.new")
        kernel.write_new(draft, "draft.json.new", facts.encode())
        kernel.rename(draft, "draft.json.new", draft, "draft.json")
        kernel.fsync(draft)


def remove_draft_files(tree: Tree, directory: str) -> None:
    """Remove the files of a draft that ended, all but `draft.json`."""
    with suppress(FileNotFoundError), tree.open_directory(directory) as draft:
        for name in os.listdir(draft):
            if stat_of(os.stat(name, dir_fd=draft, follow_symlinks=False)).is_directory:
                shutil.rmtree(name, dir_fd=draft)
            elif name != "draft.json":
                kernel.unlink(draft, name)


def sync_places(tree: Tree, plan: ChangePlan, slots: int) -> None:
    """Make the steps durable."""
    directories = {parent_of(path) for step in plan.steps for path in (step.path, step.source) if path}
    paths = sorted(directories)
    for start in range(0, len(paths), _MAX_OPEN_DIRECTORIES):
        with ExitStack() as resources:
            descriptors = []
            for path in paths[start : start + _MAX_OPEN_DIRECTORIES]:
                with suppress(FileNotFoundError, NotADirectoryError):
                    descriptors.append(resources.enter_context(tree.open_directory(path)))
            kernel.fsync_all(*descriptors, slots)


def dispose(tree: Tree, disposal: Disposal, slots: int, trash_directory: int) -> None:
    """Move a file from its slot to the trash, with a card if it was removed. No slot: it is a directory's record."""
    if disposal.slot and _stat_in(slots, disposal.slot) is None:
        return
    name = disposal.trash_name
    if disposal.reason:
        card = trash.TrashCard(disposal.path, disposal.title, disposal.reason, time.time())
        with suppress(FileExistsError):
            trash.write_card(tree, name, disposal.label, card)
    if disposal.slot:
        kernel.rename(slots, disposal.slot, trash_directory, name)
        return
    with suppress(FileExistsError):
        os.close(kernel.create(trash_directory, name, 0o600))


def _undo_step(tree: Tree, step: Step, slots: int) -> None:
    in_slot = _stat_in(slots, step.slot) if step.slot else None
    in_place = tree.stat(step.path)
    is_in_place = in_place is not None and in_place.inode == step.inode
    match step.kind:
        case StepKind.MOVE if is_in_place:
            _move_back(tree, step)
        case StepKind.TAKE if in_slot is not None:  # also another file than was planned
            if in_place is not None and in_place.inode == in_slot.inode:  # it was linked there, see kernel.rename_new()
                kernel.unlink(slots, step.slot)
            else:
                _return_taken(tree, step, slots)
        case StepKind.PUT if is_in_place and in_slot is not None:
            with tree.open_directory(parent_of(step.path)) as directory:
                kernel.unlink(directory, _name(step.path))
        case StepKind.PUT if in_slot is None and _is_ours(tree, step, in_place):
            with tree.open_directory(parent_of(step.path)) as out:
                kernel.rename(out, _name(step.path), slots, step.slot)
            _keep_save(tree, step, slots)
        case StepKind.SWAP if in_slot is not None and in_slot.inode != step.inode:
            _swap_back(tree, step, slots, in_place)
        case _:
            pass  # it was not done


def _move_back(tree: Tree, step: Step) -> None:
    source = tree.stat(step.source)
    tree.make_directories(parent_of(step.source))
    with tree.open_directory(parent_of(step.path)) as out, tree.open_directory(parent_of(step.source)) as into:
        if source is None:
            _move_unless_taken(tree, (out, _name(step.path)), (into, _name(step.source)))
        elif source.inode == step.inode:  # it was linked there, see kernel.rename_new()
            kernel.unlink(out, _name(step.path))


def _return_taken(tree: Tree, step: Step, slots: int) -> None:
    tree.make_directories(parent_of(step.path))
    with tree.open_directory(parent_of(step.path)) as into:
        if not _move_unless_taken(tree, (slots, step.slot), (into, _name(step.path))):
            _keep_taken(tree, step, slots)


def _swap_back(tree: Tree, step: Step, slots: int, in_place: Stat | None) -> None:
    if _is_ours(tree, step, in_place):
        with tree.open_directory(parent_of(step.path)) as directory:
            kernel.exchange(slots, step.slot, directory, _name(step.path))
        _keep_save(tree, step, slots)
    else:  # saved over the new text meanwhile
        _keep_taken(tree, step, slots)


def _is_ours(tree: Tree, step: Step, in_place: Stat | None) -> bool:
    """Whether the file in place is the one of the step, and unchanged since."""
    if in_place is None or in_place.inode != step.inode:
        return False
    digest = tree.digest_now(step.path)
    return digest is not None and digest.hex() == step.new


def _keep_save(tree: Tree, step: Step, slots: int) -> None:
    """Keep what came back to the slot if another program saved it at the last moment."""
    with OpenDescriptor(os.open(step.slot, contained_files.FILE_FLAGS | os.O_CLOEXEC, dir_fd=slots)) as descriptor:
        is_ours = contained_files.digest_now(descriptor).hex() == step.new
    if not is_ours:
        _keep_taken(tree, step, slots)


def _keep_taken(tree: Tree, step: Step, slots: int) -> None:
    """Keep a file in the trash whose place another one has taken."""
    log.warning("file_kept_in_trash", extra={"path": step.path})
    disposal = Disposal(step.slot, step.entry, step.expected or step.new, "", new_key(), step.path, reason=KEPT_REASON)
    tree.make_directories(TRASH_PATH, PRIVATE_MODE)
    with tree.open_directory(TRASH_PATH) as trash_directory:
        dispose(tree, disposal, slots, trash_directory)
        kernel.fsync(trash_directory)


def _move_unless_taken(tree: Tree, source: tuple[int, str], target: tuple[int, str]) -> bool:
    try:
        tree.rename_new(*source, *target)
    except FileExistsError:
        return False
    return True


def _stat_in(directory: int, name: str) -> Stat | None:
    try:
        return stat_of(os.stat(name, dir_fd=directory, follow_symlinks=False))
    except FileNotFoundError:
        return None


def _read_plan(slots: int, name: str) -> ChangePlan | None:
    try:
        descriptor = os.open(name, contained_files.FILE_FLAGS | os.O_CLOEXEC, dir_fd=slots)
    except FileNotFoundError:
        return None
    with os.fdopen(descriptor, "rb") as stream:
        return decode_plan(stream.read())


def _name(path: str) -> str:
    return path.rpartition("/")[2]
