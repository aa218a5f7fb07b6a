"""Columns of tables get widths in a real browser: by a drag, a field and a finger; the file has them as a comment."""

from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Locator, expect

from tests.console.conftest import Console, NewPerson
from tests.console.people import PATIENCE, Person, becomes
from tests.support.editors import save

pytestmark = pytest.mark.asyncio(loop_scope="session")

TABLE = "| a | b |\n|:--|--:|\n| 1 | 2  |\n"


async def sit_at(
    console: Console, person: NewPerson, name: str, markdown: str, **options: Any
) -> tuple[Person, Path, Locator]:
    """A person with a page of one table open, the file of the page, and the cell in the first row and column."""
    file = console.mirrord.file(f"Columns {name}.md")
    save(file, f"{markdown}\nend\n")
    reader = await person(**options)
    await reader.open(file.name)
    return reader, file, reader.text.locator("th").first


async def grab(reader: Person, cell: Locator) -> tuple[int, int]:
    """The point of the handle at the right edge of a cell, with the mouse over it."""
    box = await cell.bounding_box()
    assert box is not None
    x, y = round(box["x"] + box["width"]), round(box["y"] + box["height"] / 2)
    await reader.page.mouse.move(x - 3, y)
    await expect(edge(reader)).to_be_visible()
    return x, y


def edge(reader: Person) -> Locator:
    """The handle on the edge of a column."""
    return reader.page.get_by_title("Drag to change the width of the column")


async def drag_to(reader: Person, cell: Locator, width: int) -> None:
    """Drag the right edge of a cell until it is *width* pixels wide, without letting go."""
    start = await cell.evaluate("cell => cell.offsetWidth")
    x, y = await grab(reader, cell)
    await reader.page.mouse.move(x, y)
    await reader.page.mouse.down()
    await reader.page.mouse.move(x + width - start, y, steps=3)


async def test_a_drag_gives_a_column_a_width_in_one_line_of_the_file_and_a_double_click_takes_it_away(
    console: Console, person: NewPerson
) -> None:
    reader, file, cell = await sit_at(console, person, "drag", TABLE)
    await drag_to(reader, cell, 200)
    await expect(cell).to_have_js_property("offsetWidth", 200)
    await reader.page.mouse.up()

    becomes(file, f"<!-- columns: 200 - -->\n{TABLE}\nend\n")
    await reader.page.reload()
    await expect(cell).to_have_js_property("offsetWidth", 200, timeout=PATIENCE)
    await expect(reader.text).not_to_contain_text("columns")
    x, y = await grab(reader, cell)
    await reader.page.mouse.dblclick(x, y)

    becomes(file, f"{TABLE}\nend\n")
    assert await cell.evaluate("cell => cell.offsetWidth") < 200


async def test_an_undo_takes_a_width_back_and_escape_ends_a_drag_without_one(
    console: Console, person: NewPerson
) -> None:
    reader, file, cell = await sit_at(console, person, "undo", f"<!-- columns: 100 150 -->\n{TABLE}")
    await drag_to(reader, cell, 300)
    await expect(cell).to_have_js_property("offsetWidth", 300)
    await reader.press("Escape")
    await expect(cell).to_have_js_property("offsetWidth", 100)
    await reader.page.mouse.up()
    await drag_to(reader, cell, 240)
    await reader.page.mouse.up()
    becomes(file, f"<!-- columns: 240 150 -->\n{TABLE}\nend\n")
    await reader.after("end")
    await reader.press("Control+z")

    becomes(file, f"<!-- columns: 100 150 -->\n{TABLE}\nend\n")
    await expect(cell).to_have_js_property("offsetWidth", 100)


async def test_the_keyboard_sets_the_width_of_the_column_at_the_cursor(console: Console, person: NewPerson) -> None:
    reader, file, _ = await sit_at(console, person, "field", TABLE)
    await reader.text.locator("td").last.click()
    await reader.press("Alt+Enter")
    field = reader.page.get_by_role("textbox", name="Width of the column (px)")
    await expect(field).to_have_value("", timeout=PATIENCE)
    await field.fill("12")
    await expect(field).to_have_attribute("aria-invalid", "true")
    await field.fill("180")
    becomes(file, f"<!-- columns: - 180 -->\n{TABLE}\nend\n")
    await field.fill("")

    becomes(file, f"{TABLE}\nend\n")


async def test_a_finger_drags_the_edge_of_the_column_with_the_cursor(console: Console, person: NewPerson) -> None:
    telephone = {"has_touch": True, "is_mobile": True, "viewport": {"width": 390, "height": 800}}
    reader, file, cell = await sit_at(console, person, "finger", TABLE, **telephone)
    await cell.tap()
    await expect(edge(reader)).to_be_visible(timeout=PATIENCE)
    box = await edge(reader).bounding_box()
    assert box is not None
    assert box["width"] >= 24
    start = await cell.evaluate("cell => cell.offsetWidth")
    session = await reader.context.new_cdp_session(reader.page)
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    for kind, by in (("touchStart", 0), ("touchMove", 20), ("touchMove", 60)):
        touch = {"type": kind, "touchPoints": [{"x": x + by, "y": y}]}
        await session.send("Input.dispatchTouchEvent", touch)
    await session.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})

    becomes(file, f"<!-- columns: {start + 60} - -->\n{TABLE}\nend\n")


async def test_new_rows_and_columns_keep_the_widths_of_the_others(console: Console, person: NewPerson) -> None:
    reader, file, cell = await sit_at(console, person, "grow", f"<!-- columns: 90 140 -->\n{TABLE}")
    await reader.text.locator("td").last.click()
    await reader.press("Tab")
    await reader.type("3")
    becomes(file, "<!-- columns: 90 140 -->\n| a | b |\n|:--|--:|\n| 1 | 2  |\n| 3 |   |\n\nend\n")
    await reader.page.get_by_role("button", name="Column after").click()

    becomes(file, "<!-- columns: 90 - 140 -->\n| a |   | b |\n|:--|---| --: |\n| 1 |   | 2  |\n| 3 |   |  |\n\nend\n")
    await expect(cell).to_have_js_property("offsetWidth", 90)


async def test_two_people_change_widths_and_words_of_one_table(console: Console, person: NewPerson) -> None:
    reader, file, cell = await sit_at(console, person, "two", TABLE)
    other = await person()
    await other.open(file.name)
    await other.text.locator("td").first.click()
    await other.press("End")
    await drag_to(reader, cell, 160)
    await other.type("st")
    await reader.sees("1st")  # while the column is dragged
    await reader.page.mouse.up()

    becomes(file, f"<!-- columns: 160 - -->\n{TABLE.replace('| 1 |', '| 1st |')}\nend\n")
    await expect(other.text.locator("th").first).to_have_js_property("offsetWidth", 160, timeout=PATIENCE)
