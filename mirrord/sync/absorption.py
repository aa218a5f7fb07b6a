"""Files and directories that are no entries of their own: their texts go to the entries that they were made of."""

import asyncio
import time
from functools import partial

from mirrord.domain.entry import Kind
from mirrord.errors import Busy, Stale
from mirrord.mirror.tree.tenant_tree import Tree
from mirrord.mirror.tree.tree_layout import directory_of, is_visible, page_path, parent_of
from mirrord.sync.engine_parts import EngineParts
from mirrord.sync.observation.copied_directories import CopiedDirectories
from mirrord.sync.observation.file_owners import FileOwners
from mirrord.sync.observation.mirror_handles import Sides
from mirrord.sync.observation.retries import FIRST_DELAY_SECONDS
from mirrord.sync.observation.state_assembly import is_owned

COPIED_QUIET_SECONDS = 3.0  # seconds without a change until an emptied copy of a directory goes: rsync may still write


async def absorb_strange_files(parts: EngineParts, owners: FileOwners) -> None:
    """Merge saves into their pages, and bring what a directory that was copied again has to its twin."""
    for path, save in owners.stray_saves.items():
        try:
            digest, entries = await parts.recovery.absorb_stray(path, save.page, save.reason)
        except (Busy, Stale, FileNotFoundError):
            parts.queue.mark([path], forced=True, delay=FIRST_DELAY_SECONDS)
        else:
            parts.sides.former_paths.note_save(path, digest, time.time_ns())
            index_path = page_path("", directory_of(path, Kind.PAGE), index=True)
            parts.queue.mark([index_path], entries, forced=True)
    if owners.copied_directories.twins:
        await _bring_to_twins(parts, owners.copied_directories)


async def _bring_to_twins(parts: EngineParts, copied: CopiedDirectories) -> None:
    parts.sides.check_lease()
    for path, target in copied.new_files.items():
        try:
            await asyncio.to_thread(_move_file, parts.sides, path, target)
        except (Busy, Stale, FileNotFoundError):
            parts.queue.mark([path], forced=True, delay=FIRST_DELAY_SECONDS)
        else:
            parts.queue.mark([target], forced=True)
    for directory, twin in sorted(copied.twins.items(), reverse=True):
        is_new, is_waiting = await asyncio.to_thread(_empty_copy, parts.sides, directory, twin)
        parts.queue.mark([twin] if is_new else [], forced=True)
        if is_waiting:  # not in the queue: what waits there keeps `flush` waiting
            look_again = partial(parts.queue.mark, [directory], forced=True)
            asyncio.get_running_loop().call_later(COPIED_QUIET_SECONDS, look_again)


def _move_file(sides: Sides, path: str, target: str) -> None:
    """Blocking. Raises Stale if a file is at *target*."""
    sides.tree.make_directories(parent_of(target))
    sides.tree.move(path, target)
    sides.looker.index.forget(path)


def _empty_copy(sides: Sides, directory: str, twin: str) -> tuple[bool, bool]:
    """
    Make the twin of a copied directory if it lacks one, and remove the copy if it is empty and at rest; blocking.

    Returns whether the twin was made, and whether the copy is to be looked at again.
    """
    if sides.tree.stat(directory) is None:
        return False, False
    is_new = sides.tree.stat(twin) is None and not is_owned(twin, sides.looker.index)
    if is_new:
        sides.tree.make_directories(twin)
    if _remove_empty(sides.tree, directory):
        sides.looker.index.forget(directory)
        return is_new, False
    return is_new, _is_at_work(sides.tree, directory)


def _remove_empty(tree: Tree, directory: str) -> bool:
    """Remove a directory, and those in it, if they are empty and were so for a while."""
    if _is_at_work(tree, directory):
        return False
    for name in tree.list_names(directory):
        path = f"{directory}/{name}"
        stat = tree.stat(path) if is_visible(name) else None
        if stat is None or not stat.is_directory or not _remove_empty(tree, path):
            return False
    return tree.remove_directory(directory)


def _is_at_work(tree: Tree, directory: str) -> bool:
    """Whether something in a directory changed lately."""
    stat = tree.stat(directory)
    return stat is not None and time.time() - stat.ctime_ns / 1e9 < COPIED_QUIET_SECONDS
