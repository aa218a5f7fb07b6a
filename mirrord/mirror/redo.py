"""
What is left of a plan of renames whose writer died: finished by the next, before anybody looks at the tree.

Half of it done, a page would be under its new name and its directory still under the old one, which nobody could
tell from what a person does. Every step names the inode it is for, so that a step is done once.
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

PLAN = "s.plan"


@dataclass(frozen=True, slots=True)
class Redo:
    """One rename. act: RENAME, EXCHANGE, PARK or UNPARK; final: where what is parked is to be in the end."""

    act: str
    source: str
    target: str
    final: str
    inode: int


def spelled(steps: Sequence[Redo]) -> bytes:
    """The text of a plan."""
    return json.dumps([astuple(step) for step in steps]).encode()


def finish(tree: Tree, directory: int, text: bytes) -> None:
    """Do what is not done yet; what cannot be done any more stays where it is."""
    with suppress(ValueError):  # torn: then nothing of it was done
        for step in [Redo(*values) for values in json.loads(text)]:
            with suppress(Stale, Refused, OSError):
                _do(tree, directory, step)


def _do(tree: Tree, directory: int, step: Redo) -> None:
    name = (step.target if step.act == "PARK" else step.source).rpartition("/")[2]
    if step.act == "UNPARK":
        os.stat(name, dir_fd=directory, follow_symlinks=False)  # else it is back
        tree.make_directories(parent_of(step.target))
        parking.come_back(tree, directory, name, step.target)
        return
    found = tree.stat(step.source)
    if found is None or found.inode != step.inode:
        return
    if step.act == "EXCHANGE":
        tree.exchange(step.source, step.target)
    elif step.act == "PARK":
        _note(directory, name + parking.NOTE, parking.note_of(step.final, step.source))
        parking.leave(tree, step.source, directory, name)
    else:
        tree.make_directories(parent_of(step.target))
        tree.move(step.source, step.target)


def _note(directory: int, name: str, text: bytes) -> None:
    with suppress(FileExistsError):
        descriptor = kernel.create(directory, name, 0o600)
        try:
            kernel.write(descriptor, text)
            kernel.fsync(descriptor)
        finally:
            os.close(descriptor)
