"""Files to import: a consistent copy of their bytes, with type and digests."""

import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from mirrord.codec.frontmatter import split_parts
from mirrord.commands import inputs
from mirrord.commands.failure import Failed, translating_errors
from mirrord.commands.holdings import Holdings, Source
from mirrord.commands.session import Session
from mirrord.convert.kinds import Kind, kind_of
from mirrord.domain.entry import Digest
from mirrord.errors import Busy
from mirrord.mirror.kernel import stat_of

_PIECE_BYTES = 1 << 20  # bytes


@dataclass(frozen=True, slots=True)
class Original:
    """
    A file to import.

    place: its absolute path; None: unknown for a staged file. copy: a private file with its bytes; None: the file is
    too large for a copy. digest, sha256: of its bytes, the latter in hex.
    """

    name: str
    kind: Kind
    size: int
    digest: Digest
    sha256: str
    place: Path | None
    copy: Path | None


@contextmanager
def copy_original(session: Session, file_path: str, max_copied_bytes: int) -> Iterator[Original]:
    """
    Copy and hash the file at *file_path* within a `with` block. max_copied_bytes: largest size in bytes that is copied.

    Raises Failed as inputs.opened() does, and BUSY if the file is being written.
    """
    with (
        inputs.open_input(session, file_path) as (name, descriptor),
        TemporaryDirectory(prefix="mirrord-") as directory,
    ):
        before = stat_of(os.fstat(descriptor))
        copy = Path(directory) / "original" if before.size <= max_copied_bytes else None
        with translating_errors():
            digest, sha256 = _copy_and_hash(descriptor, copy)
            if stat_of(os.fstat(descriptor)) != before:
                raise Busy(f"{name!r} changed while it was read.")
        with os.fdopen(os.dup(descriptor), "rb") as stream:
            kind = kind_of(stream, name)
        yield Original(name, kind, before.size, digest, sha256, _place_of(session, file_path, descriptor), copy)


def _place_of(session: Session, file_path: str, descriptor: int) -> Path | None:
    """Path of the file; for a staged file its path at the time of the request, which was checked then."""
    if file_path not in session.staged:
        return inputs.path_of_descriptor(descriptor)
    place = session.staged[file_path].place
    return Path(place) if place is not None else None


def find_duplicates(session: Session, all_holdings: Holdings, sha256: str) -> list[Source]:
    """Sources imported from the same bytes."""
    try:
        hits = session.grep.matching_files(sha256).result().paths
    except Failed:
        return []
    return [
        source for source in all_holdings.sources if source.path in hits and _has_digest(session, source.path, sha256)
    ]


def _has_digest(session: Session, path: str, sha256: str) -> bool:
    content = session.catalogue.snapshot().read_text(path)
    return content is not None and content.text is not None and sha256 in split_parts(content.text).head


def _copy_and_hash(descriptor: int, copy: Path | None) -> tuple[Digest, str]:
    blake2b, sha256 = hashlib.blake2b(digest_size=32), hashlib.sha256()
    offset = 0
    with Path(copy or os.devnull).open("wb") as target:
        while piece := os.pread(descriptor, _PIECE_BYTES, offset):
            blake2b.update(piece)
            sha256.update(piece)
            if copy is not None:
                target.write(piece)
            offset += len(piece)
    return Digest(blake2b.digest()), sha256.hexdigest()
