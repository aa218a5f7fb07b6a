"""Long pages in a browser: what is out of sight is not laid out, and all is where it would be otherwise."""

import re
from typing import Any

import pytest
from playwright.async_api import Page, expect

from tests.console.conftest import Console, NewPerson
from tests.console.people import PATIENCE, Person, entry, ready
from tests.support.editors import save

pytestmark = pytest.mark.asyncio(loop_scope="session")

PARTS = 80
PART = (
    "## Part {0}\n\n"
    + "words and *more* words, see [[Welcome]]. " * 30
    + "\n\n- one\n- two\n\n| a | b |\n| --- | --- |\n| c | {0} |\n\n"
)
TEXT = "".join(PART.format(number) for number in range(PARTS)) + "The end.\n"

# What `look()` returns while a rule of CSS for the blocks of the text holds; the browser draws no frame meanwhile.
UNDER = """const under = (rule, look) => {
  const sheet = new CSSStyleSheet()
  sheet.replaceSync(`.mirrord-editor .surface > .prose > * { ${rule} }`)
  document.adoptedStyleSheets = [...document.adoptedStyleSheets, sheet]
  const answer = look()
  document.adoptedStyleSheets = document.adoptedStyleSheets.filter(each => each !== sheet)
  return answer
}"""
BLOCKS = "const blocks = [...document.querySelectorAll('.surface > .prose > *')]"
# Whether each block is as high as the first of its kind, which is laid out, while most are not.
IS_MEASURED = f"""() => {{
  {BLOCKS}.slice(0, -1)
  const laidOut = blocks.filter(block => block.firstElementChild?.checkVisibility({{ contentVisibilityAuto: true }}))
  const heights = new Map()
  for (const {{ tagName: name, offsetHeight }} of blocks)
    heights.set(name, (heights.get(name) ?? new Set()).add(offsetHeight))
  const areEqual = [...heights.values()].every(({{ size }}) => size === 1)
  return blocks.length > 200 && laidOut.length < blocks.length / 2 && areEqual
}}"""
# How high the page is, and how high with all of its blocks laid out.
HEIGHTS = f"""() => {{
  {UNDER}
  const height = () => document.documentElement.scrollHeight
  return [height(), under('content-visibility: visible !important', height)]
}}"""
# Where each block begins: laid out by itself, and with its margins joined to those of what it contains.
PLACES = f"""() => {{
  {UNDER}
  {BLOCKS}
  const tops = () => blocks.map(block => Math.round(block.getBoundingClientRect().top))
  const seen = 'content-visibility: visible !important'
  const placesWith = contain => under(`${{seen}}; contain: ${{contain}} !important`, tops)
  return [placesWith('layout style paint'), placesWith('none')]
}}"""

# Holds what is to be done when the browser rests; `type()` lets that begin, presses a key in 30 frames, and tells how
# often blocks were measured right after one of them.
RESTLESS = """() => {
  const held = []
  const rest = window.requestIdleCallback.bind(window)
  window.requestIdleCallback = (work, options) => held.push([work, options])
  let pressedAt = -Infinity
  let measured = 0
  const { replaceSync } = CSSStyleSheet.prototype
  window.press = key => {
    document.querySelector('.prose').dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true }))
    pressedAt = performance.now()
  }
  CSSStyleSheet.prototype.replaceSync = function (text) {
    if (text.includes('nth-child') && performance.now() - pressedAt < 300) measured++
    return replaceSync.call(this, text)
  }
  window.type = async () => {
    window.press('Shift')
    window.requestIdleCallback = rest
    for (const each of held) rest(...each)
    for (let frame = 0; frame < 30; frame++) {
      await new Promise(requestAnimationFrame)
      window.press('Shift')
    }
    return measured
  }
}"""


async def _open_long(console: Console, reader: Person, name: str) -> None:
    save(console.mirrord.file(name), TEXT)
    await reader.open(name)
    await reader.sees("The end.")


async def _until(page: Page, condition: str, argument: Any = None) -> None:
    await page.wait_for_function(condition, arg=argument, timeout=PATIENCE)


async def test_a_long_page_is_as_long_as_its_blocks_though_most_are_not_laid_out(
    console: Console, person: NewPerson
) -> None:
    reader = await person()
    await _open_long(console, reader, "Measured.md")
    await _until(reader.page, IS_MEASURED)
    await reader.page.set_viewport_size({"width": 700, "height": 600})
    await _until(reader.page, IS_MEASURED)

    height, full_height = await reader.page.evaluate(HEIGHTS)
    assert height == pytest.approx(full_height, abs=2)


async def test_the_end_of_a_long_page_is_gone_to_before_and_after_it_is_measured(
    console: Console, person: NewPerson
) -> None:
    reader = await person()
    await _open_long(console, reader, "Gone to.md")
    begin, end = reader.text.locator("h2").first, reader.text.locator("p").last
    await begin.click()
    await reader.press("Control+End")
    await reader.type(" Typed.")
    await expect(end).to_have_text("The end. Typed.")
    await _until(reader.page, IS_MEASURED)
    await expect(end).to_be_in_viewport()

    await reader.press("Control+Home")
    await expect(begin).to_be_in_viewport()
    await reader.press("Control+End")
    await expect(end).to_be_in_viewport()
    await reader.type(" Again.")
    await expect(end).to_have_text("The end. Typed. Again.")
    await reader.is_told("saved")


async def test_a_key_takes_a_cursor_that_is_out_of_sight_where_it_would_if_all_were_laid_out(
    console: Console, person: NewPerson
) -> None:
    reader = await person()
    await _open_long(console, reader, "Out of sight.md")
    await _until(reader.page, IS_MEASURED)
    await reader.after("Part 40")
    await reader.page.evaluate("scrollTo(0, 0)")
    await _until(reader.page, IS_MEASURED)

    await reader.press("ArrowDown")
    await reader.type("Typed")
    words = reader.text.locator("h2").filter(has_text="Part 40").locator("xpath=following-sibling::p[1]")
    await expect(words).to_contain_text("Typed")
    await expect(words).not_to_have_text(re.compile("^ *Typed"))
    await expect(words).to_be_in_viewport()


async def test_a_person_returns_to_the_place_in_a_long_page_that_was_left(console: Console, person: NewPerson) -> None:
    reader = await person()
    await _open_long(console, reader, "Returned to.md")
    await ready(reader)
    await _until(reader.page, IS_MEASURED)
    await reader.page.evaluate("scrollTo(0, document.documentElement.scrollHeight / 2)")
    place = await reader.page.evaluate("scrollY")
    await entry(reader, "Welcome").get_by_role("link").evaluate("link => link.click()")  # a mouse would scroll to it
    await expect(reader.page).to_have_title("Welcome · console", timeout=PATIENCE)
    await ready(reader)

    await reader.page.go_back()
    await _until(reader.page, "left => document.body.dataset.ready === 'yes' && Math.abs(scrollY - left) < 2", place)
    await _until(reader.page, IS_MEASURED)
    assert await reader.page.evaluate("scrollY") == pytest.approx(place, abs=2)


async def test_blocks_are_in_the_same_places_when_each_is_laid_out_by_itself(
    console: Console, person: NewPerson
) -> None:
    ends = [
        "words",
        "- a list",
        "1. a list\n\n   of two paragraphs",
        "- a list\n  - in a list",
        "> a quote",
        "> - in a quote",
    ]
    ends += [
        "- [ ] a task",
        "- > a quote\n  >\n  > - in a list",
        "```\ncode\n```",
        "| a |\n| --- |\n| b |",
        "> [!note] A callout",
    ]
    save(console.mirrord.file("Ends.md"), "\n\n".join(f"## After\n\n{block}" for block in ends) + "\n\nLast.\n")
    reader = await person()
    await reader.open("Ends.md")
    await reader.sees("Last.")

    by_themselves, joined = await reader.page.evaluate(PLACES)
    assert len(joined) == 2 * len(ends) + 1
    assert by_themselves == joined


async def test_styles_of_the_editor_are_added_once_however_many_pages_are_opened(person: NewPerson) -> None:
    reader = await person()
    await reader.open("Welcome.md")
    await ready(reader)
    count = "document.adoptedStyleSheets.length"
    before = await reader.page.evaluate(count)
    for title in ("How this folder works", "Welcome"):
        await reader.page.locator("#tree").get_by_role("link", name=title, exact=True).click()
        await expect(reader.page).to_have_title(f"{title} · console", timeout=PATIENCE)
        await ready(reader)

    assert await reader.page.evaluate(count) == before


async def test_blocks_are_measured_when_nobody_presses_keys(console: Console, person: NewPerson) -> None:
    reader = await person()
    await reader.page.add_init_script(f"({RESTLESS})()")
    await _open_long(console, reader, "Typed in at once.md")
    assert await reader.page.evaluate("type()") == 0
    await _until(reader.page, IS_MEASURED)
