"""Trees from anywhere come into a mirror: what it lacks, never over what is there, and no link is followed."""

import os
from pathlib import Path

import pytest

from mirrord.commands.core.failure import Failed
from mirrord.commands.core.session import Session
from mirrord.commands.pages.tree_import import ImportOutcome, import_tree
from mirrord.commands.pages.tree_import_preview import DuplicateId, TreeSurvey, survey_tree
from mirrord.domain.entry import new_id
from mirrord.domain.long_work import ignore_progress
from mirrord.mirror.tree import kernel
from mirrord.mirror.tree.tenant_tree import Tree
from tests.unit.commands.conftest import AGENT, TENANT, page
from tests.unit.kills import killed_at

VAULT = {
    "Home.md": "# Home\n![[map.png]]\n",
    "Home/_index.md": "beside it\n",
    "Work/_index.md": "work\r\n",
    "Work/Plan.md": "plan\n",
    "Work/assets/deep/plan.png": "PNG",
    "Work/map.png": "PNG beside its page",
    "Work/draft.private.md": "mine\n",
    "Work/.trash/Old.md": "old\n",
    ".obsidian/app.json": "{}",
    ".git/HEAD": "ref",
    ".mirrorignore": "*.private.md\n",
    ".mirrord-export/manifest.json": "{}",
    "Read me": "x",
    "Plan.md~": "x",
    ".records/categories/reading.yaml": "name: reading\n",
    ".records/events/2026-01-31.here.jsonl": "{}\n",
    "Latin.md": "",
}


TAKEN = ("Work/_", "Work/P", "Work/a")  # how paths of what is in that folder, and is synced, begin


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    root = tmp_path / "vault"
    for path, text in VAULT.items():
        page(root, path, text)
    (root / "Latin.md").write_bytes(b"caf\xe9")
    (root / "Empty/Deeper").mkdir(parents=True)
    (root / "Link.md").symlink_to("/etc/passwd")
    (root / "Linked").symlink_to(tmp_path)
    os.mkfifo(root / "Pipe.md")
    return root


def look(session: Session, root: Path, into: str = "") -> TreeSurvey:
    source = Tree(root)
    try:
        return survey_tree(session, source, into, ignore_progress)
    finally:
        source.close()


def bring(session: Session, root: Path, into: str = "") -> tuple[TreeSurvey, ImportOutcome]:
    source = Tree(root)
    try:
        surveyed = survey_tree(session, source, into, ignore_progress)
        return surveyed, import_tree(session, source, surveyed, ignore_progress)
    finally:
        source.close()


def shown(root: Path) -> dict[str, bytes | None]:
    """All but what is mirrord's own; None: a directory."""
    paths = {path.relative_to(root).as_posix(): path for path in root.rglob("*")}
    return {
        name: path.read_bytes() if path.is_file() else None
        for name, path in paths.items()
        if not name.startswith(".mirrord")
    }


def test_a_vault_comes_in_and_what_does_not_is_told(session: Session, root: Path, vault: Path) -> None:
    surveyed, carried = bring(session, vault)

    files = {path: file for path, file in shown(root).items() if file is not None}
    names = "Home.md Work/_index.md Work/Plan.md Work/assets/deep/plan.png .records/categories/reading.yaml".split()
    assert files == {name: VAULT[name].encode() for name in names}
    assert (root / "Empty/Deeper").is_dir()
    assert (carried.imported_count, carried.differing, carried.omissions) == (5, [], [])
    assert {omission.path for omission in surveyed.omissions} == {"Latin.md", "Link.md", "Linked", "Pipe.md"}
    assert [page.path for page in surveyed.differing] == ["Home/_index.md"]  # the page Home already
    assert surveyed.ignored_counts == {"hidden": 5, ".png": 1, "ignored": 1, "without ending": 1, "unfinished": 1}
    assert list((root / ".mirrord/tmp/mcp-0").iterdir()) == []


def test_a_second_import_finds_everything_there(session: Session, root: Path, vault: Path) -> None:
    bring(session, vault)
    before = shown(root)

    surveyed, carried = bring(session, vault)

    assert (surveyed.new, surveyed.folders, surveyed.same, carried.imported_count) == ([], [], 5, 0)
    assert shown(root) == before


def test_looking_changes_nothing(session: Session, root: Path, vault: Path) -> None:
    surveyed = look(session, vault)

    assert (len(surveyed.new), surveyed.same) == (5, 0)
    assert list(root.iterdir()) == []


def test_nothing_in_the_mirror_is_overwritten_nor_doubled_under_a_name_that_reads_alike(
    session: Session, root: Path, vault: Path
) -> None:
    ours = {"Work/Plan.md": "ours\n", "HOME.md": "ours\n", "empty/_index.md": "ours\n", "Latin.md": "ours\n"}
    for path, text in ours.items():
        page(root, path, text)

    surveyed, carried = bring(session, vault)

    assert {item.path for item in surveyed.differing} >= {"Work/Plan.md", "Home.md", "Home/_index.md", "Latin.md"}
    assert {item.path for item in surveyed.differing} >= {"Empty", "Empty/Deeper"}
    assert carried.imported_count == 3
    assert {path: (root / path).read_text() for path in ours} == ours
    assert not (root / "Empty").exists()


def test_a_tree_may_go_into_a_folder_and_records_go_where_they_belong(
    session: Session, root: Path, vault: Path
) -> None:
    bring(session, vault, "From/Vault")

    assert (root / "From/Vault/Work/Plan.md").is_file()
    assert (root / ".records/categories/reading.yaml").is_file()
    assert not (root / "From/Vault/.records").exists()


@pytest.mark.parametrize("into", ["../out", "/etc", ".mirrord", "a/assets", "a//b"])
def test_a_folder_that_can_be_none_is_refused(session: Session, vault: Path, into: str) -> None:
    with pytest.raises(Failed):
        look(session, vault, into)


def test_what_the_mirror_ignores_stays_out(session: Session, root: Path, vault: Path) -> None:
    page(root, ".mirrorignore", "Work/\n")

    surveyed, carried = bring(session, vault)

    assert carried.imported_count == 2
    assert surveyed.ignored_counts["ignored"] == 4
    assert not (root / "Work").exists()


def test_pictures_beside_pages_come_in_with_the_setting_that_makes_them_attachments(
    session: Session, root: Path, vault: Path
) -> None:
    page(vault, "photo.png", "picture")
    page(vault, "Work/board.canvas", "{}")

    surveyed, carried = bring(session, vault)
    assert (root / "photo.png").read_bytes() == b"picture"
    assert (root / ".obsidian/app.json").read_bytes() == b"{}"
    assert not (root / "Work/board.canvas").exists()
    assert (carried.imported_count, surveyed.ignored_counts[".canvas"]) == (7, 1)
    assert not look(session, vault).new


def test_where_the_mirror_has_its_own_setting_that_decides(session: Session, root: Path, vault: Path) -> None:
    page(root, ".obsidian/app.json", '{"attachmentFolderPath": "Media"}')
    page(vault, "photo.png", "picture")
    page(vault, "Media/photo.png", "picture")

    surveyed, _ = bring(session, vault)
    assert not (root / "photo.png").exists()
    assert (root / "Media/photo.png").exists()
    assert surveyed.ignored_counts[".png"] == 2


def test_copies_of_pages_are_told(session: Session, vault: Path) -> None:
    entry, other = new_id(), new_id()
    for path, page_id in (("B.md", entry), ("A.md", entry), ("C.md", other), ("D.md", "my own key")):
        page(vault, path, f"---\nid: {page_id}\n---\n")

    assert look(session, vault).copies == [DuplicateId("B.md", "A.md")]


def test_too_large_a_file_is_left(session: Session, vault: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mirrord.commands.pages.tree_import_preview.MAX_FILE_BYTES", 4)

    assert {omission.path for omission in look(session, vault).omissions} > {"Home.md", "Work/Plan.md"}


def test_what_changes_between_the_look_and_the_import_overwrites_nothing(
    session: Session, root: Path, vault: Path
) -> None:
    source = Tree(vault)
    surveyed = survey_tree(session, source, "", ignore_progress)
    page(root, "Home.md", "saved meanwhile\n")
    page(root, "Work/Plan.md", VAULT["Work/Plan.md"])
    (vault / "Work/_index.md").unlink()

    carried = import_tree(session, source, surveyed, ignore_progress)

    source.close()
    assert (carried.imported_count, carried.same) == (2, 1)
    assert [item.path for item in carried.differing] == ["Home.md"]
    assert [omission.path for omission in carried.omissions] == ["Work/_index.md"]
    assert (root / "Home.md").read_text() == "saved meanwhile\n"


def test_a_link_in_the_mirror_leads_nowhere(session: Session, root: Path, vault: Path, tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (root / "Work").symlink_to(tmp_path / "outside")

    surveyed, carried = bring(session, vault)

    assert {omission.path for omission in (*surveyed.omissions, *carried.omissions)} >= {
        "Work/Plan.md",
        "Work/_index.md",
    }
    assert list((tmp_path / "outside").iterdir()) == []


def test_a_full_disk_is_told_and_the_next_import_goes_on(
    session: Session, root: Path, vault: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mirrord.commands.pages.tree_import._BATCH_FILES", 2)
    original, calls = kernel.write, [0]

    def full(descriptor: int, data: bytes) -> None:
        calls[0] += 1
        if calls[0] == 4:
            raise OSError(28, os.strerror(28))
        original(descriptor, data)

    monkeypatch.setattr(kernel, "write", full)
    with pytest.raises(Failed, match=r"full.*2 of 5 files are in the mirror"):
        bring(session, vault)

    surveyed, carried = bring(session, vault)

    assert (surveyed.same, carried.imported_count, carried.omissions) == (2, 3, [])


def test_killed_at_any_call_the_next_import_goes_on(tmp_path: Path, vault: Path) -> None:
    def act(root: Path) -> None:
        session = Session(Tree(root), "acme", TENANT, AGENT, f"cli-{new_id()}")
        bring(session, vault)
        with session.writing():  # whoever writes next clears up after the dead
            pass
        session.close()

    number = 0
    while True:
        number += 1
        root = tmp_path / f"run-{number}"
        root.mkdir()
        was_killed = killed_at(number, root, act)
        act(root)
        files = {path for path, data in shown(root).items() if data is not None}
        assert files == {"Home.md", *(path for path in VAULT if path.startswith((*TAKEN, ".records/c")))}
        assert list((root / ".mirrord/tmp").glob("*/*")) == []
        if not was_killed:
            break
    assert number > 20
