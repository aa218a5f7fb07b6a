"""The files of requests, `.records/approvals/ID.json`; a program that writes one holds `records_lock`."""

import secrets
from collections.abc import Iterator
from contextlib import suppress
from uuid import UUID

from mirrord.domain.approval import APPROVALS_FOLDER, Answer, Request, decode_request, encode_request
from mirrord.domain.entry import parse_id
from mirrord.errors import Busy, Damaged, Refused, reason_of
from mirrord.mirror.tree import kernel
from mirrord.mirror.tree.kernel import Stat
from mirrord.mirror.tree.tenant_tree import Tree
from mirrord.mirror.tree.tree_layout import STATE_DIRECTORY
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
