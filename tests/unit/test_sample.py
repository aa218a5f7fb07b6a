"""The sample vault, which every newcomer sees first."""

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from mirrord.markdown.frontmatter.page_text import PageText, decode
from mirrord.markdown.page_links import links_of

SAMPLE = Path(__file__).parents[2] / "data" / "sample"
PAGES = sorted(SAMPLE.rglob("*.md"))


def _names(page: Path) -> set[str]:
    """What a wikilink may call the page: its path, its name, an alias."""
    path = page.relative_to(SAMPLE).with_suffix("").as_posix()
    aliases = PageText(decode(page.read_bytes())).views.frontmatter.get("aliases") or []
    assert isinstance(aliases, list)
    return {path, page.stem, *map(str, aliases)}


NAMES = set().union(*map(_names, PAGES))


def test_it_is_small_but_not_empty() -> None:
    assert 20 <= len(PAGES) <= 30


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_page_is_read_without_complaint_and_its_links_lead_somewhere(page: Path) -> None:
    text = decode(page.read_bytes())

    assert PageText(text).views.error is None
    for link in links_of(PageText(text)):
        if link.kind in ("wikilink", "embed"):
            assert not link.target or link.target in NAMES, link
        else:
            assert (page.parent / link.target).resolve().exists(), link


def test_its_image_is_an_image() -> None:
    image = SAMPLE / "Astronomy" / "assets" / "inner-planets.svg"
    assert ElementTree.parse(image).getroot().tag.endswith("svg")


def test_it_shows_what_a_vault_may_hold() -> None:
    text = "\n".join(page.read_text(encoding="utf-8") for page in PAGES)

    for construct in (
        r"^> \[!tip\]",
        r"^\|.*--",
        r"^- \[x\]",
        r"^```sql",
        r"^\$\$",
        r"^\[\^",
        r"!\[\[",
        r"!\[.*\]\(\./assets/",
        r"^# .*$",
    ):
        assert re.search(construct, text, re.MULTILINE), construct
    assert any(not page.name.isascii() for page in PAGES)
    assert (SAMPLE / "Garden.md").exists()
    assert (SAMPLE / "Garden").is_dir()
    assert not (SAMPLE / "Glossary" / "_index.md").exists()
