"""
The files of requests that wait for a person, and the bytes of outside files kept for them by digest.

They are `.records/approvals/ID.json` and `.mirrord/staged/`. A program that writes a request holds `records_lock`.
"""

import hashlib
import os
import secrets
import tempfile
import time
from collections.abc import Container, Iterator
from contextlib import ExitStack, contextmanager, suppress
from uuid import UUID

from mirrord.domain.approval import APPROVALS_FOLDER, Answer, Request, decode_request, encode_request
from mirrord.domain.entry import Digest, parse_id
from mirrord.errors import Busy, Damaged, Refused, reason_of
from mirrord.mirror.tree import kernel
from mirrord.mirror.tree.kernel import Stat
from mirrord.mirror.tree.tenant_tree import Tree
from mirrord.mirror.tree.tree_layout import STATE_DIRECTORY, printable
from mirrord.mirror.write.journal import PRIVATE_MODE

MAX_REQUEST_BYTES = 8 << 20  # bytes: a request may hold a whole page
_SUFFIX = ".json"

RequestWithAnswer = tuple[Request, Answer]


def path_of(request: UUID) -> str:
    """The file of a request."""
    return f"{APPROVALS_FOLDER}/{request}{_SUFFIX}"


def list_files(tree: Tree) -> dict[str, Stat]:
    """Stats of request files by path, the oldest first; files that cannot be requests are not listed."""
    try:
        names = tree.list_stats(APPROVALS_FOLDER)
    except (FileNotFoundError, NotADirectoryError):
        return {}
    return {f"{APPROVALS_FOLDER}/{name}": names[name] for name in sorted(names) if _parse_id(name) is not None}


def read(tree: Tree, path: str) -> RequestWithAnswer | str | None:
    """The request in the file at *path*; a sentence if it is invalid; None: gone. Raises Busy during a write."""
    try:
        request_and_answer = decode_request(tree.read(path, MAX_REQUEST_BYTES)[0])
    except FileNotFoundError:
        return None
    except (ValueError, Refused, Damaged, OSError) as error:
        return f"{path!r} {error if isinstance(error, ValueError) else 'cannot be read: ' + reason_of(error)}"
    if path != path_of(request_and_answer[0].id):
        return f"{path!r} holds the request {request_and_answer[0].id}"
    return request_and_answer


def read_all(tree: Tree) -> Iterator[RequestWithAnswer]:
    """All requests, the newest first, without those being written by other programs."""
    for path in reversed(list_files(tree)):
        with suppress(Busy):
            if isinstance(request_and_answer := read(tree, path), tuple):
                yield request_and_answer


def write(tree: Tree, request: Request, answer: Answer) -> None:
    """Write the file of a request, atomically and durably. Raises Damaged for more than LIMIT bytes."""
    data = encode_request(request, answer)
    if len(data) > MAX_REQUEST_BYTES:
        raise Damaged(f"what is asked for has {len(data)} bytes; a request may have {MAX_REQUEST_BYTES}")
    tree.make_directories(STATE_DIRECTORY, PRIVATE_MODE)
    tree.make_directories(APPROVALS_FOLDER)
    unfinished = f"request.{secrets.token_hex(8)}"
    with tree.open_directory(STATE_DIRECTORY) as machine, tree.open_directory(APPROVALS_FOLDER) as folder:
        kernel.write_new(machine, unfinished, data)  # private, because it may hold a token
        kernel.rename(machine, unfinished, folder, f"{request.id}{_SUFFIX}")
        kernel.fsync(folder)


def remove(tree: Tree, request: UUID) -> None:
    """Remove the file of a request."""
    with suppress(FileNotFoundError), tree.open_directory(APPROVALS_FOLDER) as folder:
        kernel.unlink(folder, f"{request}{_SUFFIX}")


def _parse_id(name: str) -> UUID | None:
    return parse_id(name.removesuffix(_SUFFIX)) if name.endswith(_SUFFIX) else None


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
