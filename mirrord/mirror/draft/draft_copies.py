"""Copies of the tree's files in a draft, and which of them are not durable yet."""

import os
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress

from mirrord.domain.entry import MAX_FILE_BYTES, digest_of
from mirrord.mirror.draft.draft_manifest import Claim, ClaimKind
from mirrord.mirror.tree import contained_files, file_access, kernel
from mirrord.mirror.tree.kernel import OpenDescriptor, Stat
from mirrord.mirror.tree.tenant_tree import Tree
from mirrord.mirror.tree.tree_layout import parent_of

_MAX_OPEN_COPIES = 32  # that are synced together


class DraftCopies:
    """Copies of files of *lower* in *upper*, and directories made there, to be synced together."""

    def __init__(self, lower: Tree, upper: Tree) -> None:
        self._lower = lower
        self._upper = upper
        self._unsynced_directories: set[str] = set()
        self._unsynced_files: list[int] = []  # descriptors

    def close(self) -> None:
        """Close the files."""
        for descriptor in self._unsynced_files:
            os.close(descriptor)
        self._unsynced_files.clear()

    def copy_file(self, path: str, known_stat: Stat) -> Claim:
        """
        Copy the file at *path*, whose directory exists; the claim may be recorded after syncing().

        known_stat: its stat from a moment ago.
        """
        name = path.rpartition("/")[2]
        with self._lower.open_file(path, known_stat) as old, self._upper.open_directory(parent_of(path)) as directory:
            data, stat = contained_files.read(old, path, MAX_FILE_BYTES)
            with suppress(FileNotFoundError):
                kernel.unlink(directory, name)  # of a copy that nothing was recorded of
            with OpenDescriptor(kernel.create(directory, name, 0o600)) as descriptor:
                kernel.write(descriptor, data)
                file_access.copy_access(descriptor, old, path)
            # not open for writing: what is, is being saved
            self._unsynced_files.append(os.open(name, contained_files.FILE_FLAGS | os.O_CLOEXEC, dir_fd=directory))
        self._unsynced_directories.add(parent_of(path))
        if len(self._unsynced_files) >= _MAX_OPEN_COPIES:
            kernel.fsync_all(*self._unsynced_files)
            self.close()
        return Claim(path, ClaimKind.FILE, digest_of(data), stat)

    def note_change(self, directory: str) -> None:
        """Note that *directory* has an entry that is not durable."""
        self._unsynced_directories.add(directory)

    @contextmanager
    def syncing(self) -> Iterator[Sequence[int]]:
        """The descriptors of all that is not durable; the caller syncs them within the `with`."""
        try:
            with ExitStack() as resources:
                paths = sorted(self._unsynced_directories)
                directories = [resources.enter_context(self._upper.open_directory(path)) for path in paths]
                yield (*self._unsynced_files, *directories)
        finally:
            self.close()
        self._unsynced_directories.clear()
