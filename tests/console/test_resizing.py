"""Pictures get a width in a real browser, by a drag and by a field, and keep it in the file for other programs."""

import struct
import zlib
from pathlib import Path

import pytest
from playwright.async_api import Locator, expect

from tests.console.conftest import Console, NewPerson
from tests.console.people import PATIENCE, Person, becomes
from tests.support.editors import save
from tests.support.harness import eventually

pytestmark = pytest.mark.asyncio(loop_scope="session")


def png(width: int, height: int) -> bytes:
    """A grey picture of this size."""

    def chunk(name: bytes, body: bytes) -> bytes:
        return struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))

    head = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    rows = zlib.compress((b"\0" + b"\x80" * width) * height)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", rows) + chunk(b"IEND", b"")


async def sit_at(console: Console, person: NewPerson, name: str, markdown: str) -> tuple[Person, Path, Locator]:
    """A person with a page of one picture of 200 by 100 pixels open, the file of the page, and the picture."""
    save(console.mirrord.file("assets/Resizing.png"), png(200, 100))
    file = console.mirrord.file(f"Resizing {name}.md")
    save(file, f"{markdown}\n\nend\n")
    console.mirrord.flush()  # the picture is an attachment
    reader = await person()
    await reader.open(file.name)
    picture = reader.text.locator(".picture img").first
    await expect(picture).to_have_js_property("naturalWidth", 200, timeout=PATIENCE)
    return reader, file, picture


async def drag(reader: Person, picture: Locator, by: int) -> None:
    """Drag the handle of the picture to the right."""
    await picture.hover()
    handle = reader.text.get_by_role("button", name="Drag to change the width").first
    box = await handle.bounding_box()
    assert box is not None
    x, y = box["x"] + 12, box["y"] + 12
    await reader.page.mouse.move(x, y)
    await reader.page.mouse.down()
    await reader.page.mouse.move(x + by, y, steps=3)
    await reader.page.mouse.up()


async def test_a_drag_gives_a_picture_a_width_and_a_double_click_takes_it_away(
    console: Console, person: NewPerson
) -> None:
    reader, file, picture = await sit_at(console, person, "drag", "![a field](assets/Resizing.png)")
    await drag(reader, picture, -80)
    becomes(file, '<img src="assets/Resizing.png" alt="a field" width="120">\n\nend\n')
    await reader.page.reload()
    await expect(picture).to_have_js_property("offsetWidth", 120, timeout=PATIENCE)
    await expect(picture).to_have_js_property("offsetHeight", 60)
    await picture.hover()
    await reader.text.get_by_role("button", name="Drag to change the width").first.dblclick()

    await expect(picture).to_have_js_property("offsetWidth", 200, timeout=PATIENCE)
    eventually(lambda: "width" not in file.read_text(), "the picture without a width in the file")


async def test_a_picture_is_no_wider_than_the_text_and_an_undo_takes_its_width_back(
    console: Console, person: NewPerson
) -> None:
    reader, file, picture = await sit_at(console, person, "wide", "![a](assets/Resizing.png)")
    await drag(reader, picture, 5_000)
    block = await reader.text.locator("p").first.bounding_box()
    assert block is not None
    await expect(picture).to_have_attribute("width", str(int(block["width"])), timeout=PATIENCE)
    await reader.after("end")
    await reader.press("Control+z")

    await expect(picture).to_have_js_property("offsetWidth", 200, timeout=PATIENCE)
    becomes(file, "![a](assets/Resizing.png)\n\nend\n")


async def test_a_width_is_typed_in_its_field_in_pixels_or_as_a_share_of_the_text(
    console: Console, person: NewPerson
) -> None:
    tag = '<img src="assets/Resizing.png" alt="a" width="100" height="90">'
    reader, file, picture = await sit_at(console, person, "field", tag)
    await expect(picture).to_have_js_property("offsetWidth", 100)
    await picture.click()
    field = reader.page.get_by_role("textbox", name="Width")
    await expect(field).to_have_value("100", timeout=PATIENCE)
    await field.fill("wide")
    await expect(field).to_have_attribute("aria-invalid", "true")
    await field.fill("50%")

    becomes(file, '<img src="assets/Resizing.png" alt="a" width="50%">\n\nend\n')
    block = await reader.text.locator("p").first.bounding_box()
    assert block is not None
    half = round(block["width"] / 2)
    assert abs(await picture.evaluate("image => image.offsetWidth") - half) <= 1


async def test_a_drawing_without_a_size_of_its_own_is_as_wide_as_the_text_until_it_gets_one(
    console: Console, person: NewPerson
) -> None:
    drawing = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 640 220"><rect width="640" height="220"/></svg>'
    save(console.mirrord.file("assets/Sizeless.svg"), drawing)
    reader, file, _ = await sit_at(console, person, "sizeless", "![a](assets/Resizing.png) ![b](assets/Sizeless.svg)")
    picture = reader.text.get_by_alt_text("b")
    block = await reader.text.locator("p").first.bounding_box()
    assert block is not None
    await expect(picture).to_have_js_property("offsetWidth", int(block["width"]), timeout=PATIENCE)
    await picture.click()
    await reader.page.get_by_role("textbox", name="Width").fill("320")

    await expect(picture).to_have_js_property("offsetWidth", 320, timeout=PATIENCE)
    becomes(file, '![a](assets/Resizing.png) <img src="assets/Sizeless.svg" alt="b" width="320">\n\nend\n')


async def test_a_picture_with_its_size_in_the_description_keeps_that_form(console: Console, person: NewPerson) -> None:
    reader, file, picture = await sit_at(console, person, "described", "![a|150](assets/Resizing.png)")
    await expect(picture).to_have_js_property("offsetWidth", 150, timeout=PATIENCE)
    await drag(reader, picture, -50)

    becomes(file, "![a|100](assets/Resizing.png)\n\nend\n")
