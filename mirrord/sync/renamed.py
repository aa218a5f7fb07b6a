"""Files that were renamed while another program has them open for writing, so that their ids cannot be read yet."""

from dataclasses import dataclass, field

from mirrord.domain.state import UnreadableFile
from mirrord.mirror.index import Index
from mirrord.mirror.kernel import Stat
from mirrord.mirror.tree import Tree


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
