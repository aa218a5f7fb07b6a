"""Deletions: gathered until no more come, confirmed by a scan, weighed together, and only then carried over."""

import asyncio
import time
from collections import deque
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

from mirrord.db.attention import Problem
from mirrord.db.writes import Statement, run
from mirrord.domain.entry import FILE_ACTOR, EntryId, Kind
from mirrord.domain.place import BESIDE
from mirrord.domain.state import NO_TEXT, File
from mirrord.errors import Busy, Refused, Stale, reason_of
from mirrord.mirror import replace as replacing
from mirrord.mirror.layout import directory_of, parent_of
from mirrord.mirror.lock import lock_for
from mirrord.sync.assembly import is_owned
from mirrord.sync.decision import Decision, Step
from mirrord.sync.guard import QUIET, RECENT
from mirrord.sync.plan import Move
from mirrord.sync.rows import Outcome, to_rows
from mirrord.sync.sides import Sides

SIDES = ("file", "row", "emptied", "vanished")


@dataclass(slots=True)
class Gathered:
    """
    Entries of which one side is gone, since when nothing was added, and how many went lately (per side).

    entries: with the path where its file was, None if that is what is gone.
    """

    entries: dict[EntryId, str | None] = field(default_factory=dict)
    added: float = 0.0
    recent: dict[str, deque[tuple[float, int]]] = field(default_factory=lambda: {side: deque() for side in SIDES})

    def add(self, entries: Mapping[EntryId, str | None]) -> None:
        """One more gone entry starts the wait anew."""
        if entries.keys() - self.entries.keys():
            self.added = time.monotonic()
        self.entries |= entries

    @property
    def due(self) -> bool:
        """Whether the set is complete: nothing was added for a while."""
        return bool(self.entries) and time.monotonic() - self.added >= QUIET

    def take(self, only: Collection[EntryId] = ()) -> dict[EntryId, str | None]:
        """Take them, or *only* these of them."""
        taken = {entry: path for entry, path in self.entries.items() if not only or entry in only}
        self.entries = {entry: path for entry, path in self.entries.items() if entry not in taken}
        return taken

    def count_recent(self, side: str) -> int:
        """Deletions seen on *side* within the last ten minutes."""
        spans = self.recent[side]
        while spans and time.monotonic() - spans[0][0] > RECENT:
            spans.popleft()
        return sum(count for _, count in spans)

    def happened(self, side: str, count: int) -> None:
        """*count* deletions of *side* were carried over."""
        self.recent[side].append((time.monotonic(), count))


def side_of(decision: Decision) -> str:
    """How the loss was seen: one of SIDES."""
    return _SIDE_OF[decision.move]


_SIDE_OF = {Move.ENTOMB: "file", Move.TRASH: "row", Move.TO_ROW: "emptied", Move.REINSERT: "vanished"}


async def entomb(sides: Sides, decisions: Sequence[Decision]) -> Outcome:
    """Rows whose files are gone become tombstones, all in one transaction, children first."""
    ordered = sorted(decisions, key=lambda one: -(one.state.base.path or "").count("/") if one.state.base else 0)
    statements = [_entomb(sides, decision) for decision in ordered]
    async with sides.database.transaction(sides.tenant, sides.fence, FILE_ACTOR) as connection:
        versions = await run(connection, statements)
    outcome = Outcome()
    for decision, version in zip(ordered, versions, strict=True):
        (outcome.stale if version is None else outcome.done).append(decision)
    return outcome


def _entomb(sides: Sides, decision: Decision) -> Statement:
    assert decision.state.base is not None
    assert decision.state.row is not None
    return sides.writer.entomb(decision.state.base, decision.state.row.version)


async def trash(sides: Sides, decisions: Sequence[Decision]) -> Outcome:
    """Files whose rows are deleted go to the trash, then directories that are empty; a folder that is not lives on."""
    outcome = Outcome()
    pages = [one for one in decisions if _file(one).digest != NO_TEXT]
    for decision in pages:
        await _trash_file(sides, decision, outcome)
    folders = sorted({_directory(one) for one in decisions} - {""}, key=lambda path: -path.count("/"))
    failed = {_file(one).path: "something in it cannot be removed yet." for one in outcome.later}
    removed = {path for path in folders if await asyncio.to_thread(_remove_directory, sides, path, failed)}
    removed |= {path for path in folders if path not in failed and is_owned(path, sides.looker.index)}  # by a page now
    bare = [one for one in decisions if _file(one).digest == NO_TEXT]
    outcome.done += [one for one in bare if _file(one).path in removed]
    for decision in bare:
        if (why := failed.get(_file(decision).path)) is not None:
            _list(decision, why, outcome)
    statements = [sides.writer.forget(one.state.entry) for one in outcome.done]
    # something mirrord does not sync, or does not know yet, is still in there: the folder lives on
    left = [one for one in bare if _file(one).path not in removed | failed.keys()]
    outcome.stale += [one for one in left if one.state.row is None]
    async with sides.database.transaction(sides.tenant, sides.fence) as connection:
        await run(connection, statements)
    outcome.add(await to_rows(sides, [_kept(one) for one in left if one.state.row is not None], {}))
    return outcome


def _kept(decision: Decision) -> Decision:
    """The folder's row lives again; what has its name by now keeps that."""
    row = decision.state.row
    move = Move.REINSERT if row is not None and row.purged else Move.REVIVE
    return replace(decision, step=Step.ROW, move=move)


async def _trash_file(sides: Sides, decision: Decision, outcome: Outcome) -> None:
    file, row = _file(decision), decision.state.row
    title = row.title if row else None
    sides.check_lease()
    try:
        await asyncio.to_thread(_remove, sides, file, decision.state.entry, title)
    except Stale:
        outcome.stale.append(decision)
    except Busy:
        outcome.later.append(decision)
    except (Refused, OSError) as error:
        _list(decision, reason_of(error), outcome)
    else:
        sides.looker.index.forget(file.path)
        outcome.done.append(decision)


def _remove(sides: Sides, file: File, entry: EntryId, title: str | None) -> None:
    reason = "deleted in Postgres"
    with lock_for(sides.tree, [file.path]):
        replacing.remove(
            sides.tree, sides.journal, file.path, entry=entry, over=file.digest, reason=reason, title=title
        )


def _list(decision: Decision, why: str, outcome: Outcome) -> None:
    path = _file(decision).path
    sentence = f"{path!r} was deleted in Postgres and cannot be removed: {why}"
    outcome.troubles.append(Problem(path, "unwritable", sentence, decision.state.entry))
    outcome.later.append(decision)


def _directory(decision: Decision) -> str:
    """The directory that goes with the entry, if it is empty then."""
    file = _file(decision)
    if file.kind is Kind.RECORD:
        return ""
    if file.kind is Kind.ATTACHMENT:
        return parent_of(file.path) if not file.place.name.startswith(BESIDE) else ""
    return directory_of(file.path, file.kind)


def _remove_directory(sides: Sides, path: str, failed: dict[str, str]) -> bool:
    """Whether it is gone, because it was empty. failed: paths that are to go and cannot now, with why; grows."""
    why = next((why for below, why in failed.items() if below.startswith(f"{path}/")), None)
    if why is not None:
        failed[path] = why
        return False
    try:
        gone = _is_gone(sides, path)
    except (Refused, OSError) as error:
        failed[path] = reason_of(error)
        return False
    if gone:
        sides.looker.index.forget(path)
    return gone


def _is_gone(sides: Sides, path: str) -> bool:
    found = sides.tree.stat(path)
    if found is None:
        return True
    if not found.is_directory:
        return False
    sides.tree.remove_directory(f"{path}/assets")
    return sides.tree.remove_directory(path)


def _file(decision: Decision) -> File:
    assert isinstance(decision.state.file, File)
    return decision.state.file
