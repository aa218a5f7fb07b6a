"""Finds saves of stale buffers among the edits about to be written to rows."""

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import suppress

from mirrord.db.content import stored_bytes
from mirrord.db.content.stored_bytes import Revision
from mirrord.domain.entry import Base, EntryId, File, Kind
from mirrord.errors import Busy, Damaged, Refused, Stale
from mirrord.markdown.frontmatter.page_text import decode
from mirrord.mirror.write import written_copies
from mirrord.sync.decisions.entry_decision import Decision, Move
from mirrord.sync.decisions.stale_buffers import merge_base
from mirrord.sync.observation.mirror_handles import Sides
from mirrord.sync.writing.entry_bodies import data_of


async def find_stale_saves(sides: Sides, decisions: Sequence[Decision]) -> dict[EntryId, Revision]:
    """
    Find the version that each stale buffer was made from, by entry: its file was saved from a text older than the base.

    The version has the bytes of the file itself if an editor saved an older text once more.
    """
    suspects = [
        (file, base)
        for decision in decisions
        for file, base in _select_suspect(decision)
        if _may_show_older(sides, file, base)
    ]
    if suspects:  # a command read the text that it replaced
        written_entries = await asyncio.to_thread(written_copies.entries_by_digest, sides.tree)
        suspects = [(file, base) for file, base in suspects if written_entries.get(file.digest) != base.entry]
    if not suspects:
        return {}
    async with sides.database.transaction(sides.tenant) as connection:
        questions = [(base.entry, file.digest) for file, base in suspects]
        known_entries = await stored_bytes.newest_page_versions(connection, sides.tenant, questions)
        suspects = [
            (file, base)
            for file, base in suspects
            if base.entry not in known_entries or _is_repeated(sides, file, base)
        ]
        shown_revisions = await stored_bytes.load_shown_versions(
            connection, sides.tenant, [base for _, base in suspects]
        )
    revisions = {}
    for file, base in suspects:
        revision = await asyncio.to_thread(_find_revision, sides, file, base, shown_revisions[base.entry])
        if revision is not None:
            revisions[base.entry] = revision
    return revisions


def _select_suspect(decision: Decision) -> Iterator[tuple[File, Base]]:
    """File and base of an edit, if the base is not a text that was saved in this file itself."""
    file, base = decision.state.file, decision.state.base
    if decision.move not in (Move.TO_ROW, Move.MERGE) or not isinstance(file, File) or base is None:
        return
    if file.kind is Kind.PAGE and base.kind is Kind.PAGE and base.version > max(base.saved or 0, 1):
        yield file, base


def _may_show_older(sides: Sides, file: File, base: Base) -> bool:
    """Whether the save came so soon after mirrord's write that the editor may not have read it."""
    cached_stat = sides.looker.index.get(file.path)
    return cached_stat is not None and sides.old_buffers.may_show_older(base.entry, cached_stat.ctime_ns)


def _is_repeated(sides: Sides, file: File, base: Base) -> bool:
    """Whether a known text is the buffer that was saved and merged a moment ago, not an intended undo."""
    return sides.old_buffers.is_repeated(base.entry, file.digest)


def _find_revision(sides: Sides, file: File, base: Base, revisions: Sequence[Revision]) -> Revision | None:
    if len(revisions) < 2 or revisions[-1].digest != base.digest:
        return None
    repeated = next((revision for revision in revisions if revision.digest == file.digest), None)
    if repeated is not None:
        return repeated
    saved_text = None
    with suppress(
        Stale, Busy, Damaged, Refused, FileNotFoundError
    ):  # the write itself meets the same error and reports it
        saved_text = decode(data_of(sides.tree, file))
    if saved_text is None:
        return None
    base_text = merge_base([revision.text for revision in revisions[:-1]], revisions[-1].text, saved_text)
    return next((revision for revision in revisions if revision.text == base_text), None)
