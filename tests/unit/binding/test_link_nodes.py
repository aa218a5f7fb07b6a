"""Nodes of an app that link to pages by an attribute: links in the page, and the same nodes when it comes back."""

from typing import Any

import orjson
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from mirrord.binding.app_rows import AppRow, document_of
from mirrord.binding.links.link_nodes import with_links, with_nodes
from mirrord.binding.mappings.link_rules import LinkNode, LinkRules
from mirrord.binding.mappings.mapping import Mapping
from mirrord.binding.mappings.mapping_file import parse_mapping
from mirrord.binding.page_edits import changes_of, edited_text
from mirrord.domain.entry import new_id

RULES = LinkRules("/pages/{id}", LinkNode("wikilink", "pageId", "pageName", {"kind": "page"}))
ENTRY = new_id()


def wikilink(page: object, name: object, **attributes: object) -> dict[str, Any]:
    return {"type": "wikilink", "attrs": {"kind": "page", "pageId": page, "pageName": name, **attributes}}


def words(text: str, **values: object) -> dict[str, Any]:
    return {"type": "text", "text": text, **values}


def link(target: str, text: str) -> dict[str, Any]:
    return words(text, marks=[{"type": "link", "attrs": {"href": target}}])


def document(*children: dict[str, Any]) -> dict[str, Any]:
    return {"type": "doc", "content": [{"type": "paragraph", "content": list(children)}]}


nodes = st.one_of(
    st.builds(
        wikilink,
        st.sampled_from(["7", "a-b", 7, True, None, "a b", ""]),
        st.sampled_from(["Beans", "My beans", "a\nb", " a", "", 3, "[x](y)"]),
        kind=st.sampled_from(["page", "user"]),
        icon=st.sampled_from([None, "x"]),
    ),
    st.builds(link, st.sampled_from(["/pages/7", "/pages/a-b", "/pages/7#part", "Beans.md"]), st.just("Beans")),
    st.builds(words, st.sampled_from(["Beans", " and "])),
    st.just({"type": "hardBreak"}),
    st.just({**wikilink("7", "Bold"), "marks": [{"type": "bold"}]}),
    st.just({**wikilink("7", "Empty"), "marks": []}),
)


@example([wikilink("7", "Beans"), wikilink("7", "Beans"), link("/pages/7", "Beans")])
@given(st.lists(nodes, max_size=6))
def test_what_is_not_edited_comes_back_value_for_value(children: list[dict[str, Any]]) -> None:
    before = document(*children)
    assert with_nodes(with_links(before, RULES), before, RULES) == before


def test_a_node_is_a_link_and_its_other_attributes_stay_when_its_words_change() -> None:
    before = document(words("See "), wikilink("7", "Beans", icon="x"))
    links = with_links(before, RULES)
    assert links == document(words("See "), link("/pages/7", "Beans"))
    renamed = with_nodes(document(link("/pages/7", "the beans"), words(".")), before, RULES)
    assert renamed == document(wikilink("7", "the beans", icon="x"), words("."))


def test_a_new_link_is_a_node_and_one_that_the_app_has_as_a_link_stays_one() -> None:
    assert with_nodes(document(link("/pages/8", "Peas")), {}, RULES) == document(wikilink(8, "Peas"))
    assert with_nodes(document(link("/pages/a-b", "Peas")), {}, RULES) == document(wikilink("a-b", "Peas"))
    before = document(link("/pages/7", "Beans"), words(" "), wikilink("7", "Peas", icon="x"))
    after = document(link("/pages/7", "Peas"), words(" or "), link("/pages/7", "Beans"))
    expected = document(wikilink("7", "Peas", icon="x"), words(" or "), link("/pages/7", "Beans"))
    assert with_nodes(after, before, RULES) == expected


@pytest.mark.parametrize("target", ["/pages/7#part", "Beans.md", "https://example.org"])
def test_other_links_stay_links(target: str) -> None:
    assert with_nodes(document(link(target, "x")), {}, RULES) == document(link(target, "x"))


def mapping_with_nodes() -> Mapping:
    return parse_mapping(
        """
        [binding]
        name = "kb"
        mode = "both"
        [page]
        table = "pages"
        id = "id"
        title = "title"
        [body]
        column = "body"
        format = "tiptap"
        names = { wiki_link = "wikilink" }
        [links]
        url = "/pages/{id}"
        node = "wikilink"
        id = "pageId"
        title = "pageName"
        """
    )


def test_an_edit_beside_a_node_leaves_it_as_it_is_in_the_row() -> None:
    mapping = mapping_with_nodes()
    node = {"type": "wiki_link", "attrs": {"pageId": "7", "pageName": "Beans", "icon": "x"}}
    body = document(words("See "), node, words("."))
    body["content"].append({"type": "paragraph", "content": [words("Other.")]})
    row = AppRow("1", None, "Start", None, "1", orjson.dumps(body).decode())
    text = edited_text(ENTRY, row, mapping, "")
    assert "See [Beans](/pages/7).\n\nOther.\n" in text
    changes = changes_of(ENTRY, row, mapping, text.replace("Other.", "Edited. [Peas](/pages/8)"))
    written = orjson.loads(changes.body or "")
    assert written["content"][0] == body["content"][0]
    assert written["content"][1]["content"][1] == {"type": "wiki_link", "attrs": {"pageId": 8, "pageName": "Peas"}}
    assert document_of(row, mapping) is not None
