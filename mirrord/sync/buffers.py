"""Finding saves of stale buffers among the edits that are about to be written to rows."""

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import suppress

from mirrord.codec.text import decode
from mirrord.db import buffers, sightings
from mirrord.db.buffers import Revision
from mirrord.domain.entry import EntryId, Kind
from mirrord.domain.state import Base, File
from mirrord.errors import Busy, Damaged, Refused, Stale
from mirrord.mirror import copies
from mirrord.sync.bodies import data_of
from mirrord.sync.decision import Decision
from mirrord.sync.plan import Move
from mirrord.sync.sides import Sides
from mirrord.sync.stale import merge_base


async def stale_saves(sides: Sides, decisions: Sequence[Decision]) -> dict[EntryId, Revision]:
    """
    For each entry whose file was saved from a text older than its base: the version that text is.

    The version has the file's own bytes where an editor saved an older text once more.
    """
    suspects = [(file, base) for one in decisions for file, base in _suspect(one) if _may_show_older(sides, file, base)]
    if suspects:  # a command had read what it replaced
        written = await asyncio.to_thread(copies.written, sides.tree)
        suspects = [(file, base) for file, base in suspects if written.get(file.digest) != base.entry]
    if not suspects:
        return {}
    async with sides.database.transaction(sides.tenant) as connection:
        questions = [(base.entry, file.digest) for file, base in suspects]
        known = await sightings.of_pages(connection, sides.tenant, questions)
        suspects = [
            (file, base) for file, base in suspects if base.entry not in known or _is_repeated(sides, file, base)
        ]
        shown = await buffers.shown(connection, sides.tenant, [base for _, base in suspects])
    found = {}
    for file, base in suspects:
        revision = await asyncio.to_thread(_made_from, sides, file, base, shown[base.entry])
        if revision is not None:
            found[base.entry] = revision
    return found


def _suspect(decision: Decision) -> Iterator[tuple[File, Base]]:
    """File and base of an edit, where the base is not what somebody saved in that very file."""
    file, base = decision.state.file, decision.state.base
    if decision.move not in (Move.TO_ROW, Move.MERGE) or not isinstance(file, File) or base is None:
        return
    if file.kind is Kind.PAGE and base.kind is Kind.PAGE and base.version > max(base.saved or 0, 1):
        yield file, base


def _may_show_older(sides: Sides, file: File, base: Base) -> bool:
    """Whether the save came so soon after mirrord's own write that its editor may not have read that."""
    seen = sides.looker.index.get(file.path)
    return seen is not None and sides.old_buffers.may_show_older(base.entry, seen.ctime_ns)


def _is_repeated(sides: Sides, file: File, base: Base) -> bool:
    """Whether a known text is not a wanted undo, but the buffer that was saved and merged a moment ago."""
    return sides.old_buffers.is_repeated(base.entry, file.digest)


def _made_from(sides: Sides, file: File, base: Base, shown: Sequence[Revision]) -> Revision | None:
    if len(shown) < 2 or shown[-1].digest != base.digest:
        return None
    repeated = next((one for one in shown if one.digest == file.digest), None)
    if repeated is not None:
        return repeated
    saved = None
    with suppress(Stale, Busy, Damaged, Refused, FileNotFoundError):  # the write itself runs into it, and says so
        saved = decode(data_of(sides.tree, file))
    if saved is None:
        return None
    text = merge_base([one.text for one in shown[:-1]], shown[-1].text, saved)
    return next((one for one in shown if one.text == text), None)
