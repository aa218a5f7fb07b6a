"""Filters of search_pages and find_pages: folder, tag, front matter, and when a page was modified."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from difflib import get_close_matches
from functools import lru_cache

from mirrord.commands.core.failure import invalid_argument
from mirrord.commands.core.page_paths import find_directory_card
from mirrord.commands.core.session import Session
from mirrord.domain.page_facets import Facets, PageFacts, count_facets
from mirrord.domain.place import name_key
from mirrord.domain.property_conditions import Condition, ConditionError, read_conditions
from mirrord.domain.time_reading import TIME_FORMS, TimeError, read_past_time, span_of
from mirrord.mirror.read.page_catalogue import Snapshot
from mirrord.mirror.read.page_summary import PageIndex, PageSummary
from mirrord.mirror.tree.kernel import Stat
from mirrord.mirror.tree.tree_layout import directory_of, parent_of

_NANOSECONDS = 1_000_000_000
_KEY = re.compile(r'^(?:[ \t]+")?([A-Za-z_][\w-]*)"?[ \t]*[:=]', re.MULTILINE)  # of YAML, TOML and JSON
_TIME_ADVICE = f"Give a past time, such as {TIME_FORMS}."
_WHERE_ADVICE = (
    'Give where by key, such as {"status": "draft", "due": {"lt": "2026-06-01"}, "authors": {"contains": "Ann"}}.'
)


@dataclass(frozen=True, slots=True)
class PageFilter:
    """
    What pages must have; None and () ask for nothing.

    path: of a page or folder: it and the pages below it. tag: key of a name; tags below it count. now: the moment of
    the question, in the zone of texts without one. question: text that differs for other conditions, path apart.
    """

    now: datetime
    tag: str | None = None
    conditions: tuple[Condition, ...] = ()
    after: datetime | None = None
    before: datetime | None = None
    question: str = ""
    path: str | None = None

    @property
    def has_times(self) -> bool:
        """Whether it asks when pages were modified."""
        return self.after is not None or self.before is not None

    @property
    def is_empty(self) -> bool:
        """Whether every page below the path fits."""
        return self.tag is None and not self.conditions and not self.has_times

    def fits(self, summary: PageSummary, stat: Stat) -> bool:
        """Whether a page fits."""
        return (
            (self.tag is None or any(_is_below_tag(tag, self.tag) for tag in summary.tags))
            and (not self.has_times or self._fits_times(summary, stat))
            and all(_meets(condition, summary) for condition in self.conditions)
        )

    def _fits_times(self, summary: PageSummary, stat: Stat) -> bool:
        start, end = modified_span(summary, stat, self.now)
        is_after = self.after is None or start >= self.after or end > self.after
        return is_after and (self.before is None or start < self.before)


def read_filter(
    tag: str | None = None,
    where: Mapping[str, object] | None = None,
    modified_after: str | None = None,
    modified_before: str | None = None,
    path: str | None = None,
) -> PageFilter:
    """The filter in a tool's arguments. Raises Failed for conditions and times that are none."""
    now = datetime.now().astimezone()
    try:
        conditions = read_conditions(where or {})
    except ConditionError as error:
        raise invalid_argument("INVALID_WHERE", str(error), _WHERE_ADVICE) from error
    tag_key = name_key(tag.strip().lstrip("#")) if tag is not None else None
    if tag_key == "":
        raise invalid_argument("INVALID_TAG", "The tag is empty.", "Name a tag, or leave the argument out.")
    after, before = _read_time(modified_after, now), _read_time(modified_before, now)
    question = repr((tag, where, modified_after, modified_before))
    return PageFilter(now, tag_key, conditions, after, before, question, path)


def pages_below(session: Session, snapshot: Snapshot, path: str | None) -> PageIndex:
    """The page at *path* and those below it; None: all pages. Raises Failed."""
    top = find_directory_card(session, snapshot, path)
    if top is None:
        return snapshot.page_index
    prefix = directory_of(top.path, top.kind) + "/"
    return PageIndex(
        snapshot.summaries(
            page_path for page_path in snapshot.pages if page_path == top.path or page_path.startswith(prefix)
        )
    )


def filter_pages(snapshot: Snapshot, index: PageIndex, page_filter: PageFilter) -> PageIndex:
    """The pages of *index*, those below the path, that fit; itself if all do because nothing is asked."""
    if page_filter.is_empty:
        return index
    stats, fits = snapshot.pages, page_filter.fits
    return PageIndex(
        {
            path: summary
            for path, summary in index.summaries.items()
            if (stat := stats.get(path)) is not None and fits(summary, stat)
        }
    )


def modified_span(summary: PageSummary, stat: Stat, now: datetime) -> tuple[datetime, datetime]:
    """When a page was modified: the day or point in its `updated:`, if that is past, else the time of its file."""
    span = span_of(summary.updated, now.tzinfo) if summary.updated else None
    if span is not None and span[0] <= now:
        return span
    point = datetime.fromtimestamp(stat.mtime_ns / _NANOSECONDS, now.tzinfo)
    return point, point


def facets_of(summaries: Iterable[PageSummary]) -> Facets:
    """What these pages have in common."""
    return count_facets(
        PageFacts(parent_of(summary.path), summary.tags, summary.front_matter.properties) for summary in summaries
    )


def unknown_keys_note(index: PageIndex, page_filter: PageFilter) -> str | None:
    """A sentence about keys of conditions that no page of *index* has, with the nearest one; None: all are known."""
    fronts = [summary.front_matter for summary in index.summaries.values()]
    names = {condition.key.split(".")[0] for condition in page_filter.conditions}
    unknown = sorted(
        name for name in names if not any(front.may_have(name) and name in front.properties for front in fronts)
    )
    if not unknown:
        return None
    keys = Counter(key for front in fronts for key in _KEY.findall(front.source))
    similar_keys = get_close_matches(unknown[0], keys, 1) or [key for key, _ in keys.most_common(5)]
    return f"No page has the key {unknown[0]!r}; there is {', '.join(similar_keys) or 'no key at all'}."


def _meets(condition: Condition, summary: PageSummary) -> bool:
    front = summary.front_matter
    return condition.fits(front.properties if front.may_have(condition.key.split(".")[0]) else {})


@lru_cache(maxsize=4_096)  # many pages have the same tags
def _is_below_tag(tag: str, key: str) -> bool:
    tag_key = name_key(tag)
    return tag_key == key or tag_key.startswith(f"{key}/")


def _read_time(text: str | None, now: datetime) -> datetime | None:
    if text is None:
        return None
    try:
        return read_past_time(text, now)
    except TimeError as error:
        raise invalid_argument("INVALID_TIME", str(error), _TIME_ADVICE) from error
