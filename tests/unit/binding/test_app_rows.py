"""A row of an app as the text of a page."""

from uuid import UUID

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mirrord.binding.app_rows import MAX_JSON_PARTS, MAX_NODES, AppRow, is_name_of, position_of_number, text_of
from mirrord.binding.mappings.mapping import Mapping, entry_id_of
from mirrord.binding.mappings.mapping_file import parse_mapping
from mirrord.binding.pass_state import rows_of
from mirrord.domain.entry import MAX_FILE_BYTES, EntryId
from mirrord.errors import Damaged
from mirrord.markdown.frontmatter.page_text import PageText
from mirrord.markdown.read.reader import read_document

ENTRY = EntryId(UUID("00000000-0000-4000-8000-000000000001"))


def mapping_of(form: str, keys: str = "") -> Mapping:
    return parse_mapping(
        f"""
        [binding]
        name = "wiki"
        [page]
        table = "pages"
        id = "id"
        title = "title"
        order = {{ int = "position" }}
        [body]
        column = "body"
        format = "{form}"
        {keys}"""
    )


def row_of(body: str | None, title: str = "A page", **values: object) -> AppRow:
    return AppRow("7", None, title, values.pop("position", None), "1", body, **values)  # type: ignore[arg-type]


def test_a_page_has_the_id_the_title_and_the_columns_in_its_front_matter() -> None:
    row = row_of("Text.\n", position="3", properties={"icon": "🌱", "tags": ["a", "b"], "gone": None})
    text = text_of(ENTRY, row, mapping_of("markdown"))
    assert text == f"---\nid: {ENTRY}\ntitle: A page\nposition: a3\nicon: 🌱\ntags:\n  - a\n  - b\n---\nText.\n" or (
        PageText(text).views.frontmatter
        == {"id": str(ENTRY), "title": "A page", "position": "a3", "icon": "🌱", "tags": ["a", "b"]}
    )
    assert PageText(text).body == "Text.\n"


@given(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00")))
def test_every_body_of_markdown_is_in_the_page_byte_for_byte(body: str) -> None:
    text = text_of(ENTRY, row_of(body), mapping_of("markdown"))
    assert text.endswith(PageText(body).body)
    assert PageText(text).views.id == str(ENTRY)


def test_a_front_matter_that_the_app_wrote_keeps_its_keys() -> None:
    text = text_of(ENTRY, row_of("---\ncolour: red # dark\n---\nText.\n"), mapping_of("markdown"))
    assert PageText(text).views.frontmatter == {"colour": "red", "id": str(ENTRY), "title": "A page"}
    assert "colour: red # dark\n" in text


def test_a_rule_at_the_beginning_is_no_front_matter() -> None:
    body = "---\nText between rules.\n\n---\n"
    assert PageText(text_of(ENTRY, row_of(body), mapping_of("markdown"))).body == body


def test_a_document_with_names_of_the_app_becomes_markdown() -> None:
    item = {"type": "list_item", "content": [{"type": "paragraph", "content": [{"type": "text", "text": "one"}]}]}
    document = {"type": "doc", "content": [{"type": "bullet_list", "content": [item]}]}
    mapping = mapping_of("prosemirror", 'names = { bullet_list = "bulletList", list_item = "listItem" }')
    text = text_of(ENTRY, row_of(orjson.dumps(document).decode()), mapping)
    assert PageText(text).body == "- one\n"


def test_a_node_that_markdown_does_not_know_is_kept() -> None:
    node = {"type": "whiteboard", "attrs": {"url": "x"}}
    text = text_of(ENTRY, row_of(orjson.dumps({"type": "doc", "content": [node]}).decode()), mapping_of("tiptap"))
    assert node in read_document(text)["content"]


@pytest.mark.parametrize("body", ["{", "[]", '"text"', '{"type": "page"}', '{"type": "doc", "content": [3]}'])
def test_a_body_that_is_no_document_is_refused(body: str) -> None:
    with pytest.raises(Damaged):
        text_of(ENTRY, row_of(body), mapping_of("tiptap"))


def test_a_node_without_a_name_is_refused_where_names_are_mapped() -> None:
    body = '{"type": "doc", "content": [{"type": []}]}'
    with pytest.raises(Damaged):
        text_of(ENTRY, row_of(body), mapping_of("tiptap", 'names = { bullet_list = "bulletList" }'))


def test_a_document_that_is_nested_too_deep_is_refused() -> None:
    body = '{"type":"doc","content":[' + '{"type":"blockquote","content":[' * 500 + "]}" * 501
    with pytest.raises(Damaged, match="nested"):
        text_of(ENTRY, row_of(body), mapping_of("tiptap", 'names = { bullet_list = "bulletList" }'))


@pytest.mark.parametrize("depth", [100, 240, 300, 2_000, 200_000])
def test_front_matter_of_any_depth_is_carried_over_or_refused(depth: int) -> None:
    columns = '{"icon": ' + "[" * depth + "]" * depth + "}"
    (row,) = rows_of([("7", None, "A page", None, "1", "Text.", columns)]).values()
    assert row.digest
    try:
        text_of(ENTRY, row, mapping_of("markdown"))
    except Damaged:
        assert depth >= 100


@pytest.mark.parametrize("number", ["9" * 30, "9" * 5_000])
def test_a_number_that_is_too_large_damages_its_row_only(number: str) -> None:
    (row,) = rows_of([("7", None, "A page", None, "1", "Text.", f'{{"count": {number}}}')]).values()
    assert row.digest
    with pytest.raises(Damaged, match="too large"):
        text_of(ENTRY, row, mapping_of("markdown"))


def test_a_body_that_is_too_large_is_not_read() -> None:
    with pytest.raises(Damaged, match="MiB"):
        text_of(ENTRY, row_of("[" * (MAX_FILE_BYTES + 1)), mapping_of("tiptap"))


@pytest.mark.parametrize(
    ("block", "count"),
    [
        ('{"type":"paragraph"}', MAX_NODES),
        ('{"type":"text","text":"a","marks":[{"type":"bold"}]}', MAX_NODES // 2),
        ('{"type":"poll","attrs":{"votes":[[],[],[],[]]}}', MAX_JSON_PARTS // 6),
    ],
)
def test_a_document_of_so_many_parts_that_it_would_take_the_memory_of_all_is_refused(block: str, count: int) -> None:
    body = '{"type":"doc","content":[' + ",".join([block] * count) + "]}"
    assert len(body) < MAX_FILE_BYTES
    with pytest.raises(Damaged, match=r"its body has more than 2[0-9,]+ (nodes and marks|objects and lists)"):
        text_of(ENTRY, row_of(body), mapping_of("tiptap"))


@pytest.mark.parametrize("form", ["markdown", "tiptap"])
def test_a_row_without_a_body_is_an_empty_page(form: str) -> None:
    assert PageText(text_of(ENTRY, row_of(None), mapping_of(form))).body == ""


def test_several_bodies_of_one_page_are_refused() -> None:
    with pytest.raises(Damaged, match="2 bodies"):
        text_of(ENTRY, row_of("x", bodies=2), mapping_of("markdown"))


@given(st.integers(-(2**63), 2**63), st.integers(-(2**63), 2**63))
def test_positions_are_in_the_order_of_numbers(first: int, second: int) -> None:
    assert (position_of_number(first) < position_of_number(second)) == (first < second)


@pytest.mark.parametrize(
    ("number", "position"), [(0, "a0"), (1, "a1"), (61, "az"), (62, "b00"), (-1, "Zz"), (-62, "Z0"), (-63, "Yzz")]
)
def test_positions_are_the_usual_keys(number: int, position: str) -> None:
    assert position_of_number(number) == position


@pytest.mark.parametrize(
    ("name", "is_name"),
    [
        ("A page", True),
        ("a Page", True),
        ("A page (2)", True),
        ("A page (12)", True),
        ("A page (x)", False),
        (None, False),
    ],
)
def test_a_numbered_name_shows_the_title_too(name: str | None, *, is_name: bool) -> None:
    assert is_name_of(name, row_of("")) is is_name


def test_a_title_that_no_file_can_have_becomes_a_name() -> None:
    assert row_of("", title="a/b: c?").name == "a-b- c-"
    assert row_of("", title="").name == "Untitled-7"
    assert len(row_of("", title="x" * 2_000).name.encode()) <= 200


def test_the_id_of_a_page_is_that_of_its_row_if_it_is_a_uuid() -> None:
    binding = UUID(int=1)
    assert entry_id_of(binding, str(ENTRY)) == ENTRY
    assert entry_id_of(binding, "7") != entry_id_of(UUID(int=2), "7")
    assert entry_id_of(binding, "7") == entry_id_of(binding, "7")


def test_two_spellings_of_one_uuid_are_two_pages() -> None:
    text = "0b1c7d2e-aaaa-4000-8000-00000000000f"
    assert entry_id_of(UUID(int=1), text) != entry_id_of(UUID(int=1), text.upper())


def test_the_digest_depends_on_what_the_app_says_and_not_on_its_version() -> None:
    row = row_of("x", properties={"a": 1, "b": 2})
    same = AppRow("7", None, "A page", None, "99", "x", {"b": 2, "a": 1})
    assert row.digest == same.digest
    assert row.digest != row_of("y", properties={"a": 1, "b": 2}).digest


def test_a_page_with_an_address_in_the_app_says_that_it_is_only_read() -> None:
    mapping = parse_mapping(
        """
        [binding]
        name = "wiki"
        [page]
        table = "pages"
        id = "id"
        title = "title"
        url = "https://wiki.example/pages/{id}/edit"
        [body]
        column = "body"
        format = "markdown"
        """
    )
    row = AppRow("a b/c", None, "A page", None, "1", "Text.")
    properties = PageText(text_of(ENTRY, row, mapping)).views.frontmatter
    assert properties is not None
    assert properties["bound_to"] == "wiki"
    assert properties["bound_url"] == "https://wiki.example/pages/a%20b%2Fc/edit"


def table_body(**attributes: int) -> str:
    def cell(words: str, **attrs: int) -> dict[str, object]:
        paragraph = {"type": "paragraph", "content": [{"type": "text", "text": words}]}
        return {"type": "tableCell", "content": [paragraph], "attrs": attrs}

    rows = [[cell("wide", **attributes)], [cell("one"), cell("two")]]
    table = {"type": "table", "content": [{"type": "tableRow", "content": cells} for cells in rows]}
    return orjson.dumps({"type": "doc", "content": [table]}).decode()


def test_a_table_that_markdown_lacks_becomes_what_the_mapping_says() -> None:
    row = row_of(table_body(colspan=2))
    assert "```tiptap-node" in text_of(ENTRY, row, mapping_of("tiptap"))
    assert "```tiptap-node" in text_of(ENTRY, row, mapping_of("tiptap", 'content_loss = "json"'))
    degraded = text_of(ENTRY, row, mapping_of("tiptap", 'content_loss = "degrade"'))
    assert "tiptap-node" not in degraded
    assert "| one | two |" in degraded
    with pytest.raises(Damaged, match="cells that span others"):
        text_of(ENTRY, row, mapping_of("tiptap", 'content_loss = "refuse"'))


def test_a_table_of_markdown_is_no_loss() -> None:
    document = read_document("| a | b |\n|---|---|\n| c | d |\n")
    row = row_of(orjson.dumps(document).decode())
    assert text_of(ENTRY, row, mapping_of("tiptap", 'content_loss = "refuse"')).endswith("| c | d |\n")


@pytest.mark.parametrize(
    "body", ['{"type": "doc", "content": [{"content": []}]}', '{"type": "doc", "content": [{"type": 3}]}']
)
def test_a_body_that_is_no_document_is_a_problem_whatever_becomes_of_tables(body: str) -> None:
    with pytest.raises(Damaged):
        text_of(ENTRY, row_of(body), mapping_of("tiptap", 'content_loss = "degrade"'))


def test_a_table_of_html_with_a_cell_that_spans_others_becomes_a_simpler_one() -> None:
    html = '<table><tr><th>a</th><th>b</th></tr><tr><td colspan="2">wide</td></tr></table>'
    assert "tiptap-node" not in text_of(ENTRY, row_of(html), mapping_of("html", 'content_loss = "degrade"'))
