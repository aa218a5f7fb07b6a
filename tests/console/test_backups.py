"""An operator has a backup made in a real browser, sees what it holds, and reads how it is restored."""

import re

import pytest
from playwright.async_api import Browser, expect

from tests.console.conftest import Console, NewPerson
from tests.console.people import PATIENCE
from tests.console.test_status import look_at, operator

pytestmark = pytest.mark.asyncio(loop_scope="session")


async def test_an_operator_is_told_why_no_backup_was_made_has_one_made_and_reads_how_to_restore_it(
    console: Console, browser: Browser
) -> None:
    directory = console.mirrord.data / "backup"
    if directory.exists():
        directory.rename(console.mirrord.data / "backup-of-other-tests")
    decider = await operator(console, browser)
    section = decider.page.get_by_role("region", name="Backups")
    await expect(section).to_contain_text(str(directory), timeout=PATIENCE)
    await expect(section).to_contain_text("There is no backup yet.")
    directory.write_text("no directory")
    await section.get_by_role("button", name="Make a backup now").click()
    state = section.get_by_role("status")
    await expect(state).to_contain_text(f"No backup was made. {directory} ", timeout=PATIENCE)
    directory.unlink()
    await section.get_by_role("button", name="Make a backup now").click()
    await expect(state).to_contain_text("Backup 1 is complete.", timeout=PATIENCE)
    await expect(section).to_contain_text("The last backup is less than an hour old")
    events = decider.page.get_by_role("region", name="Recent events").get_by_role("row")
    await expect(events.filter(has_text="asked for a backup").nth(1)).to_be_visible(timeout=PATIENCE)
    card = section.get_by_role("listitem")
    await expect(card).to_contain_text(re.compile(r"Backup 1, today at .*\d pages, [\d,]+ versions, .*; [\d.]+ [kM]B"))
    await card.get_by_text("How to restore it").click()
    command = await card.get_by_label("As a new tenant beside this one").inner_text()
    assert command.startswith(f"mirrord backup restore {directory} --tenant console --number 1 --as console-of-1 ")

    assert decider.errors == []
    await decider.page.reload()
    await expect(state).to_contain_text("Backup 1 is complete.", timeout=PATIENCE)
    await decider.context.close()


async def test_a_guest_sees_no_backups(console: Console, person: NewPerson) -> None:
    guest = await person()
    await look_at(guest, "status")
    await expect(guest.page.locator(".standing").first).to_be_visible(timeout=PATIENCE)
    await expect(guest.page.get_by_role("region", name="Backups")).to_have_count(0)
