"""Sharing in a real browser: a person makes a link or publishes a folder, and others read it without scripts."""

import pytest
from playwright.async_api import Browser, Page, expect

from tests.console.conftest import Console, NewPerson
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
    answer = await reader.goto(address)

    assert answer is not None
    assert answer.status == 404


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
