"""Unsaved text in a real browser: it is kept where the page says so, by each window, and no saved text is offered."""

import pytest
from playwright.async_api import Dialog, Page, Route, expect

from tests.console.conftest import Console, NewPerson
from tests.console.people import PATIENCE, Person, becomes, entry, ready, row_of
from tests.support.editors import save
from tests.support.harness import eventually

pytestmark = pytest.mark.asyncio(loop_scope="session")

KEPT = "Offline: kept in this browser until the server is back"
NOT_KEPT = "Offline: this browser cannot keep your text, so leave this window open"
FULL = """() => { IDBObjectStore.prototype.put = () => { throw new DOMException('full', 'QuotaExceededError') } }"""


async def test_a_text_that_the_browser_cannot_keep_is_not_said_to_be_kept(console: Console, person: NewPerson) -> None:
    save(console.mirrord.file("Not kept.md"), "one\n")
    writer = await person()
    await writer.open("Not kept.md")
    await writer.page.evaluate(FULL)
    await writer.context.set_offline(True)
    await writer.after("one")
    await writer.type(" more")
    await expect(writer.page.locator("#save-state")).to_have_text(NOT_KEPT, timeout=PATIENCE)
    await writer.context.set_offline(False)

    becomes(console.mirrord.file("Not kept.md"), "one more\n")


async def test_a_text_that_is_not_saved_is_not_said_to_be_on_disk(console: Console, person: NewPerson) -> None:
    save(console.mirrord.file("Not on disk.md"), "one\n")
    writer = await person()
    await writer.open("Not on disk.md")
    on_disk = writer.page.get_by_text("on disk", exact=True)
    await expect(on_disk).to_be_visible(timeout=PATIENCE)
    await writer.context.set_offline(True)
    await writer.after("one")
    await writer.type(" more")
    await writer.is_told("offline")
    await expect(on_disk).to_be_hidden()
    await writer.context.set_offline(False)
    await writer.is_told("saved")

    await expect(on_disk).to_be_visible(timeout=PATIENCE)


async def test_a_text_that_was_just_saved_is_not_said_to_be_on_disk(console: Console, person: NewPerson) -> None:
    save(console.mirrord.file("Just saved.md"), "one\n")
    writer = await person()
    row_of(console.mirrord, "Just saved.md")
    console.mirrord.flush()
    await writer.page.route("**/api/live*", lambda route: route.abort())  # no news of its file comes
    await writer.open("Just saved.md")
    state = writer.page.locator("#disk-state")
    await expect(state).to_have_text("on disk", timeout=PATIENCE)
    await writer.after("one")
    await writer.type(" more")
    await writer.is_told("saved")

    await expect(state).to_have_text("being written to disk", timeout=PATIENCE)


@pytest.mark.timeout(300)
async def test_a_page_of_more_blocks_than_local_storage_holds_is_kept(console: Console, person: NewPerson) -> None:
    save(console.mirrord.file("Large.md"), "beginning\n\n" + "words\n\n" * 15_000)
    writer = await person()
    await writer.open("Large.md")
    await writer.context.set_offline(True)
    await writer.after("beginning")
    await writer.type(" kept")
    await writer.die()
    await writer.context.set_offline(False)
    await writer.open("Large.md")
    await writer.page.get_by_role("button", name="Continue with it").click(timeout=3 * PATIENCE)

    await writer.sees("beginning kept")


async def second_window(somebody: Person, path: str) -> Person:
    """Another window of the same browser on a page."""
    other = Person(somebody.context, await somebody.context.new_page(), somebody.url, somebody.mirrord)
    await other.open(path)
    return other


async def test_two_windows_on_a_page_keep_a_text_each(console: Console, person: NewPerson) -> None:
    file = console.mirrord.file("Two windows.md")
    save(file, "one\n\ntwo\n")
    first = await person()
    await first.open("Two windows.md")
    second = await second_window(first, "Two windows.md")
    await first.context.set_offline(True)
    for writer, word in ((first, "one"), (second, "two")):
        await writer.page.bring_to_front()
        await writer.after(word)
        await writer.type(f" of window {word}")
        await expect(writer.page.locator("#save-state")).to_have_text(KEPT, timeout=PATIENCE)
    for writer in (first, second):
        await writer.die()
    await first.context.set_offline(False)
    await first.open("Two windows.md")
    offers = first.page.get_by_role("button", name="Continue with it")
    await expect(offers).to_have_count(2, timeout=PATIENCE)
    for remaining in (1, 0):
        await offers.first.click()
        await expect(offers).to_have_count(remaining)
        await first.is_told("saved")

    becomes(file, "one of window one\n\ntwo of window two\n")


async def test_a_link_that_is_followed_right_after_typing_asks_nothing_and_leaves_nothing_to_offer(
    console: Console, person: NewPerson
) -> None:
    file = console.mirrord.file("Left at once.md")
    save(file, "one\n")
    save(console.mirrord.file("Left for.md"), "other\n")
    row_of(console.mirrord, "Left for.md")
    writer = await person()
    await writer.open("Left at once.md")
    await ready(writer)
    dialogs: list[str] = []

    async def note(dialog: Dialog) -> None:
        dialogs.append(dialog.type)
        await dialog.accept()

    writer.page.on("dialog", note)
    await writer.after("one")
    await writer.type(" typed")
    await entry(writer, "Left for").get_by_role("link").click()
    await expect(writer.page.locator("#title")).to_have_text("Left for", timeout=PATIENCE)
    becomes(file, "one typed\n")
    await writer.open("Left at once.md")
    await ready(writer)

    assert dialogs == []
    await expect(writer.page.get_by_role("button", name="Continue with it")).to_have_count(0)


async def test_what_was_typed_right_before_a_window_is_closed_is_saved(console: Console, person: NewPerson) -> None:
    file = console.mirrord.file("Closed at once.md")
    save(file, "one\n")
    writer = await person()
    await writer.open("Closed at once.md")
    await ready(writer)
    await writer.after("one")
    await writer.type(" typed")
    await writer.page.close()

    becomes(file, "one typed\n")


async def lose_answers(page: Page) -> None:
    """Let the answers of saves be lost on their way: the text is saved, and the browser does not learn of it."""

    async def lose(route: Route) -> None:
        await route.fetch()
        await route.abort()

    await page.route("**/content", lose)
    await page.route("**/api/live*", lambda route: route.abort())


async def test_a_text_whose_answer_was_lost_is_not_offered_even_if_the_page_changed_since(
    console: Console, person: NewPerson
) -> None:
    file = console.mirrord.file("Answer lost.md")
    save(file, "one\n")
    writer = await person()
    await lose_answers(writer.page)
    await writer.open("Answer lost.md")
    await writer.after("one")
    await writer.type(" typed")
    await writer.is_told("offline")
    becomes(file, "one typed\n")
    await writer.page.close(run_before_unload=False)
    save(file, "one changed again\n")
    eventually(
        lambda: row_of(console.mirrord, "Answer lost.md").markdown == "one changed again\n", "the change in the row"
    )
    writer.page = await writer.context.new_page()
    async with writer.page.expect_response("**/saved"):
        await writer.open("Answer lost.md")
    await writer.sees("one changed again")
    await ready(writer)

    await expect(writer.page.get_by_role("button", name="Continue with it")).to_have_count(0)


async def test_markdown_that_was_left_is_not_saved_over_a_change_that_was_not_shown(
    console: Console, person: NewPerson
) -> None:
    file = console.mirrord.file("Left Markdown.md")
    save(file, "one\n")
    writer = await person()
    await writer.open("Left Markdown.md")
    await ready(writer)
    await writer.page.get_by_role("button", name="Markdown", exact=True).click()
    source = writer.page.locator("#source")
    await expect(source).to_have_value("one\n", timeout=PATIENCE)
    await writer.context.set_offline(True)
    await source.fill("one typed\n")
    await source.press("Control+s")
    await writer.die()
    save(file, "one by another\n")
    eventually(lambda: row_of(console.mirrord, "Left Markdown.md").markdown == "one by another\n", "the other change")
    await writer.context.set_offline(False)
    await writer.page.goto(f"{console.url}/t/console/p/{row_of(console.mirrord, 'Left Markdown.md').id}")
    await writer.page.get_by_role("button", name="Continue with it").click(timeout=PATIENCE)
    source = writer.page.locator("#source")
    await expect(source).to_have_value("one typed\n", timeout=PATIENCE)
    await expect(writer.page.locator(".choice pre")).to_have_text("one by another\n", timeout=PATIENCE)
    await source.press("Control+s")
    await writer.is_told("clash")
    assert row_of(console.mirrord, "Left Markdown.md").markdown == "one by another\n"

    await writer.page.get_by_role("button", name="Keep your version").click()
    becomes(file, "one typed\n")


async def test_who_signs_out_may_delete_what_the_browser_keeps(console: Console, person: NewPerson) -> None:
    save(console.mirrord.file("Signed out.md"), "one\n")
    writer = await person()
    await writer.open("Signed out.md")
    await ready(writer)
    await writer.page.route("**/content", lambda route: route.abort())
    await writer.after("one")
    await writer.type(" typed")
    await writer.is_told("offline")
    await writer.page.route("**/sign-out", lambda route: route.fulfill(json={"href": "/static/"}))
    await writer.page.get_by_role("button", name="Sign out").click()
    await expect(writer.page.get_by_role("dialog")).to_contain_text("unsaved text of 1 page")
    await writer.page.get_by_role("button", name="Sign out, and delete it").click()
    await writer.page.wait_for_url("**/static/")

    await writer.open("Signed out.md")
    await ready(writer)
    await expect(writer.page.get_by_role("button", name="Continue with it")).to_have_count(0)
