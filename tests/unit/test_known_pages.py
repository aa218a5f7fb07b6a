"""The look at one known page alone: where it answers, the look at the tree shows the same, and notes the same."""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from uuid import UUID

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from mirrord.domain.entry import EntryId, MirrorId
from mirrord.mirror.process_setup import prepare_process
from mirrord.mirror.seen_files import Index
from mirrord.mirror.tree.ignore_rules import Ignore
from mirrord.mirror.tree.tenant_tree import Tree
from mirrord.mirror.write.applied_plans import APPLIED_PATH
from mirrord.sync.lone_edits import KnownPage, look_at_known_page
from mirrord.sync.observation.file_look import Looker
from mirrord.sync.observation.mirror_handles import Sides
from mirrord.sync.observation.observe import Dirty, TreeView, look_at_tree
from mirrord.sync.writing.entry_bodies import MAX_LOOP_BYTES
from tests.support.editors import save, save_in_place
from tests.support.laws import scale_examples
from tests.unit.test_identity import TENANT, A

NOTHING: Any = None  # in place of what only Postgres could answer: to ask it is an error
PAGE = "Diary/Page.md"
PATHS = (PAGE, "Diary.md", "Diary/Other.md", "Diary/Page/Below.md", "Page.md")
TEXTS = (
    "a text\n",
    "another text\n",
    f"---\nid: {A}\ntitle: A title\n---\ntext\n",
    "---\ntitle: [\n---\ntext\n",
    "",
    "a" * (MAX_LOOP_BYTES + 1),
)


def entry_of(path: str) -> EntryId:
    return EntryId(UUID(int=PATHS.index(path) + 1))


def sides_of(tree: Tree, index: Index) -> Sides:
    looker = Looker(tree, index, Ignore())
    return Sides("demo", TENANT, MirrorId(UUID(int=5)), tree, NOTHING, NOTHING, looker, NOTHING)


@contextmanager
def known_tree() -> Iterator[tuple[Path, Sides]]:
    """A tree whose pages are known, each with its entry."""
    prepare_process()
    with TemporaryDirectory() as directory:
        root = Path(directory)
        for path in PATHS:
            save(root / path, f"The text of {path}.\n")
        tree = Tree(root)
        sides = sides_of(tree, Index({}))
        look_at_tree(sides, Dirty(frozenset(PATHS)))
        for path in PATHS:
            sides.looker.index.set_entry(path, entry_of(path))
        try:
            yield root, sides
        finally:
            tree.close()


def look_at_page(sides: Sides, path: str = PAGE) -> KnownPage | None:
    return asyncio.run(look_at_known_page(sides, path))


def look_as_ever(sides: Sides, path: str = PAGE) -> TreeView:
    """The look at the tree that any other pass makes for a changed path."""
    return look_at_tree(sides, Dirty(frozenset(sides.looker.expand_path(path))))


Change = Callable[[Path], object]


def _make_again(path: Path, text: str) -> None:
    _remove(path)
    save(path, text)


def _to_directory(path: Path) -> None:
    _remove(path)
    path.mkdir()


def _to_link(path: Path) -> None:
    _remove(path)
    path.symlink_to("/etc/hostname")


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        path.rename(path.parent.parent / f"{path.name}.taken")
    else:
        path.unlink(missing_ok=True)


@st.composite
def changes(draw: st.DrawFn) -> tuple[str, Change]:
    """A change of a tree, with its name."""
    path, text = draw(st.sampled_from(PATHS)), draw(st.sampled_from(TEXTS))
    other = draw(st.sampled_from(PATHS))
    by_name: dict[str, Change] = {
        "save in place": lambda root: save_in_place(root / path, text),
        "save by rename": lambda root: save(root / path, text),
        "move": lambda root: (root / path).replace(root / other),
        "remove": lambda root: _remove(root / path),
        "make again": lambda root: _make_again(root / path, text),
        "bytes that are no text": lambda root: (root / path).write_bytes(b"\xff"),
        "a directory": lambda root: _to_directory(root / path),
        "a link": lambda root: _to_link(root / path),
    }
    name = draw(st.sampled_from(["save in place", "save by rename", *by_name]))
    return name, by_name[name]


def _without_origins(view: TreeView, path: str) -> TreeView:
    """*view* without the earlier path of its file, which has to be *path*; without one it counts as that."""
    assert set(view.look.old_path.values()) <= {path}
    return replace(view, look=replace(view.look, old_path={}, earlier_records={}))


@settings(max_examples=scale_examples(150))
@given(st.lists(changes(), min_size=1, max_size=4), st.sampled_from(PATHS))
def test_where_the_look_at_a_page_answers_the_look_at_the_tree_shows_the_same(
    changed: list[tuple[str, Change]], path: str
) -> None:
    with known_tree() as (root, sides):
        for name, change in changed:
            try:
                change(root)
            except OSError:  # what an earlier change has made impossible
                event(f"impossible: {name}")
        before = vars(deepcopy(sides.looker.index))
        known_page = look_at_page(sides, path)
        assert vars(sides.looker.index) == before
        event("no answer" if known_page is None else "unchanged" if known_page.record is None else "saved")
        if known_page is None:
            return
        usual = sides_of(sides.tree, deepcopy(sides.looker.index))
        assert _without_origins(look_as_ever(usual, path), path) == _without_origins(known_page.view, path)
        if known_page.record is not None:
            sides.looker.index.record(path, known_page.record)
        for index in (usual.looker.index, sides.looker.index):
            index.set_entry(path, entry_of(path))
        assert vars(sides.looker.index) == vars(usual.looker.index)


@pytest.mark.parametrize("write", [save, save_in_place], ids=["by rename", "in place"])
@pytest.mark.parametrize("path", PATHS)
def test_a_save_is_answered(write: Callable[[Path, str], None], path: str) -> None:
    with known_tree() as (root, sides):
        write(root / path, "another text\n")
        known_page = look_at_page(sides, path)
    assert known_page is not None
    assert known_page.page is not None
    assert known_page.page.text == "another text\n"
    assert known_page.record is not None
    assert known_page.record.entry == entry_of(path)


def test_a_page_that_waits_for_its_row_is_looked_at_with_the_tree() -> None:
    with known_tree() as (root, sides):
        save(root / "Diary/New.md", "a new text\n")
        look_as_ever(sides, "Diary/New.md")
        save(root / "Diary/New.md", "another text\n")
        assert look_at_page(sides, "Diary/New.md") is None


def test_while_a_change_set_is_carried_out_the_tree_is_looked_at() -> None:
    with known_tree() as (root, sides):
        save(root / APPLIED_PATH / "note.json", "{}")
        save_in_place(root / PAGE, "another text\n")
        assert look_at_page(sides) is None


def test_a_file_that_was_open_for_writing_is_looked_at_with_the_tree() -> None:
    with known_tree() as (root, sides):
        if not sides.tree.has_leases:
            pytest.skip("this file system does not tell who writes")
        with (root / PAGE).open("w") as opened:
            opened.write("half of a text")
            opened.flush()
            assert look_at_page(sides) is None
            assert look_as_ever(sides).look.unknown_files.keys() == {PAGE}
        assert look_at_page(sides) is None
        assert look_as_ever(sides).look.found_files.keys() == {PAGE}
        save_in_place(root / PAGE, "a whole text\n")
        assert look_at_page(sides) is not None
