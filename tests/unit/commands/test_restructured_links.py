"""A law: after splits and merges every link means what it meant, or the page that took that in."""

import tempfile
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from mirrord.commands.core.session import Session
from mirrord.commands.restructure.merge_command import merge_pages
from mirrord.commands.restructure.split_command import split_page
from tests.support.laws import scale_examples
from tests.unit.commands.conftest import page
from tests.unit.commands.test_change_laws import session_in

PATHS = ("A.md", "B.md", "B/C.md", "D/_index.md", "D/A.md", "D/E/_index.md", "D/E/B.md")
TARGETS = st.sampled_from(["A", "B", "C", "D", "E", "D/A", "B/C", "E/B", "one", "two", "D/E", "/B", "./A"])
LINKS = st.one_of(
    TARGETS.map("[[{}]]".format),
    TARGETS.map("![[{}#top|label]]".format),
    st.sampled_from(["[x](A.md)", "[x](../A.md#top)", "[x](/D/E/B.md)", "[x](B/C.md)", "[x](E/_index.md)"]),
)
NAMES = st.sampled_from(["", "title: one\n", "title: two\n", "aliases: [one]\n", "aliases: [two, E]\n"])
PAGES = st.lists(st.tuples(NAMES, st.lists(LINKS, max_size=4)), min_size=len(PATHS), max_size=len(PATHS))


def fill(root: Path, pages: list[tuple[str, list[str]]]) -> None:
    for path, (names, links) in zip(PATHS, pages, strict=True):
        page(root, path, f"---\n{names}key: 1\n---\n## top\n\n{' '.join(links)}\n")


def meanings(session: Session) -> dict[str, set[str]]:
    """The pages that the links of each page mean, with itself."""
    snapshot = session.catalogue.snapshot()
    outgoing = {path: session.linkage.outgoing(snapshot, path) for path in snapshot.pages}
    return {path: {target.path for target in targets if target.path} for path, targets in outgoing.items()}


@settings(max_examples=scale_examples(60), deadline=None)
@given(pages=PAGES, into=st.sampled_from(PATHS), merged=st.sets(st.sampled_from(PATHS), min_size=1, max_size=2))
def test_links_mean_the_same_after_a_merge(pages: list[tuple[str, list[str]]], into: str, merged: set[str]) -> None:
    if any(
        path == into or into.startswith(path.removesuffix("/_index.md").removesuffix(".md") + "/") for path in merged
    ):
        return
    with tempfile.TemporaryDirectory() as directory:
        root = Path(directory, "mirror", "acme")
        root.mkdir(parents=True)
        fill(root, pages)
        with session_in(root) as session:
            before = meanings(session)
            outcome = merge_pages(session, sorted(merged), into)
            after = meanings(session)

    def place(path: str) -> str:
        return outcome.path if path in merged else outcome.moved.get(path, path)

    expected: dict[str, set[str]] = {}
    for path, targets in before.items():
        expected.setdefault(place(path), set()).update(map(place, targets))
    assert after.keys() == expected.keys()
    for path, targets in expected.items():  # a link that meant several pages may mean the one that is left
        assert targets - {path} <= after[path]


@settings(max_examples=scale_examples(30), deadline=None)
@given(pages=PAGES, path=st.sampled_from(PATHS), below=st.booleans())
def test_links_mean_the_same_after_a_split(pages: list[tuple[str, list[str]]], path: str, *, below: bool) -> None:
    with tempfile.TemporaryDirectory() as directory:
        root = Path(directory, "mirror", "acme")
        root.mkdir(parents=True)
        fill(root, pages)
        with session_in(root) as session:
            before = meanings(session)
            outcome = split_page(session, path, level=2, parent_path=path if below else None)
            after = meanings(session)
    (new,) = outcome.pages
    expected = {outcome.path if other == path else other: set(targets) for other, targets in before.items()}
    after[outcome.path] |= after.pop(new)
    for other, targets in expected.items():
        renamed = {outcome.path if target == path else target for target in targets} - {other}
        assert renamed <= {outcome.path if target == new else target for target in after[other]}
