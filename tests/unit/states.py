"""Bases, files and rows in few words, for tests of the pure planners."""

from collections.abc import Iterable
from itertools import product
from uuid import UUID

from mirrord.domain.entry import (
    NO_TEXT,
    Base,
    Digest,
    EntryId,
    File,
    Kind,
    Place,
    Row,
    State,
    UnreadableFile,
    digest_of,
)

ENTRY = EntryId(UUID(int=1))
FOLDER = EntryId(UUID(int=2))
HERE = Place(None, "Page")
THERE = Place(FOLDER, "Page")
ELSEWHERE = Place(None, "Renamed")

A, B, C = (digest_of(text) for text in (b"a", b"b", b"c"))
UNREADABLE = UnreadableFile("Page.md", "It cannot be read.")


def base(digest: Digest = A, *, version: int = 2, place: Place = HERE, path: str | None = "Page.md") -> Base:
    """What both sides agreed on; version 2, so that there is an older one."""
    return Base(ENTRY, _kind(digest), path, place, version, digest, None)


def file(digest: Digest = A, *, place: Place = HERE, path: str = "Page.md") -> File:
    """What the tree shows."""
    return File(_kind(digest), path, place, digest)


def row(
    digest: Digest | None = A,
    *,
    version: int = 2,
    place: Place = HERE,
    placed: bool = True,
    deleted: bool = False,
    ahead: Iterable[str] = (),
    purged: bool = False,
) -> Row:
    """What Postgres says."""
    return Row(ENTRY, _kind(digest), place, placed, version, digest, deleted, frozenset(ahead), purged=purged)


def state(base: Base | None = None, file: File | UnreadableFile | None = None, row: Row | None = None) -> State:
    """One entry; what is not given is not there."""
    return State(ENTRY, base, file, row)


def all_states() -> list[State]:
    """Every combination of contents, also such as should never come to be."""
    digests = (A, B, C, NO_TEXT)
    bases = [None, *(base(digest) for digest in digests)]
    files = [None, UNREADABLE, *(file(digest) for digest in digests)]
    rows = [
        row(digest, version=version, deleted=deleted, ahead=ahead)
        for digest, version, deleted, ahead in product((*digests, None), (1, 2, 3), (False, True), ((), ("title",)))
    ]
    return [state(*sides) for sides in product(bases, files, [None, *rows])]


def _kind(digest: Digest | None) -> Kind:
    return Kind.FOLDER if digest == NO_TEXT else Kind.PAGE
