"""Compares every file's bytes with every row's, independent of any remembered state."""

import asyncio
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from enum import StrEnum

from mirrord.db import tenant_rows
from mirrord.db.content import stored_bytes
from mirrord.db.database import Database
from mirrord.domain.entry import Digest, EntryId, Kind, Place, Row, TenantId
from mirrord.errors import Busy, Damaged, Refused
from mirrord.mirror.tree.ignore_rules import Ignore
from mirrord.mirror.tree.tenant_tree import Tree
from mirrord.mirror.tree.tree_layout import printable
from mirrord.mirror.tree.tree_scan import scan
from mirrord.sync.writing.target_paths import resolve_paths


class Verdict(StrEnum):
    """The result of the comparison for one path."""

    OK = "OK"
    MISSING = "MISSING"  # a row without a file
    EXTRA = "EXTRA"  # a file without a row
    STALE = "STALE"  # the file is an older version of the row, or the row is not rendered yet
    DIFFERS = "DIFFERS"  # the file has bytes the row never had


@dataclass(frozen=True, slots=True)
class Finding:
    """One path and its verdict."""

    path: str
    verdict: Verdict


async def check_tree(database: Database, tenant: TenantId, tree: Tree) -> list[Finding]:
    """Compare a tree with the rows of its tenant, by path."""
    async with database.transaction(tenant) as connection:
        raw = await tenant_rows.load_live_rows(connection, tenant)
    rows, ready = _parse_rows(raw)
    paths = resolve_paths(rows, {})
    expected = {path: entry for entry, path in paths.items() if rows[entry].kind is not Kind.FOLDER}
    # outside a transaction: Postgres ends idle transactions
    files = await asyncio.to_thread(_read_digests, tree, expected.keys())
    differing = [(expected[path], digest) for path, digest in files.items() if path in expected and digest]
    questions = [(entry, digest) for entry, digest in differing if rows[entry].digest != digest]
    async with database.transaction(tenant) as connection:
        entries_with_digest = await stored_bytes.newest_versions(connection, tenant, questions) if questions else {}
    return list(_compare_sides(files, expected, rows, ready, entries_with_digest))


def _compare_sides(
    files: dict[str, Digest | None],
    expected: dict[str, EntryId],
    rows: dict[EntryId, Row],
    ready: set[EntryId],
    entries_with_digest: dict[EntryId, int],
) -> Iterator[Finding]:
    for path in sorted(files.keys() | expected.keys()):
        entry = expected.get(path)
        if entry is None:
            yield Finding(printable(path), Verdict.EXTRA)
        elif path not in files:
            yield Finding(path, Verdict.MISSING)
        elif entry not in ready:
            yield Finding(path, Verdict.STALE)
        elif files[path] == rows[entry].digest:
            yield Finding(path, Verdict.OK)
        else:
            yield Finding(path, Verdict.STALE if entry in entries_with_digest else Verdict.DIFFERS)


def _parse_rows(raw: list[tuple[object, ...]]) -> tuple[dict[EntryId, Row], set[EntryId]]:
    rows: dict[EntryId, Row] = {}
    ready: set[EntryId] = set()
    for entry, kind, parent, name, index, digest, is_ready in raw:
        place = Place(parent, str(name), bool(index))  # type: ignore[arg-type]
        rows[entry] = Row(entry, Kind(str(kind)), place, True, 0, digest, False)  # type: ignore[index, arg-type]
        if is_ready:
            ready.add(entry)  # type: ignore[arg-type]
    return rows, ready


def _read_digests(tree: Tree, expected: Collection[str]) -> dict[str, Digest | None]:
    """
    The digest of every synced file; None for one that cannot be read now.

    expected: paths of rows. An ignored file is synced only if a row has its path.
    """
    try:
        ignore = Ignore.load(tree)
    except (Busy, Damaged, Refused):
        ignore = Ignore()
    digests: dict[str, Digest | None] = {}
    scanned = scan(tree, ignore)
    for path in (*scanned.files, *(path for path in expected if path in scanned.ignored or path in scanned.strangers)):
        try:
            digests[path] = tree.digest(path)[0]
        except (Busy, Refused, OSError):
            digests[path] = None
    return digests
