"""Folders without a page file, under the paths that lists show."""

from mirrord.commands.core import page_paths
from mirrord.commands.core.failure import Failed, page_modified, page_not_found, translating_errors
from mirrord.commands.core.session import Session
from mirrord.domain.entry import Kind, digest_of
from mirrord.mirror.read.page_summary import PageSummary
from mirrord.research.sources.source_listing import is_folder_of_sources, sources_root

NO_TEXT = digest_of(b"")  # digest of the empty text of a folder


def find_plain_folder(session: Session, path: str) -> PageSummary | None:
    """The folder without a page file at *path*, or None."""
    with translating_errors():
        snapshot = session.catalogue.snapshot()
        for exactly in (True, False):
            directory = page_paths.find_directory(session, path, exactly=exactly)
            card = snapshot.find(directory) if directory is not None else None
            if card is not None and card.kind is Kind.FOLDER:
                return card
    return None


def id_of_folder(session: Session, directory: str) -> str:
    """The id in Postgres of the folder at *directory*."""
    snapshot = session.catalogue.snapshot()
    card = snapshot.find(directory)
    assert card is not None
    return str(snapshot.id_of(card))


def folder_to_change(session: Session, path: str, expected_digest: str | None) -> PageSummary:
    """The plain folder to move or delete. Raises Failed for a folder of sources, which has its own tools."""
    card = find_plain_folder(session, path)
    if card is None:
        raise page_not_found(path, session.catalogue.snapshot().similar_pages(path))
    if expected_digest not in (None, NO_TEXT.hex()):
        raise page_modified(card.path)
    if is_folder_of_sources(session, card.path) or sources_root(session).startswith(card.path + "/"):
        sentence = f"{card.path} is a folder of sources, or holds them."
        raise Failed(
            "FOLDER_OF_SOURCES", "forbidden", sentence, "Use rename_folder or delete_folder, or ask the person."
        )
    return card
