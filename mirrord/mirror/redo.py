"""
Finish the plan of renames of a dead writer, before the tree is scanned.

After half of a plan a page would have its new name and its directory still the old one, just as after renames by a
person. Every step names the inode it is for, so that a step is done once.
"""

import json
import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import astuple, dataclass

from mirrord.errors import Refused, Stale
from mirrord.mirror import kernel, parking
from mirrord.mirror.layout import parent_of
from mirrord.mirror.tree import Tree

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
    with suppress(ValueError):  # torn: no step was done
        for step in [Redo(*values) for values in json.loads(text)]:
            with suppress(Stale, Refused, OSError):
                _do_step(tree, directory, step)


def _do_step(tree: Tree, directory: int, step: Redo) -> None:
    name = (step.target if step.act == "PARK" else step.source).rpartition("/")[2]
    if step.act == "UNPARK":
        os.stat(name, dir_fd=directory, follow_symlinks=False)  # raises if it is back already
        tree.make_directories(parent_of(step.target))
        parking.unpark(tree, directory, name, step.target)
        return
    stat = tree.stat(step.source)
    if stat is None or stat.inode != step.inode:
        return
    if step.act == "EXCHANGE":
        tree.exchange(step.source, step.target)
    elif step.act == "PARK":
        _write_note(directory, name + parking.NOTE_SUFFIX, parking.note_of(step.final, step.source))
        parking.park(tree, step.source, directory, name)
    else:
        tree.make_directories(parent_of(step.target))
        tree.move(step.source, step.target)


def _write_note(directory: int, name: str, text: bytes) -> None:
    with suppress(FileExistsError):
        descriptor = kernel.create(directory, name, 0o600)
        try:
            kernel.write(descriptor, text)
            kernel.fsync(descriptor)
        finally:
            os.close(descriptor)
