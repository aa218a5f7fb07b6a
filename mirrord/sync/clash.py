"""A conflict: bytes of a file, and a row that changed differently, as the input of a merge."""

from dataclasses import dataclass

from mirrord.domain.entry import Digest, Place
from mirrord.domain.state import Base, File, Row, State


@dataclass(frozen=True, slots=True)
class UnmergedConflict:
    """
    Bytes of a file whose row changed differently.

    ancestor: digest of the common ancestor; None: unknown.
    base: the base after the merge; None: the file with these bytes is no longer in the tree.
    stale: an editor made the bytes from a text that was no longer in the file.
    """

    row: Row
    path: str
    place: Place
    data: bytes
    ancestor: Digest | None
    ancestor_version: int | None
    base: Base | None
    stale: bool = False


def conflict_of(state: State, data: bytes) -> UnmergedConflict:
    """The conflict of an entry that has both a file and a row."""
    row, file, base = state.row, state.file, state.base
    assert row is not None
    assert isinstance(file, File)
    place = base.place if base is not None else file.place
    agreed = Base(state.entry, file.kind, file.path, place, row.version, file.digest, file.claimed)
    if base is None:
        return UnmergedConflict(row, file.path, row.place, data, None, None, agreed)
    return UnmergedConflict(row, file.path, row.place, data, base.digest, base.version, agreed)
