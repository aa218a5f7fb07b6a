"""What an undo brings back has the spelling that it had before."""

from dataclasses import replace

import pytest

from mirrord.markdown.frontmatter.page_text import PageText
from mirrord.markdown.read.reader import read_document
from mirrord.markdown.schema.document import make_document
from mirrord.markdown.write.render import render
from tests.unit.codec.test_render import CONTENT, NOTHING

BLOCKS = [
    "# Title",
    "line  \nline",
    "| a | b |\n|:-----|---|\n|1|2|",
    "* one\n\n* two",
    "+ [ ] a task\n+ __bold__",
    "~~~~\ncode\n~~~~",
    "Part\n====",
]
PAGE = "---\ntitle: x\n---\n" + "\n\n\n".join(BLOCKS) + "\n"


def returned(text: str, target: str, *former: str) -> str:
    """*text* with the document of *target*."""
    content = read_document(PageText(target).body)
    return render(PageText(text), CONTENT, replace(NOTHING, content=content), stem="Page", former=former).text


@pytest.mark.parametrize("block", BLOCKS[1:])
def test_a_block_that_returns_is_spelled_as_it_was(block: str) -> None:
    without = PAGE.replace(f"\n\n\n{block}", "")

    assert f"\n\n{block}\n" in returned(without, PAGE, PAGE)


def test_blocks_that_left_one_by_one_all_return() -> None:
    shorter = PAGE.replace(f"\n\n\n{BLOCKS[2]}", "")
    shortest = shorter.replace(f"\n\n\n{BLOCKS[5]}", "")
    text = returned(shortest, PAGE, shortest, shorter, PAGE)

    assert all(block in text for block in BLOCKS)


def test_line_endings_are_those_of_the_page() -> None:
    without = PAGE.replace(f"\n\n\n{BLOCKS[1]}", "").replace("\n", "\r\n")

    assert "line  \r\nline\r\n" in returned(without, PAGE, PAGE)


def test_an_earlier_text_changes_nothing_that_is_there_or_new() -> None:
    target = "*a*  \nb\n\nnew  \nnew\n"

    assert returned("*a*\\\nb\n", target, "*a*  \nb\n") == "*a*\\\nb\n\nnew\\\nnew\n"


def test_a_definition_that_left_does_not_come_back_by_itself() -> None:
    earlier, now = "[a]\n\ntext\n\n[a]: /x\n", "text\n"
    content = make_document([{"type": "paragraph", "content": [{"type": "text", "text": "[a]"}]}])
    text = render(PageText(now), CONTENT, replace(NOTHING, content=content), stem="Page", former=(earlier,)).text

    assert read_document(text) == read_document("[a]\n")
