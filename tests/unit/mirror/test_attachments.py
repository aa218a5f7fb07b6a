import json
from pathlib import Path
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mirrord.domain.entry import EntryId, Kind, Place, Row
from mirrord.errors import Damaged
from mirrord.mirror.tree.ignore_rules import (
    ATTACH_EVERYTHING,
    VAULT_SETTINGS_PATH,
    AttachmentRules,
    Ignore,
    parse_vault_rule,
)
from mirrord.mirror.tree.tenant_tree import Tree
from mirrord.mirror.tree.tree_layout import Spot, attachment_path, is_beside, page_path, spot_of_file
from mirrord.mirror.tree.tree_scan import scan
from mirrord.sync.observation.row_names import names_for
from mirrord.sync.writing.target_paths import directory_above, path_in

NAMES = st.one_of(
    st.text("aA.~#_/$- é4913", min_size=1, max_size=8),
    st.sampled_from(["assets", "_index", "photo.png", "x.md", "X.MD", "x.tmp", "./photo.png", "~$x", "#a#", ".", ".."]),
)
PATHS = st.lists(NAMES, min_size=1, max_size=4).map("/".join)


def taken(setting: object, *paths: str) -> set[str]:
    rule = parse_vault_rule(json.dumps({"attachmentFolderPath": setting}))
    return {path for path in paths if AttachmentRules(vault=rule).is_attachment(path)}


def row(kind: Kind, name: str) -> Row:
    return Row(EntryId(UUID(int=7)), kind, Place(None, name, False), False, 1, None, False)


@given(PATHS)
def test_the_spot_of_a_file_leads_back_to_its_path(path: str) -> None:
    spot = spot_of_file(path)
    if spot is None:
        return
    if spot.kind is Kind.ATTACHMENT:
        assert attachment_path(spot.folder, spot.name) == path
        assert directory_above(path, spot.kind, index=False) == spot.folder
    else:
        assert page_path(spot.folder, spot.name, spot.index) == path


@given(st.sampled_from(["", "A", "A/B", "assets2/x"]), NAMES, st.booleans())
def test_whatever_an_app_calls_an_attachment_its_path_has_one_spot_that_says_the_same(
    folder: str, wanted_path: str, beside: bool
) -> None:
    wanted_path = f"./{wanted_path}" if beside else wanted_path
    for name in (path for path, _ in zip(names_for(row(Kind.ATTACHMENT, wanted_path)), range(3), strict=False)):
        path = path_in(folder, Kind.ATTACHMENT, Place(None, name, False))
        assert spot_of_file(path) == Spot(Kind.ATTACHMENT, folder, name)
        assert name.startswith("./") is wanted_path.startswith("./")


@pytest.mark.parametrize(
    ("setting", "paths"),
    [
        ("/", {"a.png", "B.PDF"}),
        ("", {"a.png", "B.PDF"}),
        ("./", {"a.png", "B.PDF", "Daily/a.jpg", "files/c.mov", "Daily/pics/b.png", "deep/Daily/pics/d.webp"}),
        (".", {"a.png", "B.PDF", "Daily/a.jpg", "files/c.mov", "Daily/pics/b.png", "deep/Daily/pics/d.webp"}),
        ("./pics", {"Daily/pics/b.png", "deep/Daily/pics/d.webp", "pics/x.canvas"}),
        ("pics", {"pics/x.canvas"}),
        ("/files/", {"files/c.mov", "files/deep/d.zip"}),
        ("Daily/pics", {"Daily/pics/b.png"}),
        (".hidden", set()),
        ("../out", set()),
        (7, set()),
        (None, set()),
        (["pics"], set()),
    ],
)
def test_where_obsidian_puts_attachments_files_are_taken_in(setting: object, paths: set[str]) -> None:
    every: tuple[str, ...] = (
        "a.png",
        "B.PDF",
        "a.canvas",
        "Daily/a.jpg",
        "Daily/b.base",
        "files/c.mov",
        "files/deep/d.zip",
    )
    every += (
        "Daily/b.base",
        "files/deep/d.zip",
        "Daily/pics/b.png",
        "deep/Daily/pics/d.webp",
        "pics/x.canvas",
        "a.png.md",
    )
    assert taken(setting, *every) == paths


def test_a_vault_that_says_nothing_keeps_attachments_in_its_root(tree: Tree, root: Path) -> None:
    assert not AttachmentRules.load(tree).is_attachment("a.png")

    (root / ".obsidian").mkdir()
    assert AttachmentRules.load(tree).is_attachment("a.png")

    (root / VAULT_SETTINGS_PATH).write_text('{"alwaysUpdateLinks": true}', encoding="utf-8-sig")
    assert AttachmentRules.load(tree).is_attachment("a.png")
    assert not AttachmentRules.load(tree).is_attachment("Daily/a.png")


@pytest.mark.parametrize(
    "data", [b"", b"{", b"[]", b'"x"', b"\xff\xfe", b"[" * 100_000, b'{"attachmentFolderPath": {}}']
)
def test_settings_that_mean_nothing_stop_nothing(tree: Tree, root: Path, data: bytes) -> None:
    (root / ".obsidian").mkdir()
    (root / VAULT_SETTINGS_PATH).write_bytes(data)

    assert not AttachmentRules.load(tree).is_attachment("a.png")


@pytest.mark.parametrize("make", ["directory", "link"])
def test_settings_that_are_no_file_stop_nothing(tree: Tree, root: Path, tmp_path: Path, make: str) -> None:
    if make == "directory":
        (root / VAULT_SETTINGS_PATH).mkdir(parents=True)
    else:
        (root / ".obsidian").symlink_to(tmp_path)
    assert not AttachmentRules.load(tree).is_attachment("a.png")


def test_patterns_are_those_of_gitignore_and_a_list_without_the_vault_leaves_it_out(root: Path) -> None:
    (root / ".obsidian").mkdir()
    rules = AttachmentRules.load(Tree(root, ("*.png", "files/", "!secret.png", "/top.pdf")))

    assert [path for path in ("a.png", "A/b.png", "A/files/x/y.zip", "top.pdf") if not rules.is_attachment(path)] == []
    assert [
        path for path in ("secret.png", "A/top.pdf", "a.jpg", "files", "files/x.md") if rules.is_attachment(path)
    ] == []
    assert AttachmentRules.load(Tree(root, ("*.png", ".obsidian"))).is_attachment("a.jpg")
    with pytest.raises(Damaged, match="attachments"):
        AttachmentRules(["!"])


def test_what_is_ignored_temporary_or_hidden_is_never_an_attachment(tree: Tree, root: Path) -> None:
    (root / "drafts").mkdir()
    for name in ("a.png", "drafts/b.png", ".c.png", "d.png~", "e.tmp", "UPPER.MD"):
        (root / name).write_bytes(b"x")

    scanned = scan(tree, Ignore("drafts/\n", ATTACH_EVERYTHING))

    assert scanned.files.keys() == {"a.png"}
    assert "drafts/b.png" in scanned.ignored


def test_strangers_are_counted_by_their_endings_but_for_what_is_ignored(tree: Tree, root: Path) -> None:
    for name in ("b.png", "a.png", "A.canvas", "LICENSE", "x.markdown", "x.md", "node/y.png", ".hidden.png"):
        (root / name).parent.mkdir(exist_ok=True)
        (root / name).write_bytes(b"x")

    scanned = scan(tree, Ignore("node/\n"))

    assert scanned.untaken.as_facts() == {
        "files": 5,
        "endings": {".png": 2, ".canvas": 1, "": 1, ".markdown": 1},
        "example": "A.canvas",
    }
    assert not any(scanned.proves_absent(path) for path in ("a.png", "node/y.png"))
    assert spot_of_file("a.png") is not None
    assert is_beside(Spot(Kind.ATTACHMENT, "", "./a.png"))
