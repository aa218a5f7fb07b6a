"""The three states of an entry: what both sides agreed on, what the file shows, what the row says."""

from dataclasses import dataclass

from mirrord.domain.entry import Digest, EntryId, Kind, Place

NO_TEXT = Digest(b"")  # the digest of a folder: it is there, but has no page file


@dataclass(frozen=True, slots=True)
class Base:
    """
    What both sides of this mirror last agreed on.

    path: where the file was; None when another entry has taken its path since.
    claimed: the `id:` text the file showed when its identity was decided.
    saved: the newest version that came from this file; None: every version came from elsewhere, as far as is known.
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
    What the tree shows now.

    data: None where it was not read again. contested: another entry's base still says that this path is its own.
    held: a program has had it open for writing for long; this is what was in it at one moment.
    succeeds: the folder without a page file to whose directory this page came: its name and children become this one's.
    """

    kind: Kind
    path: str
    place: Place
    digest: Digest
    claimed: str | None = None
    data: bytes | None = None
    contested: bool = False
    held: bool = False
    succeeds: EntryId | None = None


@dataclass(frozen=True, slots=True)
class Unknown:
    """The file cannot be judged now (unreadable, open for writing, not a file): no decision for this entry."""

    path: str
    sentence: str
    passing: bool = True  # False: it stays so until somebody changes it


@dataclass(frozen=True, slots=True)
class Row:
    """
    What Postgres says.

    digest: None while the text an app wrote has not been looked at.
    placed: the name is cleaned and its key holds; False until mirrord has done so.
    purged: the row was deleted so long ago that nothing is left of it; place and version mean nothing.
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
    file: File | Unknown | None
    row: Row | None
