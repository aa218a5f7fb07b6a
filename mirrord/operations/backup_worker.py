"""The process that makes one backup for the console: it gets an order, and reports its progress and its end."""

import asyncio
import os
import sys
from contextlib import ExitStack, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path

import orjson

from mirrord.db.database import Database
from mirrord.db.snapshot_rows import parse_tenant_id
from mirrord.domain.entry import TenantId
from mirrord.errors import MirrordError, Unavailable
from mirrord.mirror import tree_marker
from mirrord.mirror.backup.backup_directory import Backups
from mirrord.mirror.process_setup import end_with_parent, prepare_process
from mirrord.mirror.tree.tenant_tree import Tree
from mirrord.operations.tenant_backup import create_backup

MODULE = "mirrord.operations.backup_worker"
_NICENESS = 10  # as the nightly unit's


@dataclass(frozen=True, slots=True)
class BackupOrder:
    """
    A backup to make. dsn: of the database, which may have a password. directory: of the backups. tenant: its id.

    root: where its tree is if it is on this machine; a tree of another tenant there is not read.
    """

    dsn: str = field(repr=False)
    directory: str
    tenant: str
    root: str

    def encode(self) -> bytes:
        """The line for the process."""
        return orjson.dumps(asdict(self)) + b"\n"


@dataclass(frozen=True, slots=True)
class BackupReport:
    """
    A line of the process. percent: of the rows that are stored. number: of the complete backup, with the number of
    `unread` files. sentence: why there is no backup.
    """

    percent: int = 0
    number: int | None = None
    unread: int = 0
    sentence: str | None = None

    def encode(self) -> bytes:
        """The line, with its ending."""
        return orjson.dumps(asdict(self)) + b"\n"


def report_of(line: bytes) -> BackupReport | None:
    """What a line reports; None: the process ended in the middle of it."""
    try:
        return BackupReport(**orjson.loads(line))
    except (orjson.JSONDecodeError, TypeError):
        return None


def main() -> None:
    """Make the backup that standard input orders. The argument: the id of the process that waits for it."""
    end_with_parent(int(sys.argv[1]))
    prepare_process()
    with suppress(OSError):  # the sandbox of the unit forbids it
        os.nice(_NICENESS)
    order = BackupOrder(**orjson.loads(sys.stdin.buffer.readline()))
    try:
        report = asyncio.run(_make_backup(order))
    except MirrordError as error:
        report = BackupReport(sentence=str(error))
    _write_report(report)


async def _make_backup(order: BackupOrder) -> BackupReport:
    backups, tenant = Backups(Path(order.directory), leaves_room=True), parse_tenant_id(order.tenant)
    with backups.open_for_writing(), ExitStack() as opened:
        tree = _open_tree(Path(order.root), tenant)
        if tree is not None:
            opened.callback(tree.close)
        async with Database(order.dsn, size=1) as database:
            new_backup = await create_backup(database, backups, tenant, tree, _Reporter())
    return BackupReport(100, new_backup.manifest.number, len(new_backup.manifest.unread))


def _open_tree(root: Path, tenant: TenantId) -> Tree | None:
    """The tree of the tenant; None: it is not on this machine."""
    try:
        tree = Tree(root)
    except Unavailable:
        return None
    marker = tree_marker.read(tree)
    if marker is not None and marker.tenant_id == tenant:
        return tree
    tree.close()
    return None


class _Reporter:
    """Progress of a backup, in lines: one for each percent."""

    def __init__(self) -> None:
        self._percent = 0

    def __call__(self, rows: int, of: int, /) -> None:
        percent = min(99, 100 * rows // max(of, 1))
        if percent > self._percent:
            self._percent = percent
            _write_report(BackupReport(percent))


def _write_report(report: BackupReport) -> None:
    sys.stdout.buffer.write(report.encode())
    sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
