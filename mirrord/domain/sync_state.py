"""The three states of an entry: what both sides agreed on, what the file shows, what the row says."""

from dataclasses import dataclass

from mirrord.domain.entry import Digest, EntryId, Kind, Place

NO_TEXT = Digest(b"")  # the digest of a folder: it exists, but has no page file


@dataclass(frozen=True, slots=True)
class Base:
    """
    The last state that both sides of this mirror agreed on.

    path: of the file; None if another entry has taken the path since.
    claimed: the `id:` text of the file when its identity was decided.
    saved: the newest version that came from this file; None: no version is known to have come from it.
    """

    entry: EntryId
    kind: Kind
    path: str | None
    place: Place
    version: int
    digest: Digest
    claimed: str | None
    saved: int | None = None


@dataclass(frozen=True, slots=True)
class File:
    """
    The current file in the tree.

    data: None if it was not read again. is_contested: the base of another entry still has this path.
    is_held_open: a program has had it open for writing for a long time; this is its content at one moment.
    succeeds: the folder, without a page file so far, whose directory this page joins, with its name and children.
    """

    kind: Kind
    path: str
    place: Place
    digest: Digest
    claimed: str | None = None
    data: bytes | None = None
    is_contested: bool = False
    is_held_open: bool = False
    succeeds: EntryId | None = None


@dataclass(frozen=True, slots=True)
class UnreadableFile:
    """The file cannot be judged now (unreadable, open for writing, not a file): no decision for this entry."""

    path: str
    sentence: str
    is_temporary: bool = True  # False: it lasts until a person changes the file


@dataclass(frozen=True, slots=True)
class Row:
    """
    The current row in Postgres.

    digest: None until the text that an app wrote has been read.
    placed: the name is cleaned and its key is set; False until mirrord has done so.
    purged: the row was deleted so long ago that it was removed; place and version have no meaning.
    """

    entry: EntryId
    kind: Kind
    place: Place
    placed: bool
    version: int
    digest: Digest | None
    deleted: bool
    ahead: frozenset[str] = frozenset()
    title: str | None = None
    purged: bool = False


@dataclass(frozen=True, slots=True)
class State:
    """One entry as observed. file None: absent. row None: there is no row, not even a tombstone."""

    entry: EntryId
    base: Base | None
    file: File | UnreadableFile | None
    row: Row | None
