"""The cases of tests/cases: a title, an input and what is expected, each ended by a line with a dot."""

import json
from pathlib import Path

import pytest

from mirrord.markdown.frontmatter.page_properties import REMOVED, Json, Removed, with_keys
from mirrord.markdown.frontmatter.page_text import PageText
from mirrord.markdown.read.reader import read_document
from mirrord.markdown.schema.document import make_document
from mirrord.markdown.write.render import NewViews, render

CASES = Path(__file__).parents[2] / "cases"


def cases(name: str, parts: int) -> list[object]:
    text = (CASES / name).read_text(encoding="utf-8").partition("\n\n")[2]
    pieces = ("\n" + text).split("\n.\n")
    count = parts + 1
    grouped = [pieces[start : start + count] for start in range(0, len(pieces) - 1, count)]
    return [pytest.param(*(part + "\n" for part in case[1:]), id=case[0].strip()) for case in grouped]


@pytest.mark.parametrize(("markdown", "content"), cases("read.md", 2))
def test_markdown_is_read_as(markdown: str, content: str) -> None:
    assert read_document(markdown)["content"] == json.loads(content)


@pytest.mark.parametrize(("content", "markdown"), cases("write.md", 2))
def test_content_is_written_as(content: str, markdown: str) -> None:
    new_views = NewViews(None, None, None, None, None, make_document(json.loads(content)))

    assert render(PageText(""), frozenset(["content"]), new_views, stem="Page").text == markdown


@pytest.mark.parametrize(("before", "change", "after"), cases("frontmatter.md", 3))
def test_front_matter_is_changed_to(before: str, change: str, after: str) -> None:
    parsed = json.loads(change)
    changes: dict[str, Json | Removed] = dict.fromkeys(parsed.pop("-", []), REMOVED)

    assert with_keys(PageText(before), {**changes, **parsed}).text == after
