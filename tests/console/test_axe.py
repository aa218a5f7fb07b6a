"""Every view, in both themes and three widths, has no finding of axe, serious or not, and no sideways scroll."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
import pytest
from playwright.async_api import Browser, Page, expect

from mirrord.db import tenant_rows
from mirrord.db.database import Database, daemon_dsn
from tests.console.conftest import Console, NewPerson
from tests.console.judging import judge, with_axe
from tests.console.people import PATIENCE, Person, follow, ready, row_of
from tests.support.editors import save

pytestmark = pytest.mark.asyncio(loop_scope="session")

VIEWS = (
    "",
    "p/{page}",
    "p/{folder}",
    "p/{page}/history",
    "search?q=text",
    "tags",
    "trash",
    "attention",
    "review",
    "status",
)
_REQUEST = """
INSERT INTO mirrord.approval (id, mirror_id, command, arguments, arguments_digest, actor, preview, level, expires_at)
VALUES (gen_random_uuid(), gen_random_uuid(), 'delete_page', '{}', 'x', '{"kind": "agent", "name": "a"}',
        '{"summary": "A page would be deleted.", "lines": ["-text"]}', 'REQUIRE', now() + interval '1 day')
RETURNING id"""
HEAD = "---\ntags: [garden]\nstatus: draft\n---\n"
PAGE = HEAD + "# One\n\n- [ ] a task\n\n## Two\n\n> [!note]- Folded\n> text\n\n| a | b |\n|:--|--:|\n| 1 | 2 |\n"


@pytest.mark.parametrize("view", VIEWS)
async def test_axe_finds_nothing_in_any_theme_and_width(console: Console, person: NewPerson, view: str) -> None:
    save(console.mirrord.file("Judged/By axe.md"), PAGE)
    page = row_of(console.mirrord, "Judged/By axe.md")
    reader = await person(bypass_csp=True)
    await reader.page.goto(f"{console.url}/t/console/{view.format(page=page.id, folder=page.parent_id)}")
    await ready(reader)
    await expect(reader.page.locator(".waiting").filter(visible=True)).to_have_count(0, timeout=PATIENCE)
    await with_axe(reader.page)
    await judge(reader.page)


@pytest.mark.parametrize("where", ["/", "/t/console/status", "/t/console/attention"])
async def test_axe_finds_nothing_in_what_only_operators_see(
    console: Console, browser: Browser, admin_dsn: str, where: str
) -> None:
    async with Database(admin_dsn, size=1) as database:
        await tenant_rows.ensure_tenant(database, "quiet")  # with one tenant there is no list of them
    context = await browser.new_context(bypass_csp=True)
    page = await context.new_page()
    await page.goto(f"{console.url}/sign-in")
    await with_axe(page)
    await judge(page)
    await follow(page, console.mirrord.run("console", "link").stdout.strip())
    decider = Person(context, page, console.url, console.mirrord)
    if where == "/t/console/status":
        await prepare_status(decider)
    with waiting_request(admin_dsn, console.mirrord.tenant):
        await open_view(page, f"{console.url}{where}")
        await with_axe(page)
        await page.evaluate("document.querySelectorAll('details').forEach(details => (details.open = true))")
        await judge(page)
    await context.close()


async def open_view(page: Page, address: str) -> None:
    """Open a view, of which the list of tenants appears some seconds after there are two."""
    async with asyncio.timeout(PATIENCE / 1000):
        while True:
            await page.goto(address)
            await expect(page.locator("body")).to_have_attribute("data-ready", "yes", timeout=PATIENCE)
            await expect(page.locator(".waiting").filter(visible=True)).to_have_count(0, timeout=PATIENCE)
            if address == page.url or await page.locator(".tenants").count():
                return


async def prepare_status(decider: Person) -> None:
    """Let there be a backup and a token."""
    await open_view(decider.page, f"{decider.url}/t/console/status")
    await decider.page.get_by_role("button", name="Make a backup now").click()
    backups = decider.page.get_by_role("region", name="Backups")
    await expect(backups.get_by_role("status")).to_contain_text("is complete", timeout=PATIENCE)
    decider.mirrord.create_token("judged")


@contextmanager
def waiting_request(dsn: str, tenant: str) -> Iterator[None]:
    """A request waits meanwhile, beside one that was rejected; it is rejected, too, afterwards."""
    with psycopg.connect(daemon_dsn(dsn), autocommit=True) as connection:
        connection.execute(
            "SELECT set_config('mirrord.tenant', id::text, false) FROM mirrord.tenant WHERE name = %s", [tenant]
        )
        requests = [connection.execute(_REQUEST.encode()).fetchone() for _ in range(2)]
        connection.execute("SELECT mirrord.reject(%s, 'not now')", requests[0])
        yield
        connection.execute("SELECT mirrord.reject(%s, 'not now')", requests[1])
