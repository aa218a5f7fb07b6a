"""What a person settles by files in the root of a tree: that its sync pauses, and which files stay out."""

import contextlib
import os
import secrets
from dataclasses import dataclass

from mirrord.domain.entry import Digest, digest_of
from mirrord.errors import Damaged, MirrordError, Refused, Stale
from mirrord.mirror.tree import file_access, kernel
from mirrord.mirror.tree.ignore_rules import IGNORE_PATH, Ignore
from mirrord.mirror.tree.tenant_tree import Tree
from mirrord.mirror.tree.tree_layout import PAUSE_FILE

MAX_IGNORE_BYTES = 1 << 16  # of a text that is written here


@dataclass(frozen=True, slots=True)
class IgnoreText:
    """The text of `.mirrorignore`. digest: of its bytes; None: there is no such file."""

    text: str
    digest: Digest | None


def is_paused(tree: Tree) -> bool:
    """Whether a person lets sync of the tree pause."""
    stat = tree.stat(PAUSE_FILE)
    return stat is not None and stat.is_file


def pause_sync(tree: Tree) -> None:
    """Let sync of the tree pause, across restarts too, until resume_sync()."""
    with tree.open_directory("") as root:
        with contextlib.suppress(FileExistsError):
            os.close(kernel.create(root, PAUSE_FILE, file_access.FILE_MODE))
        kernel.fsync(root)


def resume_sync(tree: Tree) -> None:
    """
    End a pause.

    Raises Refused if the file holds bytes, which may be a text of a person, or is no file.
    """
    stat = tree.stat(PAUSE_FILE)
    if stat is None:
        return
    if not stat.is_file or stat.size:
        raise Refused(f"{PAUSE_FILE} is not an empty file, so it is left: remove it in the tree to go on.")
    with tree.open_directory("") as root:
        with contextlib.suppress(FileNotFoundError):
            kernel.unlink(root, PAUSE_FILE)
        kernel.fsync(root)


def read_ignore_text(tree: Tree) -> IgnoreText:
    """The patterns of files that stay out. Raises Busy, Refused, or Damaged where it is no text."""
    try:
        data, _ = tree.read(IGNORE_PATH, MAX_IGNORE_BYTES)
    except FileNotFoundError:
        return IgnoreText("", None)
    try:
        return IgnoreText(data.decode("utf-8"), digest_of(data))
    except UnicodeDecodeError as error:
        raise Damaged(f"{IGNORE_PATH} is not UTF-8; save it as UTF-8.") from error


def write_ignore_text(tree: Tree, text: str, expected: Digest | None) -> Digest:
    """
    Replace the patterns with the digest *expected*; None: there are none. Returns the digest of the new ones.

    Raises:
        Damaged: a pattern cannot be understood, or they are too long.
        Stale: the file is another one by now; it stays.
    """
    data = text.encode("utf-8")
    if len(data) > MAX_IGNORE_BYTES:
        raise Damaged(f"{IGNORE_PATH} may have at most {MAX_IGNORE_BYTES >> 10} KB here.")
    Ignore(text)
    if read_ignore_text(tree).digest != expected:
        raise _stale()
    fresh, unfinished = digest_of(data), f"{IGNORE_PATH}.{secrets.token_hex(4)}"  # dot-names are never synced
    with tree.open_directory("") as root:
        _create(tree, root, unfinished, data)
        try:
            _put_in_place(tree, root, unfinished, expected)
        finally:
            with contextlib.suppress(FileNotFoundError):  # where it was renamed
                if _digest_or_none(tree, unfinished) in (fresh, expected):  # any other text is a person's
                    kernel.unlink(root, unfinished)
            kernel.fsync(root)
    return fresh


def _create(tree: Tree, root: int, name: str, data: bytes) -> None:
    """A new file with the access of the patterns that are there, else of a new file."""
    descriptor = kernel.create(root, name, file_access.FILE_MODE)
    try:
        kernel.write(descriptor, data)
        file_access.inherit_access(descriptor, root)
        with contextlib.suppress(FileNotFoundError), tree.open_file(IGNORE_PATH) as old:
            file_access.copy_access(descriptor, old, IGNORE_PATH)
        kernel.fsync(descriptor)
    finally:
        os.close(descriptor)


def _put_in_place(tree: Tree, root: int, unfinished: str, expected: Digest | None) -> None:
    """Give the new file its name; *unfinished* is then the displaced file, or the new one if that is not wanted."""
    try:
        if expected is None:
            kernel.link(root, unfinished, root, IGNORE_PATH)
            return
        kernel.exchange(root, unfinished, root, IGNORE_PATH)
    except kernel.Unsupported:
        _replace(tree, root, unfinished, expected)
        return
    except (FileExistsError, FileNotFoundError):
        raise _stale() from None
    if _digest_or_none(tree, unfinished) != expected:  # a program saved it in between, or has it open
        kernel.exchange(root, unfinished, root, IGNORE_PATH)
        raise _stale()


def _replace(tree: Tree, root: int, unfinished: str, expected: Digest | None) -> None:
    """Where names cannot be exchanged: the displaced file has a second name until it is known as the expected one."""
    displaced = f"{unfinished}.old"
    kernel.link(root, IGNORE_PATH, root, displaced)
    if _digest_or_none(tree, displaced) != expected:
        kernel.unlink(root, displaced)
        raise _stale()
    kernel.rename(root, unfinished, root, IGNORE_PATH)
    if _digest_or_none(tree, displaced) == expected:
        kernel.unlink(root, displaced)


def _digest_or_none(tree: Tree, path: str) -> Digest | None:
    try:
        return tree.digest_now(path)
    except (OSError, MirrordError):
        return None


def _stale() -> Stale:
    return Stale(f"{IGNORE_PATH} was changed meanwhile. Look at it again.")
