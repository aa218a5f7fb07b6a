"""Editors that know StarterKit, tables, tasks and images show every document, and what they write loses nothing."""

import json
from typing import cast

import pytest
from hypothesis import example, given, settings

from mirrord.domain.dialect import Dialect
from mirrord.errors import Damaged
from mirrord.markdown.frontmatter.page_text import PageText
from mirrord.markdown.read.reader import read_document
from mirrord.markdown.schema.document import Document, Node, make_document, text_node
from mirrord.markdown.starterkit.restored_document import from_starterkit
from mirrord.markdown.starterkit.shown_form import to_starterkit
from mirrord.markdown.write.content_losses import ORDINARY_MARKS, ORDINARY_NODES, USUAL_LIMITS
from mirrord.markdown.write.render import splice_document
from mirrord.markdown.write.stored_form import values_to_store
from tests.support.laws import scale_examples
from tests.unit.codec.documents import documents, markdown

EVERY_KIND = """\
# About [[Page#Part|it]] {#x}

A ==marked== word, x<sup>2</sup>, $a^2$, a note[^1], ![[plan.png|300]], <kbd>x</kbd> and [@Ada](mention:ada-1).

> [!tip]- On *this*
> text with a [[Link]]

<details open>
<summary>What is *seen*</summary>

hidden

</details>

<div align="center">raw</div>

$$
a
b
$$

| a | b |
| --- | :-: |
| **x** | y [[Z]] |

- one [[Two]]

  > [!note]
  > inside

[^1]: the note

[ref]: https://example.org

```tiptap-node
{
  "type": "poll",
  "attrs": {
    "question": "When?"
  }
}
```
"""


_NESTED: Node = {"type": "paragraph", "content": [{"type": "paragraph"}]}


def stored(body: str) -> Document:
    document: Document = json.loads(values_to_store(body, None)[0])
    return document


def as_sent(node: Node) -> Node:
    """*node* as an editor sends it that declares no id and no attribute beyond those of its own nodes."""
    declared = ("level", "start", "checked", "language", "src", "alt", "href", "colspan", "rowspan")
    attrs = {key: value for key, value in (node.get("attrs") or {}).items() if key in declared}
    marks = [
        {**mark, "attrs": {"href": mark["attrs"]["href"]}} if "attrs" in mark else mark
        for mark in node.get("marks", [])
    ]
    content = [as_sent(child) for child in node.get("content", [])]
    parts = {"attrs": attrs, "content": content, "marks": marks}
    bare = {key: part for key, part in node.items() if key in ("type", "text")}
    return {**bare, **{key: part for key, part in parts.items() if part}}  # type: ignore[typeddict-item]


def written(body: str, *edits: tuple[str, str]) -> str:
    """*body* after such an editor replaced texts of the document that it was shown."""
    base = stored(body)
    sent = json.dumps(as_sent(to_starterkit(base)), ensure_ascii=False)
    for old, new in edits:
        assert old in sent
        sent = sent.replace(old, new)
    return splice_document(body, from_starterkit(json.loads(sent), base), "\n", limits=USUAL_LIMITS)


def types_in(node: Node) -> set[str]:
    marks = {mark["type"] for mark in node.get("marks") or ()}
    return {node["type"], *marks}.union(*map(types_in, node.get("content") or ()))


@given(documents)
@settings(max_examples=scale_examples(300))
def test_a_document_that_comes_back_as_it_was_shown_is_the_same_value_for_value(document: Document) -> None:
    assert from_starterkit(to_starterkit(document), document).get("content") == document.get("content")


@given(documents)
@example(make_document([{"type": "bulletList", "content": [{"type": "listItem", "content": [_NESTED]}]}]))
def test_what_is_shown_has_only_nodes_and_marks_of_such_editors_and_is_shown_again_as_it_is(document: Document) -> None:
    form = to_starterkit(document)

    assert types_in(form) <= ORDINARY_NODES | ORDINARY_MARKS
    assert to_starterkit(form) == form


@given(markdown)
@settings(max_examples=scale_examples(200))
def test_a_page_that_such_an_editor_saves_keeps_every_byte(body: str) -> None:
    base = stored(body)
    sent = as_sent(to_starterkit(base))

    assert splice_document(body, from_starterkit(sent, base), "\n", limits=USUAL_LIMITS) == body


def test_pages_that_such_an_editor_saves_keep_every_byte(pages: list[str], examples: list[str]) -> None:
    for page in [*pages, *examples]:
        body, base = PageText(page).body, read_document(page)
        sent = as_sent(to_starterkit(base))
        assert splice_document(body, from_starterkit(sent, base), "\n", limits=USUAL_LIMITS) == body


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("About ", "All about "),
        (" word, x", " words, x"),
        ("marked", "much marked"),
        ("text with", "a text with"),
        ("[!tip]- On *this*", "[!warning]- On *that*"),
        ("hidden", "unfolded"),
        ("the note", "the footnote"),
        ("inside", "within"),
        ("one ", "first "),
        ("When?", "Where?"),
        ('align=\\"center\\"', 'align=\\"left\\"'),
        ("[[Z]]", "[[Zebra]]"),
        ("[[Link]]", "[[Link|shown]]"),
        ("$a^2$", "$b^2$"),
        ("[ref]: https://example.org", "[ref]: https://example.com"),
    ],
)
def test_an_edit_changes_what_was_typed_and_no_other_byte(old: str, new: str) -> None:
    assert written(EVERY_KIND, (old, new)) == EVERY_KIND.replace(json.loads(f'"{old}"'), json.loads(f'"{new}"'))


def test_a_mark_that_the_editor_lacks_stays_on_what_is_typed_within_it() -> None:
    assert written("a ==long mark== z\n", ("long mark", "long red mark")) == "a ==long red mark== z\n"
    assert written("a ==mark== z\n", (" z", " zz")) == "a ==mark== zz\n"


def test_bold_code_stays_bold_and_linked_code_a_link() -> None:
    assert written("**`a`** [`b`](u) word\n", ("word", "words")) == "**`a`** [`b`](u) words\n"


def test_a_wikilink_that_a_person_types_is_one() -> None:
    assert written("see it\n", ("see it", "see [[Page]]")) == "see [[Page]]\n"
    assert written("`text`\n", ('"text": "text"', '"text": "[[Page]]"')) == "`[[Page]]`\n"


def test_text_that_looks_like_a_form_stays_text_where_it_was() -> None:
    body = "> \\[!note] no callout\n\nnot \\[\\[Page]] and word\n"
    assert written(body, ("word", "words")) == body.replace("word", "words")
    assert written(body, ("no callout", "no callout at all")) in (
        body.replace("no callout", "no callout at all"),
        body.replace("\\[!note] no callout", "[!note] no callout at all"),
    )


def test_a_form_that_is_moved_to_another_paragraph_stays_what_it_is() -> None:
    body = "one <kbd>Esc</kbd> two\n\nthree\n"
    moved = written(body, ("<kbd>", ""), ("</kbd>", ""), ("three", "three <kbd>Esc</kbd>"))
    assert moved == "one Esc two\n\nthree <kbd>Esc</kbd>\n"


def test_a_form_that_a_person_edits_is_what_it_says_then() -> None:
    body = "press <kbd>Esc</kbd> or [[Page]] now\n"
    assert written(body, ("<kbd>", "<b>"), ("</kbd>", "</b>")) == "press <b>Esc</b> or [[Page]] now\n"
    assert written(body, ("[[Page]]", "[[Pages|all]]")) == "press <kbd>Esc</kbd> or [[Pages|all]] now\n"


def test_a_form_that_a_person_spoils_is_text() -> None:
    assert written("see [[Page]] now\n", ("[[Page]]", "Page]]")) == "see Page]] now\n"


def test_a_block_that_is_deleted_or_moved_takes_nothing_else_with_it() -> None:
    base = stored(EVERY_KIND)
    form = to_starterkit(base)["content"]
    for at in range(len(form)):
        without = from_starterkit(make_document([*form[:at], *form[at + 1 :]]), base)
        assert without["content"] == [*base["content"][:at], *base["content"][at + 1 :]]
        moved = from_starterkit(make_document([form[at], *form[:at], *form[at + 1 :]]), base)
        assert moved["content"] == [base["content"][at], *base["content"][:at], *base["content"][at + 1 :]]


def test_a_paragraph_that_is_put_into_a_quote_keeps_its_marks() -> None:
    base = stored("a ==mark== and [[Link]]\n")
    quoted = make_document([{"type": "blockquote", "content": to_starterkit(base)["content"]}])
    assert (
        splice_document("a ==mark== and [[Link]]\n", from_starterkit(quoted, base), "\n")
        == "> a ==mark== and [[Link]]\n"
    )


def test_a_quote_that_a_person_begins_with_a_header_is_a_callout() -> None:
    quote: Node = {
        "type": "blockquote",
        "content": [
            {"type": "paragraph", "content": [text_node("[!note] Title")]},
            {"type": "paragraph", "content": [text_node("text")]},
        ],
    }
    assert (
        splice_document("", from_starterkit(make_document([quote]), make_document([])), "\n")
        == "> [!note] Title\n> text\n"
    )


def test_raw_markdown_that_a_person_makes_plain_is_read_as_markdown() -> None:
    assert written("<div>raw</div>\n", ("<div>raw</div>", "now *text*")) == "now *text*\n"


def test_a_code_block_for_a_node_that_holds_none_is_refused() -> None:
    base = stored(EVERY_KIND)
    sent = json.dumps(to_starterkit(base)).replace('\\"type\\": \\"poll\\"', "poll")
    with pytest.raises(Damaged, match="mirrord-node"):
        from_starterkit(json.loads(sent), base)


def test_attributes_that_the_editor_lacks_stay_and_those_that_it_sends_as_null_go() -> None:
    body = '<!-- tiptap {"textAlign":"center"} -->\nmiddle word\n\n```py\na\n```\n'
    assert written(body, ("word", "words")) == body.replace("word", "words")
    assert written(body, ('"py"', "null")) == body.replace("```py", "```")


def test_syntax_of_another_program_stays_raw() -> None:
    body = "see [it]({{ site.url }}/a) word\n\n{% include a.html %}\n"
    base = read_document(body, Dialect.JEKYLL)
    sent = json.loads(json.dumps(as_sent(to_starterkit(base))).replace("word", "words"))
    result = from_starterkit(sent, base, Dialect.JEKYLL)
    assert splice_document(body, result, "\n", dialect=Dialect.JEKYLL) == body.replace("word", "words")


@pytest.mark.parametrize("kind", ["bulletList", "blockquote", "listItem", "table", "taskItem"])
def test_a_container_of_which_an_app_wrote_the_content_as_null_is_empty(kind: str) -> None:
    written = cast(Document, {"type": "doc", "content": [{"type": kind, "content": None}]})
    assert from_starterkit(written, make_document([])) == written
