"""From view to view in a real browser: nothing is loaded twice, nothing typed is lost, and back means back."""

import asyncio
import json

import pytest
from playwright.async_api import Request, Route, expect

from tests.console.conftest import Console, NewPerson
from tests.console.people import PATIENCE, Person, becomes, entry, ready, row_of
from tests.support.editors import save
from tests.support.harness import eventually

pytestmark = pytest.mark.asyncio(loop_scope="session")

# A link to an address, below the text.
LINK = """address => {
  const link = document.createElement('a')
  link.href = address
  link.append('elsewhere')
  document.getElementById('main').append(link)
}"""
# What tells the view of a page from that of another one, and where the focus is.
VIEW = """() => ({
  title: document.title,
  path: [...document.querySelectorAll('#crumbs a')].map(step => step.textContent),
  headed: document.getElementById('title').textContent,
  icon: document.getElementById('icon').textContent,
  page: { ...document.getElementById('page').dataset },
  people: document.getElementById('people').dataset.page,
  history: document.querySelector('.page-tools a').getAttribute('href'),
  buttons: [...document.querySelectorAll('.page-tools > :not([hidden])')].map(each => each.id),
  pressed: [...document.querySelectorAll('.page-tools [aria-pressed=true]')].map(each => each.id),
  chosen: document.querySelector('#tree [aria-current=page]').textContent,
  focused: document.activeElement.id,
})"""
# Resolves to the type of a picture that the browser can show.
ICON = """async address => {
  const picture = new Image()
  picture.src = address
  await picture.decode()
  return (await fetch(address)).headers.get('content-type').split(';')[0]
}"""
# Resolves once the browser keeps the answer at an address.
KEPT = """address => new Promise(done => {
  const look = async () => (await caches.match(address)) ? done(true) : setTimeout(look, 50)
  look()
})"""

# Resolves once the browser does not keep the answer at an address any more.
GONE = """address => new Promise(done => {
  const look = async () => (await caches.match(address)) ? setTimeout(look, 50) : done(true)
  look()
})"""
# Keeps answers of as many pages as the worker keeps at most: what was kept before is the oldest.
FILL = """async () => {
  const cache = await caches.open((await caches.keys()).find(name => name.startsWith('mirrord.pages.')))
  const ids = Array.from({ length: 600 }, (_, number) => `00000000-0000-4000-8000-${String(number).padStart(12, '0')}`)
  await Promise.all(ids.map(id => cache.put(`/t/console/api/pages/${id}`, new Response('{}'))))
}"""

# Counts the frames that show the head of a page with this title and no text of it.
BARE_FRAMES = """title => {
  window.bareFrames = 0
  const look = () => {
    const isShown = document.getElementById('title')?.textContent === title
    if (isShown && !document.querySelector('#page [role=textbox]')) window.bareFrames += 1
    requestAnimationFrame(look)
  }
  look()
}"""


async def test_a_link_opens_another_page_without_loading_the_console_again_and_what_was_typed_is_saved(
    console: Console, person: NewPerson
) -> None:
    save(console.mirrord.file("From here.md"), "see [[To there]]\n\nwords\n")
    save(console.mirrord.file("To there.md"), "arrived\n")
    row_of(console.mirrord, "To there.md")
    writer = await person()
    await writer.open("From here.md")
    await ready(writer)
    await writer.page.evaluate("window.isSame = true")
    await writer.after("words")
    await writer.type(" typed")
    await entry(writer, "To there").get_by_role("link").click()
    await writer.sees("arrived")
    becomes(console.mirrord.file("From here.md"), "see [[To there]]\n\nwords typed\n")
    await expect(writer.page.locator('#tree a[aria-current="page"]')).to_have_text("•To there")
    await expect(writer.page).to_have_title("To there · console")
    await writer.page.go_back()
    await writer.sees("words typed")
    await writer.after("words")
    await writer.type(" again")
    becomes(console.mirrord.file("From here.md"), "see [[To there]]\n\nwords typed again\n")
    for name in ("Status", "Tags", "Trash", "Decisions"):
        await writer.page.locator(".bar").get_by_role("link", name=name).click()
        await expect(writer.page.get_by_role("heading", level=1)).to_have_text(name, timeout=PATIENCE)
    await writer.page.go_back()
    await expect(writer.page.get_by_role("heading", level=1)).to_have_text("Trash", timeout=PATIENCE)

    assert await writer.page.evaluate("window.isSame")


async def test_a_text_that_is_kept_when_another_page_opens_is_offered_on_return(
    console: Console, person: NewPerson
) -> None:
    save(console.mirrord.file("Kept on leaving.md"), "one\n")
    save(console.mirrord.file("Meanwhile.md"), "other\n")
    row_of(console.mirrord, "Meanwhile.md")
    writer = await person()
    await writer.open("Kept on leaving.md")
    await ready(writer)
    await writer.page.route("**/content", lambda route: route.abort())
    await writer.after("one")
    await writer.type(" kept")
    await expect(writer.page.locator("#save-state")).to_contain_text("kept in this browser", timeout=PATIENCE)
    await entry(writer, "Meanwhile").get_by_role("link").click()
    await writer.sees("other")
    await writer.page.unroute("**/content")
    await writer.page.go_back()
    await writer.page.get_by_role("button", name="Continue with it").click(timeout=PATIENCE)

    becomes(console.mirrord.file("Kept on leaving.md"), "one kept\n")


async def test_from_page_to_page_a_link_asks_for_the_page_alone(console: Console, person: NewPerson) -> None:
    save(console.mirrord.file("Alone from.md"), "one\n")
    save(console.mirrord.file("In folders/Alone.md"), "---\nicon: 🐝\n---\ntwo\n")
    id = row_of(console.mirrord, "In folders/Alone.md").id
    reader = await person()
    await reader.open("Alone from.md")
    await ready(reader)
    await reader.page.evaluate(LINK, f"/t/console/p/{id}")
    addresses: list[str] = []
    reader.page.on("request", lambda request: addresses.append(request.url.removeprefix(console.url)))
    await reader.page.get_by_role("link", name="elsewhere", exact=True).click()
    await reader.sees("two")
    await ready(reader)

    assert addresses.count(f"/t/console/api/pages/{id}") == 1
    assert f"/t/console/p/{id}" not in addresses
    assert f"/t/console/api/pages/{id}/above" not in addresses
    shown_by_link = await reader.page.evaluate(VIEW)
    assert shown_by_link["path"] == ["console", "In folders"]
    assert shown_by_link["focused"] == "main"
    await reader.page.reload()
    await ready(reader)
    assert await reader.page.evaluate(VIEW) | {"focused": "main"} == shown_by_link  # as the server renders it


async def test_no_frame_shows_the_head_of_a_page_without_its_text(console: Console, person: NewPerson) -> None:
    for name in ("Framed from", "Framed to"):
        save(console.mirrord.file(f"{name}.md"), f"text of {name}\n")
        row_of(console.mirrord, f"{name}.md")
    reader = await person()
    await reader.open("Framed from.md")
    await ready(reader)
    await reader.page.evaluate(BARE_FRAMES, "Framed to")
    for _ in range(2):
        for name in ("Framed to", "Framed from"):
            await entry(reader, name).get_by_role("link").click()
            await reader.sees(f"text of {name}")
            await ready(reader)

    assert await reader.page.evaluate("window.bareFrames") == 0


async def test_the_first_link_to_a_page_asks_for_it_while_its_view_is_on_its_way_and_for_what_is_above_once(
    console: Console, person: NewPerson
) -> None:
    save(console.mirrord.file("Asked together.md"), "two\n")
    id = row_of(console.mirrord, "Asked together.md").id
    reader = await person()
    await reader.page.route("**/api/live*", lambda route: route.abort())  # with news more is asked for
    await reader.page.goto(f"{console.url}/t/console/")
    await ready(reader)
    addresses: list[str] = []
    together = asyncio.Event()

    def note(request: Request) -> None:
        addresses.append(request.url.removeprefix(console.url))
        if addresses[-1] == f"/t/console/api/pages/{id}":
            together.set()

    async def hold_back(route: Route) -> None:
        await asyncio.wait_for(together.wait(), PATIENCE / 1000)  # never, if the page were asked for after its view
        await route.continue_()

    reader.page.on("request", note)
    await reader.page.route(f"**/p/{id}", hold_back)
    await entry(reader, "Asked together").get_by_role("link").click()
    await reader.sees("two")
    await ready(reader)

    assert addresses.count(f"/t/console/p/{id}") == 1
    assert addresses.count(f"/t/console/api/pages/{id}") == 1
    assert addresses.count(f"/t/console/api/pages/{id}/above") == 1


async def test_what_a_link_leads_to_is_asked_for_once_while_the_link_is_pointed_at(
    console: Console, person: NewPerson
) -> None:
    save(console.mirrord.file("Pointed from.md"), "one\n")
    save(console.mirrord.file("Pointed at.md"), "two\n")
    id = row_of(console.mirrord, "Pointed at.md").id
    reader = await person()
    await reader.open("Pointed from.md")
    await ready(reader)
    link = entry(reader, "Pointed at").get_by_role("link")
    addresses = addresses_of(reader)
    async with reader.page.expect_request(f"**/api/pages/{id}", timeout=PATIENCE):
        await link.hover()
    await link.click()
    await reader.sees("two")

    assert addresses.count(f"/t/console/api/pages/{id}") == 1


def addresses_of(reader: Person) -> list[str]:
    """Of what is asked for from now on."""
    addresses: list[str] = []
    reader.page.on("request", lambda request: addresses.append(request.url.removeprefix(reader.url)))
    return addresses


async def test_a_page_is_asked_for_once_although_another_link_is_pointed_at_before_it_comes(
    console: Console, person: NewPerson
) -> None:
    ids = {}
    for name in ("Crossed from", "Crossed to", "Crossed by"):
        save(console.mirrord.file(f"{name}.md"), f"text of {name}\n")
        ids[name] = row_of(console.mirrord, f"{name}.md").id
    reader = await person()
    await reader.open("Crossed from.md")
    await ready(reader)
    addresses, is_crossed = addresses_of(reader), asyncio.Event()

    async def hold(route: Route) -> None:
        await is_crossed.wait()
        await route.continue_()

    await reader.page.route(f"**/api/pages/{ids['Crossed to']}", hold)
    await entry(reader, "Crossed to").get_by_role("link").click()
    async with reader.page.expect_request(f"**/api/pages/{ids['Crossed by']}", timeout=PATIENCE):
        await entry(reader, "Crossed by").get_by_role("link").hover()
    is_crossed.set()
    await reader.sees("text of Crossed to")

    assert addresses.count(f"/t/console/api/pages/{ids['Crossed to']}") == 1


async def test_a_page_that_changed_after_it_was_asked_for_is_shown_as_it_is_now(
    console: Console, person: NewPerson
) -> None:
    save(console.mirrord.file("Changing from.md"), "one\n")
    save(console.mirrord.file("Changing.md"), "before\n")
    id = row_of(console.mirrord, "Changing.md").id
    reader = await person()
    await reader.open("Changing from.md")
    await ready(reader)
    link = entry(reader, "Changing").get_by_role("link")
    async with reader.page.expect_response(f"**/api/pages/{id}", timeout=PATIENCE):
        await link.hover()
    save(console.mirrord.file("Changing.md"), "after\n")
    eventually(lambda: (row := console.mirrord.page("Changing.md")) and row.markdown == "after\n", "the new text")
    await link.click()

    await reader.sees("after")


async def test_a_link_to_the_page_that_is_edited_shows_what_was_typed(console: Console, person: NewPerson) -> None:
    save(console.mirrord.file("To itself.md"), "words\n")
    writer = await person()
    id = await writer.open("To itself.md")
    await ready(writer)
    pages: list[str] = []
    writer.page.on("request", lambda request: pages.append(request.url) if f"api/pages/{id}" in request.url else None)
    await writer.after("words")
    page = writer.page
    async with (
        page.expect_response("**/content", timeout=PATIENCE),
        page.expect_response(f"**/p/{id}", timeout=PATIENCE),
    ):
        await writer.type(" typed")
        await entry(writer, "To itself").get_by_role("link").click()
    await writer.sees("words typed")
    saved = next(number for number, url in enumerate(pages) if url.endswith("/content"))

    assert f"{console.url}/t/console/api/pages/{id}" not in pages[:saved]  # the page as it was before that
    becomes(console.mirrord.file("To itself.md"), "words typed\n")


async def test_a_page_that_is_no_more_keeps_the_frame(console: Console, person: NewPerson) -> None:
    reader = await person()
    await reader.page.goto(f"{console.url}/t/console/p/00000000-0000-4000-8000-000000000000")
    await ready(reader)

    await expect(reader.page.get_by_role("heading", level=1)).to_have_text("Page not found")
    await expect(reader.page.locator("#tree li").first).to_be_visible()


@pytest.mark.timeout(300)
async def test_pages_that_were_opened_are_read_without_the_server_until_a_person_signs_out(
    console: Console, person: NewPerson
) -> None:
    save(console.mirrord.file("Read offline.md"), "kept for later\n")
    save(console.mirrord.file("Read offline by link.md"), "kept as well\n")
    reader = await person(service_workers="allow")
    id = await reader.open("Read offline.md")
    await ready(reader)
    await reader.page.evaluate("navigator.serviceWorker.ready.then(() => null)")
    await reader.open("Read offline.md")  # now the worker sees what is asked for
    await ready(reader)
    for answer in (f"/t/console/api/pages/{id}", f"/t/console/p/{id}"):
        await asyncio.wait_for(reader.page.evaluate(KEPT, answer), PATIENCE / 1000)
    linked = row_of(console.mirrord, "Read offline by link.md").id
    await entry(reader, "Read offline by link").get_by_role("link").click()
    await reader.sees("kept as well")
    await asyncio.wait_for(reader.page.evaluate(KEPT, f"/t/console/p/{linked}"), PATIENCE / 1000)
    await reader.context.set_offline(True)
    await reader.page.reload()
    await reader.sees("kept as well")
    await expect(reader.page.locator('#tree a[aria-current="page"]')).to_have_text("•Read offline by link")
    await entry(reader, "Read offline").get_by_role("link").click()
    await reader.sees("kept for later")
    await reader.context.set_offline(False)
    assert await reader.page.evaluate("localStorage.getItem('mirrord.visited.console')") is not None

    async def sign_out_while_a_page_is_read(route: Route) -> None:
        await reader.page.evaluate("address => fetch(address).then(() => null)", f"/t/console/api/pages/{id}")
        await asyncio.wait_for(reader.page.evaluate(KEPT, f"/t/console/api/pages/{id}"), PATIENCE / 1000)
        await route.fulfill(json={"href": "/static/"})

    await reader.page.route("**/sign-out", sign_out_while_a_page_is_read)
    await reader.page.get_by_role("button", name="Sign out").click()
    await reader.page.wait_for_url("**/static/")

    assert await reader.page.evaluate("caches.keys()") == []
    assert await reader.page.evaluate("localStorage.getItem('mirrord.visited.console')") is None
    assert await reader.page.evaluate("navigator.serviceWorker.getRegistrations().then(all => all.length)") == 0


@pytest.mark.timeout(300)
async def test_a_page_whose_view_was_pushed_out_is_kept_with_its_view_when_it_is_opened_again(
    console: Console, person: NewPerson
) -> None:
    save(console.mirrord.file("Pushed out.md"), "long ago\n")
    save(console.mirrord.file("Pushed out by.md"), "in between\n")
    first = row_of(console.mirrord, "Pushed out.md").id
    row_of(console.mirrord, "Pushed out by.md")
    reader = await person(service_workers="allow")
    await reader.open("Pushed out by.md")
    await ready(reader)
    await reader.page.evaluate("navigator.serviceWorker.ready.then(() => null)")
    await reader.open("Pushed out by.md")  # now the worker sees what is asked for
    await ready(reader)
    await entry(reader, "Pushed out").get_by_role("link").click()
    await reader.sees("long ago")
    await asyncio.wait_for(reader.page.evaluate(KEPT, f"/t/console/p/{first}"), PATIENCE / 1000)
    await reader.page.evaluate(FILL)
    await entry(reader, "Pushed out by").get_by_role("link").click()
    await reader.sees("in between")
    await asyncio.wait_for(reader.page.evaluate(GONE, f"/t/console/p/{first}"), PATIENCE / 1000)
    await entry(reader, "Pushed out").get_by_role("link").click()
    await reader.sees("long ago")
    await asyncio.wait_for(reader.page.evaluate(KEPT, f"/t/console/api/pages/{first}"), PATIENCE / 1000)
    await asyncio.wait_for(reader.page.evaluate(KEPT, f"/t/console/p/{first}"), PATIENCE / 1000)
    await reader.context.set_offline(True)
    await reader.page.reload()

    await reader.sees("long ago")


async def test_a_browser_offers_to_install_the_console_of_a_tenant(console: Console, person: NewPerson) -> None:
    reader = await person(service_workers="allow")
    await reader.page.goto(f"{console.url}/t/console/")
    await ready(reader)
    await reader.page.evaluate("navigator.serviceWorker.ready.then(() => null)")
    session = await reader.context.new_cdp_session(reader.page)
    manifest = await session.send("Page.getAppManifest")
    facts = json.loads(manifest["data"])
    refusals = await session.send("Page.getInstallabilityErrors")

    assert manifest["errors"] == []
    assert (facts["start_url"], facts["scope"], facts["display"]) == ("/t/console/", "/t/console/", "standalone")
    # Contexts of tests are private windows, which install nothing.
    assert [each["errorId"] for each in refusals["installabilityErrors"] if each["errorId"] != "in-incognito"] == []
    for icon in facts["icons"]:
        assert await reader.page.evaluate(ICON, icon["src"]) == icon["type"]
