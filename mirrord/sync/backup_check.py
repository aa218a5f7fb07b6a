"""Is a backup whole? Every object is read, and compared with its digest and with what is said of it."""

from collections.abc import Iterator
from dataclasses import dataclass

from mirrord.domain.backup import Chunk, Manifest
from mirrord.domain.progress import Progress
from mirrord.errors import Damaged
from mirrord.mirror.backups import Backups, Listed
from mirrord.sync.backup import Holds, chunks_of, parts_of


@dataclass(frozen=True, slots=True)
class Checked:
    """One backup, and what is wrong with it, as sentences; none: all of it is as it was made."""

    backup: Listed
    damages: tuple[str, ...]


class Reader:
    """Reads backups of one directory; an object that several name is read once."""

    def __init__(self, backups: Backups) -> None:
        self._backups = backups
        self._good: set[str] = set()
        self._bad: dict[str, str] = {}

    def check(self, backup: Listed, progress: Progress) -> Checked:
        """Read all of one backup."""
        if backup.manifest is None:
            return Checked(backup, (f"{backup.path} is damaged: its content is not what its name says.",))
        return Checked(backup, tuple(dict.fromkeys(self._damages(backup.manifest, progress))))

    def _damages(self, manifest: Manifest, progress: Progress) -> Iterator[str]:
        chunks = list(chunks_of(manifest))
        for done, (chunk, holds) in enumerate(chunks, 1):
            if chunk.name not in self._good:
                yield from self._look(chunk, holds)
            progress(done, len(chunks))

    def _look(self, chunk: Chunk, holds: Holds) -> list[str]:
        if chunk.name in self._bad:
            return [self._bad[chunk.name]]
        try:
            lines = self._backups.lines(chunk.name)
            if len(lines) != chunk.rows:
                raise Damaged(f"The object {chunk.name} has {len(lines)} rows instead of {chunk.rows}.")
        except Damaged as error:
            self._bad[chunk.name] = str(error)
            return [str(error)]
        found = [self._content(name) for line in lines for name in parts_of(line, holds)]
        if not any(found):
            self._good.add(chunk.name)
        return list(filter(None, found))

    def _content(self, name: str) -> str | None:
        if name not in self._good and name not in self._bad:
            try:
                self._backups.content(name)
                self._good.add(name)
            except Damaged as error:
                self._bad[name] = str(error)
        return self._bad.get(name)
