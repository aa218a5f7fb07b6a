"""
Entries, the things that sync keeps equal: their ids, kinds, places and digests.

The three states of an entry: what both sides agreed on, what the file shows, what the row says.
"""

import hashlib
import os
import time
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from typing import NewType
from uuid import UUID, uuid5

TenantId = NewType("TenantId", UUID)
MirrorId = NewType("MirrorId", UUID)
EntryId = NewType("EntryId", UUID)
Digest = NewType("Digest", bytes)  # BLAKE2b-256 of exact bytes: 32 bytes

MAX_FILE_BYTES = 50 << 20  # bytes of one file: larger ones are not synced


class Kind(StrEnum):
    """The kind of an entry. A folder is a directory without a page file of its own."""

    PAGE = "page"
    FOLDER = "folder"
    ATTACHMENT = "attachment"
    RECORD = "record"


@dataclass(frozen=True, slots=True)
class Place:
    """
    The place of an entry: its parent and its name.

    parent: the page or folder that contains it; None is the tenant's root.
    name: a page's name has no `.md`; an attachment's may contain `/`.
    index: the page's file is `NAME/_index.md` instead of `NAME.md`.
    """

    parent: EntryId | None
    name: str
    index: bool = False


@dataclass(frozen=True, slots=True)
class Actor:
    """The author of a change. kind: human, agent, app or daemon."""

    kind: str
    name: str


FILE_ACTOR = Actor("human", "file")  # the unknown author of a saved file; a tool's name is joined from its event


def digest_of(data: bytes) -> Digest:
    """BLAKE2b-256 of *data*."""
    return Digest(hashlib.blake2b(data, digest_size=32).digest())


EMPTY_DIGEST = digest_of(b"")


def new_id() -> EntryId:
    """A UUIDv7 (RFC 9562 §5.7): 48 bits of milliseconds, then random, so new ids sort by age."""
    milliseconds = time.time_ns() // 1_000_000
    random = int.from_bytes(os.urandom(10), "big")
    value = (milliseconds & (1 << 48) - 1) << 80 | random
    value = value & ~(0xF << 76) | 0x7 << 76
    value = value & ~(0x3 << 62) | 0x2 << 62
    return EntryId(UUID(int=value))


@lru_cache(maxsize=1024)  # called three times for each new file
def id_of_path(tenant: TenantId, path: str) -> EntryId:
    """The id of an entry whose file has none: the same on every host for the same path."""
    return EntryId(uuid5(tenant, path))


def operation_id(mirror: MirrorId, entry: EntryId, version: int, digest: Digest) -> UUID:
    """The id of storing *digest* in *entry* on top of *version*: the same for every attempt of this mirror."""
    return uuid5(mirror, f"{entry} {version} {digest.hex()}")


@lru_cache(maxsize=1024)  # a pass calls it three times for each of its files
def parse_id(text: str | None) -> EntryId | None:
    """The UUID in *text*; None for any other text: an `id:` that is not a UUID is the user's own key."""
    if text is None:
        return None
    try:
        value = UUID(text)
    except ValueError:
        return None
    return EntryId(value) if str(value) == text.lower() else None  # UUID() also accepts other spellings


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
    is_confirmed: all that the document removes which an app wrote as this version is meant.
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
    is_confirmed: bool = False


@dataclass(frozen=True, slots=True)
class State:
    """One entry as observed. file None: absent. row None: there is no row, not even a tombstone."""

    entry: EntryId
    base: Base | None
    file: File | UnreadableFile | None
    row: Row | None
