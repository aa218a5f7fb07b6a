"""Files that another program has open for writing, renamed ones included."""

import time
from collections.abc import Callable, Iterable, Mapping, Set
from dataclasses import dataclass, field

from mirrord.domain.entry import UnreadableFile
from mirrord.mirror.seen_files import Index
from mirrord.mirror.tree.kernel import Stat
from mirrord.mirror.tree.tenant_tree import Tree
from mirrord.mirror.tree.tree_layout import INDEX_FILE, parent_of
from mirrord.sync.observation.identity_evidence import FoundFile, Inode

PATIENCE_SECONDS = 30.0  # seconds for which a file open for writing is not read
SNAPSHOT_SECONDS = 5.0  # seconds between two snapshots afterwards


class OpenFiles:
    """
    The time of the next snapshot of each file that is open for writing. clock: monotonic seconds.

    due: that time by path, of the files that were open for writing at the last look.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self.due: dict[str, float] = {}

    def is_due(self, path: str) -> bool:
        """Whether a snapshot of *path*, which is open for writing, is due."""
        return self._clock() >= self.due.setdefault(path, self._clock() + PATIENCE_SECONDS)

    def note_snapshot(self, path: str) -> None:
        """Note a snapshot; the next one is due in SNAPSHOT seconds."""
        self.due[path] = self._clock() + SNAPSHOT_SECONDS

    def note_closed(self, path: str) -> None:
        """Note that *path* is no longer open for writing."""
        self.due.pop(path, None)


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

    def remember_guess(self, path: str, new_path: str) -> UnreadableFile:
        """*path*, where no file is, as unknown: its file may be the one at *new_path*, which cannot be read."""
        self._new_paths[path] = new_path
        return UnreadableFile(path, f"{path!r} may be {new_path!r} now, which another program is writing.")

    def waiting_at(self, path: str) -> UnreadableFile | None:
        """*path*, where no file is, as unknown; None: its file was not renamed, or was read at its new path."""
        new = self._new_paths.get(path)
        if new is None:
            return None
        if new in self.index or self.tree.stat(new) is None:
            del self._new_paths[path]
            return None
        return UnreadableFile(path, f"{path!r} is {new!r} now, which another program is writing.")


def guess_new_paths(
    missing: Iterable[str], based_paths: Set[str], unknown: Mapping[str, UnreadableFile]
) -> dict[str, str]:
    """
    New paths of *missing* ones: files of no known page that cannot be read for now, with the same name or directory.

    Only their bytes will show which page they are, if the index was lost, which had their inodes.
    """
    unowned = [path for path, file in unknown.items() if file.is_temporary and path not in based_paths]
    guesses = {
        path: [other for other in unowned if _name_of(other) == _name_of(path) or parent_of(other) == parent_of(path)]
        for path in missing
    }
    return {path: others[0] for path, others in guesses.items() if others}


def _name_of(path: str) -> str:
    """The last name in *path* that tells pages apart."""
    return (path.removesuffix("/" + INDEX_FILE) if path.endswith("/" + INDEX_FILE) else path).rpartition("/")[2]


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
