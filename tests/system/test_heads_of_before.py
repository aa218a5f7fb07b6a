"""Pages with front matter that an earlier version took for text: their documents bring title and properties along."""

import psycopg
import pytest

from tests.support.entries import row_of, value
from tests.support.link_tenants import derive
from tests.support.mirrors import Mirror

AS_BEFORE = """
UPDATE mirrord.page SET title = name, icon = NULL, position = NULL, frontmatter = NULL, content = NULL WHERE id = %s"""
VIEWS = ("title", "icon", "position", "frontmatter", "markdown", "version", "ahead")


@pytest.mark.parametrize(
    "text",
    [
        '+++\ntitle = "A title"\nicon = "🌳"\nposition = "a1"\ntags = ["x"]\n+++\nbody\n',
        '{\n"title": "A title",\n"icon": "🌳",\n"position": "a1",\n"tags": ["x"]\n}\nbody\n',
        "\ufeff---\ntitle: A title\nicon: 🌳\nposition: a1\ntags: [x]\n...\nbody\n",
    ],
)
async def test_the_title_and_properties_come_with_the_document(mirror: Mirror, admin_dsn: str, text: str) -> None:
    mirror.write({"Page.md": text, "Other.md": "---\ntitle: Another\n---\nbody\n"})
    await derive(mirror)
    page, other = mirror.ids("Page", "Other")
    before = {entry: {key: row_of(mirror.app, entry)[key] for key in VIEWS} for entry in (page, other)}
    assert (before[page]["title"], before[page]["frontmatter"]["tags"]) == ("A title", ["x"])
    with psycopg.connect(admin_dsn, autocommit=True) as admin:
        admin.execute("SET session_replication_role = replica")
        admin.execute(AS_BEFORE, [page])
    assert row_of(mirror.app, page)["title"] == "Page"

    await derive(mirror)

    assert {entry: {key: row_of(mirror.app, entry)[key] for key in VIEWS} for entry in (page, other)} == before
    assert value(mirror.app, "SELECT content IS NOT NULL FROM mirrord.page WHERE id = %s", page)
    assert mirror.files()["Page.md"] == text
