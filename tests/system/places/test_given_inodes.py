"""Tools that delete and create give inodes round: git, `cp -r` and `rm -r`. An oracle knows which text was whose."""

import shutil
from pathlib import Path
from uuid import UUID

import pytest

from tests.system.editors import run
from tests.system.mirrors import Mirror


def texts(count: int, folder: str) -> dict[str, str]:
    return {f"{folder}/D{number:03}.md": f"# Page {number}\n\nIts own line {number}.\n" for number in range(count)}


def owners(mirror: Mirror) -> dict[str, UUID]:
    """Which page has which text."""
    return {text: mirror.page(path).id for path, text in mirror.rows().items() if text is not None}


def git(root: Path, *words: str) -> None:
    run("git", "-c", "user.name=n", "-c", "user.email=n@example.org", *words, directory=root)


def dirt(root: Path) -> list[str]:
    git(root, "add", "--all", "--intent-to-add", ".")
    run("git", "diff", "--exit-code", directory=root)
    return []


def start_repository(mirror: Mirror, count: int) -> None:
    git(mirror.root, "init", "-q", "-b", "master")
    (mirror.root / ".git/info/exclude").write_text("/.*\n")
    mirror.write(texts(count, "docs"))
    git(mirror.root, "add", ".")
    git(mirror.root, "commit", "-qm", "one")


@pytest.mark.parametrize("count", [10, 20, 30, 300])
async def test_git_moves_pages_and_no_page_gets_another_ones_id(mirror: Mirror, count: int) -> None:
    start_repository(mirror, count)
    await mirror.settle()
    before = owners(mirror)
    git(mirror.root, "checkout", "-qb", "branch")
    git(mirror.root, "mv", "docs", "handbook")
    mirror.write({f"handbook/New{number}.md": f"new {number} of the branch\n" for number in range(5)})
    git(mirror.root, "add", ".")
    git(mirror.root, "commit", "-qm", "two")
    await mirror.settle()
    assert owners(mirror).items() >= before.items()
    for branch in ("master", "branch", "master"):
        git(mirror.root, "checkout", "-q", branch)
        expected = mirror.files()
        await mirror.settle()
        assert mirror.files() == expected
        assert owners(mirror).items() >= before.items()
        assert dirt(mirror.root) == []


@pytest.mark.parametrize("count", [11, 30, 300])
async def test_a_folder_deleted_and_copied_back_under_another_name_keeps_its_ids(
    mirror: Mirror, tmp_path: Path, count: int
) -> None:
    mirror.write(texts(count, "old"))
    await mirror.settle()
    before = owners(mirror)
    shutil.copytree(mirror.root / "old", tmp_path / "copy")
    shutil.rmtree(mirror.root / "old")
    (tmp_path / "copy/D000.md").unlink()
    run("cp", "-r", str(tmp_path / "copy"), str(mirror.root / "new"))
    expected = mirror.files()
    await mirror.settle()
    assert mirror.files() == expected
    assert owners(mirror).items() <= before.items()
    assert len(owners(mirror)) == count - 1


async def test_a_new_page_made_right_after_a_deletion_is_not_the_deleted_one(mirror: Mirror) -> None:
    mirror.write({"Old.md": "# Salaries\n\nA secret list of salaries.\n"})
    await mirror.settle()
    (old,) = mirror.ids("Old")
    (mirror.root / "Old.md").unlink()
    mirror.write({"New.md": "# Shopping\n\nBread, milk and apples.\n"})
    await mirror.settle()
    assert mirror.ids("New") != [old]


async def test_a_file_that_mirrord_wrote_and_somebody_renamed_and_rewrote_stays_that_page(mirror: Mirror) -> None:
    mirror.write({"Plan.md": "# Plan\n\nWe sow in spring.\n"})
    await mirror.settle()
    (page,) = mirror.ids("Plan")
    mirror.app.execute("UPDATE mirrord.page SET markdown = 'Written by an app.' WHERE id = %s", [page])
    await mirror.settle()
    mirror.rename(("Plan.md", "Other.md"))
    mirror.write({"Other.md": "Nothing of it is left.\n"})
    await mirror.settle()
    assert mirror.ids("Other") == [page]
