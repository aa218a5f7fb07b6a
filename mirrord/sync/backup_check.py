"""Check a backup: read every object, and compare it with its digest and with the manifest."""

from collections.abc import Iterator
from dataclasses import dataclass

from mirrord.domain.backup import Chunk, Manifest
from mirrord.domain.progress import Progress
from mirrord.errors import Damaged
from mirrord.mirror.backups import Backups, StoredBackup
from mirrord.sync.backup import ChunkContent, chunks_of, object_names_of


@dataclass(frozen=True, slots=True)
class CheckedBackup:
    """One backup and its damages, as sentences; an intact backup has none."""

    backup: StoredBackup
    damages: tuple[str, ...]


class BackupChecker:
    """Reads backups of one directory; an object that several backups share is read once."""

    def __init__(self, backups: Backups) -> None:
        self._backups = backups
        self._intact: set[str] = set()
        self._damaged: dict[str, str] = {}

    def check(self, backup: StoredBackup, progress: Progress) -> CheckedBackup:
        """Read all of one backup."""
        if backup.manifest is None:
            return CheckedBackup(backup, (f"{backup.path} is damaged: its content is not what its name says.",))
        return CheckedBackup(backup, tuple(dict.fromkeys(self._find_damages(backup.manifest, progress))))

    def _find_damages(self, manifest: Manifest, progress: Progress) -> Iterator[str]:
        chunks = list(chunks_of(manifest))
        for done, (chunk, content) in enumerate(chunks, 1):
            if chunk.name not in self._intact:
                yield from self._check_chunk(chunk, content)
            progress(done, len(chunks))

    def _check_chunk(self, chunk: Chunk, content: ChunkContent) -> list[str]:
        if chunk.name in self._damaged:
            return [self._damaged[chunk.name]]
        try:
            lines = self._backups.read_lines(chunk.name)
            if len(lines) != chunk.rows:
                raise Damaged(f"The object {chunk.name} has {len(lines)} rows instead of {chunk.rows}.")
        except Damaged as error:
            self._damaged[chunk.name] = str(error)
            return [str(error)]
        damages = [self._check_object(name) for line in lines for name in object_names_of(line, content)]
        if not any(damages):
            self._intact.add(chunk.name)
        return list(filter(None, damages))

    def _check_object(self, name: str) -> str | None:
        if name not in self._intact and name not in self._damaged:
            try:
                self._backups.read_bytes(name)
                self._intact.add(name)
            except Damaged as error:
                self._damaged[name] = str(error)
        return self._damaged.get(name)
