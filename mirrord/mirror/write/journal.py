"""
The journal of writes, `.mirrord/tmp/{writer}/`: bytes that are not yet, or no longer, in place.

The name of a file shows its state if the writer dies: `KIND.ENTRY.EXPECTED.NEW.RANDOM`, digests in hex, `-` for none.
`p` is unfinished and ours; `w` holds the new text before the swap and the displaced file after it; `d` holds a file
that was moved out of its place. A note `NAME.path` beside a `d` names the path of the expected new text: without that
text the file belongs back there. `m` is parked, see `parking`; `a` is a copy, see `copies`; `r` is a staged text, see
`relocation`; `n` is a directory for new files, see `arrival`.
"""

import contextlib
import fcntl
import logging
import os
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from mirrord.domain.entry import Digest, EntryId
from mirrord.errors import Busy, Refused
from mirrord.mirror.tree import contained_files, kernel
from mirrord.mirror.tree.kernel import OpenDescriptor, Stat, stat_of
from mirrord.mirror.tree.tenant_tree import Tree
from mirrord.mirror.tree.tree_layout import PARKED_PREFIX, STATE_DIRECTORY
from mirrord.mirror.write import rename_plan
from mirrord.mirror.write.journal_labels import Label, label_of, new_name, with_expected_digest
from mirrord.mirror.write.rename_plan import NOTE_SUFFIX, Redo

DAEMON_WRITER = "daemon"  # the name of the daemon's journal
COPY_PREFIX, STAGED_PREFIX = "a.", "r."  # prefixes of the names of copies and of staged texts
JOURNALS_PATH = f"{STATE_DIRECTORY}/tmp"
TRASH_PATH = f"{STATE_DIRECTORY}/trash"
PRIVATE_MODE = 0o700


log = logging.getLogger(__name__)


def leave_undressed(_: int) -> None:
    """Leave a file undressed: only mirrord reads it."""


@dataclass(frozen=True, slots=True)
class Leftover:
    """A file that a writer left in the journal; digest: of its current bytes, None if they are unreadable."""

    name: str
    label: Label
    digest: Digest | None


class Journal:
    """
    One writer's directory, flocked as long as the writer lives.

    copies: names of the copies of this writer, by entry and digest.
    Raises Busy on construction if another process writes under this name.
    """

    def __init__(self, tree: Tree, writer: str) -> None:
        self.tree = tree
        self.path = f"{JOURNALS_PATH}/{writer}"
        self._guard = threading.Lock()
        self._active_names: set[str] = set()
        self.copies: dict[tuple[EntryId, Digest | None], str] = {}
        self.descriptor = self._open()
        tree.probe_file_system(self.descriptor)

    def close(self) -> None:
        """Release the journal; its files wait for the next writer of this name."""
        os.close(self.descriptor)

    @contextlib.contextmanager
    def staged_file(
        self, label: Label, data: bytes, mode: int, dress: Callable[[int], None]
    ) -> Iterator[tuple[str, Stat]]:
        """
        A new durable file with *data*, under a name for *label*, for the length of one write.

        dress: gives the open file its owner, mode and attributes.
        """
        name = new_name("w", label)
        with self.protect(name):
            unfinished = "p" + name[1:]
            stat = self.create(unfinished, data, mode, dress)
            kernel.rename(self.descriptor, unfinished, self.descriptor, name)
            yield name, stat

    def create(self, name: str, data: bytes, mode: int = 0o600, dress: Callable[[int], None] = leave_undressed) -> Stat:
        """Create a durable file; its name is durable after a sync of the directory. dress: as for put()."""
        stat: Stat | None = None
        with OpenDescriptor(self.create_empty(name, mode)) as descriptor:
            try:
                kernel.write(descriptor, data)
                dress(descriptor)
                with self.tree.syncing_notes() as notes:
                    kernel.fsync_all(descriptor, *notes)
                stat = stat_of(os.fstat(descriptor))
            finally:
                if stat is None:
                    kernel.unlink(self.descriptor, name)
        return stat

    def create_empty(self, name: str, mode: int = 0o600) -> int:
        """Create an empty file in the journal and return its descriptor."""
        try:
            return kernel.create(self.descriptor, name, mode)
        except FileNotFoundError:  # `.mirrord` was deleted
            self._reopen()
            return kernel.create(self.descriptor, name, mode)

    def make_directory(self, name: str) -> None:
        """Create an empty directory in the journal."""
        try:
            kernel.mkdir(self.descriptor, name, PRIVATE_MODE)
        except FileNotFoundError:
            self._reopen()
            kernel.mkdir(self.descriptor, name, PRIVATE_MODE)

    def leftovers(self) -> list[Leftover]:
        """
        Files of writes that are not active: after a crash, or displaced files that are not yet settled.

        digest equal to `label.new`: the swap never happened, drop it; equal to `label.expected`: done, keep it in the
        trash; else a foreign save: store it as a version before settling.
        """
        with self._guard:
            at_work = set(self._active_names)
        names = sorted(os.listdir(self.descriptor))
        return [
            Leftover(name, label, self._read_digest(name))
            for name in names
            if name not in at_work and not name.startswith((COPY_PREFIX, STAGED_PREFIX)) and (label := label_of(name))
        ]

    def read(self, name: str) -> bytes:
        """The bytes of a leftover. Raises Busy while it is open for writing."""
        with self.open_file(name) as descriptor:
            size = os.fstat(descriptor).st_size
            return contained_files.read(descriptor, name, size)[0]

    def dispose(self, name: str, *, keep: bool, digest: Digest | None = None) -> None:
        """
        Remove a file from the journal: into the trash (*keep*), or for good.

        digest: its digest, if it differs from the expected digest in its name. A name in the trash must show the real
        digest: a search for a text there must not return another one.
        """
        if not keep:
            kernel.unlink(self.descriptor, name)
            return
        trashed = with_expected_digest(name, digest) if digest is not None else name
        try:
            self._rename_to_trash(name, trashed)
        except FileNotFoundError:  # missing, or deleted
            self.tree.make_directories(TRASH_PATH, PRIVATE_MODE)
            self._rename_to_trash(name, trashed)

    def _rename_to_trash(self, name: str, trashed: str) -> None:
        with self.tree.open_directory(TRASH_PATH) as trash:
            kernel.rename(self.descriptor, name, trash, trashed)

    def discard(self, name: str) -> None:
        """Delete our own file, if it is still in the journal."""
        with contextlib.suppress(FileNotFoundError):
            kernel.unlink(self.descriptor, name)

    def is_file(self, name: str) -> bool:
        """Whether *name* is a regular file: exchanges and renames also move directories and links."""
        return stat_of(os.stat(name, dir_fd=self.descriptor, follow_symlinks=False)).is_file

    def open_file(self, name: str) -> OpenDescriptor:
        """A read descriptor of a file of the journal for the length of a `with`."""
        return OpenDescriptor(self.open(name))

    def open(self, name: str) -> int:
        """A read descriptor of a file of the journal, not following links, not waiting for a fifo."""
        return os.open(name, contained_files.FILE_FLAGS | os.O_CLOEXEC, dir_fd=self.descriptor)

    @contextlib.contextmanager
    def set_aside(self, label: Label, path: str | None, key: str | None = None) -> Iterator[str]:
        """
        A name to move the file at *path* to.

        path: where the file belongs if the new text never arrives; None: it is to be removed. A file that is still
            aside after an exception keeps its note: the next start puts it back.
        key: as in new_name().
        """
        name = new_name("d", label, key)
        with self.protect(name):
            if path is not None:
                self.create(name + NOTE_SUFFIX, os.fsencode(path))
                kernel.fsync(self.descriptor)
            try:
                yield name
            finally:
                if path is not None and (sys.exc_info()[0] is None or not self.has(name)):
                    self.discard(name + NOTE_SUFFIX)

    @contextlib.contextmanager
    def planned_renames(self, steps: Sequence[Redo]) -> Iterator[None]:
        """A plan of renames for the length of a `with`: if this process dies in it, the next one completes them."""
        self.discard(rename_plan.PLAN_NAME)  # of a plan that failed
        self.create(rename_plan.PLAN_NAME, rename_plan.encode_steps(steps))
        kernel.fsync(self.descriptor)
        yield
        self.discard(rename_plan.PLAN_NAME)

    def park(self, path: str, name: str, target: str) -> None:
        """Move the file or directory at *path* into the journal as *name* for a moment, on its way to *target*."""
        self.create(name + NOTE_SUFFIX, rename_plan.note_of(target, path))
        kernel.fsync(self.descriptor)
        try:
            rename_plan.park(self.tree, path, self.descriptor, name)
        except OSError:
            self.discard(name + NOTE_SUFFIX)
            raise

    def unpark(self, name: str, target: str) -> None:
        """Move the parked *name* to *target*, whose directory exists. Raises FileExistsError if that is taken."""
        rename_plan.unpark(self.tree, self.descriptor, name, target)
        self.discard(name + NOTE_SUFFIX)

    def unpark_all(self) -> None:
        """Move everything parked back into the tree: to its target, else to its source, else beside that."""
        for name in os.listdir(self.descriptor):
            if name.startswith(PARKED_PREFIX) and name.endswith(NOTE_SUFFIX):
                self._restore_by_note(self.descriptor, name)

    def _open(self) -> int:
        self.tree.make_directories(self.path, PRIVATE_MODE)
        with self.tree.open_directory(self.path) as directory, contextlib.ExitStack() as undone:
            descriptor = os.dup(directory)
            undone.callback(os.close, descriptor)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise Busy(f"Another process writes in {self.path!r}; it is still alive.") from None
            self._recover_unfinished(descriptor)
            undone.pop_all()
        return descriptor

    def _recover_unfinished(self, directory: int) -> None:
        """Finish or drop unfinished work; put back files that were moved aside for a text that never arrived."""
        with contextlib.suppress(FileNotFoundError):
            rename_plan.finish_steps(self.tree, directory, _read_bytes(directory, rename_plan.PLAN_NAME))
            kernel.unlink(directory, rename_plan.PLAN_NAME)
        for name in os.listdir(directory):
            if name.endswith(NOTE_SUFFIX):
                self._restore_by_note(directory, name)
            elif name.startswith("p."):
                kernel.unlink(directory, name)

    def _restore_by_note(self, directory: int, note: str) -> None:
        name, text = note.removesuffix(NOTE_SUFFIX), _read_bytes(directory, note)
        path: str | None = None
        if name.startswith(PARKED_PREFIX):
            path = rename_plan.recover(self.tree, directory, name, text)
        else:
            with contextlib.suppress(FileExistsError, FileNotFoundError, Refused):
                path = os.fsdecode(text)
                rename_plan.unpark(self.tree, directory, name, path)
        if path is not None:
            log.warning("file_put_back", extra={"path": path})
        kernel.unlink(directory, note)

    def _reopen(self) -> None:
        with self._guard:
            if os.fstat(self.descriptor).st_nlink == 0:
                descriptor = self._open()
                os.dup2(descriptor, self.descriptor, inheritable=False)
                os.close(descriptor)

    def _read_digest(self, name: str) -> Digest | None:
        if not self.is_file(name):
            return None
        with contextlib.suppress(PermissionError), self.open_file(name) as descriptor:
            return contained_files.digest_now(descriptor)
        return None

    def has(self, name: str) -> bool:
        """Whether *name* is in the journal."""
        try:
            os.stat(name, dir_fd=self.descriptor, follow_symlinks=False)
        except FileNotFoundError:
            return False
        return True

    def is_active(self, name: str) -> bool:
        """Whether this process is using a file or directory of the journal now."""
        with self._guard:
            return name in self._active_names

    @contextlib.contextmanager
    def protect(self, *names: str) -> Iterator[None]:
        """Protect names from being treated as leftovers in this process, for the length of a `with`."""
        with self._guard:
            self._active_names.update(names)
        try:
            yield
        finally:
            with self._guard:
                self._active_names.difference_update(names)


def list_writers(tree: Tree) -> list[str]:
    """The names of all journals here, of dead and living writers."""
    try:
        return sorted(name for name, stat in tree.list_stats(JOURNALS_PATH).items() if stat.is_directory)
    except FileNotFoundError:
        return []


def _read_bytes(directory: int, name: str) -> bytes:
    descriptor = os.open(name, contained_files.FILE_FLAGS | os.O_CLOEXEC, dir_fd=directory)
    with os.fdopen(descriptor, "rb") as stream:
        return stream.read()
