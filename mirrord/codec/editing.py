"""Edits of a page as agents give them: each a pure function from text to text, all other bytes stay."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import islice

from mirrord.codec.frontmatter import Json, Removed, with_keys
from mirrord.codec.joining import goes_on
from mirrord.codec.missed import Missed
from mirrord.codec.sections import Section, named, sections_of, shown
from mirrord.codec.text import lines, newline, unix

_LISTED, _LONGEST = 30, 200  # headings in a message, characters of each
_LISTED_LINES = 5  # of the places where a text occurs


class Action(StrEnum):
    """What becomes of a section."""

    REPLACE = "replace"  # all that stands below its heading
    APPEND = "append"  # below its heading, before those of its subsections
    PREPEND = "prepend"
    INSERT_BEFORE = "insert_before"
    INSERT_AFTER = "insert_after"  # behind its subsections


@dataclass(frozen=True, slots=True)
class Substitution:
    """*find* is in the text exactly *count* times, and is *replace* then."""

    find: str
    replace: str
    count: int = 1


@dataclass(frozen=True, slots=True)
class SectionEdit:
    """*text*, whole blocks of Markdown, for or beside the section of *heading*."""

    heading: str
    action: Action
    text: str


@dataclass(frozen=True, slots=True)
class KeyEdit:
    """Top-level keys of the front matter that get a value or are REMOVED."""

    changes: Mapping[str, Json | Removed]


Edit = Substitution | SectionEdit | KeyEdit


def edited(text: str, edits: Sequence[Edit]) -> str:
    """
    *text* after all *edits*, in order.

    Raises:
        Missed: one of them does not fit.
        Damaged: the front matter cannot take a change.
    """
    for edit in edits:
        match edit:
            case Substitution():
                text = _substituted(text, edit)
            case SectionEdit():
                text = _with_section(text, edit)
            case KeyEdit():
                text = with_keys(text, edit.changes)
    return text


def section_of(text: str, heading: str) -> Section:
    """The section of a heading. Raises Missed if there is none, or more than one."""
    sections = sections_of(text)
    found = named(sections, heading)
    if len(found) == 1:
        return found[0]
    listed = [shown(section)[:_LONGEST] for section in sections[:_LISTED]]
    if found:
        raise Missed(f"{len(found)} sections are called {heading!r}.", len(found), listed)
    raise Missed(f"No section is called {heading!r}.", 0, listed)


def _substituted(text: str, edit: Substitution) -> str:
    ending = newline(text)
    for find, new in ((edit.find, edit.replace), (_ended(edit.find, ending), _ended(edit.replace, ending))):
        if (found := text.count(find)) == edit.count:
            return text.replace(find, new)
    if not found:
        raise Missed("The text to be replaced does not occur in the page.", 0)
    places = _lines_of(text, edit.find, ending)
    raise Missed(f"The text to be replaced occurs {found} times in the page, not {edit.count}: in {places}.", found)


def _lines_of(text: str, find: str, ending: str) -> str:
    """Where a text begins, as a person counts lines; the first few of many."""
    wanted = find if find in text else _ended(find, ending)
    starts = [match.start() for match in islice(re.finditer(re.escape(wanted), text), _LISTED_LINES + 1)]
    numbers = [str(len(lines(text[:start] + "x"))) for start in starts]
    more = " and more" if len(numbers) > _LISTED_LINES else ""
    return f"line{'s' if len(numbers) > 1 else ''} {', '.join(numbers[:_LISTED_LINES])}{more}"


def _with_section(text: str, edit: SectionEdit) -> str:
    section = section_of(text, edit.heading)
    new = _ended(edit.text, newline(text)).strip("\r\n")
    match edit.action:
        case Action.REPLACE:
            return _placed(text, section.content, section.end, _without_heading(new, section))
        case Action.PREPEND:
            return _placed(text, section.content, section.content, new)
        case Action.INSERT_BEFORE:
            return _placed(text, section.start, section.start, new)
        case Action.APPEND:
            return _appended(text, section, new)
        case Action.INSERT_AFTER:
            return _placed(text, section.end, section.end, new)


def _without_heading(new: str, section: Section) -> str:
    """Whoever replaces a section often repeats its heading."""
    first = next(iter(sections_of(new)), None)
    if first is None or first.start != 0 or (first.level, first.title) != (section.level, section.title):
        return new
    return new[first.content :].lstrip("\r\n")


def _appended(text: str, section: Section, new: str) -> str:
    """*new* behind what stands below the heading: right behind it where it goes on with a list or a table."""
    own = text[section.content : section.own_end].rstrip("\r\n")
    if new and goes_on(own, new):
        behind = section.content + len(own)
        return text[:behind] + newline(text) + new + text[behind:]
    return _placed(text, section.own_end, section.own_end, new)


def _placed(text: str, start: int, end: int, new: str) -> str:
    """*new* in place of what is from *start* to *end*, a blank line before and behind it."""
    before, after, ending = text[:start], text[end:], newline(text)
    if not new:
        return before + (ending if after and before and not _ends_blank(before) else "") + after
    gap = "" if not before or _ends_blank(before) else ending if before[-1] in "\r\n" else ending * 2
    behind = ending if not after or after[0] in "\r\n" else ending * 2
    return before + gap + new + behind + after


def _ends_blank(text: str) -> bool:
    return unix(text[-4:]).endswith("\n\n")


def _ended(text: str, ending: str) -> str:
    return text if ending == "\n" else unix(text).replace("\n", ending)
