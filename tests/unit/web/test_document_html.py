"""Documents as HTML: every text is escaped, links lead only where the reader may go."""

import re
from html.parser import HTMLParser
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mirrord.domain.dialect import Dialect
from mirrord.markdown.read.reader import read_document
from mirrord.web.sharing.document_html import ReadableLinks, heading_anchor, render_document, without_title

TAGS = {
    *("p", "ul", "ol", "li", "blockquote", "summary", "details", "div", "table", "tbody", "tr", "th", "td", "pre"),
    *("h2", "h3", "h4", "h5", "h6", "strong", "em", "s", "code", "mark", "u", "sub", "sup", "a", "img", "br", "hr"),
    *("input", "section", "colgroup", "col"),
}
ATTRIBUTES = {"href", "src", "alt", "rel", "id", "class", "start", "colspan", "rowspan", "type", "disabled", "checked"}
ATTRIBUTES |= {"loading", "open", "width", "tabindex", "aria-label"}
EVIL = ['"><script>alert(1)</script>', "javascript:alert(1)", "&lt;img onerror=x>", "' onclick='x", "../../secret"]
KINDS = [
    *(
        "doc",
        "text",
        "paragraph",
        "heading",
        "orderedList",
        "taskItem",
        "callout",
        "details",
        "table",
        "tableRow",
        "tableCell",
        "footnoteDef",
    ),
    *("image", "wikilink", "embed", "rawBlock", "rawInline", "mathBlock", "mention", "footnoteRef", "ofAnApp"),
]
VALUES: Any = st.one_of(
    st.sampled_from(EVIL), st.text(max_size=8), st.integers(), st.none(), st.lists(st.text(), max_size=1)
)
KEYS = [
    "href",
    "src",
    "alt",
    "raw",
    "target",
    "label",
    "level",
    "start",
    "align",
    "colspan",
    "type",
    "latex",
    "alias",
    "colwidth",
]
ATTRS = st.dictionaries(st.sampled_from([*KEYS, "heading", "title"]), VALUES, max_size=4)
MARKS = st.lists(
    st.fixed_dictionaries({"type": st.sampled_from(["bold", "link", "code", "x"]), "attrs": ATTRS}), max_size=2
)
NODES = st.recursive(
    st.fixed_dictionaries({"type": st.sampled_from(KINDS), "attrs": ATTRS, "text": VALUES, "marks": MARKS}),
    lambda inner: st.fixed_dictionaries(
        {"type": st.sampled_from(KINDS), "attrs": ATTRS, "content": st.lists(inner, max_size=3)}
    ),
    max_leaves=8,
)


class Tags(HTMLParser):
    """What a browser would make of it."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))


def html_of(text: str, **links: Any) -> str:
    return str(render_document(read_document(text, Dialect.OBSIDIAN), ReadableLinks(**links)))


@given(NODES)
def test_no_document_makes_a_tag_an_attribute_or_an_address_of_its_own(node: Any) -> None:
    links = ReadableLinks({("wikilink", "../../secret"): "/s/t/p/1"}, {("image", "../../secret"): "/s/t/p/1/file/2"})
    for tag, attributes in Tags(str(render_document({"content": [node]}, links))).found:
        assert tag in TAGS
        assert set(attributes) <= ATTRIBUTES
        assert not (attributes.get("src") or "/s/").startswith(("javascript", "http", "..", "//"))
        assert re.match(r"https?:|mailto:|/s/t/|#", attributes.get("href") or "#")


def test_a_link_leads_to_a_page_that_the_reader_may_see_and_is_text_otherwise() -> None:
    text = "[[Seen]] [[Hidden]] [[Hidden|word]] [a](Hidden.md) [b](Seen.md#Part%20one) [c](https://x.example)\n"
    html = html_of(text, pages={("wikilink", "Seen"): "/s/t/p/1", ("markdown", "Seen.md"): "/s/t/p/1"})
    assert re.findall('href="([^"]+)"', html) == ["/s/t/p/1", "/s/t/p/1#h-part-one", "https://x.example"]
    assert ">Seen</a> Hidden word a <a" in html


@pytest.mark.parametrize(
    "text",
    [
        "<!-- secret -->\n",
        "a <!-- secret --> b\n",
        "%%secret%%\n",
        "a %%secret%% b\n",
        "[x]: secret.md\n",
        "<div secret>\n",
        "<!-- secret\n",
    ],
)
def test_comments_tags_and_definitions_of_links_are_not_shown(text: str) -> None:
    assert "secret" not in html_of(text)


@pytest.mark.parametrize(
    ("dialect", "text"),
    [
        (Dialect.DOCUSAURUS, "shown {/* secret */} text\n\n{/*\nsecret */}\n\nimport x from './secret'\n"),
        (
            Dialect.ASTRO,
            "shown text\n\n{/* a comment\n\nsecret\n\n- secret */}\n\n<Card note={{ it: /*\n\nsecret */ 1 }} />\n",
        ),
        (Dialect.MYST, "(secret-label)=\n\nshown text\n\n% secret\n"),
        (Dialect.HUGO, "shown {{/* secret */}} text\n\n{{% comment %}}\n\nsecret\n\n{{% /comment %}}\n"),
        (
            Dialect.JEKYLL,
            "shown {% comment %}secret{% endcomment %} text\n\n{% comment %}\n\nsecret\n\n{% endcomment %}\n",
        ),
        (
            Dialect.LOGSEQ,
            "private:: secret\n\n- shown text\n  hidden:: secret\n\n#+BEGIN_COMMENT\nsecret\n#+END_COMMENT\n",
        ),
    ],
)
def test_what_another_program_hides_from_readers_is_not_shown(dialect: Dialect, text: str) -> None:
    html = str(render_document(read_document(text, dialect), ReadableLinks()))

    assert "secret" not in html
    assert "shown" in html
    assert "text" in html


def test_a_picture_is_shown_if_it_is_an_attachment_and_none_from_elsewhere() -> None:
    text = "![plan](assets/plan%201.png) ![far](https://x.example/spy.png) ![[plan.png]] ![gone](gone.png)\n"
    files = {("image", "assets/plan 1.png"): "/s/t/p/1/file/2", ("embed", "plan.png"): "/s/t/p/1/file/2"}
    assert re.findall('src="([^"]+)"', html_of(text, files=files)) == ["/s/t/p/1/file/2"] * 2


def test_headings_leave_out_no_level_whatever_the_page_does() -> None:
    page = "## One\n\n#### Two\n\n> ###### Three\n\n#### Four\n\n# Five\n\n### Six\n"
    levels = [tag for tag, _ in Tags(html_of(page)).found if re.fullmatch("h[1-6]", tag)]

    assert levels == ["h2", "h3", "h4", "h3", "h2", "h3"]


def test_the_box_of_a_task_is_named_by_its_words() -> None:
    html = html_of('- [x] buy **"peas"**\n  - [ ] now\n- [ ]\n')

    assert [attributes.get("aria-label") for tag, attributes in Tags(html).found if tag == "input"] == [
        *('buy "peas"', "now", "☐"),
    ]


def test_a_callout_that_can_be_folded_is_folded_and_unfolded_by_readers() -> None:
    assert html_of("> [!tip]- Later\n> text\n") == (
        "<details><summary><strong>Later</strong></summary><p>text</p></details>"
    )
    assert html_of("> [!tip]+\n> text\n").startswith('<details open=""><summary><strong>Tip</strong>')
    assert html_of("> [!tip] Now\n> text\n").startswith("<blockquote>")


def test_columns_have_their_widths_on_shared_pages() -> None:
    table = "| a | b |\n|---|---|\n"

    partly = html_of(f"<!-- columns: 120 - -->\n{table}")
    assert '<table><colgroup><col width="120"><col></colgroup><tbody>' in partly
    assert "columns:" not in partly
    assert '<table width="360"><colgroup>' in html_of(f"<!-- columns: 120 240 -->\n{table}")
    assert "<table><tbody>" in html_of(table)


@pytest.mark.parametrize("widths", [['1"><script>'], [1, 2], [0], [10_001], [1.5], [True], "12", {"0": 1}, None])
def test_a_width_that_is_none_is_left_out(widths: Any) -> None:
    cell = {"type": "tableCell", "attrs": {"colwidth": widths}}
    table = {"type": "table", "content": [{"type": "tableRow", "content": [cell]}]}

    assert "col" not in str(render_document({"content": [table]}, ReadableLinks()))


def test_a_heading_has_the_anchor_that_links_to_it_end_with() -> None:
    assert f'id="{heading_anchor("Part one")}"' in html_of("## Part **one**\n")


def test_a_first_heading_that_repeats_the_title_is_left_out() -> None:
    document = read_document("# Of *all*\n\ntext\n")
    assert str(render_document(without_title(document, "Of all"), ReadableLinks())) == "<p>text</p>"
    assert without_title(document, "Other") is document


def test_a_document_that_is_nested_without_end_is_shown_as_far_as_it_is_read() -> None:
    node: dict[str, Any] = {"type": "text", "text": "deep"}
    for _ in range(5000):
        node = {"type": "blockquote", "content": [node]}
    assert "deep" not in render_document({"content": [node]}, ReadableLinks())
