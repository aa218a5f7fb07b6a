"""An operator lets agents in and out in a real browser, and has all files looked at."""

import os

import pytest
from playwright.async_api import Browser, expect

from tests.console.conftest import Console, NewPerson
from tests.console.people import PATIENCE, Person, row_of
from tests.console.test_status import look_at, operator
from tests.support.clients import on_stdio, process
from tests.support.editors import save
from tests.support.harness import eventually

pytestmark = pytest.mark.asyncio(loop_scope="session")


async def make_token(decider: Person, name: str, scope: str) -> str:
    """The token of a new agent, as the page shows it."""
    page = decider.page
    await page.get_by_label("Name of the agent").fill(name)
    await page.get_by_label("What it may do").select_option(scope)
    await page.get_by_role("button", name="Make a token").click()
    field = page.get_by_label(f"Token of {name}")
    await expect(field).to_be_visible(timeout=PATIENCE)
    return await field.input_value()


async def test_an_agent_works_with_a_token_of_the_console_until_that_is_ended(
    console: Console, browser: Browser
) -> None:
    decider = await operator(console, browser)
    token = await make_token(decider, "pruner", "write")
    async with on_stdio(process(console.mirrord.mirror, {"MIRRORD_TOKEN": token})) as agent:
        await agent.call("create_page", title="By a token", content="text\n")
        eventually(lambda: console.mirrord.page("By a token.md"), "the page of the agent")
        card = decider.page.locator(".tokens li").filter(has_text="agent pruner")
        await expect(card).to_contain_text("may change pages", timeout=PATIENCE)
        assert token not in await card.inner_text()
        await decider.page.get_by_role("button", name="End the access of pruner").click()
        await decider.page.get_by_role("dialog").get_by_role("button", name="End", exact=True).click()
        await expect(card).to_contain_text("ended by", timeout=PATIENCE)
        refusal = await agent.refused("create_page", title="Too late", content="text\n")

    assert "revoked" in str(refusal)
    await decider.page.reload()
    await expect(card).to_contain_text("ended by", timeout=PATIENCE)
    await expect(decider.page.get_by_role("button", name="End the access of pruner")).to_have_count(0)
    await decider.context.close()


async def test_tokens_of_commands_are_listed_and_ended_in_the_console(console: Console, browser: Browser) -> None:
    console.mirrord.create_token("from a command")
    decider = await operator(console, browser)
    card = decider.page.locator(".tokens li").filter(has_text="from a command")
    await expect(card).to_contain_text("until", timeout=PATIENCE)
    await decider.page.get_by_role("button", name="End the access of from a command").click()
    await decider.page.get_by_role("dialog").get_by_role("button", name="End", exact=True).click()
    await expect(card).to_contain_text("ended by", timeout=PATIENCE)

    listed = console.mirrord.run("tenant", "tokens", console.mirrord.tenant).stdout
    assert ", revoked by " in next(line for line in listed.splitlines() if "from a command" in line)
    await decider.context.close()


async def test_a_guest_sees_nothing_of_tokens(console: Console, person: NewPerson) -> None:
    guest = await person()
    await look_at(guest, "status")
    await expect(guest.page.locator(".standing").first).to_be_visible(timeout=PATIENCE)
    await expect(guest.page.get_by_role("region", name="Access of agents")).to_have_count(0)
    await expect(guest.page.get_by_role("button", name="Rescan")).to_have_count(0)


async def test_a_rescan_finds_what_no_news_told_of(console: Console, browser: Browser) -> None:
    file = console.mirrord.file("Scanned.md")
    save(file, "one\n")
    eventually(lambda: console.mirrord.page("Scanned.md"), "the page")
    decider = await operator(console, browser)
    save(file, "two\n")
    os.utime(file)
    await decider.page.get_by_role("button", name="Rescan").click()
    await expect(decider.page.locator("#told")).to_contain_text("All files", timeout=PATIENCE)

    eventually(lambda: row_of(console.mirrord, "Scanned.md").markdown == "two\n", "the new text")
    await decider.context.close()
