"""What agents write is in the browser, and what is typed in the browser comes to the agents."""

from contextlib import AbstractAsyncContextManager

import psycopg
import pytest
from playwright.async_api import expect

from mirrord.mcp.admission import Tenant
from tests.console.conftest import Console, NewPerson
from tests.console.people import PATIENCE, becomes
from tests.support.clients import Agent, in_memory
from tests.support.editors import save

pytestmark = pytest.mark.asyncio(loop_scope="session")


@pytest.fixture
def agent(writer: Tenant) -> AbstractAsyncContextManager[Agent]:
    return in_memory(writer)


@pytest.fixture(scope="module")
def neighbour(console: Console) -> str:
    """How to connect to another tenant's rows."""
    assert console.mirrord.run("tenant", "add", "neighbour").returncode == 0
    return console.mirrord.run("dsn", "--tenant", "neighbour").stdout.strip()


async def test_create_page_via_mcp_is_visible_in_the_browser(
    console: Console, person: NewPerson, agent: AbstractAsyncContextManager[Agent]
) -> None:
    reader = await person()
    await reader.open("Welcome.md")
    async with agent as client:
        await client.call("create_page", title="Made by an agent", content="# Made\n\nProject details.\n")
    link = reader.page.locator("#tree").get_by_role("link", name="Made by an agent", exact=True)
    await link.click(timeout=PATIENCE)

    await reader.sees("Project details.")


async def test_write_page_via_mcp_updates_the_blocks_in_the_browser(
    console: Console, person: NewPerson, agent: AbstractAsyncContextManager[Agent]
) -> None:
    save(console.mirrord.file("Written.md"), "# A page\n")
    reader = await person()
    await reader.open("Written.md")
    async with agent as client:
        await client.call("read_page", path="Written.md")
        await client.call("write_page", path="Written.md", content="# A page\n\n- [ ] a task\n")

    await expect(reader.text.get_by_role("checkbox")).to_be_visible(timeout=PATIENCE)


async def test_delete_page_via_mcp_removes_the_page_from_the_browser(
    console: Console, person: NewPerson, agent: AbstractAsyncContextManager[Agent]
) -> None:
    save(console.mirrord.file("Deleted.md"), "to be deleted\n")
    reader = await person()
    await reader.open("Deleted.md")
    async with agent as client:
        await client.call("delete_page", path="Deleted.md")

    await expect(reader.page.locator("#notices")).to_contain_text("in the trash", timeout=PATIENCE)
    await expect(reader.page.locator("#tree").get_by_role("link", name="Deleted", exact=True)).to_have_count(0)


async def test_what_is_typed_in_the_browser_is_found_and_read_by_an_agent(
    console: Console, person: NewPerson, agent: AbstractAsyncContextManager[Agent]
) -> None:
    file = console.mirrord.file("Typed.md")
    save(file, "Before.\n")
    reader = await person()
    await reader.open("Typed.md")
    async with agent as client:
        before = await client.call("read_page", path="Typed.md")
        await reader.after("Before.")
        await reader.type(" A rare zebrafish.")
        becomes(file, "Before. A rare zebrafish.\n")
        (hit,) = (await client.call("search_pages", query="zebrafish"))["results"]
        refused = await client.refused("write_page", path="Typed.md", content="# Mine\n")
        after = await client.call("read_page", path="Typed.md")

    assert hit["path"] == "Typed.md"
    assert (before["content"], after["content"]) == ("Before.\n", "Before. A rare zebrafish.\n")
    assert refused["code"] == "CONFLICT"
    assert "digest" not in refused


async def test_the_browser_of_a_tenant_opens_nothing_of_another(
    console: Console, person: NewPerson, neighbour: str
) -> None:
    with psycopg.connect(neighbour, autocommit=True) as other:
        inserted = other.execute("INSERT INTO mirrord.page (name, markdown) VALUES ('Secret', 'secret') RETURNING id")
        (secret,) = inserted.fetchone() or (None,)
    reader = await person()
    answers = [
        await reader.page.goto(f"{console.url}/t/{tenant}/{where}")
        for tenant in ("neighbour", "console")
        for where in (f"p/{secret}", f"api/pages/{secret}")
    ]

    assert [answer.status for answer in answers if answer is not None] == [404] * 4
