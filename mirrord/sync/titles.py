"""Titles for pages to which an app gave a text, but neither a name nor a title."""

from collections.abc import Iterable
from dataclasses import replace

from mirrord.codec.sections import sections_of
from mirrord.codec.views import views_of
from mirrord.db import views
from mirrord.db.connect import Connection
from mirrord.domain.batches import split_into_batches
from mirrord.domain.entry import EntryId, Kind, TenantId
from mirrord.domain.state import Row

_BATCH_TEXTS = 500  # texts of one query


def is_nameless(row: Row) -> bool:
    """Whether a page has neither name nor title, so that only its text can give one."""
    return row.kind is Kind.PAGE and not row.place.name and not row.title


async def add_titles(connection: Connection, tenant: TenantId, rows: Iterable[Row]) -> dict[EntryId, Row]:
    """Those of *rows* that have neither name nor title, with the title of their text, or its first heading."""
    nameless = [row for row in rows if is_nameless(row)]
    titled: dict[EntryId, Row] = {}
    for batch in split_into_batches(nameless, lambda _: 1, size=_BATCH_TEXTS):
        texts = await views.load_texts(connection, tenant, [row.entry for row in batch])
        for row in batch:
            _, text = texts.get(row.entry, (0, None))
            if text is not None:
                titled[row.entry] = replace(row, title=_title_of(text))
    return titled


def _title_of(text: str) -> str | None:
    return views_of(text).title or next((section.title for section in sections_of(text)), None)
