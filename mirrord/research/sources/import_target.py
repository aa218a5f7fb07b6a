"""What a file becomes when it is imported: the place of its source, of its copy and of its pictures."""

import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePath

from mirrord.commands.core import page_paths
from mirrord.commands.core.failure import translating_errors
from mirrord.commands.core.session import Session
from mirrord.commands.pages import attachment_commands, page_writes
from mirrord.domain.approval import ABSENT_DIGEST
from mirrord.domain.place import clean_name, name_key, numbered_names, unused_name
from mirrord.mirror.tree.scoped_tree import may_write
from mirrord.mirror.tree.tree_layout import attachment_path, is_temporary, page_path
from mirrord.research.sources import original_files, source_listing
from mirrord.research.sources.original_files import IMPORT_CODE, Original
from mirrord.research.sources.source_listing import (
    Folder,
    Holdings,
    Reference,
    Source,
    number_of_folder,
    read_holdings,
    sources_root,
)


@dataclass(frozen=True, slots=True)
class SourcePlace:
    """The place of a new source. directory: of its page."""

    name: str
    folder: Folder | None
    directory: str

    @property
    def page(self) -> str:
        """Path of its page."""
        return page_path(self.directory, self.name)

    @property
    def folder_id(self) -> int | None:
        """The number of its folder; None: no folder."""
        return number_of_folder(self.folder)


@dataclass(frozen=True, slots=True)
class ImportTarget:
    """
    What a new source becomes in the tree as it is now.

    sha256: of the original. copy_path: of its copy; None: it is only linked. pictures: a free directory for those of
    the page. duplicates: sources of the same bytes.
    """

    sha256: str
    place: SourcePlace
    copy_path: str | None
    pictures: str
    duplicates: Sequence[Source]

    def bases(self, session: Session) -> Mapping[str, str]:
        """
        The files that decide about it, as in Preview; of duplicates those that the session may write.

        A file that does not exist stands for the directory of the pictures, and for the bytes that are imported.
        """
        paths = [source.path for source in self.duplicates if may_write(session.tree, source.path)]
        paths += [self.copy_path] if self.copy_path is not None else []
        current = {path: page_writes.current_digest(session, path) for path in paths}
        bases = {path: digest.hex() if digest is not None else ABSENT_DIGEST for path, digest in current.items()}
        return bases | {self.place.page: ABSENT_DIGEST, f"{self.pictures}/{self.sha256}": ABSENT_DIGEST}


@dataclass(frozen=True, slots=True)
class ImportWish:
    """What was asked for. is_copied: the file is kept beside the page. folder_id, name: of the source."""

    is_copied: bool
    folder_id: Reference
    name: str | None


def choose_target(session: Session, original: Original, wish: ImportWish) -> ImportTarget:
    """What *original* becomes in the tree as it is now. Raises Failed if the name or the folder cannot be had."""
    all_holdings = read_holdings(session)
    place = _choose_place(session, all_holdings, original, wish)
    with translating_errors():
        pictures = _pictures_directory(session, place)
    copy_path = _copy_path(session, place, original) if wish.is_copied else None
    duplicates = original_files.find_duplicates(session, all_holdings, original.sha256)
    return ImportTarget(original.sha256, place, copy_path, pictures, duplicates)


def _choose_place(session: Session, all_holdings: Holdings, original: Original, wish: ImportWish) -> SourcePlace:
    folder, name = all_holdings.find_parent(wish.folder_id, f"{IMPORT_CODE}/FOLDER_NOT_FOUND"), wish.name
    directory = folder.path if folder is not None else sources_root(session)
    if name is None:
        source_name = _free_source_name(session, all_holdings, directory, PurePath(original.name).stem or original.name)
    else:
        source_name = source_listing.validate_name(name, IMPORT_CODE)
        for other in all_holdings.sources_named(source_name):
            raise source_listing.name_taken(source_name, IMPORT_CODE, other.folder)
        source_listing.check_free(session, directory, source_name, IMPORT_CODE, folder)
    place = SourcePlace(source_name, folder, directory)
    source_listing.check_place(session, place.page, source_name, IMPORT_CODE)
    return place


def _free_source_name(session: Session, all_holdings: Holdings, directory: str, base_name: str) -> str:
    """A name like *base_name* that no source and no entry of *directory* has, ignoring case."""
    used = page_paths.taken_keys(session.tree, directory) | {name_key(source.name) for source in all_holdings.sources}
    return unused_name(clean_name(unicodedata.normalize("NFC", base_name), "source"), used)


def _copy_path(session: Session, place: SourcePlace, original: Original) -> str:
    """Path of the copied file in the tree, which may exist already."""
    name = clean_name(original.name, "original")
    name = f"{name}.original" if is_temporary(name) else name
    return attachment_commands.place_attachment(session, place.directory, name, original.digest)[0]


def _pictures_directory(session: Session, place: SourcePlace) -> str:
    """A free attachment directory for the pictures of the page."""
    paths = (attachment_path(place.directory, name) for name in numbered_names(place.name))
    return next(path for path in paths if session.tree.stat(path) is None)
