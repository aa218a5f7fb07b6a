"""What the tree looked like when we last looked, in memory: the cache of `state` while the daemon runs."""

from collections.abc import Iterable, Iterator
from struct import Struct
from uuid import UUID

from mirrord.domain.entry import Digest, EntryId
from mirrord.domain.place import ASSETS
from mirrord.mirror.kernel import Stat
from mirrord.mirror.layout import INDEX_FILE, carried
from mirrord.mirror.state import Seen

Inode = tuple[int, int]  # device, inode

# As bytes: as values each look took four times as much, which in a large tree was most of a daemon's memory.
_STAT, _INODE = Struct("<QQQqq"), Struct("<QQ")
_ENTRY, _DIGEST = slice(_STAT.size, _STAT.size + 16), slice(_STAT.size + 16, None)


class Index:
    """Files and folders by path. Observations, never pending work: whatever it says, bases are compared with it."""

    def __init__(self, seen: dict[str, Seen]) -> None:
        """*seen* is emptied: of a large tree it is not kept twice."""
        self._seen: dict[str, bytes] = {}
        self._paths: dict[bytes, str] = {}
        self._origins: dict[bytes, str] = {}  # only of those that were seen elsewhere since
        self._left: dict[bytes, int] = {}  # when inodes last changed whose path has nothing or another one now
        self._children: dict[str, set[str]] = {}
        for path in list(seen):
            self.note(path, seen.pop(path))

    def __len__(self) -> int:
        return len(self._seen)

    def __contains__(self, path: str) -> bool:
        return path in self._seen

    def get(self, path: str) -> Seen | None:
        """The last look at *path*."""
        packed = self._seen.get(path)
        return _unpacked(packed) if packed is not None else None

    def path_of(self, inode: Inode) -> str | None:
        """Where a file or directory was last seen, also if nothing is there any more: it may have moved."""
        return self._paths.get(_INODE.pack(*inode))

    def origin_of(self, inode: Inode) -> str | None:
        """Where it was when it was last known whose it is, or seen first; however often it was looked at since."""
        key = _INODE.pack(*inode)
        return self._origins.get(key) or self._paths.get(key)

    def changed_ns(self, inode: Inode) -> int | None:
        """The ctime that a file or directory had at the last look, wherever that was; None: it was never seen."""
        key = _INODE.pack(*inode)
        packed = self._seen.get(self._paths.get(key, ""))
        if packed is not None and packed.startswith(key):
            return _changed_ns(packed)
        return self._left.get(key)

    def disown(self, inode: Inode) -> None:
        """The number belongs to a new file now: where the old one was tells nothing of it."""
        key = _INODE.pack(*inode)
        for known in (self._paths, self._origins, self._left):
            known.pop(key, None)

    def paths(self) -> Iterable[str]:
        """All paths."""
        return self._seen.keys()

    def has(self, path: str, digest: bytes) -> bool:
        """Whether *path* had this digest."""
        packed = self._seen.get(path)
        return packed is not None and packed[_DIGEST] == digest

    def below(self, directory: str) -> Iterator[str]:
        """The paths below a directory, without itself; the index may change meanwhile."""
        pending = list(self._children.get(directory, ()))
        while pending:
            path = pending.pop()
            pending += self._children.get(path, ())
            if path in self._seen:
                yield path

    def inside(self, directory: str) -> Iterator[str]:
        """The paths of what belongs to whoever owns *directory*: its pages, folders and attachments, not theirs."""
        for path in self._children.get(directory, ()):
            if path.endswith(f"/{ASSETS}"):
                yield from self.below(path)
                continue
            for own in (path, f"{path}/{INDEX_FILE}"):
                if own in self._seen:
                    yield own

    def differs(self, path: str, stat: Stat) -> bool:
        """Whether what is at *path* is not what was last seen there. A directory differs when it is another one."""
        packed = self._seen.get(path)
        if packed is None:
            return True
        if stat.is_directory:
            return not packed.startswith(_INODE.pack(stat.device, stat.inode))
        return not packed.startswith(_STAT.pack(*stat[:5]))

    def same(self, path: str, stat: Stat) -> str | None:
        """*path*, as it is known here, if what is there is what was last seen; else None."""
        known = self.path_of((stat.device, stat.inode))
        return known if known == path and not self.differs(path, stat) else None

    def note(self, path: str, seen: Seen) -> None:
        """Remember a look."""
        before, packed = self._seen.get(path), _packed(seen)
        key = packed[: _INODE.size]
        if before is not None and not before.startswith(key):
            self._left[before[: _INODE.size]] = _changed_ns(before)
        self._seen[path] = packed
        self._left.pop(key, None)
        if (last := self._paths.get(key, path)) != path:
            self._origins.setdefault(key, last)
        self._paths[key] = path
        self._link(path)

    def own(self, path: str, entry: EntryId) -> Seen | None:
        """Remember whose file it is; what is then known of it."""
        self.settle(path)
        seen = self.get(path)
        if seen is not None:
            seen = seen._replace(entry=entry)
            self._seen[path] = _packed(seen)
        return seen

    def settle(self, path: str) -> None:
        """It is known whose file or directory is there: where that was before tells nothing any more."""
        if (packed := self._seen.get(path)) is not None:
            self._origins.pop(packed[: _INODE.size], None)

    def forget(self, path: str) -> None:
        """Nothing is there any more."""
        if (packed := self._seen.pop(path, None)) is not None:
            self._left[packed[: _INODE.size]] = _changed_ns(packed)
        while path and path not in self._seen and not self._children.get(path):
            self._children.pop(path, None)
            above = path.rpartition("/")[0]
            self._children.get(above, set()).discard(path)
            path = above

    def prune(self) -> None:
        """Forget where inodes were that are nowhere now: the system gives their numbers to new files."""
        self._paths = {packed[: _INODE.size]: path for path, packed in self._seen.items()}
        self._origins = {key: path for key, path in self._origins.items() if key in self._paths}
        self._left.clear()

    def rename(self, old: str, new: str) -> None:
        """A file or directory we renamed ourselves: all below it is where it was, under another path."""
        self._place(new, self._taken(old))
        self._origins = {key: carried(path, old, new) for key, path in self._origins.items()}

    def exchange(self, one: str, other: str) -> None:
        """Two files or directories changed places."""
        its, others = self._taken(one), self._taken(other)
        self._place(one, others)
        self._place(other, its)
        for key, path in self._origins.items():
            there = carried(path, one, other)
            self._origins[key] = there if there != path else carried(path, other, one)

    def _taken(self, top: str) -> list[tuple[str, Seen]]:
        found = [(path, seen) for path in [top, *self.below(top)] if (seen := self.get(path)) is not None]
        for path, _ in found:
            self.forget(path)
        return [(path[len(top) :], seen) for path, seen in found]

    def _place(self, top: str, found: list[tuple[str, Seen]]) -> None:
        for below, seen in found:
            is_settled = _INODE.pack(seen.device, seen.inode) not in self._origins
            self.note(top + below, seen)
            if is_settled:
                self.settle(top + below)

    def _link(self, path: str) -> None:
        """Let it be found below the directories above it, those that are no folders (`assets`) too."""
        while path:
            above = path.rpartition("/")[0]
            siblings = self._children.get(above)
            if siblings is None:
                siblings = self._children[above] = set()
            elif path in siblings:
                return
            siblings.add(path)
            path = above


def _packed(seen: Seen) -> bytes:
    return _STAT.pack(*seen[:5]) + seen.entry.bytes + seen.digest


def _changed_ns(packed: bytes) -> int:
    changed_ns: int = _STAT.unpack_from(packed)[4]
    return changed_ns


def _unpacked(packed: bytes) -> Seen:
    device, inode, size, mtime_ns, ctime_ns = _STAT.unpack_from(packed)
    entry = EntryId(UUID(bytes=packed[_ENTRY]))
    return Seen(device, inode, size, mtime_ns, ctime_ns, Digest(packed[_DIGEST]), entry)
