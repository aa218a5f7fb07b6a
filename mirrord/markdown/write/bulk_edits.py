"""Edits that are made wherever they fit, on many pages: text, tags and tasks."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from mirrord.domain.entry import MAX_FILE_BYTES
from mirrord.errors import Damaged
from mirrord.markdown.frontmatter.page_text import EditTargetError, PageText, first_line_ending, with_unix_endings
from mirrord.markdown.page_links import links_of, target_span
from mirrord.markdown.read.page_outline import regions_of
from mirrord.markdown.write.page_edits import Appendix, KeyEdit, SectionEdit, apply_edits
from mirrord.markdown.write.tag_edits import TagChange, change_tag

_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://[^\s<>()\[\]\"']+")
_ADDRESS_MARK = "://"
_TASK = re.compile(r"([ \t>]*(?:[-*+]|\d{1,9}[.)])[ \t]+\[)([^\[\]\r\n])(\][ \t]+)([^\r\n]*)")
_DONE, _OPEN = "x", " "


@dataclass(frozen=True, slots=True)
class TextChange:
    """Replace *find* everywhere in the body, but not within the target of a link. is_word: only as whole words."""

    find: str
    replace: str
    is_word: bool = False


@dataclass(frozen=True, slots=True)
class TaskChange:
    """Tick the tasks whose text holds *text*, or open them."""

    text: str
    is_done: bool


BulkEdit = TextChange | TagChange | TaskChange | SectionEdit | KeyEdit | Appendix


def apply_where_fitting(page: PageText, edits: Sequence[BulkEdit]) -> tuple[PageText, int]:
    """
    *page* after all *edits* that fit it, in order, and the number of changed places.

    Raises:
        EditTargetError: a heading of an edit is there more than once.
        Damaged: the front matter cannot take a change, or the page would become too large.
    """
    total = 0
    for edit in edits:
        page, count = _apply(page, edit)
        total += count
    return page, total


def _apply(page: PageText, edit: BulkEdit) -> tuple[PageText, int]:
    match edit:
        case TextChange():
            return _replace_text(page, edit)
        case TagChange():
            return change_tag(page, edit)
        case TaskChange():
            return _change_tasks(page, edit)
        case _:
            return _edit_once(page, edit)


def _edit_once(page: PageText, edit: SectionEdit | KeyEdit | Appendix) -> tuple[PageText, int]:
    try:
        new = apply_edits(page, [edit])
    except EditTargetError as error:
        if error.occurrences:
            raise
        return page, 0
    return new, int(new.text != page.text)


def _replace_text(page: PageText, edit: TextChange) -> tuple[PageText, int]:
    ending = first_line_ending(page.text)
    find, new = (with_unix_endings(text).replace("\n", ending) for text in (edit.find, edit.replace))
    start = len(page.text) - len(page.body)
    if find not in page.body:
        return page, 0
    pattern = re.compile(rf"(?<!\w){re.escape(find)}(?!\w)" if edit.is_word else re.escape(find))
    guarded = list(_guarded_spans(page, start)) if _ADDRESS_MARK not in find else []
    spans = [match.span() for match in pattern.finditer(page.text, start) if not _cuts(match.span(), guarded)]
    if len(page.text) + len(spans) * (len(new) - len(find)) > MAX_FILE_BYTES:
        raise Damaged(f"the page would have more than {MAX_FILE_BYTES} characters")
    return replace(page, text=_with_spans(page.text, [(*span, new) for span in spans])), len(spans)


class _Guarded(NamedTuple):
    """A target or address from start to end, in a link from link_start to link_end."""

    start: int
    end: int
    link_start: int
    link_end: int


def _guarded_spans(page: PageText, start: int) -> Iterator[_Guarded]:
    """Targets of links with their headings, and addresses."""
    for link in links_of(page):
        first, last = target_span(page.text, link)
        if link.kind in ("wikilink", "embed") and link.heading is not None:
            last = page.text.index("#", last) + 1 + len(link.heading)
        yield _Guarded(first, last, link.start, link.end)
    for match in _ADDRESS.finditer(page.text, start):
        yield _Guarded(*match.span(), *match.span())


def _cuts(span: tuple[int, int], guarded: Sequence[_Guarded]) -> bool:
    """Whether *span* overlaps one of *guarded* and does not hold the whole link."""
    start, end = span
    return any(
        start < each.end and each.start < end and not start <= each.link_start <= each.link_end <= end
        for each in guarded
    )


def _change_tasks(page: PageText, edit: TaskChange) -> tuple[PageText, int]:
    if edit.text not in page.body:
        return page, 0
    text, start = page.text, len(page.text) - len(page.body)
    changes = []
    for region in regions_of(page.body, page.dialect):
        task = _TASK.match(text, start + region.start, start + region.end) if region.kind == "inline" else None
        is_done = task is not None and task[2] in "xX"
        if task is not None and edit.text in task[4] and is_done != edit.is_done:
            changes.append((task.start(2), task.end(2), _DONE if edit.is_done else _OPEN))
    return replace(page, text=_with_spans(text, changes)), len(changes)


def _with_spans(text: str, changes: Sequence[tuple[int, int, str]]) -> str:
    pieces, at = [], 0
    for start, end, new in changes:
        pieces += [text[at:start], new]
        at = end
    return "".join([*pieces, text[at:]])
