"""Several pages as sections of one: headings fitted below it, tags and aliases joined."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from mirrord.domain.place import name_key
from mirrord.errors import Damaged
from mirrord.markdown.frontmatter.page_properties import Json, with_keys
from mirrord.markdown.frontmatter.page_text import PageText, first_line_ending, with_unix_endings
from mirrord.markdown.frontmatter.summary_keys import head_of
from mirrord.markdown.read.page_outline import Section, sections_of
from mirrord.markdown.write.heading_levels import shifted, with_levels

_LABEL = re.compile(r"^ {0,3}\[([^\[\]\r\n]+)\]:[ \t]*(.*)$", re.MULTILINE)  # of footnotes and link definitions


@dataclass(frozen=True, slots=True)
class MergedPart:
    """A page that goes into another one. names: its title first, then its other names."""

    title: str
    page: PageText
    names: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class PartHeadings:
    """Where a part is in the merged page: the number of its heading, and those of its own headings by the old ones."""

    heading: int
    numbers: Mapping[int, int]


def merge_texts(into: PageText, parts: Sequence[MergedPart]) -> tuple[PageText, list[PartHeadings]]:
    """
    *into* with the texts of *parts* at its end, each below a heading.

    Raises Damaged if the texts do not fit below each other: a block at the end of one is open.
    """
    sections, ending = sections_of(into), first_line_ending(into.text)
    level = 1 if sum(section.level == 1 for section in sections) > 1 else 2
    outline = [(section.level, section.title) for section in sections]
    blocks, headings = list[str](), list[PartHeadings]()
    for part in parts:
        block, own_heading = _block_of(part, level)
        block_sections = sections_of(block)
        first = len(outline)
        shift = first if own_heading else first + 1
        headings.append(PartHeadings(first, {number: number + shift for number in range(_count(block, own_heading))}))
        outline += [(section.level, section.title) for section in block_sections]
        blocks.append(with_unix_endings(block.text).strip("\n").replace("\n", ending))
    before = into.text.rstrip("\r\n") if into.body.strip() else into.text
    gap = ending * 2 if into.body.strip() else ""
    merged = replace(into, text=before + gap + (ending * 2).join(blocks) + ending)
    if [(section.level, section.title) for section in sections_of(merged)] != outline:
        raise Damaged("the texts do not fit below each other: perhaps a code block at the end of one is not closed")
    return merged, headings


def with_joined_properties(merged: PageText, parts: Sequence[MergedPart]) -> PageText:
    """*merged* with the tags of *parts*, and their names as aliases. Raises Damaged as with_keys()."""
    head, heads = head_of(merged), [head_of(part.page) for part in parts]
    tags = dict.fromkeys([*head.tags, *(tag for each in heads for tag in each.tags)])
    changes: dict[str, Json] = {}
    if len(tags) > len(head.tags):
        changes["tags"] = list(tags)
    if aliases := added_aliases(merged, parts):
        changes["aliases"] = [*head.aliases, *aliases]
    return with_keys(merged, changes) if changes else merged


def added_aliases(into: PageText, parts: Sequence[MergedPart]) -> list[str]:
    """The names of *parts* that *into* has not."""
    head = head_of(into)
    own_keys = {name_key(name) for name in (*head.aliases, head.title or "")}
    names = (name for part in parts for name in (*part.names, *head_of(part.page).aliases))
    return [name for name in dict.fromkeys(names) if name_key(name) not in own_keys]


def common_labels(pages: Sequence[PageText]) -> list[str]:
    """Labels of footnotes and links that several of *pages* define, and not alike."""
    meanings: dict[str, set[str]] = {}
    for page in pages:
        for match in _LABEL.finditer(page.body):
            meanings.setdefault(match[1].casefold(), set()).add(match[2].strip())
    return sorted(label for label, meaning in meanings.items() if len(meaning) > 1)


def _block_of(part: MergedPart, level: int) -> tuple[PageText, bool]:
    """The body of a part below its heading, and whether that is the first of its own headings."""
    body = replace(part.page, text=part.page.body.strip("\r\n") if part.page.body.strip() else "")
    sections = sections_of(body)
    own_heading = _is_title(body, sections, part.title)
    levels = {number: section.level for number, section in enumerate(sections) if number or not own_heading}
    if min(levels.values(), default=level + 1) <= level:
        levels = shifted(levels, level + 1)
    if own_heading:
        return with_levels(body, {**levels, 0: level}), True
    heading = f"{'#' * level} {' '.join(part.title.split())}"
    ending = first_line_ending(body.text)
    return replace(body, text=f"{heading}{ending * 2}{with_levels(body, levels).text}"), False


def _is_title(body: PageText, sections: Sequence[Section], title: str) -> bool:
    is_first = bool(sections) and not body.text[: sections[0].start].strip()
    return is_first and name_key(sections[0].title) == name_key(" ".join(title.split()))


def _count(block: PageText, own_heading: bool) -> int:
    return len(sections_of(block)) - (0 if own_heading else 1)
