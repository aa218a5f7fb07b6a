"""Exporting: a tenant's rows, as they are at one moment, become a tree anywhere. Needs neither daemon nor mirror."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ParamSpec, TypeVar

from mirrord.db import living, records, views
from mirrord.db.blobs import PART
from mirrord.db.connect import Connection, Database
from mirrord.db.snapshot import snapshot
from mirrord.domain.batches import batches
from mirrord.domain.entry import Digest, EntryId, Kind, TenantId, digest_of
from mirrord.domain.progress import Progress
from mirrord.errors import Damaged, Unavailable, reason_of
from mirrord.mirror import outlet
from mirrord.mirror.manifest import Manifest
from mirrord.mirror.outlet import Outlet, Tally
from mirrord.sync.outline import Item, Outline, outlined
from mirrord.sync.prepare import rendered
from mirrord.sync.recorded import rendered_record
from mirrord.sync.titles import with_titles

P = ParamSpec("P")
T = TypeVar("T")

_CHUNK, _CHUNK_BYTES = 500, 8 << 20  # files read at once: memory does not grow with the tenant's texts
_NO_BYTES = "has no bytes in mirrord.blob, or others than its digest says; the app inserts them again"


@dataclass(frozen=True, slots=True)
class Exported:
    """What is in the directory now, and what became of its files."""

    facts: Manifest
    tally: Tally


@dataclass(frozen=True, slots=True)
class _Work:
    """One export. disk: one thread, so that what is handed over is done in order while the next rows are read."""

    connection: Connection
    tenant: TenantId
    outlet: Outlet
    disk: ThreadPoolExecutor
    report: Callable[[int], None]

    def on_disk(self, act: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> Awaitable[T]:
        """Begin *act* at once; wait for it when it matters."""
        return asyncio.get_running_loop().run_in_executor(self.disk, lambda: act(*args, **kwargs))


async def export(
    database: Database, name: str, tenant: TenantId, root: Path, report: Progress, *, force: bool
) -> Exported:
    """
    Let the directory *root* hold what a mirror of the tenant would hold: pages, attachments, records, folders.

    Files that hold that already are passed over, so an export that died goes on; what an export wrote and the tenant
    has no more is removed. Nothing else is ever changed: `tally.left` lists what stays. force: as outlet.opened().

    Raises as outlet.opened() does, and Unavailable where the disk is full or broken.
    """
    try:
        async with snapshot(database, tenant) as connection:
            everything = [one async for one in living.everything(connection, tenant)]
            titled = await with_titles(connection, tenant, [one.row for one in everything if not one.row.placed])
            outline = outlined([replace(one, row=titled.get(one.row.entry, one.row)) for one in everything])
            seq, moment = await living.moment(connection, tenant)
            facts = Manifest(name, str(tenant), seq, moment.isoformat(), folders=outline.folders)
            with ExitStack() as opened, ThreadPoolExecutor(1) as disk:
                out = opened.enter_context(outlet.opened(root, facts, force=force))
                counted = _counting(report, len(outline.files))
                return await _write_all(_Work(connection, tenant, out, disk, counted), outline)
    except OSError as error:
        raise Unavailable(
            f"{root} cannot be written: {reason_of(error)} What is in place stays; mend that, and export again: it "
            "goes on from there."
        ) from error


async def _write_all(work: _Work, outline: Outline) -> Exported:
    out = work.outlet
    out.tally.left += outline.left
    await work.on_disk(out.remove_others, {item.path for item in outline.files})
    await work.on_disk(out.make_folders)
    lacking = await work.on_disk(_lacking, out, outline.files)
    work.report(len(outline.files) - len(lacking))
    await _write_texts(work, [item for item in lacking if item.kind is not Kind.ATTACHMENT])
    await _write_attachments(work, [item for item in lacking if item.kind is Kind.ATTACHMENT])
    facts = await work.on_disk(out.finish, outline.counts)
    return Exported(facts, out.tally)


def _lacking(out: Outlet, items: Iterable[Item]) -> list[Item]:
    """What has to be written, as far as is known before it is rendered."""
    return [item for item in items if item.digest is None or out.lacks(item.path, item.digest)]


async def _write_texts(work: _Work, items: Sequence[Item]) -> None:
    """While one chunk is written, the next is read."""
    writing: Awaitable[None] | None = None
    for chunk in _chunks(items):
        texts = await _load_texts(work, chunk)
        if writing is not None:
            await writing
        writing = work.on_disk(_put, work.outlet, chunk, texts)
        work.report(len(chunk))
    if writing is not None:
        await writing


def _put(out: Outlet, items: Sequence[Item], texts: dict[EntryId, bytes]) -> None:
    for item in items:
        if (data := texts.get(item.entry)) is None:
            continue
        digest = digest_of(data)
        if item.digest is None:
            if out.lacks(item.path, digest):
                out.write(item.path, data, digest)
        elif digest != item.digest:
            out.leave(item.path, "has a row whose text is not that of its digest; `mirrord check --fix` mends that")
        else:
            out.write(item.path, data, item.digest)


async def _load_texts(work: _Work, items: Sequence[Item]) -> dict[EntryId, bytes]:
    """The texts of pages and records; of those that cannot be rendered the text before, and a remark."""
    ready = [item for item in items if item.digest is not None]
    pages = [item.entry for item in ready if item.kind is Kind.PAGE]
    recorded = [item.entry for item in ready if item.kind is Kind.RECORD]
    found = await views.load_texts(work.connection, work.tenant, pages) if pages else {}
    found |= await records.load_texts(work.connection, work.tenant, recorded) if recorded else {}
    texts = {entry: text.encode() for entry, (_, text) in found.items() if text is not None}
    if len(ready) < len(items):
        texts |= await _render(work, [item for item in items if item.digest is None])
    return texts


async def _render(work: _Work, items: Sequence[Item]) -> dict[EntryId, bytes]:
    """What the daemon would make of what apps wrote; nothing is stored."""
    by_entry, texts = {item.entry: item for item in items}, dict[EntryId, bytes]()
    pages = await views.load_written(work.connection, work.tenant, by_entry)
    for page in pages:
        item = by_entry[page.entry]
        text = _rendered(work.outlet, item, page.markdown, lambda: rendered(replace(page, name=item.name)))  # noqa: B023
        texts |= {page.entry: text.encode()} if text is not None else {}
    for record in await records.load(work.connection, work.tenant, by_entry):
        item = by_entry[record.entry]
        text = _rendered(work.outlet, item, record.text, lambda: rendered_record(item.name, record).text)  # noqa: B023
        texts |= {record.entry: text.encode()} if text is not None else {}
    return texts


def _rendered(out: Outlet, item: Item, before: str | None, render: Callable[[], str]) -> str | None:
    try:
        return render()
    except Damaged as error:
        stays = "holds the text before that" if before is not None else "is left out"
        out.leave(item.path, f"{stays}: what an app wrote cannot be written as text: {str(error).rstrip('.')}")
        return before


async def _write_attachments(work: _Work, items: Sequence[Item]) -> None:
    """Those of one part many at a time; others, and those that are not what they should be, each by itself."""
    rest = [item for item in items if item.size > PART]
    for chunk in _chunks([item for item in items if item.size <= PART]):
        parts = await living.first_parts(work.connection, work.tenant, list({_digest(item) for item in chunk}))
        intact = {digest: part for digest, part in parts.items() if digest_of(part) == digest}
        whole = {item.entry: intact[_digest(item)] for item in chunk if _digest(item) in intact}
        await work.on_disk(_put, work.outlet, chunk, whole)
        rest += [item for item in chunk if item.entry not in whole]
        work.report(len(whole))
    for item in rest:
        await _write_parts(work, item)
        work.report(1)


async def _write_parts(work: _Work, item: Item) -> None:
    try:
        with work.outlet.writing(item.path, _digest(item)) as pieces:
            async for part in living.parts(work.connection, work.tenant, _digest(item)):
                await work.on_disk(pieces.write, part)
    except Damaged:
        work.outlet.leave(item.path, _NO_BYTES)


def _digest(item: Item) -> Digest:
    assert item.digest is not None, "an attachment is never without"
    return item.digest


def _chunks(items: Iterable[Item]) -> Iterator[list[Item]]:
    return batches(items, lambda item: item.size, size=_CHUNK_BYTES, most=_CHUNK)


def _counting(report: Progress, of: int) -> Callable[[int], None]:
    done = 0

    def more(files: int) -> None:
        nonlocal done
        done += files
        report(done, of)

    return more
