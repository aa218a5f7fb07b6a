"""Parts of pages are edited: all edits or none, and all other bytes stay."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mirrord.commands.core.failure import Failed
from mirrord.commands.core.session import Session
from mirrord.commands.pages.edit_commands import edit_page
from mirrord.commands.pages.page_commands import PagePart, read_page, write_page
from mirrord.domain.entry import digest_of
from mirrord.markdown.frontmatter.page_text import EditTargetError, PageText
from mirrord.markdown.read.page_outline import sections_of
from mirrord.markdown.write.page_edits import Action, SectionEdit, Substitution, apply_edits
from tests.unit.commands.conftest import events, page

TEXT = "---\ntitle: A # kept\ntags: [x]\n---\n# A\n\none two one\n\n## B\n\nb\n\n### C\n\nc\n\n## D\n\nd\n"
ID = "0198b463-1d4f-7c3e-9a5b-0123456789ab"

blocks = st.lists(
    st.sampled_from(["# One\n", "## Two\n", "para\n", "- item\n", "```\n# no\n```\n", "> # quoted\n", "Set\n===\n"]),
    max_size=8,
).map("\n".join)


def test_a_text_is_replaced_where_it_stands_as_often_as_expected(root: Path, session: Session) -> None:
    page(root, "A.md", TEXT)
    edited = edit_page(session, "A", [{"find": "two", "replace": "2"}, {"find": "one", "replace": "1", "count": 2}])
    expected = TEXT.replace("one two one", "1 2 1")
    assert (root / "A.md").read_text() == expected
    assert edited.digest == digest_of(expected.encode()).hex()
    assert "-one two one\n+1 2 1" in edited.diff
    assert [kind for kind, _ in events(root)] == ["PageWritten"]


TABLE = "| a | b |\n| - | - |\n| 1 | 2 |"


@pytest.mark.parametrize(
    ("content", "new", "expected"),
    [
        ("- a\n- b\n", "- c", "- a\n- b\n- c\n"),
        ("- a\n  - deeper\n", "- c\n- d", "- a\n  - deeper\n- c\n- d\n"),
        ("1. a\n2. b\n", "3. c", "1. a\n2. b\n3. c\n"),
        ("- [ ] a\n", "- [x] b", "- [ ] a\n- [x] b\n"),
        (f"{TABLE}\n", "| 3 | 4 |\n| 5 | 6 |", f"{TABLE}\n| 3 | 4 |\n| 5 | 6 |\n"),
        ("- a\n\n- b\n", "- c", "- a\n\n- b\n\n- c\n"),  # loose as it was
        ("- a\n", "* c", "- a\n\n* c\n"),  # another list
        ("- a\n", "more", "- a\n\nmore\n"),  # no item
        (f"{TABLE}\n", "more", f"{TABLE}\n\nmore\n"),
        (f"{TABLE}\n", TABLE, f"{TABLE}\n\n{TABLE}\n"),  # another table
        ("text\n", "- a", "text\n\n- a\n"),
    ],
)
@pytest.mark.parametrize("ending", ["\n", "\r\n"])
def test_what_is_appended_goes_on_with_a_tight_list_or_a_table(
    content: str, new: str, expected: str, ending: str
) -> None:
    text = f"# A\n\n{content}\n## B\n\nb\n".replace("\n", ending)
    after = apply_edits(PageText(text), [SectionEdit("A", Action.APPEND, new)]).text
    assert after == f"# A\n\n{expected}\n## B\n\nb\n".replace("\n", ending)


@pytest.mark.parametrize(
    ("edit", "code", "found_count"),
    [
        ({"find": "one", "replace": "1"}, "TEXT_NOT_FOUND", 2),
        ({"find": "three", "replace": "3"}, "TEXT_NOT_FOUND", 0),
        ({"heading": "E", "action": "append", "text": "x"}, "HEADING_NOT_FOUND", None),
    ],
)
def test_one_edit_that_does_not_fit_undoes_all(
    root: Path, session: Session, edit: dict[str, object], code: str, found_count: int | None
) -> None:
    page(root, "A.md", TEXT)
    with pytest.raises(Failed) as caught:
        edit_page(session, "A", [{"find": "two", "replace": "2"}, edit])
    assert caught.value.code == code
    assert str(caught.value).startswith("Edit 2 of 2: ")
    assert caught.value.facts.get("found") == found_count
    assert (root / "A.md").read_text() == TEXT


def test_edits_that_say_what_they_expect_are_made_in_a_page_that_changed_elsewhere(
    root: Path, session: Session
) -> None:
    page(root, "A.md", TEXT)
    page_read = read_page(session, "A")
    page(root, "A.md", TEXT.replace("one two one", "one two one, and a person's words"))

    edit_page(session, "A", [{"find": "two", "replace": "2"}])

    assert "one 2 one, and a person's words" in (root / "A.md").read_text()
    for edit in ({"heading": "B", "action": "append", "text": "x"}, {"find": "2", "replace": "3"}):
        page(root, "A.md", (root / "A.md").read_text() + "\nMore.\n")
        with pytest.raises(Failed) as refused:  # a heading does not say what is below it, and a digest does
            edit_page(session, "A", [edit], page_read.digest)
        assert refused.value.code == "CONFLICT"
    with pytest.raises(Failed) as missing:
        edit_page(session, "A", [{"find": "two", "replace": "2"}])
    assert missing.value.code == "TEXT_NOT_FOUND"


@pytest.mark.parametrize("number", [float("inf"), float("-inf"), float("nan")])
def test_a_number_that_json_does_not_have_is_refused(root: Path, session: Session, number: float) -> None:
    page(root, "A.md", TEXT)
    with pytest.raises(Failed) as refused:
        edit_page(session, "A", [{"front_matter": {"set": {"a": [number]}}}])
    assert refused.value.code == "INVALID_EDIT"
    assert (root / "A.md").read_text() == TEXT


def test_a_heading_that_is_not_there_lists_those_that_are(root: Path, session: Session) -> None:
    page(root, "A.md", TEXT + "\n## B\n")
    with pytest.raises(Failed) as caught:
        edit_page(session, "A", [{"heading": "E", "action": "append", "text": "x"}])
    assert caught.value.facts["headings"] == ["# A", "## B", "### C", "## D", "## B"]
    with pytest.raises(Failed) as twice:
        edit_page(session, "A", [{"heading": "B", "action": "append", "text": "x"}])
    assert (twice.value.code, str(twice.value)) == (
        "HEADING_AMBIGUOUS",
        "2 sections are called 'B': those in lines 9, 21.",
    )
    assert "#2 behind the second one" in twice.value.instruction


def test_one_of_several_equal_headings_is_meant_by_its_number(root: Path, session: Session) -> None:
    page(root, "A.md", "# Log\n\n- one\n\n# Log\n\n- two\n\n# Bug #2\n\n- three\n")
    assert read_page(session, "A", PagePart("Log#2")).content == "# Log\n\n- two\n\n"
    assert read_page(session, "A", PagePart("# log #1")).content == "# Log\n\n- one\n\n"
    assert read_page(session, "A", PagePart("Bug #2")).content == "# Bug #2\n\n- three\n"
    edit_page(session, "A", [{"heading": "Log#1", "action": "append", "text": "- one more"}])
    assert (root / "A.md").read_text().startswith("# Log\n\n- one\n- one more\n\n# Log\n")
    for name in ("Log#3", "Log#0", "#2", "Nothing#1"):
        with pytest.raises(Failed) as refused:
            read_page(session, "A", PagePart(name))
        assert refused.value.code == "HEADING_NOT_FOUND"


@pytest.mark.parametrize(
    ("action", "old", "new"),
    [
        ("replace", "## B\n\nb\n\n### C\n\nc\n\n## D", "## B\n\nnew\n\n## D"),
        ("append", "b\n\n### C", "b\n\nnew\n\n### C"),
        ("prepend", "## B\n\nb", "## B\n\nnew\n\nb"),
        ("insert_before", "\n\n## B", "\n\nnew\n\n## B"),
        ("insert_after", "c\n\n## D", "c\n\nnew\n\n## D"),
    ],
)
def test_a_section_is_edited_by_its_heading(root: Path, session: Session, action: str, old: str, new: str) -> None:
    page(root, "A.md", TEXT)
    edit_page(session, "A", [{"heading": "## b", "action": action, "text": "new\n"}])
    assert (root / "A.md").read_text() == TEXT.replace(old, new)


def test_a_section_may_be_replaced_with_its_heading_repeated(root: Path, session: Session) -> None:
    page(root, "A.md", TEXT)
    edit_page(session, "A", [{"heading": "D", "action": "replace", "text": "## D\n\nnew"}])
    assert (root / "A.md").read_text() == TEXT.replace("\nd\n", "\nnew\n")


def test_a_file_with_other_line_endings_keeps_them(root: Path, session: Session) -> None:
    file = page(root, "A.md", "")
    file.write_bytes(b"# A\r\n\r\none\r\ntwo\r\n")
    edits = [{"find": "one\ntwo", "replace": "1\n2"}, {"heading": "A", "action": "append", "text": "x\ny"}]
    edit_page(session, "A", edits)
    assert file.read_bytes() == b"# A\r\n\r\n1\r\n2\r\n\r\nx\r\ny\r\n"


def test_front_matter_is_set_and_removed_by_key(root: Path, session: Session) -> None:
    page(root, "A.md", TEXT)
    edit_page(session, "A", [{"front_matter": {"set": {"icon": "🚀", "tags": ["x", "y"]}, "remove": ["none"]}}])
    assert (root / "A.md").read_text() == TEXT.replace("tags: [x]\n", "tags: [x, y]\nicon: 🚀\n")
    edit_page(session, "A", [{"front_matter": {"remove": ["tags", "icon"]}}])
    assert (root / "A.md").read_text() == TEXT.replace("tags: [x]\n", "")


def test_the_id_of_a_page_is_never_edited(root: Path, session: Session) -> None:
    text = f"---\nid: {ID}\n---\nx\n"
    page(root, "A.md", text)
    with pytest.raises(Failed, match="never changed"):
        edit_page(session, "A", [{"front_matter": {"remove": ["id"]}}])
    edit_page(session, "A", [{"find": f"---\nid: {ID}\n---\n", "replace": ""}])
    assert (root / "A.md").read_text() == text


def test_a_dry_run_shows_and_writes_nothing(root: Path, session: Session) -> None:
    page(root, "A.md", TEXT)
    preview = edit_page(session, "A", [{"find": "two", "replace": "2"}], dry_run=True)
    assert not preview.written
    assert "-one two one\n+one 2 one" in preview.diff
    assert (root / "A.md").read_text() == TEXT
    assert not (root / ".mirrord").exists()


def test_a_page_that_changed_since_it_was_read_is_not_edited(root: Path, session: Session) -> None:
    page(root, "A.md", "one")
    read_page(session, "A")
    page(root, "A.md", "one two")
    with pytest.raises(Failed) as caught:
        edit_page(session, "A", [{"front_matter": {"set": {"a": 1}}}])
    assert caught.value.code == "CONFLICT"
    assert edit_page(session, "A", [{"front_matter": {"set": {"a": 1}}}], digest_of(b"one two").hex()).written


def test_who_edited_a_part_has_not_read_the_whole(root: Path, session: Session) -> None:
    page(root, "A.md", "one")
    edit_page(session, "A", [{"find": "one", "replace": "two"}])
    with pytest.raises(Failed) as caught:
        write_page(session, "A", "three")
    assert caught.value.code == "READ_FIRST"
    edit_page(session, "A", [{"find": "two", "replace": "four"}])
    read_page(session, "A")
    edit_page(session, "A", [{"find": "four", "replace": "five"}])
    edited = edit_page(session, "A", [{"find": "five", "replace": "seven"}])
    assert not write_page(session, "A", "six", expected_digest=edited.digest).created


@pytest.mark.parametrize(
    "edit",
    [
        {},
        {"find": "", "replace": "x"},
        {"find": "x"},
        {"find": "x", "replace": "y", "count": 0},
        {"find": "x", "replace": "y", "more": 1},
        {"heading": "B", "action": "delete", "text": ""},
        {"heading": "B", "action": ["replace"], "text": ""},
        {"front_matter": {}},
        {"front_matter": {"set": {"a": object()}}},
        {"front_matter": {"remove": [1]}},
        {"front_matter": []},
    ],
)
def test_an_edit_of_no_known_form_is_refused_with_the_forms_there_are(
    root: Path, session: Session, edit: dict[str, object]
) -> None:
    page(root, "A.md", TEXT)
    with pytest.raises(Failed) as caught:
        edit_page(session, "A", [edit])
    assert caught.value.code == "INVALID_EDIT"
    assert "insert_before" in caught.value.instruction


def test_an_edit_that_breaks_the_front_matter_is_refused(root: Path, session: Session) -> None:
    page(root, "A.md", TEXT)
    with pytest.raises(Failed) as caught:
        edit_page(session, "A", [{"find": "title: A", "replace": "title: ["}])
    assert caught.value.code == "INVALID_FRONT_MATTER"
    assert (root / "A.md").read_text() == TEXT


@given(blocks, st.data())
def test_editing_a_section_leaves_everything_before_and_behind(text: str, data: st.DataObject) -> None:
    sections = sections_of(PageText(text))
    if not sections:
        return
    section = data.draw(st.sampled_from(sections))
    action = data.draw(st.sampled_from(Action))
    try:
        new = apply_edits(PageText(text), [SectionEdit(section.title, action, "NEW")]).text
    except EditTargetError:
        assert [other.title.casefold() for other in sections].count(section.title.casefold()) > 1
        return
    at = {
        Action.REPLACE: (section.content, section.end),
        Action.PREPEND: (section.content, section.content),
        Action.APPEND: (section.own_end, section.own_end),
        Action.INSERT_BEFORE: (section.start, section.start),
        Action.INSERT_AFTER: (section.end, section.end),
    }[action]
    assert new.startswith(text[: at[0]])
    assert new.endswith(text[at[1] :])
    assert "NEW" in new[at[0] : len(new) - len(text[at[1] :])]
    expected_titles = [other.title for other in sections if not at[0] <= other.start < at[1]]
    assert [other.title for other in sections_of(PageText(new))] == expected_titles


@given(st.text(max_size=20), st.text(min_size=1, max_size=3), st.text(max_size=3))
def test_a_substitution_does_what_replace_does(text: str, find: str, new: str) -> None:
    count = text.count(find)
    if count and "\n" not in find + new + text and "\r" not in find + new + text:
        assert apply_edits(PageText(text), [Substitution(find, new, count)]).text == text.replace(find, new)
