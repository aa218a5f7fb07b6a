"""Lists and trees of pages, in the order of the sidebar and of a size that can be read."""

from pathlib import Path

import orjson
import pytest

from mirrord.commands.core.failure import Failed
from mirrord.commands.core.session import Session
from mirrord.commands.pages import page_listing
from mirrord.commands.pages.page_listing import PageList, TreeNode, get_tree, list_pages
from mirrord.domain.entry import Digest, digest_of, id_of_path
from mirrord.mcp.tools.find_tools import Grow, _grow
from tests.unit.commands.conftest import TENANT, page


@pytest.fixture
def sample(root: Path) -> Path:
    page(root, "Projects/_index.md", "---\ntitle: Projects\nicon: 🚀\n---\n")
    page(root, "Projects/Alpha.md", "---\ntitle: Alpha\ntags: [work]\nposition: b\n---\n\n# Alpha\n")
    page(root, "Projects/Beta.md", "---\nposition: a\n---\n")
    page(root, "Projects/Deep/Gamma.md", "")
    page(root, "Welcome.md", "Hello")
    return root


def paths(answer: PageList) -> list[str]:
    return [page.path for page in answer.pages]


def outline(nodes: list[TreeNode]) -> list[object]:
    """`path` for a leaf, `[path, …]` for a node with children."""
    return [[node.path, *outline(node.children)] if node.children else node.path for node in nodes]


def test_list_pages_returns_the_root_and_who_has_children(session: Session, sample: Path) -> None:
    listed = list_pages(session)

    assert [(page.path, page.title, page.icon, page.has_children) for page in listed.pages] == [
        ("Projects/_index.md", "Projects", "🚀", True),
        ("Welcome.md", "Welcome", None, False),
    ]
    assert listed.pages[1].page_id == str(id_of_path(TENANT, "Welcome.md"))
    assert listed.pages[1].content is listed.next_cursor is None


def test_list_pages_with_depth_lists_what_is_below_after_it(session: Session, sample: Path) -> None:
    two = ["Projects/_index.md", "Projects/Beta.md", "Projects/Alpha.md", "Projects/Deep", "Welcome.md"]

    assert paths(list_pages(session, depth=2)) == two
    assert paths(list_pages(session, depth=3)) == [*two[:4], "Projects/Deep/Gamma.md", two[4]]


@pytest.mark.parametrize("path", ["Projects", "Projects/", "Projects/_index.md", "projects", "Projects.md"])
def test_a_folder_is_listed_however_it_is_written(session: Session, sample: Path, path: str) -> None:
    assert paths(list_pages(session, path)) == ["Projects/Beta.md", "Projects/Alpha.md", "Projects/Deep"]


def test_a_folder_of_exactly_the_name_asked_for_beats_a_page_that_is_a_twin(session: Session, root: Path) -> None:
    page(root, "Notes/One.md", "")
    page(root, "notes.md", "")
    assert paths(list_pages(session, "Notes")) == ["Notes/One.md"]
    assert paths(list_pages(session, "NOTES.md")) == []


def test_a_leaf_has_nothing_below_it(session: Session, sample: Path) -> None:
    assert list_pages(session, "Welcome") == PageList([])


@pytest.mark.parametrize(
    ("path", "code"),
    [("Projcts", "PAGE_NOT_FOUND"), ("../x", "FORBIDDEN"), ("/etc", "FORBIDDEN"), ("a\0b", "INVALID_PATH")],
)
def test_what_is_not_there_is_refused(session: Session, sample: Path, path: str, code: str) -> None:
    for ask in (list_pages, lambda session, path: get_tree(session, path=path)):
        with pytest.raises(Failed) as failure:
            ask(session, path)
        assert failure.value.code == code
        assert code != "PAGE_NOT_FOUND" or "Projects/_index.md" in failure.value.instruction


def test_contents_come_along_when_asked_for(session: Session, sample: Path) -> None:
    listed = list_pages(session, depth=2, include_content=True)

    contents = {page.path: page.content for page in listed.pages}
    assert contents["Welcome.md"] == "Hello"
    assert contents["Projects/Deep"] is None
    assert session.last_digests["Welcome.md"] == digest_of(b"Hello")


def test_contents_that_are_too_much_come_in_several_answers(
    session: Session, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(page_listing, "_MAX_CHARACTERS", 10)
    for name, text in (("a", "x" * 25), ("b", "12345"), ("c", "12345"), ("d", "1")):
        page(root, f"{name}.md", text)

    first = list_pages(session, include_content=True)
    second = list_pages(session, include_content=True, cursor=first.next_cursor)
    third = list_pages(session, include_content=True, cursor=second.next_cursor)

    assert [(page.content, page.content_cut) for page in first.pages] == [("x" * 10, True)]
    assert paths(second) == ["b.md", "c.md"]
    assert (paths(third), third.next_cursor) == (["d.md"], None)
    assert "a.md" not in session.last_digests  # it was shown in part


def test_a_long_list_goes_on_with_its_cursor(session: Session, root: Path) -> None:
    for number in range(250):
        page(root, f"p{number:03}.md", "")
    listed_paths, cursor, answers = list[str](), None, 0
    while answers == 0 or cursor:
        answer = list_pages(session, cursor=cursor)
        listed_paths, cursor, answers = listed_paths + paths(answer), answer.next_cursor, answers + 1

    assert listed_paths == [f"p{number:03}.md" for number in range(250)]
    assert answers > 3  # 8 KB each


def test_a_list_goes_on_where_pages_went_and_came(session: Session, root: Path) -> None:
    for number in range(150):
        page(root, f"p{number:03}.md", "")
    first = list_pages(session)
    count = len(first.pages)
    page(root, "a.md", "")
    assert paths(list_pages(session, cursor=first.next_cursor))[0] == f"p{count:03}.md"

    (root / f"p{count - 1:03}.md").unlink()  # where it stopped
    (root / "a.md").unlink()
    assert paths(list_pages(session, cursor=first.next_cursor))[0] == f"p{count + 1:03}.md"


@pytest.mark.parametrize("cursor", ["", "x", "!!!", "é", "WzEsMiwzXQ", "bnVsbA", "W10", "W1tb" * 9999])
def test_a_cursor_of_another_question_is_refused(session: Session, sample: Path, cursor: str) -> None:
    with pytest.raises(Failed) as failure:
        list_pages(session, cursor=cursor)

    assert failure.value.code == "INVALID_CURSOR"


def test_a_depth_that_is_none_is_refused(session: Session) -> None:
    for depth in (0, -1, 51):
        with pytest.raises(Failed) as failure:
            list_pages(session, depth=depth)
        assert failure.value.code == "INVALID_DEPTH"


def test_get_tree_returns_the_whole_hierarchy(session: Session, sample: Path) -> None:
    page_tree = get_tree(session)

    assert outline(page_tree.nodes) == [
        ["Projects/_index.md", "Projects/Beta.md", "Projects/Alpha.md", ["Projects/Deep", "Projects/Deep/Gamma.md"]],
        "Welcome.md",
    ]
    assert not page_tree.truncated
    assert page_tree.nodes[0].metadata is None


def test_a_tree_ends_at_its_depth_and_says_so(session: Session, sample: Path) -> None:
    page_tree = get_tree(session, depth=1)

    assert [(node.path, node.has_more) for node in page_tree.nodes] == [
        ("Projects/_index.md", True),
        ("Welcome.md", False),
    ]
    assert not page_tree.truncated

    projects = get_tree(session, path="Projects", depth=1).nodes
    assert outline(projects) == [["Projects/_index.md", "Projects/Beta.md", "Projects/Alpha.md", "Projects/Deep"]]
    assert [node.has_more for node in projects[0].children] == [False, False, True]


def test_a_tree_tells_what_pages_say_of_themselves(session: Session, sample: Path) -> None:
    page_tree = get_tree(session, include_metadata=True, path="Projects/Alpha")

    metadata = page_tree.nodes[0].metadata
    assert metadata is not None
    assert (metadata.icon, metadata.position, metadata.tags, metadata.aliases) == (None, "b", ("work",), ())


def test_of_a_huge_tree_the_deepest_is_left_out(session: Session, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page_listing, "_MAX_NODES", 5)
    for path in ("a/b/c/d/e/f.md", "a/b/x.md", "g.md"):
        page(root, path, "")

    page_tree = get_tree(session)

    assert outline(page_tree.nodes) == [["a", ["a/b", "a/b/c", "a/b/x.md"]], "g.md"]
    assert page_tree.truncated
    assert page_tree.nodes[0].children[0].children[0].has_more


@pytest.mark.parametrize("metadata", [False, True])
def test_a_tree_is_as_large_as_a_model_reads_and_whatever_is_missing_can_be_had(
    session: Session, root: Path, metadata: bool
) -> None:
    for top in range(40):
        for below in range(12):
            page(root, f'Folder {top:02}/Über "{below:02}".md', "---\ntags: [work, ä]\n---\n")

    wire = _grow(session, Grow.model_validate({"includeMetadata": metadata}))
    assert len(orjson.dumps(wire)) <= 8_192
    assert wire["hasMore"]
    seen_paths, missing = set[str](), [wire]
    while missing:
        node = missing.pop()
        seen_paths.add(node["path"])
        if node.get("hasMore"):
            listed = list_pages(session, node["path"] or None)
            seen_paths |= set(paths(listed))
            missing += [_grow(session, Grow(path=page.path)) for page in listed.pages if page.has_children]
        missing += node["children"]
    assert len(seen_paths - {""}) == 40 + 40 * 12


def test_a_tree_shows_as_many_levels_as_are_asked_for_and_fit(session: Session, root: Path) -> None:
    for number in range(20):
        page(root, f"Folder/Page {number:03}/Below.md", "")
    page_tree = get_tree(session, depth=2)
    assert (len(page_tree.nodes[0].children), page_tree.truncated) == (20, False)
    assert {len(node.children) for node in page_tree.nodes[0].children} == {0}

    for number in range(300):
        page(root, f"Folder/Page {number:03}.md", "")
    wire = _grow(session, Grow(path="Folder", depth=2))
    assert len(orjson.dumps(wire)) <= 8_192
    assert wire["hasMore"]


def test_lists_show_what_is_there_now(session: Session, root: Path) -> None:
    file = page(root, "a.md", "---\ntitle: One\n---\n")
    assert list_pages(session).pages[0].title == "One"

    file.write_text("---\ntitle: Two\n---\n")
    assert list_pages(session).pages[0].title == "Two"

    file.unlink()
    assert list_pages(session).pages == []


def test_a_page_shown_whole_may_be_written_over(session: Session, sample: Path) -> None:
    list_pages(session, include_content=True)

    digest: Digest = session.last_digests["Welcome.md"]
    assert digest == digest_of((sample / "Welcome.md").read_bytes())
