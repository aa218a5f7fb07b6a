"""The files of requests, `.records/approvals/ID.json`. Whoever writes one holds `records_lock`."""

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
    """What there is, by path, the oldest first; files that cannot be requests are not listed."""
    try:
        names = tree.names(FOLDER)
    except (FileNotFoundError, NotADirectoryError):
        return {}
    return {f"{FOLDER}/{name}": names[name] for name in sorted(names) if _id_in(name) is not None}


def read(tree: Tree, path: str) -> Found | str | None:
    """What the file at *path* says; why it is no request; None: it is gone. Raises Busy while it is being written."""
    try:
        found = decode(tree.read(path, LIMIT)[0])
    except FileNotFoundError:
        return None
    except (ValueError, Refused, Damaged, OSError) as error:
        return f"{path!r} {error if isinstance(error, ValueError) else 'cannot be read: ' + reason_of(error)}"
    if path != path_of(found[0].id):
        return f"{path!r} holds the request {found[0].id}"
    return found


def all_of(tree: Tree) -> Iterator[Found]:
    """Every request, the newest first, but for those that are being written by other programs."""
    for path in reversed(files(tree)):
        with suppress(Busy):
            if isinstance(found := read(tree, path), tuple):
                yield found


def put(tree: Tree, request: Request, answer: Answer) -> None:
    """Write the file of a request, all at once and durably. Raises Damaged where that is more than LIMIT."""
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
    """Let the file of a request go."""
    with suppress(FileNotFoundError), tree.directory(FOLDER) as folder:
        kernel.unlink(folder, f"{request}{_SUFFIX}")


def _id_in(name: str) -> UUID | None:
    return parse_id(name.removesuffix(_SUFFIX)) if name.endswith(_SUFFIX) else None
