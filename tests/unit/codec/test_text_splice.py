"""Where an app changes only words, only they change in the file, whatever dialect the text around them is of."""

import json

import pytest

from mirrord.markdown.frontmatter.yaml_reader import Json
from mirrord.markdown.read.reader import read_document
from mirrord.markdown.schema.document import Node, make_document, text_node
from mirrord.markdown.write.render import splice_document

DIALECTS = {
    "a Jekyll link": "WORD [#2880]({{ site.repository }}/x)",
    "a Hugo link": 'WORD [a]({{< ref "a" >}}) more',
    "an image with a Liquid address": "WORD ![a]({{ x.y }}) more",
    "a Liquid tag": "WORD {% link _posts/a %} b",
    "a reference in brackets": "WORD ([#1045][]) x\n\n[#1045]: http://example.org/1",
    "a directive": ":::note\nWORD here\n:::\n\nnext",
    "an MDX element": "<Steps>\n\n1. a\n2. WORD\n</Steps>",
    "an MDX comment": "{/* comment *x* WORD */}",
    "an outline with tabs": "- a\n\t- b\n\t- WORD\n\t\t- c",
    "an outline below a heading": "## head\n\t- a\n\t\t- WORD\n\t- [[x]]",
    "an outline below a property": "key:: v\n\t- WORD\n\t- b",
    "indented code": "para\n\n    code WORD\n    more\n\nend",
    "reference links": "WORD [text][ref] and [ref] and [t2][ref]\n\n[ref]: http://example.org/x",
    "an admonition of MkDocs": "!!! note\n    WORD text\n\nx",
    "a tab of MkDocs": '=== "Tab"\n\n    WORD text',
    "attributes of kramdown": '*x*{:target="_blank"} WORD',
    "MathJax": "see \\(x_1\\) WORD",
    "a numbered heading": "## 2. WORD\n\nx",
    "entities": "a&nbsp;b &lt;x&gt; &mdash; WORD",
    "a bare sign": "x<y WORD z",
    "two styles": "__b__ and *i* and _j_ WORD",
    "a break": "a<br/>b WORD",
    "blanks beside a break": "a <br> b WORD <br/>  c __d__",
    "emphasis that begins at a break": "a [b][] **<br> c** WORD\n\n[b]: /u",
    "emphasis on breaks alone": "a [b][] _<br>_ x<y WORD <br>\n*<br>* __c__\n\n[b]: /u",
    "a struck break in a tag": '<a href="a">~~<br>b~~ WORD [c][]\n\n[c]: /u',
    "a long underline": "WORD title\n========\n\nx",
    "a short underline": "WORD title\n=\n\nx",
    "closing signs of a heading": "## WORD ##   \n\nx",
    "a fence of tildes": "~~~~ py\nWORD\n~~~~",
    "indented code with a tab": "x\n\n\tWORD\n\tb",
    "an autolink": "<https://a.org/x_y> WORD https://b.org?a_b c@d.org",
    "padded items": "*   a\n    b WORD\n\n*   c",
    "numbers with a bracket": "1)  WORD\n1)  b",
    "a padded table": "| a   | WORD |\n|:----|---:|\n|  x|  y  |",
    "a table without outer pipes": "a | b\n-|-\nWORD | c",
    "a quote without blanks": ">a\n>WORD",
    "a line that goes on a quote": "> a\nWORD b\n> c",
    "a long fence": "````\nWORD\n```\n````",
    "dollars": "*$HOME/.cargo/bin*. It is in your `$PATH` to be able WORD with `cargo install`.",
    "bold beside letters": "他说**「你好」**然后 WORD 走了",
    "an indented tag": "Some WORD words\n    <div>x</div>\nend",
    "blanks at the ends of lines": "line WORD  \nnext  \nlast",
    "a word in a mark": "a **WORD** b **WORDS** and WORD",
}


def changed(body: str, old: str, new: str, ending: str = "\n") -> str:
    document = json.loads(json.dumps(read_document(body)).replace(old, new))
    return splice_document(body, document, ending)


@pytest.mark.parametrize("body", DIALECTS.values(), ids=DIALECTS)
def test_a_changed_word_changes_nothing_beside_it(body: str) -> None:
    before, _, after = body.rpartition("WORD") if body.count("WORD") > 1 else body.partition("WORD")
    body = f"{before}MARKED{after}\n" if body.count("WORD") > 1 else f"{body}\n"
    old = "MARKED" if "MARKED" in body else "WORD"
    for new in ("CHANGED", "two words", "a, b."):
        assert changed(body, old, new) == body.replace(old, new)


def test_brackets_behind_a_reference_link_leave_it_one() -> None:
    body = "[a][]WORD\n\n[a]: http://example.org/1\n"

    assert changed(body, "WORD", "(x)") == body.replace("WORD", "(x)")


@pytest.mark.parametrize("behind", ["tag &nbsp; __x__", "*tag* &nbsp; __x__", "`tag` &lt;", "[tag](a.md) __x__"])
def test_a_letter_typed_behind_a_break_and_a_blank_changes_nothing_beside_it(behind: str) -> None:
    body = f"a &lt; b <br> {behind}"
    document = read_document(body)
    content = document["content"][0]["content"]
    place = next(at for at, node in enumerate(content) if node["type"] == "hardBreak") + 1
    if content[place]["text"].isspace():
        del content[place]
    content[place]["text"] = content[place]["text"].lstrip(" ")
    content.insert(place, text_node("Q"))

    assert splice_document(body, document, "\n") == body.replace("<br> ", "<br> Q")


def test_the_same_word_elsewhere_stays() -> None:
    body = "the cat and *the* cat and **the** cat\n"
    document = read_document(body)
    document["content"][0]["content"][3]["text"] = "a"
    assert splice_document(body, document, "\n") == "the cat and *the* cat and **a** cat\n"


def test_words_come_and_go() -> None:
    assert changed("a [b][r] c\n\n[r]: u\n", " c", " new c") == "a [b][r] new c\n\n[r]: u\n"
    assert changed("a gone [b][r] c\n\n[r]: u\n", "a gone ", "a ") == "a [b][r] c\n\n[r]: u\n"


def test_lines_keep_their_endings() -> None:
    body = "one\r\n\r\nfoo *bar*\ntwo\r\n"
    assert changed(body, "two", "three") == "one\r\n\r\nfoo *bar*\nthree\r\n"


def test_signs_that_mean_something_are_escaped_as_ever() -> None:
    assert changed("some WORD here\n", "WORD", "*x*") == "some \\*x\\* here\n"
    assert changed("WORD here\n", "WORD", "1.") == "1\\. here\n"


def test_words_that_are_markup_for_a_parser_of_commonmark_alone_are_escaped() -> None:
    assert changed("[x [[a]] WORD\n", "WORD", "](u)") == "[x [[a]] \\](u)\n"


def test_blocks_that_change_places_take_their_spelling_along() -> None:
    body = "__a__ b\n\n**a** c\n"
    content = read_document(body)["content"]
    assert splice_document(body, make_document(content[::-1]), "\n") == "**a** c\n\n__a__ b\n"


@pytest.mark.parametrize(
    ("body", "old", "new", "expected"),
    [
        ("__a__ [WORD]\n\n[word]: /u\n", "WORD", "new", "__a__ [new][WORD]\n\n[word]: /u\n"),
        ("__a__ [WORD][] b\n\n[word]: /u\n", "WORD", "new", "__a__ [new][WORD] b\n\n[word]: /u\n"),
        ("[**WORD** x]\n\n[**word** x]: /u\n", "WORD", "new", "[**new** x][**WORD** x]\n\n[**word** x]: /u\n"),
    ],
)
def test_a_link_by_the_label_that_was_its_text_stays_a_link_by_label(
    body: str, old: str, new: str, expected: str
) -> None:
    document = json.loads(json.dumps(read_document(body)).replace(f'"text": "{old}"', f'"text": "{new}"'))
    assert splice_document(body, document, "\n") == expected


def marked(body: str, number: int, *marks: str) -> str:
    """*body* with other marks on a text of its first paragraph."""
    document = read_document(body)
    document["content"][0]["content"][number]["marks"] = [{"type": mark} for mark in marks]
    return splice_document(body, document, "\n")


def test_a_mark_comes_and_goes_without_a_change_beside_it() -> None:
    assert marked("x<y __a__\nword\n", 1) == "x<y a\nword\n"
    assert marked("x<y [a b](c) _d_ &amp; word\n", 3, "bold") == "x<y [a b](c) **d** &amp; word\n"
    assert marked("a&nbsp;b <br> word\n", 2, "italic") == "a&nbsp;b <br> *word*\n"


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("x<y a WORD b &amp; c\n", "x<y a\\\nb &amp; c\n"),
        ("- __a__ WORD b\n\t- c\n", "- __a__\\\n  b\n\t- c\n"),
        (">one\n>two WORD b\n", ">one\n>two\\\n>b\n"),
        ("- x\n\t- a\n\t- b WORD c [[d]]\n", "- x\n\t- a\n\t- b\\\n\t  c [[d]]\n"),
    ],
)
def test_a_break_has_the_indent_of_its_text(body: str, expected: str) -> None:
    document = read_document(body)

    def put_break(node: Node) -> None:
        for child in node.get("content", []):
            put_break(child)
        for number, child in enumerate(node.get("content", [])):
            before, sign, after = child.get("text", "").partition("WORD ")
            if sign:
                texts = [text_node(text) for text in (before, after)]
                node["content"][number : number + 1] = [texts[0], {"type": "hardBreak"}, texts[1]]

    put_break(document)
    assert splice_document(body, document, "\n") == expected


@pytest.mark.parametrize(
    ("body", "attrs", "expected"),
    [
        ("## x<y __a__ [b][] ##\n\n[b]: /u\n", {"level": 3}, "### x<y __a__ [b][] ###\n\n[b]: /u\n"),
        ("#   2. a\n", {"level": 2}, "##   2. a\n"),
        ("## a #\n", {"level": 1}, "# a #\n"),
        ("__a__ x<y\n====\n", {"level": 3}, "### __a__ x\\<y\n"),
        ("````python\na\n````\n", {"language": "js"}, "````js\na\n````\n"),
        ("~~~  \na\n~~~~\n", {"language": "js x"}, "~~~js x  \na\n~~~~\n"),
        ("~~~ py\n~~~\n", {"language": None}, "~~~ \n~~~\n"),
        ("    code\n", {"language": "js"}, "```js\ncode\n```\n"),
    ],
)
def test_a_level_or_a_language_changes_alone(body: str, attrs: dict[str, Json], expected: str) -> None:
    document = read_document(body)
    document["content"][0]["attrs"] = attrs
    assert splice_document(body, document, "\n") == expected


def test_a_cell_of_a_row_with_more_pipes_than_its_header_has_changes_alone() -> None:
    assert changed("a | b\n--|--\n| c | WORD |\n", "WORD", "new") == "a | b\n--|--\n| c | new |\n"


def test_a_level_and_words_change_together_and_nothing_beside_them() -> None:
    document = read_document("- x\n\t- ## x<y __a__ word\n")
    heading = document["content"][0]["content"][0]["content"][1]["content"][0]["content"][1]
    heading["attrs"]["level"] = 4
    heading["content"][2]["text"] = " other"
    assert splice_document("- x\n\t- ## x<y __a__ word\n", document, "\n") == "- x\n\t- #### x<y __a__ other\n"
