"""Pages become sections of another one: their texts, tags, children and attachments move over, and links follow."""

from pathlib import Path

import pytest

from mirrord.commands.changes.apply_command import apply_changes
from mirrord.commands.core.failure import Failed
from mirrord.commands.core.session import Session
from mirrord.commands.pages.page_commands import read_page
from mirrord.commands.pages.restore_command import restore_page
from mirrord.commands.restructure.merge_command import merge_pages
from mirrord.domain.entry import new_id
from tests.unit.commands.conftest import Save, events, page
from tests.unit.commands.test_change_laws import draft_in, session_in
from tests.unit.kills import killed_at

INTO = "---\nid: {}\ntags: [a]\nstatus: kept\n---\n# All\n\nsee [[Beta]] and [[#All]]\n"
BETA = (
    "---\ntitle: Beta page\ntags: [b, a]\nstatus: lost\naliases: [B]\n---\n"
    "# Beta page\n\n[[#Steps]] [up](../../All.md) ![](assets/b.png)\n\nSteps\n---\n\n#### Deep\n"
)
GAMMA = "text of gamma, [[Beta#Steps]]\n\n# One\n\n## Two\n"
OTHERS = {
    "Work/Beta/Child.md": "[[Beta]] [[Other]] ![](assets/c.png)\n",
    "Work/Beta/Other/_index.md": "[back](../_index.md#steps)\n",
    "Links.md": "[[Work/Beta|b]] ![[Beta#Steps]] [g](Gamma.md) [[Beta page#Deep]] [[Beta#^block]] [[Child]]\n",
}
FILES = {"Work/Beta/assets/b.png": "b", "Work/Beta/assets/c.png": "c"}


def fill(root: Path) -> dict[str, str]:
    texts = {"All.md": INTO.format(new_id()), "Work/Beta/_index.md": BETA, "Gamma.md": GAMMA, **OTHERS, **FILES}
    for path, text in texts.items():
        page(root, path, text)
    return texts


def files(root: Path) -> dict[str, str]:
    paths = [file for file in root.rglob("*") if file.is_file()]
    texts = {str(file.relative_to(root)): file.read_text() for file in paths}
    return {path: text for path, text in texts.items() if not path.startswith(".")}


def test_texts_move_below_headings_and_everything_else_follows(root: Path, session: Session) -> None:
    before = fill(root)
    merged = merge_pages(session, ["Work/Beta", "Gamma.md"], "All")

    head = before["All.md"].partition("# All")[0]
    properties = head.replace("[a]", "[a, b]").replace(
        "kept\n", "kept\naliases:\n  - Beta page\n  - Beta\n  - B\n  - Gamma\n"
    )
    assert files(root) == {
        "All/_index.md": properties
        + "# All\n\nsee [[All#Beta page]] and [[#All]]\n\n"
        + "## Beta page\n\n[[#Steps]] [up](_index.md) ![](assets/b.png)\n\n### Steps\n\n##### Deep\n\n"
        + "## Gamma\n\ntext of gamma, [[All#Steps]]\n\n### One\n\n#### Two\n",
        "All/Child.md": "[[All#Beta page]] [[Other]] ![](assets/c.png)\n",
        "All/Other/_index.md": "[back](../_index.md#steps)\n",
        "All/assets/b.png": "b",
        "All/assets/c.png": "c",
        "Links.md": "[[All#Beta page|b]] ![[All#Steps]] [g](All/_index.md#Gamma) [[All#Deep]] [[All#^block]]"
        " [[Child]]\n",
    }
    assert merged.path == "All/_index.md"
    assert merged.moved["Work/Beta/Child.md"] == "All/Child.md"
    assert not (root / "Work/Beta").exists()
    assert read_page(session, "All").digest == merged.digest
    assert {(kind, data["path"]) for kind, data in events(root)} == {
        ("PageMoved", "All/_index.md"),
        ("PageWritten", "All/_index.md"),
        ("PageMoved", "All/Child.md"),
        ("PageMoved", "All/Other/_index.md"),
        ("AttachmentMoved", "All/assets/b.png"),
        ("AttachmentMoved", "All/assets/c.png"),
        ("PageWritten", "Links.md"),
        ("PageDeleted", "Work/Beta/_index.md"),
        ("PageDeleted", "Gamma.md"),
    }
    assert restore_page(session, merged.merged["Gamma.md"]).path == "Gamma.md"
    assert (root / "Gamma.md").read_text() == GAMMA


def test_leaves_bring_the_attachments_that_only_they_show(root: Path, session: Session) -> None:
    page(root, "In/All.md", "# All\n")
    page(root, "In/assets/x.png", "taken")
    page(root, "Leaf.md", "![](assets/x.png) ![](assets/both.png) [f](files/y.bin)\n")
    page(root, "Other.md", "![](assets/both.png)\n")
    page(root, "assets/x.png", "x")
    page(root, "assets/both.png", "both")
    merge_pages(session, ["Leaf"], "In/All")
    assert files(root) == {
        "In/All.md": "---\naliases:\n  - Leaf\n---\n"
        "# All\n\n## Leaf\n\n![](assets/x%20%282%29.png) ![](../assets/both.png) [f](files/y.bin)\n",
        "In/assets/x.png": "taken",
        "In/assets/x (2).png": "x",
        "Other.md": "![](assets/both.png)\n",
        "assets/both.png": "both",
    }


def test_children_with_taken_names_get_numbers_with_what_is_below_them(root: Path, session: Session) -> None:
    page(root, "A/_index.md", "# A\n")
    page(root, "A/Log.md", "a\n")
    page(root, "B/_index.md", "[[B/Log]] [[May]]\n")
    page(root, "B/Log.md", "b\n")
    page(root, "B/Log/May.md", "may\n")
    assert merge_pages(session, ["B"], "A").moved == {"B/Log.md": "A/Log (2).md", "B/Log/May.md": "A/Log (2)/May.md"}
    assert (root / "A/_index.md").read_text().endswith("## B\n\n[[A/Log (2)]] [[May]]\n")


@pytest.mark.parametrize(
    ("paths", "into", "code"),
    [
        (["All"], "All", "INVALID_ARGUMENTS"),
        ([], "All", "INVALID_ARGUMENTS"),
        (["Nowhere"], "All", "PAGE_NOT_FOUND"),
        (["Gamma"], "Nowhere", "PAGE_NOT_FOUND"),
        (["Work/Beta"], "Work/Beta/Child", "CYCLE"),
        (["Open", "Gamma"], "All", "INVALID_PAGE"),
        (["Gamma"], "Broken", "INVALID_FRONT_MATTER"),
    ],
)
def test_what_makes_no_sense_is_refused_and_changes_nothing(
    root: Path, session: Session, paths: list[str], into: str, code: str
) -> None:
    fill(root)
    page(root, "Open.md", "```\nnever closed\n")
    page(root, "Broken.md", "---\na: [\n---\n")
    before = files(root)
    with pytest.raises(Failed) as refused:
        merge_pages(session, paths, into)
    assert refused.value.code == code
    assert files(root) == before


def test_labels_that_pages_define_differently_are_named(root: Path, session: Session) -> None:
    page(root, "A.md", "a[^1]\n\n[^1]: one\n")
    page(root, "B.md", "b[^1]\n\n[^1]: two\n")
    assert merge_pages(session, ["B"], "A").warnings == ("Several of the pages define [^1], and not alike.",)


def test_the_preview_names_every_file_and_changes_nothing(root: Path, session: Session) -> None:
    before = fill(root)
    preview = merge_pages.preview(session, ["Work/Beta", "Gamma"], "All")
    assert files(root) == before
    assert {"All.md", "Gamma.md", "Work/Beta/_index.md", "Links.md", "Work/Beta/assets/b.png"} <= set(preview.bases)
    assert preview.bases["All/Child.md"] == ""
    assert preview.lines[:2] == ("Work/Beta/_index.md -> trash", "Gamma.md -> trash")


def test_a_merge_in_a_draft_is_the_same_when_that_is_applied(root: Path, session: Session) -> None:
    before = fill(root)
    with draft_in(session) as draft:
        merged = merge_pages(draft.session, ["Work/Beta", "Gamma.md"], "All")
        assert "### Steps" in read_page(draft.session, "All").content
        assert files(root) == before
        applied = apply_changes(session, draft.facts.id)
        assert (applied.created, applied.moved, applied.deleted) == (0, 5, 2)
    assert read_page(session, "All").digest == merged.digest
    assert restore_page(session, merged.merged["Gamma.md"]).path == "Gamma.md"


def test_a_page_that_somebody_saves_at_that_moment_hinders_all(
    root: Path, session: Session, save_at_that_moment: Save
) -> None:
    before = fill(root)
    save_at_that_moment("Gamma.md", "saved")
    with pytest.raises(Failed) as refused:
        merge_pages(session, ["Work/Beta", "Gamma"], "All")
    assert refused.value.code == "CONFLICT"
    assert files(root) == {**before, "Gamma.md": "saved"}
    assert events(root) == []


def merge_in(root: Path) -> None:
    with session_in(root) as session:
        merge_pages(session, ["Work/Beta", "Gamma"], "All")


def test_a_merge_that_is_killed_at_any_call_is_all_there_or_not_at_all(tmp_path: Path) -> None:
    outcomes = set()
    for number in range(1, 400, 6):
        root = tmp_path / str(number) / "acme"
        before = fill(root)
        killed = killed_at(number, root, merge_in)
        with session_in(root, "mcp-next") as session, session.writing():
            pass
        is_merged = "Gamma.md" not in files(root)
        assert is_merged == ("All/assets/b.png" in files(root)) == ("Work/Beta/Child.md" not in files(root))
        assert is_merged or files(root) == before
        outcomes.add(is_merged)
        if not killed:
            break
    assert outcomes == {True, False}
