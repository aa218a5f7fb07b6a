"""Parts of a page: the outline, ranges of lines, and sections within sections."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mirrord.commands.core.failure import Failed
from mirrord.commands.core.session import Session
from mirrord.commands.pages.edit_commands import edit_page
from mirrord.commands.pages.page_commands import PagePart, read_page, write_page
from mirrord.commands.pages.page_parts import count_lines, outline_page, range_of_lines
from tests.unit.commands.conftest import page

TEXT = "---\ntitle: Log\n---\n# Log\n\n## May\n\n### Done\n\nsown\n\n## June\n\n### Done\n\nreaped\n"


def test_an_outline_has_the_lines_and_sizes_of_sections(root: Path, session: Session) -> None:
    page(root, "Log.md", TEXT)
    outline = outline_page(session, "Log")
    lines = TEXT.split("\n")
    assert [(heading.level, heading.title) for heading in outline.headings] == [
        (1, "Log"),
        (2, "May"),
        (3, "Done"),
        (2, "June"),
        (3, "Done"),
    ]
    assert all(lines[heading.line - 1].endswith(f" {heading.title}") for heading in outline.headings)
    for heading in outline.headings[1::2]:
        section = read_page(session, "Log", PagePart(heading.title)).content
        assert heading.characters == len(section)
    assert (outline.total_chars, outline.total_lines) == (len(TEXT), len(lines) - 1)


def test_a_section_is_named_by_the_one_around_it(root: Path, session: Session) -> None:
    page(root, "Log.md", TEXT)
    assert read_page(session, "Log", PagePart("June > Done")).content == "### Done\n\nreaped\n"
    assert read_page(session, "Log", PagePart("log > may > ### Done")).content == "### Done\n\nsown\n\n"
    with pytest.raises(Failed) as caught:
        read_page(session, "Log", PagePart("Log > Done"))
    assert (caught.value.code, "Log#2" in caught.value.instruction) == ("HEADING_AMBIGUOUS", True)
    with pytest.raises(Failed, match="No section is called"):
        read_page(session, "Log", PagePart("June > Nothing"))


def test_a_heading_with_the_sign_in_its_title_is_found(root: Path, session: Session) -> None:
    page(root, "A.md", "# A > B\n\none\n")
    assert read_page(session, "A", PagePart("A > B")).content == "# A > B\n\none\n"


@given(
    st.text(st.sampled_from("ab \n\r"), min_size=1, max_size=40),
    st.integers(1, 50),
    st.integers(0, 50),
)
def test_ranges_of_lines_put_together_are_the_text(text: str, first: int, further: int) -> None:
    total = count_lines(text)
    if first > total:
        with pytest.raises(Failed, match="no range of lines"):
            range_of_lines(text, str(first))
        return
    start, end = range_of_lines(text, f"{first}-{first + further}")
    before = text[: range_of_lines(text, f"1-{first - 1}")[1]] if first > 1 else ""
    after = text[range_of_lines(text, f"{first + further + 1}-999")[0] :] if first + further < total else ""
    assert before + text[start:end] + after == text


@pytest.mark.parametrize("lines", ["", "0", "5-3", "x", "1-2-3", "-4", "99", "1,2", "٣"])
def test_what_is_no_range_of_lines_is_refused_with_an_example(root: Path, session: Session, lines: str) -> None:
    page(root, "Log.md", TEXT)
    with pytest.raises(Failed) as caught:
        read_page(session, "Log", PagePart(lines=lines))
    assert (caught.value.code, "10-40" in caught.value.instruction) == ("INVALID_LINES", True)


def test_lines_that_were_shown_may_be_edited_and_others_may_not_be_written_over(root: Path, session: Session) -> None:
    page(root, "Log.md", TEXT)
    part = read_page(session, "Log", PagePart(lines="8-10"))
    assert (part.content, part.total_chars) == ("### Done\n\nsown\n", len(TEXT))
    edit_page(session, "Log", [{"find": "sown", "replace": "sown late"}])
    with pytest.raises(Failed) as caught:
        write_page(session, "Log", "# Log\n")
    assert caught.value.code == "READ_FIRST"
