"""Requests of agents to undo changes, `.records/undos/ID.json`, which the daemon answers in the same file."""

import secrets
from contextlib import suppress
from uuid import UUID

from mirrord.domain.approval import Answer, Request, decode_request, encode_request
from mirrord.domain.entry import parse_id
from mirrord.domain.place import RECORDS
from mirrord.errors import Busy, Damaged, Refused
from mirrord.mirror.tree import kernel
from mirrord.mirror.tree.kernel import Stat
from mirrord.mirror.tree.tenant_tree import Tree
from mirrord.mirror.tree.tree_layout import STATE_DIRECTORY
from mirrord.mirror.write.journal import PRIVATE_MODE

UNDOS_FOLDER = f"{RECORDS}/undos"
COMMAND = "undo_changes"
MAX_UNDO_BYTES = 1 << 20  # bytes of a file
_SUFFIX = ".json"


def path_of(request: UUID) -> str:
    """The file of a request."""
    return f"{UNDOS_FOLDER}/{request}{_SUFFIX}"


def list_files(tree: Tree) -> dict[str, Stat]:
    """Stats of the files by path, the oldest first."""
    try:
        names = tree.list_stats(UNDOS_FOLDER)
    except (FileNotFoundError, NotADirectoryError):
        return {}
    own_names = [name for name in names if name.endswith(_SUFFIX) and parse_id(name.removesuffix(_SUFFIX)) is not None]
    return {f"{UNDOS_FOLDER}/{name}": names[name] for name in sorted(own_names)}


def read(tree: Tree, path: str) -> tuple[Request, Answer] | None:
    """The request in a file and its answer; None: there is none, or the file is no request."""
    with suppress(FileNotFoundError, ValueError, Refused, Damaged, Busy, OSError):
        request, answer = decode_request(tree.read(path, MAX_UNDO_BYTES)[0])
        if path == path_of(request.id) and request.command == COMMAND:
            return request, answer
    return None


def write(tree: Tree, request: Request, answer: Answer) -> None:
    """Write the file of a request, atomically and durably. It is private: a request may hold a token."""
    tree.make_directories(STATE_DIRECTORY, PRIVATE_MODE)
    tree.make_directories(UNDOS_FOLDER)
    unfinished = f"undo.{secrets.token_hex(8)}"
    with tree.open_directory(STATE_DIRECTORY) as machine, tree.open_directory(UNDOS_FOLDER) as folder:
        kernel.write_new(machine, unfinished, encode_request(request, answer))
        kernel.rename(machine, unfinished, folder, f"{request.id}{_SUFFIX}")
        kernel.fsync(folder)


def remove(tree: Tree, path: str) -> None:
    """Remove a file."""
    with suppress(FileNotFoundError), tree.open_directory(UNDOS_FOLDER) as folder:
        kernel.unlink(folder, path.rpartition("/")[2])
