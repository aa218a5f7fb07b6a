"""Which rows are derived on the event loop: all tenants of a daemon wait meanwhile."""

from uuid import UUID

import pytest

from mirrord.db.content.derived_rows import PageRow
from mirrord.domain.entry import EntryId, Kind
from mirrord.sync.writing.entry_bodies import MAX_LOOP_BYTES
from mirrord.sync.writing.row_rendering import is_derived_on_loop

ENTRY = EntryId(UUID(int=1))


def make_row(
    markdown: str | None = "A text.\n", *, title: str | None = None, frontmatter: str | None = None
) -> PageRow:
    ahead = frozenset({"title", "frontmatter"})
    return PageRow(ENTRY, Kind.PAGE, 2, "page", markdown, None, ahead, title, None, None, frontmatter, None, None)


def test_a_small_row_is_derived_on_the_loop() -> None:
    assert is_derived_on_loop(make_row(title="A title", frontmatter='{"tags": ["a"]}'))


@pytest.mark.parametrize("column", ["markdown", "title", "frontmatter"])
def test_a_row_with_much_in_any_column_is_derived_in_a_thread(column: str) -> None:
    text = f'{{"key": "{"ä" * (MAX_LOOP_BYTES // 2)}"}}'
    assert not is_derived_on_loop(make_row(**{column: text}))
