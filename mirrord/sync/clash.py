"""A clash: bytes of a file and a row that went elsewhere, as what settles it is told."""

from dataclasses import dataclass

from mirrord.domain.entry import Digest, Place
from mirrord.domain.state import Base, File, Row, State


@dataclass(frozen=True, slots=True)
class Clash:
    """
    Bytes that came from a file while the row went elsewhere.

    ancestor: digest of what both come from; None: unknown.
    base: what is agreed on afterwards; None: the file with these bytes is no longer in the tree.
    stale: an editor made them from a text that was not in the file any more.
    """

    row: Row
    path: str
    place: Place
    data: bytes
    ancestor: Digest | None
    ancestor_version: int | None
    base: Base | None
    stale: bool = False


def clash_of(state: State, data: bytes) -> Clash:
    """The clash of an entry whose both sides are known."""
    row, file, base = state.row, state.file, state.base
    assert row is not None
    assert isinstance(file, File)
    place = base.place if base is not None else file.place
    agreed = Base(state.entry, file.kind, file.path, place, row.version, file.digest, file.claimed)
    if base is None:
        return Clash(row, file.path, row.place, data, None, None, agreed)
    return Clash(row, file.path, row.place, data, base.digest, base.version, agreed)
