"""The beginning of a page, or of the part that a link names: what a person sees before following the link."""

from mirrord.markdown.frontmatter.page_text import PageText
from mirrord.markdown.heading_links import PageHeadings
from mirrord.markdown.page_links import Link
from mirrord.markdown.read.page_outline import sections_of

MAX_CHARACTERS = 600  # of a beginning
_MIN_CHARACTERS = 200  # that end with a whole block; a longer block is cut within
_PARAGRAPH_END = "\n\n"


def beginning_of(text: str, heading: str) -> str:
    """The first blocks of a page; with *heading*, which a wikilink names, those below it, if there is such a one."""
    page = PageText(text)
    part = _part_of(page, heading) if heading else page.body
    stripped = part.strip()
    if len(stripped) <= MAX_CHARACTERS:
        return stripped
    cut = stripped[:MAX_CHARACTERS]
    end = cut.rfind(_PARAGRAPH_END)
    return cut[:end] if end >= _MIN_CHARACTERS else cut


def _part_of(page: PageText, heading: str) -> str:
    sections = sections_of(page)
    link = Link(kind="wikilink", target="", heading=heading, alias=None, start=0, end=0)
    meaning = PageHeadings(sections).meaning_of(link, heading)
    if meaning is None:
        return page.body
    section = sections[meaning.number]
    return page.text[section.start : section.end]
