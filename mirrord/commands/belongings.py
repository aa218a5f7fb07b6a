"""The attachments that only one page uses, and so go where it goes."""

from posixpath import normpath, relpath

from mirrord.commands.session import Session
from mirrord.domain.entry import Kind
from mirrord.mirror.card import Card
from mirrord.mirror.layout import parent_of, spot_of_file


def original_of(card: Card) -> str | None:
    """The path of the attachment that a page says it was made from, there or not; None: it says nothing of the kind."""
    if card.original is None or card.original.startswith("/") or "://" in card.original:
        return None
    path = normpath(f"{parent_of(card.path)}/{card.original}".lstrip("/"))
    spot = spot_of_file(path)
    return path if spot is not None and spot.kind is Kind.ATTACHMENT else None


def original_link(page: str, path: str) -> str:
    """What the page at path *page* says to have been made from the attachment at *path*."""
    link = relpath(path, parent_of(page) or ".")
    return link if link.startswith("../") else f"./{link}"


def own_attachments(session: Session, path: str) -> list[str]:
    """Attachments of the folder of the page at *path* that it links to, or was made from, and no other page."""
    snapshot = session.catalogue.look()
    folder = parent_of(path)
    meant = {target.path for target in session.linkage.outgoing(snapshot, path)}
    origins = {page: origin for page, card in snapshot.every.items() if (origin := original_of(card)) is not None}
    own, others = origins.pop(path, None), set(origins.values())
    near = [one for one in snapshot.attachments if (one in meant or one == own) and _folder_of(one) == folder]
    return [one for one in near if one not in others and {*session.linkage.incoming(snapshot, one)} <= {path}]


def _folder_of(attachment: str) -> str | None:
    spot = spot_of_file(attachment)
    return spot.folder if spot is not None else None
