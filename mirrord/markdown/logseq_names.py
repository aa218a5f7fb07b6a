"""
How Logseq calls its pages: by the names of their files, which spell namespaces and days, and by properties. Pure.

`a___b.md`, and in older graphs `a%2Fb.md`, is the page `a/b`; `2023_01_05.md` is the page of that day (`logseq_days`).
`title::` and `alias::` count in the first block of a page.
"""

import re
from collections.abc import Iterator, Sequence
from urllib.parse import unquote

from mirrord.domain.dialect import DayFormats
from mirrord.domain.link_meaning import NameKind
from mirrord.markdown.frontmatter.page_text import PageText, split_lines
from mirrord.markdown.logseq_days import day_of_file, title_of_day

MAX_PROPERTY_CHARACTERS = 4_000  # characters at the beginning of a page in which its properties are
_SEPARATOR = "___"
_PROPERTY = re.compile(r"[ \t]*([\w./-]+)::(?:[ \t]+(.*))?", re.DOTALL)
_MAYBE_PROPERTY = re.compile(r"[\r\n]*[^\r\n]*::")  # in the first line, without which there is none
_BULLET = re.compile(r"[-*+][ \t]+")
_VALUE = re.compile(r"#?\[\[([^\[\]]+)\]\]|([^,\[\]]+)")


def names_in_logseq(stem: str, text: str, days: DayFormats) -> list[tuple[NameKind, str]]:
    """
    The names that Logseq gives a page beside that of its file.

    stem: the name of its file, without ending. text: of the page, or its first MAX_PROPERTY_CHARACTERS.
    """
    matches = _match_properties(PageText(text[:MAX_PROPERTY_CHARACTERS]))
    values = {match[1].lower(): match[2] or "" for match in matches}
    title = values.get("title", "").strip() or page_name_of(stem, days)
    aliases = values.get("alias") or values.get("aliases") or ""
    names = [(NameKind.TITLE, title), *((NameKind.ALIAS, alias) for alias in _values_of(aliases))]
    return [(sort, name) for sort, name in names if name.strip()]


def page_name_of(stem: str, days: DayFormats) -> str:
    """The page that Logseq sees in the file called *stem*; *stem* itself where that is no name."""
    if day := day_of_file(stem, days):
        return title_of_day(day, days)
    name = unquote((stem.removesuffix(_SEPARATOR) or stem).replace(_SEPARATOR, "/"))
    is_name = name.strip("/") and name.isprintable() and ("\ufffd" not in name or "\ufffd" in stem)
    return name if is_name else stem


def property_lines(page: PageText) -> str:
    """The lines of properties in the first block of *page*; in most pages of other programs none."""
    if not _MAYBE_PROPERTY.match(page.body):
        return ""
    return "\n".join(match.string for match in _match_properties(page))


def _match_properties(page: PageText) -> Iterator[re.Match[str]]:
    """The properties in the first block of *page*, which may be an item of its outline."""
    body = page.body
    room = max(MAX_PROPERTY_CHARACTERS - (len(page.text) - len(body)), 0)
    for number, line in enumerate(split_lines(body[:room].lstrip("\r\n"))):
        bare = line.rstrip("\r\n \t")
        match = _PROPERTY.fullmatch(_BULLET.sub("", bare, count=1) if not number else bare)
        if match is None:
            return
        yield match


def _values_of(written: str) -> Sequence[str]:
    """The values of a property, which commas separate outside of brackets."""
    values = (match[1] or match[2].strip().removeprefix("#") for match in _VALUE.finditer(written))
    return [value.strip() for value in values if value.strip()]
