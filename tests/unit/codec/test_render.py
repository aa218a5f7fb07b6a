from dataclasses import replace

import pytest
from hypothesis import example, given, reject, settings

from mirrord.errors import Damaged
from mirrord.markdown.frontmatter.page_text import PageText
from mirrord.markdown.frontmatter.yaml_reader import Json
from mirrord.markdown.inline.source_style import style_of
from mirrord.markdown.parser.dialect import ALONE
from mirrord.markdown.read.page_outline import outline_of
from mirrord.markdown.read.reader import read_document, read_nodes
from mirrord.markdown.schema.document import Document, Mark, Node, make_document, text_node
from mirrord.markdown.schema.normal_form import normalize
from mirrord.markdown.write.block_writer import render_block
from mirrord.markdown.write.render import NewViews, render
from tests.judge import Verdict, gfm_html, verdict
from tests.support.laws import scale_examples
from tests.unit.codec.documents import documents, markdown, meaning

NOTHING = NewViews(id=None, title=None, icon=None, position=None, frontmatter=None, content=None)
CONTENT = frozenset(["content"])
SCRIPT: Mark = {"type": "link", "attrs": {"href": "javascript:x"}}
ID = "0190a1b2-aaaa-7bbb-8ccc-0123456789ab"


def rendered(text: str | None, content: Document) -> str:
    return render(PageText(text or ""), CONTENT, replace(NOTHING, content=content), stem="Page").text


def paragraph(text: str) -> Node:
    return {"type": "paragraph", "content": [text_node(text)]}


@given(documents)
@settings(max_examples=scale_examples(60))
def test_a_document_is_read_back_as_it_was_written_or_refused(content: Document) -> None:
    try:
        text = rendered(None, content)
    except Damaged:
        reject()  # Hypothesis complains where that is more than rare

    assert meaning(read_document(text)) == meaning(content)
    assert rendered(text, content) == text
    assert rendered(text, read_document(text)) == text


@example("```\n    ")
@given(markdown)
def test_content_that_did_not_change_leaves_every_byte(text: str) -> None:
    assert rendered(text, read_document(text)) == text


@pytest.mark.parametrize("text", ["<!--\n\n", "<!--\na\n\n\n", "```\na\n\n", "> ```\n>\n", "%%\na\n\n", "- <!--\n\n"])
def test_a_block_that_the_end_of_the_page_closes_keeps_its_blank_lines(text: str) -> None:
    assert rendered(text, read_document(text)) == text


def test_content_that_did_not_change_leaves_every_byte_of_real_pages(pages: list[str]) -> None:
    for page in pages:
        for text in (page, page.replace("\n", "\r\n"), "\ufeff" + page):
            assert rendered(text, read_document(text)) == text


def test_the_columns_of_a_new_page_become_its_front_matter() -> None:
    new_views = NewViews(
        ID, "A: b", "🌳", "a0", {"tags": ["x"], "title": "other", "id": "other"}, make_document([paragraph("c")])
    )
    everything = frozenset(["id", "title", "icon", "position", "frontmatter", "content"])

    assert render(PageText(""), everything, new_views, stem="Page").text == (
        f"---\nid: {ID}\ntags:\n  - x\ntitle: 'A: b'\nicon: 🌳\nposition: a0\n---\nc\n"
    )


@pytest.mark.parametrize("line", [f"id: {ID[::-1]}", "id: mine", "id:", "id: [a]"])
def test_an_id_in_the_file_is_never_touched(line: str) -> None:
    text = f"---\na: 1\n{line}\n---\n"
    new_views = replace(NOTHING, id=ID, frontmatter={"a": 1, "id": "theirs"})

    assert render(PageText(text), frozenset(["id", "frontmatter"]), new_views, stem="Page").text == text
    assert (
        render(PageText(text), frozenset(["frontmatter"]), replace(new_views, frontmatter={"a": 1}), stem="Page").text
        == text
    )


@pytest.mark.parametrize(
    ("text", "title", "expected"),
    [
        ("# a\n", "Page", "# a\n"),
        ("# a\n", "Other", "---\ntitle: Other\n---\n# a\n"),
        ("---\ntitle: 1.10\n---\n", "1.10", "---\ntitle: 1.10\n---\n"),
        ("---\ntitle: 'a' # why\n---\n", "b", "---\ntitle: 'b' # why\n---\n"),
        ("---\ntitle: a\n---\n", "2024", "---\ntitle: '2024'\n---\n"),
        ("---\ntitle: a\nb: 1\n---\n", None, "---\nb: 1\n---\n"),
        ("# a\n", None, "# a\n"),
    ],
)
def test_a_title_is_written_only_when_the_page_shows_another(text: str, title: str | None, expected: str) -> None:
    assert render(PageText(text), frozenset(["title"]), replace(NOTHING, title=title), stem="Page").text == expected


def test_a_column_beats_the_same_key_of_the_front_matter() -> None:
    new_views = replace(NOTHING, title="a", icon="i", frontmatter={"title": "b", "new": 1})

    text = render(
        PageText("---\ntitle: a\nold: 1\n---\n"), frozenset(["title", "frontmatter"]), new_views, stem="Page"
    ).text

    assert text == "---\ntitle: a\nnew: 1\n---\n"


def test_a_position_is_written_also_where_the_file_has_none() -> None:
    ahead, new_views = frozenset(["position"]), replace(NOTHING, position="a1")

    assert render(PageText("# a\n"), ahead, new_views, stem="Page").text == "---\nposition: a1\n---\n# a\n"
    assert (
        render(PageText("---\nposition: a0\n---\n"), ahead, new_views, stem="Page").text == "---\nposition: a1\n---\n"
    )


def test_values_that_did_not_change_keep_how_they_are_written() -> None:
    text = "---\nat: 1:30\nok: no\nversion: 1.10\nsee: [[Page]]\ndate: 2024-01-05 10:00:00 # then\nn: 1\n---\n"
    front_matter: dict[str, Json] = {
        "at": "1:30", "ok": "no", "version": 1.1, "see": "[[Page]]", "date": "2024-01-05T10:00:00", "n": 2
    }  # fmt: skip

    changed = render(
        PageText(text), frozenset(["frontmatter"]), replace(NOTHING, frontmatter=front_matter), stem="Page"
    ).text

    assert changed == text.replace("n: 1\n", "n: 2\n")


def test_front_matter_that_cannot_be_read_is_never_rewritten_but_the_body_may_be() -> None:
    text = "---\na: b: c\n---\nold\n"

    with pytest.raises(Damaged, match="line 2 of the front matter"):
        render(PageText(text), frozenset(["title"]), replace(NOTHING, title="x"), stem="Page")
    assert rendered(text, make_document([paragraph("new")])) == "---\na: b: c\n---\nnew\n"


def test_the_first_block_of_a_page_ends_its_lines_as_the_front_matter_does() -> None:
    assert rendered("---\r\na: 1\r\n---\r\n", make_document([paragraph("b")])) == "---\r\na: 1\r\n---\r\nb\r\n"


def test_a_rule_on_the_first_line_does_not_become_front_matter() -> None:
    rule: Node = {"type": "horizontalRule"}

    assert rendered(None, make_document([rule, paragraph("a"), rule])) == "\n---\n\na\n\n---\n"


@pytest.mark.parametrize(
    ("node", "lost"),
    [
        ({"type": "rawBlock", "attrs": {"raw": "two\n\nblocks"}}, "rawBlock"),
        ({"type": "rawBlock", "attrs": {"raw": "a paragraph"}}, "rawBlock"),
        ({"type": "paragraph", "content": [text_node("a", [SCRIPT])]}, "paragraph > text"),
        (
            {"type": "codeBlock", "attrs": {"language": "tiptap-node"}, "content": [text_node('{"type":"x"}')]},
            "codeBlock",
        ),
        ({"type": "text", "text": ""}, "paragraph|text"),
        ({"type": "paragraph", "colour": 1}, "unknown key `colour`"),
        ({"content": []}, "not a TipTap node"),
        ("words", "not a TipTap node"),
    ],
)
def test_what_markdown_cannot_hold_is_refused_by_name(node: Node, lost: str) -> None:
    if node == {"type": "text", "text": ""}:
        assert rendered("a\n", make_document([paragraph("a"), node])) == "a\n"
        return
    with pytest.raises(Damaged, match=lost):
        rendered("a\n", make_document([paragraph("a"), node]))


def test_what_an_editor_adds_without_meaning_changes_nothing() -> None:
    text = "A [link](x), **bold** and\n\n1. one\n"
    content = read_document(text)
    link = content["content"][0]["content"][1]["marks"][0]
    link["attrs"] |= {"target": "_blank", "rel": "noopener noreferrer nofollow", "class": None}
    content["content"][0]["attrs"] = {"id": "b1", "textAlign": None}
    content["content"].append({"type": "paragraph"})

    assert rendered(text, content) == text


def test_an_unknown_node_is_kept_as_json_in_a_fence() -> None:
    poll: Node = {"type": "poll", "attrs": {"id": 1, "question": "```?"}, "content": [paragraph("yes")]}

    text = rendered(None, make_document([poll]))

    assert text.startswith("````tiptap-node\n")
    assert read_document(text)["content"] == [poll]


@pytest.mark.parametrize(
    ("text", "last", "expected"),
    [
        ("---\na: 1\n---", "new", "---\na: 1\n---\nnew\n"),
        ("---\r\na: 1\r\n---", "new", "---\r\na: 1\r\n---\r\nnew\r\n"),
    ],
)
def test_a_body_begins_below_a_front_matter_that_ended_the_file(text: str, last: str, expected: str) -> None:
    assert rendered(text, make_document([paragraph(last)])) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("\x0bfoo *b*\n", "\x0bfoo *c*\n"),
        ("> \u2003foo *b*\n", "> \u2003foo *c*\n"),
        ("&#9;foo *b*\n", "&#9;foo *c*\n"),
        ("www.a.b/he<lp *b*\n", "www.a.b/he<lp *c*\n"),
        ("www.a.b/?q=c&hl; *b*\n", "www.a.b/?q=c&hl; *c*\n"),
        ("[ ](u)[C](u)\n", "[ ](u)[C](u)\n"),
    ],
)
def test_what_stands_beside_a_changed_word_stays(text: str, expected: str) -> None:
    content = read_document(text)
    block = content["content"][0]
    inner = block["content"][0] if block["type"] == "blockquote" else block
    for node in inner["content"]:
        if node.get("text") == "b":
            node["text"] = "c"
    assert rendered(text, content) == expected


def test_an_empty_task_keeps_the_blank_that_makes_it_one_elsewhere() -> None:
    empty: Node = {"type": "taskItem", "attrs": {"checked": False}, "content": [{"type": "paragraph"}]}
    assert rendered(None, make_document([{"type": "taskList", "content": [empty]}])) == "- [ ] \n"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (None, "- [ ] \n  ```\n  code\n  ```\n"),
        ("- [x] a\n", "- [x] a\n- [ ]  \n  ```\n  code\n  ```\n"),
        ("- [ ] a\n", "- [ ]  \n  ```\n  code\n  ```\n"),
        ("- [ ] ```\n  other\n  ```\n", "- [ ] ```\n  code\n  ```\n"),
    ],
)
def test_the_code_of_a_task_begins_below_its_box_but_where_it_was_beside_it(before: str | None, after: str) -> None:
    """Beside the box other parsers see no fence: they take the last one for the first, and what follows for code."""
    content = read_document(after)
    assert [block["type"] for block in content["content"][0]["content"][-1]["content"]] == ["paragraph", "codeBlock"]
    assert rendered(before, content) == after


@pytest.mark.parametrize(
    "source",
    [
        *("- [ ]", "- [x]\n- [ ]", "1. [ ]", "- [ ]\n- a", "- [ ] a\n- [ ]", "- [ ]\n  - a", "- [ ]\n\n  a", "> - [X]"),
        *("- [ ] ", "- [x] \n- [ ] ", "1. [ ] ", "- [ ] \n- a", "- [ ] a\n- [ ] ", "- [ ] \n- [ ]"),
    ],
)
def test_a_box_alone_written_anew_is_elsewhere_what_it_was(source: str) -> None:
    page = outline_of(source)
    (node,) = read_nodes(page)

    result = render_block(normalize(node), style_of(page.segments[0].tokens or ()), ALONE)

    assert verdict(gfm_html(source), gfm_html(result)) is Verdict.SAME


def test_two_links_to_one_target_beside_each_other_stay_two() -> None:
    (block,) = read_document("[a](u)[b](u)\n")["content"]
    assert block["content"] == [{"type": "rawInline", "attrs": {"raw": "[a](u)[b](u)"}}]
