"""The console around the editor, in a real browser: the sidebar, the Markdown view, history, the trash, decisions."""

import asyncio
import re
from collections.abc import Sequence

import pytest
from playwright.async_api import Browser, Locator, Route, expect

from mirrord.db import tenant_rows
from mirrord.db.database import Database
from tests.console.conftest import Console, NewPerson
from tests.console.people import PATIENCE, Person, becomes, entry, follow, ready, row_of
from tests.support.clients import on_stdio, process
from tests.support.editors import save
from tests.support.harness import eventually
from tests.support.node import installed
from tests.support.people import carried_out, pending
from tests.support.tiptap import SOURCE

pytestmark = pytest.mark.asyncio(loop_scope="session")


# Counts, as `kept`, how often something is written that a reload finds; `keptText` is the last text.
COUNTED = """() => {
  window.kept = 0
  const { put } = IDBObjectStore.prototype
  IDBObjectStore.prototype.put = function (value) {
    window.kept++
    window.keptText = value.text
    return put.call(this, value)
  }
}"""


# Begins a promise, `told`, of the news that pages changed, and of as much time as the sidebar takes to read again.
TOLD_OF_CHANGES = """() => void (window.told = new Promise(done =>
  addEventListener('live:tree', () => setTimeout(done, 500), { once: true })))"""


async def source_of(somebody: Person, path: str) -> Locator:
    """Open the Markdown of a page."""
    row = row_of(somebody.mirrord, path)
    await somebody.page.goto(f"{somebody.url}/t/{somebody.mirrord.tenant}/p/{row.id}")
    await ready(somebody)
    await somebody.page.get_by_role("button", name="Markdown", exact=True).click()
    field = somebody.page.get_by_role("textbox", name="Markdown of the page")
    await expect(field).to_be_visible(timeout=PATIENCE)
    return field


async def on_disk(somebody: Person) -> None:
    """Wait until the page says so: what is saved into its file before then meets a change under way."""
    await expect(somebody.page.locator("#disk-state")).to_have_attribute("data-state", "yes", timeout=PATIENCE)


async def operator(console: Console, browser: Browser, path: str) -> Person:
    """Somebody who may decide, at a view of the tenant."""
    context = await browser.new_context()
    page = await context.new_page()
    link = console.mirrord.run("console", "link").stdout.strip()
    await follow(page, link)
    await page.goto(f"{console.url}/t/{console.mirrord.tenant}/{path}")
    return Person(context, page, console.url, console.mirrord)


async def test_the_markdown_view_keeps_every_byte_around_an_edit(console: Console, person: NewPerson) -> None:
    file = console.mirrord.file("Bytes.md")
    save(file, "---\ntitle:   'Bytes'  # kept\n---\r\n\r\n\tone\r\ntwo\n\r\nthree  \r\n")
    writer = await person()
    field = await source_of(writer, "Bytes.md")
    await field.fill((await field.input_value()).replace("two", "two and a half"))
    await writer.press("Control+s")
    await writer.is_told("saved")
    await on_disk(writer)

    saved = eventually(lambda: (now := file.read_bytes()) and b"half" in now and now, "the edit in the file")

    assert saved == b"---\ntitle:   'Bytes'  # kept\n---\r\n\r\n\tone\r\ntwo and a half\n\r\nthree  \r\n"


async def test_the_markdown_view_merges_nothing_and_lets_a_person_choose(console: Console, person: NewPerson) -> None:
    file = console.mirrord.file("Chosen.md")
    save(file, "one\n")
    writer = await person()
    field = await source_of(writer, "Chosen.md")
    await field.fill("mine\n")
    save(file, "theirs\n")
    await expect(writer.page.get_by_label("Their version")).to_have_text("theirs\n", timeout=PATIENCE)
    await expect(field).to_have_value("mine\n")
    await writer.press("Control+s")
    await writer.page.get_by_role("button", name="Keep your version").click()
    await writer.is_told("saved")
    becomes(file, "mine\n")

    other = console.mirrord.file("Taken.md")
    save(other, "one\n")
    field = await source_of(writer, "Taken.md")
    await field.fill("mine\n")
    save(other, "theirs\n")
    await writer.page.get_by_role("button", name="Use their version").click(timeout=PATIENCE)
    await expect(field).to_have_value("theirs\n")
    await writer.is_told("saved")
    becomes(other, "theirs\n")


async def test_text_of_the_markdown_view_that_was_never_saved_is_offered_again(
    console: Console, person: NewPerson
) -> None:
    save(console.mirrord.file("Unsaved.md"), "one\n")
    writer = await person()
    field = await source_of(writer, "Unsaved.md")
    await writer.page.evaluate(COUNTED)
    await field.press_sequentially("letter by letter ")
    await writer.page.wait_for_function("() => window.keptText?.includes('letter by letter')")
    assert await writer.page.evaluate("kept") < len("letter by letter")  # a long text is too much for every key
    await field.fill("typed and not saved\n")
    await writer.page.goto("about:blank")  # as a crash: nobody is asked
    field = await source_of(writer, "Unsaved.md")
    await expect(field).to_have_value("one\n")
    await writer.page.get_by_role("button", name="Continue with it").click()
    await expect(field).to_have_value("typed and not saved\n")
    await writer.press("Control+s")
    becomes(console.mirrord.file("Unsaved.md"), "typed and not saved\n")


async def test_a_rename_tells_how_many_pages_link_here_and_their_links_follow(
    console: Console, person: NewPerson
) -> None:
    save(console.mirrord.file("Followed one.md"), "text\n")
    for number in range(3):
        save(console.mirrord.file(f"Following {number}.md"), "See [[Followed one]].\n")
    linked = "SELECT FROM page_link WHERE target = 'Followed one' AND target_id IS NOT NULL HAVING count(*) = 3"
    eventually(lambda: console.mirrord.app.execute(linked).fetchone() is not None, "the links")
    writer = await person()
    await writer.open("Followed one.md")
    await ready(writer)

    await writer.page.get_by_role("button", name="Rename", exact=True).click()
    await expect(writer.page.get_by_role("dialog")).to_contain_text("3 pages link here; their links will follow.")
    await writer.type("Followed two")
    await writer.press("Enter")

    await expect(writer.page.locator("#title")).to_have_text("Followed two", timeout=PATIENCE)

    def texts() -> set[str | None]:
        return {console.mirrord.text(f"Following {number}.md") for number in range(3)}

    eventually(lambda: texts() == {"See [[Followed two]].\n"}, "the links to follow")


async def test_pages_are_made_renamed_moved_and_deleted_by_keyboard_alone(console: Console, person: NewPerson) -> None:
    writer = await person()
    for title in ("By key one", "By key two"):
        await writer.page.goto(f"{console.url}/t/console/")
        await ready(writer)
        await writer.page.get_by_role("button", name="New page").focus()
        await writer.press("Enter")
        await expect(writer.page.get_by_role("dialog")).to_be_visible(timeout=PATIENCE)
        await writer.type(title)
        await writer.press("Enter")
        await expect(writer.page.locator("#title")).to_have_text(title, timeout=PATIENCE)
        eventually(console.mirrord.file(f"{title}.md").exists, f"the file of {title}")

    await ready(writer)
    await entry(writer, "By key two").get_by_role("link").focus()
    await writer.press("Alt+ArrowRight")
    eventually(console.mirrord.file("By key one/By key two.md").exists, "the page below the other")
    within = writer.page.locator("#tree ul ul").get_by_role("link", name="By key two", exact=True)
    await expect(within).to_be_visible(timeout=PATIENCE)
    await entry(writer, "By key two").get_by_role("link").focus()
    await writer.press("Alt+ArrowLeft")
    eventually(console.mirrord.file("By key two.md").exists, "the page out of the other")

    await writer.page.get_by_role("button", name="Rename", exact=True).focus()
    await writer.press("Enter")
    await expect(writer.page.get_by_role("dialog")).to_be_visible(timeout=PATIENCE)
    await writer.type("By key three")
    await writer.press("Enter")
    await expect(writer.page.locator("#title")).to_have_text("By key three", timeout=PATIENCE)
    await writer.page.get_by_role("button", name="Delete", exact=True).focus()
    await writer.press("Enter")
    await expect(writer.page.get_by_role("dialog")).to_be_visible(timeout=PATIENCE)
    await writer.press("Enter")
    await expect(writer.page.get_by_role("heading", name="Trash")).to_be_visible(timeout=PATIENCE)
    eventually(lambda: not console.mirrord.file("By key three.md").exists(), "the file to go")
    await writer.page.get_by_role("listitem").filter(has_text="By key three").get_by_role("button").click()
    await expect(writer.page.locator("#title")).to_have_text("By key three", timeout=PATIENCE)
    await ready(writer)  # a browser that is closed on its way to a page may hang
    eventually(console.mirrord.file("By key three.md").exists, "the file to come back")


async def test_an_icon_is_set_changed_and_removed_in_the_front_matter(console: Console, person: NewPerson) -> None:
    file = console.mirrord.file("Iconic.md")
    text = "---\ntags: [a]  # kept\n---\ntext\n"
    save(file, text)
    writer = await person()
    await writer.open("Iconic.md")
    await ready(writer)
    above = writer.page.get_by_role("button", name="Icon", exact=True)
    for icon in ("🌿", "🌍"):
        await above.click()
        await expect(writer.page.get_by_role("dialog")).to_be_visible(timeout=PATIENCE)
        await writer.type(icon)
        await writer.press("Enter")
        becomes(file, text.replace("---\ntext", f"icon: {icon}\n---\ntext"))
        await expect(above).to_have_text(icon, timeout=PATIENCE)
        await expect(entry(writer, "Iconic").locator(".icon")).to_have_text(icon, timeout=PATIENCE)

    await entry(writer, "Iconic").get_by_role("button", name="Actions").click()
    await writer.page.get_by_role("button", name="Icon", exact=True).last.click()
    await expect(writer.page.get_by_role("textbox", name="Icon")).to_have_value("🌍")
    await writer.press("Delete", "Enter")
    becomes(file, text)
    await expect(above).to_have_text("☺", timeout=PATIENCE)


async def test_a_page_that_is_edited_in_the_very_moment_is_moved_all_the_same(
    console: Console, person: NewPerson
) -> None:
    save(console.mirrord.file("Edited one.md"), "text\n")
    save(console.mirrord.file("Edited two.md"), "text\n")
    row_of(console.mirrord, "Edited one.md")
    writer = await person()
    await writer.open("Edited two.md")
    await ready(writer)
    refused = iter([True])

    async def late(route: Route) -> None:
        if next(refused, False):
            await route.fulfill(status=409, json={"sentence": "The page was changed meanwhile."})
        else:
            await route.continue_()

    await writer.page.route("**/move", late)
    await entry(writer, "Edited two").get_by_role("link").focus()
    await writer.press("Alt+ArrowRight")
    await expect(writer.page.locator("#told")).to_have_text("Edited two was moved.", timeout=PATIENCE)
    eventually(console.mirrord.file("Edited one/Edited two.md").exists, "the page below the other")


async def test_a_page_that_is_dragged_is_moved(console: Console, person: NewPerson) -> None:
    save(console.mirrord.file("Drag me.md"), "text\n")
    save(console.mirrord.file("Drag target.md"), "text\n")
    writer = await person()
    await writer.page.goto(f"{console.url}/t/console/")
    row_of(console.mirrord, "Drag me.md")
    row_of(console.mirrord, "Drag target.md")
    await writer.page.reload()
    await ready(writer)
    await entry(writer, "Drag me").get_by_role("link").drag_to(entry(writer, "Drag target").get_by_role("link"))
    eventually(console.mirrord.file("Drag target/Drag me.md").exists, "the page below the other")


async def test_a_drag_begins_although_pages_change_after_its_row_is_pressed(
    console: Console, person: NewPerson
) -> None:
    save(console.mirrord.file("Drag pressed.md"), "text\n")
    save(console.mirrord.file("Drag pressed target.md"), "text\n")
    row_of(console.mirrord, "Drag pressed.md")
    row_of(console.mirrord, "Drag pressed target.md")
    writer = await person()
    await writer.page.goto(f"{console.url}/t/console/")
    await ready(writer)
    goal = entry(writer, "Drag pressed target").get_by_role("link")
    await entry(writer, "Drag pressed").get_by_role("link").hover()
    await writer.page.mouse.down()
    await writer.page.evaluate(TOLD_OF_CHANGES)
    save(console.mirrord.file("Came after the press.md"), "text\n")
    await writer.page.evaluate("window.told")
    await goal.hover()
    await goal.hover()  # a browser begins the drag with the second movement
    await writer.page.mouse.up()

    eventually(console.mirrord.file("Drag pressed target/Drag pressed.md").exists, "the page below the other")
    await expect(entry(writer, "Came after the press")).to_be_visible(timeout=PATIENCE)


async def test_a_drag_goes_on_while_pages_change_elsewhere(console: Console, person: NewPerson) -> None:
    save(console.mirrord.file("Drag long.md"), "text\n")
    save(console.mirrord.file("Drag long target.md"), "text\n")
    row_of(console.mirrord, "Drag long.md")
    row_of(console.mirrord, "Drag long target.md")
    writer = await person()
    await writer.page.goto(f"{console.url}/t/console/")
    await ready(writer)
    goal = entry(writer, "Drag long target").get_by_role("link")
    await entry(writer, "Drag long").get_by_role("link").hover()
    await writer.page.mouse.down()
    await goal.hover()
    await goal.hover()  # a browser begins the drag with the second movement
    await writer.page.evaluate(TOLD_OF_CHANGES)
    save(console.mirrord.file("Came during the drag.md"), "text\n")
    await writer.page.evaluate("window.told")
    await writer.page.mouse.move(0, 0)
    await goal.hover()
    await goal.hover()
    await writer.page.mouse.up()

    eventually(console.mirrord.file("Drag long target/Drag long.md").exists, "the page below the other")
    await expect(entry(writer, "Came during the drag")).to_be_visible(timeout=PATIENCE)


async def test_history_shows_what_changed_and_goes_back(console: Console, person: NewPerson) -> None:
    file = console.mirrord.file("Went back.md")
    save(file, "the quick fox\n")
    first = row_of(console.mirrord, "Went back.md")
    save(file, "the slow fox\n")
    eventually(lambda: row_of(console.mirrord, "Went back.md").version > first.version, "the second version")
    reader = await person(viewport={"width": 390, "height": 844})
    await reader.page.goto(f"{console.url}/t/console/p/{first.id}/history")
    section = reader.page.locator("#shown")
    await expect(section.locator(".added")).to_contain_text("the slow fox", timeout=PATIENCE)  # of both versions
    await expect(section.locator(".removed")).to_have_count(0)
    newest = reader.page.locator("details[open]").get_by_role("button").first
    await newest.click()
    await expect(section.locator(".added b")).to_have_text("slow", timeout=PATIENCE)
    right = await section.get_by_label("Compare with").evaluate("field => field.getBoundingClientRect().right")
    assert right <= 390
    await reader.page.locator(f"button[data-version='{first.version}']").click()
    await expect(section.get_by_label("Compare with").locator("option:checked")).to_have_text("an empty page")
    await section.get_by_label("Compare with").select_option(label="the page as it is now")
    await expect(section.get_by_role("button", name="Restore block 1")).to_be_visible(timeout=PATIENCE)
    await reader.page.get_by_role("button", name="Restore this version").click()
    await reader.page.get_by_role("button", name="Restore", exact=True).click()
    await expect(reader.page.locator("#title")).to_have_text("Went back", timeout=PATIENCE)
    await ready(reader)
    becomes(file, "the quick fox\n")


async def test_an_approval_granted_in_the_console_is_carried_out_and_seen_by_the_agent(
    console: Console, browser: Browser, token: str
) -> None:
    decider = await operator(console, browser, "attention")
    server = process(console.mirrord.mirror, {"MIRRORD_TOKEN": token}, "--tools", "sources")
    async with on_stdio(server) as agent:
        answer = await pending(agent, "create_folder", name="Proposed")
        await decider.page.get_by_role("button", name="Approve").click(timeout=PATIENCE)
        outcome = await carried_out(agent, "create_folder", name="Proposed")
        row = decider.page.get_by_role("region", name="Decided before").get_by_role("row").filter(has_text="Proposed")
        await expect(row).to_contain_text("in the console", timeout=PATIENCE)
        await expect(row.get_by_role("cell").nth(2)).to_have_text("approved")
        await decider.page.goto(f"{console.url}/t/console/status")
        events = decider.page.get_by_role("region", name="Recent events")
        await expect(events.get_by_role("row").filter(has_text="approved a request").first).to_contain_text(
            "create folder", timeout=PATIENCE
        )
    assert answer["status"] == "pending_approval"
    assert outcome["folder_id"]
    assert any(console.mirrord.root.rglob("Proposed"))
    await decider.context.close()


async def test_a_conflict_is_settled_in_the_console(console: Console, browser: Browser) -> None:
    file = console.mirrord.file("Disputed.md")
    save(file, "both\n")
    page = row_of(console.mirrord, "Disputed.md")
    with console.mirrord.frozen():
        console.mirrord.app.execute("UPDATE mirrord.page SET markdown = 'the row\n' WHERE id = %s", (page.id,))
        save(file, "the file\n")
    decider = await operator(console, browser, "attention")
    card = decider.page.get_by_role("listitem").filter(has_text="Disputed.md")
    for title, text in (
        ("Before both changes", "both\n"),
        ("Version in the file", "the file\n"),
        ("Current page", "the row\n"),
    ):
        await expect(card.get_by_label(title)).to_have_text(text, timeout=PATIENCE)
    await expect(card.get_by_label("Current page").locator("mark")).to_have_text("the row\n")
    await card.get_by_text("Edit and use the merged text").click()
    await expect(card).to_contain_text("remove the marks")
    merged = card.get_by_role("textbox", name="The merged text")
    await expect(merged).to_have_value(
        "<<<<<<< as it is now\nthe row\n=======\nthe file\n>>>>>>> version in the file\n"
    )
    await merged.fill("both of them\n")
    await card.get_by_role("button", name="Use the merged text").click()
    await expect(card).to_have_count(0, timeout=PATIENCE)
    becomes(file, "both of them\n")
    row = decider.page.get_by_role("region", name="Decided before").get_by_role("row").filter(has_text="Disputed.md")
    await expect(row.get_by_role("cell").nth(2)).to_have_text("settled it: one page is left", timeout=PATIENCE)
    await expect(row.get_by_role("link", name="Disputed.md")).to_be_visible()
    await decider.context.close()


async def test_a_conflict_of_a_record_is_settled_in_the_console(console: Console, browser: Browser) -> None:
    path, text = ".records/categories/disputed.yaml", "# read\ndir: {0}  # since school\n"
    app, file = console.mirrord.app, console.mirrord.file(path)
    save(file, text.format("Both"))
    agreed = "SELECT FROM mirrord.record WHERE key = 'disputed' AND data ->> 'dir' = 'Both'"
    eventually(lambda: app.execute(agreed).fetchone() is not None, "the record's row")
    with console.mirrord.frozen():
        save(file, text.format("File"))
        app.execute("UPDATE mirrord.record SET data = %s WHERE key = 'disputed'", ['{"dir": "Row"}'])
    becomes(file, text.format("Row"))
    decider = await operator(console, browser, "attention")
    card = decider.page.get_by_role("listitem").filter(has_text=path)
    await expect(card.get_by_label("Version in the file")).to_have_text(text.format("File"), timeout=PATIENCE)
    await card.get_by_role("button", name="Use the version in the file").click()
    await expect(card).to_have_count(0, timeout=PATIENCE)
    becomes(file, text.format("File"))
    await decider.context.close()


@pytest.mark.parametrize("view", ["status", "attention", "trash"])
async def test_axe_has_no_serious_finding_in_other_views(console: Console, person: NewPerson, view: str) -> None:
    axe = installed(SOURCE) / "node_modules" / "axe-core" / "axe.min.js"
    reader = await person(bypass_csp=True, viewport={"width": 360, "height": 800})
    await reader.page.goto(f"{console.url}/t/console/{view}")
    await expect(reader.page.locator(".waiting")).to_have_count(0, timeout=PATIENCE)
    await reader.page.add_script_tag(path=axe)

    violations = await reader.page.evaluate("axe.run(document).then(result => result.violations)")

    grave = [
        (violation["id"], violation["nodes"][0]["html"])
        for violation in violations
        if violation["impact"] in ("serious", "critical")
    ]
    assert grave == []
    assert await reader.page.evaluate("document.documentElement.scrollWidth") <= 360


async def test_an_import_is_seen_on_the_status_page_from_its_beginning_to_its_end(
    console: Console, person: NewPerson
) -> None:
    reader = await person()
    await reader.page.goto(f"{console.url}/t/console/status")
    await expect(reader.page.get_by_role("heading", name="Mirrors")).to_be_visible(timeout=PATIENCE)
    save(console.mirrord.file("Brought/First.md"), "# First\n")  # of a directory made while paused only itself is known
    eventually(lambda: console.mirrord.page("Brought/First"), "the directory to be watched")
    pause = console.mirrord.file("PAUSE")
    save(pause, "")
    paused = "SELECT 1 FROM mirrord.problem WHERE sentence LIKE 'Sync is paused%'"
    eventually(lambda: console.mirrord.app.execute(paused).fetchone(), "the daemon to pause")
    for number in range(400):
        save(console.mirrord.file(f"Brought/{number}.md"), f"# {number}\n\nOf many.\n")

    bar = reader.page.get_by_role("progressbar", name="Processing files and rows")
    await expect(reader.page.locator(".queue")).to_contain_text("the oldest since", timeout=PATIENCE)
    await expect(bar).to_have_attribute("max", re.compile(r"^[2-9]\d\d$"))  # the files are noticed one by one
    assert int(await bar.get_attribute("value") or 0) < 200
    pause.unlink()
    await expect(reader.page.locator("progress")).to_have_count(0, timeout=2 * PATIENCE)
    await expect(reader.page.locator(".queue")).to_have_text("The queue is empty.", timeout=PATIENCE)
    await expect(reader.page.locator(".pace").filter(has_text="From file to row")).to_be_visible(timeout=PATIENCE)
    await expect(reader.page.get_by_text(str(console.mirrord.root))).to_have_count(0)


def list_problems(console: Console) -> list[str]:
    """The paths of all problems of the tenant."""
    return [path for (path,) in console.mirrord.app.execute("SELECT path FROM mirrord.problem").fetchall()]


def sentence_of(problems: Sequence[str]) -> str:
    """What the list of tenants says of a tenant that has these problems only."""
    return f"{len(problems)} problem" if problems else "in sync"


async def test_an_operators_list_tells_what_waits_in_each_tenant(
    console: Console, browser: Browser, admin_dsn: str
) -> None:
    async with Database(admin_dsn, size=1) as database:
        await tenant_rows.ensure_tenant(database, "quiet")
    save(console.mirrord.file("No text.md"), "\xff".encode("latin-1"))
    eventually(lambda: "No text.md" in list_problems(console), "the problem to be listed")
    decider = await operator(console, browser, "status")
    async with asyncio.timeout(PATIENCE / 1000):  # a tenant made a moment ago is not known for some seconds
        while not await decider.page.locator("[data-name=quiet]").count():
            await decider.page.goto(console.url)
            await ready(decider)
    line = decider.page.locator("li[data-name=console]")
    await expect(line).to_contain_text(sentence_of(list_problems(console)), timeout=PATIENCE)
    await expect(decider.page.locator("#summary")).to_contain_text("console", timeout=PATIENCE)
    await expect(decider.page.locator("[data-name=quiet] .count")).to_be_hidden()
    await expect(decider.page.locator("[data-name=quiet]")).to_contain_text("not kept up to date")
    console.mirrord.file("No text.md").unlink()
    eventually(lambda: "No text.md" not in list_problems(console), "the problem to go")
    remaining = sentence_of(list_problems(console))  # of other tests' files
    await expect(line).to_contain_text(remaining, timeout=PATIENCE)
    save(console.mirrord.file("PAUSE"), "")
    await expect(line).to_contain_text("stopped", timeout=PATIENCE)
    console.mirrord.file("PAUSE").unlink()
    await expect(line).to_contain_text(remaining, timeout=PATIENCE)
    await decider.context.close()
