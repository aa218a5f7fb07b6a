"""Commands that list categories, collections, and the pages of a collection."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from mirrord.commands.core import page_paths
from mirrord.commands.core.failure import Failed, translating_errors
from mirrord.commands.core.list_cursor import cursor_of, start_index
from mirrord.commands.core.session import Session
from mirrord.domain.entry import Kind
from mirrord.mirror.read.directory_listing import join_path
from mirrord.mirror.read.page_catalogue import Snapshot
from mirrord.mirror.read.page_summary import PageSummary
from mirrord.mirror.tree.tree_layout import INDEX_FILE, directory_of
from mirrord.research.collections.collection_records import (
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
    List records of this kind, oldest first, at most *limit* in one answer; None: all.

    verbose: with file paths and creation times. cursor: from an answer to the same question, to continue it.
    """
    records, broken = load_records(session, kind)
    question = f"list {kind.plural}"
    start = start_index([record.path for record in records], cursor, question)
    page = records[start : start + limit if limit is not None else None]
    extras = [{"path": record.path, "created": record.value.created} if verbose else {} for record in page]
    values = [kind.facts_of(record.value) | extra for record, extra in zip(page, extras, strict=True)]
    is_all = start + len(page) >= len(records)
    after = None if is_all else cursor_of(question, page[-1].path, start + len(page))
    return RecordList(values, _problem_sentences(kind, broken), after)


def _problem_sentences(kind: GroupKind, broken: Sequence[UnreadableRecord]) -> list[str]:
    sentences = [f"{kind.path(record.name)} cannot be read: {record.problem}." for record in broken[:_MAX_PROBLEMS]]
    if len(broken) > _MAX_PROBLEMS:
        sentences.append(f"{len(broken) - _MAX_PROBLEMS} more cannot be read.")
    return sentences


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
    pages = [CollectionPage(card.path, card.title, str(ids[card.path]), category) for card, category in page_part]
    is_all = start + len(page_part) >= len(all_pages)
    next_cursor = None if is_all else cursor_of(question, page_part[-1][0].path, start + len(page_part))
    return CollectionContent(collection.name, pages, len(all_pages), problems, next_cursor)


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
