"""Attachments that only one page uses, and that therefore move with it."""

from posixpath import normpath, relpath

from mirrord.commands.session import Session
from mirrord.domain.entry import Kind
from mirrord.mirror.card import PageSummary
from mirrord.mirror.layout import parent_of, spot_of_file


def original_of(card: PageSummary) -> str | None:
    """Path of the attachment named by a page as its original, which need not exist, or None."""
    if card.original is None or card.original.startswith("/") or "://" in card.original:
        return None
    path = normpath(f"{parent_of(card.path)}/{card.original}".lstrip("/"))
    spot = spot_of_file(path)
    return path if spot is not None and spot.kind is Kind.ATTACHMENT else None


def original_link(page: str, path: str) -> str:
    """Link of the page at *page* to its original at *path*."""
    link = relpath(path, parent_of(page) or ".")
    return link if link.startswith("../") else f"./{link}"


def own_attachments(session: Session, path: str) -> list[str]:
    """Attachments in the folder of the page at *path* that it, and no other page, links to or was made from."""
    snapshot = session.catalogue.snapshot()
    folder = parent_of(path)
    linked_paths = {target.path for target in session.linkage.outgoing(snapshot, path)}
    origins = {
        page: origin for page, card in snapshot.summaries_by_path.items() if (origin := original_of(card)) is not None
    }
    original, other_originals = origins.pop(path, None), set(origins.values())
    candidates = [
        attachment
        for attachment in snapshot.attachments
        if (attachment in linked_paths or attachment == original) and _folder_of_attachment(attachment) == folder
    ]
    return [
        attachment
        for attachment in candidates
        if attachment not in other_originals and {*session.linkage.incoming(snapshot, attachment)} <= {path}
    ]


def _folder_of_attachment(attachment: str) -> str | None:
    spot = spot_of_file(attachment)
    return spot.folder if spot is not None else None
