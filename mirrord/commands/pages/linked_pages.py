"""The command that lists links from and to a page."""

from dataclasses import dataclass

from mirrord.commands.core.failure import translating_errors
from mirrord.commands.core.page_paths import find_card
from mirrord.commands.core.session import Session
from mirrord.domain.link_meaning import key_of
from mirrord.mirror.read.link_index import Target
from mirrord.mirror.read.page_catalogue import Snapshot

_MAX_LINKS = 500  # in each direction, so that a model can read them


@dataclass(frozen=True, slots=True)
class LinkEnd:
    """One end of a link. title: of the page, or the written text. path: None for an unresolved link."""

    title: str
    path: str | None


@dataclass(frozen=True, slots=True)
class PageLinks:
    """
    The links of a page to and from others, each once.

    outgoing: in text order. incoming: by path. left_out: number of links beyond the limit of an answer.
    """

    outgoing: list[LinkEnd]
    incoming: list[LinkEnd]
    left_out: int = 0


def get_page_links(session: Session, path: str) -> PageLinks:
    """Show the links of a page or folder to other pages, and the pages that link to it."""
    with translating_errors():
        snapshot = session.catalogue.snapshot()
        card = find_card(session, snapshot, path)
        targets: dict[str, Target] = {}
        for target in session.linkage.outgoing(snapshot, card.path):
            if target.path != card.path:
                targets.setdefault(target.path or f"\0{key_of(target.written)}", target)
        outgoing = [_to_link(snapshot, target.written, target.path) for target in targets.values()]
        incoming = [_to_link(snapshot, page, page) for page in session.linkage.incoming(snapshot, card.path)]
    left_out = sum(max(0, len(links) - _MAX_LINKS) for links in (outgoing, incoming))
    return PageLinks(outgoing[:_MAX_LINKS], incoming[:_MAX_LINKS], left_out)


def _to_link(snapshot: Snapshot, written: str, path: str | None) -> LinkEnd:
    page = snapshot.exact_page(path) if path is not None else None
    return LinkEnd(page.title if page else (path or "").rpartition("/")[2] or written, path)
