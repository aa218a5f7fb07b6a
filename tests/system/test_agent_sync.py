"""What agents write comes to the database and the browser, and what is written there comes to the agents."""

from collections.abc import AsyncIterator, Callable
from functools import partial
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from psycopg.types.json import Jsonb

from tests.system.agents import Agent, on_stdio, process
from tests.system.harness import Mirrord, eventually
from tests.system.rows import Connection, Page, page_of

ALPHA = "---\ntitle: Alpha\n---\n\n# Alpha\n\nProject details.\n"


@pytest.fixture
def mirrord(tmp_path: Path, fresh_dsn: str) -> Any:
    with Mirrord(tmp_path / "installation", dsn=fresh_dsn) as running:
        running.file("Projects").mkdir(parents=True)
        running.file("Projects/Alpha.md").write_text(ALPHA, encoding="utf-8")
        running.up()
        yield running


@pytest.fixture
async def agent(mirrord: Mirrord) -> AsyncIterator[Agent]:
    token = mirrord.run("tenant", "token", mirrord.tenant, "--actor", "tester")
    assert token.returncode == 0, token.stderr
    async with on_stdio(process(mirrord.mirror, {"MIRRORD_TOKEN": token.stdout.strip()})) as connected:
        yield connected


def the_row(mirrord: Mirrord, page_id: str, holds: Callable[[Page], object]) -> Page:
    """The row of that page once it is as it should be."""

    def seen() -> Page | None:
        row = page_of(mirrord.app, UUID(page_id))
        return row if row is not None and holds(row) else None

    return eventually(seen, f"the row of {page_id}")


def words(row: Page) -> str:
    """What a browser shows of a row's document."""
    return _words(row.content) if row.content is not None else ""


def _words(node: dict[str, Any]) -> str:
    return " ".join([node.get("text", ""), *map(_words, node.get("content", []))])


async def test_create_page_appears_in_the_database_visible_in_the_browser(mirrord: Mirrord, agent: Agent) -> None:
    done = await agent.call("create_page", title="Beta", parentPath="Projects", content="# Beta\n\nNew project.\n")
    row = the_row(mirrord, done["pageId"], lambda row: "New project." in words(row))

    assert (row.name, row.kind, row.deleted) == ("Beta", "page", False)
    assert row.content is not None
    assert [node["type"] for node in row.content["content"]] == ["heading", "paragraph"]


async def test_write_page_updates_block_content_in_the_database(mirrord: Mirrord, agent: Agent) -> None:
    await agent.call("read_page", path="Projects/Alpha.md")
    done = await agent.call("write_page", path="Projects/Alpha.md", content=ALPHA + "\n- [ ] a task\n")
    row = the_row(mirrord, done["pageId"], lambda row: "a task" in words(row))

    assert row.content is not None
    assert row.content["content"][-1]["type"] == "taskList"
    status = await agent.call("sync_status", path="Projects/Alpha.md", wait=10)
    assert (status["daemon"], status["synced"]) == (True, True)


async def test_delete_page_removes_the_page_from_the_database(mirrord: Mirrord, agent: Agent) -> None:
    done = await agent.call("delete_page", path="Projects/Alpha.md")
    the_row(mirrord, done["pageId"], lambda row: row.deleted)


async def test_search_pages_finds_content_written_via_browser(mirrord: Mirrord, agent: Agent) -> None:
    _type(mirrord.app, mirrord, "A rare zebrafish.")
    eventually(lambda: "zebrafish" in (mirrord.text("Projects/Alpha.md") or ""), "the file of the browser's edit")
    (hit,) = (await agent.call("search_pages", query="zebrafish"))["results"]

    assert (hit["path"], hit["title"]) == ("Projects/Alpha.md", "Alpha")
    assert "A rare zebrafish." in hit["matchContext"]


async def test_read_page_reflects_a_browser_edit(mirrord: Mirrord, agent: Agent) -> None:
    before = await agent.call("read_page", path="Projects/Alpha.md")
    _type(mirrord.app, mirrord, "Typed in the browser.")
    eventually(lambda: "Typed" in (mirrord.text("Projects/Alpha.md") or ""), "the file of the browser's edit")
    after = await agent.call("read_page", path="Projects/Alpha.md")
    refused_after = await agent.call("write_page", path="Projects/Alpha.md", content=after["content"] + "\nMine.\n")

    assert before["content"] == ALPHA
    assert after["content"] == ALPHA + "\nTyped in the browser.\n"
    assert after["pageId"] == before["pageId"] == refused_after["pageId"]


async def test_tenant_isolation_cannot_access_other_tenants_files(mirrord: Mirrord, agent: Agent) -> None:
    other = mirrord.mirror / "other"
    other.mkdir()
    (other / "Secret.md").write_text("# Secret\n", encoding="utf-8")
    paths = ["../other/Secret.md", "../other/Secret", "Projects/../../other/Secret.md", str(other / "Secret.md")]
    for path in paths:
        refused = await agent.refused("read_page", path=path)
        assert (refused["error"], refused["error_type"]) == ("Cannot access pages in another tenant", "forbidden")
        refused = await agent.refused("write_page", path=path, content="x")
        assert refused["error"] == "Cannot access pages in another tenant"
        await agent.refused("move_page", sourcePath="Projects/Alpha.md", destinationPath=path)
        await agent.refused("list_pages", path=path)
    assert (await agent.call("search_pages", query="Secret"))["results"] == []
    assert (other / "Secret.md").read_text(encoding="utf-8") == "# Secret\n"


def _type(app: Connection, mirrord: Mirrord, line: str) -> None:
    """Add a paragraph as an editor in a browser does: a new document, over the version that it shows."""
    row = eventually(partial(_derived, mirrord), "the document")
    assert row.content is not None
    paragraph = {"type": "paragraph", "content": [{"type": "text", "text": line}]}
    content = {**row.content, "content": [*row.content["content"], paragraph]}
    app.execute(
        "UPDATE mirrord.page SET content = %s WHERE id = %s AND version = %s", [Jsonb(content), row.id, row.version]
    )


def _derived(mirrord: Mirrord) -> Page | None:
    row = mirrord.page("Projects/Alpha.md")
    return row if row is not None and row.content is not None else None
