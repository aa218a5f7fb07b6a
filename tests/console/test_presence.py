"""Who else is on a page: people see each other come and go, each once."""

import pytest
from playwright.async_api import Browser, Locator, Page, expect

from tests.console.conftest import Console, NewPerson
from tests.console.people import PATIENCE, Person, ready
from tests.console.test_places import signed_in_by
from tests.support.editors import save

pytestmark = pytest.mark.asyncio(loop_scope="session")


async def named(console: Console, person: NewPerson, browser: Browser, name: str) -> Person:
    """A guest of the tenant whose link has this name."""
    completed = console.mirrord.run("console", "link", "--tenant", console.mirrord.tenant, "--name", name)
    assert completed.returncode == 0, completed.stderr
    return await person(storage_state=await signed_in_by(completed.stdout.strip(), browser))


def list_of(page: Page) -> Locator:
    return page.get_by_role("list", name="Also on this page")


def people(somebody: Person) -> Locator:
    return list_of(somebody.page).get_by_role("listitem")


async def test_two_people_see_each_other_on_a_page_and_no_more_once_one_leaves(
    console: Console, person: NewPerson, browser: Browser
) -> None:
    save(console.mirrord.file("Met.md"), "# Met\n\nHere.\n")
    save(console.mirrord.file("Elsewhere.md"), "# Elsewhere\n\nThere.\n")
    ada, bo = [await named(console, person, browser, name) for name in ("Ada Lovelace", "<b>bo</b>")]
    await ada.open("Met.md")
    await ready(ada)
    await bo.open("Met.md")
    await expect(people(ada)).to_have_attribute("title", "<b>bo</b>", timeout=PATIENCE)
    await expect(people(bo)).to_have_attribute("title", "Ada Lovelace", timeout=PATIENCE)
    await expect(people(bo).locator("[aria-hidden]")).to_have_text("AL")
    second = await ada.context.new_page()
    await second.goto(ada.page.url)
    await expect(list_of(second).get_by_role("listitem")).to_have_count(1, timeout=PATIENCE)
    await expect(people(bo)).to_have_count(1)
    await second.close()
    await ready(bo)
    await bo.page.locator("#tree").get_by_role("link", name="Elsewhere", exact=True).click()
    await expect(bo.page.locator("#title")).to_have_text("Elsewhere", timeout=PATIENCE)
    await expect(people(ada)).to_have_count(0, timeout=PATIENCE)
    await bo.page.go_back()
    await expect(people(ada)).to_have_attribute("title", "<b>bo</b>", timeout=PATIENCE)
    await expect(people(bo)).to_have_attribute("title", "Ada Lovelace", timeout=PATIENCE)
    await bo.page.close()

    await expect(people(ada)).to_have_count(0, timeout=PATIENCE)


@pytest.mark.parametrize("width", [1280, 360])
async def test_people_stand_beside_the_title_in_wide_and_narrow_windows(
    console: Console, person: NewPerson, browser: Browser, width: int
) -> None:
    save(console.mirrord.file("Crowd.md"), "# Crowd\n\nHere.\n")
    ada = await named(console, person, browser, "Ada Lovelace")
    await ada.page.set_viewport_size({"width": width, "height": 700})
    await ada.open("Crowd.md")
    for name in ("Bo Birch", "cy@example.org", "Dee", "Eve", "Flo"):
        await (await named(console, person, browser, name)).open("Crowd.md")
        await expect(list_of(ada.page)).to_contain_text(name, timeout=PATIENCE)
    await expect(people(ada)).to_have_count(4, timeout=PATIENCE)
    await expect(people(ada).last).to_have_attribute("title", "Eve\nFlo", timeout=PATIENCE)
    letters = await people(ada).locator("[aria-hidden]").all_inner_texts()
    title, last = await ada.page.locator("#title").bounding_box(), await people(ada).last.bounding_box()
    assert title is not None
    assert last is not None

    assert letters == ["BB", "C", "D", "+2"]
    assert last["x"] + last["width"] <= width
    assert abs((last["y"] + last["height"] / 2) - (title["y"] + title["height"] / 2)) <= 30
