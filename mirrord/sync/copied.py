"""Files that were copied first and removed after, as rsync and Syncthing move them: the copy is what was copied."""

from collections import defaultdict
from collections.abc import Mapping, Sequence

from mirrord.db.copies import Copy, take_place_of, young_copies
from mirrord.db.writes import defer_names
from mirrord.domain.entry import EMPTY, FILE_ACTOR, Digest, EntryId, Kind
from mirrord.domain.state import NO_TEXT, Base, Row
from mirrord.errors import Stale
from mirrord.sync.decision import Decision
from mirrord.sync.likeness import common_end
from mirrord.sync.sides import Sides

_KINDS = (Kind.PAGE, Kind.ATTACHMENT)


async def take_places_of_copies(sides: Sides, gone: Sequence[Decision]) -> list[Decision]:
    """
    Those of *gone* whose exact copy came lately and was not changed: they have its place now, and no file is missing.

    Where a row changed meanwhile nothing is written, and nothing returned.
    """
    lost = {one.state.entry: one for one in gone if _is_text_missing(one)}
    if not lost:
        return []
    try:
        async with sides.database.transaction(sides.tenant, sides.fence, FILE_ACTOR) as connection:
            pairs: dict[EntryId, Copy] = {}
            for kind in _KINDS:
                bases = [base for one in lost.values() if (base := one.state.base) is not None and base.kind is kind]
                digests = {base.digest for base in bases}
                copies = await young_copies(connection, sides.tenant, sides.mirror, kind, digests) if digests else []
                pairs |= pair_with_copies(bases, [copy for copy in copies if copy.entry not in lost])
            await defer_names(connection)
            for entry, copy in sorted(pairs.items(), key=lambda pair: pair[1].path.count("/")):
                base, row = _agreed(lost[entry])
                if not await take_place_of(connection, sides.tenant, sides.mirror, base.kind, entry, row.version, copy):
                    raise Stale("A row changed meanwhile.")
    except Stale:
        return []
    return [lost[entry] for entry in pairs]


def pair_with_copies(lost: Sequence[Base], copies: Sequence[Copy]) -> Mapping[EntryId, Copy]:
    """For each lost entry its copy: the same bytes, the same `id:`; of several the one whose path ends most alike."""
    free: dict[tuple[Digest, str | None], list[Copy]] = defaultdict(list)
    for copy in sorted(copies, key=lambda copy: copy.path):
        free[copy.digest, copy.claimed].append(copy)
    pairs = {}
    for base in sorted(lost, key=lambda base: base.path or ""):
        alike = free[base.digest, base.claimed]
        if alike:
            pairs[base.entry] = max(alike, key=lambda copy: common_end(base.path or "", copy.path))
            alike.remove(pairs[base.entry])
    return pairs


def _is_text_missing(decision: Decision) -> bool:
    """Whether the file of a page or attachment is gone and its row is as it was agreed on."""
    base, row = decision.state.base, decision.state.row
    if base is None or row is None or base.kind not in _KINDS or base.digest in (EMPTY, NO_TEXT):
        return False
    return not row.deleted and row.digest == base.digest


def _agreed(decision: Decision) -> tuple[Base, Row]:
    base, row = decision.state.base, decision.state.row
    assert base is not None
    assert row is not None
    return base, row
