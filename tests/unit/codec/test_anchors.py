"""Links that are HTML tags: read as links, and left as they are written."""

import json

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from mirrord.domain.dialect import Dialect
from mirrord.markdown.frontmatter.page_text import PageText
from mirrord.markdown.page_links import links_of
from mirrord.markdown.read.reader import read_document
from mirrord.markdown.schema.document import Mark, Node, make_document, text_node
from mirrord.markdown.schema.normal_form import fingerprint, normalize
from mirrord.markdown.write.render import splice_document


def link(href: str, **attrs: str) -> Mark:
    return {"type": "link", "attrs": {"href": href, **attrs}}


A, ITALIC = link("a.md"), Mark(type="italic")


def content_of(body: str, dialect: Dialect = Dialect.PLAIN) -> list[Node]:
    return read_document(body, dialect)["content"][0].get("content", [])


def has_link(content: list[Node]) -> bool:
    return any(mark["type"] == "link" for node in content for mark in node.get("marks", []))


def targets_of(body: str) -> set[str]:
    return {link.target for link in links_of(PageText(body))}


def page(*content: Node) -> Node:
    return make_document([{"type": "paragraph", "content": list(content)}])


@pytest.mark.parametrize(
    ("body", "content"),
    [
        ('x <a href="a.md">b</a> c\n', [text_node("x "), text_node("b", [A]), text_node(" c")]),
        ("<A HREF=a.md>b</A>\n", [text_node("b", [A])]),
        (
            "x <a title='t &amp; u'\n  href='a b.md' >b</a >\n",
            [text_node("x "), text_node("b", [link("a b.md", title="t & u")])],
        ),
        ('<a href="a.md">b *c* d</a>\n', [text_node("b ", [A]), text_node("c", [A, ITALIC]), text_node(" d", [A])]),
        ('*b <a href="a.md">c</a>*\n', [text_node("b ", [ITALIC]), text_node("c", [ITALIC, A])]),
        ('<a href="a.md"><u>b</u></a>\n', [text_node("b", [A, {"type": "underline"}])]),
        ('<a href="a.md">`b`</a>\n', [text_node("b", [A, {"type": "code"}])]),
        (
            '<a href="a.md">![b](c.png)</a>\n',
            [{"type": "image", "attrs": {"src": "c.png", "alt": "b"}, "marks": [A]}],
        ),
    ],
)
def test_a_pair_of_tags_is_a_link(body: str, content: list[Node]) -> None:
    assert normalize(page(*content_of(body))) == normalize(page(*content))
    assert splice_document(body, read_document(body), "\n") == body


@pytest.mark.parametrize(
    "body",
    [
        'x <a href="a.md" class="b">c</a>\n',
        'x <a href="a.md" target="_blank">c</a>\n',
        'x <a href="a.md" href="b.md">c</a>\n',
        'x <a name="a">c</a>\n',
        'x <a href="">c</a>\n',
        'x <a href="a.md">c\n',
        'x <a href="a.md"></a>\n',
        "x c</a>\n",
        'x <a href="javascript:alert(1)">c</a>\n',
        'x <a href="java&#10;script:alert(1)">c</a>\n',
        'x <a href="{{ site.url }}/a">c</a>\n',
        'x *y <a href="a.md">c* d</a>\n',
        'x <u>y <a href="a.md">c</u> d</a>\n',
        'x <a href="a.md">y <u>c</a> d</u>\n',
        '<u>x <a href="a.md">y</u> <u>z</a> d</u>\n',
        'x <a href="a.md">[[b]]</a>\n',
        'x <a href="a.md"> <br> </a>\n',
        'x <a href="a.md"><b></b></a>\n',
    ],
)
def test_other_tags_stay_raw(body: str) -> None:
    assert not has_link(content_of(body))
    assert {"rawInline"} <= {node["type"] for node in content_of(body)}
    assert splice_document(body, read_document(body), "\n") == body


@pytest.mark.parametrize(
    ("body", "linked"),
    [
        ('<a href="a.md">b <a href="c.md">d</a> e</a>\n', {"d"}),
        ('<a href="a.md">b [d](c.md)</a>\n', {"d"}),
        ('[b <a href="a.md">c</a>](d.md)\n', {"b ", "c", '<a href="a.md">', "</a>"}),
        ('<a href="a.md">b</a><a href="a.md">c</a>\n', {"b"}),
        ('[b](a.md)<a href="a.md">c</a>\n', {"b"}),
        ('<a href="a.md">b</a>[c](a.md)\n', {"c"}),
    ],
)
def test_of_links_in_or_beside_links_one_is_read(body: str, linked: set[str]) -> None:
    nodes = [node for node in content_of(body) if has_link([node])]

    assert {node.get("text") or node["attrs"]["raw"] for node in nodes} == linked
    assert splice_document(body, read_document(body), "\n") == body


@pytest.mark.parametrize(
    ("tags", "inner"),
    [(["bold"], ["italic"]), (["bold"], []), (["italic"], ["bold", "italic"]), (["bold", "italic"], ["bold"])],
)
def test_the_marks_of_tags_replace_none_of_what_is_between(tags: list[str], inner: list[str]) -> None:
    def raw(tag: str) -> Node:
        return {"type": "rawInline", "attrs": {"raw": tag}, "marks": [Mark(type=name) for name in tags]}

    text = text_node("b", [Mark(type=name) for name in inner])
    content = normalize(page(raw('<a href="a.md">'), text, raw("</a>")))["content"][0]["content"]

    assert [[mark["type"] for mark in node.get("marks", [])] for node in content if node.get("text") == "b"] == [inner]


def test_an_edit_beside_emphasized_tags_leaves_the_emphasis_between_them() -> None:
    body = '**<a href="a.md">** *b* **</a>** seven\n'
    edited = json.loads(json.dumps(read_document(body)).replace("seven", "eight"))

    assert splice_document(body, edited, "\n") == body.replace("seven", "eight")


def test_tags_are_elements_where_a_page_is_mdx() -> None:
    assert not has_link(content_of('x <a href="a.md">b</a>\n', Dialect.DOCUSAURUS))


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('old <a href="a.md">b &amp; c</a> d\n', 'new <a href="a.md">b &amp; c</a> d\n'),
        ('x <a href="a.md" title=t>old</a> d\n', 'x <a href="a.md" title=t>new</a> d\n'),
        ('x <A  href="a.md">b old *c*</A> d\n', 'x <A  href="a.md">b new *c*</A> d\n'),
        ('<a href="a.md">b</a> old <a class=x>y</a>\n', '<a href="a.md">b</a> new <a class=x>y</a>\n'),
        ('<u>x</u><a href="a.md">old</a> y\n', '<u>x</u><a href="a.md">new</a> y\n'),
        ('<u><a href="c.md"></u><a href="a.md">b</a> old\n', '<u><a href="c.md"></u><a href="a.md">b</a> new\n'),
        ('| a |\n| --- |\n| <a href="a.md">old</a> |\n', '| a |\n| --- |\n| <a href="a.md">new</a> |\n'),
        ('- x\n  - <a href="a.md">old\n    b</a>\n', '- x\n  - <a href="a.md">new\n    b</a>\n'),
    ],
)
def test_a_word_in_or_beside_a_link_changes_alone(before: str, after: str) -> None:
    document = _with_word(read_document(before))

    assert splice_document(before, document, "\n") == after


def test_a_link_that_gets_another_target_or_goes_leaves_the_rest() -> None:
    body = 'x &amp; <a href="a.md">b</a> *y*\n'
    other, unlinked = (
        page(text_node("x & "), text_node("b", marks), text_node(" "), text_node("y", [{"type": "italic"}]))
        for marks in ([link("c.md")], [])
    )

    assert splice_document(body, other, "\n") == "x &amp; [b](c.md) *y*\n"
    assert splice_document(body, unlinked, "\n") == "x &amp; b *y*\n"


def test_a_document_of_a_version_that_did_not_read_links_changes_nothing_beside_its_edit() -> None:
    body = 'x *<a href="a.md">b</a>* y\n'
    italic: list[Mark] = [{"type": "italic"}]
    tags: list[Node] = [
        {"type": "rawInline", "attrs": {"raw": raw}, "marks": italic} for raw in ('<a href="a.md">', "</a>")
    ]
    old = [tags[0], text_node("b", italic), tags[1]]

    assert splice_document(body, page(text_node("x "), *old, text_node(" y")), "\n") == body
    assert splice_document(body, page(text_node("x "), *old, text_node(" z")), "\n") == body.replace("y\n", "z\n")


_PIECES = st.sampled_from(
    ['<a href="a.md">', "<a href='b' title=c>", '<a class="d">', "</a>", "<u>", "</u>", "*", "**", "b", " ", "`c`",
     "\n", "[d](d.md)", "[[e]]", "![f](g.png)", "<br>", "&amp;", "<https://example.org>"]
)  # fmt: skip


@given(st.lists(_PIECES, max_size=14).map("".join))
def test_any_tags_are_read_without_loss_and_their_links_stay_links_of_the_page(text: str) -> None:
    body = f"x{text}x\n"
    document = read_document(body)
    anew = splice_document("", document, "\n")

    assert splice_document(body, document, "\n") == body
    assert fingerprint(normalize(read_document(anew))) == fingerprint(normalize(document))
    assert targets_of(anew) == targets_of(body)


@given(
    st.lists(_PIECES | st.sampled_from(["==", "~~", "_", "[h][]", '<a href="c.md">', "</a>"]), max_size=14).map("".join)
)
@settings(derandomize=True)
def test_a_word_beside_any_tags_changes_alone(text: str) -> None:
    body = f"old x{text}x\n\n[h]: h.md\n"
    document = _with_word(read_document(body))
    assume(read_document(body.replace("old", "new")) == document)

    assert splice_document(body, document, "\n") == body.replace("old", "new")


def _with_word(node: Node) -> Node:
    """*node* with its word `old` as `new`."""
    result: Node = {**node}
    if "text" in node:
        result["text"] = node["text"].replace("old", "new")
    if "content" in node:
        result["content"] = [_with_word(child) for child in node["content"]]
    return result
