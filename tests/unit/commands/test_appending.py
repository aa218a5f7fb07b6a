"""Text put at the end of a page, and pages made only where none has the name."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mirrord.commands.core.failure import Failed
from mirrord.commands.core.session import Session
from mirrord.commands.pages.edit_commands import edit_page
from mirrord.commands.pages.page_commands import create_page, read_page, write_page
from mirrord.markdown.frontmatter.page_text import PageText
from mirrord.markdown.write.page_edits import Appendix, apply_edits
from tests.unit.commands.conftest import events, page


@pytest.mark.parametrize(
    ("text", "addition", "expected"),
    [
        ("# A\n\ntext\n", "more", "# A\n\ntext\n\nmore\n"),
        ("- one\n- two\n", "- three", "- one\n- two\n- three\n"),
        ("- one\n\n- two\n", "- three", "- one\n\n- two\n\n- three\n"),
        ("- [ ] one\n", "- [x] two\n", "- [ ] one\n- [x] two\n"),
        ("1. one\n2. two", "3. three", "1. one\n2. two\n3. three"),
        ("| a | b |\n|---|---|\n| 1 | 2 |\n", "| 3 | 4 |", "| a | b |\n|---|---|\n| 1 | 2 |\n| 3 | 4 |\n"),
        ("- one\n", "text", "- one\n\ntext\n"),
        ("# A\r\n\r\ntext\r\n", "more\nlines", "# A\r\n\r\ntext\r\n\r\nmore\r\nlines\r\n"),
        ("---\ntitle: A\n---\n", "text", "---\ntitle: A\n---\n\ntext\n"),
        ("", "text", "text\n"),
        ("text\n\n\n", "more", "text\n\n\nmore\n"),
        ("text\n", "\n\n", "text\n"),
    ],
)
def test_lists_stay_tight_and_tables_whole(
    root: Path, session: Session, text: str, addition: str, expected: str
) -> None:
    page(root, "A.md", text)
    edit_page(session, "A", [{"append": addition}])
    assert (root / "A.md").read_bytes().decode() == expected


@given(st.text(st.sampled_from("ab-# |\n"), max_size=40), st.text(st.sampled_from("ab-# |\n"), max_size=20))
def test_the_text_before_keeps_every_character(text: str, addition: str) -> None:
    after = apply_edits(PageText(text), [Appendix(addition)]).text
    assert after.startswith(text.rstrip("\n"))
    assert after.rstrip("\n").endswith(addition.strip("\n")) or not addition.strip("\n")


def test_a_page_that_changed_meanwhile_takes_it_because_nothing_is_replaced(root: Path, session: Session) -> None:
    page(root, "Log.md", "- one\n")
    read_page(session, "Log")
    (root / "Log.md").write_text("- one\n- of a person\n", encoding="utf-8")
    edit_page(session, "Log", [{"append": "- two"}])
    assert (root / "Log.md").read_text(encoding="utf-8") == "- one\n- of a person\n- two\n"
    with pytest.raises(Failed) as caught:
        write_page(session, "Log", "# Blind\n")
    assert caught.value.code in {"CONFLICT", "READ_FIRST"}


@pytest.mark.parametrize("edit", [{"append": 3}, {"append": "x", "heading": "A"}, {"append": None}])
def test_an_edit_of_no_form_names_the_forms(root: Path, session: Session, edit: dict[str, object]) -> None:
    page(root, "A.md", "text\n")
    with pytest.raises(Failed) as caught:
        edit_page(session, "A", [edit])
    assert (caught.value.code, "{append}" in caught.value.instruction) == ("INVALID_EDIT", True)


@pytest.mark.parametrize("file", ["Projects/Plan.md", "Projects/plan.md", "Projects/Plan/_index.md"])
def test_a_page_with_the_name_is_returned_and_stays_as_it_is(root: Path, session: Session, file: str) -> None:
    page(root, file, "# Plan\n")
    before = len(events(root))
    existing = create_page(session, "Plan", "Projects", "other text", unless_exists=True)
    assert (existing.path, existing.created) == (file, False)
    assert (root / file).read_text(encoding="utf-8") == "# Plan\n"
    assert len(events(root)) == before


def test_without_one_the_page_is_made_and_a_second_call_finds_it(root: Path, session: Session) -> None:
    page(root, "Projects.md", "# Projects\n")
    created = create_page(session, "Plan: a/b", "Projects", unless_exists=True)
    again = create_page(session, "Plan: a/b", "Projects", unless_exists=True)
    assert created.created
    assert (again.page_id, again.path, again.created) == (created.page_id, created.path, False)
    assert create_page(session, "Plan: a/b", "Projects").path != created.path
