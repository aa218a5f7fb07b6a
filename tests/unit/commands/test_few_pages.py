"""A few pages of a large directory are looked at one by one: what is said of them is the same as if all were."""

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mirrord.commands.core.session import Session
from mirrord.mirror.tree.tenant_tree import Tree
from tests.unit.commands.conftest import AGENT, TENANT, page

NAMES = [f"Page {number}.md" for number in range(16)]
ODD_NAMES = ["None.md", "Link.md", "Folder.md", ".hidden.md", "page 1.md", "Left out.md", "picture.png"]


def fill(root: Path) -> None:
    for number, name in enumerate(NAMES):
        page(root, f"Large/{name}", f"---\ntitle: {number}\n---\ntext\n")
    page(root, "Large/Left out.md", "text\n")
    page(root, "Large/.hidden.md", "text\n")
    (root / "Large/picture.png").write_bytes(b"png")
    (root / "Large/Folder.md").mkdir()
    (root / "Large/Link.md").symlink_to("Page 1.md")
    (root / ".mirrorignore").write_text("Left out.md\n")


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("mirror") / "acme"
    root.mkdir()
    fill(root)
    return root


@given(chosen_names=st.lists(st.sampled_from([*NAMES, *ODD_NAMES]), unique=True, max_size=6))
@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_few_pages_are_the_same_as_among_all(large: Path, chosen_names: list[str]) -> None:
    session = Session(Tree(large), "acme", TENANT, AGENT, "mcp-main")
    try:
        paths = [f"Large/{name}" for name in chosen_names]
        narrow_view, full_view = session.catalogue.snapshot(), session.catalogue.snapshot()
        assert full_view.pages
        cards, all_cards = (
            narrow_view.exact_pages(paths),
            full_view.exact_pages([f"Large/{name}" for name in NAMES + ODD_NAMES]),
        )
        assert list(cards) == [path for path in paths if path in all_cards]
        assert all(all_cards[path] == card for path, card in cards.items())
        assert narrow_view.ids([*cards.values()]) == {path: full_view.ids([card])[path] for path, card in cards.items()}
    finally:
        session.close()


def test_a_page_that_goes_after_it_was_listed_is_none(session: Session) -> None:
    fill(session.tree.root)
    snapshot = session.catalogue.snapshot()
    assert snapshot.exact_page("Large/Page 1.md") is not None
    (session.tree.root / "Large/Page 2.md").unlink()
    assert snapshot.exact_page("Large/Page 2.md") is None


def test_a_snapshot_looks_at_each_page_once(session: Session) -> None:
    fill(session.tree.root)
    snapshot = session.catalogue.snapshot()
    before = snapshot.exact_page("Large/Page 1.md")
    page(session.tree.root, "Large/Page 1.md", "---\ntitle: Other\n---\n")
    assert snapshot.exact_page("Large/Page 1.md") is before
    newest = session.catalogue.snapshot().exact_page("Large/Page 1.md")
    assert newest is not None
    assert newest.title == "Other"
