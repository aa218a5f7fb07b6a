"""The attachments that only one page uses, and so go where it goes."""

from mirrord.commands.session import Session
from mirrord.domain.entry import Kind
from mirrord.domain.source import original_path
from mirrord.mirror.card import Card
from mirrord.mirror.layout import attachment_path, parent_of, spot_of_file


def original_of(card: Card) -> str | None:
    """The path of the attachment that a page says it was made from, there or not; None: it says nothing of the kind."""
    path = original_path(card.path, card.original) if card.original is not None else None
    spot = spot_of_file(path) if path is not None else None
    return path if spot is not None and spot.kind is Kind.ATTACHMENT else None


def own_attachments(session: Session, path: str) -> list[str]:
    """Attachments in the folder of the page at *path* that it links to, or was made from, and no other page."""
    snapshot = session.catalogue.look()
    above = attachment_path(parent_of(path), "").rstrip("/") + "/"
    meant = {target.path for target in session.linkage.outgoing(snapshot, path)}
    origins = {page: origin for page, card in snapshot.every.items() if (origin := original_of(card)) is not None}
    own, others = origins.pop(path, None), set(origins.values())
    beside = [one for one in snapshot.attachments if one.startswith(above) and (one in meant or one == own)]
    return [one for one in beside if one not in others and {*session.linkage.incoming(snapshot, one)} <= {path}]
