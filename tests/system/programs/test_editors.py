"""However a program saves: the page keeps its id, a save is one version, and nothing but pages becomes a page."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support import editors
from tests.support.commands import Near
from tests.support.editors import Save, run, save
from tests.support.entries import value
from tests.support.harness import Mirrord, eventually

SAVES = 3
EDITORS = {
    "vim": editors.vim("set backupcopy=no"),
    "vim that copies its backup": editors.vim("set backupcopy=yes"),
    "vim that keeps its backup": editors.vim("set backup backupcopy=no"),
    "sed": editors.sed,
    "emacs": editors.emacs,
    "nano": editors.nano,
    "code": editors.code,
    "code stepwise": editors.code_stepwise,
    "jetbrains": editors.jetbrains,
    "rsync": editors.rsync,
    "rsync in place": editors.rsync_inplace,
    "rsync delayed": editors.rsync_delayed,
}
TOOLS = {"vim", "sed"}  # are run themselves


@pytest.fixture(scope="module")
def mirrord(admin_dsn: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mirrord]:
    """One daemon for all tests of this module; at the end both sides are equal, and it wrote nothing by itself."""
    with Near(tmp_path_factory.mktemp("editors"), tenant="editors", dsn=admin_dsn) as started:
        started.up()
        yield started
        started.flush()
        assert started.check() == {}
        assert value(started.app, "SELECT count(*) FROM mirrord.conflict") == 0
        assert value(started.app, "SELECT count(*) FROM mirrord.page_revision WHERE markdown = ''") == 0


@pytest.mark.parametrize("name", EDITORS)
def test_every_save_is_one_version_of_the_same_page(mirrord: Mirrord, name: str) -> None:
    tool, directory = name.split()[0], name.replace(" ", "-")
    if tool in TOOLS and shutil.which(tool) is None:
        pytest.skip(f"{tool} is not on this machine")
    path = f"{directory}/Page.md"
    texts = [f"# Title {number}\n\nParagraph of save {number}, {'long ' * number}.\n" for number in range(SAVES + 1)]
    save(mirrord.file(path), texts[0])
    first = eventually(lambda: mirrord.page(path), "the first row")
    for text in texts[1:]:
        _save(EDITORS[name], mirrord.file(path), text)
        assert mirrord.text(path) == text, "the editor itself failed"
        eventually(lambda: _text(mirrord, path) == text, f"the row with {text!r}")  # noqa: B023
    page = mirrord.page(path)
    assert page is not None
    assert page.id == first.id
    query = "SELECT markdown FROM mirrord.page_revision WHERE page_id = %s ORDER BY version"
    assert [row[0] for row in mirrord.app.execute(query, [page.id])] == texts
    beside = "SELECT name FROM mirrord.page WHERE parent_id = %s"
    assert mirrord.app.execute(beside, [page.parent_id]).fetchall() == [("Page",)]


def _save(editor: Save, path: Path, text: str) -> None:
    editor(path, text)


def _text(mirrord: Mirrord, path: str) -> str | None:
    page = mirrord.page(path)
    return page.markdown if page else None


@pytest.mark.parametrize("files", [500, pytest.param(5_000, marks=[pytest.mark.slow, pytest.mark.timeout(600)])])
def test_git_takes_many_files_to_another_branch_and_back(mirrord: Mirrord, files: int) -> None:
    """Most files differ, one exists on one branch only; the ids stay, and each way is one version a file."""
    root = mirrord.file("git")
    root.mkdir()
    work = mirrord.directory / "work"
    git(work.parent, "init", "-q", "-b", "main", str(work))
    for number in range(files):
        (work / f"Page {number}.md").write_text(f"Page {number} of main\n")
    git(work, "add", "-A")
    git(work, "commit", "-q", "-m", "main")
    git(work, "checkout", "-q", "-b", "other")
    for number in range(files):
        (work / f"Page {number}.md").write_text(f"Page {number} of other\n")
    git(work, "commit", "-q", "-a", "-m", "other")
    inside = ("--git-dir", str(work / ".git"), "--work-tree", str(root))
    git(root, *inside, "checkout", "-q", "-f", "main")
    ids = _awaited(mirrord, files, "main")
    git(root, *inside, "checkout", "-q", "other")
    assert _awaited(mirrord, files, "other") == ids
    git(root, *inside, "checkout", "-q", "main")
    assert _awaited(mirrord, files, "main") == ids
    versions = "SELECT count(*) FROM mirrord.page_revision WHERE page_id = ANY (%s)"
    assert value(mirrord.app, versions, list(ids)) == 3 * files

    save(mirrord.file("git/Page 7.md"), "Edited\n")
    eventually(lambda: _text(mirrord, "git/Page 7.md") == "Edited\n", "the edit")
    git(root, *inside, "stash", "-q")
    eventually(lambda: _text(mirrord, "git/Page 7.md") == "Page 7 of main\n", "the text before the edit")
    git(root, *inside, "stash", "pop", "-q")
    eventually(lambda: _text(mirrord, "git/Page 7.md") == "Edited\n", "the edit again")
    assert value(mirrord.app, versions, list(ids)) == 3 * files + 3


def _awaited(mirrord: Mirrord, files: int, branch: str) -> set[object]:
    """The ids of the pages once all have the text of *branch*."""
    query = "SELECT id FROM mirrord.page WHERE deleted_at IS NULL AND markdown LIKE %s"

    def found() -> list[tuple[object, ...]] | None:
        rows = mirrord.app.execute(query, [f"Page % of {branch}\n"]).fetchall()
        return rows if len(rows) == files else None

    return {row[0] for row in eventually(found, f"{files} pages of {branch}", 300, pause=0.1)}


def git(directory: Path, *arguments: str) -> None:
    """Git itself, as nobody in particular."""
    run("git", "-c", "user.name=Nobody", "-c", "user.email=nobody@localhost", *arguments, directory=directory)
