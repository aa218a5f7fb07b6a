"""Sharing in a real browser: a person makes a link or publishes a folder, and others read it without scripts."""

import hashlib
import re
import time

import orjson
import pytest
from playwright.async_api import Browser, Page, expect

from tests.console.conftest import Console, NewPerson
from tests.console.judging import judge, with_axe
from tests.console.people import PATIENCE, Person, ready, row_of
from tests.console.test_places import signed_in_by
from tests.support.editors import save

pytestmark = pytest.mark.asyncio(loop_scope="session")


def operators_link(console: Console) -> str:
    completed = console.mirrord.run("console", "link")
    assert completed.returncode == 0, completed.stderr
    return completed.stdout.strip()


async def open_sharing(somebody: Person) -> None:
    await ready(somebody)
    await expect(somebody.page.locator("#save-state")).to_have_attribute("data-state", "saved", timeout=PATIENCE)
    await somebody.page.get_by_role("button", name="Share…").click()
    await expect(somebody.page.get_by_role("dialog")).to_contain_text("This page is not shared.", timeout=PATIENCE)


async def address_of_new(somebody: Person) -> str:
    """Press Share, and read the address."""
    await somebody.page.get_by_role("dialog").get_by_role("button", name="Share", exact=True).click()
    field = somebody.page.get_by_label("Address", exact=True)
    await expect(field).to_be_visible(timeout=PATIENCE)
    return await field.input_value()


async def reader_without_scripts(browser: Browser) -> Page:
    return await (await browser.new_context(java_script_enabled=False)).new_page()


async def test_a_page_is_read_by_its_link_without_signing_in_until_the_link_is_ended(
    console: Console, person: NewPerson, browser: Browser
) -> None:
    save(console.mirrord.file("To share.md"), "# To share\n\nRead **this**, not [[Sessions]].\n")
    sharer = await person()
    await sharer.open("To share")
    await open_sharing(sharer)
    await expect(sharer.page.get_by_label("Publish under a name")).to_be_hidden()
    address = await address_of_new(sharer)
    await expect(sharer.page.get_by_role("dialog")).to_contain_text("Link until", timeout=PATIENCE)
    reader = await reader_without_scripts(browser)
    await reader.goto(address)
    await expect(reader.locator("main strong")).to_have_text("this")
    await expect(reader.get_by_role("link", name="Sessions")).to_have_count(0)
    await sharer.page.get_by_role("dialog").get_by_role("button", name="End").click()
    await expect(sharer.page.get_by_role("dialog")).to_contain_text("This page is not shared.", timeout=PATIENCE)
    await expect(sharer.page.get_by_role("button", name="Cancel")).to_have_count(0)  # of what is done already
    answer = await reader.goto(address)

    assert answer is not None
    assert answer.status == 404
    await expect(reader.get_by_role("heading", name="This page is not shared")).to_be_visible()
    await expect(reader.get_by_role("link", name="Back to the start")).to_have_count(0)  # which asks to sign in


async def test_a_published_folder_is_a_site_of_its_pages_whose_links_work(
    console: Console, person: NewPerson, browser: Browser
) -> None:
    save(console.mirrord.file("Site/First.md"), "# First\n\nOn to [[Second]] or [outside](../Sessions.md).\n")
    save(console.mirrord.file("Site/Second.md"), "# Second\n\nThe end.\n")
    page = row_of(console.mirrord, "Site/First.md")
    row_of(console.mirrord, "Site/Second.md")
    publisher = await person(storage_state=await signed_in_by(operators_link(console), browser))
    await publisher.page.goto(f"{console.url}/t/console/p/{page.parent_id}")
    await ready(publisher)
    await publisher.page.get_by_role("button", name="Share…").click()
    await publisher.page.get_by_label("Publish under a name").check()
    await publisher.page.get_by_label("Public name").fill("first-site")
    address = await address_of_new(publisher)
    assert address.endswith("/s/first-site")
    reader = await reader_without_scripts(browser)
    await reader.goto(address)
    await expect(reader.locator("meta[name=robots]")).to_have_attribute("content", "noindex, nofollow, noarchive")
    await reader.get_by_role("link", name="First").click()
    await expect(reader.get_by_role("link", name="outside")).to_have_count(0)
    await expect(reader.locator("main")).to_contain_text("or outside")
    await reader.get_by_role("link", name="Second").click()
    await expect(reader.locator("main")).to_contain_text("The end.")
    await reader.get_by_role("link", name="Site").click()

    await expect(reader.get_by_role("heading", level=1)).to_have_text("Site")


async def test_a_link_says_until_when_it_is_valid_and_shows_nothing_afterwards(
    console: Console, person: NewPerson, browser: Browser
) -> None:
    save(console.mirrord.file("Valid for a day.md"), "# Valid for a day\n\nuntil tomorrow\n")
    sharer = await person()
    await sharer.open("Valid for a day")
    await open_sharing(sharer)
    await sharer.page.get_by_label("Valid for", exact=True).select_option(label="1 day")
    address = await address_of_new(sharer)
    await expect(sharer.page.get_by_role("dialog")).to_contain_text("Link until", timeout=PATIENCE)
    reader = await reader_without_scripts(browser)
    await reader.goto(address)
    await expect(reader.locator("main")).to_contain_text("until tomorrow")
    assert 0 < (until := expire(console, address)) - time.time() <= 86_400
    answer = await reader.reload()

    assert answer is not None
    assert answer.status == 404, until
    await expect(reader.locator("body")).not_to_contain_text("until tomorrow")
    await sharer.page.reload()
    await open_sharing(sharer)  # which says that the page is not shared


def expire(console: Console, address: str) -> float:
    """Let a link have ended a second ago; when it would have ended, in Unix seconds."""
    token = address.rpartition("/")[2]
    file = console.mirrord.data / "console" / "shares" / hashlib.sha256(token.encode()).hexdigest()
    facts = orjson.loads(file.read_bytes())
    save(file, orjson.dumps({**facts, "until": time.time() - 1}).decode())
    return float(facts["until"])


async def test_a_shared_folder_shows_the_pages_in_it_and_nothing_beside_or_above(
    console: Console, person: NewPerson, browser: Browser
) -> None:
    save(console.mirrord.file("Open/Shared/Deep/Inside.md"), "# Inside\n\nread me, not [[Beside the folder]]\n")
    save(console.mirrord.file("Open/Beside the folder.md"), "# Beside the folder\n\nsecret words [[Inside]]\n")
    inside = row_of(console.mirrord, "Open/Shared/Deep/Inside.md")
    beside = row_of(console.mirrord, "Open/Beside the folder.md")
    deep = console.mirrord.page("Open/Shared/Deep")
    shared = inside.parent_id if deep is None else deep.parent_id
    sharer = await person()
    await sharer.page.goto(f"{console.url}/t/console/p/{shared}")
    await ready(sharer)
    await sharer.page.get_by_role("button", name="Share…").click()
    await expect(sharer.page.get_by_label("With all pages inside")).to_be_checked(timeout=PATIENCE)
    address = await address_of_new(sharer)
    reader = await reader_without_scripts(browser)
    await reader.goto(address)
    await expect(reader.locator("body")).not_to_contain_text("Beside")
    answers = {page: await reader.goto(f"{address}/p/{page}") for page in (inside.id, beside.id, beside.parent_id)}

    statuses = {page: answer.status for page, answer in answers.items() if answer is not None}
    assert statuses == {inside.id: 200, beside.id: 404, beside.parent_id: 404}
    await reader.goto(f"{address}/p/{inside.id}")
    await expect(reader.locator("main")).to_contain_text("read me, not Beside the folder")
    assert await reader.locator("main a").filter(has_text="Beside").count() == 0
    await expect(reader.get_by_role("searchbox")).to_have_count(0)


async def test_axe_finds_nothing_in_shared_and_published_pages(
    console: Console, person: NewPerson, browser: Browser
) -> None:
    words = "- [x] a task\n\n> [!note]- Title\n> text\n\n<!-- columns: 300 - -->\n| a | b |\n|:--|--:|\n| 1 | 2 |\n\n"
    code = (
        "```python\n"
        + "x = 1  # "
        + "long " * 60
        + "\n```\n\nA note[^1] and ==marked== [[Judged second]].\n\n[^1]: here\n"
    )
    save(console.mirrord.file("Judged site/Judged first.md"), f"# Judged first\n\n## Part\n\n{words}{code}")
    save(console.mirrord.file("Judged site/Judged second.md"), "# Judged second\n\ntext\n")
    first = row_of(console.mirrord, "Judged site/Judged first.md")
    row_of(console.mirrord, "Judged site/Judged second.md")
    publisher = await person(storage_state=await signed_in_by(operators_link(console), browser))
    addresses = {}
    for page, name in ((first.id, None), (first.parent_id, "judged-site")):
        await publisher.page.goto(f"{console.url}/t/console/p/{page}")
        await ready(publisher)
        await publisher.page.get_by_role("button", name="Share…").click()
        if name is not None:
            await publisher.page.get_by_label("Publish under a name").check()
            await publisher.page.get_by_label("Public name").fill(name)
        addresses[name] = await address_of_new(publisher)
    reader = await (await browser.new_context(bypass_csp=True)).new_page()
    places = [addresses[None], addresses["judged-site"], f"{addresses['judged-site']}/p/{first.id}"]
    for place in [*places, re.sub("[^/]+$", "unknown", addresses[None])]:
        await reader.goto(place)
        await with_axe(reader)
        await judge(reader)
    await reader.context.close()
