"""An approval does what its preview said, or a person is asked again: bases name all that the outcome depends on."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from mirrord.commands.command_registry import COMMANDS
from mirrord.commands.core.failure import Failed
from mirrord.commands.core.session import Session
from mirrord.domain.approval import Preview
from mirrord.research.sources.file_imports import import_file
from mirrord.research.sources.folder_commands import create_folder, rename_folder
from mirrord.research.sources.source_listing import read_holdings
from tests.unit.commands.conftest import Open, page

Change = Callable[[Path, Session], object]
IMPORT: dict[str, object] = {"path": "Interview.txt"}


@pytest.fixture
def session(connect: Open, tmp_path: Path) -> Session:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "Interview.txt").write_text("Ana: Hi.\n")
    (outside / "Same.txt").write_text("Ana: Hi.\n")
    return connect(attach_from=(outside,))


def call_after(session: Session, name: str, arguments: dict[str, object], change: Callable[[], object]) -> object:
    """Approve a preview, make *change*, and run the command as approved."""
    approved = COMMANDS[name].preview(session, **arguments)
    change()
    return COMMANDS[name].call(session, arguments, check=partial(check_same_bases, approved))


def check_same_bases(approved: Preview, preview: Preview) -> None:
    if preview.bases != approved.bases:
        raise Failed("STALE", "conflict", "Another preview was approved.", "Ask again.")


def take_the_name(root: Path, _: Session) -> None:
    page(root, "Sources/Interview.md", "of another program\n")


def take_the_name_of_the_original(root: Path, _: Session) -> None:
    page(root, "Sources/assets/Interview.txt", "of another program\n")


def import_the_same_bytes(_: Path, session: Session) -> None:
    import_file(session, "Same.txt")


def change_the_file(_: Path, session: Session) -> None:
    (session.attach_from[0] / "Interview.txt").write_text("Ben: Bye.\n")


def make_the_directory_of_the_pictures(root: Path, _: Session) -> None:
    (root / "Sources/assets/Interview").mkdir(parents=True)


@pytest.mark.parametrize(
    "change",
    [
        take_the_name,
        take_the_name_of_the_original,
        import_the_same_bytes,
        change_the_file,
        make_the_directory_of_the_pictures,
    ],
)
def test_an_import_is_asked_for_again_if_another_one_than_previewed_would_be_made(
    root: Path, session: Session, change: Change
) -> None:
    with pytest.raises(Failed, match="Another preview"):
        call_after(session, "import_file", IMPORT, partial(change, root, session))


def test_an_import_is_asked_for_again_if_the_source_of_the_same_bytes_is_gone(root: Path, session: Session) -> None:
    earlier = root / import_file(session, "Same.txt").path
    with pytest.raises(Failed, match="Another preview"):
        call_after(session, "import_file", IMPORT, earlier.unlink)


def test_an_import_is_asked_for_again_if_its_folder_has_another_name(session: Session) -> None:
    folder = create_folder(session, "Talks").folder_id
    with pytest.raises(Failed, match="Another preview"):
        call_after(
            session, "import_file", {**IMPORT, "folder_id": folder}, partial(rename_folder, session, folder, "Words")
        )


def test_an_import_does_not_depend_on_other_sources(root: Path, session: Session) -> None:
    call_after(session, "import_file", IMPORT, lambda: page(root, "Sources/Other.md", "---\ntype: source\n---\n"))
    assert (root / "Sources/Interview.md").exists()


def test_a_folder_is_renamed_as_previewed_or_a_person_is_asked_again(root: Path, session: Session) -> None:
    folder = create_folder(session, "Talks").folder_id
    index = root / "Sources/Talks/_index.md"
    with pytest.raises(Failed, match="Another preview"):
        call_after(
            session,
            "rename_folder",
            {"folder_id": folder, "new_name": "Words"},
            lambda: index.write_text(index.read_text().replace("title: Talks", "title: Speeches")),
        )
    assert index.exists()


def test_a_folder_that_moved_since_its_preview_is_not_renamed(root: Path, session: Session) -> None:
    above = create_folder(session, "Above").folder_id
    folder = create_folder(session, "Talks", above).folder_id
    arguments: dict[str, object] = {"folder_id": folder, "new_name": "Words"}
    with pytest.raises(Failed, match="Another preview"):
        call_after(session, "rename_folder", arguments, partial(rename_folder, session, above, "Below"))
    assert (root / "Sources/Below/Talks/_index.md").exists()


def test_a_folder_that_got_a_page_since_its_preview_is_not_renamed(root: Path, session: Session) -> None:
    page(root, "Sources/Talks/One.md", "---\ntype: source\n---\n")
    (folder,) = read_holdings(session).folders
    arguments: dict[str, object] = {"folder_id": folder.number, "new_name": "Words"}
    text = f"---\nid: {folder.entry}\n---\nThe talks.\n"
    with pytest.raises(Failed, match="Another preview"):
        call_after(session, "rename_folder", arguments, lambda: page(root, "Sources/Talks/_index.md", text))
    assert (root / "Sources/Talks/_index.md").exists()
