"""A draft's first text of a file that the tree has, and beside it what it stands for, in the draft's trash."""

from collections.abc import Sequence
from contextlib import ExitStack, suppress

from mirrord.domain.entry import MAX_FILE_BYTES, digest_of
from mirrord.errors import Stale
from mirrord.mirror.draft.draft_manifest import Claim, ClaimKind
from mirrord.mirror.tree import contained_files, file_access, kernel
from mirrord.mirror.tree.kernel import OpenDescriptor
from mirrord.mirror.tree.replaced_file import Replaced
from mirrord.mirror.tree.tenant_tree import Tree
from mirrord.mirror.tree.tree_layout import parent_of, printable
from mirrord.mirror.write.journal import PRIVATE_MODE, TRASH_PATH


def write_first_text(
    lower: Tree, upper: Tree, path: str, data: bytes, replaced: Replaced, unsynced: Sequence[int]
) -> Claim:
    """
    Write *data* to *path* of *upper*, and what *lower* has there into the trash of *upper*, durably; the claim of both.

    Only after it may the claim be recorded; without it the new file means nothing. unsynced: descriptors to sync too.

    Raises Stale, Busy, Refused or OSError, and then no new file is there.
    """
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
        kernel.fsync_all(*descriptors, directory, trash, *unsynced)
        undone.pop_all()
    return Claim(path, ClaimKind.FILE, replaced.digest, stat)


def _open_trash(upper: Tree) -> OpenDescriptor:
    try:
        return upper.open_directory(TRASH_PATH)
    except FileNotFoundError:
        upper.make_directories(TRASH_PATH, PRIVATE_MODE)
        return upper.open_directory(TRASH_PATH)
