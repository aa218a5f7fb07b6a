"""A body of HTML as a page: no text is lost, what is not edited stays as it is, and no edit removes what it hides."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mirrord.binding.bodies.html_body import document_of_html, html_with
from mirrord.binding.bodies.html_tree import MAX_ELEMENTS
from mirrord.errors import Damaged
from mirrord.markdown.frontmatter.page_text import PageText
from mirrord.markdown.read.reader import read_document
from mirrord.markdown.write.render import NewViews, render
from mirrord.markdown.write.stored_form import keep_nodes


def markdown_of(html: str) -> str:
    views = NewViews(None, None, None, None, None, document_of_html(html))
    return render(PageText(""), frozenset({"content"}), views, "").text


def edited(html: str, text: str) -> str:
    """*html* after its page was changed to *text*."""
    return html_with(html, keep_nodes(read_document(text), document_of_html(html)))


def replaced(html: str, old: str, new: str) -> str:
    text = markdown_of(html)
    assert old in text
    return edited(html, text.replace(old, new))


def test_html_of_an_editor_is_markdown() -> None:
    html = (
        "<h2>Beans</h2>\n<p>Green &amp; <strong>tasty</strong>, <em>see</em> <a href='/soil'>soil</a>.<br>Rows.</p>\n"
        "<ul><li>one<ul><li>two</li></ul></li></ul>\n<ol start='3'><li><p>x</p></li></ol>\n"
        '<pre><code class="language-sh">ls &lt;dir&gt;\n</code></pre><blockquote><p>Quoted.</p></blockquote><hr>'
        "<table><tbody><tr><th>a</th><th>b</th></tr><tr><td>1</td><td>2</td></tr></tbody></table>"
    )
    assert markdown_of(html) == (
        "## Beans\n\nGreen & **tasty**, *see* [soil](/soil).\\\nRows.\n\n- one\n  - two\n\n3. x\n\n"
        "```sh\nls <dir>\n\n```\n\n> Quoted.\n\n---\n\n| a | b |\n| --- | --- |\n| 1 | 2 |\n"
    )


@pytest.mark.parametrize(
    ("html", "old", "new", "expected"),
    [
        ("<p>One</p>\n<p>Two</p>", "Two", "*2*", "<p>One</p>\n<p><em>2</em></p>"),
        ("<p>One</p>\n<p>Two</p>", "Two", "Two\n\nThree", "<p>One</p>\n<p>Two</p>\n<p>Three</p>"),
        ("<p>One</p>\n<p>Two</p>", "One\n\n", "", "<p>Two</p>"),
        ("<p>One</p>\n<p>Two</p>\n<p>Three</p>", "Two\n\n", "", "<p>One</p>\n<p>Three</p>"),
        (
            '<div class="a"><p style="b">One</p><!-- c --><p></p></div><p>Two</p>',
            "One",
            "1",
            '<div class="a"><p style="b">1</p><!-- c --><p></p></div><p>Two</p>',
        ),
        ("<script>x()</script><p>One</p><hr>", "One\n\n", "", "<script>x()</script><hr>"),
        ("<ul><li><p>a</p></li></ul>", "- a", "- a\n- b", "<ul><li><p>a</p></li><li><p>b</p></li></ul>"),
        ("<ul><li>a</li></ul>", "- a", "- a\n- b", "<ul><li>a</li><li>b</li></ul>"),
        (
            '<p><a href="/x" target="_blank" rel="noopener">a</a> b</p>',
            "b",
            "c",
            '<p><a href="/x" target="_blank" rel="noopener">a</a> c</p>',
        ),
        ("Loose <b>text</b>", "Loose", "Bound", "<p>Bound <strong>text</strong></p>"),
        ("<p>a</p>", "a", "\\<script> & b", "<p>&lt;script&gt; &amp; b</p>"),
        ("<p>a</p>", "a", "`<i>`", "<p><code>&lt;i&gt;</code></p>"),
        ("<p>a</p>", "a", '![x"](/y.png)', '<p><img src="/y.png" alt="x&quot;"></p>'),
        (
            "<table><tr><th>a</th></tr><tr><td>1</td></tr></table>",
            "1",
            "2",
            "<table><tbody><tr><th>a</th></tr><tr><td>2</td></tr></tbody></table>",
        ),
        (
            '<ul data-type="taskList"><li data-checked="true" data-type="taskItem"><label>'
            '<input type="checkbox" checked><span></span></label><div><p>do</p></div></li></ul>',
            "[x]",
            "[ ]",
            '<ul data-type="taskList"><li data-checked="false" data-type="taskItem"><label><input type="checkbox">'
            "<span></span></label><div><p>do</p></div></li></ul>",
        ),
    ],
)
def test_an_edit_changes_its_block_only(html: str, old: str, new: str, expected: str) -> None:
    assert replaced(html, old, new) == expected


@pytest.mark.parametrize(
    ("html", "reason"),
    [
        ('<p>One <span style="color: red">red</span></p><p>Two</p>', "`<span>`"),
        ('<ul><li class="x">One</li></ul><p>Two</p>', "`class` of `<li>`"),
        ("<p>One<!-- hidden --></p><p>Two</p>", "a comment"),
        ("<p>One <iframe src=x></iframe></p><p>Two</p>", "`<iframe>`"),
        ("<p>One <a href='javascript:x()'>a</a></p><p>Two</p>", "may be followed"),
        ("<table><tr><td>One</td></tr></table><p>Two</p>", "head of a table"),
        ("<p>One</b></p><p>Two</p>", "tags that do not fit"),
        ("<p>One<p>Two", "tags that do not fit"),
    ],
)
def test_a_block_with_what_markdown_does_not_hold_is_read_only(html: str, reason: str) -> None:
    with pytest.raises(Damaged, match=reason):
        replaced(html, "One", "1")
    text = markdown_of(html)
    if "do not fit" not in reason:
        changed = html.replace("Two", "Three")
        assert edited(html, text.replace("Two", "Three")) == changed


def test_a_block_that_moves_takes_its_source_along() -> None:
    html = '<p>One <span class="x">red</span></p>\n<p>Two</p>\n<p>Three</p>'
    assert edited(html, "Two\n\nThree\n\nOne red\n").count('<span class="x">red</span>') == 1


@pytest.mark.parametrize("markdown", ["<b>x</b>", "text <kbd>x</kbd>", "<script>x()</script>", "[[Page]]", "$x$"])
def test_what_html_has_no_form_for_is_refused(markdown: str) -> None:
    with pytest.raises(Damaged, match="HTML has no form for"):
        edited("<p>a</p>", f"a\n\n{markdown}\n")


def test_an_address_that_runs_a_script_reaches_neither_side() -> None:
    assert "javascript" not in markdown_of("<p><a href='java\nscript:x()'>a</a><img src='javascript:y'></p>")
    assert "<a" not in edited("<p>a</p>", "[a](javascript:x)\n")


words = st.sampled_from(
    [
        "a",
        "b &amp; c",
        " ",
        "x*y*",
        "[[z]]",
        "&nbsp;",
        "\n",
        "# h",
        "- i",
        "<br>",
        '<img src="/i.png">',
        "&lt;b&gt;",
        "|",
    ]
)
inline = st.recursive(
    words,
    lambda inside: st.builds(
        lambda tag, parts: f"<{tag} href=/x>{''.join(parts)}</{tag}>",
        st.sampled_from(["b", "em", "code", "s", "u", "span", "a", "mark"]),
        st.lists(inside, max_size=3),
    ),
    max_leaves=5,
)
texts = st.lists(inline, max_size=4).map("".join)
blocks = st.recursive(
    st.builds(lambda tag, text: f"<{tag}>{text}</{tag}>", st.sampled_from(["p", "h1", "pre", "div", "dd"]), texts)
    | texts
    | st.just("<hr>"),
    lambda inside: st.builds(
        lambda tag, parts: f"<{tag}>{''.join(f'<li>{part}</li>' for part in parts)}</{tag}>",
        st.sampled_from(["ul", "ol", "div", "blockquote"]),
        st.lists(inside, max_size=3),
    ),
    max_leaves=6,
)
pages = st.lists(blocks, max_size=5).map("\n".join)


@given(pages)
def test_html_that_is_not_edited_stays_as_it_is_and_a_new_block_is_beside_it(html: str) -> None:
    try:
        text = markdown_of(html)
    except Damaged:  # Markdown cannot hold it, which is a problem of its page
        return
    assert edited(html, text) == html
    longer = edited(html, f"{text}\nAnother paragraph.\n")
    assert longer.replace("<p>Another paragraph.</p>", "").split() == html.split()
    assert "<p>Another paragraph.</p>" in longer


@given(st.text(alphabet="<>/ab=\"' !-&;p"))
def test_every_text_has_a_document_with_its_words(html: str) -> None:
    document_of_html(html)


@pytest.mark.parametrize("part", ['<a b="', "<!--", "<script></script", "<a ", "</p>", "x<", "&", "<p>a</p>", "<li>"])
def test_every_source_is_read_once(part: str) -> None:
    document_of_html(part * 20_000)


@pytest.mark.parametrize("part", ["<b>", "<div>", "<ul><li>"])
def test_a_source_that_is_nested_too_deep_is_refused(part: str) -> None:
    with pytest.raises(Damaged, match="nested too deep"):
        document_of_html(part * 20_000)


@pytest.mark.parametrize(("tables", "width", "height"), [(1, 8_000, 8_000), (400, 40, 40)])
def test_tables_that_would_take_the_memory_of_all_are_refused(tables: int, width: int, height: int) -> None:
    table = f"<table><tr>{'<td>a</td>' * width}</tr>{'<tr><td>b</td></tr>' * height}</table>"
    with pytest.raises(Damaged, match="rows of too different lengths"):
        document_of_html(table * tables)


def test_a_source_with_too_many_elements_is_refused() -> None:
    with pytest.raises(Damaged, match="too many elements"):
        document_of_html("<br>" * (MAX_ELEMENTS + 1))


def test_short_rows_of_a_table_are_filled() -> None:
    document = document_of_html(f"<table><tr>{'<th>a</th>' * 12}</tr>{'<tr><td>b</td></tr>' * 300}</table>")
    (table,) = document["content"]
    assert {len(row["content"]) for row in table["content"]} == {12}
