"""Files that people hand over to be imported: their bytes as they were at one moment, and what those are."""

import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from mirrord.codec.frontmatter import split
from mirrord.commands import inputs
from mirrord.commands.failure import Failed, explained
from mirrord.commands.holdings import Holdings, Source
from mirrord.commands.session import Session
from mirrord.convert.kinds import Kind, kind_of
from mirrord.domain.entry import Digest
from mirrord.errors import Busy
from mirrord.mirror.kernel import stat_of

_PIECE = 1 << 20  # bytes


@dataclass(frozen=True, slots=True)
class Original:
    """
    A file that is imported.

    name: what it is called. place: where it is, absolute; None: it was staged, and that was not kept. copy: a private
    file with its bytes; None: it is too large for that. digest, sha256: of its bytes, the latter in hex.
    """

    name: str
    kind: Kind
    size: int
    digest: Digest
    sha256: str
    place: Path | None
    copy: Path | None


@contextmanager
def taken(session: Session, file_path: str, most: int) -> Iterator[Original]:
    """
    The file at *file_path*, for the length of a `with`. most: bytes up to which it is copied.

    Raises Failed as inputs.opened() does, and BUSY if somebody is writing it.
    """
    with inputs.opened(session, file_path) as (name, descriptor), TemporaryDirectory(prefix="mirrord-") as directory:
        before = stat_of(os.fstat(descriptor))
        copy = Path(directory) / "original" if before.size <= most else None
        with explained():
            digest, sha256 = _read(descriptor, copy)
            if stat_of(os.fstat(descriptor)) != before:
                raise Busy(f"{name!r} changed while it was read.")
        with os.fdopen(os.dup(descriptor), "rb") as stream:
            kind = kind_of(stream, name)
        yield Original(name, kind, before.size, digest, sha256, _place(session, file_path, descriptor), copy)


def _place(session: Session, file_path: str, descriptor: int) -> Path | None:
    """Of what was staged, where it was when it was asked for: whoever took the request looked whether that is open."""
    if file_path not in session.staged:
        return inputs.place_of(descriptor)
    place = session.staged[file_path].place
    return Path(place) if place is not None else None


def same_before(session: Session, found: Holdings, sha256: str) -> list[Source]:
    """Sources that were made from the same bytes."""
    try:
        hits = session.grep.files(sha256).result().paths
    except Failed:
        return []
    return [source for source in found.sources if source.path in hits and _says(session, source.path, sha256)]


def _says(session: Session, path: str, sha256: str) -> bool:
    whole = session.catalogue.look().read(path)
    return whole is not None and whole.text is not None and sha256 in split(whole.text).head


def _read(descriptor: int, copy: Path | None) -> tuple[Digest, str]:
    ours, usual = hashlib.blake2b(digest_size=32), hashlib.sha256()
    offset = 0
    with Path(copy or os.devnull).open("wb") as target:
        while piece := os.pread(descriptor, _PIECE, offset):
            ours.update(piece)
            usual.update(piece)
            if copy is not None:
                target.write(piece)
            offset += len(piece)
    return Digest(ours.digest()), usual.hexdigest()
