"""Sections become pages: links, attachments and definitions go on meaning what they meant."""

import re
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mirrord.commands.changes.apply_command import apply_changes
from mirrord.commands.core.failure import Failed
from mirrord.commands.core.session import Session
from mirrord.commands.pages.page_commands import read_page
from mirrord.commands.restructure.merge_command import merge_pages
from mirrord.commands.restructure.split_command import split_page
from mirrord.domain.entry import new_id
from tests.support.laws import scale_examples
from tests.unit.commands.conftest import Save, events, page
from tests.unit.commands.test_change_laws import draft_in, session_in
from tests.unit.kills import killed_at

HEAD = f"---\nid: {new_id()}\ntags: [a]\n---\n"
BODY = (
    "# Alpha\n\n[[#Plan]] [t](#tasks) [[#Alpha]] [n][note] ![](assets/x.png)\n\n"
    "## Plan\n\n[[#Plan]] [[#Steps]] [[#Tasks|t]] [[#Alpha]] ![](assets/x.png) [[Links]] line ^b1\n\n"
    "### Steps\n\none[^1]\n\n"
    "Tasks\n-----\n\n[[Alpha#Steps]] [n](#steps) [[Alpha]]\n\n[note]: assets/x.png\n\n"
    "## *End*: `now`\n\nlast\n\n[^1]: the note\n"
)
LINKS = (
    "[[Alpha#Plan]] [[Alpha#Steps|s]] ![[Alpha#Tasks]] [e](P/Alpha.md#end-now) [[Alpha#^b1]] [[Alpha#^b2]] [[Alpha]]\n"
)


def fill(root: Path) -> dict[str, str]:
    texts = {"P/Alpha.md": HEAD + BODY, "Links.md": LINKS, "P/assets/x.png": "x"}
    for path, text in texts.items():
        page(root, path, text)
    return texts


def files(root: Path) -> dict[str, str]:
    paths = [file for file in root.rglob("*") if file.is_file()]
    texts = {str(file.relative_to(root)): file.read_text() for file in paths}
    return {path: text for path, text in texts.items() if not path.startswith(".")}


def without_head(text: str) -> str:
    return re.sub(r"\A---\n.*?\n---\n", "", text, flags=re.DOTALL)


def test_sections_of_a_level_become_pages_and_all_links_follow(root: Path, session: Session) -> None:
    fill(root)
    split = split_page(session, "P/Alpha", level=2)

    texts = {path: without_head(text) for path, text in files(root).items()}
    assert texts == {
        "P/Alpha.md": "# Alpha\n\n[[Plan]] [t](Tasks.md) [[#Alpha]] [n][note] ![](assets/x.png)\n\n"
        "[[Plan]]\n\n[[Tasks]]\n\n[[End now|End: now]]\n\n[note]: assets/x.png\n",
        "P/Plan.md": "# Plan\n\n[[#Plan]] [[#Steps]] [[Tasks|t]] [[Alpha#Alpha]] ![](assets/x.png) [[Links]] line ^b1"
        "\n\n## Steps\n\none[^1]\n\n[^1]: the note\n",
        "P/Tasks.md": "# Tasks\n\n[[Plan#Steps]] [n](Plan.md#steps) [[Alpha]]\n\n[note]: assets/x.png\n",
        "P/End now.md": "# *End*: `now`\n\nlast\n\n[^1]: the note\n",
        "Links.md": "[[Plan]] [[Plan#Steps|s]] ![[Tasks]] [e](P/End%20now.md) [[Plan#^b1]] [[Alpha#^b2]] [[Alpha]]\n",
        "P/assets/x.png": "x",
    }
    assert split.pages == {"P/Plan.md": "Plan", "P/Tasks.md": "Tasks", "P/End now.md": "End: now"}
    assert (root / "P/Alpha.md").read_text().startswith(HEAD)
    assert read_page(session, "P/Plan").frontmatter["title"] == "Plan"
    assert [(kind, data["path"]) for kind, data in events(root)] == [
        ("PageWritten", "P/Alpha.md"),
        ("PageWritten", "Links.md"),
        *(("PageCreated", path) for path in split.pages),
    ]


def test_a_section_goes_below_its_page_which_becomes_that_of_a_folder(root: Path, session: Session) -> None:
    fill(root)
    split = split_page(session, "P/Alpha", heading="Plan", parent_path="P/Alpha")
    assert (split.path, split.pages) == ("P/Alpha/_index.md", {"P/Alpha/Plan.md": "Plan"})
    assert "![](../assets/x.png)" in (root / "P/Alpha/Plan.md").read_text()
    assert "[[Plan]]\n\nTasks\n-----" in (root / "P/Alpha/_index.md").read_text()
    assert "[e](P/Alpha/_index.md#end-now)" in (root / "Links.md").read_text()


def test_a_title_that_no_wikilink_can_hold_gives_a_name_that_one_can(root: Path, session: Session) -> None:
    page(root, "A.md", "## To do #work | [x] ^1\n\n1\n")
    assert split_page(session, "A", level=2).pages == {"To do work x 1.md": "To do #work | [x] ^1"}
    assert (root / "A.md").read_text() == "[[To do work x 1|To do #work x ^1]]\n"


def test_pages_get_names_that_are_free(root: Path, session: Session) -> None:
    page(root, "A.md", "## Log\n\n1\n\n## Log\n\n2\n\n## ***\n\n3\n")
    page(root, "log.md", "another\n")
    split = split_page(session, "A", level=2)
    assert list(split.pages)[:2] == ["Log (2).md", "Log (3).md"]
    assert (root / "A.md").read_text().startswith("[[Log (2)|Log]]\n\n[[Log (3)|Log]]\n\n[[")


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ({}, "INVALID_ARGUMENTS"),
        ({"heading": "Plan", "level": 2}, "INVALID_ARGUMENTS"),
        ({"heading": "Nowhere"}, "HEADING_NOT_FOUND"),
        ({"level": 4}, "HEADING_NOT_FOUND"),
        ({"level": 2, "parent_path": "Nowhere"}, "PAGE_NOT_FOUND"),
        ({"level": 2, "parent_path": "../other"}, "FORBIDDEN"),
    ],
)
def test_what_makes_no_sense_is_refused_and_changes_nothing(
    root: Path, session: Session, arguments: dict[str, Any], code: str
) -> None:
    before = fill(root)
    with pytest.raises(Failed) as refused:
        split_page(session, "P/Alpha", **arguments)
    assert refused.value.code == code
    assert files(root) == before


def test_a_name_that_somebody_takes_at_that_moment_hinders_all(
    root: Path, session: Session, save_at_that_moment: Save
) -> None:
    before = fill(root)
    save_at_that_moment("P/Tasks.md", "other")
    with pytest.raises(Failed) as refused:
        split_page(session, "P/Alpha", level=2)
    assert refused.value.code == "CONFLICT"
    assert files(root) == {**before, "P/Tasks.md": "other"}


def test_the_preview_names_new_pages_and_changes_nothing(root: Path, session: Session) -> None:
    before = fill(root)
    preview = split_page.preview(session, "P/Alpha", level=2)
    assert preview.lines[:3] == ("new P/Plan.md", "new P/Tasks.md", "new P/End now.md")
    assert preview.bases["P/Plan.md"] == ""
    assert files(root) == before


def test_a_split_in_a_draft_is_the_same_when_that_is_applied(root: Path, session: Session) -> None:
    before = fill(root)
    with draft_in(session) as draft:
        split = split_page(draft.session, "P/Alpha", level=2, parent_path="P/Alpha")
        assert files(root) == before
        applied = apply_changes(session, draft.facts.id)
        assert (applied.created, applied.moved, applied.edited) == (3, 1, 1)
    assert split.path == "P/Alpha/_index.md"
    assert set(split.pages) <= files(root).keys()


def split_in(root: Path) -> None:
    with session_in(root) as session:
        split_page(session, "P/Alpha", level=2, parent_path="P/Alpha")


def test_a_split_that_is_killed_at_any_call_is_all_there_or_not_at_all(tmp_path: Path) -> None:
    outcomes = set()
    for number in range(1, 400, 5):
        root = tmp_path / str(number) / "acme"
        before = fill(root)
        killed = killed_at(number, root, split_in)
        with session_in(root, "mcp-next") as session, session.writing():
            pass
        is_split = "P/Alpha/Plan.md" in files(root)
        assert is_split == ("P/Alpha/End now.md" in files(root)) == ("P/Alpha.md" not in files(root))
        assert is_split or files(root) == before
        outcomes.add(is_split)
        if not killed:
            break
    assert outcomes == {True, False}


TITLES = st.text("abcde", min_size=1, max_size=4)
BLOCKS = st.sampled_from(
    ["word", "- item\n- other", "> quote", "```\n## code\n```", "| a |\n| - |\n| b |", "[[#top]]", ""]
)
SECTIONS = st.lists(st.tuples(st.integers(2, 4), TITLES, BLOCKS), min_size=1, max_size=6)


def words_of(texts: dict[str, str]) -> Counter[str]:
    return Counter(word for text in texts.values() for word in re.findall(r"\w+", without_head(text)))


@settings(max_examples=scale_examples(20), deadline=None)
@given(SECTIONS)
def test_a_page_that_is_split_and_merged_again_keeps_every_word(sections: list[tuple[int, str, str]]) -> None:
    body = "\n\n".join(f"{'#' * level} {title}\n\n{block}" for level, title, block in [(2, "first", "x"), *sections])
    with tempfile.TemporaryDirectory() as directory:
        root = Path(directory, "mirror", "acme")
        root.mkdir(parents=True)
        page(root, "Page.md", f"# top\n\n{body}\n")
        before = words_of(files(root))
        with session_in(root) as session:
            split = split_page(session, "Page", level=2)
            parts = words_of(files(root))
            merge_pages(session, list(split.pages), "Page")
        after = words_of(files(root))
        assert before - parts == Counter()
        assert before - after == Counter()
        assert list(files(root)) == ["Page.md"]
