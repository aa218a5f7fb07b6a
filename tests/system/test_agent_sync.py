"""What agents write comes to the database and the browser, and what is written there comes to the agents."""

from collections.abc import Callable, Iterator
from contextlib import AbstractAsyncContextManager
from typing import Any
from uuid import UUID

import pytest
from psycopg.types.json import Jsonb

from mirrord.mcp.admission import OTHER_TENANT
from tests.support.clients import Agent, on_stdio, process
from tests.support.commands import Near
from tests.support.harness import Mirrord, eventually
from tests.support.rows import Page, page_of

TEXT = "# A page\n\nProject details.\n"
PAGES = ("Written", "Deleted", "Searched", "Shown", "Condensed")  # a test each: they share a daemon


@pytest.fixture(scope="module")
def mirrord(tmp_path_factory: pytest.TempPathFactory, module_dsn: str) -> Iterator[Mirrord]:
    with Near(tmp_path_factory.mktemp("agents") / "installation", dsn=module_dsn) as running:
        running.file("Projects").mkdir(parents=True)
        for name in PAGES:
            running.file(f"Projects/{name}.md").write_text(TEXT, encoding="utf-8")
        running.up()
        yield running


@pytest.fixture(scope="module")
def token(mirrord: Mirrord) -> str:
    return mirrord.create_token()


def agent_of(mirrord: Mirrord, token: str) -> AbstractAsyncContextManager[Agent]:
    return on_stdio(process(mirrord.mirror, {"MIRRORD_TOKEN": token}))


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


async def test_create_page_appears_in_the_database_visible_in_the_browser(mirrord: Mirrord, token: str) -> None:
    async with agent_of(mirrord, token) as agent:
        created = await agent.call(
            "create_page", title="Beta", parentPath="Projects", content="# Beta\n\nNew project.\n"
        )
    row = the_row(mirrord, created["pageId"], lambda row: "New project." in words(row))

    assert (row.name, row.kind, row.deleted) == ("Beta", "page", False)
    assert row.content is not None
    assert [node["type"] for node in row.content["content"]] == ["heading", "paragraph"]


async def test_write_page_updates_block_content_in_the_database(mirrord: Mirrord, token: str) -> None:
    async with agent_of(mirrord, token) as agent:
        await agent.call("read_page", path="Projects/Written.md")
        written = await agent.call("write_page", path="Projects/Written.md", content=TEXT + "\n- [ ] a task\n")
        row = the_row(mirrord, written["pageId"], lambda row: "a task" in words(row))
        status = await agent.call("sync_status", path="Projects/Written.md", wait=10)

    assert row.content is not None
    assert row.content["content"][-1]["type"] == "taskList"
    assert (status["daemon"], status["synced"], status["digest"]) == (True, True, written["digest"])


async def test_delete_page_removes_the_page_from_the_database(mirrord: Mirrord, token: str) -> None:
    async with agent_of(mirrord, token) as agent:
        deleted = await agent.call("delete_page", path="Projects/Deleted.md")
    the_row(mirrord, deleted["pageId"], lambda row: row.deleted)


async def test_a_folder_without_a_page_is_moved_deleted_and_brought_back_in_the_database(
    mirrord: Mirrord, token: str
) -> None:
    async with agent_of(mirrord, token) as agent:
        page = await agent.call("create_page", title="Inside", parentPath="Projects", content=TEXT)
        await agent.call("move_page", sourcePath=page["path"], destinationPath="Plain/Inside.md")
        folder = (await agent.call("read_page", path="Plain"))["pageId"]
        the_row(mirrord, page["pageId"], lambda row: row.parent_id == UUID(folder))
        await agent.call("move_page", sourcePath="Plain", destinationPath="Bare")
        the_row(mirrord, folder, lambda row: row.name == "Bare")
        deleted = await agent.call("delete_page", path="Bare", recursive=True)
        assert deleted["pageId"] == folder
        the_row(mirrord, page["pageId"], lambda row: row.deleted)
        the_row(mirrord, folder, lambda row: row.deleted)
        back = await agent.call("restore_page", trashId=deleted["trashId"])
        the_row(mirrord, back["pageId"], lambda row: (row.name, row.deleted) == ("Bare", False))
        assert back["below"] == ["Bare/Inside.md"]
        the_row(mirrord, page["pageId"], lambda row: not row.deleted and row.parent_id == UUID(back["pageId"]))


async def test_search_pages_finds_content_written_via_browser(mirrord: Mirrord, token: str) -> None:
    type_into(mirrord, "Projects/Searched.md", "A rare zebrafish.")
    async with agent_of(mirrord, token) as agent:
        (hit,) = (await agent.call("search_pages", query="zebrafish"))["results"]

    assert (hit["path"], hit["title"]) == ("Projects/Searched.md", "Searched")
    assert "A rare zebrafish." in hit["matchContext"]


async def test_read_page_reflects_a_browser_edit(mirrord: Mirrord, token: str) -> None:
    async with agent_of(mirrord, token) as agent:
        before = await agent.call("read_page", path="Projects/Shown.md")
        type_into(mirrord, "Projects/Shown.md", "Typed in the browser.")
        refused = await agent.refused("write_page", path="Projects/Shown.md", content="# Mine\n")
        after = await agent.call("read_page", path="Projects/Shown.md")

    assert before["content"] == TEXT
    assert after["content"] == TEXT + "\nTyped in the browser.\n"
    assert after["pageId"] == before["pageId"]
    assert (refused["code"], refused.get("digest")) == ("CONFLICT", None)


async def test_what_an_agent_left_out_of_a_text_it_had_read_does_not_come_back(mirrord: Mirrord, token: str) -> None:
    path, text = "Projects/Condensed.md", TEXT.replace("details", "facts")
    type_into(mirrord, path, "Typed in the browser.")
    async with agent_of(mirrord, token) as agent:
        assert "Typed" in (await agent.call("read_page", path=path))["content"]
        written = await agent.call("write_page", path=path, content=text)
        status = await agent.call("sync_status", path=path, wait=10)
    row = the_row(mirrord, written["pageId"], lambda row: "facts" in (row.markdown or ""))

    assert (status["synced"], row.markdown, mirrord.text(path)) == (True, text, text)


async def test_tenant_isolation_cannot_access_other_tenants_files(mirrord: Mirrord, token: str) -> None:
    other = mirrord.mirror / "other"
    other.mkdir()
    (other / "Secret.md").write_text("# Secret\n", encoding="utf-8")
    paths = ["../other/Secret.md", "../other/Secret", "Projects/../../other/Secret.md", str(other / "Secret.md")]
    async with agent_of(mirrord, token) as agent:
        for path in paths:
            for tool, arguments in (
                ("read_page", {"path": path}),
                ("write_page", {"path": path, "content": "x"}),
                ("delete_page", {"path": path}),
                ("list_pages", {"path": path}),
                ("get_page_links", {"path": path}),
                ("search_pages", {"query": "Secret", "path": path}),
                ("create_page", {"title": "x", "parentPath": path}),
                ("move_page", {"sourcePath": "Projects/Shown.md", "destinationPath": path}),
            ):
                refused = await agent.refused(tool, **arguments)
                assert (refused["error"], refused["error_type"]) == (OTHER_TENANT, "forbidden"), tool
        assert (await agent.call("search_pages", query="Secret"))["results"] == []

    assert [file.name for file in other.iterdir()] == ["Secret.md"]
    assert (other / "Secret.md").read_text(encoding="utf-8") == "# Secret\n"


def type_into(mirrord: Mirrord, path: str, line: str) -> None:
    """Add a paragraph as an editor in a browser does: a new document over the version it shows; waits for the file."""

    def derived() -> Page | None:
        row = mirrord.page(path)
        return row if row is not None and row.content is not None else None

    row = eventually(derived, f"the document of {path}")
    assert row.content is not None
    paragraph = {"type": "paragraph", "content": [{"type": "text", "text": line}]}
    content = {**row.content, "content": [*row.content["content"], paragraph]}
    cursor = mirrord.app.execute(
        "UPDATE mirrord.page SET content = %s WHERE id = %s AND version = %s", [Jsonb(content), row.id, row.version]
    )
    assert cursor.rowcount == 1
    eventually(lambda: line in (mirrord.text(path) or ""), f"the file of {path}")


async def test_the_order_that_an_app_gave_pages_is_that_of_an_agents_lists(mirrord: Mirrord, token: str) -> None:
    mirrord.app.execute("INSERT INTO page (kind, name) VALUES ('folder', 'Order')")
    for title, position in [("Apple", "c"), ("Berry", "b"), ("Cherry", "a")]:
        mirrord.app.execute(
            "INSERT INTO page (parent_id, title, position, markdown) "
            "SELECT id, %s, %s, %s FROM page WHERE name = 'Order' AND kind = 'folder'",
            [title, position, f"# {title}\n"],
        )
    assert await _listed(mirrord, token, "Order") == ["Cherry", "Berry", "Apple"]
    mirrord.app.execute("UPDATE page SET position = 'aa' WHERE title = 'Apple'")
    eventually(lambda: "position: aa\n" in (mirrord.text("Order/Apple.md") or ""), "the position in the file")
    assert await _listed(mirrord, token, "Order") == ["Cherry", "Apple", "Berry"]


async def test_a_position_that_a_person_removes_from_the_file_leaves_the_row(mirrord: Mirrord) -> None:
    mirrord.app.execute("INSERT INTO page (title, position, markdown) VALUES ('Placed', 'm', '# Placed\n')")
    eventually(lambda: "position: m\n" in (mirrord.text("Placed.md") or ""), "the position in the file")
    file = mirrord.file("Placed.md")
    file.write_text(file.read_text("utf-8").replace("position: m\n", ""), "utf-8")
    eventually(lambda: _position(mirrord, "Placed") is None, "the row to have no position")
    mirrord.app.execute("UPDATE page SET position = 'n' WHERE title = 'Placed'")
    eventually(lambda: "position: n\n" in (mirrord.text("Placed.md") or ""), "the position in the file again")


def _position(mirrord: Mirrord, title: str) -> str | None:
    row = mirrord.app.execute("SELECT position FROM page WHERE title = %s", [title]).fetchone()
    assert row is not None
    position: str | None = row[0]
    return position


async def _listed(mirrord: Mirrord, token: str, folder: str) -> list[str]:
    """The titles an agent is shown, once every page has its file."""
    eventually(lambda: len(list(mirrord.file(folder).glob("*.md"))) == 3, "the files")
    mirrord.flush()
    async with agent_of(mirrord, token) as agent:
        return [page["title"] for page in (await agent.call("list_pages", path=folder))["pages"]]
