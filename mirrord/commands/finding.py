"""Catalogue entries for paths in arguments."""

from mirrord.commands import paths
from mirrord.commands.failure import page_not_found
from mirrord.commands.session import Session
from mirrord.mirror.card import PageSummary
from mirrord.mirror.catalogue import Snapshot

_ROOT_PATHS = ("", "/", ".")


def find_directory_card(session: Session, snapshot: Snapshot, path: str | None) -> PageSummary | None:
    """The page or folder at *path*; None for the root. Raises Failed if it is missing."""
    return None if path is None or path in _ROOT_PATHS else find_card(session, snapshot, path)


def find_card(session: Session, snapshot: Snapshot, path: str) -> PageSummary:
    """The page or folder at *path*, with or without `.md`. Raises Failed if it is missing."""
    card = _find_card(session, snapshot, path, exactly=True) or _find_card(session, snapshot, path, exactly=False)
    if card is None:
        raise page_not_found(path, snapshot.similar_pages(path))
    return card


def _find_card(session: Session, snapshot: Snapshot, path: str, *, exactly: bool) -> PageSummary | None:
    if (page := paths.find_page_path(session, path, exactly=exactly)) and (card := snapshot.exact_page(page)):
        return card
    folder = paths.find_directory(session, path, exactly=exactly)
    return snapshot.find(folder) if folder else None
