import pytest

from mirrord.domain.entry import Kind
from mirrord.mirror.tree.tree_layout import (
    Spot,
    attachment_path,
    directory_of,
    is_own_state,
    page_path,
    printable,
    spot_of_directory,
    spot_of_file,
)


@pytest.mark.parametrize(
    ("path", "spot"),
    [
        ("Welcome.md", Spot(Kind.PAGE, "", "Welcome")),
        ("Projects/Alpha.md", Spot(Kind.PAGE, "Projects", "Alpha")),
        ("Projects/_index.md", Spot(Kind.PAGE, "", "Projects", index=True)),
        ("A/B/_index.md", Spot(Kind.PAGE, "A", "B", index=True)),
        ("_index.md", Spot(Kind.PAGE, "", "_index")),
        ("Projects/assets/a/b.png", Spot(Kind.ATTACHMENT, "Projects", "a/b.png")),
        ("assets/notes.md", Spot(Kind.ATTACHMENT, "", "notes.md")),
        ("assets/assets/x.png", Spot(Kind.ATTACHMENT, "", "assets/x.png")),
        ("photo.png", Spot(Kind.ATTACHMENT, "", "./photo.png")),
        ("Daily/photos/a b.PNG", Spot(Kind.ATTACHMENT, "Daily/photos", "./a b.PNG")),
        ("assets", Spot(Kind.ATTACHMENT, "", "./assets")),
        ("4913/a.tmp/x~/y.md", Spot(Kind.PAGE, "4913/a.tmp/x~", "y")),
        ("-rf.md", Spot(Kind.PAGE, "", "-rf")),
        ("two\nlines.md", Spot(Kind.PAGE, "", "two\nlines")),
    ],
)
def test_a_synced_file_has_one_spot_and_the_spot_has_that_path(path: str, spot: Spot) -> None:
    assert spot_of_file(path) == spot

    again = attachment_path if spot.kind is Kind.ATTACHMENT else page_path
    assert again(spot.folder, spot.name, *([spot.index] if spot.kind is Kind.PAGE else [])) == path


@pytest.mark.parametrize(
    "path",
    [
        "",
        "Notes.MD",
        ".md",
        "..md",
        ".hidden.md",
        ".obsidian/x.md",
        ".mirrord/trash/x.md",
        ".records/approvals/x.md",
        "A/.git/x.md",
        "assets/.DS_Store",
        "assets/logo.svg~",
        "assets/4913",
        "assets/#logo.svg#",
        "assets/logo.svg.swp",
        "~$Report.md",
        "caf\udce9.md",
        "caf\udce9/x.md",
    ],
)
def test_other_files_have_none(path: str) -> None:
    assert spot_of_file(path) is None


def test_directories_are_folders_but_for_assets_and_dot_names() -> None:
    assert spot_of_directory("Projects/Work") == Spot(Kind.FOLDER, "Projects", "Work")
    assert spot_of_directory("Work") == Spot(Kind.FOLDER, "", "Work")
    for path in ("", "assets", "A/assets", "A/assets/deep", ".git", "A/.git"):
        assert spot_of_directory(path) is None


def test_children_live_in_the_directory_of_their_parent() -> None:
    assert directory_of("A/_index.md", Kind.PAGE) == "A"
    assert directory_of("A.md", Kind.PAGE) == "A"
    assert directory_of("B/A.md", Kind.PAGE) == "B/A"
    assert directory_of("_index.md", Kind.PAGE) == "_index"
    assert directory_of("B/A", Kind.FOLDER) == "B/A"


def test_own_state_is_known_whatever_the_case() -> None:
    assert is_own_state(".mirrord/trash/x")
    assert is_own_state(".Mirrord/x")
    assert not is_own_state("notes/.mirrord.md")


def test_a_name_that_is_not_utf_8_can_be_printed() -> None:
    assert printable("caf\udce9.md") == "caf\\xe9.md"
