"""
A plan: renames, removals and new texts of several files that belong together; its file; the files it parks.

A file missing from the tree counts as deleted, so everything parked comes back in any case: by the plan that parked it,
else by the recovery of the journal, which reads target and source from a note.

After half of a plan a page would have its new name and its directory still the old one, just as after renames by a
person. Every step names the inode it is for, so that a step is done once.
"""

import json
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import astuple, dataclass
from itertools import chain, count

from mirrord.domain.place import numbered_name
from mirrord.errors import Refused, Stale
from mirrord.mirror.tree import kernel
from mirrord.mirror.tree.tenant_tree import Tree
from mirrord.mirror.tree.tree_layout import SUFFIX, parent_of
from mirrord.mirror.write.journal_labels import Label, label_of


@dataclass(frozen=True, slots=True)
class Rename:
    """A file or directory that gets another, free path. inode: identifies it, so that the step is done once."""

    source: str
    target: str
    inode: int


@dataclass(frozen=True, slots=True)
class Removal:
    """A file that goes to the trash. entry: its id; over: digest of its content, in hex; the others as for remove()."""

    path: str
    entry: str
    expected: str
    key: str
    reason: str
    title: str | None = None


@dataclass(frozen=True, slots=True)
class Rewrite:
    """A file that gets another text. path: after the renames. staged: the name of the text in the journal."""

    path: str
    staged: str

    @property
    def label(self) -> Label:
        """The entry, the expected and the new digest of the text."""
        label = label_of(self.staged)
        assert label is not None
        return label


@dataclass(frozen=True, slots=True)
class BatchPlan:
    """
    Steps that belong together.

    removal: the first step; no other step is about its file. followers: go to the trash after the renames, unchanged,
    or stay if they are saved at that moment. emptied: directories to remove if they are empty.
    appended_lines: a file and the lines to append to it at the end. staged_lines: the same, but the lines are those of
    a staged file in the journal, of any length.
    """

    renames: Sequence[Rename] = ()
    rewrites: Sequence[Rewrite] = ()
    emptied: Sequence[str] = ()
    appended_lines: tuple[str, str] | None = None
    removal: Removal | None = None
    staged_lines: tuple[str, str] | None = None
    followers: Sequence[Removal] = ()

    @property
    def paths(self) -> list[str]:
        """The paths of all affected files."""
        paths = [self.removal.path] if self.removal is not None else []
        paths += [step.path for step in self.followers]
        return [*paths, *(step.source for step in self.renames), *(step.path for step in self.rewrites)]


def encode_plan(plan: BatchPlan) -> bytes:
    """The content of the plan's file."""
    facts = {
        "renames": [[step.source, step.target, step.inode] for step in plan.renames],
        "rewrites": [[step.path, step.staged] for step in plan.rewrites],
        "emptied": list(plan.emptied),
        "note": plan.appended_lines,
        "told": plan.staged_lines,
        "removal": astuple(plan.removal) if plan.removal is not None else None,
        "followers": [astuple(step) for step in plan.followers],
    }
    return json.dumps(facts).encode()


def decode_plan(text: bytes) -> BatchPlan | None:
    """The plan in *text*; None: it is torn, so no step was done."""
    try:
        raw = json.loads(text)
        return BatchPlan(
            renames=[Rename(*row) for row in raw["renames"]],
            rewrites=[Rewrite(*row) for row in raw["rewrites"]],
            emptied=raw["emptied"],
            appended_lines=_parse_pair(raw["note"]),
            removal=Removal(*raw["removal"]) if raw.get("removal") else None,
            staged_lines=_parse_pair(raw.get("told")),
            followers=[Removal(*row) for row in raw.get("followers", ())],
        )
    except (ValueError, KeyError, TypeError, RecursionError):
        return None


def _parse_pair(raw: list[str] | None) -> tuple[str, str] | None:
    return (str(raw[0]), str(raw[1])) if raw else None


NOTE_SUFFIX = ".path"  # suffix of the name of a note; before it stands the name of the parked file


def note_of(target: str, source: str) -> bytes:
    """The content of a note: on the way from *source* to *target*."""
    return b"\0".join(map(os.fsencode, (target, source)))


def park(tree: Tree, path: str, directory: int, name: str) -> None:
    """Move the entry at *path* out of the tree, to *name* in an open directory."""
    with tree.open_directory(parent_of(path)) as place:
        tree.rename_new(place, path.rpartition("/")[2], directory, name)
        kernel.fsync(directory)
        kernel.fsync(place)


def unpark(tree: Tree, directory: int, name: str, path: str) -> None:
    """Move *name* back to *path*, whose directory exists. Raises FileExistsError if that is taken."""
    with tree.open_directory(parent_of(path)) as place:
        tree.rename_new(directory, name, place, path.rpartition("/")[2])
        kernel.fsync(place)
        kernel.fsync(directory)


def recover(tree: Tree, directory: int, name: str, note: bytes) -> str | None:
    """Move a dead writer's parked file back and return its path; None: it was never parked, or is back already."""
    target, source = map(os.fsdecode, note.split(b"\0"))
    for path in chain((target, source), _alternative_paths(source)):
        try:
            os.stat(name, dir_fd=directory, follow_symlinks=False)
        except FileNotFoundError:
            return None
        if _has_moved_back(tree, directory, name, path):
            return path
    return None


def _has_moved_back(tree: Tree, directory: int, name: str, path: str) -> bool:
    with suppress(FileExistsError, FileNotFoundError, NotADirectoryError, Refused):
        tree.make_directories(parent_of(path))
        unpark(tree, directory, name, path)
        return True
    return False


def _alternative_paths(path: str) -> Iterator[str]:
    """Numbered names in the same directory and, alternating, at the root, where no parent can be missing."""
    return chain.from_iterable(zip(_numbered_paths(path), _numbered_paths(path.rpartition("/")[2]), strict=False))


def _numbered_paths(path: str) -> Iterable[str]:
    above, _, name = path.rpartition("/")
    ending = SUFFIX if name.endswith(SUFFIX) else ""
    return (f"{above}/{numbered_name(name, number, ending)}".lstrip("/") for number in count(2))


PLAN_NAME = "s.plan"


@dataclass(frozen=True, slots=True)
class Redo:
    """One rename. act: RENAME, EXCHANGE, PARK or UNPARK; final: the final path of a parked file."""

    act: str
    source: str
    target: str
    final: str
    inode: int


def encode_steps(steps: Sequence[Redo]) -> bytes:
    """The content of a plan's file."""
    return json.dumps([astuple(step) for step in steps]).encode()


def finish_steps(tree: Tree, directory: int, text: bytes) -> None:
    """Do the remaining steps; files of impossible steps stay in place."""
    with suppress(ValueError, RecursionError):  # torn: no step was done
        for step in [Redo(*values) for values in json.loads(text)]:
            with suppress(Stale, Refused, OSError):
                _do_step(tree, directory, step)


def _do_step(tree: Tree, directory: int, step: Redo) -> None:
    name = (step.target if step.act == "PARK" else step.source).rpartition("/")[2]
    if step.act == "UNPARK":
        os.stat(name, dir_fd=directory, follow_symlinks=False)  # raises if it is back already
        tree.make_directories(parent_of(step.target))
        unpark(tree, directory, name, step.target)
        return
    stat = tree.stat(step.source)
    if stat is None or stat.inode != step.inode:
        return
    if step.act == "EXCHANGE":
        tree.exchange(step.source, step.target)
    elif step.act == "PARK":
        _write_note(directory, name + NOTE_SUFFIX, note_of(step.final, step.source))
        park(tree, step.source, directory, name)
    else:
        tree.make_directories(parent_of(step.target))
        tree.move(step.source, step.target)


def _write_note(directory: int, name: str, text: bytes) -> None:
    with suppress(FileExistsError):
        kernel.write_new(directory, name, text)
