"""The page that keeps a file's text in a conflict has an id of its own, and no other byte changes."""

import pytest

from mirrord.domain.entry import new_id
from mirrord.markdown.frontmatter.page_text import PageText
from mirrord.sync.writing.entry_bodies import with_id

SIBLING = new_id()
PAGE = new_id()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("body\n", f"---\nid: {SIBLING}\n---\nbody\n"),
        (f"---\r\nid: {PAGE}  # ours\r\nt: 1\r\n---\r\nbody", f"---\r\nid: {SIBLING}  # ours\r\nt: 1\r\n---\r\nbody"),
        ("---\n# why\ntitle: a\n---\n", f"---\nid: {SIBLING}\n# why\ntitle: a\n---\n"),
        ("---\nid: mine\n---\nbody\n", "---\nid: mine\n---\nbody\n"),
        ("---\nid:\n---\nbody\n", "---\nid:\n---\nbody\n"),
        ("---\ntitle: a: b\n---\nbody\n", "---\ntitle: a: b\n---\nbody\n"),
    ],
    ids=["no front matter", "the page's id", "no id", "a key of the user's own", "an empty key", "unreadable"],
)
def test_the_sibling_gets_its_id_where_the_text_has_room_for_it(text: str, expected: str) -> None:
    assert with_id(PageText(text), SIBLING).text == expected
