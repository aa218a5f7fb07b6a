"""Every view, in both themes and three widths, has no finding of axe, serious or not, and no sideways scroll."""

import pytest
from playwright.async_api import expect

from tests.console.conftest import Console, NewPerson
from tests.console.people import PATIENCE, ready, row_of
from tests.support.editors import save
from tests.support.node import installed
from tests.support.tiptap import SOURCE

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
WIDTHS = (360, 1280, 2560)
HEAD = "---\ntags: [garden]\nstatus: draft\n---\n"
PAGE = HEAD + "# One\n\n- [ ] a task\n\n## Two\n\n> [!note]- Folded\n> text\n\n| a | b |\n|:--|--:|\n| 1 | 2 |\n"


@pytest.mark.parametrize("view", VIEWS)
async def test_axe_finds_nothing_in_any_theme_and_width(console: Console, person: NewPerson, view: str) -> None:
    axe = installed(SOURCE) / "node_modules" / "axe-core" / "axe.min.js"
    save(console.mirrord.file("Judged/By axe.md"), PAGE)
    page = row_of(console.mirrord, "Judged/By axe.md")
    reader = await person(bypass_csp=True)
    await reader.page.goto(f"{console.url}/t/console/{view.format(page=page.id, folder=page.parent_id)}")
    await ready(reader)
    await expect(reader.page.locator(".waiting").filter(visible=True)).to_have_count(0, timeout=PATIENCE)
    await reader.page.add_script_tag(path=axe)
    for scheme in ("light", "dark"):
        await reader.page.emulate_media(color_scheme=scheme)
        for width in WIDTHS:
            await reader.page.set_viewport_size({"width": width, "height": 800})

            violations = await reader.page.evaluate("axe.run(document).then(result => result.violations)")

            assert [(broken["id"], broken["nodes"][0]["html"]) for broken in violations] == [], f"{scheme}, {width} px"
            assert await reader.page.evaluate("document.documentElement.scrollWidth") <= width
