"""A person reviews in the console while others change the same pages: what is shown is what happens, or nothing."""

import pytest
from playwright.async_api import Browser, Locator, Page, expect

from tests.console.conftest import Console
from tests.console.people import PATIENCE, Person, follow
from tests.console.test_review import picture
from tests.support.clients import on_stdio, process
from tests.support.harness import eventually

pytestmark = pytest.mark.asyncio(loop_scope="session")

TEXT = "# Plot\n\nfirst\n\nsecond\n\nthird\n"
COMMENT = "Comment for the agent"


@pytest.fixture(scope="module")
def token(console: Console) -> str:
    """A token of an agent whose changes a person reviews; commands run outside the loop of a test."""
    return console.mirrord.create_token("surveyor", "--review")


@pytest.fixture
def link(console: Console) -> str:
    """A link for a person who may decide."""
    return console.mirrord.run("console", "link").stdout.strip()


async def propose(console: Console, token: str, page: str) -> str:
    """Let an agent edit two places of a page; the id of the change set."""
    async with on_stdio(process(console.mirrord.mirror, {"MIRRORD_TOKEN": token}, "--tools", "pages,changes")) as agent:
        edits = [{"find": "first", "replace": "the first"}, {"find": "third", "replace": "the third"}]
        await agent.call("edit_page", path=page, edits=edits)
        return str((await agent.call("apply_changes", message=f"Two places of {page}"))["changeSet"])


async def reviewer(console: Console, browser: Browser, link: str, change_set: str) -> Person:
    """A person who looks at a change set."""
    context = await browser.new_context()
    page = await context.new_page()
    await follow(page, link)
    await page.goto(f"{console.url}/t/{console.mirrord.tenant}/review?change={change_set}")
    return Person(context, page, console.url, console.mirrord)


def card_of(page: Page, name: str) -> Locator:
    return page.locator(".card").filter(has_text=f"Edited: {name}")


async def accept(page: Page, comment: str = "") -> None:
    await page.get_by_role("button", name="Accept what is ticked").click()
    await page.get_by_role("textbox", name=COMMENT).fill(comment)
    await page.get_by_role("dialog").get_by_role("button", name="Accept").click()


async def test_what_changed_meanwhile_is_shown_with_what_the_person_had_chosen(
    console: Console, browser: Browser, token: str, link: str
) -> None:
    file = console.mirrord.file("Plot.md")
    file.write_text(TEXT, encoding="utf-8")
    person = await reviewer(console, browser, link, await propose(console, token, "Plot.md"))
    page, plot = person.page, card_of(person.page, "Plot.md")
    await expect(plot.get_by_label("Block 2")).to_be_visible(timeout=PATIENCE)
    file.write_text(TEXT.replace("second", "another person's"), encoding="utf-8")
    await accept(page)

    await expect(page.get_by_text("This change set is another one now")).to_be_visible(timeout=PATIENCE)
    await expect(plot.get_by_label("Now", exact=True)).to_contain_text("another person's", timeout=PATIENCE)
    await expect(plot.get_by_text("others changed it too")).to_be_visible()
    await picture(person, "review-merged")
    assert file.read_text(encoding="utf-8") == TEXT.replace("second", "another person's")
    await accept(page)
    merged = "# Plot\n\nthe first\n\nanother person's\n\nthe third\n"
    eventually(lambda: file.read_text(encoding="utf-8") == merged, "the merged text")
    assert person.errors == []
    await person.context.close()


async def test_a_page_that_clashes_is_named_and_a_text_of_the_person_ends_the_clash(
    console: Console, browser: Browser, token: str, link: str
) -> None:
    file = console.mirrord.file("Patch.md")
    file.write_text(TEXT, encoding="utf-8")
    person = await reviewer(console, browser, link, await propose(console, token, "Patch.md"))
    page, patch = person.page, card_of(person.page, "Patch.md")
    await expect(patch.get_by_label("Block 2")).to_be_visible(timeout=PATIENCE)
    theirs = TEXT.replace("first", "another person's")
    file.write_text(theirs, encoding="utf-8")
    await page.reload()

    clash = patch.get_by_text("This page cannot be applied: it was changed in the tree since, in the same lines")
    await expect(clash).to_be_visible(timeout=PATIENCE)
    await expect(patch.get_by_label("Now", exact=True)).to_contain_text("another person's", timeout=PATIENCE)
    await expect(patch.get_by_label("As proposed", exact=True)).to_contain_text("the first")
    await picture(person, "review-clash")
    await accept(page)
    await expect(page.get_by_text("Nothing was accepted: Patch.md was changed")).to_be_visible(timeout=PATIENCE)
    assert file.read_text(encoding="utf-8") == theirs

    await patch.get_by_text("Edit before accepting").click()
    await patch.get_by_role("textbox", name="Text of Patch.md").fill("# Patch\n\nboth\n")
    await patch.get_by_role("button", name="Use this text").click()
    await expect(patch.get_by_text("with your text")).to_be_visible(timeout=PATIENCE)
    await expect(clash).to_have_count(0)
    await accept(page)
    eventually(lambda: file.read_text(encoding="utf-8") == "# Patch\n\nboth\n", "the person's text")
    assert person.errors == []
    await person.context.close()


async def test_every_kind_of_change_is_shown_and_links_belong_to_their_move(
    console: Console, browser: Browser, token: str, link: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    mirrord = console.mirrord
    mirrord.file("Shed.md").write_text("# Shed\n\nSee [the tools](Tools.md).\n", encoding="utf-8")
    mirrord.file("Tools.md").write_text("# Tools\n\nspade\n", encoding="utf-8")
    mirrord.file("Rust.md").write_text("# Rust\n\nold\n", encoding="utf-8")
    sets = ("--tools", "pages,changes,attachments")
    async with on_stdio(process(mirrord.mirror, {"MIRRORD_TOKEN": token}, *sets)) as agent:
        await agent.call("begin_changes", title="Tidy the shed")
        await agent.call("move_page", sourcePath="Tools.md", destinationPath="Barn/Tools.md")
        await agent.call("delete_page", path="Rust.md")
        await agent.call("write_page", path="Barn/Rack/Rake.md", content="new\n")
        await agent.call("add_attachment", pagePath="Shed.md", base64="AAEC/w==", fileName="plan.bin")
        change_set = str((await agent.call("apply_changes", message="Tidied"))["changeSet"])
    person = await reviewer(console, browser, link, change_set)
    page = person.page
    for kind in ("Moved: Barn/Tools.md", "Deleted: Rust.md", "New: Barn/Rack/Rake.md", "Edited: Shed.md"):
        await expect(page.locator(".card").filter(has_text=kind)).to_be_visible(timeout=PATIENCE)
    plan = page.locator(".card").filter(has_text="New: assets/plan.bin")
    await expect(plan.get_by_text("It is no text that could be shown")).to_be_visible(timeout=PATIENCE)
    await expect(card_of(page, "Shed.md").get_by_text("its links follow Barn/Tools.md")).to_be_visible()
    await picture(person, "review-kinds")
    await page.locator(".card").filter(has_text="Moved: Barn/Tools.md").get_by_label("Accept this page").uncheck()
    await accept(page)
    await expect(page.get_by_text("They belong together")).to_be_visible(timeout=PATIENCE)
    await picture(person, "review-together")
    assert mirrord.text("Tools.md") is not None

    await card_of(page, "Shed.md").get_by_label("Accept this page").uncheck()
    await accept(page, "Leave the tools where they are")
    eventually(lambda: mirrord.text("Barn/Rack/Rake.md"), "the page in the new folder")
    eventually(lambda: mirrord.text("Rust.md") is None, "the deleted page to go")
    assert mirrord.text("Tools.md") == "# Tools\n\nspade\n"
    assert mirrord.text("Shed.md") == "# Shed\n\nSee [the tools](Tools.md).\n"
    assert person.errors == []
    await person.context.close()
