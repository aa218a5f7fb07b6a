"""Commands that list categories, collections, and the pages of a collection."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from mirrord.commands.core import page_paths
from mirrord.commands.core.answer_budget import LIST_BYTES, json_bytes, take_rows
from mirrord.commands.core.failure import Failed, translating_errors
from mirrord.commands.core.list_cursor import cursor_of, start_index
from mirrord.commands.core.session import Session
from mirrord.domain.entry import Kind
from mirrord.mirror.read.directory_listing import join_path
from mirrord.mirror.read.page_catalogue import Snapshot
from mirrord.mirror.read.page_summary import PageSummary
from mirrord.mirror.tree.tree_layout import INDEX_FILE, directory_of
from mirrord.research.collections.collection_records import (
    StoredRecord,
    UnreadableRecord,
    find_record,
    find_spelling,
    load_record,
    load_records,
)
from mirrord.research.collections.collection_rules import CATEGORIES, COLLECTIONS, Globs, GroupKind, PageGroup

MAX_LISTED_PAGES = 100  # pages in an answer
MAX_LISTED_RECORDS = 100  # records in an answer, so that a model can read it
_MAX_PROBLEMS = 10


@dataclass(frozen=True, slots=True)
class CollectionPage:
    """A page of a collection. category: the first that matches it."""

    path: str
    title: str
    page_id: str
    category: str


@dataclass(frozen=True, slots=True)
class CollectionContent:
    """
    The pages of a collection, by the order of its categories, within each in sidebar order; each page once.

    total: of all parts. problems: sentences about missing or unreadable categories.
    """

    name: str
    pages: list[CollectionPage]
    total: int
    problems: list[str]
    next_cursor: str | None = None


@dataclass(frozen=True, slots=True)
class RecordList:
    """
    Records in the form of ChangedRecord.value, oldest first.

    problems: sentences about unreadable files. next_cursor: None at the end.
    """

    values: list[dict[str, object]]
    problems: list[str]
    next_cursor: str | None = None


def list_records(
    session: Session,
    kind: GroupKind,
    verbose: bool = False,
    cursor: str | None = None,
    limit: int | None = MAX_LISTED_RECORDS,
) -> RecordList:
    """
    List records of this kind, oldest first, at most *limit* and what fits in 8 KB in one answer; None: all.

    verbose: with file paths and creation times. cursor: from an answer to the same question, to continue it.
    """
    records, broken = load_records(session, kind)
    question = f"list {kind.plural}"
    start = start_index([record.path for record in records], cursor, question)
    sentences = _first_problems([f"{kind.path(record.name)} cannot be read: {record.problem}." for record in broken])
    values = take_rows((_value_of(kind, record, verbose=verbose) for record in records[start:]), limit)
    end = start + len(values)
    after = None if end >= len(records) else cursor_of(question, records[end - 1].path, end)
    return RecordList(values, sentences, after)


def _value_of(kind: GroupKind, record: StoredRecord, *, verbose: bool) -> dict[str, object]:
    extra = {"path": record.path, "created": record.value.created} if verbose else {}
    return kind.facts_of(record.value) | extra


def _first_problems(sentences: Sequence[str]) -> list[str]:
    others = len(sentences) - _MAX_PROBLEMS
    return [*sentences] if others <= 0 else [*sentences[:_MAX_PROBLEMS], f"There are {others} more such problems."]


def collection_content(session: Session, name: str, cursor: str | None = None) -> CollectionContent:
    """List the pages of a collection. cursor: from an answer to the same question, to continue it."""
    collection = find_record(session, COLLECTIONS, name).value
    question, problems = f"content {collection.name}", list[str]()
    with translating_errors():
        snapshot = session.catalogue.snapshot()
        category_by_path: dict[str, tuple[PageSummary, str]] = {}
        for category in collection.members:
            for card in _pages_of_category(session, snapshot, category, problems):
                category_by_path.setdefault(card.path, (card, category))
        all_pages = list(category_by_path.values())
        start = start_index(list(category_by_path), cursor, question)
        page_part = all_pages[start : start + MAX_LISTED_PAGES]
        ids = snapshot.ids([card for card, _ in page_part])
    sentences = _first_problems(problems)
    rows = (CollectionPage(card.path, card.title, str(ids[card.path]), category) for card, category in page_part)
    pages = take_rows(rows, MAX_LISTED_PAGES, LIST_BYTES - json_bytes(sentences))
    end = start + len(pages)
    next_cursor = None if end >= len(all_pages) else cursor_of(question, pages[-1].path, end)
    return CollectionContent(collection.name, pages, len(all_pages), sentences, next_cursor)


def _pages_of_category(session: Session, snapshot: Snapshot, name: str, problems: list[str]) -> Iterator[PageSummary]:
    spelling = find_spelling(session, CATEGORIES, name)
    record = load_record(session, CATEGORIES, spelling) if spelling is not None else None
    if record is None:
        problems.append(f"There is no category {name!r}; collection_update can take it out.")
    elif isinstance(record, UnreadableRecord):
        problems.append(f"{CATEGORIES.path(record.name)} cannot be read: {record.problem}.")
    else:
        yield from _matching_pages(session, snapshot, record.value, problems)


def _matching_pages(
    session: Session, snapshot: Snapshot, category: PageGroup, problems: list[str]
) -> Iterator[PageSummary]:
    """The pages of one category."""
    try:
        directory = page_paths.find_directory(session, category.directory) if category.directory else ""
    except Failed as failed:
        problems.append(f"The category {category.name} has no usable dir: {failed}")
        return
    if directory is None:
        problems.append(f"There is no folder {category.directory!r}, of which the category {category.name} is.")
        return
    globs, prefix_length = Globs(category.members), len(directory) + 1 if directory else 0
    yield from (card for card in _in_sidebar_order(snapshot, directory) if globs.match(card.path[prefix_length:]))


def _in_sidebar_order(snapshot: Snapshot, directory: str) -> Iterator[PageSummary]:
    """The page of the directory and all pages below it, parents before children."""
    index_page = snapshot.exact_page(join_path(directory, INDEX_FILE)) if directory else None
    pending = [*([index_page] if index_page is not None else []), *snapshot.children(directory)][::-1]
    while pending:
        card = pending.pop()
        if card.kind is Kind.PAGE:
            yield card
        if card is not index_page:
            pending += snapshot.children(directory_of(card.path, card.kind))[::-1]
