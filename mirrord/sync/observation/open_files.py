"""Files that another program has open for writing, renamed ones included."""

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from mirrord.domain.entry import UnreadableFile
from mirrord.mirror.seen_files import Index
from mirrord.mirror.tree.kernel import Stat
from mirrord.mirror.tree.tenant_tree import Tree
from mirrord.sync.observation.identity_evidence import FoundFile, Inode

PATIENCE_SECONDS = 30.0  # seconds for which a file open for writing is not read
SNAPSHOT_SECONDS = 5.0  # seconds between two snapshots afterwards


class OpenFiles:
    """The time of the next snapshot of each file that is open for writing. clock: monotonic seconds."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._due: dict[str, float] = {}

    def is_due(self, path: str) -> bool:
        """Whether a snapshot of *path*, which is open for writing, is due."""
        return self._clock() >= self._due.setdefault(path, self._clock() + PATIENCE_SECONDS)

    def note_snapshot(self, path: str) -> None:
        """Note a snapshot; the next one is due in SNAPSHOT seconds."""
        self._due[path] = self._clock() + SNAPSHOT_SECONDS

    def note_closed(self, path: str) -> None:
        """Note that *path* is no longer open for writing."""
        self._due.pop(path, None)


@dataclass(slots=True)
class RenamedFiles:
    """
    The old and new path of each of these files.

    The page of the old path is not gone, it waits: else an edit of its row would write the old file again, and there
    would be two pages.
    """

    tree: Tree
    index: Index
    _new_paths: dict[str, str] = field(default_factory=dict)

    def remember(self, path: str, stat: Stat) -> UnreadableFile | None:
        """The old path as unknown, because the file at *path* cannot be read; None: it was at no other path before."""
        inode = stat.device, stat.inode
        old, changed_ns = self.index.path_of(inode), self.index.changed_ns(inode)
        if old is None or old == path or path in self.index or changed_ns is None:
            return None
        if self.tree.was_made_since(path, changed_ns) is not False or self.tree.stat(old) is not None:
            return None
        self._new_paths[old] = path
        return self.waiting_at(old)

    def waiting_at(self, path: str) -> UnreadableFile | None:
        """*path*, where no file is, as unknown; None: its file was not renamed, or was read at its new path."""
        new = self._new_paths.get(path)
        if new is None:
            return None
        if new in self.index or self.tree.stat(new) is None:
            del self._new_paths[path]
            return None
        return UnreadableFile(path, f"{path!r} is {new!r} now, which another program is writing.")


def find_waiting_files(
    found_files: Iterable[FoundFile], old_path: Mapping[Inode, str], unknown_files: Mapping[str, UnreadableFile]
) -> dict[str, UnreadableFile]:
    """
    Renamed files whose old path has a file that cannot be read for now, as unknown, by path; and so on along a chain.

    Alone they would be taken for the pages of their new paths, although names changed hands.
    """
    renamed = [(file.path, old) for file in found_files if (old := old_path.get(file.inode, file.path)) != file.path]
    unreadable = {path for path, unknown in unknown_files.items() if unknown.is_temporary}
    waiting: dict[str, UnreadableFile] = {}
    while joining := [(path, old) for path, old in renamed if old in unreadable and path not in waiting]:
        for path, old in joining:
            waiting[path] = UnreadableFile(path, f"{path!r} was {old!r}, where another file cannot be read just now.")
        unreadable |= waiting.keys()
    return waiting
