"""Files that were renamed while another program has them open for writing: nobody can read yet whose they are."""

from dataclasses import dataclass, field

from mirrord.domain.state import Unknown
from mirrord.mirror.index import Index
from mirrord.mirror.kernel import Stat
from mirrord.mirror.tree import Tree


@dataclass(slots=True)
class Renamed:
    """
    Where each of these files was, and is now.

    The page of the old path is not gone, but waits: an app that edits its row meanwhile would have the old file written
    anew, and there would be two pages.
    """

    tree: Tree
    index: Index
    _new_paths: dict[str, str] = field(default_factory=dict)

    def remember(self, path: str, stat: Stat) -> Unknown | None:
        """What waits because the file at *path* cannot be read; None where it was at no other path before."""
        inode = stat.device, stat.inode
        old, changed_ns = self.index.path_of(inode), self.index.changed_ns(inode)
        if old is None or old == path or path in self.index or changed_ns is None:
            return None
        if self.tree.was_made_since(path, changed_ns) is not False or self.tree.stat(old) is not None:
            return None
        self._new_paths[old] = path
        return self.waiting(old)

    def waiting(self, path: str) -> Unknown | None:
        """What waits at *path*, where nothing is; None: its file is nowhere else, or was read there."""
        new = self._new_paths.get(path)
        if new is None:
            return None
        if new in self.index or self.tree.stat(new) is None:
            del self._new_paths[path]
            return None
        return Unknown(path, f"{path!r} is {new!r} now, which another program is writing.")
