"""Files are attached from where the operator allows, and never over others."""

import os
from pathlib import Path

import pytest

from mirrord.commands.command_registry import COMMANDS
from mirrord.commands.core.failure import Failed
from mirrord.commands.core.session import Session
from mirrord.commands.pages.attachment_commands import add_attachment
from mirrord.domain.entry import digest_of
from tests.unit.commands.conftest import Open, events, page


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    directory = tmp_path / "outside"
    directory.mkdir()
    return directory


@pytest.fixture
def session(connect: Open, outside: Path, root: Path) -> Session:
    page(root, "Projects/Alpha.md", "a")
    return connect(attach_from=(outside, root.parent.parent))


def test_a_picture_is_shown_and_another_file_is_linked(root: Path, session: Session, outside: Path) -> None:
    page(outside, "image.png", "picture")
    page(outside, "sub/My [notes].txt", "notes")
    first = add_attachment(session, "Projects/Alpha", str(outside / "image.png"))
    assert (first.relative_path, first.markdown_syntax) == ("./assets/image.png", "![](./assets/image.png)")
    assert first.digest == digest_of(b"picture").hex()
    assert (root / "Projects/assets/image.png").read_bytes() == b"picture"
    second = add_attachment(session, "Projects/Alpha", "sub/My [notes].txt")
    assert second.markdown_syntax == r"[My \[notes\].txt](./assets/My%20%5Bnotes%5D.txt)"
    (kind, data), _ = events(root)
    assert kind == "AttachmentAdded"
    assert (data["path"], data["size"]) == ("Projects/assets/image.png", 7)


def test_no_file_is_ever_overwritten_and_none_is_added_twice(root: Path, session: Session, outside: Path) -> None:
    page(root, "Projects/assets/Image.png", "another")
    page(outside, "image.png", "picture")
    paths = [add_attachment(session, "Projects/Alpha", "image.png").path for _ in range(2)]
    assert paths == ["Projects/assets/image-2.png"] * 2
    assert (root / "Projects/assets/Image.png").read_text() == "another"
    assert len(events(root)) == 1


def test_a_file_gets_the_name_asked_for(session: Session, outside: Path) -> None:
    page(outside, "image.png", "picture")
    assert add_attachment(session, "Projects/Alpha", "image.png", "b.png").path == "Projects/assets/b.png"
    for name in ("../b.png", ".b", "a/b", "", "b:c", "x\0y", "~$b"):
        with pytest.raises(Failed) as caught:
            add_attachment(session, "Projects/Alpha", "image.png", name)
        assert caught.value.code == "INVALID_NAME"


def test_only_what_lies_below_a_listed_directory_is_attached(
    root: Path, session: Session, outside: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    secret = page(elsewhere, "secret.txt", "secret")
    (outside / "link.txt").symlink_to(secret)
    (outside / "directory").symlink_to(elsewhere)
    os.mkfifo(outside / "pipe")
    paths = [str(secret), str(outside / "link.txt"), "directory/secret.txt", "../elsewhere/secret.txt", "pipe", "gone"]
    paths += [str(outside), "", "a\0b", str(root / ".mirrord/id"), str(root / "Projects/Alpha.md")]
    page(root, ".mirrord/id", "{}")
    for path in paths:
        with pytest.raises(Failed) as caught:
            add_attachment(session, "Projects/Alpha", path)
        assert str(outside) not in f"{caught.value} {caught.value.instruction}"
    assert not (root / "Projects/assets").exists()


def test_another_tenants_files_are_never_attached_but_own_attachments_are(root: Path, session: Session) -> None:
    page(root.parent, "other/assets/x.png", "theirs")
    page(root, "assets/x.png", "ours")
    with pytest.raises(Failed, match="cannot be attached"):
        add_attachment(session, "Projects/Alpha", str(root.parent / "other/assets/x.png"))
    assert add_attachment(session, "Projects/Alpha", str(root / "assets/x.png")).path == "Projects/assets/x.png"


def test_of_the_own_tree_files_beside_pages_are_attached_only_where_they_are_attachments(
    root: Path, session: Session
) -> None:
    page(root, "x.png", "ours")
    page(root, "secret.txt", "nobody's")
    with pytest.raises(Failed, match="cannot be attached"):
        add_attachment(session, "Projects/Alpha", str(root / "x.png"))

    page(root, ".obsidian/app.json", "{}")
    assert add_attachment(session, "Projects/Alpha", str(root / "x.png")).path == "Projects/assets/x.png"
    with pytest.raises(Failed, match="cannot be attached"):
        add_attachment(session, "Projects/Alpha", str(root / "secret.txt"))


def test_a_preview_refuses_a_place_where_nothing_is_synced_as_the_command_does(
    root: Path, session: Session, outside: Path
) -> None:
    page(outside, "image.png", "picture")
    page(root, ".mirrorignore", "*.png\n")
    for act in (COMMANDS["add_attachment"].preview, COMMANDS["add_attachment"]):
        with pytest.raises(Failed) as caught:
            act(session, page_path="Projects/Alpha", file_path="image.png")
        assert caught.value.code == "IGNORED"
