"""Images with a size, and the links of HTML tags."""

import json
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mirrord.domain.dialect import Dialect
from mirrord.markdown.frontmatter.page_text import PageText
from mirrord.markdown.link_updates import retarget_links
from mirrord.markdown.page_links import links_of, possible_targets_of
from mirrord.markdown.read.reader import read_document
from mirrord.markdown.schema.document import Node, make_document
from mirrord.markdown.schema.normal_form import normalize
from mirrord.markdown.write.render import splice_document


def image(**attrs: object) -> Node:
    return {"type": "image", "attrs": attrs}  # type: ignore[typeddict-item]


def paragraph(*content: Node | str) -> Node:
    nodes: list[Node] = [{"type": "text", "text": each} if isinstance(each, str) else each for each in content]
    return {"type": "paragraph", "content": nodes}


def written(*content: Node, dialect: Dialect = Dialect.PLAIN, body: str = "") -> str:
    return splice_document(body, make_document(content), "\n", dialect=dialect)


@pytest.mark.parametrize(
    ("content", "markdown", "in_obsidian"),
    [
        (paragraph(image(src="a.png", width=300)), '<img src="a.png" width="300">\n', "![|300](a.png)\n"),
        (
            paragraph("x ", image(src="a b.png", alt='"y"', title="z", width="300", height=200, id="7"), " w"),
            'x <img src="a b.png" alt="&quot;y&quot;" title="z" width="300" height="200"> w\n',
            'x !["y"|300x200](<a b.png> "z") w\n',
        ),
        (
            paragraph(image(src="a.png", width="50%"), "\nx"),
            '<img src="a.png" width="50%">&#32;\nx\n',
            '<img src="a.png" width="50%">&#32;\nx\n',
        ),
        (image(src="a.png", height=200), '<img src="a.png" height="200">\n', '<img src="a.png" height="200">\n'),
        (paragraph(image(src="a.png", id="7")), "![](a.png)\n", "![](a.png)\n"),
        (paragraph(image(src="a.png", alt=" b ")), "![ b ](a.png)\n", "![ b ](a.png)\n"),
    ],
)
def test_an_image_with_a_size_is_an_image_in_markdown(content: Node, markdown: str, in_obsidian: str) -> None:
    assert written(content) == markdown
    assert written(content, dialect=Dialect.OBSIDIAN) == in_obsidian
    for page in (markdown, in_obsidian):
        assert normalize(read_document(page)) == normalize(make_document([content]))
        assert written(content, body=page) == page


def test_a_page_with_sizes_in_descriptions_gets_new_ones_there() -> None:
    body = "![a|300](a.png)\n"
    content = [*(read_document(body)["content"]), paragraph(image(src="b.png", width=100))]

    assert written(*content, body=body) == f"{body}\n![|100](b.png)\n"


@pytest.mark.parametrize(
    ("markdown", "content"),
    [
        ('<img src="a.png">\n', paragraph(image(src="a.png"))),
        ("<IMG src=a.png\n  alt='b &amp; c' />\n", paragraph(image(src="a.png", alt="b & c"))),
        (
            '<img src="a.png" width=30>\n<img src="b.png">\n',
            paragraph(image(src="a.png", width=30), "\n", image(src="b.png")),
        ),
        ("- x <img src=a.png>\n", None),
        ("![a|b](c)\n", paragraph(image(src="c", alt="a|b"))),
        ("![a|30](c)\n", paragraph(image(src="c", alt="a", width=30))),
    ],
)
def test_images_of_tags_and_with_sizes_are_read(markdown: str, content: Node | None) -> None:
    document = read_document(markdown)

    assert "image" in json.dumps(document)
    assert content is None or normalize(document) == normalize(make_document([content]))
    assert splice_document(markdown, document, "\n") == markdown


@pytest.mark.parametrize(
    "markdown",
    [
        '<img src="a.png" class="b">\n',
        '<img src="javascript:alert(1)">\n',
        '<img src="java&#10;script:alert(1)" width="3">\n',
        '<img alt="a">\n',
        '<img src="a.png" src="b.png">\n',
        '<p><img src="a.png"></p>\n',
        '<img src="a.png">\n*x*\n',
    ],
)
def test_other_html_stays_raw(markdown: str) -> None:
    assert [node["type"] for node in read_document(markdown)["content"]] == ["rawBlock"]


def test_an_image_that_was_json_is_read_and_keeps_its_bytes_until_it_is_changed() -> None:
    body = 'a <span data-tt="{&quot;type&quot;: &quot;image&quot;, &quot;attrs&quot;: {&quot;src&quot;: &quot;b&quot;, &quot;width&quot;: 30}}"></span> c\n'  # noqa: E501
    document = read_document(body)
    assert document["content"] == [paragraph("a ", image(src="b", width=30), " c")]
    assert splice_document(body, document, "\n") == body

    assert written(paragraph("a ", image(src="b", width=40), " c"), body=body) == 'a <img src="b" width="40"> c\n'


def test_a_document_of_a_version_that_did_not_read_tags_changes_nothing() -> None:
    body = '<img src="a.png">\n\nx <img src="b.png" width="3"> y\n'
    inline: Node = {"type": "rawInline", "attrs": {"raw": '<img src="b.png" width="3">'}}
    block: Node = {"type": "rawBlock", "attrs": {"raw": '<img src="a.png">'}}

    assert written(block, paragraph("x ", inline, " y"), body=body) == body
    assert written(block, paragraph("x ", inline, " z"), body=body) == body.replace("y\n", "z\n")


_texts = st.text(st.sampled_from('ab |"<>&;$`*_[]()\\\né中'), max_size=8)
_sizes = st.one_of(
    st.none(), st.integers(0, 5000), st.floats(0.01, 5000), st.sampled_from(["12", "50%", " 7px ", "a|3", '"', "<b>"])
)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("x ![old][r] b\n\n[r]: /u\n", "x ![new][r] b\n\n[r]: /u\n"),
        ("![old][] b\n\n[old]: /u 'T'\n", "![new][old] b\n\n[old]: /u 'T'\n"),
        ("*![old]* __b__\n\n[OLD]: /u\n", "*![new][old]* __b__\n\n[OLD]: /u\n"),
        ("[![old][r]](/x)\n\n[r]: /u\n", "[![new][r]](/x)\n\n[r]: /u\n"),
        ("![old](</u> 'T')\n", '![new](/u "T")\n'),
    ],
)
def test_an_image_by_label_that_is_described_in_another_way_stays_one(before: str, after: str) -> None:
    document = json.loads(json.dumps(read_document(before)).replace('"old"', '"new"'))

    assert splice_document(before, document, "\n") == after


@given(
    st.lists(
        st.builds(lambda src, alt, width, height: image(src=src, alt=alt, width=width, height=height),
                  st.sampled_from(["a.png", "a b&amp;(1).png", "ä|\"<'>.png"]), _texts, _sizes, _sizes),
        min_size=1, max_size=3,
    ),
    _texts,
    st.sampled_from([Dialect.PLAIN, Dialect.OBSIDIAN]),
)  # fmt: skip
def test_any_image_is_written_and_read_back(images: list[Node], between: str, dialect: Dialect) -> None:
    content: list[Node | str] = []
    for each in images:
        content += [each, *([between] if between else [])]
    document = make_document([paragraph(*content)])
    body = splice_document("", document, "\n", dialect=dialect)

    assert "data-tt" not in body
    assert normalize(read_document(body, dialect)) == normalize(document)
    assert links_of(PageText(body)) == [] or {link.kind for link in links_of(PageText(body))} <= {"image"}


@pytest.mark.parametrize(
    ("text", "targets"),
    [
        ('x <a href="My%20Page.md#part" class="y">z</a>\n', [("markdown", "My Page.md", "part")]),
        ("<p>\n<img width=3 src='a&amp;b.png'>\n</p>\n", [("image", "a&b.png", None)]),
        ("[<img src=a.png>](b.md)\n", [("markdown", "b.md", None), ("image", "a.png", None)]),
        ('- <a\n  href="b.md">c</a>\n', [("markdown", "b.md", None)]),
        ('<!-- <a href="b.md"> -->\n\n`<a href="b.md">`\n\n<b href="c.md">\n', []),
        ("<script>\nwrite('<img src=\"a.png\">')\n</script>\n", []),
        ('<a href="https://example.org"> <a href="{{ page }}.md"> <a href={url}>\n', []),
    ],
)
def test_links_and_images_of_html_are_links(text: str, targets: list[tuple[str, str, str | None]]) -> None:
    links = links_of(PageText(text))

    assert [(link.kind, link.target, link.heading) for link in links] == targets
    assert {target for _, target, _ in targets} <= {target for _, target in possible_targets_of(text)}


QUOTES: list[Callable[[str], str]] = ['"{}"'.format, "'{}'".format, "{}".format]


@pytest.mark.parametrize("quoted", QUOTES)
@pytest.mark.parametrize(
    "tag", ["x <a class=y href={}>z</a>\n", "<p>\n<img src={} alt='q'>\n</p>\n", "> <img src={}>\n"]
)
def test_a_target_in_a_tag_follows_a_move(tag: str, quoted: Callable[[str], str]) -> None:
    page = PageText(tag.format(quoted("old.md#part")))
    moved = {(kind, "old.md"): 'sub/it\'s "new" #1.md' for kind in ("markdown", "image")}

    relinked = retarget_links(page, moved)

    new = "sub/it%27s%20%22new%22%20%231.md#part"
    assert (relinked.count, relinked.page.text) == (1, tag.format(quoted(new)))
    assert [link.target for link in links_of(relinked.page)] == ['sub/it\'s "new" #1.md']
