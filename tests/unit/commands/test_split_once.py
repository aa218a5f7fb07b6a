"""A text is searched for its front matter once, however many steps of a command need one of its parts."""

import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

import pytest

from mirrord.commands.core.session import Session
from mirrord.commands.pages.edit_commands import edit_page
from mirrord.commands.pages.page_commands import create_page, read_page, write_page
from mirrord.markdown.frontmatter.page_text import find_front_matter
from tests.unit.commands.conftest import page

OLD = "---\nid: 01890000-0000-7000-8000-000000000001\ntitle: Old\n---\n# Old\n\ntext\n"
NEW = "---\ntitle: New\ntags: [a, b]\n---\n# New\n\ntext\n"


@contextmanager
def counted_splits() -> Iterator[Counter[str]]:
    """The number of searches for front matter, by text."""
    splits: Counter[str] = Counter()

    def note_call(frame: FrameType, event: str, _: object) -> None:
        if event == "call" and frame.f_code is find_front_matter.__code__:
            splits[frame.f_locals["text"]] += 1

    sys.setprofile(note_call)
    try:
        yield splits
    finally:
        sys.setprofile(None)


def split_counts(splits: Counter[str]) -> set[int]:
    return set(splits.values())


@pytest.fixture
def read_file(root: Path, session: Session) -> Path:
    """A page that the session has read."""
    file = page(root, "Page.md", OLD)
    read_page(session, "Page.md")
    return file


@pytest.mark.parametrize("content", [NEW, "no front matter\n", OLD + "more\n"], ids=["other", "none", "same"])
def test_a_rewritten_page_has_its_old_and_its_new_text_split_once(
    session: Session, read_file: Path, content: str
) -> None:
    with counted_splits() as splits:
        write_page(session, "Page.md", content)

    assert OLD.splitlines()[1] in read_file.read_text()
    assert {OLD, content} <= splits.keys()
    assert split_counts(splits) == {1}


def test_a_preview_of_a_rewrite_splits_each_text_once(session: Session, read_file: Path) -> None:
    with counted_splits() as splits:
        write_page.preview(session, "Page.md", NEW)

    assert {OLD, NEW} <= splits.keys()
    assert split_counts(splits) == {1}


@pytest.mark.parametrize("content", [NEW, "no front matter\n"], ids=["with front matter", "without"])
def test_a_new_page_has_its_text_split_once(session: Session, content: str) -> None:
    with counted_splits() as splits:
        write_page(session, "New.md", content)
        create_page(session, "Another", content=content + "other\n")

    assert {content, content + "other\n"} <= splits.keys()
    assert split_counts(splits) == {1}


def test_an_edit_splits_the_page_and_each_text_on_the_way_once(session: Session, read_file: Path) -> None:
    edits: list[dict[str, object]] = [
        {"heading": "Old", "action": "append", "text": "appended"},
        {"front_matter": {"set": {"title": "Edited"}}},
        {"find": "appended", "replace": "replaced"},
    ]

    with counted_splits() as splits:
        edit_page(session, "Page.md", edits)

    assert {OLD, read_file.read_text()} <= splits.keys()
    assert split_counts(splits) == {1}
