"""What a person is shown of the backups of one tenant: when each was made, how large it is, what it holds."""

from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from mirrord.domain.backup_format import Manifest
from mirrord.domain.entry import TenantId
from mirrord.errors import Damaged
from mirrord.mirror.backup.backup_directory import Backups, StoredBackup
from mirrord.operations.tenant_backup import objects_of

SizeCache = dict[Path, int]  # bytes by the path of a list, whose name has its digest: it never changes


@dataclass(frozen=True, slots=True)
class ListedBackup:
    """
    One backup. size: bytes of its objects, with those that it shares with other backups; None: some are gone.

    unread: the number of files that could not be read.
    """

    number: int
    made_at: datetime
    size: int | None
    pages: int
    versions: int
    attachments: int
    files: int
    unread: int


@dataclass(frozen=True, slots=True)
class BackupList:
    """The readable backups of a tenant, the newest first, and the numbers of those with a damaged list."""

    backups: tuple[ListedBackup, ...]
    damaged: tuple[int, ...]


def list_tenant_backups(directory: Path, name: str, tenant: TenantId, sizes: SizeCache) -> BackupList:
    """
    The backups of a tenant in a directory, which may be missing. They are listed while another one is made, too.

    A former tenant of the same name has another id: its backups are left out.
    """
    backups = Backups(directory)
    listed, damaged = [], []
    for stored in reversed(backups.list_backups(name)):
        if stored.manifest is None:
            damaged += [stored.number] if stored.path.exists() else []  # else it was removed meanwhile
        elif stored.manifest.tenant_id == str(tenant):
            listed.append(_listed_backup(stored, stored.manifest, _size_of(stored, stored.manifest, backups, sizes)))
    return BackupList(tuple(listed), tuple(damaged))


def _listed_backup(stored: StoredBackup, manifest: Manifest, size: int | None) -> ListedBackup:
    return ListedBackup(
        number=stored.number,
        made_at=datetime.fromisoformat(manifest.made_at),
        size=size,
        pages=_count_rows(manifest, "page"),
        versions=_count_rows(manifest, "page_revision"),
        attachments=_count_rows(manifest, "attachment"),
        files=manifest.files.rows,
        unread=len(manifest.unread),
    )


def _count_rows(manifest: Manifest, table: str) -> int:
    return manifest.tables[table].rows if table in manifest.tables else 0


def _size_of(stored: StoredBackup, manifest: Manifest, backups: Backups, sizes: SizeCache) -> int | None:
    if stored.path not in sizes:
        try:
            sizes[stored.path] = sum(map(backups.measure, set(objects_of(manifest, backups))))
        except Damaged:
            return None
    return sizes[stored.path]
