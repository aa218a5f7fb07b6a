"""Accounts in a real browser, at a real identity provider: people sign in there, and have their role here."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.async_api import Browser, Page, expect

from tests.console import chromium
from tests.console.bundle import built
from tests.console.people import PATIENCE, row_of
from tests.support.commands import Near
from tests.support.editors import save
from tests.support.harness import Mirrord, eventually
from tests.support.openid_providers import free_port, serving_provider

pytestmark = pytest.mark.asyncio(loop_scope="session")


@pytest.fixture(scope="module")
def accounts(module_dsn: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Mirrord, str]]:
    """A daemon whose console lets people sign in elsewhere, and the console's address."""
    if not chromium.PROGRAM.exists():
        pytest.skip("Debian's chromium is needed for tests of the console: apt-get install chromium")
    built()
    directory: Path = tmp_path_factory.mktemp("accounts")
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    with (
        serving_provider(directory, f"{url}/sign-in/account/return") as provider,
        Near(directory / "installation", tenant="people", dsn=module_dsn) as mirrord,
    ):
        save(mirrord.file("Notes.md"), "# Notes\n\nTo be read.\n")
        (mirrord.directory / "mirrord.toml").write_text(provider.settings(url, directory), encoding="utf-8")
        mirrord.surroundings["SSL_CERT_FILE"] = str(provider.certificate)
        mirrord.up("--console", str(port))
        mirrord.flush()
        eventually(lambda: mirrord.page("Notes"), "the page")
        yield mirrord, url


def give(mirrord: Mirrord, *arguments: str) -> None:
    completed = mirrord.run("console", "people", *arguments)
    assert completed.returncode == 0, completed.stderr


async def sign_in(browser: Browser, url: str, name: str) -> Page:
    """A browser of a person who signs in at the provider as *name*; where they come back to."""
    context = await browser.new_context(ignore_https_errors=True, service_workers="block")
    page = await context.new_page()
    await page.goto(f"{url}/sign-in")
    await page.get_by_role("link", name="Sign in with your account").click()
    await page.locator("input[name=login]").fill(name)
    await page.locator("input[name=password]").fill("any")
    await page.locator("button[type=submit]").click()
    await page.get_by_role("button", name="Continue").click()
    await page.wait_for_url(f"{url}/**", timeout=PATIENCE)
    return page


async def test_a_person_signs_in_elsewhere_and_writes_and_a_reader_only_reads(
    accounts: tuple[Mirrord, str], browser: Browser
) -> None:
    mirrord, url = accounts
    give(mirrord, "add", "wanda@example.org", "--tenant", "people", "--role", "writer")
    give(mirrord, "add", "rea@example.org", "--tenant", "people", "--role", "reader")
    row = mirrord.page("Notes")
    assert row is not None
    writer, reader = await sign_in(browser, url, "wanda"), await sign_in(browser, url, "rea")
    for page in (writer, reader):
        await page.goto(f"{url}/t/people/p/{row.id}")
        await expect(page.locator(".prose")).to_contain_text("To be read.", timeout=PATIENCE)
    await writer.locator(".prose p").first.click()
    await writer.keyboard.press("End")
    await writer.keyboard.type(" And written.")
    await expect(reader.locator(".prose")).to_contain_text("To be read. And written.", timeout=PATIENCE)
    await expect(reader.locator(".prose")).to_have_attribute("contenteditable", "false")
    for name in ("Rename", "Delete", "Share…", "New page"):
        await expect(reader.get_by_role("button", name=name)).to_be_hidden()
        await expect(writer.get_by_role("button", name=name).first).to_be_visible()
    await reader.get_by_role("link", name="History").click()
    await reader.locator(".split > .versions > li").last.get_by_role("button").first.click(timeout=PATIENCE)
    await expect(reader.get_by_label("Compare with")).to_be_visible(timeout=PATIENCE)
    await expect(reader.get_by_role("button", name="Restore")).to_have_count(0)
    eventually(lambda: "And written." in mirrord.file("Notes.md").read_text(encoding="utf-8"), "the writer's words")


async def test_a_reader_sees_conflicts_and_the_trash_and_is_offered_to_change_neither(
    accounts: tuple[Mirrord, str], browser: Browser
) -> None:
    mirrord, url = accounts
    give(mirrord, "add", "rose@example.org", "--tenant", "people", "--role", "reader")
    disputed, thrown = mirrord.file("Disputed.md"), mirrord.file("Thrown.md")
    save(disputed, "both\n")
    save(thrown, "text\n")
    row = row_of(mirrord, "Disputed.md")
    row_of(mirrord, "Thrown.md")
    thrown.unlink()
    with mirrord.frozen():
        mirrord.app.execute("UPDATE mirrord.page SET markdown = 'the row\n' WHERE id = %s", (row.id,))
        save(disputed, "the file\n")
    mirrord.flush()
    reader = await sign_in(browser, url, "rose")
    await expect(reader.locator("#content")).to_contain_text(
        re.compile("(?<!mirrord )mirrord, today"), timeout=PATIENCE
    )
    await reader.goto(f"{url}/t/people/attention")
    await expect(reader.get_by_label("Current page")).to_have_text("the row\n", timeout=PATIENCE)
    await expect(reader.get_by_role("link", name="Open the page")).to_be_visible()
    await expect(reader.get_by_role("main").get_by_role("button")).to_have_count(0)
    await expect(reader.get_by_text("merged text")).to_have_count(0)
    await reader.goto(f"{url}/t/people/trash")
    await expect(reader.get_by_role("main").get_by_role("link", name="Thrown")).to_be_visible(timeout=PATIENCE)
    await expect(reader.get_by_role("main").get_by_role("button")).to_have_count(0)


async def test_a_person_who_is_taken_out_has_no_access_from_that_moment_and_no_old_session_comes_back(
    accounts: tuple[Mirrord, str], browser: Browser
) -> None:
    mirrord, url = accounts
    give(mirrord, "add", "tom@example.org", "--tenant", "people", "--role", "operator")
    page = await sign_in(browser, url, "tom")
    await expect(page).to_have_url(f"{url}/t/people/", timeout=PATIENCE)
    give(mirrord, "remove", "tom@example.org")
    await page.goto(f"{url}/t/people/")
    await expect(page).to_have_url(f"{url}/sign-in", timeout=PATIENCE)
    give(mirrord, "add", "tom@example.org", "--tenant", "people", "--role", "operator")
    await page.goto(f"{url}/t/people/")

    await expect(page).to_have_url(f"{url}/sign-in", timeout=PATIENCE)


@pytest.mark.parametrize("name", ["stranger", "unverified-wanda"])
async def test_who_has_no_role_or_no_verified_address_is_not_let_in(
    accounts: tuple[Mirrord, str], browser: Browser, name: str
) -> None:
    mirrord, url = accounts
    give(mirrord, "add", "unverified-wanda@example.org", "--tenant", "people", "--role", "writer")
    page = await sign_in(browser, url, name)
    await expect(page.get_by_role("alert")).to_contain_text(
        "no access here" if name == "stranger" else "not verified", timeout=PATIENCE
    )
    await page.goto(f"{url}/t/people/")

    await expect(page).to_have_url(f"{url}/sign-in", timeout=PATIENCE)
