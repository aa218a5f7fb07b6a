"""The views of an operator in a real browser: files with problems, events with their pages, what each author did."""

import asyncio

import psycopg
import pytest
from playwright.async_api import Browser, Route, expect

from mirrord.domain.problem_advice import REMEDIES
from tests.console.conftest import Console, NewPerson
from tests.console.people import PATIENCE, Person, follow, ready, row_of
from tests.support.clients import on_stdio, process
from tests.support.editors import save
from tests.support.harness import eventually

pytestmark = pytest.mark.asyncio(loop_scope="session")

# Each text of the page is answered with another one, also that which mirrord writes.
ANSWERING = """
CREATE FUNCTION public.answer() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
BEGIN
    IF pg_trigger_depth() = 1 THEN
        UPDATE mirrord.page SET markdown = 'answered at ' || clock_timestamp() || E'\\n'
         WHERE tenant_id = NEW.tenant_id AND id = NEW.id;
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER answer AFTER UPDATE OF markdown, digest ON mirrord.page FOR EACH ROW WHEN (NEW.name = 'Answered')
    EXECUTE FUNCTION public.answer()"""
NEWS = """window.dispatchEvent(new CustomEvent("live:attention", {
  detail: { conflicts: 0, halts: 0, problems: 0, approvals: 0 }
}))"""


async def look_at(reader: Person, view: str) -> None:
    await reader.page.goto(f"{reader.url}/t/console/{view}")
    await ready(reader)


async def test_a_file_with_a_problem_is_listed_with_its_remedy_and_the_mirror_is_not_simply_in_sync(
    console: Console, person: NewPerson
) -> None:
    file = console.mirrord.file("Not read.md")
    save(file, "---\ntitle: [oops\n---\ntext\n")
    reader = await person()
    await look_at(reader, "status")
    card = reader.page.get_by_role("region", name="Files with problems").get_by_role("listitem")
    await expect(card.filter(has_text="Not read.md")).to_contain_text(REMEDIES["front-matter"], timeout=PATIENCE)
    await expect(reader.page.locator(".standing").first).to_contain_text("with problems", timeout=PATIENCE)
    await card.filter(has_text="Not read.md").get_by_role("link", name="Open the page").click()
    await expect(reader.page.get_by_role("alert")).to_contain_text("in the Markdown view", timeout=PATIENCE)
    await look_at(reader, "status")
    await expect(card.filter(has_text="Not read.md")).to_be_visible(timeout=PATIENCE)
    save(file, "---\ntitle: mended\n---\ntext\n")

    await expect(card.filter(has_text="Not read.md")).to_have_count(0, timeout=PATIENCE)


async def test_events_lead_to_their_pages_and_change_sets_are_listed_by_author(
    console: Console, person: NewPerson
) -> None:
    for name in ("first", "second"):
        environment = {"MIRRORD_TOKEN": console.mirrord.create_token(name)}
        async with on_stdio(process(console.mirrord.mirror, environment)) as agent:
            await agent.call("create_page", title=f"Of {name}", content=f"by {name}\n")
    reader = await person()
    await look_at(reader, "status")
    events = reader.page.get_by_role("region", name="Recent events")
    await events.get_by_role("link", name="Of second.md").first.click()
    await reader.sees("by second")
    await look_at(reader, "review")
    await reader.page.get_by_label("Changed by").select_option(label="agent first")
    lists = reader.page.locator("#content")
    await expect(lists).to_contain_text("agent first", timeout=PATIENCE)
    await expect(lists.get_by_role("listitem").filter(has_text="agent second")).to_have_count(0)
    await reader.page.reload()

    await expect(lists.get_by_role("listitem").filter(has_text="agent second")).to_have_count(0)


async def test_what_an_agent_changed_is_read_where_it_is_undone(console: Console, person: NewPerson) -> None:
    save(console.mirrord.file("Diary.md"), "first line\nsecond line\n")
    eventually(lambda: console.mirrord.page("Diary.md"), "the page")
    async with on_stdio(
        process(console.mirrord.mirror, {"MIRRORD_TOKEN": console.mirrord.create_token("diarist")})
    ) as agent:
        await agent.call("read_page", path="Diary.md")
        await agent.call("write_page", path="Diary.md", content="first line\nthird line\n")
        await agent.call("create_page", title="Annex", content="more\n")
    row_of(console.mirrord, "Annex.md")
    eventually(lambda: row_of(console.mirrord, "Diary.md").markdown == "first line\nthird line\n", "the agent's edit")
    reader = await person()
    await look_at(reader, "review?by=agent+diarist")
    card = reader.page.locator("#content").get_by_role("listitem").filter(has_text="agent diarist").first
    requested, answering = asyncio.Event(), asyncio.Event()

    async def hold(route: Route) -> None:
        requested.set()
        await answering.wait()
        await route.continue_()

    await expect(card).to_be_visible(timeout=PATIENCE)
    await reader.page.route("**/api/reviews", hold)
    await reader.page.evaluate(NEWS)
    await asyncio.wait_for(requested.wait(), PATIENCE / 1000)
    await card.get_by_text("What changed").click()
    await expect(card.locator(".removed").filter(has_text="second line")).to_be_visible(timeout=PATIENCE)
    answering.set()  # the list comes while its changes are read
    await reader.page.evaluate("fetch('/t/console/api/reviews').then((answer) => answer.json())")

    await expect(card.locator(".removed").filter(has_text="second line")).to_be_visible()
    await expect(card.locator(".added").filter(has_text="third line")).to_be_visible()
    await expect(card.get_by_role("link", name="Annex", exact=True)).to_be_visible()


async def operator(console: Console, browser: Browser) -> Person:
    """Somebody who sees all tenants, at the status of this one."""
    context = await browser.new_context()
    page = await context.new_page()
    await follow(page, console.mirrord.run("console", "link").stdout.strip())
    decider = Person(context, page, console.url, console.mirrord)
    await look_at(decider, "status")
    return decider


async def test_an_operator_pauses_a_tenant_and_everybody_sees_that_it_is_stopped(
    console: Console, browser: Browser, person: NewPerson
) -> None:
    decider = await operator(console, browser)
    await decider.page.get_by_role("button", name="Pause", exact=True).click()
    await expect(decider.page.locator(".standing").first).to_contain_text("stopped", timeout=PATIENCE)
    cards = decider.page.get_by_role("region", name="Files with problems").get_by_role("listitem")
    await expect(cards.filter(has_text="Sync is paused")).to_contain_text("choose Resume", timeout=PATIENCE)
    await expect(decider.page.locator("#content")).not_to_contain_text("/PAUSE")
    save(console.mirrord.file("During the pause.md"), "text\n")
    guest = await person()
    await look_at(guest, "status")
    await expect(guest.page.locator(".standing").first).to_contain_text("stopped", timeout=PATIENCE)
    await expect(guest.page.get_by_text(str(console.mirrord.root))).to_have_count(0)
    await expect(guest.page.get_by_text("Resume")).to_have_count(0)
    assert console.mirrord.page("During the pause.md") is None
    await decider.page.get_by_role("button", name="Resume").click()
    eventually(lambda: console.mirrord.page("During the pause.md"), "the page of the file from the pause")

    await expect(decider.page.locator(".standing").first).not_to_contain_text("stopped", timeout=PATIENCE)
    assert not console.mirrord.file("PAUSE").exists()
    await decider.context.close()


async def test_a_page_that_programs_change_back_and_forth_is_listed_with_its_history_and_no_command(
    console: Console, person: NewPerson, admin_dsn: str
) -> None:
    save(console.mirrord.file("Answered.md"), "one\n")
    row = row_of(console.mirrord, "Answered.md")
    with psycopg.connect(admin_dsn, autocommit=True) as database:
        database.execute(ANSWERING)
        save(console.mirrord.file("Answered.md"), "two\n")
        reader = await person()
        await look_at(reader, "status")
        card = reader.page.get_by_role("listitem").filter(has=reader.page.get_by_role("heading", name="Answered.md"))
        await expect(card).to_contain_text("Its history says who changes it.", timeout=PATIENCE)
        await expect(card).not_to_contain_text("mirrord")
        await card.get_by_role("link", name="Open its history").click()
        await reader.page.wait_for_url(f"**/p/{row.id}/history", timeout=PATIENCE)
        database.execute("DROP TRIGGER answer ON mirrord.page; DROP FUNCTION public.answer()")
    save(console.mirrord.file("Answered.md"), "three\n")
    listed = "SELECT FROM mirrord.problem WHERE code = 'livelock'"

    eventually(lambda: console.mirrord.app.execute(listed).fetchone() is None, "the page to go on with a new text")


async def test_an_operator_settles_which_files_stay_out_and_overwrites_no_other_text(
    console: Console, browser: Browser
) -> None:
    patterns = console.mirrord.file(".mirrorignore")
    before = patterns.read_text()
    decider = await operator(console, browser)
    field = decider.page.get_by_role("textbox", name="Files that stay out")
    await expect(field).to_have_value(before, timeout=PATIENCE)
    await field.fill("!\n")
    await decider.page.get_by_role("button", name="Save", exact=True).click()
    await expect(decider.page.locator("#told")).to_contain_text("cannot be understood", timeout=PATIENCE)
    assert patterns.read_text() == before
    await field.fill("Kept out*\n")
    await decider.page.get_by_role("button", name="Save", exact=True).click()
    await expect(decider.page.locator("#told")).to_contain_text("Saved", timeout=PATIENCE)
    assert patterns.read_text() == "Kept out*\n"
    save(console.mirrord.file("Kept out.md"), "text\n")
    save(console.mirrord.file("Taken in.md"), "text\n")
    eventually(lambda: console.mirrord.page("Taken in.md"), "the other file to be a page")
    assert console.mirrord.page("Kept out.md") is None
    save(patterns, "*.bak\n")
    await field.fill("Kept out*\n*.tmp\n")
    await decider.page.get_by_role("button", name="Save", exact=True).click()
    await expect(decider.page.get_by_role("alert").filter(has_text="changed meanwhile")).to_be_visible(timeout=PATIENCE)
    assert patterns.read_text() == "*.bak\n"
    await decider.page.get_by_role("button", name="Save", exact=True).click()
    eventually(lambda: patterns.read_text() == "Kept out*\n*.tmp\n", "the patterns after both were seen")

    save(patterns, before)
    console.mirrord.file("Kept out.md").unlink()
    await decider.context.close()
