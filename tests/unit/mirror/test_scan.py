import inspect
import os
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from uuid import UUID

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mirrord.domain.entry import EntryId, Kind, digest_of
from mirrord.errors import Refused, Unavailable
from mirrord.mirror.seen_files import Index
from mirrord.mirror.state_file import cached_stat
from mirrord.mirror.tree.contained_files import why_not_mirrored
from mirrord.mirror.tree.ignore_rules import ATTACH_EVERYTHING, AttachmentRules, Ignore
from mirrord.mirror.tree.tenant_tree import Tree
from mirrord.mirror.tree.tree_layout import spot_of_directory, spot_of_file
from mirrord.mirror.tree.tree_scan import Scan, scan
from tests.support.laws import scale_examples

NOTHING = Ignore()


def make(root: Path, *paths: str) -> None:
    for path in paths:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(path.encode("utf-8", "surrogateescape"))


def test_a_scan_finds_pages_attachments_and_directories(tree: Tree, root: Path) -> None:
    make(root, "A.md", "A/_index.md", "A/B.md", "A/assets/deep/x.png", "notes.txt", ".git/x.md", "A/.x.md")
    make(root, ".mirrord/trash/x.md", "A/assets/x.png~", "A/assets/.DS_Store")
    (root / "empty").mkdir()

    scanned = scan(tree, NOTHING)

    assert sorted(scanned.files) == ["A.md", "A/B.md", "A/_index.md", "A/assets/deep/x.png"]
    assert sorted(scanned.directories) == ["A", "A/assets", "A/assets/deep", "empty"]
    assert scanned.files["A/B.md"] == tree.stat("A/B.md")
    assert scanned.directories["A"] == tree.stat("A")
    assert scanned.others == 2
    assert scanned.troubles == []


def test_a_scan_keeps_of_a_file_that_is_as_it_was_only_the_path_it_is_known_by(tree: Tree, root: Path) -> None:
    make(root, "A.md", "A/B.md", "A/C.md", "A/D.md")
    index = Index({})
    for path in ("A.md", "A/B.md", "A/C.md"):
        stat = tree.stat(path)
        assert stat is not None
        index.record(path, cached_stat(stat, digest_of(path.encode()), EntryId(UUID(int=1))))
    (root / "A/B.md").write_bytes(b"changed since")
    (root / "A/C.md").rename(root / "A/E.md")

    scanned = scan(tree, NOTHING, stored_path=index.unchanged_path)

    assert scanned.unchanged == {"A.md"}
    assert next(iter(scanned.unchanged)) is next(path for path in index.paths() if path == "A.md")
    assert sorted(scanned.files) == ["A/B.md", "A/D.md", "A/E.md"]
    assert not scanned.proves_absent("A.md")
    assert scanned.proves_absent("A/C.md")


def test_a_part_of_the_tree_can_be_scanned(tree: Tree, root: Path) -> None:
    make(root, "A.md", "A/B.md", "A/assets/deep/x.png")

    assert list(scan(tree, NOTHING, "A").files) == ["A/B.md", "A/assets/deep/x.png"]
    assert list(scan(tree, NOTHING, "A/assets/deep").files) == ["A/assets/deep/x.png"]
    scanned = scan(tree, NOTHING, "gone")
    assert scanned == Scan()
    assert scanned.proves_absent("gone/x.md")


def test_links_and_special_files_are_troubles_and_prove_no_absence(tree: Tree, root: Path, tmp_path: Path) -> None:
    make(tmp_path, "outside/secret.md")
    (root / "link.md").symlink_to(tmp_path / "outside/secret.md")
    (root / "folder").symlink_to(tmp_path / "outside")
    (root / "broken.md").symlink_to("nowhere")
    os.mkfifo(root / "pipe.md")
    with socket.socket(socket.AF_UNIX) as server, pytest.MonkeyPatch.context() as patch:
        patch.chdir(root)  # a socket's path has at most 107 bytes
        server.bind("socket.md")

        scanned = scan(tree, NOTHING)

    assert scanned.files == {}
    assert {path: sentence.split()[2] for path, sentence in scanned.troubles} == {
        "link.md": "symbolic",
        "folder": "symbolic",
        "broken.md": "symbolic",
        "pipe.md": "named",
        "socket.md": "socket,",
    }
    assert not scanned.proves_absent("link.md")
    assert not scanned.proves_absent("folder/secret.md")
    assert scanned.proves_absent("other.md")
    with pytest.raises(Refused):
        scan(tree, NOTHING, "folder/below")


def test_names_that_are_not_utf_8_are_troubles_in_printable_form(tree: Tree, root: Path) -> None:
    make(root, "caf\udce9.md", "d\udce9/x.md", "ok.md")

    scanned = scan(tree, NOTHING)

    assert list(scanned.files) == ["ok.md"]
    assert sorted(path for path, _ in scanned.troubles) == ["caf\\xe9.md", "d\\xe9"]


@pytest.mark.parametrize("name", ["x" * 252 + ".md", "two\nlines.md", "-rf.md", " .md", "🎈.md", "a..md", "CON.md"])
def test_unusual_names_are_found(tree: Tree, root: Path, name: str) -> None:
    make(root, name)

    assert list(scan(tree, NOTHING).files) == [name]


def test_a_closed_directory_proves_no_absence(
    tree: Tree, root: Path, as_nobody: Callable[[Callable[[], None]], None]
) -> None:
    make(root, "A/B/C.md", "A/D.md")
    (root / "A/B").chmod(0)
    (root / "A/D.md").chmod(0)

    def look() -> None:
        scanned = scan(tree, NOTHING)
        assert list(scanned.files) == ["A/D.md"]
        assert scanned.troubles == [("A/B", "cannot be listed: Permission denied")]
        assert not scanned.proves_absent("A/B/C.md")
        assert scanned.proves_absent("A/E.md")

    as_nobody(look)
    (root / "A/B").chmod(0o700)


def test_a_root_that_cannot_be_listed_is_unavailable(
    tree: Tree, root: Path, as_nobody: Callable[[Callable[[], None]], None]
) -> None:
    make(root, "A.md")
    root.chmod(0)

    def look() -> None:
        with pytest.raises(Unavailable):
            scan(tree, NOTHING)

    as_nobody(look)
    root.chmod(0o700)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may mount")
def test_another_file_system_in_the_tree_is_reported_and_left_out(tree: Tree, root: Path) -> None:
    make(root, "A.md")
    (root / "mounted").mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "none", root / "mounted"], check=False).returncode:
        pytest.skip("mounting is refused here")
    try:
        make(root, "mounted/B.md")
        scanned = scan(tree, NOTHING)
    finally:
        subprocess.run(["umount", root / "mounted"], check=True)

    assert list(scanned.files) == ["A.md"]
    assert scanned.troubles == [("mounted", why_not_mirrored("mounted"))]
    assert not scanned.proves_absent("mounted/B.md")


def test_patterns_set_aside_what_they_match_and_all_below(tree: Tree, root: Path) -> None:
    make(root, "A.md", "x.draft.md", "drafts/B.md", "drafts/deep/C.md", "A/drafts/assets/d.png")
    (root / "drafts/link.md").symlink_to("nowhere")
    ignore = Ignore("drafts/\n*.draft.md\n")

    scanned = scan(tree, ignore)

    assert list(scanned.files) == ["A.md"]
    assert list(scanned.directories) == ["A"]
    assert sorted(scanned.ignored) == [
        "A/drafts",
        "A/drafts/assets",
        "A/drafts/assets/d.png",
        "drafts",
        "drafts/B.md",
        "drafts/deep",
        "drafts/deep/C.md",
        "x.draft.md",
    ]
    assert scanned.troubles == []
    assert not scanned.proves_absent("drafts/B.md")
    assert not scanned.proves_absent("drafts/link.md")
    assert list(scan(tree, ignore, "drafts/deep").ignored) == ["drafts/deep/C.md"]


@contextmanager
def stack_with_room_for(frames: int) -> Iterator[None]:
    """Python's stack ends so many frames below the test: a tree that is deeper is small enough to be made at once."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(len(inspect.stack(0)) + frames)
    try:
        yield
    finally:
        sys.setrecursionlimit(before)


def test_a_tree_deeper_than_pythons_stack_is_scanned(tree: Tree, root: Path) -> None:
    depth = 250
    tree.make_directories("/".join(["d"] * depth))

    with stack_with_room_for(depth // 2):
        scanned = scan(tree, NOTHING)

    assert len(scanned.directories) == depth


names = st.sampled_from(["A", "B", "assets", ".git", "x.md", "_index.md", "y.png", "z.md", "~$w.md", "é.md"])
trees = st.sets(st.lists(names, min_size=1, max_size=4).map("/".join), max_size=12)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=scale_examples(60), deadline=None)
@given(paths=trees)
def test_a_scan_agrees_with_a_plain_walk(tmp_path_factory: pytest.TempPathFactory, paths: set[str]) -> None:
    root = tmp_path_factory.mktemp("tree")
    for path in sorted(paths):
        try:
            make(root, path)
        except (FileExistsError, NotADirectoryError, IsADirectoryError):
            continue  # a file and a directory of one name
    tree = Tree(root)

    scanned, with_attachments = scan(tree, NOTHING), scan(tree, Ignore(rules=ATTACH_EVERYTHING))
    tree.close()

    walked = [os.path.relpath(os.path.join(at, name), root) for at, _, files in os.walk(root) for name in files]
    assert set(with_attachments.files) == {path for path in walked if spot_of_file(path)}
    assert set(scanned.files) == {path for path in walked if not AttachmentRules().excludes(path)}
    assert with_attachments.files.keys() - scanned.files.keys() == scanned.strangers & with_attachments.files.keys()
    folders = [os.path.relpath(os.path.join(at, name), root) for at, below, _ in os.walk(root) for name in below]
    assert {path for path in scanned.directories if spot_of_directory(path)} == {
        path for path in folders if (spot := spot_of_directory(path)) and spot.kind is Kind.FOLDER
    }
    assert all(scanned.proves_absent(path) for path in paths if not (root / path).exists())
