"""Recognise moves by copying and removing, as rsync and Syncthing do: the copy takes the place of the original."""

import asyncio
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain

from mirrord.db.copies import Copy, load_copies_of_earlier_texts, load_unchanged_copies, move_to_place_of_copy
from mirrord.db.writes import defer_names
from mirrord.domain.batches import split_into_batches
from mirrord.domain.entry import EMPTY_DIGEST, FILE_ACTOR, EntryId, Kind
from mirrord.domain.state import NO_TEXT, Base, Row
from mirrord.errors import Stale
from mirrord.mirror import trash
from mirrord.mirror.layout import directory_of, lineage, parent_of
from mirrord.sync.decision import Decision
from mirrord.sync.known_copies import COPIED_KINDS
from mirrord.sync.likeness import count_common_end
from mirrord.sync.sides import Sides

MAX_PLACES_PER_TRANSACTION = 2_000  # places taken in one transaction: many more exceed the time limit of a transaction


async def take_places_of_copies(sides: Sides, decisions: Sequence[Decision]) -> list[Decision]:
    """
    Move lost entries to the places of their recent, unchanged copies; return their decisions, to be looked at again.

    Of very many entries only some are moved now, the others at the next look. A copy of an earlier text counts for a
    page, too: `git stash` and `git rebase` put older states elsewhere. If a row changed meanwhile, nothing is written,
    and all decisions are returned. Entries that a tool deleted stay deleted.
    """
    lost = {decision.state.entry: decision for decision in decisions if _is_text_missing(decision)}
    earlier = await _load_earlier_copies(sides, lost)
    copies = {copy: frozenset({original}) for copy, original in earlier.items()} | sides.known_copies.copies_of(lost)
    if copies:
        deleted = await asyncio.to_thread(_find_deleted_by_tools, sides)
        copied = frozenset().union(*copies.values())
        lost = {
            entry: decision
            for entry, decision in lost.items()
            if entry in copied and (entry, _base_and_row(decision)[0].path) not in deleted
        }
    if not copies or not lost:
        return []
    try:
        pairs: Iterable[EntryId] = await _take_places(sides, lost, copies, earlier)
    except Stale:
        pairs = lost
    return [lost[entry] for entry in pairs]


async def _load_earlier_copies(sides: Sides, lost: Mapping[EntryId, Decision]) -> Mapping[EntryId, EntryId]:
    """The lost page by recent page, for recent pages with an earlier text of the lost one."""
    pages = [entry for entry, decision in lost.items() if _base_and_row(decision)[0].kind is Kind.PAGE]
    if not pages:
        return {}
    async with sides.database.transaction(sides.tenant) as connection:
        return await load_copies_of_earlier_texts(connection, sides.tenant, sides.mirror, pages)


async def _take_places(
    sides: Sides,
    lost: Mapping[EntryId, Decision],
    copies: Mapping[EntryId, frozenset[EntryId]],
    earlier: Mapping[EntryId, EntryId],
) -> Mapping[EntryId, Copy]:
    """Raises Stale if a row changed meanwhile."""
    async with sides.database.transaction(sides.tenant, sides.fence, FILE_ACTOR) as connection:
        pairs: dict[EntryId, Copy] = {}
        for kind in COPIED_KINDS:
            bases = [base for decision in lost.values() if (base := _base_and_row(decision)[0]).kind is kind]
            unchanged = await load_unchanged_copies(
                connection, sides.tenant, sides.mirror, kind, copies.keys() - lost.keys()
            )
            pairs |= pair_with_copies(bases, unchanged, copies, earlier)
        await defer_names(connection)
        for entry in _select_first_families(pairs, {entry: _base_and_row(lost[entry])[0].kind for entry in pairs}):
            (base, row), copy = _base_and_row(lost[entry]), pairs[entry]
            if not await move_to_place_of_copy(
                connection, sides.tenant, sides.mirror, base.kind, entry, row.version, copy
            ):
                raise Stale("A row changed meanwhile.")
    return pairs


def pair_with_copies(
    lost: Sequence[Base],
    copies: Sequence[Copy],
    originals: Mapping[EntryId, frozenset[EntryId]],
    earlier: Mapping[EntryId, EntryId],
) -> Mapping[EntryId, Copy]:
    """
    Pair lost entries with copies of the same bytes and `id:`; of several, with the longest common end of the path.

    earlier: original by copy, for copies of an earlier text. Such a copy must have the name of the original, too: an
    earlier text may come from a template.
    """
    free: dict[EntryId, list[Copy]] = defaultdict(list)
    for copy in sorted(copies, key=lambda copy: copy.path):
        for original in originals[copy.entry]:
            free[original].append(copy)
    pairs: dict[EntryId, Copy] = {}
    taken_copies: set[EntryId] = set()
    for base in sorted(lost, key=lambda base: base.path or ""):
        alike = [
            copy for copy in free[base.entry] if copy.entry not in taken_copies and _is_copy_of(copy, base, earlier)
        ]
        if alike:
            pairs[base.entry] = max(alike, key=lambda copy: _rank_copy(copy, base))
            taken_copies.add(pairs[base.entry].entry)
    return pairs


def _select_first_families(pairs: Mapping[EntryId, Copy], kinds: Mapping[EntryId, Kind]) -> list[EntryId]:
    """
    Select about MOST_TOGETHER of *pairs*, parents first, each page with everything below it.

    If a page took its copy's place without its child, it would have two children of one name.
    """
    families: dict[str, list[EntryId]] = {}
    family_below: dict[str, str] = {}  # the family of a directory's content
    spots = {entry: directory_of(copy.path, kinds[entry]) for entry, copy in pairs.items()}
    for entry, spot in sorted(spots.items(), key=lambda pair: (pair[1].count("/"), pair[1])):
        above = next((family_below[path] for path in lineage(parent_of(spot)) if path in family_below), spot)
        families.setdefault(above, []).append(entry)
        family_below[spot] = above
    first = next(split_into_batches(list(families.values()), len, size=MAX_PLACES_PER_TRANSACTION), [])
    return list(chain.from_iterable(first))


def _is_copy_of(copy: Copy, base: Base, earlier: Mapping[EntryId, EntryId]) -> bool:
    if copy.claimed != base.claimed:
        return False
    is_earlier = earlier.get(copy.entry) == base.entry and count_common_end(base.path or "", copy.path) > 0
    return copy.digest == base.digest or is_earlier


def _rank_copy(copy: Copy, base: Base) -> tuple[bool, int]:
    return copy.digest == base.digest, count_common_end(base.path or "", copy.path)


def _find_deleted_by_tools(sides: Sides) -> set[tuple[EntryId, str]]:
    """Entries in the trash with their earlier paths: these deletions were explicit. Blocking."""
    removed = trash.list_trash(sides.tree)
    return {(EntryId(content.label.entry), content.card.path) for content in removed if content.card is not None}


def _is_text_missing(decision: Decision) -> bool:
    """Whether the file of a page or attachment is gone and its row is as in the base."""
    base, row = decision.state.base, decision.state.row
    if base is None or row is None or base.kind not in COPIED_KINDS or base.digest in (EMPTY_DIGEST, NO_TEXT):
        return False
    return not row.deleted and row.digest == base.digest


def _base_and_row(decision: Decision) -> tuple[Base, Row]:
    base, row = decision.state.base, decision.state.row
    assert base is not None
    assert row is not None
    return base, row
