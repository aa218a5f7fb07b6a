"""find_pages: the pages that meet filters, or whose links are missing, broken or ambiguous."""

import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Literal

from mirrord.commands.core.answer_budget import FIRST_PART, AnswerPart, check_limit, json_bytes, take_fitting
from mirrord.commands.core.failure import invalid_argument, translating_errors
from mirrord.commands.core.list_cursor import cursor_of, start_index
from mirrord.commands.core.session import Session
from mirrord.commands.pages.page_filters import (
    PageFilter,
    facets_of,
    filter_pages,
    modified_span,
    pages_below,
    unknown_keys_note,
)
from mirrord.domain.page_facets import Facets
from mirrord.domain.time_reading import span_of
from mirrord.mirror.read.page_catalogue import Snapshot
from mirrord.mirror.read.page_summary import PageIndex, PageSummary
from mirrord.mirror.tree.observed_work import report_work

LinkFault = Literal["orphan", "broken", "ambiguous"]

MAX_LINK_SECONDS = 5.0  # of one call: links of pages that no call has parsed yet take about 2 ms a page
_MAX_TARGETS = 10  # of one page in an answer
_ITEM_BYTES = 70  # of a page's keys and time


@dataclass(frozen=True, slots=True)
class PageFound:
    """
    A page that fits. modified, created: as its front matter has them, else the time of its file, else None.

    targets: of its broken or ambiguous links, as written.
    """

    path: str
    title: str
    modified: str
    created: str | None
    targets: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PagesFound:
    """
    Pages that fit, by path; the newest first if the question has times.

    total: number of all; None: not all are looked at yet. note: why there is none.
    """

    pages: list[PageFound]
    total: int | None
    next_cursor: str | None
    facets: Facets | None = None
    note: str | None = None


def find_pages(
    session: Session, page_filter: PageFilter, links: LinkFault | None = None, part: AnswerPart = FIRST_PART
) -> PagesFound:
    """
    The pages that fit *page_filter*.

    links: only pages to which no other links, or with links that mean nothing or several pages.
    """
    check_limit(part.limit)
    if part.facets and links is not None:
        raise invalid_argument("INVALID_ARGUMENTS", "Links have no facets.", "Ask for links or for facets.")
    question = f"find {page_filter.path} {links} {page_filter.question}"
    with translating_errors():
        snapshot = session.catalogue.snapshot()
        searched = pages_below(session, snapshot, page_filter.path)
        index = filter_pages(snapshot, searched, page_filter)
        summaries = _in_order(snapshot, index, page_filter)
        start = start_index([summary.path for summary in summaries], part.cursor, question)
        if links is not None:
            search = _LinkSearch(links, summaries, start, part.limit, question, page_filter)
            return _find_by_links(session, snapshot, search)
        counted = facets_of(summaries) if part.counts_facets else None
        described = (_describe(snapshot, summary, page_filter) for summary in summaries[start:])
        pages, _ = take_fitting(described, part.limit, _size_of, json_bytes(asdict(counted) if counted else None))
    end = start + len(pages)
    next_cursor = cursor_of(question, pages[-1].path, end) if pages and end < len(summaries) else None
    note = unknown_keys_note(searched, page_filter) if not summaries else None
    return PagesFound(pages, len(summaries), next_cursor, counted, note)


@dataclass(frozen=True, slots=True)
class _LinkSearch:
    fault: LinkFault
    summaries: Sequence[PageSummary]
    start: int
    limit: int | None
    question: str
    page_filter: PageFilter


def _find_by_links(session: Session, snapshot: Snapshot, search: _LinkSearch) -> PagesFound:
    """Looks at one page after the other, until the answer is full or the time is over."""
    looked_at = 0

    def find_each() -> Iterator[PageFound]:
        nonlocal looked_at
        deadline = time.monotonic() + MAX_LINK_SECONDS
        for summary in search.summaries[search.start :]:
            targets = _faulty_targets(session, snapshot, summary.path, search.fault)
            if targets is not None:
                yield _describe(snapshot, summary, search.page_filter, targets[:_MAX_TARGETS])
            looked_at += 1
            report_work(looked_at, len(search.summaries) - search.start)
            if time.monotonic() > deadline:
                return

    pages, has_more = take_fitting(find_each(), search.limit, _size_of)
    end = search.start + looked_at
    if not has_more and end == len(search.summaries):
        return PagesFound(pages, len(pages) if search.start == 0 else None, None)
    last = pages[-1].path if has_more else search.summaries[end - 1].path
    note = None if has_more else "Not all pages are looked at yet: go on with the cursor."
    return PagesFound(pages, None, cursor_of(search.question, last, end), None, note)


def _faulty_targets(session: Session, snapshot: Snapshot, path: str, fault: LinkFault) -> tuple[str, ...] | None:
    """The targets of faulty links of a page, none for an orphan; None: the page has not that fault."""
    if fault == "orphan":
        return None if session.linkage.has_incoming(snapshot, path) else ()
    return tuple(session.linkage.unresolved(snapshot, path, ambiguous=fault == "ambiguous")) or None


def _in_order(snapshot: Snapshot, index: PageIndex, page_filter: PageFilter) -> list[PageSummary]:
    summaries = list(index.summaries.values())
    if not page_filter.has_times:
        return summaries
    starts = {card.path: modified_span(card, snapshot.pages[card.path], page_filter.now)[0] for card in summaries}
    return sorted(summaries, key=lambda card: starts[card.path], reverse=True)


def _describe(
    snapshot: Snapshot, summary: PageSummary, page_filter: PageFilter, targets: tuple[str, ...] = ()
) -> PageFound:
    start, end = modified_span(summary, snapshot.pages[summary.path], page_filter.now)
    modified = start.isoformat(timespec="seconds") if start == end else start.date().isoformat()
    created = summary.created if summary.created and span_of(summary.created) else None
    return PageFound(summary.path, summary.title, modified, created, targets)


def _size_of(page: PageFound) -> int:
    return _ITEM_BYTES + json_bytes(page.path, page.title, page.modified, page.created, page.targets)
