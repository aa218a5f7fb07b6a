"""`.mirrord/staged/`: bytes of files from outside, kept by their digest for commands that wait for a person."""

import hashlib
import os
import secrets
import tempfile
import time
from collections.abc import Container, Iterator
from contextlib import ExitStack, contextmanager, suppress

from mirrord.domain.entry import Digest
from mirrord.errors import Damaged, Refused
from mirrord.mirror import kernel
from mirrord.mirror.journal import PRIVATE
from mirrord.mirror.layout import MACHINE, printable
from mirrord.mirror.tree import Tree

FOLDER = f"{MACHINE}/staged"
LIMIT = 512 << 20  # bytes
ORPHANED = 86_400.0  # seconds after which what no request names is removed
_PIECE = 1 << 20  # bytes


def keep(tree: Tree, source: int, name: str) -> Digest:
    """
    Copy what the descriptor *source* holds, durably; its digest. name: for messages.

    Raises Damaged for more than LIMIT bytes.
    """
    tree.make_directories(FOLDER, PRIVATE)
    unfinished = f"u.{secrets.token_hex(8)}"
    with tree.directory(FOLDER) as folder, ExitStack() as undone:
        target = kernel.create(folder, unfinished, 0o600)
        undone.callback(kernel.unlink, folder, unfinished)
        try:
            digest = _copied(source, target, name)
            kernel.fsync(target)
        finally:
            os.close(target)
        kernel.rename(folder, unfinished, folder, digest.hex())
        undone.pop_all()
        kernel.fsync(folder)
    return digest


@contextmanager
def opened(tree: Tree, digest: Digest) -> Iterator[int | None]:
    """
    A descriptor of the bytes with that digest, for the length of a `with`; None: they are gone, or others now.

    A private copy: whoever may write in the tree changes nothing of it any more.
    """
    with ExitStack() as held:
        with tempfile.TemporaryFile() as private:
            try:
                with tree.file(f"{FOLDER}/{digest.hex()}") as source:
                    found = _copied(source, private.fileno(), digest.hex())
            except (FileNotFoundError, Refused, Damaged):
                found = None
            # anew, for reading only: a file somebody may write to is not read
            descriptor = os.open(f"/proc/self/fd/{private.fileno()}", os.O_RDONLY | os.O_CLOEXEC)
            held.callback(os.close, descriptor)
        yield descriptor if found == digest else None


def sweep(tree: Tree, needed: Container[str]) -> None:
    """Remove what is not among *needed*, digests in hex, and lay there for a day: its request never came to be."""
    with suppress(FileNotFoundError), tree.directory(FOLDER) as folder:
        for name, found in tree.names(FOLDER).items():
            if name not in needed and time.time() - found.mtime_ns / 1e9 > ORPHANED:
                with suppress(FileNotFoundError):
                    kernel.unlink(folder, name)


def _copied(source: int, target: int, name: str) -> Digest:
    state, offset = hashlib.blake2b(digest_size=32), 0
    while piece := os.pread(source, _PIECE, offset):
        offset += len(piece)
        if offset > LIMIT:
            raise Damaged(f"{printable(name)!r} has more than {LIMIT} bytes.")
        state.update(piece)
        kernel.write(target, piece)
    return Digest(state.digest())
