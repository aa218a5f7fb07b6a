"""The columns of a new row say what its page says."""

from dataclasses import replace
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mirrord.binding.app_rows import AppRow
from mirrord.binding.mappings.mapping import Mapping, columns_of_new_rows, columns_used
from mirrord.binding.mappings.mapping_file import parse_mapping
from mirrord.binding.new_row import NewPlace, NewRow, holds_uuid, new_row_of
from mirrord.binding.page_edits import edited_text, with_title
from mirrord.domain.entry import EntryId
from mirrord.errors import Damaged, UserError
from mirrord.markdown.frontmatter.page_text import PageText

ENTRY = EntryId(UUID(int=7))
MAPPING = """
[binding]
name = "wiki"
mode = "both"
[tenant]
column = "tenant"
map = {{ "t" = "demo" }}
[page]
table = "pages"
id = "id"
title = "title"
parent = "parent"
order = {{ key = "position" }}
touch = {{ updated = "now", revision = "+1" }}
create = {{ kind = "'doc'", slug = "uuid", created = "now" }}
[body]
table = "bodies"
match = {{ page = "id", type = "'main'" }}
column = "body"
format = "{form}"
plain = "plain"
create = {{ id = "uuid" }}
[front]
icon = "icon"
summary = {{ column = "summary", own = "in" }}
"""


def types_of(mapping: Mapping, kind: str, id_type: str = "text") -> dict[str, dict[str, str]]:
    types = {str(table): dict.fromkeys(columns, "text") for table, columns in columns_used(mapping).items()}
    types["public.bodies"]["body"] = kind
    types["public.pages"]["id"] = id_type
    return types


def new_row(text: str, form: str = "markdown", kind: str = "text", id_type: str = "text") -> NewRow:
    mapping = parse_mapping(MAPPING.format(form=form))
    above = {mapping.page.parent: "above"} if mapping.page.parent is not None else {}
    return new_row_of(ENTRY, mapping, types_of(mapping, kind, id_type), NewPlace("t", above), text)


def test_a_new_row_has_what_the_page_says_and_what_the_mapping_adds() -> None:
    row = new_row("---\ntitle: New\nicon: x\nsummary: s\ntags: [a]\nposition: a1\n---\nSome *text*.\n")
    slug = row.of_page["slug"]
    assert dict(row.of_page) == {
        "kind": "doc",
        "slug": slug,
        "title": "New",
        "position": "a1",
        "icon": "x",
        "id": str(ENTRY),
        "tenant": "t",
        "parent": "above",
    }
    assert UUID(slug).version == 4
    body_id = row.of_body["id"]
    assert dict(row.of_body) == {"id": body_id, "type": "main", "body": "Some *text*.\n", "plain": "Some text."}
    assert (row.times_of_page, row.times_of_body) == (["updated", "created"], [])


def test_a_document_is_json_where_the_column_is() -> None:
    assert new_row("---\ntitle: A\n---\n", "tiptap", "jsonb").of_body["body"] == {
        "type": "doc",
        "content": [{"type": "paragraph"}],
    }
    assert isinstance(new_row("---\ntitle: A\n---\nText.\n", "tiptap", "text").of_body["body"], str)


def test_numbers_and_short_texts_are_no_ids_of_pages() -> None:
    assert "id" not in new_row("---\ntitle: A\n---\n", id_type="integer").of_page
    kinds = ["text", "uuid", "character varying", "character varying(36)"]
    assert all(map(holds_uuid, kinds))
    assert not any(map(holds_uuid, ["bigint", "character varying(35)", "character(36)"]))


def test_a_node_that_the_editor_lacks_makes_no_row() -> None:
    with pytest.raises(Damaged, match="wikilink"):
        new_row("---\ntitle: A\n---\n[[B]]\n", "tiptap", "jsonb")


@pytest.mark.parametrize("form", ["markdown", "tiptap"])
@given(lines=st.lists(st.sampled_from(["alpha", "# beta", "- gamma", "> delta", "1. one", ""]), max_size=6))
def test_the_page_of_a_new_row_is_the_page(form: str, lines: list[str]) -> None:
    mapping = parse_mapping(MAPPING.format(form=form))
    text = with_title("\n".join(lines) + "\n", "Name")
    row = new_row(text, form, "text")
    app_row = AppRow(str(ENTRY), "above", row.of_page["title"], None, "1:1", row.of_body["body"])
    result = PageText(edited_text(ENTRY, app_row, mapping, text))
    assert result.body == PageText(text).body
    assert result.views.title == "Name"
    assert edited_text(ENTRY, replace(app_row, version="2"), mapping, result.text) == result.text


def test_rows_are_made_only_where_the_mapping_says_so() -> None:
    mapping = parse_mapping(MAPPING.format(form="markdown"))
    assert [len(columns) for columns in columns_of_new_rows(mapping).values()] == [11, 5]
    with pytest.raises(UserError, match=r"needs `page\.create`"):
        parse_mapping(
            MAPPING.format(form="markdown").replace('create = { kind = "\'doc\'", slug = "uuid", created = "now" }', "")
        )
    with pytest.raises(UserError, match='must be "now", "uuid"'):
        parse_mapping(MAPPING.format(form="markdown").replace('created = "now"', 'created = "+1"'))
