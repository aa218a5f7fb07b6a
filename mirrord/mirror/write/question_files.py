"""Questions of agents to the daemon, `.records/questions/ID.json`, answered in the same file; and their last looks."""

import json
import secrets
from collections.abc import Mapping
from contextlib import suppress
from uuid import UUID

from mirrord.domain.approval import Answer, Request, decode_request, encode_request
from mirrord.domain.entry import Actor, digest_of, parse_id
from mirrord.domain.place import RECORDS
from mirrord.errors import Busy, Damaged, Refused
from mirrord.mirror.tree import kernel
from mirrord.mirror.tree.kernel import Stat
from mirrord.mirror.tree.tenant_tree import Tree
from mirrord.mirror.tree.tree_layout import STATE_DIRECTORY
from mirrord.mirror.write.journal import PRIVATE_MODE

QUESTIONS_FOLDER = f"{RECORDS}/questions"
UNDO = "undo_changes"  # the only command that changes something
LOOKS_FOLDER = f"{STATE_DIRECTORY}/looks"
MAX_QUESTION_BYTES = 1 << 20  # bytes of a file
MAX_LOOK_BYTES = 1 << 12  # bytes of a file
_SUFFIX = ".json"


def path_of(question: UUID) -> str:
    """The file of a question."""
    return f"{QUESTIONS_FOLDER}/{question}{_SUFFIX}"


def list_files(tree: Tree) -> dict[str, Stat]:
    """Stats of the files by path, the oldest first."""
    try:
        names = tree.list_stats(QUESTIONS_FOLDER)
    except (FileNotFoundError, NotADirectoryError):
        return {}
    own_names = [name for name in names if name.endswith(_SUFFIX) and parse_id(name.removesuffix(_SUFFIX)) is not None]
    return {f"{QUESTIONS_FOLDER}/{name}": names[name] for name in sorted(own_names)}


def read(tree: Tree, path: str) -> tuple[Request, Answer] | None:
    """The question in a file and its answer; None: there is none, or the file is no question."""
    with suppress(FileNotFoundError, ValueError, Refused, Damaged, Busy, OSError):
        request, answer = decode_request(tree.read(path, MAX_QUESTION_BYTES)[0])
        if path == path_of(request.id):
            return request, answer
    return None


def write(tree: Tree, request: Request, answer: Answer) -> None:
    """Write the file of a question, atomically and durably. It is private: a question may hold a token."""
    _write_file(tree, QUESTIONS_FOLDER, f"{request.id}{_SUFFIX}", encode_request(request, answer))


def remove(tree: Tree, path: str) -> None:
    """Remove a file."""
    with suppress(FileNotFoundError), tree.open_directory(QUESTIONS_FOLDER) as folder:
        kernel.unlink(folder, path.rpartition("/")[2])


def read_look(tree: Tree, actor: Actor) -> Mapping[str, str]:
    """What was noted when *actor* last looked at the changes; empty: never."""
    with suppress(FileNotFoundError, NotADirectoryError, ValueError, RecursionError, Refused, Damaged, Busy):
        facts = json.loads(tree.read(f"{LOOKS_FOLDER}/{_look_name(actor)}", MAX_LOOK_BYTES)[0])
        if isinstance(facts, dict):
            return {str(key): str(value) for key, value in facts.items()}
    return {}


def write_look(tree: Tree, actor: Actor, facts: Mapping[str, str]) -> None:
    """Note that *actor* looked at the changes."""
    _write_file(tree, LOOKS_FOLDER, _look_name(actor), json.dumps(dict(facts)).encode())


def _look_name(actor: Actor) -> str:
    return digest_of(f"{actor.kind}\0{actor.name}".encode()).hex()[:32] + _SUFFIX


def _write_file(tree: Tree, folder: str, name: str, content: bytes) -> None:
    tree.make_directories(STATE_DIRECTORY, PRIVATE_MODE)
    tree.make_directories(folder)
    unfinished = f"question.{secrets.token_hex(8)}"
    with tree.open_directory(STATE_DIRECTORY) as machine, tree.open_directory(folder) as directory:
        kernel.write_new(machine, unfinished, content)
        kernel.rename(machine, unfinished, directory, name)
        kernel.fsync(directory)
