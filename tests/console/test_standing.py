"""How things stand, in a real browser: what waits for a decision, what is in the trash, what a view leaves behind."""

import asyncio

import psycopg
import pytest
from playwright.async_api import Browser, expect

from mirrord.db import tenant_rows
from mirrord.db.database import Database
from tests.console.conftest import Console, NewPerson
from tests.console.people import PATIENCE, becomes, ready, row_of
from tests.console.test_views import operator
from tests.support.editors import save
from tests.support.harness import eventually

pytestmark = pytest.mark.asyncio(loop_scope="session")

HALTED_PAGES = 200  # more than a tenth of what the tenant has


async def test_pages_whose_files_are_gone_are_not_on_disk_nor_their_mirror_in_sync(
    console: Console, browser: Browser, admin_dsn: str
) -> None:
    files = [console.mirrord.file(f"Halted/Page {number:03}.md") for number in range(HALTED_PAGES)]
    for number, file in enumerate(files):
        save(file, f"text {number}\n")
    page = row_of(console.mirrord, "Halted/Page 199.md").id
    missing = "SELECT FROM mirrord.page WHERE name LIKE 'Page ___' AND content IS NOT NULL HAVING count(*) >= %s"
    eventually(lambda: console.mirrord.app.execute(missing, (HALTED_PAGES,)).fetchone() is not None, "all pages")
    decider = await operator(console, browser, f"p/{page}")
    state = decider.page.locator("#disk-state")
    await expect(state).to_have_text("on disk", timeout=PATIENCE)
    console.mirrord.file("Halted").rename(console.mirrord.root.parent / "halted aside")
    await expect(state).to_have_text("its deletion waits for a decision", timeout=PATIENCE)
    await decider.page.goto(f"{console.url}/t/console/status")
    standing = decider.page.locator(".standing").first
    await expect(standing).to_contain_text("to be decided", timeout=PATIENCE)
    await expect(standing.get_by_role("link")).to_have_attribute("href", "/t/console/attention")
    async with Database(admin_dsn, size=1) as database:
        await tenant_rows.ensure_tenant(database, "quiet")  # with one tenant there is no list
    line = decider.page.locator("li[data-name=console]")
    async with asyncio.timeout(PATIENCE / 1000):  # a tenant made a moment ago is not known for some seconds
        while not await line.count():
            await decider.page.goto(console.url)
            await ready(decider)
    await expect(line).to_contain_text("to confirm", timeout=PATIENCE)
    async with asyncio.timeout(PATIENCE / 1000):  # losses that are seen later have a halt of their own
        while not all(file.exists() for file in files):
            await decider.page.goto(f"{console.url}/t/console/attention")
            await ready(decider)
            if await (undo := decider.page.get_by_role("button", name="Undo:").first).count():
                card = decider.page.get_by_role("listitem").filter(has=undo).first
                await expect(card).to_contain_text("pages and files disappeared from disk")
                await expect(card).to_contain_text("will be written to disk again")
                await expect(card).not_to_contain_text("mirrord")
                await undo.click()
                await decider.page.get_by_role("button", name="Yes").click()
                await expect(decider.page.locator("#told")).to_contain_text("Decided", timeout=PATIENCE)
    await decider.page.goto(f"{console.url}/t/console/p/{page}")

    await expect(state).to_have_text("on disk", timeout=PATIENCE)
    await decider.context.close()


async def test_all_of_the_trash_is_reached_and_found_by_title_with_its_path(
    console: Console, person: NewPerson
) -> None:
    with console.mirrord.app.transaction():  # at once, so that no mirror sees a deletion
        console.mirrord.app.execute(
            "INSERT INTO mirrord.page (name, markdown) "
            "SELECT 'Thrown ' || lpad(n::text, 3, '0'), 'text' FROM generate_series(1, 205) AS n"
        )
        console.mirrord.app.execute("UPDATE mirrord.page SET deleted_at = now() WHERE name LIKE 'Thrown ___'")
    reader = await person()
    await reader.page.goto(f"{console.url}/t/console/trash")
    await ready(reader)
    cards = reader.page.locator(".card").filter(has_text="Thrown")
    await expect(cards.first).to_be_visible(timeout=PATIENCE)
    await reader.page.locator("#content").get_by_role("button", name="More…").click()
    await expect(cards).to_have_count(205, timeout=PATIENCE)
    await reader.page.get_by_role("searchbox", name="Find in the trash").fill("thrown 20")
    await expect(cards).to_have_count(6, timeout=PATIENCE)
    await reader.page.get_by_role("searchbox", name="Find in the trash").fill("thrown 205")
    await expect(cards).to_have_count(1, timeout=PATIENCE)
    await expect(cards).to_contain_text("Thrown 205.md")
    await reader.page.get_by_role("link", name="Thrown 205", exact=True).click()
    await expect(reader.page.get_by_text("This page is in the trash.")).to_be_visible(timeout=PATIENCE)
    for name in ("Markdown", "Rename", "Delete"):
        await expect(reader.page.get_by_role("button", name=name, exact=True)).to_be_hidden()
    await reader.page.get_by_role("button", name="Restore", exact=True).click()

    eventually(console.mirrord.file("Thrown 205.md").exists, "the file of the restored page")


async def test_a_conflict_that_changed_is_shown_as_it_is_and_can_be_settled_without_a_reload(
    console: Console, browser: Browser
) -> None:
    file = console.mirrord.file("Moving conflict.md")
    save(file, "both\n")
    page = row_of(console.mirrord, "Moving conflict.md")
    with console.mirrord.frozen():
        console.mirrord.app.execute("UPDATE mirrord.page SET markdown = 'the row\n' WHERE id = %s", (page.id,))
        save(file, "the file\n")
    decider = await operator(console, browser, "attention")
    card = decider.page.get_by_role("listitem").filter(has_text="Moving conflict.md")
    row = card.get_by_label("Current page")
    await expect(row).to_have_text("the row\n", timeout=PATIENCE)
    await card.get_by_text("Edit and use the merged text").click()
    await card.get_by_role("textbox", name="The merged text").fill("typed together\n")
    save(file, "the row, edited meanwhile\n")
    eventually(lambda: row_of(console.mirrord, file.name).markdown == "the row, edited meanwhile\n", "the edit's row")
    await card.get_by_role("button", name="Use the merged text").click()
    await expect(row).to_have_text("the row, edited meanwhile\n", timeout=PATIENCE)
    await expect(card.get_by_role("textbox", name="The merged text")).to_have_value("typed together\n")
    await card.get_by_role("button", name="Use the merged text").click()
    await expect(card).to_have_count(0, timeout=PATIENCE)

    becomes(file, "typed together\n")
    await decider.context.close()


async def test_a_page_whose_front_matter_is_no_yaml_is_mended_in_the_markdown_view_and_not_said_to_be_saved_before(
    console: Console, person: NewPerson
) -> None:
    file = console.mirrord.file("No yaml.md")
    save(file, "---\ntitle: [oops\n---\ntext\n")
    page = row_of(console.mirrord, "No yaml.md").id
    writer = await person()
    await writer.page.goto(f"{console.url}/t/console/p/{page}")
    await ready(writer)
    await expect(writer.page.get_by_role("alert")).to_contain_text("in the Markdown view")
    for name in ("Editor", "Rename", "Icon"):
        await expect(writer.page.get_by_role("button", name=name, exact=True)).to_be_disabled()
    refused = await writer.page.evaluate(
        """async id => {
          const own = document.querySelector('script[type=module]').src
          const { change } = await import(own.replace('built/', '').replace('console.js', 'server/api.js'))
          return change('PATCH', `pages/${id}`, { version: 1, icon: 'x' }).catch(error => error.status)
        }""",
        str(page),
    )
    assert refused == 422
    field = writer.page.get_by_role("textbox", name="Markdown of the page")
    await field.fill("---\ntitle: mended\n---\ntext\n")
    await writer.press("Control+s")
    becomes(file, "---\ntitle: mended\n---\ntext\n")
    await writer.after("text")
    await writer.type(" and more")

    becomes(file, "---\ntitle: mended\n---\ntext and more\n")
    await expect(writer.page.get_by_role("alert")).to_have_count(0)


async def test_an_edit_outlives_the_deletion_of_its_file(console: Console, person: NewPerson) -> None:
    file = console.mirrord.file("Deleted under the editor.md")
    save(file, "begun\n")
    writer = await person()
    await writer.open("Deleted under the editor.md")
    await ready(writer)
    await writer.after("begun")
    await writer.type(" typed")
    becomes(file, "begun typed\n")
    file.unlink()
    await expect(writer.page.get_by_text("This page is in the trash.")).to_be_visible(timeout=PATIENCE)
    await writer.type(" and more")
    await writer.is_told("refused")
    await writer.page.get_by_role("button", name="Restore", exact=True).click()
    eventually(file.exists, "the file to come back")

    becomes(file, "begun typed and more\n")


async def test_the_markdown_view_after_the_editor_is_in_letters_of_equal_width_with_its_buttons_readable(
    console: Console, person: NewPerson
) -> None:
    save(console.mirrord.file("After the editor.md"), "| a | b |\n| - | - |\n\n" + "long\n\n" * 300)
    reader = await person()
    await reader.open("After the editor.md")
    await ready(reader)
    await reader.page.get_by_role("button", name="Markdown", exact=True).click()
    field = reader.page.get_by_role("textbox", name="Markdown of the page")
    await expect(field).to_be_focused(timeout=PATIENCE)

    assert "mono" in await field.evaluate("field => getComputedStyle(field).fontFamily")
    assert await field.evaluate("field => field.selectionStart") == 0
    assert await reader.page.evaluate("scrollY") < 300
    save_button = reader.page.get_by_role("button", name="Save", exact=True)
    colours = await save_button.evaluate("one => [getComputedStyle(one).color, getComputedStyle(document.body).color]")
    assert colours[0] != colours[1]


async def test_the_markdown_view_has_what_was_written_into_the_text_after_the_page_was_read(
    console: Console, person: NewPerson, admin_dsn: str
) -> None:
    file = console.mirrord.file("Written late.md")
    save(file, "---\ntags: [a]\n---\ntext\n")
    writer = await person()
    await writer.open("Written late.md")
    await ready(writer)
    lock = "SELECT FROM mirrord.page WHERE name = 'Written late' FOR UPDATE"
    with psycopg.connect(console.mirrord.app_dsn) as before, psycopg.connect(console.mirrord.app_dsn) as after:
        before.execute(lock)
        await writer.page.get_by_role("button", name="+ Add a property").click()
        await writer.type("status")
        await writer.press("Enter")
        await waiters(admin_dsn, 1)
        behind = asyncio.ensure_future(asyncio.to_thread(after.execute, lock))
        await waiters(admin_dsn, 2)
        before.rollback()  # the property is written; its text waits for the second lock
        await behind
        await expect(writer.page.get_by_role("textbox", name="status")).to_be_visible(timeout=PATIENCE)
        after.rollback()
    becomes(file, "---\ntags: [a]\nstatus: ''\n---\ntext\n")
    await expect(writer.page.locator("#disk-state")).to_have_attribute("data-state", "yes", timeout=PATIENCE)
    await writer.page.get_by_role("button", name="Markdown", exact=True).click()

    await expect(writer.page.locator("#source")).to_have_value("---\ntags: [a]\nstatus: ''\n---\ntext\n")


async def waiters(admin_dsn: str, count: int) -> None:
    """Wait until so many transactions wait for locks."""
    waiting = (
        "SELECT count(*) >= %s FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()"
    )
    with psycopg.connect(admin_dsn, autocommit=True) as connection:
        await asyncio.to_thread(
            eventually, lambda: connection.execute(waiting, (count,)).fetchone() == (True,), f"{count} that wait"
        )


async def test_the_markdown_view_of_a_page_with_a_held_change_opens(console: Console, person: NewPerson) -> None:
    text = "# Held\n\nSee [[Welcome]], ![[Welcome]] and [[Held back]].\n"
    save(console.mirrord.file("Held back.md"), text)
    page = row_of(console.mirrord, "Held back.md").id
    empty = '{"type": "doc", "content": []}'
    console.mirrord.app.execute("UPDATE mirrord.page SET content = %s WHERE id = %s", (empty, page))
    problem = "SELECT FROM mirrord.problem WHERE entry_id = %s AND code = 'content-lost'"
    eventually(lambda: console.mirrord.app.execute(problem, (page,)).fetchone() is not None, "the change to be held")
    reader = await person()
    await reader.page.goto(f"{console.url}/t/console/p/{page}")
    await ready(reader)
    await reader.page.get_by_role("button", name="Markdown", exact=True).click()

    await expect(reader.page.locator("#source")).to_have_value(text, timeout=PATIENCE)
