"""Names of rows: free ones where siblings have the same name, and titles of pages that have none."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice

from mirrord.db.content import derived_rows, entry_tables
from mirrord.db.database import Connection
from mirrord.domain.entry import EntryId, Kind, Place, Row, TenantId
from mirrord.domain.long_work import split_into_batches
from mirrord.domain.place import (
    BESIDE_PREFIX,
    clean_attachment,
    clean_name,
    name_key,
    numbered_attachment,
    numbered_name,
    numbered_names,
)
from mirrord.markdown.frontmatter.page_text import PageText
from mirrord.markdown.read.page_outline import sections_of
from mirrord.mirror.tree.tree_layout import attachment_path, spot_of_file
from mirrord.sync.observation.mirror_handles import Sides

_BATCH_TEXTS = 500  # texts of one query


def is_nameless(row: Row) -> bool:
    """Whether a page has neither name nor title, so that only its text can give one."""
    return row.kind is Kind.PAGE and not row.place.name and not row.title


async def add_titles(connection: Connection, tenant: TenantId, rows: Iterable[Row]) -> dict[EntryId, Row]:
    """Those of *rows* that have neither name nor title, with the title of their text, or its first heading."""
    nameless = [row for row in rows if is_nameless(row)]
    titled: dict[EntryId, Row] = {}
    for batch in split_into_batches(nameless, lambda _: 1, size=_BATCH_TEXTS):
        texts = await derived_rows.load_texts(connection, tenant, [row.entry for row in batch])
        for row in batch:
            _, text = texts.get(row.entry, (0, None))
            if text is not None:
                titled[row.entry] = replace(row, title=_title_of(text))
    return titled


def _title_of(text: str) -> str | None:
    page = PageText(text)
    return page.views.title or next((section.title for section in sections_of(page)), None)


MAX_TWINS = 1000  # siblings of one name


def names_for(row: Row) -> Iterator[str]:
    """The clean names that a row may have, the best first."""
    title = row.place.name or row.title or ""
    short_id = row.entry.hex[-8:]
    is_file = row.kind is Kind.ATTACHMENT
    name = _as_attachment_name(clean_attachment(title, short_id)) if is_file else clean_name(title, short_id)
    return names_like(name, row.kind)


def _as_attachment_name(name: str) -> str:
    """*name* or a variant of it that can only be an attachment's: not a page's, nor a temporary file's of an editor."""
    above, slash, last = name.rpartition("/")
    variants = (name, f"{name}_", f"{above}{slash}_{last}_")
    spots = ((variant, spot_of_file(attachment_path("", variant))) for variant in variants)
    return next(variant for variant, spot in spots if spot is not None and spot.kind is Kind.ATTACHMENT)


def names_like(name: str, kind: Kind) -> Iterator[str]:
    """*name*, then *name* with a number, 2 and up."""
    suffixed = numbered_attachment if kind is Kind.ATTACHMENT else numbered_name
    return islice(numbered_names(name, suffixed), MAX_TWINS)


async def find_free_names(
    sides: Sides, entry: EntryId, kind: Kind, place: Place, candidates: Sequence[str]
) -> list[str]:
    """
    Those of *candidates* that no sibling would have if *entry* were at *place*; a sibling may get one before it is
    used.

    A file beside the pages cannot have the name of a page or folder, because that may be a directory's.
    """
    keys, is_file = {name: name_key(name) for name in candidates}, kind is Kind.ATTACHMENT
    async with sides.database.transaction(sides.tenant) as connection:
        taken_keys = await entry_tables.load_names_in_use(
            connection, sides.tenant, entry, place.parent, list(keys.values()), attachment=is_file
        )
        if (
            bare_keys := [key.removeprefix(BESIDE_PREFIX) for key in keys.values() if key.startswith(BESIDE_PREFIX)]
        ) and is_file:
            pages = await entry_tables.load_names_in_use(
                connection, sides.tenant, entry, place.parent, bare_keys, attachment=False
            )
            taken_keys |= {BESIDE_PREFIX + key for key in pages}
    return [name for name, key in keys.items() if key not in taken_keys]
