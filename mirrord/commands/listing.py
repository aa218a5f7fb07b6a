"""The agent looks at which pages there are: as a list, as a tree."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import takewhile
from math import inf

from mirrord.commands.cursor import cursor_of, start_of
from mirrord.commands.failure import explained, invalid
from mirrord.commands.finding import directory_card
from mirrord.commands.session import Session
from mirrord.domain.entry import EntryId, Kind, digest_of
from mirrord.mirror.card import Card
from mirrord.mirror.catalogue import Snapshot
from mirrord.mirror.layout import directory_of

# What an answer may hold, so that a model can read it.
_MAX_LISTED = 100
_MAX_CHARACTERS = 60_000
_MAX_NODES = 500
_MAX_TREE_BYTES = 7_500  # of a whole tree as JSON, if nobody says how deep; a node's keys take up to _NODE_BYTES
_NODE_BYTES, _METADATA_BYTES = 104, 60
_MAX_DEPTH = 50


@dataclass(frozen=True, slots=True)
class Listed:
    """
    A page, or a folder without a page, which has its directory's path.

    content: of the whole file, if it was asked for and there is any; content_cut: there is more of it.
    """

    path: str
    title: str
    icon: str | None
    has_children: bool
    page_id: str
    content: str | None = None
    content_cut: bool = False


@dataclass(frozen=True, slots=True)
class Listing:
    """Pages in the order of the sidebar, each before what is below it. next_cursor: None when that was all."""

    pages: list[Listed]
    next_cursor: str | None = None


@dataclass(frozen=True, slots=True)
class Metadata:
    """What a page's front matter says beside its title. position: an opaque key its siblings are sorted by."""

    icon: str | None
    position: str | None
    tags: tuple[str, ...]
    aliases: tuple[str, ...]


@dataclass(slots=True)
class Node:
    """A page or folder with what is below it. has_more: there is more below it than its children here."""

    title: str
    path: str
    page_id: str
    metadata: Metadata | None
    children: list["Node"] = field(default_factory=list)
    has_more: bool = False


@dataclass(frozen=True, slots=True)
class Tree:
    """truncated: something was left out because it was too much; nodes that have more say so."""

    nodes: list[Node]
    truncated: bool = False


def list_pages(
    session: Session, path: str | None = None, depth: int = 1, include_content: bool = False, cursor: str | None = None
) -> Listing:
    """
    List what is below a page or folder, or in the whole tree.

    depth: of levels; 1: only what is right below. cursor: of an answer to the same question, to go on behind it.
    """
    _check_depth(depth)
    with explained():
        snapshot = session.catalogue.look()
        top = directory_card(session, snapshot, path)
        directory = directory_of(top.path, top.kind) if top else ""
        question = f"list {directory} {depth}"
        cards = list(_below(snapshot, directory, depth))
        start = start_of([card.path for card in cards], cursor, question)
        cards = cards[start:]
        listed = _listed(session, snapshot, cards, include_content=include_content)
    is_all = len(listed) == len(cards)
    return Listing(listed, None if is_all else cursor_of(question, listed[-1].path, start + len(listed)))


def get_tree(
    session: Session, include_metadata: bool = False, path: str | None = None, depth: int | None = None
) -> Tree:
    """
    Show the hierarchy of pages, all of it or a page with what is below it.

    depth: of levels; None: all, but what lies deepest is left out where it would become longer than a few thousand
    tokens.
    """
    levels = _MAX_DEPTH if depth is None else depth
    _check_depth(levels)
    with explained():
        snapshot = session.catalogue.look()
        top = directory_card(session, snapshot, path)
        growth = _Growth(snapshot, include_metadata=include_metadata, is_short=depth is None)
        nodes = growth.sown(snapshot.children("") if top is None else [top])
        growth.grow(levels if top is not None else levels - 1)
    return Tree(nodes, growth.is_stopped)


class _Growth:
    """A tree that grows level by level, so that what is left out is what lies deepest."""

    def __init__(self, snapshot: Snapshot, *, include_metadata: bool, is_short: bool) -> None:
        self.is_stopped = False
        self._snapshot = snapshot
        self._include_metadata = include_metadata
        self._room = _MAX_NODES
        self._bytes = float(_MAX_TREE_BYTES) if is_short else inf
        self._level: list[tuple[Card, Node]] = []

    def sown(self, cards: Sequence[Card]) -> list[Node]:
        """Nodes of the first of *cards*, as many as there is room for; they grow next."""
        taken = list(takewhile(self._holds, cards[: self._room]))
        if len(taken) < len(cards):
            self.is_stopped, self._room = True, 0
        self._room -= min(len(taken), self._room)
        ids = self._snapshot.ids(taken)
        nodes = [self._node(card, ids[card.path]) for card in taken]
        self._level += zip(taken, nodes, strict=True)
        return nodes

    def grow(self, levels: int) -> None:
        """Give all that was sown children, and these theirs."""
        for _ in range(levels):
            grown, self._level = self._level, []
            for card, node in grown:
                if node.has_more and self._room:
                    cards = self._snapshot.children(directory_of(card.path, card.kind))
                    node.children = self.sown(cards)
                    node.has_more = len(node.children) < len(cards)
                self.is_stopped = self.is_stopped or (node.has_more and not self._room)

    def _holds(self, card: Card) -> bool:
        """Whether there is room for a node of *card*, which is taken then."""
        said = (card.title, card.path, card.icon or "", card.position or "", *card.tags, *card.aliases)
        shown = said if self._include_metadata else said[:2]
        self._bytes -= sum(len(one.encode()) + 3 for one in shown) + _NODE_BYTES
        self._bytes -= _METADATA_BYTES if self._include_metadata else 0
        return self._bytes > 0

    def _node(self, card: Card, entry: EntryId) -> Node:
        metadata = Metadata(card.icon, card.position, card.tags, card.aliases) if self._include_metadata else None
        return Node(card.title, card.path, str(entry), metadata, has_more=self._snapshot.has_children(card))


def _below(snapshot: Snapshot, directory: str, depth: int) -> Iterator[Card]:
    for card in snapshot.children(directory):
        yield card
        if depth > 1:
            yield from _below(snapshot, directory_of(card.path, card.kind), depth - 1)


def _listed(session: Session, snapshot: Snapshot, cards: Sequence[Card], *, include_content: bool) -> list[Listed]:
    """The first of *cards*, as many as an answer holds."""
    cards = cards[:_MAX_LISTED]
    ids, room = snapshot.ids(cards), _MAX_CHARACTERS
    found: list[Listed] = []
    for card in cards:
        whole = snapshot.read(card.path) if include_content and card.kind is Kind.PAGE else None
        text = whole.text if whole else None
        if text is not None and found and len(text) > room:
            break
        shown = text[:room] if text is not None else None
        room -= len(shown or "")
        if text is not None and shown == text:
            session.saw(card.path, digest_of(text.encode()))
        has_children = snapshot.has_children(card)
        found.append(Listed(card.path, card.title, card.icon, has_children, str(ids[card.path]), shown, shown != text))
    return found


def _check_depth(depth: int) -> None:
    if not 1 <= depth <= _MAX_DEPTH:
        raise invalid(
            "INVALID_DEPTH", f"The depth is a number from 1 to {_MAX_DEPTH}.", "Use depth=1 or 2, then deeper."
        )
