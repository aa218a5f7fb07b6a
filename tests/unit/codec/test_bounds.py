"""Law 5: no input costs more than its length allows."""

import gc
import time
from collections.abc import Callable

import pytest

from mirrord.errors import Damaged
from mirrord.markdown.frontmatter.page_properties import read_values
from mirrord.markdown.frontmatter.page_text import PageText
from mirrord.markdown.page_links import links_of, possible_targets_of
from mirrord.markdown.parser.dialect import MAX_NESTING
from mirrord.markdown.read.page_outline import next_at_or_above, outline_of
from mirrord.markdown.read.reader import read_document
from mirrord.markdown.write.stored_form import values_to_store

SMALL, LARGE = 4_000, 16_000  # characters
PATIENCE = 3  # how much more than in proportion counts as a bomb; the square would be 4
FLOOR = 0.15  # seconds below which nothing can be said

REPEATED = (
    *("^[", "[", "![", "[a](", "![a](", "[[", "![[", "[a][", "[](<", "[a](b '", "[\\", "[((", "[a", "[^", "[[a|b"),
    *("*a_", "*a **b ", "_a__b ", "***a** b*", "~~a ", "==a ", "==a==b ", "`a", "``a`", "<", '<a b="', "<!-- a ", "<?"),
    *("$a ", "$$a ", "\\$$", "%%a ", "&#", "&amp;", "<u><sub>", '<span data-tt="{}">', '<span style="color: red">'),
    *("> ", "- ", "1. ", "- a\n  ", "> a\n", "> [!a]\n", "| a | b\n", "a\n|-\n", "|a|\n|-|\n", "a|b\n-|-\n", "a\n=\n"),
    *(
        "[a]: b\n",
        "[a]: b '",
        "[^1]: a\n",
        "[^1]: a\n\n    ",
        "$$\n\n",
        "%%\n",
        "```\n\n",
        "<div>\n\n",
        "\n",
        "a\n",
        "\t",
    ),
    *("<details>\n<summary>a</summary>\n\n", "<!-- tiptap {} -->\n", "- [ ] a\n", "[a]\n[a]: b\n\n", "[@a](mention:b)"),
)


def half(first: str, other: str) -> Callable[[int], str]:
    return lambda size: first * (size // len(first) // 2) + other * (size // len(other) // 2)


def repeated(unit: str) -> Callable[[int], str]:
    return lambda size: unit * (size // len(unit))


def wide(size: int) -> str:
    width = int(size**0.5)
    return "|" + "a|" * width + "\n|" + "-|" * width + "\n" + "|\n" * (size // 2)


def nested(size: int) -> str:
    return "".join("  " * depth + "- a\n" for depth in range(int(size**0.5)))


def runs(size: int) -> str:
    return "".join("`" * length + " " for length in range(1, int((2 * size) ** 0.5)))


SHAPES = {
    "brackets": half("[", "]"),
    "images": half("![", "](a)"),
    "wikilinks in images": half("![", "[[a]]"),
    "links around a link": half("[", "](a)"),
    "emphasis": half("*a ", "a*"),
    "crossed emphasis": half("*a_", "_*"),
    "quotes and lazy lines": lambda size: "> " * 90 + "a\n" * (size // 2),
    "items and lazy lines": lambda size: "- " * 90 + "a\n" * (size // 2),
    "references": lambda size: "".join(f"[a{n}]: b\n\n[a{n}]\n\n" for n in range(size // 18)),
    "a title without end": lambda size: "[a]: b '" + "c\n" * (size // 2),
    "wide table": wide,
    "nested lists": nested,
    "runs of backticks": runs,
}
BOMBS = {**{repr(unit): repeated(unit) for unit in REPEATED}, **SHAPES}


def reading(text: str) -> None:
    values_to_store(text, None)


def links(text: str) -> None:
    links_of(PageText(text))


def cost(work: Callable[[str], object], text: str) -> float:
    """Without what collecting garbage costs, which depends on all that other tests have left."""
    gc.disable()
    start = time.process_time()
    try:
        work(text)
        return time.process_time() - start
    finally:
        gc.enable()


@pytest.mark.parametrize("bomb", BOMBS.values(), ids=BOMBS.keys())
@pytest.mark.parametrize("work", [reading, links], ids=["reading", "links"])
def test_four_times_the_text_costs_about_four_times_the_time(
    work: Callable[[str], object], bomb: Callable[[int], str]
) -> None:
    large = cost(work, bomb(LARGE))
    if large > FLOOR:
        small = min(cost(work, bomb(SMALL)) for _ in range(2))
        assert large < FLOOR + PATIENCE * 4 * small


def test_where_many_sections_end_is_found_at_once() -> None:
    levels = [1, 2] * 100_000
    start = time.process_time()
    ends = next_at_or_above(levels)

    assert time.process_time() - start < 2.0  # generous: it takes a tenth of that
    assert ends == [min(number + 2 - number % 2, len(levels)) for number in range(len(levels))]


def test_pictures_in_pictures_take_no_more_memory_than_the_parser_goes_deep() -> None:
    text = half("![", "](a)")(30_000)

    assert sum(len(link.alias or "") for link in links_of(PageText(text))) <= MAX_NESTING * len(text)


def test_a_block_that_costs_too_much_stays_opaque_and_its_neighbours_do_not() -> None:
    bomb = "[" * 5_000

    assert [node["type"] for node in read_document(f"# a\n\n{bomb}\n\n- b\n")["content"]] == [
        "heading",
        "rawBlock",
        "bulletList",
    ]


def test_lines_left_when_the_blocks_cost_too_much_are_one_opaque_block() -> None:
    body = "# a\n\n[b]: c\n\n" + "> " * 90 + "a\n" * 9_000 + "\n\n"
    page = outline_of(body)

    assert [segment.tokens is None for segment in page.segments] == [False, False, True]
    assert page.gap(2) == "\n\n\n"


def test_marks_around_marks_have_an_end() -> None:
    text = "".join(f'<span data-tt="{{&quot;type&quot;:&quot;m{n}&quot;}}">x' for n in range(30)) + "</span>" * 30

    assert read_document(text)["content"][0]["content"][0]["type"] == "rawInline"


HOSTILE = {
    "aliases": "a: &a [x,x,x,x]\nb: &b [*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b]\nd: [*c,*c,*c,*c]\n",
    "merged keys": "a: {b: 1}\n<<: {c: 2}\n",
    "nested lists": "a: " + "[" * 60_000 + "\n",
    "nested lists in lines": "a:\n" + "".join(" " * depth + "-\n" for depth in range(1, 300)),
    "more than a little": "a: " + "b" * 70_000 + "\n",
    "nested mappings": "a: " + "{b: " * 15_000 + "\n",
}


@pytest.mark.parametrize("yaml", HOSTILE.values(), ids=HOSTILE.keys())
def test_hostile_front_matter_is_refused_at_once(yaml: str) -> None:
    head = f"---\n{yaml}---\n"
    start = time.process_time()
    with pytest.raises(Damaged):
        read_values(PageText(head))

    assert time.process_time() - start < 0.5


@pytest.mark.parametrize(
    "value", ["9" * 60_000, "-" + "9" * 5_000, "1e999", "2024-99-99", "2024-02-30", "0x" + "f" * 9_000]
)
def test_a_value_no_number_or_date_can_hold_is_text_or_refused(value: str) -> None:
    try:
        assert read_values(PageText(f"---\na: {value}\n---\n")) == {"a": value}
    except Damaged:
        assert value.startswith("2024")


def test_a_long_line_behind_a_link_without_end_is_searched_once() -> None:
    text = "[[" + "a" * 100_000 + "\n[[b]]"
    began_at = time.process_time()
    assert list(possible_targets_of(text)) == [("wikilink", "b")]
    assert time.process_time() - began_at < 2.0
