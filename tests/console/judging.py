"""What axe says of a page, in both themes and three widths."""

from playwright.async_api import Page

from tests.support.node import installed
from tests.support.tiptap import SOURCE

WIDTHS = (360, 1280, 2560)


async def with_axe(page: Page) -> None:
    """Load axe into a page of a context that ignores its policy."""
    await page.add_script_tag(path=installed(SOURCE) / "node_modules" / "axe-core" / "axe.min.js")


async def judge(page: Page) -> None:
    """Let axe look at a page in both themes and all widths."""
    for scheme in ("light", "dark"):
        await page.emulate_media(color_scheme=scheme)
        for width in WIDTHS:
            await page.set_viewport_size({"width": width, "height": 800})

            violations = await page.evaluate("axe.run(document).then(result => result.violations)")

            broken = [(violation["id"], violation["nodes"][0]["html"]) for violation in violations]
            assert broken == [], f"{scheme}, {width} px: {broken}"
            assert await page.evaluate("document.documentElement.scrollWidth") <= width
