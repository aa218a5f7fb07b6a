"""An app asks whether a value is a document before it writes it, and learns where it is none."""

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from psycopg.types.json import Jsonb

from mirrord.errors import Damaged
from mirrord.markdown.schema.document import MAX_SPANNED_PLACES, check_document
from tests.support.entries import value
from tests.support.laws import scale_examples
from tests.support.rows import Connection
from tests.system.test_page_editor import without_nul
from tests.unit.codec.documents import documents

PATIENT = settings(max_examples=scale_examples(100), deadline=None, suppress_health_check=list(HealthCheck))
TEXT: Any = {"type": "text", "text": "a"}
PARAGRAPH: Any = {"type": "paragraph", "content": [TEXT]}
TABLE: Any = {
    "type": "table",
    "content": [{"type": "tableRow", "content": [{"type": "tableCell", "content": [PARAGRAPH]}]}],
}
odd_values: st.SearchStrategy[Any] = st.sampled_from(
    [None, 0, "", "x", [], {}, [None], [{}], [TEXT], {"colspan": 0}, {"rowspan": 1.5}, [[]]]
)
spans = st.one_of(st.integers(-1, 1001), st.sampled_from([None, 400, 500, "2", True, 2.0, 1e30]))


def fault(app: Connection, document: object) -> str | None:
    sentence: str | None = value(app, "SELECT mirrord.check_document(%s)", Jsonb(document))
    return sentence


def is_document(document: object) -> bool:
    try:
        check_document(document)
    except Damaged:
        return False
    return True


def parts_of(document: Any) -> list[dict[str, Any]]:
    """Every object in *document* that may be changed."""
    if isinstance(document, list):
        return [part for child in document for part in parts_of(child)]
    return [document, *parts_of(list(document.values()))] if isinstance(document, dict) else []


@PATIENT
@given(documents)
def test_what_the_daemon_takes_is_a_document(app_connection: Connection, document: Any) -> None:
    document = without_nul(document)
    assert (fault(app_connection, document) is None) is is_document(document)


@PATIENT
@given(documents, st.data())
def test_what_the_daemon_refuses_is_none(app_connection: Connection, document: Any, data: st.DataObject) -> None:
    longer: Any = {**document, "content": [*document["content"], PARAGRAPH, TABLE]}
    document = without_nul(longer)
    part = data.draw(st.sampled_from(parts_of(document)))
    part[data.draw(st.sampled_from(["type", "attrs", "content", "marks", "text", "kind"]))] = data.draw(odd_values)
    assert (fault(app_connection, document) is None) is is_document(document)


@PATIENT
@given(st.lists(st.lists(st.tuples(spans, spans), max_size=4), min_size=1, max_size=4), st.integers(1, 60))
def test_cells_are_bounded_as_by_the_daemon(
    app_connection: Connection, rows: list[list[tuple[Any, Any]]], count: int
) -> None:
    cells = [[{"type": "tableCell", "attrs": {"colspan": c, "rowspan": r}} for c, r in row] for row in rows]
    lines = [{"type": "tableRow", "content": row} for row in cells * count]
    document = {"type": "doc", "content": [{"type": "table", "content": lines}]}
    assert (fault(app_connection, document) is None) is is_document(document)


@pytest.mark.parametrize(
    ("document", "sentence"),
    [
        ({"type": "page"}, 'doc: this is no document: its type is not "doc"'),
        ([], 'doc: this is no document: its type is not "doc"'),
        ({"type": "doc", "content": [PARAGRAPH, {"type": 5}]}, "doc.content[1]: this is no object with a type"),
        ({"type": "doc", "content": [{"type": "text"}]}, "doc.content[0].text: texts have one, and no other node has"),
        (
            {"type": "doc", "content": [{"type": "heading", "text": []}]},
            "doc.content[0].text: texts have one, and no other node has",
        ),
        ({"type": "doc", "text": None}, "doc.text: texts have one, and no other node has"),
        ({"type": "doc", "content": {}}, "doc.content: this is no array"),
        (
            {"type": "doc", "content": [{"type": "paragraph", "content": [{**TEXT, "marks": [{"type": "bold"}, 1]}]}]},
            "doc.content[0].content[0].marks[1]: this is no object with a type",
        ),
        (
            {"type": "doc", "content": [{"type": "paragraph", "level": 1}]},
            'doc.content[0]: a paragraph has no key "level"',
        ),
        (
            {"type": "doc", "content": [{"type": "tableCell", "attrs": {"colspan": 2000}}]},
            "doc.content[0].attrs.colspan: this is no number from 1 to 1000",
        ),
    ],
)
def test_the_sentence_says_where(app_connection: Connection, document: object, sentence: str) -> None:
    assert fault(app_connection, document) == sentence


def test_a_table_that_would_stop_browsers_is_named(app_connection: Connection) -> None:
    row = {"type": "tableRow", "content": [{"type": "tableCell", "attrs": {"colspan": 1000}}]}
    table = {"type": "table", "content": [row] * (MAX_SPANNED_PLACES // 1000 + 1)}
    assert (fault(app_connection, {"type": "doc", "content": [table]}) or "").startswith("doc.content[0]: the merged")


def test_a_long_table_is_looked_at_row_by_row(app_connection: Connection) -> None:
    cells = [{"type": "tableCell", "attrs": {"rowspan": 2}}, {"type": "tableCell"}]
    table = {"type": "table", "content": [{"type": "tableRow", "content": cells}] * 10_000}
    app_connection.execute("SET statement_timeout = '20s'")
    assert fault(app_connection, {"type": "doc", "content": [table]}) is None


def test_a_document_that_is_nested_too_deep_is_named(app_connection: Connection) -> None:
    quotes = '{"type": "blockquote", "content": [' * 150 + "]}" * 150
    sentence = value(
        app_connection, "SELECT mirrord.check_document(%s::jsonb)", f'{{"type": "doc", "content": [{quotes}]}}'
    )
    assert sentence.endswith("nested deeper than 120")
