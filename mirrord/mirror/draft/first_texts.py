"""A draft's first text of a file that the tree has, and beside it what it stands for, in the draft's trash."""

import os
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from pathlib import Path

from mirrord.domain.entry import MAX_FILE_BYTES, digest_of
from mirrord.errors import Refused, Stale
from mirrord.mirror.draft.draft_manifest import Claim, ClaimKind, FirstText, Manifest
from mirrord.mirror.tree import contained_files, file_access, kernel
from mirrord.mirror.tree.kernel import OpenDescriptor
from mirrord.mirror.tree.replaced_file import Replaced
from mirrord.mirror.tree.tenant_tree import Tree
from mirrord.mirror.tree.tree_layout import lineage, parent_of, printable
from mirrord.mirror.write.journal import PRIVATE_MODE, TRASH_PATH


def write_first_text(
    trees: tuple[Tree, Tree], manifest: Manifest, path: str, data: bytes, replaced: Replaced, unsynced: Sequence[int]
) -> FirstText:
    """
    Write *data* to *path* of the draft, what the tree has there into the draft's trash, and a line; all durably.

    trees: the tenant's, and that of the draft's own files. unsynced: descriptors to sync too. Until the first text is
    confirmed in the manifest, nothing is recorded.

    Raises Stale, Busy, Refused or OSError, and then no new file is there.
    """
    lower, upper = trees
    with ExitStack() as opened:
        try:
            old = opened.enter_context(lower.open_file(path, replaced.stat))
            directory = opened.enter_context(upper.open_directory(parent_of(path)))
        except FileNotFoundError:
            raise Stale(f"{printable(path)!r} is no longer there.") from None
        old_data, stat = contained_files.read(old, path, MAX_FILE_BYTES)
        if digest_of(old_data) != replaced.digest:
            raise Stale(f"{printable(path)!r} was saved meanwhile.")
        trash, undone = opened.enter_context(_open_trash(upper)), opened.enter_context(ExitStack())
        name = path.rpartition("/")[2]
        with suppress(FileNotFoundError):
            kernel.unlink(directory, name)  # of a text that nothing was recorded of
        descriptors = []
        for place, file_name, content in ((trash, replaced.name, old_data), (directory, name, data)):
            descriptors.append(opened.enter_context(OpenDescriptor(kernel.create(place, file_name, 0o600))))
            undone.callback(kernel.unlink, place, file_name)
            kernel.write(descriptors[-1], content)
        file_access.copy_access(descriptors[-1], old, path)
        first = FirstText(Claim(path, ClaimKind.FILE, replaced.digest, stat), replaced.new_digest, replaced.name)
        manifest.begin_first_text(first)
        with manifest.syncing() as lines:
            kernel.fsync_all(*descriptors, directory, trash, *unsynced, *lines)
        undone.pop_all()
    return first


def open_manifest(directory: Path, upper: Tree) -> Manifest:
    """
    The manifest of the draft at *directory*, without a last line whose files a power cut took.

    upper: the tree of the draft's own files. Raises Damaged or OSError.
    """
    with OpenDescriptor(os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)) as descriptor:
        while True:
            with ExitStack() as unless_returned:
                manifest = Manifest(descriptor)
                unless_returned.callback(manifest.close)
                if _is_settled(manifest, upper):
                    unless_returned.pop_all()
                    return manifest


def confirm_loaded_text(manifest: Manifest, upper: Tree) -> None:
    """Make durable what the last line relies on, if a process that was killed may not have: the files change next."""
    if (first := manifest.unconfirmed) is None:
        return
    kept_path = f"{TRASH_PATH}/{first.kept_name}"
    with ExitStack() as opened:
        files = [opened.enter_context(upper.open_file(path)) for path in (first.claim.path, kept_path)]
        directories = {"", *lineage(parent_of(first.claim.path)), *lineage(TRASH_PATH)}
        places = [opened.enter_context(upper.open_directory(path)) for path in sorted(directories)]
        kernel.fsync_all(*files, *places)
    manifest.sync()
    manifest.confirm_first_text(first)


def _is_settled(manifest: Manifest, upper: Tree) -> bool:
    """Whether the last line is known to count or not; else it was confirmed meanwhile, and its text changed."""
    first = manifest.unconfirmed
    if first is None or _has_files(upper, first):
        return True
    if manifest.has_grown:
        return False
    manifest.void_first_text(first)
    return True


def _has_files(upper: Tree, first: FirstText) -> bool:
    """Whether both files of a first text are there, as its line says."""
    digests = {first.claim.path: first.digest, f"{TRASH_PATH}/{first.kept_name}": first.claim.digest}
    try:
        return all(upper.digest_now(path) == digest for path, digest in digests.items())
    except Refused:
        return False


def _open_trash(upper: Tree) -> OpenDescriptor:
    try:
        return upper.open_directory(TRASH_PATH)
    except FileNotFoundError:
        upper.make_directories(TRASH_PATH, PRIVATE_MODE)
        return upper.open_directory(TRASH_PATH)
