"""
git, cp, rm and unzip on a mirrored tree: pages keep their ids, files their names, and the work tree is clean.

The oracle knows which text was whose: every page has a line that no other page has.
"""

import shutil
import subprocess
import zipfile
from collections.abc import Iterator
from pathlib import Path
from uuid import UUID

import pytest

from mirrord.commands.pages import delete_commands
from tests.support.agents import agent
from tests.support.commands import Near
from tests.support.editors import save
from tests.support.harness import Mirrord, eventually
from tests.support.trees import tree

FEW, MANY = 12, 300  # pages


@pytest.fixture
def mirrord(admin_dsn: str, tmp_path: Path) -> Iterator[Mirrord]:
    with Near(tmp_path, tenant=f"tree-{tmp_path.name[-40:].lower().replace('_', '-')}"[:50], dsn=admin_dsn) as started:
        started.up()
        yield started


def text_of(number: int) -> str:
    return f"# Note {number}\n\nOnly note {number} says wood{number:05}.\n\nLike every note.\n"


def write_notes(directory: Path, count: int, first: int = 0) -> None:
    for number in range(first, first + count):
        directory.mkdir(parents=True, exist_ok=True)
        save(directory / f"D{number:03}.md", text_of(number))


def ids(mirrord: Mirrord) -> dict[str, UUID]:
    """The id of every living page by its text, once every file has its row."""
    mirrord.flush()
    files = {path for path in tree(mirrord.root) if path.endswith(".md")}

    def found() -> dict[str, UUID] | None:
        rows = mirrord.app.execute(
            "SELECT markdown, id FROM mirrord.page WHERE deleted_at IS NULL AND kind = 'page' AND markdown IS NOT NULL"
        ).fetchall()
        return dict(rows) if len(rows) == len(files) else None

    return eventually(found, "as many pages as files")


def ids_of_copies(mirrord: Mirrord, count: int) -> set[UUID]:
    """The ids of all living pages, once there are *count*."""

    def found() -> set[UUID] | None:
        rows = mirrord.app.execute("SELECT id FROM mirrord.page WHERE deleted_at IS NULL AND kind = 'page'").fetchall()
        return {id_ for (id_,) in rows} if len(rows) == count else None

    return eventually(found, f"{count} pages")


def ids_by_folder(mirrord: Mirrord) -> dict[str, UUID]:
    """The ids of all living pages by the name of their folder."""
    rows = mirrord.app.execute(
        "SELECT folder.name, page.id FROM mirrord.page JOIN mirrord.page AS folder ON folder.id = page.parent_id "
        "WHERE page.deleted_at IS NULL AND page.kind = 'page'"
    )
    return dict(rows.fetchall())


def attachments(mirrord: Mirrord) -> dict[bytes, UUID]:
    """The id of every living attachment by its digest."""
    mirrord.flush()
    rows = mirrord.app.execute("SELECT digest, id FROM mirrord.attachment WHERE deleted_at IS NULL").fetchall()
    return {bytes(digest): id_ for digest, id_ in rows}


def git(mirrord: Mirrord, *words: str) -> str:
    git_options = ["-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "core.excludesFile=/dev/null"]
    completed = subprocess.run(["git", *git_options, *words], cwd=mirrord.root, capture_output=True, text=True)
    assert completed.returncode == 0, completed.stderr
    return completed.stdout


def begin_repository(mirrord: Mirrord, count: int) -> dict[str, UUID]:
    """A repository whose work tree is the mirrored tree; the ids of its pages."""
    (mirrord.root / ".gitignore").write_text(".mirrord\n")
    write_notes(mirrord.root / "docs", count)
    git(mirrord, "init", "-q", "-b", "main")
    commit(mirrord)
    return ids(mirrord)


def commit(mirrord: Mirrord) -> None:
    git(mirrord, "add", "-A")
    git(mirrord, "commit", "-q", "-m", "notes")


def same_pages(before: dict[str, UUID], after: dict[str, UUID]) -> bool:
    return {text: after.get(text) for text in before} == before


@pytest.mark.parametrize("count", [FEW, 20, 30, MANY])
def test_a_branch_with_a_renamed_folder_and_new_files_keeps_every_id(mirrord: Mirrord, count: int) -> None:
    notes = begin_repository(mirrord, count)
    git(mirrord, "checkout", "-q", "-b", "handbook")
    git(mirrord, "mv", "docs", "handbook")
    write_notes(mirrord.root / "handbook", 5, first=count)
    commit(mirrord)
    assert same_pages(notes, ids(mirrord))

    for branch in ("main", "handbook", "main"):
        git(mirrord, "checkout", "-q", branch)
        assert same_pages(notes, ids(mirrord)), branch
        assert git(mirrord, "status", "--porcelain") == "", branch


def test_stash_and_rebase_keep_every_id(mirrord: Mirrord) -> None:
    notes = begin_repository(mirrord, FEW)
    git(mirrord, "checkout", "-q", "-b", "other")
    git(mirrord, "mv", "docs/D001.md", "docs/First.md")
    write_notes(mirrord.root / "more", 3, first=FEW)
    commit(mirrord)
    git(mirrord, "checkout", "-q", "main")
    write_notes(mirrord.root / "docs", 2, first=FEW + 3)
    commit(mirrord)
    save(mirrord.root / "docs/D002.md", text_of(2) + "\nAnd an edit.\n")
    git(mirrord, "stash", "-q")
    git(mirrord, "checkout", "-q", "other")
    git(mirrord, "rebase", "-q", "main")
    git(mirrord, "stash", "pop", "-q")
    edited = {text_of(2): text_of(2) + "\nAnd an edit.\n"}
    assert same_pages({edited.get(text, text): id_ for text, id_ in notes.items()}, ids(mirrord))
    assert git(mirrord, "status", "--porcelain") == " M docs/D002.md\n"


@pytest.mark.parametrize(("count", "fewer"), [(FEW, 0), (FEW, 1), (30, 1), (MANY, 1)])
def test_a_folder_that_was_removed_and_copied_back_elsewhere_keeps_every_id(
    mirrord: Mirrord, tmp_path: Path, count: int, fewer: int
) -> None:
    """The file system gives the numbers of the removed files to the new ones."""
    write_notes(mirrord.root / "old", count)
    notes = ids(mirrord)
    backup = tmp_path / "kept"
    shutil.copytree(mirrord.root / "old", backup)
    for number in range(fewer):
        (backup / f"D{number:03}.md").unlink()
    shutil.rmtree(mirrord.root / "old")
    shutil.copytree(backup, mirrord.root / "new", copy_function=shutil.copy)
    expected = {text: id_ for text, id_ in notes.items() if text not in map(text_of, range(fewer))}

    assert same_pages(expected, ids(mirrord))
    assert sorted(tree(mirrord.root)) == [f"new/D{number:03}.md" for number in range(fewer, count)]


@pytest.mark.parametrize("count", [FEW, MANY])
def test_a_folder_that_was_copied_and_then_removed_keeps_every_id(mirrord: Mirrord, count: int) -> None:
    """As rsync and Syncthing move: the copy is there, and has its rows, before the first file goes."""
    write_notes(mirrord.root / "old", count)
    write_notes(mirrord.root / "old/D001", 3, first=count)
    (mirrord.root / "old/D001/assets").mkdir()
    (mirrord.root / "old/D001/assets/plan.png").write_bytes(b"a picture")
    notes, pictures = ids(mirrord), attachments(mirrord)
    shutil.copytree(mirrord.root / "old", mirrord.root / "new", copy_function=shutil.copy)
    copied = ids_of_copies(mirrord, 2 * (count + 3))
    shutil.rmtree(mirrord.root / "old")
    eventually(lambda: ids(mirrord) == notes, "the pages to be those that were copied")

    assert attachments(mirrord) == pictures
    assert copied >= set(notes.values())
    assert sorted(path for path in tree(mirrord.root) if not path.endswith(".png")) == sorted(
        [f"new/D{number:03}.md" for number in range(count)]
        + [f"new/D001/D{number:03}.md" for number in range(count, count + 3)]
    )
    mirrord.flush()
    assert mirrord.check() == {}


def test_of_a_copy_that_was_edited_before_the_original_went_both_histories_stay(mirrord: Mirrord) -> None:
    write_notes(mirrord.root, 1)
    (original,) = ids(mirrord).values()
    shutil.copy(mirrord.root / "D000.md", mirrord.root / "Copy.md")
    mirrord.flush()
    save(mirrord.root / "Copy.md", text_of(0) + "\nAnd an edit.\n")
    eventually(lambda: text_of(0) + "\nAnd an edit.\n" in ids(mirrord), "the edit in its row")
    (mirrord.root / "D000.md").unlink()
    eventually(lambda: len(ids(mirrord)) == 1, "the original to be gone")
    assert original not in ids(mirrord).values()


def test_of_pages_that_came_with_one_text_nobody_takes_the_place_of_another(mirrord: Mirrord) -> None:
    with mirrord.frozen():
        for name in ("First", "Second", "Third"):
            save(mirrord.root / name / "Readme.md", "# Read me\n\nEvery folder has this page.\n")
    mirrord.flush()
    before = ids_by_folder(mirrord)
    (mirrord.root / "Second/Readme.md").unlink()
    eventually(lambda: len(ids_by_folder(mirrord)) == 2, "the page to be gone")
    assert ids_by_folder(mirrord) == {name: id_ for name, id_ in before.items() if name != "Second"}


def test_a_page_that_a_tool_deletes_is_deleted_though_there_is_a_copy(mirrord: Mirrord) -> None:
    write_notes(mirrord.root, 1)
    (original,) = ids(mirrord).values()
    shutil.copy(mirrord.root / "D000.md", mirrord.root / "Copy.md")
    (copy,) = ids_of_copies(mirrord, 2) - {original}
    with agent(mirrord) as session:
        delete_commands.delete_page(session, "D000.md")
    eventually(lambda: ids_of_copies(mirrord, 1) == {copy}, "the page to be gone, and its copy to stay itself")


def test_a_new_page_in_place_of_a_removed_one_is_another_page(mirrord: Mirrord) -> None:
    save(mirrord.root / "Old.md", "# Salaries\n\nThe secret list of salaries.\n")
    (old,) = ids(mirrord).values()
    (mirrord.root / "Old.md").unlink()
    (mirrord.root / "New.md").write_text("# Shopping\n\nBread, butter and cheese.\n")

    (new,) = ids(mirrord).values()

    assert new != old
    query = "SELECT count(*) FROM mirrord.page_revision WHERE page_id = %s AND markdown LIKE '%%salaries%%'"
    assert mirrord.app.execute(query, [new]).fetchone() == (0,)


def test_an_archive_unpacked_over_the_tree_keeps_every_id(mirrord: Mirrord, tmp_path: Path) -> None:
    write_notes(mirrord.root / "docs", FEW)
    notes = ids(mirrord)
    archive = tmp_path / "docs.zip"
    with zipfile.ZipFile(archive, "w") as packed:
        for path in (mirrord.root / "docs").iterdir():
            packed.write(path, f"docs/{path.name}")
    for number in range(3):
        (mirrord.root / f"docs/D{number:03}.md").rename(mirrord.root / f"docs/Moved {number}.md")
    assert same_pages(notes, ids(mirrord))
    moved = {text_of(number) for number in range(3)}
    with zipfile.ZipFile(archive) as zip_file:
        zip_file.extractall(mirrord.root)

    after = ids_by_path(mirrord)

    assert all(after[f"docs/Moved {number}"] == notes[text_of(number)] for number in range(3))
    assert all(after[f"docs/D{n:03}"] == notes[text_of(n)] for n in range(3, FEW))
    assert len(after) == FEW + len(moved)


def ids_by_path(mirrord: Mirrord) -> dict[str, UUID]:
    mirrord.flush()
    query = (
        "SELECT f.name || '/' || p.name, p.id FROM mirrord.page AS p JOIN mirrord.page AS f ON f.id = p.parent_id "
        "AND f.tenant_id = p.tenant_id WHERE p.deleted_at IS NULL"
    )
    return dict(mirrord.app.execute(query).fetchall())


def test_an_earlier_text_that_came_elsewhere_before_its_page_went_is_that_page(mirrord: Mirrord) -> None:
    """As `git stash` does with a page that was moved and edited: it writes the old file, and then removes the new."""
    save(mirrord.root / "docs/Plan.md", text_of(1))
    (page,) = ids(mirrord).values()
    (mirrord.root / "docs").rename(mirrord.root / "handbook")
    save(mirrord.root / "handbook/Plan.md", text_of(1) + "\nAnd an edit.\n")
    assert set(ids(mirrord).values()) == {page}
    save(mirrord.root / "docs/Plan.md", text_of(1))
    ids_of_copies(mirrord, 2)
    (mirrord.root / "handbook/Plan.md").unlink()
    eventually(lambda: ids(mirrord) == {text_of(1): page}, "the page to have its old text")
    assert sorted(tree(mirrord.root)) == ["docs/Plan.md"]
    assert mirrord.check() == {}


def test_a_page_from_the_template_of_one_that_went_is_another_page(mirrord: Mirrord) -> None:
    template = "# Meeting\n\nWho was there, and what was decided?\n"
    save(mirrord.root / "Monday.md", template)
    (monday,) = ids(mirrord).values()
    save(mirrord.root / "Monday.md", template + "\nAll of us; nothing.\n")
    ids(mirrord)
    save(mirrord.root / "Tuesday.md", template)
    ids_of_copies(mirrord, 2)
    (mirrord.root / "Monday.md").unlink()
    eventually(lambda: len(ids(mirrord)) == 1, "Monday to be gone")
    assert monday not in ids(mirrord).values()
