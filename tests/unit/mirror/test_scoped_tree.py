"""What a scope hides is not there, through every method of a tree, and only what it permits can be changed."""

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from uuid import UUID, uuid4

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mirrord.commands.core.session import Session
from mirrord.commands.pages.find_command import find_pages
from mirrord.commands.pages.page_filters import PageFilter
from mirrord.commands.pages.page_listing import get_tree
from mirrord.domain.entry import Actor
from mirrord.domain.scope import Scope, parse_pattern, parse_scope
from mirrord.errors import OutOfScope
from mirrord.mirror.draft.draft_tree import DraftTree
from mirrord.mirror.tree.ignore_rules import Ignore
from mirrord.mirror.tree.scoped_tree import ScopedTree
from mirrord.mirror.tree.tenant_tree import Tree
from mirrord.mirror.tree.tree_layout import lineage, parent_of
from mirrord.mirror.tree.tree_scan import scan
from tests.support.laws import scale_examples

NOW = datetime(2026, 1, 1, tzinfo=UTC)
NAMES = ("A", "B", "a", "Caf\u00e9", "assets")
SEGMENTS = ("A", "b", "*", "**", "caf\u00e9", "?", "*.md")

folders = st.lists(st.sampled_from(NAMES[:4]), max_size=2)
files = st.sampled_from(("A.md", "B.md", "_index.md", "Caf\u00e9.md", "assets/p.png"))
trees = st.dictionaries(
    st.tuples(folders, files).map(lambda parts: "/".join([*parts[0], parts[1]])),
    st.sampled_from(("[[A]]", "[[B]] word", "![](assets/p.png)", "# Heading\n\n[[Caf\u00e9]]")),
    min_size=1,
    max_size=7,
)
patterns = st.lists(
    st.lists(st.sampled_from(SEGMENTS), min_size=1, max_size=3).map("/".join).map(parse_pattern), max_size=2
).map(tuple)
scopes = st.builds(Scope, patterns, patterns, patterns).filter(lambda scope: not scope.is_unlimited)


@pytest.fixture
def tree(tmp_path: Path) -> ScopedTree:
    for path in ("Inbox/A.md", "Inbox/Private/B.md", "Other/C.md", "Projects/Deep/D.md", "Empty/E/F.md"):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(path, encoding="utf-8")
    return ScopedTree(Tree(tmp_path), parse_scope(["Inbox", "Empty/G/**"], ["Projects/Deep"], ["Inbox/Private"]))


def test_what_is_hidden_is_in_no_list_and_has_no_stat(tree: ScopedTree) -> None:
    assert sorted(tree.list_names("")) == ["Inbox", "Projects"]
    assert [*tree.list_stats("Inbox")] == ["A.md"]
    assert scan(tree, Ignore()).files.keys() == {"Inbox/A.md", "Projects/Deep/D.md"}
    assert tree.stat("Other/C.md") is None
    assert tree.stat("Empty") is None
    assert tree.stat("Projects") is not None


@pytest.mark.parametrize("path", ["Other/C.md", "Inbox/Private/B.md", "inbox/PRIVATE/B.md", "Empty/E/F.md", "None.md"])
@pytest.mark.parametrize(
    "read",
    [
        lambda tree, path: tree.read(path, 100),
        lambda tree, path: tree.snapshot(path, 100),
        lambda tree, path: tree.digest(path),
        lambda tree, path: tree.list_names(path.rpartition("/")[0] or "None"),
        lambda tree, path: tree.list_stats(path.rpartition("/")[0] or "None"),
    ],
)
def test_reading_what_is_hidden_fails_as_for_what_is_not_there(
    tree: ScopedTree, path: str, read: Callable[[Tree, str], object]
) -> None:
    with pytest.raises(FileNotFoundError):
        read(tree, path)


@pytest.mark.parametrize(
    "change",
    [
        lambda tree: tree.claim("Projects/Deep/D.md"),
        lambda tree: tree.claim("Inbox/A.md", "Other/None.md"),
        lambda tree: tree.make_directories("Other/New"),
        lambda tree: tree.claim_new_directory("Projects/Deep/New"),
        lambda tree: tree.move("Inbox/A.md", "Projects/Deep/A.md"),
        lambda tree: tree.move("Inbox/Private/B.md", "Inbox/B.md"),
        lambda tree: tree.exchange("Inbox/A.md", "Other/C.md"),
    ],
)
def test_changes_outside_of_what_may_be_written_are_refused(tree: ScopedTree, change: Callable[[Tree], object]) -> None:
    with pytest.raises(OutOfScope, match="write Inbox Empty/G"):
        change(tree)
    assert (tree.root / "Inbox/A.md").exists()


def test_a_directory_on_the_way_appears_with_what_may_be_seen_in_it(tree: ScopedTree) -> None:
    tree.make_directories("Empty/G")
    assert sorted(tree.list_names("")) == ["Empty", "Inbox", "Projects"]
    assert tree.list_names("Empty") == ["G"]
    assert not tree.remove_directory("Empty/E")
    assert tree.remove_directory("Empty/G")
    assert "Empty" not in tree.list_names("")


def test_names_that_come_after_a_list_was_begun_are_hidden_too(tree: ScopedTree) -> None:
    (layer,) = tree.layers("Inbox")
    assert "private" in layer.hidden
    assert frozenset(("A.md", "PRIVATE", "Private.md")) - layer.hidden == {"A.md"}
    assert "A.md" in layer.hidden | {"A.md"}


def test_what_a_draft_does_in_its_own_way_is_done_by_it_through_a_scope_too() -> None:
    overridden = {name for name in vars(DraftTree) if name in vars(Tree) and not name.startswith("__")}
    assert overridden <= vars(ScopedTree).keys()


def _build(root: Path, pages: dict[str, str], directories: set[str]) -> Path:
    for directory in ("", *directories):
        (root / directory).mkdir(parents=True, exist_ok=True)
    for path, text in pages.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text, encoding="utf-8")
    return root


def _view_of(root: Path, scope: Scope, tenant: UUID, paths: list[str]) -> list[object]:
    """What a session shows of a tree: the tree, its pages, links, attachments, and each path."""
    session = Session(ScopedTree(Tree(root), scope), "demo", tenant, Actor("agent", "tester"), "mcp-law")
    try:
        snapshot = session.catalogue.snapshot()
        links = {path: session.linkage.outgoing(snapshot, path) for path in snapshot.pages}
        incoming = {path: [*session.linkage.incoming(snapshot, path)] for path in snapshot.pages}
        ids = snapshot.ids([*snapshot.summaries_by_path.values()])
        texts = [page.text if (page := snapshot.read_text(path)) is not None else None for path in paths]
        suggestions = [snapshot.similar_pages(path) for path in paths]
        listed = [page.path for page in find_pages(session, PageFilter(NOW)).pages]
        listings = [*snapshot.pages], [*snapshot.attachments], sorted(snapshot.folders), listed
        return [
            listings,
            links,
            incoming,
            ids,
            texts,
            suggestions,
            get_tree(session),
            scan(session.tree, Ignore()).files.keys(),
        ]
    finally:
        session.close()


@given(trees, scopes)
@settings(max_examples=scale_examples(100), deadline=None)
def test_a_scope_never_leaks(tmp_path_factory: pytest.TempPathFactory, pages: dict[str, str], scope: Scope) -> None:
    base, tenant = tmp_path_factory.mktemp("law"), uuid4()
    visible = {path: text for path, text in pages.items() if scope.can_read(path)}
    above = {directory for path in pages for directory in lineage(parent_of(path)) if scope.can_read(directory)}
    full, bare = _build(base / "full", pages, set()), _build(base / "bare", visible, above)
    assert _view_of(full, scope, tenant, [*pages]) == _view_of(bare, scope, tenant, [*pages])
