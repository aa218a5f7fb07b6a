"""The stats of the files that a scan lists, in little memory: the first scan of a tree has that of each file. Pure."""

import struct
from collections.abc import Iterator, Mapping

from mirrord.mirror.tree.kernel import Stat

_FIELDS = struct.Struct("QQqqqQQ")  # as Stat has them


class PackedStats(Mapping[str, Stat]):
    """Stats by path. Each takes a third of the memory of its values."""

    def __init__(self) -> None:
        self._stats: dict[str, bytes | Stat] = {}  # as it is, where a file system has values of more than 64 bits

    def add(self, path: str, stat: Stat) -> None:
        """Add the stat of *path*, or replace it."""
        try:
            self._stats[path] = _FIELDS.pack(*stat)
        except struct.error:
            self._stats[path] = stat

    def __getitem__(self, path: str) -> Stat:
        stored = self._stats[path]
        return stored if isinstance(stored, Stat) else Stat(*_FIELDS.unpack(stored))

    def __contains__(self, path: object) -> bool:
        return path in self._stats

    def __iter__(self) -> Iterator[str]:
        return iter(self._stats)

    def __len__(self) -> int:
        return len(self._stats)
