"""Which folders and sources there are, as the tree is right now."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

from mirrord.codec.frontmatter import split
from mirrord.commands.belongings import original_of
from mirrord.commands.failure import explained, invalid
from mirrord.commands.session import Session
from mirrord.domain.entry import EntryId, Kind
from mirrord.domain.number import asked_for, means, number_of
from mirrord.domain.place import name_key
from mirrord.domain.source import SourceType, is_source, source_type
from mirrord.mirror.card import Card
from mirrord.mirror.catalogue import Snapshot
from mirrord.mirror.layout import directory_of, page_path
from mirrord.mirror.spelling import spelt

Reference = int | str | None  # how a folder or source is asked for: its number, the digits of that, or its UUID


@dataclass(frozen=True, slots=True)
class Folder:
    """
    A directory of sources below the one of all sources.

    name: of the directory. path: the directory's. page: the path of its page's file; None: it has none.
    parent: the folder it is in; None: none. created: as its page says; None: it does not.
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

    name: of its file, or directory, without `.md`. path: of its file. folder: None: it is in none.
    original: the path of the attachment it was made from, as its page says; None: it does not.
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
    """Folders before what is in them, both in the order of the sidebar."""

    def __init__(self, folders: Sequence[Folder], sources: Sequence[Source]) -> None:
        self.folders = folders
        self.sources = sources

    def folder(self, reference: Reference) -> Folder | None:
        """The folder that somebody asks for; None: there is none. Raises Failed if two have that number."""
        return _only([one for one in self.folders if _is(reference, one.entry)])

    def source(self, reference: Reference) -> Source | None:
        """The source that somebody asks for; None: there is none. Raises Failed if two have that number."""
        return _only([one for one in self.sources if _is(reference, one.entry)])

    def named(self, name: str) -> list[Source]:
        """The sources of that name, whatever its case."""
        return [one for one in self.sources if name_key(one.name) == name_key(name)]


def holdings(session: Session) -> Holdings:
    """Look at all that is below the directory of sources."""
    with explained():
        snapshot, root = session.catalogue.look(), top(session)
        found = list(_below(snapshot, root, root, None))
        ids = snapshot.ids([one.card for one in found])
    folders, sources = dict[str, Folder](), list[Source]()
    for one in found:
        above = folders[one.above] if one.above is not None else None
        if one.is_source:
            sources.append(_source(one.card, ids[one.card.path], above))
        else:
            folder = _folder(one.card, ids[one.card.path], above)
            folders[folder.path] = folder
    return Holdings(list(folders.values()), sources)


def top(session: Session) -> str:
    """The directory of all sources as the tree spells it; as it is to be, where it is not there."""
    return spelt(session.tree, session.sources_dir) or session.sources_dir


def is_folder_of_sources(session: Session, directory: str) -> bool:
    """Whether *directory*, which has an index file, is the one of all sources, or below it and not a source's own."""
    root = top(session)
    if directory == root or not directory.startswith(root + "/"):
        return directory == root
    card = session.catalogue.look().page(page_path("", directory, index=True))
    return card is None or not is_source(card.path, card.type, root)


def is_top(reference: Reference) -> bool:
    """Whether somebody means no folder, but what is in none."""
    return reference is None or (isinstance(reference, str) and not reference.strip()) or asked_for(reference) == 0


def text_of(text: str) -> str:
    """The text of a source, of all of its file: offsets of segments are code points of this."""
    return split(text).body


@dataclass(frozen=True, slots=True)
class _Found:
    """above: the path of the folder it is in."""

    card: Card
    above: str | None
    is_source: bool


def _below(
    snapshot: Snapshot, root: str, directory: str, above: str | None, *, inside: bool = False
) -> Iterator[_Found]:
    """inside: a source, whose directories are no folders."""
    for card in snapshot.children(directory):
        path, is_one = directory_of(card.path, card.kind), is_source(card.path, card.type, root)
        is_folder = not is_one and not inside and (card.kind is Kind.FOLDER or snapshot.has_directory(card))
        if is_one or is_folder:
            yield _Found(card, above, is_one)
        if snapshot.has_children(card):
            yield from _below(snapshot, root, path, path if is_folder else above, inside=inside or is_one)


def _folder(card: Card, entry: EntryId, above: Folder | None) -> Folder:
    path, page = directory_of(card.path, card.kind), card.path if card.kind is Kind.PAGE else None
    return Folder(entry, path.rpartition("/")[2], path, page, above, card.created)


def _source(card: Card, entry: EntryId, above: Folder | None) -> Source:
    name = directory_of(card.path, card.kind).rpartition("/")[2]
    return Source(entry, name, card.title, card.path, source_type(card.source_type), above, original_of(card))


def _is(reference: Reference, entry: EntryId) -> bool:
    asked = asked_for(reference) if reference is not None else None
    return asked is not None and means(asked, entry)


T = TypeVar("T", Folder, Source)


def _only(found: Sequence[T]) -> T | None:
    if len(found) > 1:
        both = " and ".join(one.path for one in found)
        raise invalid("AMBIGUOUS_ID", f"{both} have the same number.", "Ask by the UUID, which read_page returns.")
    return found[0] if found else None
