"""What a link leads to is seen before it is followed, as a person reads it: in cards and in embedded pages."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
import pytest
from playwright.async_api import Route, expect

from mirrord.db.database import daemon_dsn
from tests.console.conftest import Console, NewPerson
from tests.console.people import PATIENCE, document_of, ready, row_of
from tests.support.editors import save

pytestmark = pytest.mark.asyncio(loop_scope="session")

PART = "## Part\n\n**bold** words and [[Elsewhere|a link]]\n\n- [ ] a task\n\n<b>no element</b>\n\n"
PAGE = f"above\n\n{PART}## Next\n\nlast\n"


async def test_a_card_shows_the_part_that_a_link_names_as_it_reads(console: Console, person: NewPerson) -> None:
    save(console.mirrord.file("Pointed at.md"), PAGE)
    save(console.mirrord.file("Pointing.md"), "see [[Pointed at#Part]]\n")
    row_of(console.mirrord, "Pointed at.md")
    reader = await person()
    await reader.open("Pointing.md")
    await ready(reader)
    await reader.text.get_by_role("link", name="Pointed at").hover()
    card = reader.page.get_by_role("tooltip")
    await expect(card.locator("strong")).to_have_text("bold", timeout=PATIENCE)
    await expect(card.get_by_role("checkbox")).to_be_visible()
    await expect(card).to_contain_text("<b>no element</b>")
    await expect(card).not_to_contain_text("**")
    await expect(card).not_to_contain_text("above")

    await expect(card).not_to_contain_text("last")


async def test_a_card_draws_formulas_and_shows_what_is_none_as_it_is_written(
    console: Console, person: NewPerson
) -> None:
    save(console.mirrord.file("With formulas.md"), "so $x^2$ and $\\nothing{$\n\n$$\n\\frac{1}{2}\n$$\n")
    save(console.mirrord.file("To formulas.md"), "see [[With formulas]]\n")
    row_of(console.mirrord, "With formulas.md")
    reader = await person()
    await reader.open("To formulas.md")
    await ready(reader)
    await reader.text.get_by_role("link", name="With formulas").hover()
    card = reader.page.get_by_role("tooltip")

    await expect(card.locator("p math msup")).to_have_count(1, timeout=PATIENCE)
    await expect(card.locator("div > math[display=block] mfrac")).to_have_count(1)
    await expect(card.locator("p code")).to_have_text("\\nothing{")


async def test_an_embedded_page_is_shown_as_it_reads_and_pages_that_embed_each_other_end(
    console: Console, person: NewPerson
) -> None:
    save(console.mirrord.file("Embedded.md"), "**bold** beginning\n\n![[Embedding]]\n")
    save(console.mirrord.file("Embedding.md"), "here:\n\n![[Embedded]]\n")
    row_of(console.mirrord, "Embedded.md")
    reader = await person()
    await reader.open("Embedding.md")
    await ready(reader)

    await expect(reader.text.locator(".embed .beginning strong")).to_have_text("bold", timeout=PATIENCE)
    await expect(reader.text.locator(".embed")).to_have_count(1)


@contextmanager
def names_held(admin_dsn: str) -> Iterator[psycopg.Connection[Any]]:
    """Links do not follow what changes in here, until the transaction that is given ends."""
    named = "SELECT set_config('mirrord.tenant', id::text, false) FROM mirrord.tenant WHERE name = 'console'"
    with psycopg.connect(daemon_dsn(admin_dsn)) as following:
        following.execute("SET idle_in_transaction_session_timeout = 0")
        following.execute(named)
        following.execute("SELECT FROM mirrord.link_cursor FOR UPDATE")
        yield following


async def test_a_page_is_shown_and_opened_by_its_links_before_its_names_are_followed(
    console: Console, person: NewPerson, admin_dsn: str
) -> None:
    save(console.mirrord.file("Linking early.md"), "see [[Found early]]\n\n![[Found early]]\n")
    row_of(console.mirrord, "Linking early.md")
    with names_held(admin_dsn):
        save(console.mirrord.file("Found early.md"), "**early** beginning\n")
        document_of(console.mirrord, "Found early.md")
        reader = await person()
        await reader.open("Linking early.md")
        await ready(reader)
        link = reader.text.get_by_role("link", name="Found early").first
        await link.hover()
        await expect(reader.text.locator(".embed .beginning strong")).to_have_text("early", timeout=PATIENCE)
        await expect(reader.page.get_by_role("tooltip").locator("strong")).to_have_text("early", timeout=PATIENCE)
        await link.click()
        await expect(reader.page.get_by_role("textbox", name="Title")).to_have_text("Found early", timeout=PATIENCE)


async def test_what_links_to_a_new_page_is_shown_as_soon_as_links_find_it(
    console: Console, person: NewPerson, admin_dsn: str
) -> None:
    save(console.mirrord.file("Linked early.md"), "see [[Named later]]\n")
    row_of(console.mirrord, "Linked early.md")
    source, target = await person(), await person()
    await source.open("Linked early.md")
    await ready(source)
    unresolved = source.text.locator(".unresolved")
    await expect(unresolved).to_have_count(1)
    with names_held(admin_dsn) as following:
        async with source.page.expect_response("**/unresolved"):
            save(console.mirrord.file("Named later.md"), "text\n")
            page = document_of(console.mirrord, "Named later.md").id
        await target.page.goto(f"{console.url}/t/console/p/{page}")
        await ready(target)
        await expect(unresolved).to_have_count(1)
        following.rollback()

    await expect(unresolved).to_have_count(0)
    await expect(target.page.locator("#backlinks").get_by_role("link", name="Linked early")).to_be_visible()


async def test_an_embedded_page_is_asked_for_again_if_the_server_was_busy(console: Console, person: NewPerson) -> None:
    save(console.mirrord.file("Shown late.md"), "**late** beginning\n")
    save(console.mirrord.file("Shows late.md"), "here:\n\n![[Shown late]]\n")
    row_of(console.mirrord, "Shown late.md")
    row_of(console.mirrord, "Shows late.md")
    reader = await person()
    refused = list[str]()

    async def refuse_once(route: Route) -> None:
        refused.append(route.request.url)
        if len(refused) == 1:
            await route.fulfill(status=503, body="{}")
        else:
            await route.continue_()

    await reader.page.route("**/api/preview?*", refuse_once)
    await reader.open("Shows late.md")
    await ready(reader)

    await expect(reader.text.locator(".embed .beginning strong")).to_have_text("late", timeout=PATIENCE)
    assert len(refused) == 2


async def test_siblings_of_one_title_have_their_names_in_the_sidebar(console: Console, person: NewPerson) -> None:
    for name in ("same.one", "same.two"):
        save(console.mirrord.file(f"Siblings/{name}.md"), "---\ntitle: Same\n---\ntext\n")
    save(console.mirrord.file("Siblings/other.md"), "---\ntitle: Other\n---\ntext\n")
    reader = await person()
    for name in ("same.one", "same.two", "other"):
        row_of(console.mirrord, f"Siblings/{name}.md")
    await reader.open("Siblings/other.md")
    await ready(reader)
    rows = reader.page.locator("#tree li").filter(has=reader.page.locator("[aria-current]")).first.locator("ul a")

    await expect(rows).to_have_text(["•Other", "•Samesame.one", "•Samesame.two"], timeout=PATIENCE)
