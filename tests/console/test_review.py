"""A person reviews a change set in the console: looks at each page, takes a part of it, comments, and undoes it."""

import os
import re
from pathlib import Path

import pytest
from mcp_types import Implementation
from playwright.async_api import Browser, expect

from tests.console.conftest import Console
from tests.console.people import PATIENCE, Person, follow
from tests.support.clients import on_stdio, process
from tests.support.harness import Awaited, eventually

pytestmark = pytest.mark.asyncio(loop_scope="session")

UNDO_SECONDS = 60.0  # seconds; an undo waits up to ten for changes under way, and longer on a busy machine
NAMELESS = Implementation(name="mcp", version="1")  # as an MCP library calls a client without a name
TEXT = "# Garden\n\nfirst\n\nsecond\n\n- [ ] water\n- [x] dig\n"


@pytest.fixture(scope="module")
def reviewed_token(console: Console) -> str:
    """A token of an agent whose changes a person reviews; commands run outside the loop of a test."""
    return console.mirrord.create_token("gardener", "--review")


@pytest.fixture(scope="module")
def acting_token(console: Console) -> str:
    """A token of an agent whose changes apply at once."""
    return console.mirrord.create_token("seed keeper")


@pytest.fixture(scope="module")
def operator_link(console: Console) -> str:
    """A link for a person who may decide, beside a page that is in rows."""
    console.mirrord.file("Garden.md").write_text(TEXT, encoding="utf-8")
    console.mirrord.flush()
    return console.mirrord.run("console", "link").stdout.strip()


@pytest.fixture(scope="module")
def second_link(console: Console) -> str:
    """Another link: each works once."""
    return console.mirrord.run("console", "link").stdout.strip()


@pytest.fixture(scope="module")
def third_link(console: Console) -> str:
    """Another link."""
    return console.mirrord.run("console", "link").stdout.strip()


@pytest.fixture(scope="module")
def guest_link(console: Console) -> str:
    """A link for a person who may look only."""
    return console.mirrord.run("console", "link", "--tenant", console.mirrord.tenant, "--name", "ada").stdout.strip()


async def visitor(console: Console, browser: Browser, link: str) -> Person:
    """A person whom *link* lets in, at the reviews."""
    context = await browser.new_context()
    page = await context.new_page()
    await follow(page, link)
    await page.goto(f"{console.url}/t/{console.mirrord.tenant}/review")
    return Person(context, page, console.url, console.mirrord)


async def propose(console: Console, token: str, title: str = "Spring in the garden") -> str:
    """Let an agent propose to edit one page and to make another; the id of the change set."""
    async with on_stdio(process(console.mirrord.mirror, {"MIRRORD_TOKEN": token}, "--tools", "pages,changes")) as agent:
        opened = await agent.call("begin_changes", title=title)
        edits = [{"find": "first", "replace": "the first"}, {"find": "dig", "replace": "dig deeper"}]
        await agent.call("edit_page", path="Garden.md", edits=edits)
        await agent.call("create_page", title="Weeds", content="many\n")
        await agent.call("apply_changes", message="Spring")
    return str(opened["changeSet"])


def await_text(console: Console, file: Path, text: str) -> None:
    """Wait for the text of a file; a failure says what became of the change sets."""
    try:
        eventually(lambda: file.read_text(encoding="utf-8") == text, "the text before", UNDO_SECONDS)
    except Awaited as failure:
        query = "SELECT kind, title, state, outcome FROM mirrord.change_set ORDER BY started_at"
        change_sets = console.mirrord.app.execute(query).fetchall()
        raise Awaited(
            f"{failure} The file: {file.read_text(encoding='utf-8')!r}. Change sets: {change_sets}"
        ) from failure


async def picture(person: Person, name: str) -> None:
    """Keep a picture, light and dark, where MIRRORD_PICTURES says."""
    if directory := os.environ.get("MIRRORD_PICTURES"):
        for scheme in ("light", "dark"):
            await person.page.emulate_media(color_scheme=scheme)
            await person.page.screenshot(path=Path(directory) / f"{name}-{scheme}.png", full_page=True)


async def test_a_person_takes_a_part_of_what_an_agent_proposes_and_undoes_it(
    console: Console, browser: Browser, reviewed_token: str, operator_link: str
) -> None:
    file = console.mirrord.file("Garden.md")
    await propose(console, reviewed_token)
    person = await visitor(console, browser, operator_link)
    page = person.page
    link = page.get_by_role("region", name="Waiting for you").get_by_role("link", name="Spring in the garden")
    await expect(link).to_be_visible(timeout=PATIENCE)
    await picture(person, "review-list")
    await link.click()

    garden = page.locator(".card").filter(has_text="Edited: Garden.md")
    await expect(garden.get_by_label("Block 2")).to_be_visible(timeout=PATIENCE)
    await expect(garden.get_by_label("Then", exact=True)).to_contain_text("dig deeper")
    await picture(person, "review-page")
    await garden.get_by_label("Block 2").uncheck()
    weeds = page.locator(".card").filter(has_text="New: Weeds.md")
    await weeds.get_by_label("Accept this page").uncheck()
    await page.get_by_role("button", name="Accept what is ticked").click()
    await page.get_by_role("textbox", name="Comment for the agent").fill("Only the first")
    await page.get_by_role("dialog").get_by_role("button", name="Accept").click()

    eventually(lambda: file.read_text(encoding="utf-8") == TEXT.replace("first", "the first"), "the accepted block")
    assert not console.mirrord.file("Weeds.md").exists()

    undo = page.get_by_role("button", name="Undo: Spring in the garden")  # other tests have change sets here, too
    await expect(undo).to_be_visible(timeout=PATIENCE)
    await undo.click()
    await expect(page.get_by_text("An undo would do this")).to_be_visible(timeout=PATIENCE)
    await picture(person, "review-undo")
    await page.get_by_role("button", name="Undo this").click()
    await_text(console, file, TEXT)
    assert person.errors == []
    await person.context.close()


async def test_a_guest_sees_what_is_proposed_and_a_person_edits_it_before_accepting(
    console: Console, browser: Browser, reviewed_token: str, second_link: str, guest_link: str
) -> None:
    mirrord, title = console.mirrord, "Summer in the garden"
    mirrord.file("Garden.md").write_text(TEXT, encoding="utf-8")
    change_set = await propose(console, reviewed_token, title)
    guest = await visitor(console, browser, guest_link)
    link = guest.page.get_by_role("region", name="Waiting for an operator").get_by_role("link", name=title)
    await expect(link).to_be_visible(timeout=PATIENCE)
    await link.click()
    await expect(guest.page.get_by_text("An operator decides about this.")).to_be_visible(timeout=PATIENCE)
    garden_of_guest = guest.page.locator(".card").filter(has_text="Edited: Garden.md")
    await expect(garden_of_guest.get_by_label("Then", exact=True)).to_contain_text("dig deeper", timeout=PATIENCE)
    for role in ("button", "checkbox", "textbox"):  # a box of the page as it reads cannot be ticked
        await expect(guest.page.locator("#content").get_by_role(role, disabled=False)).to_have_count(0)
    await picture(guest, "review-guest")

    person = await visitor(console, browser, second_link)
    page = person.page
    await page.goto(f"{console.url}/t/{mirrord.tenant}/review?change={change_set}")
    garden = page.locator(".card").filter(has_text="Edited: Garden.md")
    weeds = page.locator(".card").filter(has_text="New: Weeds.md")
    await garden.get_by_label("Block 2").uncheck(timeout=PATIENCE)
    await weeds.get_by_text("Edit before accepting").click(timeout=PATIENCE)
    text = weeds.get_by_role("textbox", name="Text of Weeds.md")
    await expect(text).to_have_value(re.compile("many"))
    await text.fill("few\n")
    await page.get_by_role("button", name="Accept what is ticked").click()
    await expect(page.get_by_text("Your text of Weeds.md is not kept yet")).to_be_visible()
    await picture(person, "review-editing")
    await weeds.get_by_role("button", name="Use this text").click()
    await expect(weeds.get_by_text("with your text")).to_be_visible(timeout=PATIENCE)
    await expect(weeds.get_by_label("Then", exact=True)).to_contain_text("few")
    await expect(garden.get_by_label("Block 2")).not_to_be_checked()
    await picture(person, "review-edited")
    await page.get_by_role("button", name="Accept what is ticked").click()
    await page.get_by_role("dialog").get_by_role("button", name="Accept").click()

    eventually(lambda: (mirrord.text("Weeds.md") or "").endswith("few\n"), "the person's text")
    eventually(lambda: mirrord.text("Garden.md") == TEXT.replace("first", "the first"), "the accepted block")
    assert [*guest.errors, *person.errors] == []
    for visiting in (guest, person):
        await visiting.context.close()


async def test_changes_of_an_agent_without_a_title_are_named_after_its_token(
    console: Console, browser: Browser, acting_token: str, third_link: str
) -> None:
    environment = {"MIRRORD_TOKEN": acting_token}
    async with on_stdio(process(console.mirrord.mirror, environment), client_info=NAMELESS) as agent:
        await agent.call("create_page", title="Seeds", content="many\n")
    eventually(lambda: console.mirrord.page("Seeds.md"), "the page's row")
    person = await visitor(console, browser, third_link)

    title = person.page.get_by_role("heading", name=re.compile(r"^seed keeper, \d{1,2} [A-Z][a-z]+ \d\d:\d\d$"))
    await expect(title).to_have_count(1, timeout=PATIENCE)
    assert person.errors == []
    await person.context.close()
