"""A document that an app wrote is checked once: what is made of it on its way to the file is a document, too."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mirrord.db.content.derived_rows import PageRow
from mirrord.domain.entry import EntryId, Kind, new_id
from mirrord.errors import Damaged
from mirrord.markdown.content_loss import ContentLoss
from mirrord.markdown.frontmatter.page_text import PageText
from mirrord.markdown.frontmatter.yaml_reader import Json
from mirrord.markdown.schema.document import Document, check_document
from mirrord.markdown.write.render import NewViews, render
from mirrord.sync.writing.written_views import read_content, read_documents
from tests.support.laws import scale_examples
from tests.unit.codec.documents import blocks, documents

_AHEAD = frozenset(["content"])


def row_of(content: object, prior: object = None) -> PageRow:
    """The row of a page whose document an app replaced."""
    texts = json.dumps(content), None if prior is None else json.dumps(prior)
    return PageRow(EntryId(new_id()), Kind.PAGE, 2, "Page", "", None, _AHEAD, None, None, None, None, *texts)


def table_of(*cells: list[object]) -> dict[str, Json]:
    """A table, regular or not, with blocks in its cells."""
    rows = [{"type": "tableRow", "content": [{"type": "tableCell", "content": cell}]} for cell in cells]
    return {"type": "table", "content": rows}  # type: ignore[dict-item]


@given(
    documents, documents, st.lists(st.lists(blocks, min_size=1, max_size=2), max_size=2), st.sampled_from(ContentLoss)
)
@settings(max_examples=scale_examples(100))
def test_what_is_made_of_a_checked_document_is_one(
    written: Document, prior: Document, cells: list[list[object]], loss: ContentLoss
) -> None:
    broken = {"type": "paragraph", "content": [{"type": "text", "text": "a"}, {"type": "hardBreak"}]}
    written = {**written, "content": [*(written.get("content") or []), broken, table_of(*cells)]}  # type: ignore[list-item]
    row = row_of(written, prior)
    read = read_documents(row)
    assert read.stays_checked
    try:
        content = read_content(row, read, loss)
    except Damaged:
        assert loss is ContentLoss.REFUSE
        return
    check_document(content)


@pytest.mark.parametrize(
    "content",
    [{"type": "paragraph"}, {"type": "doc", "content": [{"type": 1}]}, {"type": "doc", "content": [{"kind": "text"}]}],
)
def test_what_is_no_document_is_refused_as_before(content: Document) -> None:
    row = row_of(content)
    read = read_documents(row)
    views = NewViews(None, None, None, None, None, read_content(row, read), is_checked=read.stays_checked)

    with pytest.raises(Damaged):
        render(PageText(""), _AHEAD, views, "Page")
