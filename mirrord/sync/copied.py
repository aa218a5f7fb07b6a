"""Files that were copied first and removed after, as rsync and Syncthing move them: the copy is what was copied."""

import asyncio
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain

from mirrord.db.copies import Copy, load_copies_of_earlier_texts, load_unchanged_copies, take_place_of
from mirrord.db.writes import defer_names
from mirrord.domain.batches import batches
from mirrord.domain.entry import EMPTY, FILE_ACTOR, EntryId, Kind
from mirrord.domain.state import NO_TEXT, Base, Row
from mirrord.errors import Stale
from mirrord.mirror import trash
from mirrord.mirror.layout import directory_of, lineage, parent_of
from mirrord.sync.decision import Decision
from mirrord.sync.known_copies import COPIED_KINDS
from mirrord.sync.likeness import common_end
from mirrord.sync.sides import Sides

MOST_TOGETHER = 2_000  # places taken in one transaction: many more take longer than one may


async def take_places_of_copies(sides: Sides, gone: Sequence[Decision]) -> list[Decision]:
    """
    Those of *gone* whose exact copy came lately and was not changed: they have its place now, and no file is missing.
    Of very many, some have it now, and the others when they are looked at again.

    So have pages of which a copy of an earlier text came: `git stash` and `git rebase` put older states elsewhere.
    Where a row changed meanwhile nothing is written, and they are returned all the same, to be looked at again. What a
    tool deleted is deleted.
    """
    lost = {one.state.entry: one for one in gone if _is_text_missing(one)}
    earlier = await _earlier_copies(sides, lost)
    copies = {copy: frozenset({original}) for copy, original in earlier.items()} | sides.copies.of_originals(lost)
    if copies:
        deleted = await asyncio.to_thread(_deleted_by_tools, sides)
        copied = frozenset().union(*copies.values())
        lost = {
            entry: one
            for entry, one in lost.items()
            if entry in copied and (entry, _agreed(one)[0].path) not in deleted
        }
    if not copies or not lost:
        return []
    try:
        pairs: Iterable[EntryId] = await _take_places(sides, lost, copies, earlier)
    except Stale:
        pairs = lost
    return [lost[entry] for entry in pairs]


async def _earlier_copies(sides: Sides, lost: Mapping[EntryId, Decision]) -> Mapping[EntryId, EntryId]:
    """Pages that came lately with a text that a lost one had before, each with that one."""
    pages = [entry for entry, one in lost.items() if _agreed(one)[0].kind is Kind.PAGE]
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
    """Raises Stale where a row changed meanwhile."""
    async with sides.database.transaction(sides.tenant, sides.fence, FILE_ACTOR) as connection:
        pairs: dict[EntryId, Copy] = {}
        for kind in COPIED_KINDS:
            bases = [base for one in lost.values() if (base := _agreed(one)[0]).kind is kind]
            unchanged = await load_unchanged_copies(
                connection, sides.tenant, sides.mirror, kind, copies.keys() - lost.keys()
            )
            pairs |= pair_with_copies(bases, unchanged, copies, earlier)
        await defer_names(connection)
        for entry in _first_families(pairs, {entry: _agreed(lost[entry])[0].kind for entry in pairs}):
            (base, row), copy = _agreed(lost[entry]), pairs[entry]
            if not await take_place_of(connection, sides.tenant, sides.mirror, base.kind, entry, row.version, copy):
                raise Stale("A row changed meanwhile.")
    return pairs


def pair_with_copies(
    lost: Sequence[Base],
    copies: Sequence[Copy],
    originals: Mapping[EntryId, frozenset[EntryId]],
    earlier: Mapping[EntryId, EntryId],
) -> Mapping[EntryId, Copy]:
    """
    For each lost entry its copy: the same bytes, the same `id:`; of several the one whose path ends most alike.

    earlier: those that have a text that the original had before. They have to have its name, too: such a text may come
    from a template.
    """
    free: dict[EntryId, list[Copy]] = defaultdict(list)
    for copy in sorted(copies, key=lambda copy: copy.path):
        for original in originals[copy.entry]:
            free[original].append(copy)
    pairs: dict[EntryId, Copy] = {}
    taken: set[EntryId] = set()
    for base in sorted(lost, key=lambda base: base.path or ""):
        alike = [copy for copy in free[base.entry] if copy.entry not in taken and _is_copy_of(copy, base, earlier)]
        if alike:
            pairs[base.entry] = max(alike, key=lambda copy: _nearness(copy, base))
            taken.add(pairs[base.entry].entry)
    return pairs


def _first_families(pairs: Mapping[EntryId, Copy], kinds: Mapping[EntryId, Kind]) -> list[EntryId]:
    """
    About MOST_TOGETHER of *pairs*, parents first, each page with all that is below it.

    Of a page whose copy was replaced and a child's was not, both children would be below it by one name.
    """
    families: dict[str, list[EntryId]] = {}
    family_below: dict[str, str] = {}  # the family of whatever is in a directory
    spots = {entry: directory_of(copy.path, kinds[entry]) for entry, copy in pairs.items()}
    for entry, spot in sorted(spots.items(), key=lambda known: (known[1].count("/"), known[1])):
        above = next((family_below[path] for path in lineage(parent_of(spot)) if path in family_below), spot)
        families.setdefault(above, []).append(entry)
        family_below[spot] = above
    first = next(batches(list(families.values()), len, size=MOST_TOGETHER), [])
    return list(chain.from_iterable(first))


def _is_copy_of(copy: Copy, base: Base, earlier: Mapping[EntryId, EntryId]) -> bool:
    if copy.claimed != base.claimed:
        return False
    is_earlier = earlier.get(copy.entry) == base.entry and common_end(base.path or "", copy.path) > 0
    return copy.digest == base.digest or is_earlier


def _nearness(copy: Copy, base: Base) -> tuple[bool, int]:
    return copy.digest == base.digest, common_end(base.path or "", copy.path)


def _deleted_by_tools(sides: Sides) -> set[tuple[EntryId, str]]:
    """Entries that lie in the trash, with the paths they had: somebody named them, and meant them. Blocking."""
    removed = trash.contents_of(sides.tree)
    return {(EntryId(one.label.entry), one.card.path) for one in removed if one.card is not None}


def _is_text_missing(decision: Decision) -> bool:
    """Whether the file of a page or attachment is gone and its row is as it was agreed on."""
    base, row = decision.state.base, decision.state.row
    if base is None or row is None or base.kind not in COPIED_KINDS or base.digest in (EMPTY, NO_TEXT):
        return False
    return not row.deleted and row.digest == base.digest


def _agreed(decision: Decision) -> tuple[Base, Row]:
    base, row = decision.state.base, decision.state.row
    assert base is not None
    assert row is not None
    return base, row
