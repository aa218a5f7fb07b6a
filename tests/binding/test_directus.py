"""Directus, edited through its REST API: the articles of its collection are pages and files."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.binding.directus_server import (
    VERSION,
    Directus,
    directus_directory,
    is_directus_installed,
    running_directus,
)
from tests.support.commands import Near
from tests.support.harness import eventually

MAPPING = """
[binding]
name = "articles"
[page]
table = "public.article"
id = "id"
title = "title"
parent = "parent"
order = { int = "sort" }
filter = { status = "published" }
[body]
column = "body"
format = "markdown"
[front]
tags = "tags"
"""

pytestmark = [
    pytest.mark.timeout(400),
    pytest.mark.skipif(
        not is_directus_installed(),
        reason=f"Directus {VERSION} is not installed in {directus_directory()}; `.ci/run` installs it where npm is",
    ),
]


@pytest.fixture
def directus(fresh_dsn: str, tmp_path: Path) -> Iterator[Directus]:
    """The app with an empty collection."""
    with running_directus(fresh_dsn, tmp_path / "directus") as server:
        yield server


def test_articles_are_files_however_the_api_changes_them(directus: Directus, fresh_dsn: str, tmp_path: Path) -> None:
    with Near(tmp_path / "here", dsn=fresh_dsn) as mirrord:

        def await_body(path: str, body: str) -> str:
            eventually(lambda: (mirrord.text(path) or "").endswith(f"---\n{body}"), f"{path} ends with {body!r}")
            return mirrord.text(path) or ""

        def await_absence(path: str) -> None:
            eventually(lambda: mirrord.text(path) is None, f"{path} is gone")

        mapping = tmp_path / "articles.toml"
        mapping.write_text(MAPPING)
        assert mirrord.run("init", "demo").returncode == 0
        garden = directus.create("Garden", "# Beds\n\n* one\n* two\n", tags=["green", "outside"])
        directus.create("Draft", "Not yet.", status="draft")
        added = mirrord.run("bind", "add", str(mapping))
        assert added.returncode == 0, added.stderr
        mirrord.up()

        assert f"id: {garden}" in await_body("Garden.md", "# Beds\n\n* one\n* two\n")
        assert "- green" in (mirrord.text("Garden.md") or "")
        beans = directus.create("Beans", "Green.", parent=garden, sort=3)
        assert "position: a3" in await_body("Garden/Beans.md", "Green.")
        assert not mirrord.file("Draft.md").exists()
        directus.change(beans, body="Green and *long*.", sort=4)
        assert "position: a4" in await_body("Garden/Beans.md", "Green and *long*.")

        kitchen = directus.create("Kitchen", "")
        directus.ask("PATCH", "/items/article", {"keys": [beans], "data": {"parent": kitchen}})
        await_body("Kitchen/Beans.md", "Green and *long*.")
        directus.change(garden, status="archived")
        await_absence("Garden.md")
        directus.change(garden, status="published", title="The garden")
        await_body("The garden.md", "# Beds\n\n* one\n* two\n")

        mirrord.file("The garden.md").write_text("Not of the app.\n")
        await_body("The garden.md", "# Beds\n\n* one\n* two\n")
        assert directus.ask("GET", f"/items/article/{garden}")["body"] == "# Beds\n\n* one\n* two\n"

        directus.ask("DELETE", f"/items/article/{garden}")
        await_absence("The garden.md")
        directus.ask("DELETE", "/fields/article/tags")  # the app migrates while the triggers are there
        directus.change(beans, body="After the migration.")
        eventually(
            lambda: '"halted"' in mirrord.run("bind", "status", "articles", "--json").stdout, "the binding is halted"
        )
        await_body("Kitchen/Beans.md", "Green and *long*.")
