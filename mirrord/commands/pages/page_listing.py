"""Commands that list pages, flat or as a tree."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import takewhile

from mirrord.commands.core.answer_budget import take_rows
from mirrord.commands.core.failure import invalid_argument, translating_errors
from mirrord.commands.core.list_cursor import cursor_of, start_index
from mirrord.commands.core.page_paths import find_directory_card
from mirrord.commands.core.session import Session
from mirrord.domain.entry import EntryId, Kind, digest_of
from mirrord.mirror.read.page_catalogue import Snapshot
from mirrord.mirror.read.page_summary import PageSummary
from mirrord.mirror.tree.tree_layout import directory_of

# Limits of one answer, so that a model can read it.
_MAX_LISTED = 100
_MAX_CHARACTERS = 60_000
_MAX_NODES = 500
_MAX_TREE_BYTES = 7_500  # of a tree as JSON; a node's keys take up to _NODE_BYTES
_NODE_BYTES, _METADATA_BYTES = 104, 60
_MAX_DEPTH = 50


@dataclass(frozen=True, slots=True)
class ListedPage:
    """
    A page, or a folder without a page, with the path of its directory.

    content: of the whole file, if requested and present. content_cut: the content was truncated.
    binding: of an app's page, which it only reads; None: the page is changed here.
    """

    path: str
    title: str
    icon: str | None
    has_children: bool
    page_id: str
    content: str | None = None
    content_cut: bool = False
    binding: str | None = None


@dataclass(frozen=True, slots=True)
class PageList:
    """Pages in sidebar order, parents before children. next_cursor: None at the end."""

    pages: list[ListedPage]
    next_cursor: str | None = None


@dataclass(frozen=True, slots=True)
class PageMetadata:
    """Front matter of a page beside its title. position: an opaque key that sorts its siblings."""

    icon: str | None
    position: str | None
    tags: tuple[str, ...]
    aliases: tuple[str, ...]


@dataclass(slots=True)
class TreeNode:
    """A page or folder with its children. has_more: it has more children than listed here."""

    title: str
    path: str
    page_id: str
    metadata: PageMetadata | None
    children: list["TreeNode"] = field(default_factory=list)
    has_more: bool = False


@dataclass(frozen=True, slots=True)
class PageTree:
    """A hierarchy of pages. truncated: nodes were omitted for size; incomplete nodes have has_more."""

    nodes: list[TreeNode]
    truncated: bool = False


def list_pages(
    session: Session, path: str | None = None, depth: int = 1, include_content: bool = False, cursor: str | None = None
) -> PageList:
    """
    List the pages below a page or folder, or of the whole tree.

    depth: number of levels; 1: only direct children. cursor: from an answer to the same question, to continue it.
    """
    _check_depth(depth)
    with translating_errors():
        snapshot = session.catalogue.snapshot()
        top = find_directory_card(session, snapshot, path)
        directory = directory_of(top.path, top.kind) if top else ""
        question = f"list {directory} {depth}"
        cards = list(_walk_below(snapshot, directory, depth))
        start = start_index([card.path for card in cards], cursor, question)
        cards = cards[start:]
        page = _to_rows(session, snapshot, cards, include_content=include_content)
    is_all = len(page) == len(cards)
    return PageList(page, None if is_all else cursor_of(question, page[-1].path, start + len(page)))


def get_tree(
    session: Session, include_metadata: bool = False, path: str | None = None, depth: int | None = None
) -> PageTree:
    """
    Show the hierarchy of all pages, or of one page and the pages below it.

    depth: number of levels; None: all. The deepest nodes are omitted beyond 8 KB.
    """
    levels = _MAX_DEPTH if depth is None else depth
    _check_depth(levels)
    with translating_errors():
        snapshot = session.catalogue.snapshot()
        top = find_directory_card(session, snapshot, path)
        growth = _Growth(snapshot, include_metadata=include_metadata)
        nodes = growth.sown(snapshot.children("") if top is None else [top])
        growth.grow(levels if top is not None else levels - 1)
    return PageTree(nodes, growth.is_stopped)


class _Growth:
    """A tree built level by level, so that the deepest nodes are omitted first."""

    def __init__(self, snapshot: Snapshot, *, include_metadata: bool) -> None:
        self.is_stopped = False
        self._snapshot = snapshot
        self._include_metadata = include_metadata
        self._room = _MAX_NODES
        self._bytes = _MAX_TREE_BYTES
        self._level: list[tuple[PageSummary, TreeNode]] = []

    def sown(self, cards: Sequence[PageSummary]) -> list[TreeNode]:
        """Nodes of the first of *cards*, as many as fit; they form the next level."""
        fitting = list(takewhile(self._reserve_room, cards[: self._room]))
        if len(fitting) < len(cards):
            self.is_stopped, self._room = True, 0
        self._room -= min(len(fitting), self._room)
        ids = self._snapshot.ids(fitting)
        nodes = [self._to_node(card, ids[card.path]) for card in fitting]
        self._level += zip(fitting, nodes, strict=True)
        return nodes

    def grow(self, levels: int) -> None:
        """Add *levels* levels of children below the current level."""
        for _ in range(levels):
            level, self._level = self._level, []
            for card, node in level:
                if node.has_more and self._room:
                    cards = self._snapshot.children(directory_of(card.path, card.kind))
                    node.children = self.sown(cards)
                    node.has_more = len(node.children) < len(cards)
                self.is_stopped = self.is_stopped or (node.has_more and not self._room)

    def _reserve_room(self, card: PageSummary) -> bool:
        """Whether a node of *card* fits; subtracts its size from the budget."""
        texts = (card.title, card.path, card.icon or "", card.position or "", *card.tags, *card.aliases)
        counted = texts if self._include_metadata else texts[:2]
        self._bytes -= sum(len(text.encode()) + 3 for text in counted) + _NODE_BYTES
        self._bytes -= _METADATA_BYTES if self._include_metadata else 0
        return self._bytes > 0

    def _to_node(self, card: PageSummary, entry: EntryId) -> TreeNode:
        metadata = PageMetadata(card.icon, card.position, card.tags, card.aliases) if self._include_metadata else None
        return TreeNode(card.title, card.path, str(entry), metadata, has_more=self._snapshot.has_children(card))


def _walk_below(snapshot: Snapshot, directory: str, depth: int) -> Iterator[PageSummary]:
    for card in snapshot.children(directory):
        yield card
        if depth > 1:
            yield from _walk_below(snapshot, directory_of(card.path, card.kind), depth - 1)


def _to_rows(
    session: Session, snapshot: Snapshot, cards: Sequence[PageSummary], *, include_content: bool
) -> list[ListedPage]:
    """Rows for the first of *cards*, as many as one answer holds; 8 KB without texts, which are asked for."""
    cards = cards[:_MAX_LISTED]
    ids, room = snapshot.ids(cards), _MAX_CHARACTERS
    if not include_content:
        return take_rows((_to_row(snapshot, card, ids[card.path]) for card in cards), _MAX_LISTED)
    rows: list[ListedPage] = []
    for card in cards:
        content = snapshot.read_text(card.path) if card.kind is Kind.PAGE else None
        text = content.text if content else None
        if text is not None and rows and len(text) > room:
            break
        excerpt = text[:room] if text is not None else None
        room -= len(excerpt or "")
        if text is not None and excerpt == text:
            session.note_shown(card.path, digest_of(text.encode()))
        rows.append(replace(_to_row(snapshot, card, ids[card.path]), content=excerpt, content_cut=excerpt != text))
    return rows


def _to_row(snapshot: Snapshot, card: PageSummary, entry: EntryId) -> ListedPage:
    return ListedPage(card.path, card.title, card.icon, snapshot.has_children(card), str(entry), binding=card.binding)


def _check_depth(depth: int) -> None:
    if not 1 <= depth <= _MAX_DEPTH:
        raise invalid_argument(
            "INVALID_DEPTH", f"The depth is a number from 1 to {_MAX_DEPTH}.", "Use depth=1 or 2, then deeper."
        )
