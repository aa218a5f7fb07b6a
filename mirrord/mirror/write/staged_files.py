"""`.mirrord/staged/`: bytes of outside files, kept by digest for commands that wait for a person."""

import hashlib
import os
import secrets
import tempfile
import time
from collections.abc import Container, Iterator
from contextlib import ExitStack, contextmanager, suppress

from mirrord.domain.entry import Digest
from mirrord.errors import Damaged, Refused
from mirrord.mirror.tree import kernel
from mirrord.mirror.tree.tenant_tree import Tree
from mirrord.mirror.tree.tree_layout import STATE_DIRECTORY, printable
from mirrord.mirror.write.journal import PRIVATE_MODE

STAGED_PATH = f"{STATE_DIRECTORY}/staged"
MAX_STAGED_BYTES = 512 << 20  # bytes
ORPHAN_SECONDS = 86_400.0  # seconds after which a file that no request names is removed
_PIECE_BYTES = 1 << 20  # bytes


def stage_bytes(tree: Tree, source: int, name: str) -> Digest:
    """
    Copy the content of the descriptor *source* durably and return its digest. name: for messages.

    Raises Damaged for more than LIMIT bytes.
    """
    tree.make_directories(STAGED_PATH, PRIVATE_MODE)
    unfinished = f"u.{secrets.token_hex(8)}"
    with tree.open_directory(STAGED_PATH) as folder, ExitStack() as undone:
        target = kernel.create(folder, unfinished, 0o600)
        undone.callback(kernel.unlink, folder, unfinished)
        try:
            digest = _copy_bytes(source, target, name)
            kernel.fsync(target)
        finally:
            os.close(target)
        kernel.rename(folder, unfinished, folder, digest.hex())
        undone.pop_all()
        kernel.fsync(folder)
    return digest


@contextmanager
def open_staged(tree: Tree, digest: Digest) -> Iterator[int | None]:
    """
    A descriptor of the bytes with that digest, for the length of a `with`; None: they are missing or changed.

    It is a private copy: later writes in the tree do not change it.
    """
    with ExitStack() as resources:
        with tempfile.TemporaryFile() as private_file:
            try:
                with tree.open_file(f"{STAGED_PATH}/{digest.hex()}") as source:
                    copied_digest = _copy_bytes(source, private_file.fileno(), digest.hex())
            except (FileNotFoundError, Refused, Damaged):
                copied_digest = None
            # open it again, for reading only: files with a writer are not read
            descriptor = os.open(f"/proc/self/fd/{private_file.fileno()}", os.O_RDONLY | os.O_CLOEXEC)
            resources.callback(os.close, descriptor)
        yield descriptor if copied_digest == digest else None


def remove_orphans(tree: Tree, needed: Container[str]) -> None:
    """Remove files a day old that are not among *needed*, digests in hex: their requests were never made."""
    with suppress(FileNotFoundError), tree.open_directory(STAGED_PATH) as folder:
        for name, stat in tree.list_stats(STAGED_PATH).items():
            if name not in needed and time.time() - stat.mtime_ns / 1e9 > ORPHAN_SECONDS:
                with suppress(FileNotFoundError):
                    kernel.unlink(folder, name)


def _copy_bytes(source: int, target: int, name: str) -> Digest:
    state, offset = hashlib.blake2b(digest_size=32), 0
    while piece := os.pread(source, _PIECE_BYTES, offset):
        offset += len(piece)
        if offset > MAX_STAGED_BYTES:
            raise Damaged(f"{printable(name)!r} has more than {MAX_STAGED_BYTES} bytes.")
        state.update(piece)
        kernel.write(target, piece)
    return Digest(state.digest())
