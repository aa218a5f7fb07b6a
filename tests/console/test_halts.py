"""What the console says of halts, in a real browser: what is lost, why that waits, and what an undo took out of it."""

import asyncio
import shutil
from pathlib import Path

import pytest
from playwright.async_api import Browser, Locator, expect

from tests.console.conftest import Console
from tests.console.people import PATIENCE, Person, row_of
from tests.console.test_views import operator
from tests.support.clients import on_stdio, process
from tests.support.editors import save
from tests.support.harness import eventually

pytestmark = pytest.mark.asyncio(loop_scope="session")

EVERYTHING = (
    "All synced pages and files disappeared from disk. Nothing is deleted here until you decide, because the folder "
    "may have been emptied, or its disk may not be mounted."
)
ONE_MORE = (
    "1 more page or file disappeared from disk. Nothing is deleted here until you decide, because an earlier loss "
    "waits for a decision."
)


async def test_a_tree_that_was_emptied_is_not_told_as_many_deletions(small_console: Console, browser: Browser) -> None:
    mirrord = small_console.mirrord
    decider = await operator(small_console, browser, "attention")
    files = [mirrord.file("One.md"), mirrord.file("Two.md")]
    with mirrord.frozen():  # so that both deletions are one halt
        for file in files:
            file.unlink()
    card = card_of(decider, EVERYTHING)
    await expect(card).to_contain_text("Two.md", timeout=PATIENCE)
    await expect(decider.page.locator(".card")).to_have_count(1)
    later = mirrord.file("Later.md")
    save(later, "later\n")
    row_of(mirrord, "Later.md")
    later.unlink()
    await expect(card_of(decider, ONE_MORE)).to_contain_text("Later.md", timeout=PATIENCE)
    await card.get_by_role("button", name="Undo: 2 pages and files will be written to disk again").click()
    await decider.page.get_by_role("button", name="Yes").click()
    decided = decider.page.get_by_role("region", name="Decided before").get_by_role("row").last
    await expect(decided).to_contain_text("All 2 synced files are gone from the tree", timeout=PATIENCE)
    await expect(decided).not_to_contain_text("mirrord")

    await asyncio.to_thread(eventually, lambda: all(file.exists() for file in files), "the files to come back")
    await decider.context.close()


async def test_a_halt_says_what_an_undo_took_out_of_it(small_console: Console, browser: Browser) -> None:
    mirrord = small_console.mirrord
    decider = await operator(small_console, browser, "attention")
    mirrord.file("PAUSE").touch()  # so that both deletions are one halt
    token = mirrord.create_token("sweeper")
    async with on_stdio(process(mirrord.mirror, {"MIRRORD_TOKEN": token}, "--tools", "pages")) as agent:
        await agent.call("delete_page", path="One.md")
    mirrord.file("Two.md").unlink()
    mirrord.file("PAUSE").unlink()
    card = card_of(decider, EVERYTHING)
    await expect(card).to_contain_text("One.md", timeout=PATIENCE)
    undone = mirrord.run("undo", "--by", "agent sweeper", "--since", "1 hour ago")
    assert undone.returncode == 0, undone.stderr
    await expect(card).to_contain_text("1 was taken back by an undo; 1 still waits.", timeout=PATIENCE)
    await expect(card.get_by_role("listitem")).to_have_text(["Two.md"])
    await asyncio.to_thread(eventually, mirrord.file("One.md").exists, "the page that the undo brings back")
    row = decider.page.get_by_role("region", name="Decided before").get_by_role("row").last

    await expect(row).to_contain_text("1 was taken back by an undo.", timeout=PATIENCE)
    await decider.context.close()


async def test_a_side_that_went_back_in_time_is_told_without_commands(
    small_console: Console, browser: Browser, tmp_path: Path
) -> None:
    mirrord = small_console.mirrord
    mirrord.stop()
    shutil.copytree(mirrord.root, tmp_path / "copy", symlinks=True)
    small_console.up()
    save(mirrord.file("One.md"), "second\n")
    mirrord.flush()
    mirrord.stop()
    shutil.rmtree(mirrord.root)
    shutil.copytree(tmp_path / "copy", mirrord.root, symlinks=True)
    small_console.up()
    decider = await operator(small_console, browser, "attention")
    card = card_of(decider, "The tree was put back to an earlier state")

    await expect(card).to_contain_text("no deletion spreads.", timeout=PATIENCE)
    await expect(card).to_contain_text("Undo: everything is compared once more")
    await expect(card).not_to_contain_text("mirrord")
    await decider.context.close()


def card_of(decider: Person, title: str) -> Locator:
    """What waits, by its title."""
    return decider.page.locator(".card").filter(has=decider.page.get_by_role("heading", name=title))
