"""The views of an operator in a real browser: files with problems, events with their pages, what each author did."""

import pytest
from playwright.async_api import expect

from mirrord.domain.problem_advice import REMEDIES
from tests.console.conftest import Console, NewPerson
from tests.console.people import PATIENCE, Person, ready
from tests.support.clients import on_stdio, process
from tests.support.editors import save

pytestmark = pytest.mark.asyncio(loop_scope="session")


async def look_at(reader: Person, view: str) -> None:
    await reader.page.goto(f"{reader.url}/t/console/{view}")
    await ready(reader)


async def test_a_file_with_a_problem_is_listed_with_its_remedy_and_the_mirror_is_not_simply_in_sync(
    console: Console, person: NewPerson
) -> None:
    file = console.mirrord.file("Not read.md")
    save(file, "---\ntitle: [oops\n---\ntext\n")
    reader = await person()
    await look_at(reader, "status")
    card = reader.page.get_by_role("region", name="Files with problems").get_by_role("listitem")
    await expect(card.filter(has_text="Not read.md")).to_contain_text(REMEDIES["front-matter"], timeout=PATIENCE)
    await expect(reader.page.locator(".standing").first).to_contain_text("with problems", timeout=PATIENCE)
    save(file, "---\ntitle: mended\n---\ntext\n")

    await expect(card.filter(has_text="Not read.md")).to_have_count(0, timeout=PATIENCE)


async def test_events_lead_to_their_pages_and_change_sets_are_listed_by_author(
    console: Console, person: NewPerson
) -> None:
    for name in ("first", "second"):
        environment = {"MIRRORD_TOKEN": console.mirrord.create_token(name)}
        async with on_stdio(process(console.mirrord.mirror, environment)) as agent:
            await agent.call("create_page", title=f"Of {name}", content=f"by {name}\n")
    reader = await person()
    await look_at(reader, "status")
    events = reader.page.get_by_role("region", name="Recent events")
    await events.get_by_role("link", name="Of second.md").first.click()
    await reader.sees("by second")
    await look_at(reader, "review")
    await reader.page.get_by_label("Changed by").select_option(label="agent first")
    lists = reader.page.locator("#content")
    await expect(lists).to_contain_text("agent first", timeout=PATIENCE)
    await expect(lists.get_by_role("listitem").filter(has_text="agent second")).to_have_count(0)
    await reader.page.reload()

    await expect(lists.get_by_role("listitem").filter(has_text="agent second")).to_have_count(0)
