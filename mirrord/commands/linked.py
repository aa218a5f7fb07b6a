"""The agent asks what a page links to, and what links to it."""

from dataclasses import dataclass

from mirrord.commands.failure import explained
from mirrord.commands.finding import found_card
from mirrord.commands.session import Session
from mirrord.domain.linking import key_of
from mirrord.mirror.catalogue import Snapshot
from mirrord.mirror.linkage import Target

_MAX_LINKS = 500  # of each direction: what a model can read


@dataclass(frozen=True, slots=True)
class Linked:
    """One end of a link. title: of the page, or what was written; path: None where the link means nothing certain."""

    title: str
    path: str | None


@dataclass(frozen=True, slots=True)
class PageLinks:
    """
    The links of a page to and from others, each of them once.

    outgoing: in the order of the page; incoming: by path. left_out: how many there are beyond what an answer holds.
    """

    outgoing: list[Linked]
    incoming: list[Linked]
    left_out: int = 0


def get_page_links(session: Session, path: str) -> PageLinks:
    """Show what a page or folder links to, and which pages link to it."""
    with explained():
        snapshot = session.catalogue.look()
        card = found_card(session, snapshot, path)
        targets: dict[str, Target] = {}
        for target in session.linkage.outgoing(snapshot, card.path):
            if target.path != card.path:
                targets.setdefault(target.path or f"\0{key_of(target.written)}", target)
        outgoing = [_linked(snapshot, target.written, target.path) for target in targets.values()]
        incoming = [_linked(snapshot, page, page) for page in session.linkage.incoming(snapshot, card.path)]
    left_out = sum(max(0, len(one) - _MAX_LINKS) for one in (outgoing, incoming))
    return PageLinks(outgoing[:_MAX_LINKS], incoming[:_MAX_LINKS], left_out)


def _linked(snapshot: Snapshot, written: str, path: str | None) -> Linked:
    page = snapshot.page(path) if path is not None else None
    return Linked(page.title if page else (path or "").rpartition("/")[2] or written, path)
