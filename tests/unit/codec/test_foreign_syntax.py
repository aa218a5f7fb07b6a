"""Syntax of other programs: what of it is raw in which dialect, and that edits beside it leave it alone."""

import random
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mirrord.domain.dialect import Dialect, find_dialect, parse_dialect
from mirrord.errors import UserError
from mirrord.markdown.frontmatter.page_text import PageText
from mirrord.markdown.page_links import links_of
from mirrord.markdown.read.reader import read_document
from mirrord.markdown.schema.document import Node, make_document, text_node
from mirrord.markdown.write.render import splice_document
from tests.bench.codec.foreign import INLINE, LINES, Outcome, make_page, outcomes_of
from tests.support.laws import scale_examples

FOREIGN = sorted(INLINE, key=lambda dialect: dialect.value)


def damages(outcomes: list[Outcome]) -> list[Outcome]:
    return [outcome for outcome in outcomes if outcome.damaged or outcome.refusal]


def raws(content: list[Node], kind: str) -> list[str]:
    """The raw texts of the nodes of that kind, at any depth."""
    raws_here = [str(node["attrs"]["raw"]) for node in content if node["type"] == kind]
    return raws_here + [raw for node in content for raw in raws(node.get("content") or [], kind)]


@pytest.mark.parametrize(("dialect", "span"), [(dialect, span) for dialect in FOREIGN for span in INLINE[dialect]])
def test_foreign_syntax_in_a_sentence_is_raw(dialect: Dialect, span: str) -> None:
    for text in (f"words {span} and words", f"- an item {span}", f"> {span} quoted", f"# {span}"):
        assert raws(read_document(text, dialect)["content"], "rawInline") == [span]


@pytest.mark.parametrize(("dialect", "lines"), [(dialect, lines) for dialect in FOREIGN for lines in LINES[dialect]])
def test_foreign_lines_are_raw_blocks(dialect: Dialect, lines: str) -> None:
    content = read_document(f"before\n\n{lines}\n\nafter\n", dialect)["content"]

    assert "\n".join(raws(content, "rawBlock")) == lines
    assert [node["type"] for node in (content[0], content[-1])] == ["paragraph", "paragraph"]


@pytest.mark.parametrize("dialect", FOREIGN)
@given(st.integers(0, 10**6))
@settings(max_examples=scale_examples(20))
def test_an_edit_beside_foreign_syntax_leaves_it_alone(dialect: Dialect, seed: int) -> None:
    page = make_page(dialect, seed)

    assert damages(list(outcomes_of(page, dialect, random.Random(seed)))) == []


@pytest.mark.parametrize("dialect", FOREIGN)
@given(st.integers(0, 10**6))
@settings(max_examples=scale_examples(20))
def test_a_page_of_a_dialect_that_is_written_unchanged_keeps_every_byte(dialect: Dialect, seed: int) -> None:
    text = make_page(dialect, seed).text

    assert splice_document(text, read_document(text, dialect), "\n", dialect=dialect) == text


def test_a_directive_closes_behind_the_words_above_it() -> None:
    content = read_document(":::note\nwords\n:::\n", Dialect.DOCUSAURUS)["content"]

    assert [node["type"] for node in content] == ["rawBlock", "paragraph", "rawBlock"]


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("````{a}\n```\nx\n```\n````\n\nwords\n", ["rawBlock", "paragraph"]),
        ("- item\n\n  ```{a}\n  x\n  ```\n\nwords\n", ["bulletList", "paragraph"]),
        ("words\n(label)=\n# Head\n", ["paragraph", "rawBlock", "heading"]),
        (":::{a} b\n:c: d\n\nwords\n:::\n", ["rawBlock", "paragraph", "rawBlock"]),
        (":smile: words\n", ["paragraph"]),
        ("```{a}\nno end\n", ["codeBlock"]),
        ("```python\nx\n```\n", ["codeBlock"]),
    ],
)
def test_a_directive_of_myst_ends_with_its_fence(text: str, kinds: list[str]) -> None:
    document = read_document(text, Dialect.MYST)

    assert [node["type"] for node in document["content"]] == kinds
    assert splice_document(text, document, "\n", dialect=Dialect.MYST) == text


def test_the_end_of_an_element_is_no_part_of_the_list_before_it() -> None:
    content = read_document("<Steps>\n\n1. one\n2. two\n</Steps>\n", Dialect.ASTRO)["content"]

    assert [node["type"] for node in content] == ["rawBlock", "orderedList", "rawBlock"]
    assert raws(content, "rawBlock") == ["<Steps>", "</Steps>"]


@pytest.mark.parametrize("head", ["## Head", "collapsed:: true"])
def test_an_outline_below_a_heading_or_a_property_is_an_outline(head: str) -> None:
    text = f"{head}\n\t- first [[Page]]\n\t\t- deeper\n\t- second\n"
    content = read_document(text, Dialect.LOGSEQ)["content"]
    content[1]["content"][1]["content"][0]["content"] = [text_node("other")]

    assert [node["type"] for node in content][1:] == ["bulletList"]
    assert [link.target for link in links_of(PageText(text, Dialect.LOGSEQ))] == ["Page"]
    assert splice_document(text, make_document(content), "\n", dialect=Dialect.LOGSEQ) == text.replace(
        "second", "other"
    )


def test_links_in_properties_of_logseq_count() -> None:
    assert [link.target for link in links_of(PageText("tags:: [[a]], [[b]]\n", Dialect.LOGSEQ))] == ["a", "b"]


def test_what_a_person_types_of_the_syntax_is_written_as_it_is() -> None:
    typed = make_document(
        [
            {"type": "paragraph", "content": [text_node("see {{ page.url }} and *this*")]},
            {"type": "paragraph", "content": [text_node("{% include a_b.html %}")]},
        ]
    )

    assert splice_document("", typed, "\n", dialect=Dialect.JEKYLL) == (
        "see {{ page.url }} and \\*this\\*\n\n{% include a_b.html %}\n"
    )


def test_a_page_of_no_dialect_has_no_foreign_syntax() -> None:
    text = "a {{ b }} ((63f1a2b4)) {#id}\n\n:::note\n\n!!! note\n\ntags:: x\n"

    for dialect in (Dialect.PLAIN, Dialect.OBSIDIAN):
        assert raws(read_document(text, dialect)["content"], "rawInline") == []
        assert raws(read_document(text, dialect)["content"], "rawBlock") == []


@pytest.mark.parametrize("dialect", [Dialect.MKDOCS, Dialect.ASTRO, Dialect.LOGSEQ, Dialect.MYST])
def test_unclosed_syntax_takes_no_quadratic_time(dialect: Dialect) -> None:
    pieces = [
        "{{",
        "{%",
        "{",
        "[a](",
        "\\\\(",
        "<A b=",
        "((",
        ":::\n",
        "{: ",
        "![a]({{",
        "<A b={",
        "#+BEGIN_A\n",
        "{% raw %}\n",
        "```{a}\n",
        "{a}`",
        "{a}``` x`",
        "(a",
        ":::{a}\n:b:\n",
    ]
    start = time.process_time()
    for piece in pieces:
        read_document(piece * (20_000 // len(piece)), dialect)

    assert time.process_time() - start < 20


@pytest.mark.parametrize("quote", ["'", '"'])
def test_escaped_quotes_of_mdx_without_an_end_take_no_quadratic_time(quote: str) -> None:
    line = f"{{ {quote}" + f"\\{quote}" * 24_000 + "\n\n"
    start = time.process_time()

    read_document(line * 4, Dialect.ASTRO)

    assert time.process_time() - start < 6  # generous: it takes a tenth of that, and took half a minute


@pytest.mark.parametrize(
    ("paths", "dialect"),
    [
        ({"logseq/config.edn", ".obsidian"}, Dialect.LOGSEQ),
        ({".obsidian"}, Dialect.OBSIDIAN),
        ({"_config.yml"}, Dialect.JEKYLL),
        ({"docusaurus.config.ts"}, Dialect.DOCUSAURUS),
        ({"astro.config.mjs"}, Dialect.ASTRO),
        ({"hugo.toml"}, Dialect.HUGO),
        ({"mkdocs.yml"}, Dialect.MKDOCS),
        ({"myst.yml"}, Dialect.MYST),
        ({"conf.py"}, Dialect.MYST),
        ({"_toc.yml", "_config.yml"}, Dialect.MYST),
        (set(), Dialect.PLAIN),
    ],
)
def test_the_root_of_a_tree_shows_its_dialect(paths: set[str], dialect: Dialect) -> None:
    assert find_dialect(paths.__contains__) is dialect


def test_a_setting_names_a_dialect_or_leaves_it_to_the_tree() -> None:
    assert parse_dialect("hugo") is Dialect.HUGO
    assert parse_dialect("auto") is None
    with pytest.raises(UserError, match="write one of auto, plain, obsidian"):
        parse_dialect("word")


OUTLINES = ["# Head\n\n\t- one\n\t- two\n\t\t- below\n\t- three\n", "# Head\n\n        - one\n        - two\n"]


@pytest.mark.parametrize("dialect", [Dialect.LOGSEQ, Dialect.ASTRO])
@pytest.mark.parametrize("text", OUTLINES)
def test_items_at_any_indent_are_items_where_no_indent_makes_code(text: str, dialect: Dialect) -> None:
    _, outline = read_document(text, dialect)["content"]

    assert outline["type"] == "bulletList"
    assert len(outline["content"]) == text.replace("\t\t-", "").count("- ")


@pytest.mark.parametrize("text", OUTLINES)
def test_a_word_of_an_item_at_any_indent_is_changed_and_no_other_byte(text: str) -> None:
    document = read_document(text, Dialect.LOGSEQ)
    document["content"][1]["content"][1]["content"][0]["content"] = [text_node("changed")]

    assert splice_document(text, document, "\n", dialect=Dialect.LOGSEQ) == text.replace("two", "changed")
