"""Edits of a page requested by agents, as pure functions from page to page."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import islice, pairwise

from markdown_it.token import Token

from mirrord.domain.dialect import Dialect
from mirrord.markdown.frontmatter.page_properties import Json, Removed, with_keys
from mirrord.markdown.frontmatter.page_text import (
    EditTargetError,
    PageText,
    first_line_ending,
    split_lines,
    with_unix_endings,
)
from mirrord.markdown.parser.dialect import parse_blocks
from mirrord.markdown.read.page_outline import Section, find_sections, heading_line, sections_of

_LISTS = ("bullet_list_open", "ordered_list_open")
_TABLE = "table_open"


@dataclass(frozen=True, slots=True)
class _Block:
    """A top-level block. parts: the number of a list's items or a table's rows. is_tight: of a list."""

    kind: str
    parts: int
    is_tight: bool


def is_continued_by(base: str, new: str, dialect: Dialect = Dialect.PLAIN) -> bool:
    """Whether *new*, on the line directly after *base*, continues its last block and leaves a list tight."""
    before, added, both = (_read_blocks(text, dialect) for text in (base, new, f"{base}\n{new}"))
    if not before or len(before) != len(both) or len(added) != 1:
        return False
    last, joined = before[-1], both[-1]
    if last.kind in _LISTS:
        is_more = added[0].kind == joined.kind == last.kind and joined.parts == last.parts + added[0].parts
        return is_more and last.is_tight and joined.is_tight
    if last.kind == _TABLE:
        rows = new.splitlines()
        is_row = added[0].kind == "paragraph_open" and all("|" in row for row in rows)
        return is_row and joined.kind == _TABLE and joined.parts == last.parts + len(rows)
    return False


def _read_blocks(text: str, dialect: Dialect) -> list[_Block]:
    tokens = parse_blocks(text, None, dialect)
    starts = [number for number, token in enumerate(tokens) if token.level == 0 and token.nesting >= 0]
    return [_read_block(tokens[start:end]) for start, end in pairwise([*starts, len(tokens)])]


def _read_block(tokens: list[Token]) -> _Block:
    kind = tokens[0].type
    part = "tr_open" if kind == _TABLE else "list_item_open"
    parts = sum(token.type == part and token.level <= 2 for token in tokens)
    own_paragraphs = [token for token in tokens if token.type == "paragraph_open" and token.level == 2]
    return _Block(kind, parts, is_tight=all(token.hidden for token in own_paragraphs))


_MAX_LISTED_HEADINGS, _MAX_HEADING_CHARACTERS = 30, 200  # headings in a message, characters of each
_MAX_LISTED_LINES = 5  # of the places where a text occurs


class Action(StrEnum):
    """Where the text of an edit goes."""

    REPLACE = "replace"  # in place of everything below the heading
    APPEND = "append"  # at the end of the section, before its subsections
    PREPEND = "prepend"  # directly below the heading
    INSERT_BEFORE = "insert_before"  # before the heading
    INSERT_AFTER = "insert_after"  # after the subsections


@dataclass(frozen=True, slots=True)
class Substitution:
    """Replace *find*, which occurs in the text exactly *count* times, by *replace*."""

    find: str
    replace: str
    count: int = 1


@dataclass(frozen=True, slots=True)
class SectionEdit:
    """Put *text*, complete blocks of Markdown, into or beside the section of *heading*."""

    heading: str
    action: Action
    text: str


@dataclass(frozen=True, slots=True)
class KeyEdit:
    """Set top-level keys of the front matter, or remove those that are REMOVED."""

    changes: Mapping[str, Json | Removed]


@dataclass(frozen=True, slots=True)
class Appendix:
    """Put *text*, complete blocks of Markdown, at the end of the page."""

    text: str


Edit = Substitution | SectionEdit | KeyEdit | Appendix


def apply_edits(page: PageText, edits: Sequence[Edit]) -> PageText:
    """
    *page* after all *edits*, in order.

    Raises:
        EditTargetError: the text has no place for one of them, or more than one.
        Damaged: the front matter cannot take a change.
    """
    for edit in edits:
        match edit:
            case Substitution():
                page = replace(page, text=_substitute(page.text, edit))
            case SectionEdit():
                page = replace(page, text=_edit_section(page, edit))
            case KeyEdit():
                page = with_keys(page, edit.changes)
            case Appendix():
                page = replace(page, text=_append_to_page(page, edit.text))
    return page


def section_of(page: PageText, heading: str) -> Section:
    """The section of a heading. Raises EditTargetError if there is none, or more than one."""
    sections = sections_of(page)
    matching = find_sections(sections, heading)
    if len(matching) == 1:
        return matching[0]
    headings = [heading_line(section)[:_MAX_HEADING_CHARACTERS] for section in sections[:_MAX_LISTED_HEADINGS]]
    if matching:
        lines = ", ".join(str(_line_number(page.text, section.start)) for section in matching[:_MAX_LISTED_HEADINGS])
        sentence = f"{len(matching)} sections are called {heading!r}: those in lines {lines}."
        raise EditTargetError(sentence, len(matching), headings)
    raise EditTargetError(f"No section is called {heading!r}.", 0, headings)


def _substitute(text: str, edit: Substitution) -> str:
    ending = first_line_ending(text)
    for find, new in (
        (edit.find, edit.replace),
        (_with_endings(edit.find, ending), _with_endings(edit.replace, ending)),
    ):
        if (count := text.count(find)) == edit.count:
            return text.replace(find, new)
    if not count:
        raise EditTargetError("The text to be replaced does not occur in the page.", 0)
    places = _describe_lines(text, edit.find, ending)
    raise EditTargetError(
        f"The text to be replaced occurs {count} times in the page, not {edit.count}: in {places}.", count
    )


def _describe_lines(text: str, find: str, ending: str) -> str:
    """The numbers of the lines where a text occurs, from 1 on; the first few of many."""
    target = find if find in text else _with_endings(find, ending)
    starts = [match.start() for match in islice(re.finditer(re.escape(target), text), _MAX_LISTED_LINES + 1)]
    numbers = [str(_line_number(text, start)) for start in starts]
    suffix = " and more" if len(numbers) > _MAX_LISTED_LINES else ""
    return f"line{'s' if len(numbers) > 1 else ''} {', '.join(numbers[:_MAX_LISTED_LINES])}{suffix}"


def _line_number(text: str, start: int) -> int:
    """The number of the line with the character at *start*, from 1 on."""
    return len(split_lines(text[:start] + "x"))


def _edit_section(page: PageText, edit: SectionEdit) -> str:
    text, section = page.text, section_of(page, edit.heading)
    new = _with_endings(edit.text, first_line_ending(text)).strip("\r\n")
    match edit.action:
        case Action.REPLACE:
            return put_blocks(text, section.content, section.end, _without_heading(replace(page, text=new), section))
        case Action.PREPEND:
            return put_blocks(text, section.content, section.content, new)
        case Action.INSERT_BEFORE:
            return put_blocks(text, section.start, section.start, new)
        case Action.APPEND:
            return _append_after(page, section.content, section.own_end, new)
        case Action.INSERT_AFTER:
            return put_blocks(text, section.end, section.end, new)


def _without_heading(new: PageText, section: Section) -> str:
    """*new* without the heading of the section, which replacements often repeat."""
    first = next(iter(sections_of(new)), None)
    if first is None or first.start != 0 or (first.level, first.title) != (section.level, section.title):
        return new.text
    return new.text[first.content :].lstrip("\r\n")


def _append_to_page(page: PageText, new: str) -> str:
    text = page.text
    new = _with_endings(new, first_line_ending(text)).strip("\r\n")
    return _append_after(page, len(text) - len(page.body), len(text), new) if new else text


def _append_after(page: PageText, start: int, end: int, new: str) -> str:
    """Put *new* after the blocks from *start* to *end*; without a blank line if it continues a list or a table."""
    text = page.text
    blocks = text[start:end].rstrip("\r\n")
    if new and is_continued_by(blocks, new, page.dialect):
        behind = start + len(blocks)
        return text[:behind] + first_line_ending(text) + new + text[behind:]
    return put_blocks(text, end, end, new)


def put_blocks(text: str, start: int, end: int, new: str) -> str:
    """Put *new* in place of the text from *start* to *end*, with a blank line before and after it."""
    before, after, ending = text[:start], text[end:], first_line_ending(text)
    if not new:
        return before + (ending if after and before and not _ends_blank(before) else "") + after
    gap = "" if not before or _ends_blank(before) else ending if before[-1] in "\r\n" else ending * 2
    behind = ending if not after or after[0] in "\r\n" else ending * 2
    return before + gap + new + behind + after


def _ends_blank(text: str) -> bool:
    return with_unix_endings(text[-4:]).endswith("\n\n")


def _with_endings(text: str, ending: str) -> str:
    return text if ending == "\n" else with_unix_endings(text).replace("\n", ending)
