"""What pages are called that an app gave a text, and neither a name nor a title."""

from collections.abc import Iterable
from dataclasses import replace

from mirrord.codec.sections import sections_of
from mirrord.codec.views import views_of
from mirrord.db import views
from mirrord.db.connect import Connection
from mirrord.domain.batches import batches
from mirrord.domain.entry import EntryId, Kind, TenantId
from mirrord.domain.state import Row

_AT_ONCE = 500  # texts


def is_nameless(row: Row) -> bool:
    """Whether only its text can say what a page is called."""
    return row.kind is Kind.PAGE and not row.place.name and not row.title


async def with_titles(connection: Connection, tenant: TenantId, rows: Iterable[Row]) -> dict[EntryId, Row]:
    """Those of *rows* that have neither name nor title, with the title that their text has, or its first heading."""
    nameless = [row for row in rows if is_nameless(row)]
    found: dict[EntryId, Row] = {}
    for some in batches(nameless, lambda _: 1, size=_AT_ONCE):
        texts = await views.load_texts(connection, tenant, [row.entry for row in some])
        for row in some:
            _, text = texts.get(row.entry, (0, None))
            if text is not None:
                found[row.entry] = replace(row, title=_title_of(text))
    return found


def _title_of(text: str) -> str | None:
    return views_of(text).title or next((section.title for section in sections_of(text)), None)
