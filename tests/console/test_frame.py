"""The frame in a real browser: the header, the sidebar, and the place where a page opens."""

import asyncio

import pytest
from playwright.async_api import Position, Request, Route, expect

from tests.console.conftest import Console, NewPerson
from tests.console.people import PATIENCE, Person, entry, ready, row_of
from tests.support.editors import save
from tests.support.harness import eventually

pytestmark = pytest.mark.asyncio(loop_scope="session")

BOXES = """() => Object.fromEntries(['.bar', '#sidebar', '.toolbar', '#title'].map(
  each => [each, document.querySelector(each).getBoundingClientRect().toJSON()]))"""


async def boxes(somebody: Person) -> dict[str, dict[str, float]]:
    """Where the parts of the frame are in the window."""
    places: dict[str, dict[str, float]] = await somebody.page.evaluate(BOXES)
    return places


async def test_a_page_low_in_the_sidebar_opens_at_its_beginning_with_its_row_in_sight(
    console: Console, person: NewPerson
) -> None:
    for number in range(60):
        save(console.mirrord.file(f"Low/Row {number:02}.md"), "word\n\n" * 40)
        row_of(console.mirrord, f"Low/Row {number:02}.md")
    reader = await person()
    await reader.open("Low/Row 59.md")
    await ready(reader)

    row = reader.page.locator('#tree a[aria-current="page"]')
    await expect(row).to_be_in_viewport()
    assert await reader.page.evaluate("scrollY") == 0
    await expect(reader.page.locator("#title")).to_be_in_viewport()


@pytest.mark.parametrize("width", [360, 1440])
async def test_the_toolbar_stays_below_the_header_and_the_sidebar_beside_a_page_that_is_scrolled(
    console: Console, person: NewPerson, width: int
) -> None:
    save(console.mirrord.file("Scrolled.md"), "word\n\n" * 200)
    reader = await person(viewport={"width": width, "height": 700})
    await reader.open("Scrolled.md")
    await ready(reader)
    await reader.page.evaluate("scrollTo(0, 3000)")
    await expect(reader.page.locator("#title")).not_to_be_in_viewport()

    places = await boxes(reader)
    assert places[".bar"]["top"] == 0
    assert places[".toolbar"]["top"] == pytest.approx(places[".bar"]["bottom"], abs=1)
    if width > 800:
        await expect(reader.page.locator(".bar").get_by_role("link", name="Decisions")).to_be_in_viewport()
        assert places["#sidebar"]["top"] == pytest.approx(places[".bar"]["bottom"], abs=1)
        assert places["#sidebar"]["bottom"] == pytest.approx(700, abs=1)
    else:  # the header is one row
        await expect(reader.page.get_by_role("button", name="Menu")).to_be_in_viewport()
        assert places[".bar"]["height"] <= 48
        assert await reader.page.evaluate("document.documentElement.scrollWidth") <= width


async def test_the_cursor_is_never_behind_the_toolbar(console: Console, person: NewPerson) -> None:
    text = "\n\n".join(f"line {number}" for number in range(120))
    save(console.mirrord.file("Upwards.md"), text + "\n")
    reader = await person(viewport={"width": 1200, "height": 600})
    await reader.open("Upwards.md")
    await ready(reader)
    await reader.text.get_by_text("line 119", exact=True).click()
    await reader.press(*["ArrowUp"] * 60)

    top = await reader.page.evaluate("getSelection().focusNode.parentElement.getBoundingClientRect().top")
    assert top >= (await boxes(reader))[".toolbar"]["bottom"]


async def test_a_page_behind_more_is_marked_in_the_sidebar(console: Console, person: NewPerson) -> None:
    for number in range(1, 206):
        save(console.mirrord.file(f"Many/Number {number:03}.md"), "text\n")
    row_of(console.mirrord, "Many/Number 205.md")
    rows = "SELECT FROM mirrord.page WHERE name LIKE 'Number ___' HAVING count(*) = 205"
    eventually(lambda: console.mirrord.app.execute(rows).fetchone() is not None, "all rows")
    reader = await person()
    await reader.open("Many/Number 205.md")
    await ready(reader)
    marked = reader.page.locator('#tree a[aria-current="page"]')
    await expect(marked).to_be_in_viewport()
    await expect(marked).to_have_text("•Number 205")
    button = entry(reader, "Number 205").locator("xpath=..").get_by_role("button", name="More…")
    await button.click()

    await expect(button).to_have_count(0, timeout=PATIENCE)
    await expect(reader.page.locator("#tree ul ul > li")).to_have_count(205)
    await expect(marked).to_have_count(1)


async def test_a_page_that_is_put_in_order_among_folders_makes_no_file_in_them(
    console: Console, person: NewPerson
) -> None:
    for path in ("Alpha/a.md", "Beta/b.md", "Gamma/c.md", "Secret.md", "Zed.md"):
        save(console.mirrord.file(f"Ordered/{path}"), "text\n")
        row_of(console.mirrord, f"Ordered/{path}")
    writer = await person()
    await writer.open("Ordered/Zed.md")
    await ready(writer)
    goal = entry(writer, "Zed").locator(".row")
    box = await goal.bounding_box()
    assert box is not None
    below = Position(x=box["width"] / 2, y=box["height"] - 2)
    await entry(writer, "Secret").get_by_role("link").drag_to(goal, target_position=below)
    await expect(writer.page.locator("#told")).to_contain_text("sorted by title", timeout=PATIENCE)

    await expect(writer.page.locator("#tree ul ul > li > .row .label")).to_have_text(
        ["Zed", "Secret", "Alpha", "Beta", "Gamma"], timeout=PATIENCE
    )
    secret = console.mirrord.file("Ordered/Secret.md")
    eventually(lambda: "position" in secret.read_text(encoding="utf-8"), "the position in the file")
    assert list(console.mirrord.file("Ordered").rglob("_index.md")) == []


async def test_on_a_telephone_the_views_are_in_a_menu_and_the_text_begins_in_sight(
    console: Console, person: NewPerson
) -> None:
    head = "".join(f"key{number}: value\n" for number in range(8))
    save(console.mirrord.file("Carried.md"), f"---\n{head}---\nthe first words\n")
    reader = await person(viewport={"width": 360, "height": 640}, has_touch=True, is_mobile=True)
    await reader.open("Carried.md")
    await ready(reader)
    await expect(reader.text.get_by_text("the first words")).to_be_in_viewport()
    await reader.page.get_by_text("8 properties").tap()
    await expect(reader.page.get_by_role("textbox", name="key7")).to_be_visible()
    await expect(reader.page.locator(".bar").get_by_role("link", name="Trash")).to_be_hidden()
    await reader.page.get_by_role("button", name="Menu").tap()
    await reader.page.locator(".bar").get_by_role("link", name="Trash").tap()
    await expect(reader.page.get_by_role("heading", level=1)).to_have_text("Trash", timeout=PATIENCE)

    await expect(reader.page.locator(".bar").get_by_role("link", name="Status")).to_be_hidden()


async def test_buttons_of_the_toolbar_show_their_names_where_nothing_can_be_pointed_at(
    console: Console, person: NewPerson
) -> None:
    save(console.mirrord.file("Touched.md"), "text\n")
    look = "node => getComputedStyle(node, '::after').content"
    for options, is_named in (({}, False), ({"has_touch": True, "is_mobile": True}, True)):
        reader = await person(**options)
        await reader.open("Touched.md")
        button = reader.page.get_by_role("toolbar").get_by_role("button", name="Highlighted")
        assert ("Highlighted" in await button.evaluate(look)) == is_named


async def test_in_a_wide_window_the_text_is_in_the_middle_beside_the_sidebar(
    console: Console, person: NewPerson
) -> None:
    save(console.mirrord.file("Centred.md"), "text\n")
    reader = await person(viewport={"width": 2560, "height": 900})
    await reader.open("Centred.md")
    await ready(reader)
    for view in ("", "/t/console/trash", "/t/console/status"):
        if view:
            await reader.page.goto(console.url + view)
            await ready(reader)
        middle = await reader.page.locator(".middle").bounding_box()
        sidebar = await reader.page.locator("#sidebar").bounding_box()
        assert middle
        assert sidebar
        margins = middle["x"] - sidebar["width"], 2560 - middle["x"] - middle["width"]
        assert margins[0] == pytest.approx(margins[1], abs=20), view


async def test_what_is_typed_after_a_page_is_created_is_its_text(console: Console, person: NewPerson) -> None:
    writer = await person()
    await writer.page.goto(f"{console.url}/t/console/")
    await ready(writer)
    await writer.page.get_by_role("button", name="New page", exact=True).click()
    await writer.page.get_by_role("textbox", name="Title of the new page").fill("Begun at once")
    await writer.press("Enter")
    await expect(writer.page.locator("#title")).to_have_text("Begun at once", timeout=PATIENCE)
    hint = "getComputedStyle(document.querySelector('.prose > p'), '::before').content"
    await expect(writer.text).to_be_focused(timeout=PATIENCE)
    assert "type / for blocks" in await writer.page.evaluate(hint)
    await writer.type("first words")

    file = console.mirrord.file("Begun at once.md")
    eventually(lambda: file.exists() and "first words" in file.read_text(encoding="utf-8"), "the words in the file")


async def test_the_row_of_a_page_is_shown_although_the_sidebar_is_drawn_again_meanwhile(
    console: Console, person: NewPerson
) -> None:
    save(console.mirrord.file("Redrawn/Inside.md"), "words\n")
    page = row_of(console.mirrord, "Redrawn/Inside.md")
    reader = await person()
    delayed: asyncio.Future[Request] = asyncio.get_running_loop().create_future()
    is_redrawn = asyncio.Event()

    async def hold(route: Route) -> None:
        if f"parent={page.parent_id}" in route.request.url and not delayed.done():
            delayed.set_result(route.request)
            await is_redrawn.wait()
        await route.continue_()

    await reader.page.route("**/api/tree?*", hold)
    await reader.open("Redrawn/Inside.md")
    request = await asyncio.wait_for(delayed, PATIENCE / 1000)
    await reader.page.evaluate("document.querySelector('#tree li').dataset.old = 'yes'")
    await reader.page.evaluate("window.dispatchEvent(new CustomEvent('live:tree'))")
    await expect(reader.page.locator("#tree li[data-old]")).to_have_count(0, timeout=PATIENCE)
    async with reader.page.expect_event("requestfinished", lambda each: each == request, timeout=PATIENCE):
        is_redrawn.set()
    await reader.page.evaluate("fetch(location.href).then(answer => answer.text())")  # which comes after that answer

    await expect(reader.page.locator("#told")).to_be_empty()
    await expect(entry(reader, "Inside").get_by_role("link")).to_have_attribute(
        "aria-current", "page", timeout=PATIENCE
    )


NESTED = "---\npods:\n  airtable:\n    it: recqKBnjcR5znneodAndLongerThanAnyColumn\ncreated: 1\nupdated: 2\n---\ntext\n"
# Whether what is written of a property goes beyond it.
SPILT = """() => [...document.querySelectorAll('.property')].filter(each => {
  const { right } = each.getBoundingClientRect()
  return [...each.querySelectorAll('code, input')].some(part => {
    const words = document.createRange()
    words.selectNodeContents(part)
    return Math.max(part.getBoundingClientRect().right, words.getBoundingClientRect().right) > right + 1
  })
}).map(each => each.textContent)"""


@pytest.mark.parametrize("width", [360, 1280, 2560])
async def test_a_value_of_several_levels_stays_in_its_column(console: Console, person: NewPerson, width: int) -> None:
    save(console.mirrord.file("Nested values.md"), NESTED)
    reader = await person(viewport={"width": width, "height": 800})
    await reader.open("Nested values.md")
    await ready(reader)
    if width < 800:
        await reader.page.get_by_text("3 properties").click()
    await expect(reader.page.locator(".property code")).to_be_visible(timeout=PATIENCE)
    assert await reader.page.evaluate(SPILT) == []


async def test_the_header_marks_the_view_that_is_shown(console: Console, person: NewPerson) -> None:
    reader = await person()
    await reader.page.goto(f"{console.url}/t/console/tags")
    await ready(reader)
    marked = reader.page.locator('.bar nav a[aria-current="page"]')
    await expect(marked).to_have_text(["Tags"])
    await reader.page.locator(".bar").get_by_role("link", name="Trash").click()
    await expect(marked).to_have_text(["Trash"], timeout=PATIENCE)
    await reader.page.go_back()
    await expect(marked).to_have_text(["Tags"], timeout=PATIENCE)
    await reader.page.locator(".bar a.tenant").click()
    await expect(reader.page.locator("[data-view=home]")).to_be_visible(timeout=PATIENCE)
    await expect(marked).to_have_count(0)


async def test_escape_ends_the_choice_of_a_place_also_with_letters_in_its_field(
    console: Console, person: NewPerson
) -> None:
    save(console.mirrord.file("Stays where it is.md"), "words\n")
    writer = await person()
    await writer.open("Stays where it is.md")
    await ready(writer)
    await writer.page.get_by_role("button", name="Move to…").click()
    await writer.page.get_by_role("searchbox", name="Find a page or folder").fill("welcome")
    await writer.press("Escape")
    await expect(writer.page.get_by_role("dialog")).to_have_count(0, timeout=PATIENCE)
