"""Edits in all pages that a question finds: each wherever it occurs, all pages or none, links and ids untouched."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mirrord.commands.core.failure import Failed
from mirrord.commands.core.session import Session
from mirrord.commands.pages.page_commands import read_page, write_page
from mirrord.commands.restructure.edit_command import EditedPages, edit_pages
from mirrord.domain.entry import new_id
from mirrord.markdown.frontmatter.page_text import PageText
from mirrord.markdown.write.tag_edits import TagChange, change_tag
from mirrord.mirror.draft.draft_tree import MAX_PAGES
from tests.unit.commands.conftest import Save, events, page
from tests.unit.commands.test_change_laws import draft_in, session_in
from tests.unit.kills import killed_at

TAGGED = """---
tags: [draft, other, draft/early]
---
# About #draft

- [ ] ship it #draft/late, #drafty and (#Draft)
- [x] ship it too

`#draft` and ``a ` #draft`` and [x](#draft) [[A#draft]] https://a.b/#draft \\#draft <!-- #draft --> %% #draft %%

    #draft in code

```
#draft
- [ ] ship it
```
"""
TAG = {"tag": "draft", "replace": "final"}


def texts(root: Path) -> dict[str, str]:
    return {str(file.relative_to(root)): file.read_text() for file in root.rglob("*.md") if "/." not in str(file)}


def edit(session: Session, *edits: dict[str, Any], dry_run: bool = False, **question: Any) -> EditedPages:
    return edit_pages(session, edits, dry_run=dry_run, **question)


def test_a_tag_is_renamed_everywhere_but_in_code_links_and_comments(root: Path, session: Session) -> None:
    page(root, "A.md", TAGGED)
    page(root, "B.md", "---\ntags: 'draft, x'\n---\nb\n")
    page(root, "C.md", "nothing\n")
    edited = edit(session, TAG)

    assert edited.pages == {"A.md": 4, "B.md": 1}
    assert (edited.places, edited.left_out, edited.skipped, edited.written) == (5, 1, {}, True)
    assert (root / "A.md").read_text() == TAGGED.replace(
        "[draft, other, draft/early]", "[final, other, final/early]"
    ).replace("About #draft", "About #final").replace("#draft/late", "#final/late").replace("#Draft", "#final")
    assert (root / "B.md").read_text() == "---\ntags: 'final, x'\n---\nb\n"
    assert [(kind, data["path"]) for kind, data in events(root)] == [("PageWritten", "A.md"), ("PageWritten", "B.md")]


def test_a_page_that_has_the_new_tag_already_has_it_once(root: Path, session: Session) -> None:
    page(root, "A.md", "---\ntags:\n  - draft\n  - x\n  - final\n---\n")
    edit(session, TAG)
    assert (root / "A.md").read_text() == "---\ntags:\n  - final\n  - x\n---\n"


def test_tasks_are_ticked_and_opened_outside_of_code(root: Path, session: Session) -> None:
    page(root, "A.md", TAGGED)
    page(root, "Q.md", "> 1. [ ] ship it\n>    - [ ] other\n")
    assert edit(session, {"task": "ship it", "is_done": True}).pages == {"A.md": 1, "Q.md": 1}
    assert (root / "A.md").read_text() == TAGGED.replace("- [ ] ship it #draft", "- [x] ship it #draft")
    assert (root / "Q.md").read_text() == "> 1. [x] ship it\n>    - [ ] other\n"
    assert edit(session, {"task": "ship it too", "is_done": False}).pages == {"A.md": 1}


def test_text_is_replaced_everywhere_but_not_in_targets_of_links(root: Path, session: Session) -> None:
    page(root, "A.md", "---\ntitle: cat\n---\ncat concat `cat` [[cat|cat]] [cat](cat.md) https://cat.org [[cat]]\r\nx")
    edited = edit(session, {"find": "cat", "replace": "dog", "word": True}, query="CONCAT")
    assert (root / "A.md").read_bytes() == (
        b"---\ntitle: cat\n---\ndog concat `dog` [[cat|dog]] [dog](cat.md) https://cat.org [[cat]]\r\nx"
    )
    assert edited.places == 4
    edit(session, {"find": "[[cat|dog]]", "replace": "[[dog]]"}, {"find": "https://cat", "replace": "https://dog"})
    assert "[[dog]] [dog](cat.md) https://dog.org" in (root / "A.md").read_text()


def test_pages_are_asked_for_as_in_find_pages(root: Path, session: Session) -> None:
    for name in ("P/A", "P/B", "C"):
        page(root, f"{name}.md", f"---\nid: {new_id()}\nstatus: draft\ntags: [t]\n---\n# {name}\n\nold\n")
    page(root, "P/D.md", "---\nstatus: final\n---\nold\n")
    change = {"front_matter": {"set": {"status": "final"}}}
    assert edit(session, change, page_filter={"path": "P", "where": {"status": "draft"}}).pages == {
        "P/A.md": 1,
        "P/B.md": 1,
    }
    assert edit(session, change, page_filter={"tag": "t"}).pages == {"C.md": 1}
    assert edit(session, {"append": "- end"}, paths=["C", "P/D", "C.md"]).pages == {"C.md": 1, "P/D.md": 1}
    assert edit(session, {"heading": "C", "action": "append", "text": "more"}).pages == {"C.md": 1}
    assert "id: " in (root / "C.md").read_text()


def test_a_dry_run_shows_pages_and_a_cut_diff_and_writes_nothing(root: Path, session: Session) -> None:
    for number in range(60):
        page(root, f"{number:02}.md", "old line\n" * 20)
    before = texts(root)
    dry = edit(session, {"find": "old", "replace": "new"}, dry_run=True)
    assert (len(dry.pages), dry.places, dry.written) == (60, 1200, False)
    assert dry.diff.startswith("--- 00.md")
    assert len(dry.diff) < 3_100
    assert texts(root) == before
    assert events(root) == []
    assert edit(session, {"find": "nowhere", "replace": "x"}).written is False
    preview = edit_pages.preview(session, [{"find": "old", "replace": "new"}])
    assert (len(preview.bases), preview.facts["changed_pages_count"]) == (60, 60)


@pytest.mark.parametrize(
    ("edits", "question", "code"),
    [
        ([{"find": "a", "replace": "b", "count": 2}], {}, "INVALID_EDIT"),
        ([{"task": " ", "is_done": True}], {}, "INVALID_EDIT"),
        ([{"tag": "a b", "replace": "c"}], {}, "INVALID_TAG"),
        ([{"tag": "a", "replace": ""}], {}, "INVALID_TAG"),
        ([{"append": "x"}], {}, "INVALID_ARGUMENTS"),
        ([TAG], {"paths": ["A"], "query": "x"}, "INVALID_ARGUMENTS"),
        ([TAG], {"paths": ["Nowhere"]}, "PAGE_NOT_FOUND"),
        ([TAG], {"page_filter": {"where": {"a": {"no": 1}}}}, "INVALID_WHERE"),
        ([{"front_matter": {"set": {"id": "x"}}}], {"paths": ["A"]}, "FIXED_KEY"),
        ([{"front_matter": {"remove": ["id"]}}], {"query": "nowhere"}, "FIXED_KEY"),
        ([{"heading": "Day", "action": "append", "text": "x"}], {}, "HEADING_AMBIGUOUS"),
        ([{"find": "x", "replace": "y\0"}], {}, "INVALID_PAGE"),
    ],
)
def test_what_makes_no_sense_is_refused_and_changes_nothing(
    root: Path, session: Session, edits: list[dict[str, Any]], question: dict[str, Any], code: str
) -> None:
    page(root, "A.md", f"---\nid: {new_id()}\n---\n# Day\n\n# Day\n\nx #draft\n")
    before = texts(root)
    with pytest.raises(Failed) as refused:
        edit(session, *edits, **question)
    assert refused.value.code == code
    assert texts(root) == before


def test_a_page_whose_front_matter_cannot_be_changed_is_named_and_left(root: Path, session: Session) -> None:
    page(root, "A.md", "---\ntags: [draft\n---\n")
    page(root, "B.md", "#draft\n")
    edited = edit(session, TAG)
    assert (list(edited.skipped), edited.pages) == (["A.md"], {"B.md": 1})


def test_more_pages_than_one_call_changes_are_refused(root: Path, session: Session) -> None:
    for number in range(MAX_PAGES + 1):
        page(root, f"{number}.md", "old\n")
    with pytest.raises(Failed, match=f"501 pages; one call changes at most {MAX_PAGES} pages") as refused:
        edit(session, {"find": "old", "replace": "new"})
    assert refused.value.code == "TOO_MANY_PAGES"


def test_a_page_that_somebody_saves_at_that_moment_hinders_all(
    root: Path, session: Session, save_at_that_moment: Save
) -> None:
    for name in "ABC":
        page(root, f"{name}.md", "#draft\n")
    save_at_that_moment("C.md", "saved #draft\n")
    with pytest.raises(Failed) as refused:
        edit(session, TAG)
    assert refused.value.code == "CONFLICT"
    assert texts(root) == {"A.md": "#draft\n", "B.md": "#draft\n", "C.md": "saved #draft\n"}


def test_an_edit_of_a_page_that_was_shown_lets_the_session_edit_on(root: Path, session: Session) -> None:
    page(root, "A.md", "#draft\n")
    read_page(session, "A")
    edit(session, TAG)
    edit(session, {"find": "#final", "replace": "#done"}, paths=["A"])
    with pytest.raises(Failed) as unread:
        write_page(session, "A", "new\n")
    assert unread.value.code == "READ_FIRST"


def test_in_a_draft_the_tree_stays_as_it_is(root: Path, session: Session) -> None:
    page(root, "A.md", TAGGED)
    with draft_in(session) as draft:
        edit(draft.session, TAG)
        assert "About #final" in read_page(draft.session, "A").content
    assert (root / "A.md").read_text() == TAGGED


def test_edits_that_are_killed_at_any_call_are_all_there_or_none(tmp_path: Path) -> None:
    before = {f"{name}.md": "#draft\n" for name in "AB"}
    after = dict.fromkeys(before, "#final\n")
    for number in range(1, 200, 3):
        root = tmp_path / str(number) / "acme"
        for path, text in before.items():
            page(root, path, text)
        killed = killed_at(number, root, edit_in)
        finish_in(root)
        assert texts(root) in (before, after)
        if not killed:
            break
    assert texts(root) == after


def edit_in(root: Path) -> None:
    with session_in(root) as session:
        edit(session, TAG)


def finish_in(root: Path) -> None:
    """What the next writer does."""
    with session_in(root, "mcp-next") as session, session.writing():
        pass


TAGS = st.text("abAB-_/ß", min_size=1, max_size=6).filter(lambda tag: tag[0].isalpha() and "" not in tag.split("/"))
PIECES = st.sampled_from(["#{}", "#{}/below", "x#{}", "`#{}`", "[[A#{}]]", "text", "(#{})", "\\#{}", "\n\n", "# Head"])


@given(old=TAGS, new=TAGS, pieces=st.lists(PIECES, max_size=8))
def test_a_tag_that_is_renamed_there_and_back_leaves_every_byte(old: str, new: str, pieces: list[str]) -> None:
    text = " ".join(piece.format(old) for piece in pieces)
    before = PageText(f"---\ntags: [{old}, unlike]\n---\n{text}\n")
    renamed, count = change_tag(before, TagChange(old, new))
    restored, back_count = change_tag(renamed, TagChange(new, old))
    if old.casefold() != new.casefold() and not f"{old}/".casefold().startswith(f"{new}/".casefold()):
        assert (restored.text, back_count) == (before.text, count)
