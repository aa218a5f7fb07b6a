"""Which folders and sources exist, and names for new ones."""

import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

from mirrord.commands.core import page_paths
from mirrord.commands.core.failure import Failed, invalid_argument, translating_errors
from mirrord.commands.core.page_paths import original_of
from mirrord.commands.core.session import Session
from mirrord.domain.entry import EntryId, Kind
from mirrord.domain.place import clean_name, name_key
from mirrord.markdown.frontmatter.page_text import PageText
from mirrord.mirror.read.page_catalogue import Snapshot
from mirrord.mirror.read.page_summary import PageSummary
from mirrord.mirror.tree.path_spelling import spelling_in_tree
from mirrord.mirror.tree.scoped_tree import check_owned
from mirrord.mirror.tree.tree_layout import SUFFIX, directory_of, is_text, page_path
from mirrord.research.sources.source_kinds import (
    SourceType,
    is_reference_to,
    is_source,
    number_of,
    parse_reference,
    parse_source_type,
)

Reference = int | str | None  # reference to a folder or source: its number, the digits of that, or its UUID
_FOLDER_HINT = "Use an id that list_folders shows."


@dataclass(frozen=True, slots=True)
class Folder:
    """
    A directory of sources below the root of all sources.

    name, path: of the directory. page: path of its page file, or None. parent: the parent folder; None at the top
    level. created: from its page; None if missing.
    """

    entry: EntryId
    name: str
    path: str
    page: str | None
    parent: "Folder | None"
    created: str | None

    @property
    def number(self) -> int:
        """The id that tools show."""
        return number_of(self.entry)


@dataclass(frozen=True, slots=True)
class Source:
    """
    A page that is a source.

    name: of its file or directory, without `.md`. path: of its file. folder: None outside any folder.
    original: path of the attachment it was made from, according to its page; None if missing.
    """

    entry: EntryId
    name: str
    title: str
    path: str
    kind: SourceType
    folder: Folder | None
    original: str | None

    @property
    def number(self) -> int:
        """The id that tools show."""
        return number_of(self.entry)


class Holdings:
    """All folders, parents first, and all sources, both in sidebar order."""

    def __init__(self, folders: Sequence[Folder], sources: Sequence[Source]) -> None:
        self.folders = folders
        self.sources = sources

    def find_folder(self, reference: Reference, code: str, hint: str = _FOLDER_HINT) -> Folder:
        """The folder with this reference. Raises Failed, *code*, if there is none, and if two have the number."""
        folder = _single_match([folder for folder in self.folders if _is_meant(reference, folder.entry)])
        if folder is None:
            raise Failed(code, "not_found", f"There is no folder with the id {reference}.", hint)
        return folder

    def find_parent(self, reference: Reference, code: str, hint: str = _FOLDER_HINT) -> Folder | None:
        """The same, but None for the top level."""
        return None if is_top_level(reference) else self.find_folder(reference, code, hint)

    def find_source(self, reference: Reference, code: str) -> Source:
        """The source with this reference. Raises Failed, *code*, if there is none, and if two have the number."""
        source = _single_match([source for source in self.sources if _is_meant(reference, source.entry)])
        if source is None:
            sentence = f"There is no source with the id {reference}."
            raise Failed(code, "not_found", sentence, "Use an id that list_sources shows.")
        return source

    def sources_named(self, name: str) -> list[Source]:
        """The sources with this name, ignoring case."""
        return [source for source in self.sources if name_key(source.name) == name_key(name)]


def read_holdings(session: Session) -> Holdings:
    """Read all folders and sources below the root of sources."""
    with translating_errors():
        snapshot, root = session.catalogue.snapshot(), sources_root(session)
        members = list(_walk_members(snapshot, root, root, None))
        ids = snapshot.ids([member.card for member in members])
    folders, sources = dict[str, Folder](), list[Source]()
    for member in members:
        parent = folders[member.parent_path] if member.parent_path is not None else None
        if member.is_source:
            sources.append(_to_source(member.card, ids[member.card.path], parent))
        else:
            folder = _to_folder(member.card, ids[member.card.path], parent)
            folders[folder.path] = folder
    return Holdings(list(folders.values()), sources)


def sources_root(session: Session) -> str:
    """Root directory of all sources in the spelling of the tree; the configured name if it does not exist."""
    return spelling_in_tree(session.tree, session.sources_dir) or session.sources_dir


def is_folder_of_sources(session: Session, directory: str) -> bool:
    """Whether *directory*, which has an index file, is the root of sources or a folder below it, not a source."""
    root = sources_root(session)
    if directory == root or not directory.startswith(root + "/"):
        return directory == root
    card = session.catalogue.snapshot().exact_page(page_path("", directory, index=True))
    return card is None or not is_source(card.path, card.type, root)


def is_top_level(reference: Reference) -> bool:
    """Whether the reference means the top level, outside any folder."""
    return (
        reference is None or (isinstance(reference, str) and not reference.strip()) or parse_reference(reference) == 0
    )


def number_of_folder(folder: Folder | None) -> int | None:
    """The number of a folder; None: the top level."""
    return folder.number if folder is not None else None


def source_text(text: str) -> str:
    """The body of a source file; offsets of segments count its code points."""
    return PageText(text).body


@dataclass(frozen=True, slots=True)
class _Member:
    """A folder or source found in the tree. parent_path: of its parent folder."""

    card: PageSummary
    parent_path: str | None
    is_source: bool


def _walk_members(
    snapshot: Snapshot, root: str, directory: str, parent_path: str | None, *, inside: bool = False
) -> Iterator[_Member]:
    """Walk folders and sources. inside: below a source, whose directories are no folders."""
    for card in snapshot.children(directory):
        path, is_source_page = directory_of(card.path, card.kind), is_source(card.path, card.type, root)
        is_folder = not is_source_page and not inside and (card.kind is Kind.FOLDER or snapshot.has_directory(card))
        if is_source_page or is_folder:
            yield _Member(card, parent_path, is_source_page)
        if snapshot.has_children(card):
            yield from _walk_members(
                snapshot, root, path, path if is_folder else parent_path, inside=inside or is_source_page
            )


def _to_folder(card: PageSummary, entry: EntryId, parent: Folder | None) -> Folder:
    path, page = directory_of(card.path, card.kind), card.path if card.kind is Kind.PAGE else None
    return Folder(entry, path.rpartition("/")[2], path, page, parent, card.created)


def _to_source(card: PageSummary, entry: EntryId, parent: Folder | None) -> Source:
    name = directory_of(card.path, card.kind).rpartition("/")[2]
    return Source(entry, name, card.title, card.path, parse_source_type(card.source_type), parent, original_of(card))


def _is_meant(reference: Reference, entry: EntryId) -> bool:
    number_or_id = parse_reference(reference) if reference is not None else None
    return number_or_id is not None and is_reference_to(number_or_id, entry)


T = TypeVar("T", Folder, Source)


def _single_match(matches: Sequence[T]) -> T | None:
    if len(matches) > 1:
        both = " and ".join(match.path for match in matches)
        raise invalid_argument(
            "AMBIGUOUS_ID", f"{both} have the same number.", "Ask by the UUID, which read_page returns."
        )
    return matches[0] if matches else None


_MAX_NAME_CHARACTERS = 255  # characters
_USE_OTHER_NAME = "Use another name, or put it elsewhere."


def validate_name(name: str, code: str) -> str:
    """*name* in the composition the tree uses. Raises Failed, `CODE/INVALID_NAME`, for an invalid name."""
    if not is_text(name):
        raise invalid_argument(f"{code}/INVALID_NAME", "The name is not Unicode text.", "Send plain text.")
    composed = unicodedata.normalize("NFC", name)
    if (reason := _objection_to(composed)) is None:
        return composed
    proposal = clean_name(composed.removesuffix(SUFFIX), "1")
    sentence = f"The name {composed[:_MAX_NAME_CHARACTERS]!r} {reason}."
    raise invalid_argument(f"{code}/INVALID_NAME", sentence, f"Use another name, such as {proposal!r}.")


def check_free(session: Session, directory: str, name: str, code: str, level: Folder | None) -> None:
    """Raises Failed, `CODE/DUPLICATE_NAME`, if *directory*, that of *level*, has an entry with an equal name key."""
    if name_key(name) in page_paths.taken_keys(session.tree, directory):
        raise name_taken(name, code, level)


def check_rights(session: Session, *paths: str) -> None:
    """Raises Failed, OUT_OF_SCOPE, unless the session may move and remove what is at *paths*, with all below it."""
    with translating_errors():
        check_owned(session.tree, *paths)


def check_place(session: Session, path: str, name: str, code: str) -> None:
    """Raises Failed, `CODE/INVALID_NAME`, if a file at *path*, which follows from *name*, would never be synced."""
    try:
        page_paths.check_depth(path)
        page_paths.check_not_ignored(session.tree, path)
    except Failed as failed:
        raise invalid_argument(
            f"{code}/INVALID_NAME", f"The name {name!r} cannot be used there: {failed}", _USE_OTHER_NAME
        ) from failed


def name_taken(name: str, code: str, level: Folder | None) -> Failed:
    """Failure for a name that is taken in a folder; None: at the top level."""
    sentence = f"There is something called {name!r} {folder_phrase(level)} already (upper and lower case are the same)."
    return Failed(f"{code}/DUPLICATE_NAME", "conflict", sentence, "Use another name, or what is there.")


def folder_phrase(level: Folder | None) -> str:
    """Phrase that names the folder."""
    return f"in the folder {level.name!r}" if level is not None else "at the top level"


def _objection_to(name: str) -> str | None:
    if not name.strip():
        return "is blank"
    if len(name) > _MAX_NAME_CHARACTERS:
        return f"has more than {_MAX_NAME_CHARACTERS} characters"
    for sign in "/\\":
        if sign in name:
            return f"contains {sign}"
    return f"ends in {SUFFIX}, as files of pages do" if name.endswith(SUFFIX) else page_paths.name_objection(name)
