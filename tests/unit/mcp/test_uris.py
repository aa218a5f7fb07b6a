"""URIs of pages lead back to their paths, whatever letters those have."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mirrord.mcp.served_resources import paths_from_uri, uri_of

NAMES = st.text(st.characters(blacklist_characters="/\0", blacklist_categories=["Cs"]), min_size=1, max_size=20)


@given(st.lists(NAMES, min_size=1, max_size=4))
def test_a_path_comes_back_from_its_uri(names: list[str]) -> None:
    path = "/".join(names) + ".md"
    assert paths_from_uri(uri_of(path)) == (path,)


def test_without_md_a_leaf_or_a_page_with_children_may_be_meant() -> None:
    assert paths_from_uri("page:///My%20Projects") == ("My Projects.md", "My Projects/_index.md")


@pytest.mark.parametrize("uri", ["", "file:///A.md", "page://A.md", "test://watched"])
def test_other_uris_are_no_pages(uri: str) -> None:
    assert paths_from_uri(uri) == ()
