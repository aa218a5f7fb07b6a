"""Exports a tenant's rows at one moment as the tree that they make; needs neither daemon nor mirror."""

import asyncio
from collections import Counter, defaultdict
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import ParamSpec, TypeVar

from mirrord.db import snapshot_rows
from mirrord.db.content import derived_rows, record_rows
from mirrord.db.content.record_rows import render_record
from mirrord.db.content.stored_bytes import PART_BYTES
from mirrord.db.database import Connection, Database
from mirrord.db.snapshot_rows import LiveEntry, open_snapshot
from mirrord.domain.entry import Digest, EntryId, Kind, Row, TenantId, digest_of
from mirrord.domain.long_work import Omission, Progress, split_into_batches
from mirrord.domain.place import name_key
from mirrord.errors import Damaged, Unavailable, reason_of
from mirrord.mirror.export import export_directory
from mirrord.mirror.export.export_directory import ExportTarget, Tally
from mirrord.mirror.export.export_files import Manifest
from mirrord.mirror.tree.tree_layout import may_be_synced, printable
from mirrord.sync.observation.row_names import MAX_TWINS, add_titles, names_for
from mirrord.sync.writing.row_rendering import render_page
from mirrord.sync.writing.target_paths import resolve_paths

_Shelf = tuple[bool, EntryId | None]  # (whether of attachments, the parent): names are unique in each


@dataclass(frozen=True, slots=True)
class OutlineFile:
    """
    A file as it will be. name: of its place, which the row may not have yet. digest: None: its text is not rendered.
    size: as the row has it.
    """

    path: str
    entry: EntryId
    kind: Kind
    name: str
    digest: Digest | None
    size: int


@dataclass(frozen=True, slots=True)
class Outline:
    """files, folders: in the order of their paths. omissions: rows that get no file in any mirror. counts: by kind."""

    files: Sequence[OutlineFile]
    folders: Sequence[str]
    omissions: Sequence[Omission]
    counts: Mapping[str, int]


def outline_of(living: Sequence[LiveEntry]) -> Outline:
    """The outline of *living*; rows without name or text get those that the daemon would give them."""
    rows = {live.row.entry: _as_rendered(live.row) for live in living}
    rows |= _assign_names(rows, [live for live in living if not live.row.placed])
    paths = {entry: path for entry, path in resolve_paths(rows, {}).items() if may_be_synced(path)}
    files = [
        OutlineFile(paths[row.entry], row.entry, row.kind, row.place.name, _rendered_digest(row), live.size)
        for live in living
        if (row := rows[live.row.entry]).entry in paths and row.placed and row.kind is not Kind.FOLDER
    ]
    folders = [paths[entry] for entry, row in rows.items() if row.kind is Kind.FOLDER and row.placed and entry in paths]
    omissions = [
        _omission_of(row, paths.get(row.entry)) for row in rows.values() if row.entry not in paths or not row.placed
    ]
    counts = dict(Counter(str(row.kind) for row in rows.values()))
    return Outline(sorted(files, key=lambda item: item.path), sorted(folders), omissions, counts)


def _rendered_digest(row: Row) -> Digest | None:
    return row.digest if not row.ahead else None


def _as_rendered(row: Row) -> Row:
    """The row as rendering leaves it: a folder with views from an app becomes a page with its file in the directory."""
    if row.kind is Kind.FOLDER and row.ahead:
        return replace(row, kind=Kind.PAGE, place=replace(row.place, index=True), digest=None)
    return row


def _assign_names(rows: Mapping[EntryId, Row], unplaced: Iterable[LiveEntry]) -> dict[EntryId, Row]:
    """The rows of *unplaced* with clean and free names; of equal names the later row gets a number."""
    named: dict[EntryId, Row] = {}
    waiting = sorted(unplaced, key=_age_of)
    if not waiting:
        return named
    used_keys: defaultdict[_Shelf, set[str]] = defaultdict(set)
    for row in rows.values():
        if row.placed:
            used_keys[_shelf_of(row)].add(name_key(row.place.name))
    for unnamed in waiting:
        row, keys = rows[unnamed.row.entry], used_keys[_shelf_of(unnamed.row)]
        free = (name for name in names_for(row) if name_key(name) not in keys)
        if (name := next(free, None)) is not None:
            keys.add(name_key(name))
            named[row.entry] = replace(row, place=replace(row.place, name=name), placed=True)
    return named


def _age_of(unnamed: LiveEntry) -> tuple[datetime, EntryId]:
    assert unnamed.created_at is not None
    return unnamed.created_at, unnamed.row.entry


def _shelf_of(row: Row) -> _Shelf:
    return row.kind is Kind.ATTACHMENT, row.place.parent


def _omission_of(row: Row, path: str | None) -> Omission:
    name = printable(row.place.name or row.title or "")
    if path is not None:
        why = f"has no free name among {MAX_TWINS} of that name; give it another"
    else:
        why = "is below a page or folder that is deleted, or has a name that no file may have; move or rename it"
    return Omission(name, f"The {row.kind} {name!r} ({row.entry}) {why}.")


P = ParamSpec("P")
T = TypeVar("T")

_MAX_CHUNK_FILES, _MAX_CHUNK_BYTES = 500, 8 << 20  # limits of one chunk: memory does not grow with the tenant's texts
_NO_BYTES_SENTENCE = "has no bytes in mirrord.blob, or others than its digest says; the app inserts them again"


@dataclass(frozen=True, slots=True)
class ExportOutcome:
    """The facts of the directory, and the counts of its files."""

    manifest: Manifest
    tally: Tally


@dataclass(frozen=True, slots=True)
class _Export:
    """One export. disk: a single thread, so that writes happen in order while the next rows are read."""

    connection: Connection
    tenant: TenantId
    outlet: ExportTarget
    disk: ThreadPoolExecutor
    report: Callable[[int], None]

    def run_on_disk(self, act: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> Awaitable[T]:
        """Start *act* in the disk thread; the caller awaits the result when it needs it."""
        return asyncio.get_running_loop().run_in_executor(self.disk, lambda: act(*args, **kwargs))


async def export_tenant(
    database: Database, name: str, tenant: TenantId, root: Path, report: Progress, *, force: bool
) -> ExportOutcome:
    """
    Fill the directory *root* with the content of a mirror of the tenant: pages, attachments, records, folders.

    Files that are up to date are skipped, so an interrupted export continues. Files that an earlier export wrote and
    that the tenant no longer has are removed. Other files never change: `tally.left` lists what stays. force: as in
    outlet.opened().

    Raises like outlet.opened(), and Unavailable if the disk is full or broken.
    """
    try:
        async with open_snapshot(database, tenant) as connection:
            entries = [entry async for entry in snapshot_rows.load_live_entries(connection, tenant)]
            titled = await add_titles(connection, tenant, [entry.row for entry in entries if not entry.row.placed])
            outline = outline_of([replace(entry, row=titled.get(entry.row.entry, entry.row)) for entry in entries])
            seq, moment = await snapshot_rows.load_moment(connection, tenant)
            facts = Manifest(name, str(tenant), seq, moment.isoformat(), folders=outline.folders)
            with ExitStack() as opened, ThreadPoolExecutor(1) as disk:
                out = opened.enter_context(export_directory.open_export(root, facts, force=force))
                count_files = _progress_counter(report, len(outline.files))
                return await _write_all(_Export(connection, tenant, out, disk, count_files), outline)
    except OSError as error:
        raise Unavailable(
            f"{root} cannot be written: {reason_of(error)} What is in place stays; mend that, and export again: it "
            "goes on from there."
        ) from error


async def _write_all(work: _Export, outline: Outline) -> ExportOutcome:
    out = work.outlet
    out.tally.left += outline.omissions
    await work.run_on_disk(out.remove_others, {item.path for item in outline.files})
    await work.run_on_disk(out.make_folders)
    lacking = await work.run_on_disk(_select_lacking, out, outline.files)
    work.report(len(outline.files) - len(lacking))
    await _write_texts(work, [item for item in lacking if item.kind is not Kind.ATTACHMENT])
    await _write_attachments(work, [item for item in lacking if item.kind is Kind.ATTACHMENT])
    facts = await work.run_on_disk(out.finish, outline.counts)
    return ExportOutcome(facts, out.tally)


def _select_lacking(out: ExportTarget, items: Iterable[OutlineFile]) -> list[OutlineFile]:
    """The items to write, as far as is known before rendering."""
    return [item for item in items if item.digest is None or out.needs_write(item.path, item.digest)]


async def _write_texts(work: _Export, items: Sequence[OutlineFile]) -> None:
    """Write the texts of items; the next chunk is read while one is written."""
    writing: Awaitable[None] | None = None
    for chunk in _split_chunks(items):
        texts = await _load_texts(work, chunk)
        if writing is not None:
            await writing
        writing = work.run_on_disk(_write_items, work.outlet, chunk, texts)
        work.report(len(chunk))
    if writing is not None:
        await writing


def _write_items(out: ExportTarget, items: Sequence[OutlineFile], texts: dict[EntryId, bytes]) -> None:
    for item in items:
        if (data := texts.get(item.entry)) is None:
            continue
        digest = digest_of(data)
        if item.digest is None:
            if out.needs_write(item.path, digest):
                out.write(item.path, data, digest)
        elif digest != item.digest:
            out.omit(item.path, "has a row whose text is not that of its digest; `mirrord check --fix` mends that")
        else:
            out.write(item.path, data, item.digest)


async def _load_texts(work: _Export, items: Sequence[OutlineFile]) -> dict[EntryId, bytes]:
    """The texts of pages and records; if one cannot be rendered, its earlier text, and a remark."""
    ready = [item for item in items if item.digest is not None]
    pages = [item.entry for item in ready if item.kind is Kind.PAGE]
    recorded = [item.entry for item in ready if item.kind is Kind.RECORD]
    loaded = await derived_rows.load_texts(work.connection, work.tenant, pages) if pages else {}
    loaded |= await record_rows.load_texts(work.connection, work.tenant, recorded) if recorded else {}
    texts = {entry: text.encode() for entry, (_, text) in loaded.items() if text is not None}
    if len(ready) < len(items):
        texts |= await _render(work, [item for item in items if item.digest is None])
    return texts


async def _render(work: _Export, items: Sequence[OutlineFile]) -> dict[EntryId, bytes]:
    """Render what apps wrote, as the daemon would; nothing is stored."""
    by_entry, texts = {item.entry: item for item in items}, dict[EntryId, bytes]()
    pages = await derived_rows.load_page_rows(work.connection, work.tenant, by_entry)
    for page in pages:
        item = by_entry[page.entry]
        text = _render_or_keep(work.outlet, item, page.markdown, lambda: render_page(replace(page, name=item.name)))  # noqa: B023
        texts |= {page.entry: text.encode()} if text is not None else {}
    for record in await record_rows.load_records(work.connection, work.tenant, by_entry):
        item = by_entry[record.entry]
        text = _render_or_keep(work.outlet, item, record.text, lambda: render_record(item.name, record).text)  # noqa: B023
        texts |= {record.entry: text.encode()} if text is not None else {}
    return texts


def _render_or_keep(
    out: ExportTarget, item: OutlineFile, earlier_text: str | None, render: Callable[[], str]
) -> str | None:
    try:
        return render()
    except Damaged as error:
        stays = "holds the text before that" if earlier_text is not None else "is left out"
        out.omit(item.path, f"{stays}: what an app wrote cannot be written as text: {str(error).rstrip('.')}")
        return earlier_text


async def _write_attachments(work: _Export, items: Sequence[OutlineFile]) -> None:
    """Write attachments of one part in chunks; larger and damaged ones one by one."""
    remaining = [item for item in items if item.size > PART_BYTES]
    for chunk in _split_chunks([item for item in items if item.size <= PART_BYTES]):
        parts = await snapshot_rows.load_first_parts(
            work.connection, work.tenant, list({_digest_of(item) for item in chunk})
        )
        intact = {digest: part for digest, part in parts.items() if digest_of(part) == digest}
        complete = {item.entry: intact[_digest_of(item)] for item in chunk if _digest_of(item) in intact}
        await work.run_on_disk(_write_items, work.outlet, chunk, complete)
        remaining += [item for item in chunk if item.entry not in complete]
        work.report(len(complete))
    for item in remaining:
        await _write_parts(work, item)
        work.report(1)


async def _write_parts(work: _Export, item: OutlineFile) -> None:
    try:
        with work.outlet.write_pieces(item.path, _digest_of(item)) as pieces:
            async for part in snapshot_rows.load_parts(work.connection, work.tenant, _digest_of(item)):
                await work.run_on_disk(pieces.write, part)
    except Damaged:
        work.outlet.omit(item.path, _NO_BYTES_SENTENCE)


def _digest_of(item: OutlineFile) -> Digest:
    assert item.digest is not None, "an attachment always has a digest"
    return item.digest


def _split_chunks(items: Iterable[OutlineFile]) -> Iterator[list[OutlineFile]]:
    return split_into_batches(items, lambda item: item.size, size=_MAX_CHUNK_BYTES, max_items=_MAX_CHUNK_FILES)


def _progress_counter(report: Progress, total: int) -> Callable[[int], None]:
    done = 0

    def count_files(files: int) -> None:
        nonlocal done
        done += files
        report(done, total)

    return count_files
