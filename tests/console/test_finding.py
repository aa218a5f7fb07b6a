"""Search and the quick switcher, in a real browser."""

import re

import psycopg
import pytest
import pytest_asyncio
from playwright.async_api import expect

from mirrord.db.database import daemon_dsn
from tests.console.conftest import Console, NewPerson
from tests.console.people import PATIENCE, Person, ready, row_of
from tests.support.editors import save
from tests.support.harness import eventually
from tests.support.rows import Connection

pytestmark = pytest.mark.asyncio(loop_scope="session")

PAGES = {
    "Finding/Soups/Red soup.md": "# Red soup\n\nFirst boil water. Then add **red lentils** and 0. 5 turnip. Go.\n",
    "Finding/Galettes bretonnes.md": "---\ntags: [pan/buckwheat]\n---\nFlour, water and crêpes of a turnip.\n",
    "Finding/Red herring.md": "No lentils that are red, but turnip.\n",
}


@pytest_asyncio.fixture(loop_scope="session")
async def reader(console: Console, person: NewPerson) -> Person:
    """A person at the home of a tenant in which PAGES are found."""
    for path, text in PAGES.items():
        console.mirrord.file(path).parent.mkdir(parents=True, exist_ok=True)
        if not console.mirrord.file(path).exists():
            save(console.mirrord.file(path), text)
    for path in PAGES:
        row_of(console.mirrord, path)
    eventually(lambda: _is_indexed(console.mirrord.app), "the words of the pages")
    reader = await person()
    await reader.page.goto(f"{console.url}/t/console/")
    await ready(reader)
    return reader


def _is_indexed(app: Connection) -> bool:
    row = app.execute("SELECT count(*) FROM mirrord.search('turnip')").fetchone()
    return row is not None and row[0] == len(PAGES)


async def search_for(reader: Person, words: str) -> None:
    await reader.page.get_by_role("searchbox").fill(words)
    if "/search" not in reader.page.url:
        await reader.press("Enter")
        await reader.page.wait_for_url("**/search?*")
    await expect(reader.page.locator("#content")).to_have_attribute("data-query", words, timeout=PATIENCE)


async def test_a_search_shows_the_best_sentence_and_marks_the_words(reader: Person) -> None:
    await search_for(reader, "lentils red turnip")
    await expect(reader.page.locator(".results > li")).to_have_count(2)
    # Pages of other tests may still be waiting for the index.
    await expect(reader.page.locator(".summary")).to_have_text(re.compile("^2 pages"))
    soup = reader.page.locator(".results > li").filter(has_text="Red soup")
    await expect(soup.locator(".path")).to_have_text("Finding / Soups")
    await expect(soup.locator(".snippet")).to_have_text("Then add red lentils and 0. 5 turnip.")
    assert await soup.locator(".snippet mark").all_text_contents() == ["red", "lentils", "turnip"]
    ground = "mark => getComputedStyle(mark).backgroundColor"
    marks = [soup.locator(".title mark"), soup.locator(".snippet mark").first]
    assert len({await mark.evaluate(ground) for mark in marks}) == 1


@pytest.mark.parametrize(
    ("words", "title"),
    [
        ('"red lentils" turnip', "Red soup"),
        ("crepes turnip", "Galettes bretonnes"),
        ("turnip #pan", "Galettes bretonnes"),
        ("turnip path:Soups", "Red soup"),
        ("turnip -lentils", "Galettes bretonnes"),
        ("bretones turnip", "Galettes bretonnes"),
    ],
)
async def test_a_query_says_what_it_means(reader: Person, words: str, title: str) -> None:
    await search_for(reader, words)
    await expect(reader.page.locator(".results .title")).to_have_text([title])


async def test_a_misspelt_word_is_named(reader: Person) -> None:
    await search_for(reader, "turnipp")
    await expect(reader.page.locator(".summary")).to_contain_text("These have “turnip”.")
    await search_for(reader, "zzzzzz")
    await expect(reader.page.locator(".summary")).to_contain_text("No page fits “zzzzzz”")


async def test_the_address_follows_what_is_typed_and_arrows_go_through_the_results(reader: Person) -> None:
    await search_for(reader, "turnip")
    await search_for(reader, "turnip lentils")
    assert reader.page.url.endswith("/search?q=turnip+lentils")
    await reader.page.reload()
    await ready(reader)
    await expect(reader.page.locator(".results > li")).to_have_count(2)
    await reader.press("ArrowDown", "ArrowDown", "ArrowDown", "ArrowUp")
    await expect(reader.page.locator(".results a").first).to_be_focused()
    await reader.press("ArrowUp")
    await expect(reader.page.get_by_role("searchbox")).to_be_focused()
    await reader.press("ArrowDown", "Enter")
    await expect(reader.page.locator("#title")).to_have_text(re.compile("Red"), timeout=PATIENCE)


async def test_ctrl_p_goes_to_a_page_by_some_letters_of_title_and_path(reader: Person) -> None:
    for typed, title in (("gal", "Galettes bretonnes"), ("soups/red", "Red soup"), ("tonne", "Galettes bretonnes")):
        await reader.press("Control+p")
        await expect(reader.page.get_by_role("combobox")).to_be_focused()
        await reader.type(typed)
        await expect(reader.page.get_by_role("option").first).to_contain_text(title, timeout=PATIENCE)
        await reader.press("Enter")
        await expect(reader.page.locator("#title")).to_have_text(title, timeout=PATIENCE)
        await ready(reader)
    await reader.press("Control+p")
    first = reader.page.get_by_role("option").first
    await expect(first).to_contain_text("Galettes bretonnes", timeout=PATIENCE)  # seen last
    await reader.press("Escape")
    await expect(reader.page.get_by_role("combobox")).to_have_count(0)


async def test_a_search_tells_that_pages_are_still_being_read_and_finds_them_once_they_are(
    console: Console, reader: Person, admin_dsn: str
) -> None:
    summary = reader.page.locator(".summary")
    lock = "SELECT FROM mirrord.page WHERE name = 'Red herring' FOR UPDATE"
    with (
        psycopg.connect(console.mirrord.app_dsn) as writing,
        psycopg.connect(daemon_dsn(admin_dsn), autocommit=True) as daemon,
    ):
        writing.execute(lock)  # what is written stays due to be read
        named = "SELECT set_config('mirrord.tenant', id::text, false) FROM mirrord.tenant WHERE name = 'console'"
        daemon.execute(named)
        daemon.execute("SELECT mirrord.rebuild_search()")
        await search_for(reader, "turnip")
        await expect(summary).to_have_text(
            re.compile(r"^3 pages\. \d+ pages? (is|are) still being read, and may fit too\.$"), timeout=PATIENCE
        )
        await search_for(reader, "zzyzx")
        await expect(summary).to_have_text(re.compile("^No page fits “zzyzx” so far. .+ still being read"))
        await search_for(reader, "turnip")
        writing.rollback()
    save(console.mirrord.file("Read after the index.md"), "a change, with which the index goes on\n")

    await expect(summary).to_have_text("3 pages", timeout=PATIENCE)


async def test_ctrl_p_counts_while_the_editor_has_the_keys(console: Console, reader: Person) -> None:
    await reader.open(
        "Finding/Red soup.md" if console.mirrord.page("Finding/Red soup.md") else "Finding/Soups/Red soup.md"
    )
    await reader.after("First boil")
    await reader.press("Control+p")
    await expect(reader.page.get_by_role("combobox")).to_be_focused()
    await reader.type("herring")
    await expect(reader.page.get_by_role("option").first).to_contain_text("Red herring", timeout=PATIENCE)
    await reader.press("Escape")
    await expect(reader.text).to_be_focused()


async def test_the_switcher_makes_a_page_that_is_not_there(console: Console, reader: Person) -> None:
    await reader.press("Control+p")
    await reader.type("Made by switcher")
    await expect(reader.page.get_by_role("option", name="New page “Made by switcher”")).to_be_visible(timeout=PATIENCE)
    await reader.page.get_by_role("option", name="New page").click()
    await expect(reader.page.locator("#title")).to_have_text("Made by switcher", timeout=PATIENCE)
    eventually(console.mirrord.file("Made by switcher.md").exists, "the file of the new page")


async def test_the_switcher_hands_words_over_to_the_search(reader: Person) -> None:
    await reader.press("Control+p")
    await reader.type("boil water")
    await expect(reader.page.get_by_role("option").last).to_contain_text(
        "Search all text for “boil water”", timeout=PATIENCE
    )
    await reader.press("ArrowUp", "Enter")
    await expect(reader.page.locator(".results .title")).to_have_text(["Red soup"], timeout=PATIENCE)


async def test_who_looks_for_a_tag_that_stands_in_texts_only_is_led_to_the_texts(
    console: Console, reader: Person
) -> None:
    soup = reader.page.locator(".results > li").filter(has_text="Red soup")
    await reader.page.goto(f"{console.url}/t/console/tags?tag=lentils")
    await expect(reader.page.locator("#content")).to_contain_text("No page has this tag.", timeout=PATIENCE)
    await reader.page.get_by_role("link", name="Search all text for “lentils”").click()
    await expect(soup).to_be_visible(timeout=PATIENCE)
    await search_for(reader, "#lentils turnip")
    await expect(soup).to_have_count(0)
    await reader.page.get_by_role("link", name="Search all text for “lentils turnip”").click()

    await expect(soup).to_be_visible(timeout=PATIENCE)
