"""Title, icon and tags: an app's edit of one is surgery on one key of the file."""

from collections.abc import Iterator

import pytest
from psycopg.types.json import Jsonb

from tests.support.commands import Near
from tests.support.editors import save
from tests.support.harness import Mirrord, eventually

HEAD = """---
# about this page
title: "Old: title"   # as shown
tags: [a, 'b'] # two
icon: 🌳
count: 0x1F
empty:
---
body
"""


@pytest.fixture(scope="module")
def mirrord(admin_dsn: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mirrord]:
    """One daemon for all tests of this module."""
    with Near(tmp_path_factory.mktemp("heads"), tenant="heads", dsn=admin_dsn) as started:
        started.up()
        yield started


def _after(mirrord: Mirrord, path: str, text: str, statement: str, *values: object) -> str:
    """What the file of *path* holds after an app's UPDATE of its page, which had *text*."""
    save(mirrord.file(path), text)
    page = eventually(
        lambda: page if (page := mirrord.page(path)) and page.markdown == text else None, f"a row of {path}"
    )
    mirrord.app.execute(f"UPDATE page SET {statement} WHERE id = %s".encode(), [*values, page.id])
    eventually(lambda: mirrord.text(path) != text, f"{path} to change")
    changed = mirrord.text(path)
    assert changed is not None
    return changed


@pytest.mark.parametrize(
    ("statement", "value", "old", "new"),
    [
        ("title = %s", "New", 'title: "Old: title"   # as shown', 'title: "New"   # as shown'),
        ("icon = %s", "🌲", "icon: 🌳", "icon: 🌲"),
        ("icon = %s", None, "icon: 🌳\n", ""),
        (
            "frontmatter = jsonb_set(frontmatter, '{tags}', %s)",
            Jsonb(["a", "b", "c"]),
            "tags: [a, 'b'] # two",
            "tags: [a, 'b', c] # two",
        ),
        ("frontmatter = frontmatter - %s", "tags", "tags: [a, 'b'] # two\n", ""),
    ],
)
def test_an_apps_edit_of_a_view_changes_one_key_and_no_other_byte(
    mirrord: Mirrord, statement: str, value: object, old: str, new: str
) -> None:
    assert HEAD.count(old) == 1
    assert _after(mirrord, "Surgery.md", HEAD, statement, value) == HEAD.replace(old, new)


def test_a_title_in_a_file_without_front_matter_adds_one(mirrord: Mirrord) -> None:
    assert _after(mirrord, "Bare.md", "body\n", "title = 'New: one'") == "---\ntitle: 'New: one'\n---\nbody\n"


def test_a_removed_title_takes_an_empty_front_matter_along_and_shows_the_name(mirrord: Mirrord) -> None:
    assert _after(mirrord, "Named.md", "---\ntitle: Other\n---\nbody\n", "title = NULL") == "body\n"
    title = mirrord.app.execute("SELECT title, frontmatter FROM page WHERE name = 'Named'").fetchone()
    assert title == ("Named", {})


def test_a_column_beats_the_same_key_written_at_once_in_front_matter(mirrord: Mirrord) -> None:
    written = Jsonb({"title": "From the mapping", "tags": ["x"]})
    text = _after(
        mirrord, "Both.md", "---\ntags: [a]\ntitle: A\n---\n", "title = 'From the column', frontmatter = %s", written
    )
    assert text == "---\ntags: [x]\ntitle: From the column\n---\n"
    row = mirrord.app.execute("SELECT title, frontmatter -> 'tags', ahead FROM page WHERE name = 'Both'").fetchone()
    assert row == ("From the column", ["x"], [])


def test_tags_of_a_page_are_found_by_plain_sql(mirrord: Mirrord) -> None:
    save(mirrord.file("Tagged.md"), "---\ntags:\n  - red\n  - deep blue\n---\n")
    query = "SELECT name FROM page WHERE frontmatter -> 'tags' ? %s"
    eventually(lambda: mirrord.app.execute(query, ["deep blue"]).fetchone() == ("Tagged",), "the tagged page")


@pytest.mark.parametrize(
    ("markdown", "name"),
    [("---\ntitle: By title\n---\n# Other\n", "By title"), ("text\n\n# By heading\n", "By heading")],
)
def test_markdown_alone_is_named_by_its_title_or_first_heading(mirrord: Mirrord, markdown: str, name: str) -> None:
    mirrord.app.execute("INSERT INTO page (markdown) VALUES (%s)", [markdown])
    eventually(lambda: (mirrord.text(f"{name}.md") or "").endswith(markdown.removeprefix("---\n")), f"{name}.md")
