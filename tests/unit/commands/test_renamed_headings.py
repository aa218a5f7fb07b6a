"""A heading gets another text, and every link to it follows, in the spelling that it had."""

import tempfile
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mirrord.commands.core.failure import Failed
from mirrord.commands.core.session import Session
from mirrord.commands.pages.page_commands import read_page, write_page
from mirrord.commands.restructure.heading_command import rename_heading
from mirrord.markdown.frontmatter.page_text import PageText
from mirrord.markdown.heading_links import text_in_links
from mirrord.markdown.read.page_outline import Section, sections_of
from tests.support.laws import scale_examples
from tests.unit.commands.conftest import Save, events, page
from tests.unit.commands.test_change_laws import draft_in, session_in

PLAN = "---\ntitle: Plan\n---\n# Plan\n\n[[#Next steps]] ![](#next-steps)\n\n## Next steps ##\n\n### Soon\n\nNow\n---\n"
LINKING = {
    "A.md": "[[Plan#Next steps]] [[Projects/Plan#next steps|later]] ![[plan#Next steps#Soon]]",
    "Projects/B.md": "[a](Plan.md#next-steps) [b](<Plan.md#Next steps>) [c](/Projects/Plan.md#Next%20steps)"
    "\n\n[d]: Plan.md#soon",
    "C.md": "---\nsee: '[[Plan#Next steps]]'\n---\n| a | [[Plan#Next steps\\|x]] |\n| - | - |"
    "\n\n`[[Plan#Next steps]]`\n",
    "Other.md": "# Next steps\n\n[[#Next steps]] [[Plan#^block]] [[Plan#Soon]] [[Other#Next steps]] [[Plan]]",
}


def fill(root: Path) -> None:
    for path, text in {"Projects/Plan.md": PLAN, **LINKING}.items():
        page(root, path, text)


def texts(root: Path) -> dict[str, str]:
    return {str(file.relative_to(root)): file.read_text() for file in root.rglob("*.md") if "/." not in str(file)}


def test_links_follow_in_the_spelling_each_had(root: Path, session: Session) -> None:
    fill(root)
    renamed = rename_heading(session, "Projects/Plan", "Next steps", "What comes: later")

    assert texts(root) == {
        "Projects/Plan.md": PLAN.replace(
            "[[#Next steps]] ![](#next-steps)", "[[#What comes later]] ![](#what-comes-later)"
        ).replace("## Next steps ##", "## What comes: later ##"),
        "A.md": "[[Plan#What comes later]] [[Projects/Plan#What comes later|later]] ![[plan#What comes later#Soon]]",
        "Projects/B.md": "[a](Plan.md#what-comes-later) [b](<Plan.md#What comes later>) "
        "[c](/Projects/Plan.md#What%20comes%20later)"
        "\n\n[d]: Plan.md#soon",
        "C.md": LINKING["C.md"]
        .replace("[[Plan#Next steps", "[[Plan#What comes later", 1)
        .replace("[[Plan#Next steps\\|", "[[Plan#What comes later\\|"),
        "Other.md": LINKING["Other.md"],
    }
    assert renamed.links_rewritten == 10
    assert renamed.pages == ("Projects/Plan.md", "A.md", "C.md", "Projects/B.md")
    assert read_page(session, "Projects/Plan").digest == renamed.digest
    assert [(kind, data["path"], data["digest"] == renamed.digest) for kind, data in events(root)] == [
        ("PageWritten", path, path == "Projects/Plan.md") for path in renamed.pages
    ]


def test_a_heading_with_a_line_below_it_keeps_that(root: Path, session: Session) -> None:
    fill(root)
    rename_heading(session, "Projects/Plan", "Now", "Today")
    assert (root / "Projects/Plan.md").read_text() == PLAN.replace("Now\n---\n", "Today\n---\n")


def test_slugs_of_equal_headings_are_counted_anew(root: Path, session: Session) -> None:
    page(root, "Log.md", "# Log\n\n## Day\n\n## Day\n\n## Day\n\n[2](#day-1) [3](#day-2) [[#Day]]\n")
    rename_heading(session, "Log", "Day#1", "First day")
    assert (root / "Log.md").read_text() == (
        "# Log\n\n## First day\n\n## Day\n\n## Day\n\n[2](#day) [3](#day-1) [[#First day]]\n"
    )


def test_a_link_to_a_heading_that_another_one_hides_names_the_one_above_it_too(root: Path, session: Session) -> None:
    page(root, "Log.md", "# May\n\n## Day\n\n# June\n\n## Night\n\n[[#Night]]\n")
    rename_heading(session, "Log", "Night", "Day")
    assert (root / "Log.md").read_text() == "# May\n\n## Day\n\n# June\n\n## Day\n\n[[#June#Day]]\n"


def test_an_ambiguous_heading_is_answered_with_the_lines_and_a_missing_one_with_the_headings(
    root: Path, session: Session
) -> None:
    page(root, "Log.md", "# Log\n\n## Day\n\n## Day\n")
    with pytest.raises(Failed, match=r"2 sections are called 'Day': those in lines 3, 5\.") as twice:
        rename_heading(session, "Log", "Day", "Night")
    with pytest.raises(Failed) as missing:
        rename_heading(session, "Log", "Dai", "Night")
    assert (twice.value.code, missing.value.code) == ("HEADING_AMBIGUOUS", "HEADING_NOT_FOUND")
    assert missing.value.facts["headings"] == ["# Log", "## Day", "## Day"]


@pytest.mark.parametrize("to", ["", "  ", "closed #", "\ud800"])
def test_what_is_no_heading_is_refused(root: Path, session: Session, to: str) -> None:
    fill(root)
    with pytest.raises(Failed) as refused:
        rename_heading(session, "Projects/Plan", "Soon", to)
    assert refused.value.code in ("INVALID_HEADING", "INVALID_PAGE")
    assert texts(root) == {"Projects/Plan.md": PLAN, **LINKING}


def test_a_heading_that_is_called_so_already_changes_nothing(root: Path, session: Session) -> None:
    fill(root)
    assert rename_heading(session, "Projects/Plan", "Soon", " Soon ").pages == ()
    assert events(root) == []


def test_the_preview_shows_every_page_that_would_change(root: Path, session: Session) -> None:
    fill(root)
    preview = rename_heading.preview(session, "Projects/Plan", "Next steps", "Later")
    assert list(preview.bases) == ["Projects/Plan.md", "A.md", "C.md", "Projects/B.md"]
    assert preview.facts["links_rewritten_count"] == 10
    assert "+## Later ##" in preview.lines
    assert texts(root) == {"Projects/Plan.md": PLAN, **LINKING}


def test_a_page_that_somebody_saves_at_that_moment_hinders_all(
    root: Path, session: Session, save_at_that_moment: Save
) -> None:
    fill(root)
    saved = "[[Plan#Next steps]] saved"
    save_at_that_moment("C.md", saved)
    with pytest.raises(Failed) as refused:
        rename_heading(session, "Projects/Plan", "Next steps", "Later")
    assert refused.value.code == "CONFLICT"
    assert texts(root) == {"Projects/Plan.md": PLAN, **LINKING, "C.md": saved}
    assert events(root) == []


def test_a_page_that_changed_since_it_was_shown_is_a_conflict(root: Path, session: Session) -> None:
    fill(root)
    read_page(session, "Projects/Plan")
    page(root, "Projects/Plan.md", PLAN + "more\n")
    with pytest.raises(Failed) as refused:
        rename_heading(session, "Projects/Plan", "Soon", "Later")
    assert refused.value.code == "CONFLICT"


def test_texts_that_were_shown_may_be_replaced_afterwards(root: Path, session: Session) -> None:
    fill(root)
    read_page(session, "A")
    rename_heading(session, "Projects/Plan", "Next steps", "Later")
    assert not write_page(session, "A", "new").created


def test_in_a_draft_the_tree_stays_as_it_is(root: Path, session: Session) -> None:
    fill(root)
    with draft_in(session) as draft:
        renamed = rename_heading(draft.session, "Projects/Plan", "Next steps", "Later")
        assert "[[Plan#Later]]" in read_page(draft.session, "A").content
        assert read_page(draft.session, "Projects/Plan").digest == renamed.digest
        assert texts(root) == {"Projects/Plan.md": PLAN, **LINKING}


def sections_in(root: Path) -> list[Section]:
    return sections_of(PageText((root / "Page.md").read_text()))


def links_to(title: str) -> str:
    """Links as Obsidian and GitHub write them."""
    text = text_in_links(title)
    return f"[[Page#{text}]] and [[Page#{text}|alias]] ![[Page#Page#{text}]]\n" if text else "none\n"


WORDS = st.text("abcdefgh ÄßЖ日-_.:|^&()*'`", min_size=1, max_size=12).map(lambda text: " ".join(text.split()))


@settings(max_examples=scale_examples(30), deadline=None)
@given(old=WORDS, new=WORDS, other=WORDS)
def test_there_and_back_leaves_every_byte(old: str, new: str, other: str) -> None:
    with tempfile.TemporaryDirectory() as directory:
        root = Path(directory, "mirror", "acme")
        root.mkdir(parents=True)
        page(root, "Page.md", f"# Page\n\n## {old}\n\ntext\n\n## {other}\n")
        with session_in(root) as session:
            names = [section.title for section in sections_in(root)]
            if len(names) != 3 or names[1:].count(names[1]) > 1:
                return
            links = links_to(names[1])
            page(root, "Links.md", links)
            before = texts(root)
            with suppress(Failed):  # no heading can be called so, or two are
                rename_heading(session, "Page", names[1], new)
                renamed = sections_in(root)[1].title
                if [section.title for section in sections_in(root)].count(renamed) == 1:
                    rename_heading(session, "Page", f"## {renamed}", names[1])
                    assert texts(root) == before
