"""The files of requests, `.records/approvals/ID.json`. Writers hold `records_lock`."""

import os
import secrets
from collections.abc import Iterator
from contextlib import suppress
from uuid import UUID

from mirrord.domain.approval import FOLDER, Answer, Request, decode, encode
from mirrord.domain.entry import parse_id
from mirrord.errors import Busy, Damaged, Refused, reason_of
from mirrord.mirror import kernel
from mirrord.mirror.journal import PRIVATE
from mirrord.mirror.kernel import Stat
from mirrord.mirror.layout import MACHINE
from mirrord.mirror.tree import Tree

LIMIT = 8 << 20  # bytes: a request may hold a whole page
_SUFFIX = ".json"

Found = tuple[Request, Answer]


def path_of(request: UUID) -> str:
    """The file of a request."""
    return f"{FOLDER}/{request}{_SUFFIX}"


def files(tree: Tree) -> dict[str, Stat]:
    """Stats of request files by path, the oldest first; files that cannot be requests are not listed."""
    try:
        names = tree.names(FOLDER)
    except (FileNotFoundError, NotADirectoryError):
        return {}
    return {f"{FOLDER}/{name}": names[name] for name in sorted(names) if _parse_id(name) is not None}


def read(tree: Tree, path: str) -> Found | str | None:
    """The request in the file at *path*; a sentence if it is invalid; None: gone. Raises Busy during a write."""
    try:
        request_and_answer = decode(tree.read(path, LIMIT)[0])
    except FileNotFoundError:
        return None
    except (ValueError, Refused, Damaged, OSError) as error:
        return f"{path!r} {error if isinstance(error, ValueError) else 'cannot be read: ' + reason_of(error)}"
    if path != path_of(request_and_answer[0].id):
        return f"{path!r} holds the request {request_and_answer[0].id}"
    return request_and_answer


def all_of(tree: Tree) -> Iterator[Found]:
    """All requests, the newest first, without those being written by other programs."""
    for path in reversed(files(tree)):
        with suppress(Busy):
            if isinstance(request_and_answer := read(tree, path), tuple):
                yield request_and_answer


def put(tree: Tree, request: Request, answer: Answer) -> None:
    """Write the file of a request, atomically and durably. Raises Damaged for more than LIMIT bytes."""
    data = encode(request, answer)
    if len(data) > LIMIT:
        raise Damaged(f"what is asked for has {len(data)} bytes; a request may have {LIMIT}")
    tree.make_directories(MACHINE, PRIVATE)
    tree.make_directories(FOLDER)
    unfinished = f"request.{secrets.token_hex(8)}"
    with tree.directory(MACHINE) as machine, tree.directory(FOLDER) as folder:
        descriptor = kernel.create(machine, unfinished, 0o600)  # it may hold a token
        try:
            kernel.write(descriptor, data)
            kernel.fsync(descriptor)
        finally:
            os.close(descriptor)
        kernel.rename(machine, unfinished, folder, f"{request.id}{_SUFFIX}")
        kernel.fsync(folder)


def remove(tree: Tree, request: UUID) -> None:
    """Remove the file of a request."""
    with suppress(FileNotFoundError), tree.directory(FOLDER) as folder:
        kernel.unlink(folder, f"{request}{_SUFFIX}")


def _parse_id(name: str) -> UUID | None:
    return parse_id(name.removesuffix(_SUFFIX)) if name.endswith(_SUFFIX) else None
