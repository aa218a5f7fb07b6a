"""
Change sets that were applied to files, for the daemon, which takes each of them into rows as a whole.

A note in `.mirrord/applied` has the places that one plan changes. It is durable before the first file changes, and is
removed when the plan was taken back, or by the daemon when rows have it. While the plan's directory is in its journal,
the plan is under way: half of its files may be changed.
"""

import json
import os
from collections.abc import Collection
from contextlib import suppress
from dataclasses import dataclass
from uuid import UUID

from mirrord.domain.entry import EntryId
from mirrord.errors import Busy, Damaged, Refused, Unavailable, reason_of
from mirrord.mirror.tree import kernel
from mirrord.mirror.tree.tenant_tree import Tree
from mirrord.mirror.tree.tree_layout import STATE_DIRECTORY
from mirrord.mirror.write.journal import PRIVATE_MODE

APPLIED_PATH = f"{STATE_DIRECTORY}/applied"
_MAX_NOTE_BYTES = 10_000_000  # bytes of a note; one of 500 pages with long paths has 300,000
_SUFFIX, _UNFINISHED = ".json", ".new"  # of a note; added while it is being written


@dataclass(frozen=True, slots=True)
class AppliedPlan:
    """
    What one plan changes. directory: of the plan, in its journal.

    paths: of files and directories before and after. removed: those that it removes. entries: of its files.
    approved_by: the id of the request that a person approved, which rows know; None: no person looked at it.
    """

    directory: str
    paths: frozenset[str]
    removed: frozenset[str]
    entries: frozenset[EntryId]
    approved_by: str | None = None

    @property
    def name(self) -> str:
        """The name of its note."""
        return _name_of_note(self.directory)

    def concerns(self, paths: Collection[str], entries: Collection[EntryId]) -> bool:
        """Whether it changes one of these."""
        return not (self.paths.isdisjoint(paths) and self.entries.isdisjoint(entries))


def note_plan(tree: Tree, plan: AppliedPlan) -> None:
    """Note durably that *plan* begins."""
    content = {
        "directory": plan.directory,
        "paths": sorted(plan.paths),
        "removed": sorted(plan.removed),
        "entries": sorted(map(str, plan.entries)),
        "approved_by": plan.approved_by,
    }
    tree.make_directories(APPLIED_PATH, PRIVATE_MODE)
    with tree.open_directory(APPLIED_PATH) as notes:
        unfinished = plan.name + _UNFINISHED
        kernel.write_new(notes, unfinished, json.dumps(content).encode())
        kernel.rename(notes, unfinished, notes, plan.name)
        kernel.fsync(notes)


def forget_plan(tree: Tree, directory: str) -> None:
    """Forget the plan in *directory*: it was taken back, or rows have it."""
    name = _name_of_note(directory)
    for file in (name, name + _UNFINISHED):
        _remove_note(tree, file)


def list_notes(tree: Tree) -> frozenset[str]:
    """The names of all notes. Raises Unavailable: without them, half of a change set might be taken for all of it."""
    try:
        with tree.open_directory(APPLIED_PATH) as notes:
            names = os.listdir(notes)
    except (FileNotFoundError, NotADirectoryError):
        return frozenset()
    except OSError as error:
        raise _unreadable(error) from error
    return frozenset([name for name in names if name.endswith(_SUFFIX)])


def load_plans(tree: Tree, names: Collection[str]) -> list[AppliedPlan]:
    """The plans of these notes. A note that is none is left out and removed. Raises Unavailable as `list_notes`."""
    plans = []
    for name in sorted(names):
        try:
            plan = _decode_note(tree.read(f"{APPLIED_PATH}/{name}", _MAX_NOTE_BYTES)[0])
            if plan is not None and plan.name == name:
                plans.append(plan)
            else:
                _remove_note(tree, name)
        except (FileNotFoundError, Busy, Refused, Damaged):
            continue
        except OSError as error:
            raise _unreadable(error) from error
    return plans


def is_under_way(tree: Tree, plan: AppliedPlan) -> bool:
    """Whether the plan is not finished: its writer is at work, or died and the next one sees to it."""
    return tree.stat(plan.directory) is not None


def _unreadable(error: OSError) -> Unavailable:
    return Unavailable(f"The notes about applied change sets cannot be read: {reason_of(error)}")


def _name_of_note(directory: str) -> str:
    return directory.rpartition("/")[2] + _SUFFIX


def _decode_note(data: bytes) -> AppliedPlan | None:
    try:
        raw = json.loads(data)
        entries = frozenset(EntryId(UUID(entry)) for entry in raw["entries"])
        approved_by = raw.get("approved_by")
        return AppliedPlan(
            raw["directory"],
            frozenset(raw["paths"]),
            frozenset(raw["removed"]),
            entries,
            approved_by if isinstance(approved_by, str) else None,
        )
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None


def _remove_note(tree: Tree, name: str) -> None:
    with suppress(FileNotFoundError, NotADirectoryError), tree.open_directory(APPLIED_PATH) as notes:
        kernel.unlink(notes, name)
