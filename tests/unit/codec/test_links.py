import pytest
from hypothesis import given

from mirrord.markdown.frontmatter.page_text import PageText
from mirrord.markdown.page_links import Link, links_of
from mirrord.markdown.parser.dialect import parse
from tests.unit.codec.documents import markdown


@pytest.mark.parametrize(
    ("text", "link"),
    [
        ("[[Page]]", ("wikilink", "Page", None, None)),
        ("[[Page#Part|shown]]", ("wikilink", "Page", "Part", "shown")),
        ("[[#^block]]", ("wikilink", "", "^block", None)),
        ("![[a.png|100]]", ("embed", "a.png", None, "100")),
        ("[a](My%20Page.md#the%20part 'title')", ("markdown", "My Page.md", "the part", "a")),
        ("[a](<../My Page.md>)", ("markdown", "../My Page.md", None, "a")),
        ("[*a* `]`](b.md)", ("markdown", "b.md", None, "*a* `]`")),
        ("![alt](assets/a(1).png)", ("image", "assets/a(1).png", None, "alt")),
        ("[a](#part)", ("markdown", "", "part", "a")),
    ],
)
def test_a_link_is_found_where_it_stands(text: str, link: tuple[str, str, str | None, str | None]) -> None:
    for before, after in (("", ""), ("é😀 ", "."), ("> - \ufeff", "\r\n"), ("| ", " |\n|-|\n")):
        page_text = before + text + after
        if before.startswith("|") and "|" in text:
            continue
        assert links_of(PageText(page_text)) == [Link(*link, len(before), len(before) + len(text))]


@pytest.mark.parametrize(
    "text",
    [
        "`[[a]]`",
        "``[[a]] ` [b](c)``",
        "    [[a]]",
        "```\n[[a]]\n```",
        "- ~~~\n  [a](b)\n  ~~~",
        "\\[[a]]",
        "\\[a](b)",
        "[a](http://b.c)",
        "[a](mailto:b@c)",
        "[a](//b/c)",
        "[a](b c)",
        "[a] (b)",
        "<!-- [[a]] -->",
        "%% [[a]] %%",
        "<div>\n[[a]]\n</div>",
        "$$\n[[a]]\n$$",
        "[[]]",
        "[[a\nb]]",
        "---\n# [[a]]\nb: 1 # [[c]]\n---\n",
    ],
)
def test_what_only_looks_like_a_link_is_none(text: str) -> None:
    assert links_of(PageText(text)) == []


def test_a_picture_in_a_link_is_both() -> None:
    assert [(link.kind, link.target) for link in links_of(PageText("[![a](b.png)](c.md)"))] == [
        ("markdown", "c.md"),
        ("image", "b.png"),
    ]


def test_the_bar_of_a_wikilink_in_a_table_is_escaped() -> None:
    text = "|a|\n|-|\n|[[b\\|c]]|\n"

    assert links_of(PageText(text)) == [Link("wikilink", "b", None, "c", 9, 17)]
    with_heading = PageText("|a|\n|-|\n|[[b#d\\|c]]|\n")
    assert [link.heading for link in links_of(with_heading)] == ["d"]


def test_properties_callouts_and_definitions_hold_links_too() -> None:
    text = "---\nsee: '[[A]]'\n---\n> [!note] On [[B]]\n> ![[C]]\n\n[d]: D.md 'x'\n"

    assert [(link.target, text[link.start : link.end]) for link in links_of(PageText(text))] == [
        ("A", "[[A]]"),
        ("B", "[[B]]"),
        ("C", "![[C]]"),
        ("D.md", "[d]: D.md"),
    ]


@given(markdown)
def test_places_are_within_the_text_and_in_order(text: str) -> None:
    links = links_of(PageText(text))

    assert all(0 <= link.start < link.end <= len(text) for link in links)
    assert [link.start for link in links] == sorted(link.start for link in links)


def test_the_wikilinks_of_real_pages_are_those_the_parser_sees(pages: list[str]) -> None:
    total = 0
    for page in pages:
        body = PageText(page).body
        children = [child for token in parse(body, {}) for child in token.children or ()]
        parsed_targets = [child.meta["target"] for child in children if child.type in ("wikilink", "embed")]
        wikilinks = [link for link in links_of(PageText(page)) if link.kind in ("wikilink", "embed")]
        assert [link.target for link in wikilinks if link.start >= len(page) - len(body)] == parsed_targets
        total += len(parsed_targets)
    assert total > 200
