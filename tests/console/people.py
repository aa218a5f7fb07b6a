"""People in front of the console: a browser each, signed in, with a page open."""

import asyncio
import re
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from uuid import UUID

from playwright.async_api import BrowserContext, Locator, Page, expect

from tests.support.harness import Awaited, Mirrord, eventually
from tests.support.rows import Page as Row

PATIENCE = 60_000  # ms; generous, as that of tests.support.harness

# A file that comes from the clipboard or by drop, as browsers give it: name, type and bytes.
BRING = """([event, name, type, bytes]) => {
  const data = new DataTransfer()
  data.items.add(new File([new Uint8Array(bytes)], name, { type }))
  const text = document.querySelector('#page [role=textbox]')
  const { left, top } = text.firstElementChild.getBoundingClientRect()
  const place = { bubbles: true, cancelable: true, clientX: left + 5, clientY: top + 5 }
  text.dispatchEvent(event === 'paste'
    ? new ClipboardEvent('paste', { ...place, clipboardData: data })
    : new DragEvent('drop', { ...place, dataTransfer: data }))
}"""


# Whether links find a page by its name, its own links were followed, and its words are in the index of searches.
IS_FOLLOWED = """
SELECT EXISTS (SELECT FROM mirrord.link_name WHERE entry_id = %(page)s)
   AND NOT EXISTS (SELECT FROM mirrord.page_link WHERE source_id = %(page)s AND due)
   AND NOT EXISTS (SELECT FROM mirrord.search_due WHERE page_id = %(page)s)"""


def document_of(mirrord: Mirrord, path: str) -> Row:
    """The row of a page, as soon as it has its document; links and searches find it a moment later."""

    def derived() -> Row | None:
        row = mirrord.page(path)
        return row if row is not None and row.content is not None else None

    return eventually(derived, f"the document of {path}")


def row_of(mirrord: Mirrord, path: str) -> Row:
    """The row of a page, as soon as it has its document, and links and searches find it."""

    def followed() -> Row | None:
        row = document_of(mirrord, path)
        answer = mirrord.app.execute(IS_FOLLOWED, {"page": row.id}).fetchone()
        return row if answer is not None and answer[0] else None

    return eventually(followed, f"links and searches that find {path}")


@dataclass(slots=True)
class Person:
    """Somebody at a browser. errors: what its programs complained about, and what its policy refused."""

    context: BrowserContext
    page: Page
    url: str
    mirrord: Mirrord
    errors: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.on("console", lambda message: self.errors.append(message.text) if "Policy" in message.text else None)

    async def open(self, path: str) -> UUID:
        """Open a page of the tree in the editor; its id."""
        row = row_of(self.mirrord, path)
        await self.page.goto(f"{self.url}/t/{self.mirrord.tenant}/p/{row.id}")
        await expect(self.text).to_be_visible(timeout=PATIENCE)
        return row.id

    @property
    def text(self) -> Locator:
        """What is typed in."""
        return self.page.get_by_role("textbox", name="Text of the page")

    async def after(self, words: str) -> None:
        """Click behind a paragraph that has these words."""
        await self.text.locator("p, h1, h2, h3").filter(has_text=words).first.click()
        await self.page.keyboard.press("End")

    async def type(self, words: str) -> None:
        """Type where the cursor is."""
        await self.page.keyboard.type(words)

    async def press(self, *keys: str) -> None:
        """Press keys one after the other."""
        for key in keys:
            await self.page.keyboard.press(key)

    async def choose(self, label: str) -> None:
        """Take what a menu offers first, which is to be this."""
        await expect(self.page.get_by_role("option").first).to_contain_text(label, timeout=PATIENCE)
        await self.page.keyboard.press("Enter")

    async def sees(self, words: str, seconds: float = PATIENCE / 1000) -> None:
        """Wait until these words are in the text."""
        await expect(self.text).to_contain_text(words, timeout=seconds * 1000)

    async def is_told(self, state: str) -> None:
        """Wait until the page says how saving stands: `saved`, `offline` or `clash`."""
        await expect(self.page.locator("#save-state")).to_have_attribute("data-state", state, timeout=PATIENCE)

    async def die(self) -> None:
        """Let the page end without notice, once the browser has kept what is typed; then open another window."""
        await expect(self.page.locator("#save-state")).to_contain_text("kept in this browser", timeout=PATIENCE)
        session = await self.context.new_cdp_session(self.page)
        async with self.page.expect_event("crash", timeout=PATIENCE):
            dying = asyncio.ensure_future(session.send("Page.crash"))
        dying.cancel()
        await self.page.close()
        self.page = await self.context.new_page()

    async def bring(self, event: str, name: str, kind: str, data: bytes) -> None:
        """Let a file come by `paste` or `drop`."""
        await self.page.evaluate(BRING, [event, name, kind, list(data)])


async def ready(somebody: Person) -> None:
    """Wait until the page answers to what is pressed."""
    await expect(somebody.page.locator("body")).to_have_attribute("data-ready", "yes", timeout=PATIENCE)


def entry(somebody: Person, title: str) -> Locator:
    """A page in the sidebar."""
    return somebody.page.locator("#tree li").filter(has=somebody.page.get_by_role("link", name=title, exact=True)).last


def becomes(file: Path, text: str) -> None:
    """Wait until a file holds this text; the difference fails the test."""
    with suppress(Awaited):
        eventually(lambda: file.read_text(encoding="utf-8") == text, str(file))
    assert (content := file.read_text(encoding="utf-8")) == text, f"{file.name} holds {content!r}, not {text!r}"


def line_changed(before: str, after: str) -> tuple[list[str], list[str]]:
    """The lines that are in one text only."""
    old, new = before.split("\n"), after.split("\n")
    return [line for line in old if line not in new], [line for line in new if line not in old]


async def follow(page: Page, link: str) -> None:
    """Sign in with *link*: its page sends the form by itself."""
    await page.goto(link, wait_until="commit")
    await page.wait_for_url(lambda url: "/sign-in" not in url, timeout=PATIENCE)


def link_of(mirrord: Mirrord) -> str:
    """A link that lets somebody into the tenant's console."""
    completed = mirrord.run("console", "link", "--tenant", mirrord.tenant)
    assert completed.returncode == 0, completed.stderr
    match = re.search(r"http\S+", completed.stdout)
    assert match is not None
    return match[0]
