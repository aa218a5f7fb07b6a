"""Names for rows whose siblings are called the same: the first that is free, found at once however many there are."""

from collections.abc import Iterator, Sequence
from itertools import count, islice

from mirrord.db import names
from mirrord.domain.entry import EntryId, Kind, Place
from mirrord.domain.place import BESIDE, clean, clean_attachment, name_key, numbered, numbered_attachment
from mirrord.domain.state import Row
from mirrord.mirror.layout import attachment_path, spot_of_file
from mirrord.sync.sides import Sides

MOST_TWINS = 1000  # siblings of one name


def names_for(row: Row) -> Iterator[str]:
    """The clean names that a row may have, the best first."""
    wanted = row.place.name or row.title or ""
    short = row.entry.hex[-8:]
    is_file = row.kind is Kind.ATTACHMENT
    name = _unmistakable(clean_attachment(wanted, short)) if is_file else clean(wanted, short)
    return names_like(name, row.kind)


def _unmistakable(name: str) -> str:
    """An attachment's name that looks after itself: not like a page's, nor like what an editor has not finished."""
    above, slash, last = name.rpartition("/")
    names = (name, f"{name}_", f"{above}{slash}_{last}_")
    spots = ((one, spot_of_file(attachment_path("", one))) for one in names)
    return next(one for one, spot in spots if spot is not None and spot.kind is Kind.ATTACHMENT)


def names_like(name: str, kind: Kind) -> Iterator[str]:
    """*name*, then the same with a number."""
    suffixed = numbered_attachment if kind is Kind.ATTACHMENT else numbered
    yield name
    yield from islice((suffixed(name, number) for number in count(2)), MOST_TWINS - 1)


async def free_names(sides: Sides, entry: EntryId, kind: Kind, place: Place, wanted: Sequence[str]) -> list[str]:
    """
    Those of *wanted* that no sibling of *entry* has, were it at *place*; by the time they are used, one may.

    A file beside the pages has no page's or folder's name: that may be a directory's.
    """
    keys, is_file = {name: name_key(name) for name in wanted}, kind is Kind.ATTACHMENT
    async with sides.database.transaction(sides.tenant) as connection:
        taken = await names.taken(
            connection, sides.tenant, entry, place.parent, list(keys.values()), attachment=is_file
        )
        if (bare := [key.removeprefix(BESIDE) for key in keys.values() if key.startswith(BESIDE)]) and is_file:
            pages = await names.taken(connection, sides.tenant, entry, place.parent, bare, attachment=False)
            taken |= {BESIDE + key for key in pages}
    return [name for name, key in keys.items() if key not in taken]
