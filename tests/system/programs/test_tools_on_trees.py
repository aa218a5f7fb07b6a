"""
git, cp, rm, mv, rsync and unzip act on whole folders, on several file systems: every page stays the page it was.

The oracle reads in every page whose text it is, edited or not: each has a number that no other page says.
"""

import re
import shutil
import subprocess
from collections import defaultdict
from collections.abc import Callable, Iterator, Set
from dataclasses import dataclass
from pathlib import Path
from uuid import UUID

import pytest

from tests.support.commands import Near
from tests.support.file_systems import directory_on
from tests.support.harness import Mirrord, eventually
from tests.support.trees import tree

FEW, SOME, MANY = 10, 120, 5_000  # pages
FILE_SYSTEMS = ("own", "tmpfs", "xfs", "btrfs")
GIT_OPTIONS = ("user.name=a", "user.email=a@example.org", "core.excludesFile=/dev/null", "merge.directoryRenames=true")
MANY_SECONDS = 300.0  # in which thousands of pages come to rest, on a busy machine
FOLDERS = ("docs", "docs/guides", "docs/guides/first", "notes")
_NUMBER = re.compile(r"Only note (\d+) says this")

Ids = dict[int, set[UUID]]


@dataclass(frozen=True, slots=True)
class Desk:
    """A mirrored tree with pages, and a directory beside it. count: of the pages."""

    mirrord: Mirrord
    beside: Path
    count: int

    @property
    def root(self) -> Path:
        return self.mirrord.root

    def run(self, *words: str) -> str:
        completed = subprocess.run(words, cwd=self.root, capture_output=True, text=True, check=False)
        assert completed.returncode == 0, f"{words}: {completed.stderr or completed.stdout}"
        return completed.stdout

    def git(self, *words: str) -> str:
        git_options = [part for option in GIT_OPTIONS for part in ("-c", option)]
        return self.run("git", *git_options, *words)

    def commit(self) -> None:
        self.git("add", "-A")
        self.git("commit", "-q", "-m", "notes")

    def begin_repository(self) -> None:
        (self.root / ".gitignore").write_text(".mirrord\n")
        self.git("init", "-q", "-b", "main")
        self.commit()

    def assert_clean(self) -> None:
        assert self.git("status", "--porcelain", "--untracked-files=all") == ""

    def ids(self) -> Ids:
        """The ids of the living pages of every number, once as many files as rows are there, and nothing differs."""
        self.mirrord.flush(MANY_SECONDS)
        files = [path for path in tree(self.root) if path.endswith(".md")]

        def found() -> Ids | None:
            rows = self.mirrord.app.execute(
                "SELECT markdown, id FROM mirrord.page WHERE deleted_at IS NULL AND kind = 'page'"
            ).fetchall()
            return by_number(rows) if len(rows) == len(files) else None

        ids = eventually(found, f"{len(files)} pages", MANY_SECONDS, pause=0.1)
        assert self.mirrord.check() == {}
        return ids

    def files(self) -> Set[str]:
        return {path for path in tree(self.root) if not path.startswith(".git")}


def by_number(rows: list[tuple[str, UUID]]) -> Ids:
    ids_by_number = defaultdict[int, set[UUID]](set)
    for text, id_ in rows:
        match = _NUMBER.search(text)
        assert match is not None, text
        ids_by_number[int(match[1])].add(id_)
    return dict(ids_by_number)


def write_note(path: Path, number: int) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"# Note {number}\n\nOnly note {number} says this {number * 7919:08}.\n\nLike every note.\n")


def edit(path: Path) -> None:
    path.write_text(path.read_text() + "\nAnd an edit.\n")


def write_notes(root: Path, count: int) -> None:
    for number in range(count):
        write_note(root / FOLDERS[number % len(FOLDERS)] / f"N{number:05}.md", number)


def move_folders(desk: Desk, before: Ids) -> None:
    """Up, down, below each other, and their names exchanged."""
    for source, other in (("docs", "handbook"), ("handbook/guides", "guides"), ("notes", "guides/notes")):
        desk.run("mv", source, other)
    assert desk.ids() == before
    desk.run("mv", "guides", "between")
    desk.run("mv", "handbook", "guides")
    desk.run("mv", "between", "handbook")
    assert desk.ids() == before
    desk.run("mv", "handbook", "Handbook")
    assert desk.ids() == before


def switch_branches(desk: Desk, before: Ids) -> None:
    """One has all folders by other names, and pages that were edited there."""
    desk.begin_repository()
    desk.git("switch", "-q", "-c", "other")
    desk.git("mv", "docs", "handbook")
    desk.git("mv", "handbook/guides", "guides")
    edited = sorted((desk.root / "guides").rglob("*.md"))[:5]
    for path in edited:
        edit(path)
    desk.commit()
    assert desk.ids() == before
    for act in (("switch", "-q", "main"), ("checkout", "-q", "other"), ("reset", "-q", "--hard", "main")):
        desk.git(*act)
        assert desk.ids() == before, act
        desk.assert_clean()


def stash_a_move(desk: Desk, before: Ids) -> None:
    """Of files that git does not know under the new names."""
    desk.begin_repository()
    desk.run("mv", "docs", "handbook")
    edit(min((desk.root / "handbook").glob("*.md")))
    assert desk.ids() == before
    desk.git("stash", "push", "-q", "--include-untracked")
    assert desk.ids() == before
    desk.assert_clean()
    desk.git("stash", "pop", "-q")
    assert desk.ids() == before
    assert not (desk.root / "docs").exists()


def rebase_over_a_move(desk: Desk, before: Ids) -> None:
    """Edits of a branch go to files that have moved on the other; pages come on both."""
    desk.begin_repository()
    desk.git("switch", "-q", "-c", "edits")
    for path in sorted((desk.root / "docs").glob("*.md"))[:3]:
        edit(path)
        desk.commit()
    write_note(desk.root / "docs/Of the branch.md", desk.count)
    desk.commit()
    with_branch = desk.ids()
    desk.git("switch", "-q", "main")
    assert desk.ids() == before
    desk.git("mv", "docs", "handbook")
    write_note(desk.root / "handbook/Of main.md", desk.count + 1)
    desk.commit()
    with_main = desk.ids()
    desk.git("switch", "-q", "edits")
    desk.git("rebase", "-q", "main")
    assert desk.ids() == with_branch | with_main | before
    desk.assert_clean()


def add_a_worktree(desk: Desk, before: Ids) -> None:
    """Inside the tree: its files are copies, pages of their own. The tree it came from does not change."""
    desk.begin_repository()
    desk.git("worktree", "add", "-q", "-b", "beside", "copy")
    (desk.root / ".git/info/exclude").write_text("/copy\n")
    both = desk.ids()
    assert {number: before[number] & both[number] for number in before} == before
    assert all(len(ids) == 2 for ids in both.values())
    desk.assert_clean()
    shutil.move(desk.root / "copy/docs", desk.root / "copy/moved")
    assert desk.ids() == both
    desk.assert_clean()


def copy_and_remove(desk: Desk, before: Ids) -> None:
    """There and back, with and without time for mirrord to see the copy."""
    desk.run("cp", "-r", "docs", "copy")
    desk.ids()
    desk.run("rm", "-r", "docs")
    eventually(lambda: desk.ids() == before, "the pages that were copied", MANY_SECONDS)
    desk.run("cp", "-r", "copy", "docs")
    desk.run("rm", "-r", "copy")
    eventually(lambda: desk.ids() == before, "the pages that were copied", MANY_SECONDS)
    assert {path.partition("/")[0] for path in desk.files()} == {"docs", "notes"}


def remove_and_copy_back(desk: Desk, before: Ids) -> None:
    """Under another name and under its own, from a copy outside the tree."""
    for old, new in (("docs", "other"), ("other", "other"), ("other", "docs")):
        shutil.rmtree(desk.beside / "kept", ignore_errors=True)
        desk.run("cp", "-r", old, str(desk.beside / "kept"))
        desk.run("rm", "-r", old)
        desk.run("cp", "-r", str(desk.beside / "kept"), new)
        assert desk.ids() == before, (old, new)
    assert {path.partition("/")[0] for path in desk.files()} == {"docs", "notes"}


def unpack_over(desk: Desk, before: Ids) -> None:
    """Over what is there, over what was edited, and after all of it was removed."""
    archive = str(shutil.make_archive(str(desk.beside / "tree"), "zip", desk.root, "docs"))
    desk.run("unzip", "-q", "-o", archive)
    assert desk.ids() == before
    for path in sorted((desk.root / "docs").rglob("*.md"))[:5]:
        edit(path)
    assert desk.ids() == before
    desk.run("unzip", "-q", "-o", archive)
    assert desk.ids() == before
    desk.run("rm", "-r", "docs")
    desk.run("unzip", "-q", archive)
    assert desk.ids() == before


ACTS: tuple[Callable[[Desk, Ids], None], ...] = (
    *(move_folders, switch_branches, stash_a_move, rebase_over_a_move),
    *(add_a_worktree, copy_and_remove, remove_and_copy_back, unpack_over),
)
_QUICK = [("own", FEW), ("tmpfs", FEW)]
_SLOW = [(kind, count) for kind in FILE_SYSTEMS for count in (FEW, SOME, MANY) if (kind, count) not in _QUICK]


@pytest.fixture
def desk(admin_dsn: str, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Desk]:
    kind, count = request.param
    name = f"tools-{re.sub('[^a-z0-9]', '-', tmp_path.name.lower())}"[:50].rstrip("-")
    with directory_on(kind, tmp_path) as place, Near(tmp_path, tenant=name, dsn=admin_dsn) as mirrord:
        mirrord.mirror = place / "mirror"
        mirrord.root = mirrord.mirror / name
        write_notes(mirrord.root, count)
        mirrord.up()
        yield Desk(mirrord, tmp_path, count)
        mirrord.close()


@pytest.mark.timeout(900)
@pytest.mark.parametrize("act", ACTS, ids=lambda act: act.__name__)
@pytest.mark.parametrize(
    "desk",
    [*_QUICK, *(pytest.param(tool, marks=pytest.mark.slow) for tool in _SLOW)],
    indirect=True,
    ids=lambda pair: f"{pair[0]}-{pair[1]}",
)
def test_every_page_stays_the_page_it_was(desk: Desk, act: Callable[[Desk, Ids], None]) -> None:
    before = desk.ids()
    assert len(before) == desk.count
    act(desk, before)
