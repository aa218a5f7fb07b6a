"""Catalogue entries for paths in arguments."""

from mirrord.commands import paths
from mirrord.commands.failure import page_not_found
from mirrord.commands.session import Session
from mirrord.mirror.card import Card
from mirrord.mirror.catalogue import Snapshot

_ROOT_PATHS = ("", "/", ".")


def directory_card(session: Session, snapshot: Snapshot, path: str | None) -> Card | None:
    """The page or folder at *path*; None for the root. Raises Failed if it is missing."""
    return None if path is None or path in _ROOT_PATHS else found_card(session, snapshot, path)


def found_card(session: Session, snapshot: Snapshot, path: str) -> Card:
    """The page or folder at *path*, with or without `.md`. Raises Failed if it is missing."""
    card = _find_card(session, snapshot, path, exactly=True) or _find_card(session, snapshot, path, exactly=False)
    if card is None:
        raise page_not_found(path, snapshot.nearest(path))
    return card


def _find_card(session: Session, snapshot: Snapshot, path: str, *, exactly: bool) -> Card | None:
    if (page := paths.existing(session, path, exactly=exactly)) and (card := snapshot.page(page)):
        return card
    folder = paths.folder(session, path, exactly=exactly)
    return snapshot.find(folder) if folder else None
