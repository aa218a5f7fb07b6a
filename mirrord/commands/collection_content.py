"""The agent asks which pages a collection means."""

from collections.abc import Iterator
from dataclasses import dataclass

from mirrord.commands import paths
from mirrord.commands.cursor import cursor_of, start_of
from mirrord.commands.failure import Failed, explained
from mirrord.commands.records import CATEGORIES, COLLECTIONS, Broken, find, load, spelled
from mirrord.commands.session import Session
from mirrord.domain.collection import Category
from mirrord.domain.entry import Kind
from mirrord.domain.globbing import Globs
from mirrord.mirror.card import Card
from mirrord.mirror.catalogue import Snapshot
from mirrord.mirror.layout import INDEX_FILE, directory_of
from mirrord.mirror.walk import join

MOST = 100  # pages in an answer


@dataclass(frozen=True, slots=True)
class Meant:
    """A page of a collection. category: the first that means it."""

    path: str
    title: str
    page_id: str
    category: str


@dataclass(frozen=True, slots=True)
class Content:
    """
    The pages of a collection, by its categories' order, and of each in the order of the sidebar; each page once.

    total: of all of them. problems: sentences about categories that are gone or cannot be read.
    """

    name: str
    pages: list[Meant]
    total: int
    problems: list[str]
    next_cursor: str | None = None


def collection_content(session: Session, name: str, cursor: str | None = None) -> Content:
    """Say which pages a collection means. cursor: of an answer to the same question, to go on behind it."""
    collection = find(session, COLLECTIONS, name).value
    question, problems = f"content {collection.name}", list[str]()
    with explained():
        snapshot = session.catalogue.look()
        found: dict[str, tuple[Card, str]] = {}
        for category in collection.categories:
            for card in _pages(session, snapshot, category, problems):
                found.setdefault(card.path, (card, category))
        every = list(found.values())
        start = start_of(list(found), cursor, question)
        shown = every[start : start + MOST]
        ids = snapshot.ids([card for card, _ in shown])
    pages = [Meant(card.path, card.title, str(ids[card.path]), category) for card, category in shown]
    is_all = start + len(shown) >= len(every)
    after = None if is_all else cursor_of(question, shown[-1][0].path, start + len(shown))
    return Content(collection.name, pages, len(every), problems, after)


def _pages(session: Session, snapshot: Snapshot, name: str, problems: list[str]) -> Iterator[Card]:
    known = spelled(session, CATEGORIES, name)
    kept = load(session, CATEGORIES, known) if known is not None else None
    if kept is None:
        problems.append(f"There is no category {name!r}; collection_update can take it out.")
    elif isinstance(kept, Broken):
        problems.append(f"{CATEGORIES.path(kept.name)} cannot be read: {kept.problem}.")
    else:
        yield from _below(session, snapshot, kept.value, problems)


def _below(session: Session, snapshot: Snapshot, category: Category, problems: list[str]) -> Iterator[Card]:
    """The pages of one category."""
    try:
        directory = paths.folder(session, category.directory) if category.directory else ""
    except Failed as failed:
        problems.append(f"The category {category.name} has no usable dir: {failed}")
        return
    if directory is None:
        problems.append(f"There is no folder {category.directory!r}, of which the category {category.name} is.")
        return
    globs, above = Globs(category.patterns), len(directory) + 1 if directory else 0
    yield from (card for card in _in_sidebar_order(snapshot, directory) if globs.match(card.path[above:]))


def _in_sidebar_order(snapshot: Snapshot, directory: str) -> Iterator[Card]:
    """The page of the directory, and all pages below it, each before those below it."""
    own = snapshot.page(join(directory, INDEX_FILE)) if directory else None
    pending = [*([own] if own is not None else []), *snapshot.children(directory)][::-1]
    while pending:
        card = pending.pop()
        if card.kind is Kind.PAGE:
            yield card
        if card is not own:
            pending += snapshot.children(directory_of(card.path, card.kind))[::-1]
