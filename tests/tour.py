"""
`python -m tests.tour VAULT INTO`: a day of a person in the console over a copy of a vault, step by step in Chromium.

Each step leaves a screenshot in the directory INTO, for people to look at. What the console's scripts complain about
ends the tour with an exit code other than 0.
"""

import asyncio
import re
import shutil
import sys
import tempfile
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path

from playwright.async_api import Browser, Locator, async_playwright, expect

from mirrord.web.console_server import last_url
from tests.console import chromium
from tests.console.bundle import built
from tests.console.people import PATIENCE, Person, follow, link_of, ready, row_of
from tests.support.clients import on_stdio, process
from tests.support.editors import save
from tests.support.harness import Mirrord, eventually
from tests.support.rows import Page as Row

IMPORT_SECONDS = 300.0
WIDE, DESK, PHONE = (2560, 1200), (1280, 900), (390, 800)  # pixels
NOTE = "Plan of the garden"
TABLE = "| tool | place |\n|:--|--:|\n| spade | shed |\n"
PASTED = f"## Tools\n\n{TABLE}\n> [!tip] Water\n> in the evening\n\n$$\na^2 + b^2\n$$\n"
PASTE = """text => {
  const clipboardData = new DataTransfer()
  clipboardData.setData('text/plain', text)
  document.querySelector('.prose').dispatchEvent(
    new ClipboardEvent('paste', { bubbles: true, cancelable: true, clipboardData }))
}"""


@dataclass(slots=True)
class Tour:
    """A person on the way. into: where the screenshots are left. landmark: a page of the vault with many headings."""

    person: Person
    into: Path
    landmark: str
    screenshots: list[str] = field(default_factory=list)

    @property
    def mirrord(self) -> Mirrord:
        """The daemon."""
        return self.person.mirrord

    @property
    def word(self) -> str:
        """A word of the name of the landmark."""
        return str(re.findall(r"\w+", Path(self.landmark).stem)[-1]).lower()

    async def shoot(self, name: str) -> None:
        """Leave a picture of the window as it is."""
        file = f"{len(self.screenshots) + 1:02}-{name}.png"
        await self.person.page.screenshot(path=self.into / file, caret="initial")
        self.screenshots.append(file)

    async def look_at(self, view: str) -> None:
        """Open a view, and wait until it shows what it is about."""
        await self.person.page.goto(f"{self.person.url}/t/{self.mirrord.tenant}/{view}")
        await ready(self.person)
        await expect(self.person.page.locator(".waiting").filter(visible=True)).to_have_count(0, timeout=PATIENCE)

    async def open(self, path: str) -> None:
        """Open a page of the vault."""
        await self.person.open(path)
        await ready(self.person)

    async def dress(self, size: tuple[int, int], scheme: str = "light") -> None:
        """Change the window's size and colours."""
        await self.person.page.set_viewport_size({"width": size[0], "height": size[1]})
        await self.person.page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")

    def button(self, name: str) -> Locator:
        """A button of this name."""
        return self.person.page.get_by_role("button", name=name, exact=True).first


async def arrive(tour: Tour) -> None:
    await tour.look_at("")
    await tour.shoot("home")
    await tour.dress(WIDE)
    await tour.shoot("home-wide")
    await tour.dress(DESK)


def is_found(tour: Tour) -> bool:
    """Whether a search for its word finds the landmark: the pages of an import are indexed after it."""
    landmark = tour.mirrord.page(tour.landmark)
    rows = tour.mirrord.app.execute("SELECT page_id FROM mirrord.search(%s, 100, 0)", (tour.word,)).fetchall()
    return landmark is not None and (landmark.id,) in rows


async def find(tour: Tour) -> None:
    page = tour.person.page
    await page.keyboard.press("Control+p")
    await expect(page.get_by_role("option").first).to_be_visible(timeout=PATIENCE)
    await tour.shoot("switcher")
    eventually(lambda: is_found(tour), "the word in the index", IMPORT_SECONDS)
    await page.keyboard.type(tour.word)
    await expect(page.get_by_role("option").first).to_contain_text(tour.word, ignore_case=True, timeout=PATIENCE)
    await tour.shoot("switcher-with-letters")
    await page.keyboard.press("Escape")
    await tour.look_at(f"search?q={tour.word}")
    await expect(page.locator(".results li").first).to_be_visible(timeout=PATIENCE)
    await tour.shoot("search")
    await page.get_by_text("How to search").click()
    await tour.shoot("search-help")
    await tour.look_at("tags")
    await tour.shoot("tags")


async def read(tour: Tour) -> None:
    page = tour.person.page
    await tour.open(tour.landmark)
    await tour.shoot("page")
    await tour.dress(WIDE, "dark")
    await tour.shoot("page-wide-dark")
    await tour.dress(DESK)
    await page.locator("#outline a").nth(1).click()
    await tour.shoot("page-at-a-heading")
    await page.get_by_role("button", name="Star", exact=True).click()
    await tour.shoot("page-starred")


async def write(tour: Tour) -> None:
    page = tour.person.page
    await tour.look_at("")
    await tour.button("Create a page").click()
    await page.get_by_role("textbox", name="Title of the new page").fill(NOTE)
    await tour.shoot("new-page-dialog")
    await page.keyboard.press("Enter")
    await expect(page.locator("#title")).to_have_text(NOTE, timeout=PATIENCE)
    await expect(tour.person.text).to_be_focused(timeout=PATIENCE)
    await tour.shoot("new-page")
    await page.keyboard.type("What grows where, and when.\n/table")
    await expect(page.get_by_role("option").first).to_be_visible(timeout=PATIENCE)
    await tour.shoot("slash-menu")
    await page.keyboard.press("Enter")
    await page.keyboard.type("bed")
    await page.keyboard.press("Tab")
    await page.keyboard.type("crop")
    await tour.shoot("table")


async def format_words(tour: Tour) -> None:
    page = tour.person.page
    words = tour.person.text.get_by_text("What grows where, and when.")
    await words.dblclick(position={"x": 20, "y": 10})
    await expect(page.get_by_role("group", name="Format the selected words")).to_be_visible(timeout=PATIENCE)
    await tour.shoot("selection-bar")
    await page.keyboard.press("Control+k")
    await tour.shoot("link-fields")
    await page.keyboard.press("Escape")
    await words.click()
    await page.keyboard.press("End")
    await page.keyboard.type(" See [[")
    await expect(page.get_by_role("option").first).to_be_visible(timeout=PATIENCE)
    await tour.shoot("link-completion")
    await page.keyboard.press("Enter")
    await page.keyboard.press("Enter")
    await page.evaluate(PASTE, PASTED)
    await tour.person.sees("in the evening")
    await tour.shoot("pasted-markdown")


async def point(tour: Tour) -> None:
    page = tour.person.page
    await tour.person.is_told("saved")
    await page.reload()
    await ready(tour.person)
    await tour.person.sees("in the evening")
    await tour.person.text.locator(".wikilink").first.hover()
    await expect(page.get_by_role("tooltip")).to_be_visible(timeout=PATIENCE)
    await tour.shoot("card-of-a-link")
    await tour.person.text.locator(".math").first.click()
    await tour.shoot("fields-of-a-formula")


async def describe(tour: Tour) -> None:
    page = tour.person.page
    await page.evaluate("scrollTo(0, 0)")
    for name, words in (("+ Add a tag", "garden"), ("+ Add a property", "status")):
        await tour.button(name).click()
        await page.keyboard.type(words)
        await tour.shoot(f"dialog-{words}")
        await page.keyboard.press("Enter")
        await expect(page.locator("#properties")).to_contain_text(words, timeout=PATIENCE)
    await page.keyboard.press("Escape")
    await tour.button("Icon").click()
    await tour.shoot("dialog-icon")
    await page.keyboard.press("Escape")
    await tour.button("Rename").click()
    await tour.shoot("dialog-rename")
    await page.keyboard.press("Escape")
    await tour.button("Move to…").click()
    await page.get_by_role("searchbox", name="Find a page or folder").fill(tour.word)
    place = page.get_by_role("dialog").get_by_role("button").first
    await expect(place).to_contain_text(tour.word, ignore_case=True, timeout=PATIENCE)
    await tour.shoot("dialog-move")
    await tour.button("Cancel").click()


async def look_at_source(tour: Tour) -> None:
    page = tour.person.page
    await tour.button("Markdown").click()
    await expect(page.locator("#source")).to_be_visible(timeout=PATIENCE)
    await tour.shoot("markdown-view")
    await tour.button("Editor").click()
    await tour.person.sees("in the evening")
    await tour.look_at("")
    await tour.button("Today’s note").click()
    await expect(tour.person.text).to_be_visible(timeout=PATIENCE)
    await tour.shoot("note-of-the-day")


async def meet_others(tour: Tour) -> None:
    file = tour.mirrord.file(f"{NOTE}.md")
    eventually(lambda: file.exists() and "in the evening" in file.read_text(encoding="utf-8"), "the note in its file")
    save(file, file.read_text(encoding="utf-8").replace("in the evening", "in the morning"))
    environment = {"MIRRORD_TOKEN": tour.mirrord.create_token("gardener")}
    async with on_stdio(process(tour.mirrord.mirror, environment)) as agent:
        await agent.call("create_page", title="Weeds", content="# Weeds\n\nMany, and **all** of them green.\n")
    row_of(tour.mirrord, "Weeds.md")
    await tour.look_at("")
    await tour.shoot("home-with-changes-of-others")


def edited_row(mirrord: Mirrord) -> Row | None:
    """The row of the note, once it has what was edited in its file."""
    row = mirrord.page(f"{NOTE}.md")
    return row if row is not None and "in the morning" in (row.markdown or "") else None


async def go_back_in_time(tour: Tour) -> None:
    page = tour.person.page
    row = eventually(lambda: edited_row(tour.mirrord), "the edit in the row")
    await tour.look_at(f"p/{row.id}/history")
    await tour.shoot("history")
    await page.locator(".versions [data-version]").nth(1).click()
    await page.get_by_label("Compare with").select_option(label="the page as it is now")
    await expect(page.get_by_role("button", name="Restore block 1")).to_be_visible(timeout=PATIENCE)
    await tour.shoot("history-blocks")
    await tour.button("As it reads").click()
    await expect(page.locator("#shown .rendered").first).to_be_visible(timeout=PATIENCE)
    await tour.shoot("history-as-it-reads")


async def operate(tour: Tour) -> None:
    page = tour.person.page
    save(tour.mirrord.file("Broken.md"), "---\ntitle: [oops\n---\ntext\n")
    for view in ("status", "review", "attention"):
        await tour.look_at(view)
        if view == "review":
            await page.locator(".changed summary").first.click()
            await expect(page.locator(".changed .entry").first).to_be_visible(timeout=PATIENCE)
        else:
            await expect(page.get_by_text("Broken.md").first).to_be_visible(timeout=PATIENCE)
        await tour.shoot(view)


async def delete(tour: Tour) -> None:
    page = tour.person.page
    await tour.open("Weeds.md")
    await tour.button("Delete").click()
    await tour.shoot("dialog-delete")
    await page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    await expect(page.locator("[data-view=trash] h1")).to_have_text("Trash", timeout=PATIENCE)
    await expect(page.get_by_text("Weeds").first).to_be_visible(timeout=PATIENCE)
    await tour.shoot("trash")
    await page.goto(f"{tour.person.url}/t/{tour.mirrord.tenant}/p/00000000-0000-4000-8000-000000000000")
    await tour.shoot("no-such-page")


async def go_out(tour: Tour) -> None:
    page = tour.person.page
    await tour.dress(PHONE)
    await tour.look_at("")
    await tour.shoot("telephone-home")
    await tour.open(tour.landmark)
    await tour.shoot("telephone-page")
    await page.get_by_role("button", name="Menu").click()
    await tour.shoot("telephone-menu")
    await page.keyboard.press("Escape")
    await page.locator("#fold").click()
    await tour.shoot("telephone-sidebar")
    await page.locator("#fold").click()
    await tour.dress(PHONE, "dark")
    await tour.shoot("telephone-page-dark")


STEPS: tuple[Callable[[Tour], Awaitable[None]], ...] = (
    *(arrive, find, read, write, format_words, point, describe, look_at_source, meet_others, go_back_in_time),
    *(operate, delete, go_out),
)


async def walk(mirrord: Mirrord, into: Path, browser: Browser) -> list[str]:
    """All steps; what the scripts of the console complained about."""
    url = eventually(lambda: last_url(mirrord.data), "the console's address")
    landmark = max((file for file in mirrord.root.rglob("*.md")), key=lambda file: file.read_bytes().count(b"\n## "))
    context = await browser.new_context(viewport={"width": DESK[0], "height": DESK[1]}, service_workers="block")
    page = await context.new_page()
    await page.goto(f"{url}/sign-in")
    tour = Tour(Person(context, page, url, mirrord), into, str(landmark.relative_to(mirrord.root)))
    await tour.shoot("sign-in")
    await follow(page, link_of(mirrord))
    for step in STEPS:
        print(step.__name__, flush=True)
        await step(tour)
    print(f"{len(tour.screenshots)} screenshots are in {into}")
    return tour.person.errors


async def main(vault: Path, into: Path) -> int:
    """Start a daemon over a copy of *vault*, and walk. Returns the exit code."""
    built()
    into.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as directory, Mirrord(Path(directory), tenant="garden") as mirrord:
        shutil.copytree(vault, mirrord.root)
        mirrord.start("--console", "0")
        mirrord.wait_ready(IMPORT_SECONDS)
        mirrord.flush(IMPORT_SECONDS)
        async with async_playwright() as playwright:
            browser = await playwright.chromium.launch(executable_path=chromium.PROGRAM, args=chromium.arguments())
            complaints = await walk(mirrord, into, browser)
    for complaint in complaints:
        print(complaint, file=sys.stderr)
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(asyncio.run(main(Path(sys.argv[1]), Path(sys.argv[2]))))
