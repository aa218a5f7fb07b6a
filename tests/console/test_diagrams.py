"""Diagrams of `mermaid` in a real browser: drawn beside their source, with no way out of their frame."""

import asyncio
from pathlib import Path

import pytest
from playwright.async_api import Locator, Route, expect

from tests.console.conftest import Console, NewPerson
from tests.console.people import PATIENCE, Person, becomes
from tests.support.editors import save

pytestmark = pytest.mark.asyncio(loop_scope="session")

FLOW = "```mermaid\nflowchart LR\n  Seed --> Plant\n```\n"


async def sit_at(console: Console, person: NewPerson, name: str, text: str) -> tuple[Person, Path]:
    """A person with a new page open, and the file of the page."""
    file = console.mirrord.file(f"Diagram {name}.md")
    save(file, text)
    reader = await person()
    await reader.open(file.name)
    return reader, file


async def drawn(reader: Person) -> Locator:
    """The picture of the only diagram, once it is loaded."""
    picture = reader.text.locator(".diagram[data-state=drawn] img")
    await expect(picture).to_have_js_property("complete", True, timeout=PATIENCE)
    assert await picture.evaluate("image => image.naturalWidth") > 50
    return picture


async def height_of(part: Locator) -> float:
    """Its height in pixels."""
    box = await part.bounding_box()
    assert box is not None
    return box["height"]


async def leave(reader: Person) -> None:
    """Close the window in which policies refused what was tried."""
    await reader.page.close()
    reader.errors.clear()


async def test_a_diagram_is_drawn_and_its_source_is_a_click_away(console: Console, person: NewPerson) -> None:
    reader, file = await sit_at(console, person, "flow", f"before\n\n{FLOW}")
    picture = await drawn(reader)
    await expect(picture).to_have_attribute("alt", "Diagram (flowchart)")
    source = reader.text.locator(".diagram pre")
    assert await height_of(source) < 2

    await reader.text.get_by_role("button", name="Source").click()
    assert await height_of(source) > 30
    await reader.press("Control+End", "Enter")
    await reader.type("Plant --> Fruit")
    becomes(file, "before\n\n```mermaid\nflowchart LR\n  Seed --> Plant\nPlant --> Fruit\n```\n")


async def test_what_is_typed_into_a_diagram_is_drawn_again(console: Console, person: NewPerson) -> None:
    reader, _ = await sit_at(console, person, "typed", "words\n")
    await reader.after("words")
    await reader.type("\n/mermaid")
    await reader.choose("Diagram")
    before = await (await drawn(reader)).get_attribute("src")
    assert before is not None
    await reader.text.get_by_role("button", name="Source").click()
    await reader.press("End", "ArrowDown", "End", "Enter")
    await reader.type("B --> Cherry")

    await expect(reader.text.locator(".diagram img")).not_to_have_attribute("src", before, timeout=PATIENCE)
    await drawn(reader)


async def test_a_diagram_waits_for_a_program_that_comes_late(console: Console, person: NewPerson) -> None:
    save(console.mirrord.file("Diagram late.md"), FLOW)
    reader = await person()
    is_wanted, is_released = asyncio.Event(), asyncio.Event()

    async def hold(route: Route) -> None:
        is_wanted.set()
        await is_released.wait()
        await route.continue_()

    await reader.page.clock.install()
    await reader.page.route("**/diagrams.html", hold)
    await reader.open("Diagram late.md")
    await asyncio.wait_for(is_wanted.wait(), PATIENCE / 1000)
    await reader.page.clock.fast_forward(60_000)
    is_released.set()

    await drawn(reader)


@pytest.mark.parametrize(
    ("name", "code", "reason"),
    [
        ("broken", "flowchart LR\n  A --> [", "Parse error"),
        ("unknown", "nonsense", "No diagram type"),
        ("empty", "", "no words"),
    ],
)
async def test_a_diagram_that_cannot_be_drawn_shows_the_reason_and_its_source(
    console: Console, person: NewPerson, name: str, code: str, reason: str
) -> None:
    reader, _ = await sit_at(console, person, name, f"```mermaid\n{code}\n```\n")
    await expect(reader.text.locator(".diagram .wrong")).to_contain_text(reason, timeout=PATIENCE)
    assert await height_of(reader.text.locator(".diagram pre")) > 15


HOSTILE = """flowchart LR
  A["<img src=x onerror='parent.postMessage(1, 0)'><script>window.owned = 1</script>"] --> B
  click A "javascript:window.owned = 1"
  click B href "https://example.org/out"
"""


@pytest.mark.parametrize(
    "code",
    [
        HOSTILE,
        '%%{init: {"securityLevel": "loose", "htmlLabels": true, "flowchart": {"htmlLabels": true}}}%%\n' + HOSTILE,
        '%%{init: {"themeCSS": "@import url(https://example.org/x.css); * {background: url(https://example.org/y)}"}}%%\n'
        + HOSTILE,
    ],
)
async def test_a_hostile_diagram_runs_nothing_and_asks_no_host(console: Console, person: NewPerson, code: str) -> None:
    file = console.mirrord.file("Diagram hostile.md")
    save(file, f"```mermaid\n{code}```\n")
    reader = await person()
    answered: list[str] = []
    reader.page.on("requestfinished", lambda request: answered.append(request.url))
    reader.page.on("requestfailed", lambda request: answered.append(request.url) if request.failure != "csp" else None)
    await reader.open(file.name)
    await expect(reader.text.locator(".diagram")).not_to_have_attribute("data-state", "drawing", timeout=PATIENCE)

    assert not await reader.page.evaluate("'owned' in window")
    await leave(reader)
    assert [url for url in answered if not url.startswith((console.url, "blob:", "data:"))] == []


async def test_the_frame_of_diagrams_reaches_nothing_of_the_console(console: Console, person: NewPerson) -> None:
    reader, _ = await sit_at(console, person, "frame", FLOW)
    await drawn(reader)
    (frame,) = [frame for frame in reader.page.frames if frame.url.endswith("/diagrams.html")]

    assert await frame.evaluate("self.origin") == "null"
    for reach in ("parent.document.title", "localStorage.length", "document.cookie"):
        assert (
            await frame.evaluate(f"(() => {{ try {{ {reach}; return 'reached' }} catch {{ return 'refused' }} }})()")
            == "refused"
        )
    assert await frame.evaluate("fetch('/').then(() => 'reached', () => 'refused')") == "refused"
    await leave(reader)


async def test_code_in_other_languages_is_code(console: Console, person: NewPerson) -> None:
    reader, file = await sit_at(console, person, "other", FLOW.replace("mermaid", "text"))
    await reader.text.locator("pre").click()
    await expect(reader.text.locator(".diagram")).to_have_count(0)
    await reader.page.get_by_role("textbox", name="Language").fill("mermaid")

    becomes(file, FLOW)
    await drawn(reader)
