"""Where a page is and what is near it, in a real browser: path, order, headings, properties, tags, home, copies."""

import asyncio
import re
from datetime import date

import pytest
from playwright.async_api import Browser, Route, StorageState, expect

from tests.console.conftest import Console, NewPerson
from tests.console.people import PATIENCE, Person, becomes, follow, link_of, ready, row_of
from tests.support.editors import save
from tests.support.harness import eventually

pytestmark = pytest.mark.asyncio(loop_scope="session")


async def home(somebody: Person) -> None:
    await somebody.page.goto(f"{somebody.url}/t/console/")
    await ready(somebody)


async def signed_in_by(link: str, browser: Browser) -> StorageState:
    """A session of its own, which signs out without signing out others."""
    async with await browser.new_context() as context:
        await follow(await context.new_page(), link)
        return await context.storage_state()


def text_of_new(console: Console, path: str) -> str:
    """What is in the file of a new page, but for the id that mirrord gives it."""
    file = console.mirrord.file(path)
    eventually(file.exists, path)
    return re.sub("^id: .*\n", "", file.read_text(encoding="utf-8"), flags=re.MULTILINE)


def await_text(console: Console, text: str) -> None:
    """Wait until the row of Sessions.md has it."""
    eventually(lambda: (row := console.mirrord.page("Sessions")) and row.markdown == text, f"the row with {text!r}")


LINKS_TO = "SELECT source_id FROM mirrord.page_link WHERE target_id = %s"


async def test_a_folder_lists_its_pages_in_the_order_of_their_numbers_below_its_path(
    console: Console, person: NewPerson
) -> None:
    for name in ("Part 10", "Part 2", "Part 1"):
        save(console.mirrord.file(f"Parts/Inner/{name}.md"), "text\n")
    page = row_of(console.mirrord, "Parts/Inner/Part 2.md")
    reader = await person()
    await reader.page.goto(f"{console.url}/t/console/p/{page.parent_id}")
    await ready(reader)
    await expect(reader.page.locator("#inside a")).to_have_text(
        [re.compile(name) for name in ("Part 1$", "Part 2$", "Part 10$")]
    )
    await expect(
        reader.page.locator("#tree a[aria-current=page] ~ *, #tree li:has(> .row a[aria-current=page]) > ul .label")
    ).to_have_count(1)
    await expect(reader.page.locator("#page")).to_have_text("This folder has no text of its own.")
    await reader.page.locator("#inside").get_by_role("link", name="Part 2").click()
    await reader.sees("text")
    await expect(reader.page.locator("#crumbs li")).to_have_text(["console", "Parts", "Inner"])
    await reader.page.locator("#crumbs").get_by_role("link", name="Parts").click()

    await expect(reader.page.locator("#title")).to_have_text("Parts", timeout=PATIENCE)


async def test_the_headings_of_a_page_are_listed_and_gone_to(console: Console, person: NewPerson) -> None:
    save(console.mirrord.file("Outlined.md"), "# First\n\n" + "words\n\n" * 80 + "## Second\n\n" + "words\n\n" * 80)
    reader = await person(viewport={"width": 1440, "height": 800})
    await reader.open("Outlined.md")
    await ready(reader)
    outline = reader.page.get_by_role("navigation", name="On this page")
    await outline.get_by_role("link", name="Second").click()
    await expect(reader.text.get_by_role("heading", name="Second")).to_be_in_viewport()
    await reader.text.get_by_role("heading", name="Second").click()
    await reader.press("End")
    await reader.type(" and last")

    await expect(outline.get_by_role("link", name="Second and last")).to_be_visible(timeout=PATIENCE)


async def test_properties_and_tags_are_edited_beside_the_text_and_the_file_keeps_its_other_bytes(
    console: Console, person: NewPerson
) -> None:
    file = console.mirrord.file("Described.md")
    save(file, "---\nauthor: ada  # kept\nstatus: draft\ntags: [garden]\n---\ntext\n")
    writer = await person()
    await writer.open("Described.md")
    await ready(writer)
    properties = writer.page.get_by_role("region", name="Properties")
    await properties.get_by_role("textbox", name="status").fill("done")
    await writer.press("Enter")
    becomes(file, "---\nauthor: ada  # kept\nstatus: done\ntags: [garden]\n---\ntext\n")
    await properties.get_by_role("button", name="+ Add a tag").click()
    await writer.type("seen from above")
    await writer.press("Enter")
    becomes(file, "---\nauthor: ada  # kept\nstatus: done\ntags: [garden, seen from above]\n---\ntext\n")
    await properties.get_by_role("button", name="Remove the tag garden").click()
    await properties.get_by_role("button", name="Remove status").click()
    becomes(file, "---\nauthor: ada  # kept\ntags: [seen from above]\n---\ntext\n")
    await properties.get_by_role("link", name="#seen from above").click()
    await expect(writer.page.get_by_role("heading", level=1)).to_have_text("Tag: seen from above", timeout=PATIENCE)

    await expect(writer.page.locator("#content").get_by_role("link", name="Described")).to_be_visible()


async def test_a_tag_that_is_removed_takes_none_along_that_came_after_it_was_shown(
    console: Console, person: NewPerson
) -> None:
    file = console.mirrord.file("Tagged twice.md")
    save(file, "---\ntags: [garden]\n---\ntext\n")
    writer = await person()
    await writer.open("Tagged twice.md")
    await ready(writer)
    properties = writer.page.get_by_role("region", name="Properties")
    button = await properties.get_by_role("button", name="Remove the tag garden").element_handle()
    assert button is not None
    save(file, "---\ntags: [garden, later]\n---\ntext\n")
    await expect(properties.get_by_role("link", name="#later")).to_be_visible(timeout=PATIENCE)
    await button.evaluate("button => button.click()")  # as of a person who was quicker than the page
    becomes(file, "---\ntags: [later]\n---\ntext\n")


async def test_a_title_is_edited_where_it_stands(console: Console, person: NewPerson) -> None:
    save(console.mirrord.file("Called wrong.md"), "text\n")
    writer = await person()
    await writer.open("Called wrong.md")
    await ready(writer)
    title = writer.page.get_by_role("textbox", name="Title")
    await title.fill("Not this")
    await writer.press("Escape")
    await expect(title).to_have_text("Called wrong")
    await title.fill("Called right")
    await writer.press("Enter")
    eventually(console.mirrord.file("Called right.md").exists, "the renamed file")

    await expect(title).to_have_text("Called right", timeout=PATIENCE)
    assert not console.mirrord.file("Called wrong.md").exists()


async def test_a_page_is_duplicated_and_the_copy_moved_to_a_folder_that_is_found_by_name(
    console: Console, person: NewPerson
) -> None:
    text = "---\ntags: [copied]\n---\n# Pattern\n\nwords\n"
    save(console.mirrord.file("Pattern.md"), text)
    save(console.mirrord.file("Quarry of stones/Stone.md"), "text\n")
    row_of(console.mirrord, "Quarry of stones/Stone.md")
    titled = "SELECT FROM mirrord.search('quarry', 1, 0, true) WHERE title = 'Quarry of stones'"
    eventually(lambda: console.mirrord.app.execute(titled).fetchone() is not None, "the folder to be found")
    writer = await person()
    await writer.open("Pattern.md")
    await ready(writer)
    await writer.page.get_by_role("button", name="Duplicate").click()
    await expect(writer.page.locator("#title")).to_have_text("Pattern (copy)", timeout=PATIENCE)
    assert text_of_new(console, "Pattern (copy).md") == text
    await ready(writer)
    await writer.page.get_by_role("button", name="Move to…").click()
    await writer.page.get_by_role("searchbox", name="Find a page or folder").fill("quarry")
    await writer.page.get_by_role("dialog").get_by_role("button", name="Quarry of stones").click()
    eventually(console.mirrord.file("Quarry of stones/Pattern (copy).md").exists, "the moved copy")

    await expect(writer.page.locator("#crumbs li")).to_have_text(["console", "Quarry of stones"], timeout=PATIENCE)


async def test_a_new_page_begins_as_a_template_and_the_note_of_the_day_is_made_once(
    console: Console, person: NewPerson
) -> None:
    save(
        console.mirrord.file("Templates/Meeting.md"),
        "---\ntags: [meeting]\nheld: {{date}}\n---\n# {{title}}\n\n- [ ] ask\n",
    )
    row_of(console.mirrord, "Templates/Meeting.md")
    today = date.today().isoformat()
    writer = await person()
    await home(writer)
    await writer.page.get_by_role("button", name="Create a page").click()
    await writer.page.get_by_role("dialog").get_by_role("button", name="Meeting").click()
    await expect(writer.page.get_by_role("textbox", name="Title of the new page")).to_be_visible()
    await writer.type("With the bees")
    await writer.press("Enter")
    await expect(writer.page.locator("#title")).to_have_text("With the bees", timeout=PATIENCE)
    assert text_of_new(console, "With the bees.md") == (
        f"---\ntags: [meeting]\nheld: {today}\n---\n# With the bees\n\n- [ ] ask\n"
    )
    for _ in range(2):
        await home(writer)
        await writer.page.get_by_role("button", name="Today’s note").click()
        await expect(writer.page.locator("#title")).to_have_text(today, timeout=PATIENCE)
    eventually(console.mirrord.file(f"Daily/{today}.md").exists, "the note of the day")

    assert len(list(console.mirrord.file("Daily").glob("*.md"))) == 1
    console.mirrord.file("Templates/Meeting.md").unlink()  # other tests make empty pages
    eventually(lambda: console.mirrord.page("Templates/Meeting") is None, "the template to go")


async def test_home_shows_starred_pages_those_opened_last_and_what_others_changed(
    console: Console, person: NewPerson
) -> None:
    file = console.mirrord.file("Watched.md")
    save(file, "one\n")
    reader = await person()
    await home(reader)
    await reader.open("Watched.md")
    await ready(reader)
    await reader.page.get_by_role("button", name="Star", exact=True).click()
    version = row_of(console.mirrord, "Watched.md").version
    save(file, "two\n")
    eventually(lambda: row_of(console.mirrord, "Watched.md").version > version, "the edit's row")
    await home(reader)
    for region in ("Starred", "Recently opened", "Changed since you looked"):
        listed = reader.page.get_by_role("region", name=region)
        await expect(listed.get_by_role("link", name="Watched", exact=True)).to_be_visible()
    await home(reader)

    await expect(reader.page.get_by_role("region", name="Changed since you looked")).to_have_count(0)
    await expect(reader.page.get_by_text("Nothing was changed by others since you looked.")).to_be_visible()


async def test_versions_are_grouped_by_sessions_and_any_two_are_compared(console: Console, person: NewPerson) -> None:
    file = console.mirrord.file("Sessions.md")
    for number in range(3):
        save(file, text := f"text {number}\n")
        await_text(console, text)
    page = row_of(console.mirrord, "Sessions.md").id
    reader = await person()
    await reader.page.goto(f"{console.url}/t/console/p/{page}/history")
    await ready(reader)
    await expect(reader.page.locator(".versions").first.locator(":scope > li")).to_have_count(1)
    await reader.page.get_by_label("Compare with").select_option(index=0)
    await expect(reader.page.locator(".difference .removed")).to_contain_text("text 1", timeout=PATIENCE)
    await reader.page.get_by_label("Compare with").select_option(index=1)
    await expect(reader.page.locator(".difference .removed")).to_contain_text("text 0", timeout=PATIENCE)

    assert await reader.page.evaluate("scrollY") == 0


async def test_one_block_of_a_version_is_restored_and_read_as_it_is_shown(console: Console, person: NewPerson) -> None:
    file = console.mirrord.file("Sessions.md")
    for text in ("earlier\n", before := "**one**\n\ntwo\n\nthree\n", "ONE\n\ntwo\n\nTHREE\n"):
        save(file, text)
        await_text(console, text)
    page = row_of(console.mirrord, "Sessions.md")
    reader = await person()
    await reader.page.goto(f"{console.url}/t/console/p/{page.id}/history")
    await ready(reader)
    await reader.page.locator(f".versions .versions [data-version='{page.version - 1}']").click()
    await reader.page.get_by_label("Compare with").select_option(label="the page as it is now")
    blocks = reader.page.locator("#shown .block")
    await expect(blocks).to_have_count(2)
    await reader.page.get_by_role("button", name="As it reads").click()
    await expect(blocks.first.get_by_role("group", name="In this version").locator("strong")).to_have_text("one")
    await expect(blocks.first.get_by_role("group", name="Now")).to_have_text("ONE")
    await reader.page.get_by_role("button", name="Restore block 1").click()
    becomes(file, "**one**\n\ntwo\n\nTHREE\n")
    await expect(blocks).to_have_count(1, timeout=PATIENCE)
    await reader.page.get_by_role("button", name="Restore block 1").click()
    becomes(file, before)

    await expect(reader.page.get_by_text("The texts are the same.")).to_be_visible(timeout=PATIENCE)


async def test_the_version_that_was_chosen_last_is_shown_although_an_older_answer_comes_later(
    console: Console, person: NewPerson
) -> None:
    file = console.mirrord.file("Sessions.md")
    for text in ("first\n", "second\n"):
        save(file, text)
        await_text(console, text)
    page = row_of(console.mirrord, "Sessions.md")
    reader = await person()
    release, answered, delays = asyncio.Event(), asyncio.Event(), iter([True])

    async def delay(route: Route) -> None:
        is_delayed = next(delays, False)
        if is_delayed:
            await release.wait()
        await route.continue_()
        if is_delayed:
            answered.set()

    await reader.page.route("**/diff?*", delay)
    await reader.page.goto(f"{console.url}/t/console/p/{page.id}/history")
    await reader.page.locator(f".versions .versions [data-version='{page.version - 1}']").click()
    version_view = reader.page.get_by_role("region", name=f"Version {page.version - 1}")
    await expect(version_view).to_be_visible(timeout=PATIENCE)
    async with reader.page.expect_response("**/diff?*"):
        release.set()
    await answered.wait()
    await reader.page.evaluate("() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")

    await expect(version_view).to_be_visible()


async def test_a_link_lets_in_without_scripts_too(console: Console, browser: Browser) -> None:
    async with await browser.new_context(java_script_enabled=False) as context:
        page = await context.new_page()
        await page.goto(link_of(console.mirrord))
        await page.get_by_role("button", name="Sign in").click()
        await page.wait_for_url(f"{console.url}/t/console/")


async def test_signing_out_leaves_no_title_in_the_browser_and_stars_come_back(
    console: Console, person: NewPerson, browser: Browser
) -> None:
    save(console.mirrord.file("Starred secret.md"), "text\n")
    reader = await person(storage_state=await signed_in_by(link_of(console.mirrord), browser))
    await reader.open("Starred secret.md")
    await ready(reader)
    await reader.page.get_by_role("button", name="Star", exact=True).click()
    await expect(reader.page.locator("#star")).to_have_text("Starred")
    await reader.page.get_by_role("button", name="Sign out").click()
    await reader.page.wait_for_url("**/sign-in")
    assert "secret" not in await reader.page.evaluate("JSON.stringify(localStorage)")
    await follow(reader.page, link_of(console.mirrord))
    await home(reader)

    starred = reader.page.get_by_role("region", name="Starred")
    await expect(starred.get_by_role("link", name="Starred secret")).to_be_visible()


async def test_a_star_of_a_page_that_is_gone_shows_nothing(console: Console, person: NewPerson) -> None:
    reader = await person()
    await home(reader)
    star = '[{"id": "00000000-0000-4000-8000-000000000000", "title": null}]'
    await reader.page.evaluate("list => localStorage.setItem('mirrord.starred.console', list)", star)
    await home(reader)

    await expect(reader.page.get_by_role("region", name="Starred")).to_have_count(0)


async def test_pages_of_one_title_are_told_apart_by_their_paths(console: Console, person: NewPerson) -> None:
    for name in ("guide.first", "guide.second"):
        save(console.mirrord.file(f"Twins/{name}.md"), "---\ntitle: Twinned\n---\nrarewordoftwins\n")
        row_of(console.mirrord, f"Twins/{name}.md")
    reader = await person()
    await home(reader)
    for name in ("guide.first", "guide.second"):
        await expect(reader.page.locator(".changes li").filter(has_text=f"Twins / {name}")).to_have_count(1)
    await reader.page.goto(f"{console.url}/t/console/search?q=rarewordoftwins")

    await expect(reader.page.locator(".results .path")).to_have_text(
        [re.compile("Twins / guide.(first|second)")] * 2, timeout=PATIENCE
    )


async def test_a_title_that_the_text_repeats_is_large_only_there(console: Console, person: NewPerson) -> None:
    save(console.mirrord.file("Repeated.md"), "# Repeated\n\ntext\n")
    save(console.mirrord.file("Unrepeated.md"), "# Other words\n\ntext\n")
    sizes = []
    for path in ("Repeated.md", "Unrepeated.md"):
        reader = await person()
        await reader.open(path)
        await ready(reader)
        sizes.append(
            await reader.page.locator("#title").evaluate("node => parseFloat(getComputedStyle(node).fontSize)")
        )

    assert sizes[0] <= 16 < 24 <= sizes[1]


async def test_times_are_told_to_the_minute_and_without_the_day_of_today(person: NewPerson) -> None:
    reader = await person(locale="en-US", timezone_id="UTC")
    await home(reader)
    style = await reader.page.locator("link[href$='/console.css']").get_attribute("href")
    assert style is not None
    script = style.replace("console.css", "elements/dom.js")
    tell = "([script, now, times]) => import(script).then(dom => times.map(time => dom.moment(time, new Date(now))))"
    times = ["2026-03-04T09:30:11Z", "2026-02-03T17:05:00Z", "2025-12-31T00:00:00Z"]
    moments = await reader.page.evaluate(tell, [script, "2026-03-04T12:00:00Z", times])

    assert [" ".join(moment.split()) for moment in moments] == [
        "today at 9:30 AM",
        "Feb 3, 5:05 PM",
        "Dec 31, 2025, 12:00 AM",
    ]


async def test_before_a_page_is_deleted_what_goes_with_it_and_which_links_end_is_said(
    console: Console, person: NewPerson
) -> None:
    for path in ("Going/_index.md", "Going/First.md", "Going/Deep/Second.md"):
        console.mirrord.file(path).parent.mkdir(parents=True, exist_ok=True)
        save(console.mirrord.file(path), "text\n")
    save(console.mirrord.file("Staying.md"), "see [[Going/First]]\n")
    row_of(console.mirrord, "Going/Deep/Second.md")
    linked = row_of(console.mirrord, "Going/First.md").id
    eventually(lambda: console.mirrord.app.execute(LINKS_TO, [linked]).fetchone(), "the link to a page in the folder")
    reader = await person()
    await reader.open("Going/_index.md")
    await ready(reader)
    await reader.page.get_by_role("button", name="Delete", exact=True).click()
    dialog = reader.page.get_by_role("dialog")

    await expect(dialog).to_contain_text("Delete “Going”?", timeout=PATIENCE)
    await expect(dialog.locator(".hint")).to_have_text(
        "The 3 pages in it are deleted with it. 1 page links here; its links lead nowhere until it is restored. "
        "It can be restored from the trash.",
        timeout=PATIENCE,
    )


async def test_a_dialog_ends_beside_it_and_names_what_it_takes_away(console: Console, person: NewPerson) -> None:
    save(console.mirrord.file("Asked about.md"), "text\n")
    reader = await person()
    page = await reader.open("Asked about.md")
    await ready(reader)
    delete = reader.page.get_by_role("button", name="Delete", exact=True)
    dialog = reader.page.get_by_role("dialog")
    await delete.click()
    await expect(dialog).to_contain_text("Asked about", timeout=PATIENCE)
    action = dialog.get_by_role("button", name="Delete")
    colours = "one => [getComputedStyle(one).color, getComputedStyle(one).backgroundColor]"
    assert await action.evaluate(colours) != await dialog.get_by_role("button", name="Cancel").evaluate(colours)
    await reader.page.mouse.click(2, 2)
    await expect(dialog).to_have_count(0, timeout=PATIENCE)
    await expect(delete).to_be_focused()
    await delete.click()
    await dialog.get_by_role("button", name="Delete").click()
    await reader.page.wait_for_url("**/trash", timeout=PATIENCE)

    link = reader.page.locator("#content").get_by_role("link", name="Asked about", exact=True)
    assert (await link.get_attribute("href") or "").endswith(str(page))
