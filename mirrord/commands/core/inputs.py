"""Files from outside the tree that commands read, as operators allow or as staged."""

import os
import stat
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path, PurePath

from mirrord.commands.core.failure import Failed, invalid_argument, translating_errors
from mirrord.commands.core.session import Session
from mirrord.domain.approval import InputFile
from mirrord.domain.entry import Kind
from mirrord.errors import Refused
from mirrord.mirror.tree import contained_files
from mirrord.mirror.tree.tree_layout import is_beside, spot_of_file
from mirrord.mirror.write import request_files


@contextmanager
def open_input(session: Session, file_path: str) -> Iterator[tuple[str, int]]:
    """
    Open a file within a `with` block; yields its name and a descriptor to read it.

    file_path: below a directory of `attach_from`, absolute or relative to one.
    Raises Failed, FILE_NOT_FOUND or REFUSED; STALE if the staged copy is missing or changed.
    """
    with ExitStack() as stack:
        yield (
            stack.enter_context(_open_staged(session, session.staged[file_path]))
            if file_path in session.staged
            else (_open_outside(session, file_path, stack))
        )


def stage_input(session: Session, file_path: str) -> InputFile:
    """Copy the current bytes of a file for a later run of a command. Raises Failed, TOO_LARGE."""
    with open_input(session, file_path) as (name, descriptor), translating_errors():
        size = os.fstat(descriptor).st_size
        if size > request_files.MAX_STAGED_BYTES:
            sentence = (
                f"{name!r} has {size} bytes; at most {request_files.MAX_STAGED_BYTES} are kept until a person decides."
            )
            raise invalid_argument("TOO_LARGE", sentence, "Ask the person to do this at the command line.")
        return InputFile(
            name, request_files.stage_bytes(session.tree, descriptor, name), str(path_of_descriptor(descriptor))
        )


def path_of_descriptor(descriptor: int) -> Path:
    """Absolute path of the file of a descriptor from outside the tree."""
    return Path(f"/proc/self/fd/{descriptor}").readlink()


@contextmanager
def _open_staged(session: Session, staged: InputFile) -> Iterator[tuple[str, int]]:
    with ExitStack() as stack:
        descriptor = stack.enter_context(request_files.open_staged(session.tree, staged.digest))
        if descriptor is None:
            sentence = f"The file {staged.name!r} is no longer kept as it was when this was asked for."
            raise Failed("STALE", "conflict", sentence, "Ask for it again.")
        yield staged.name, descriptor


def _open_outside(session: Session, file_path: str, stack: ExitStack) -> tuple[str, int]:
    for root in session.attach_from:
        relative = _relative_to(root, file_path)
        if relative is None:
            continue
        try:
            with translating_errors():
                return relative.rpartition("/")[2], stack.enter_context(_open_readable(session, root, relative))
        except (FileNotFoundError, NotADirectoryError, IsADirectoryError, PermissionError):
            continue
    raise Failed(
        "FILE_NOT_FOUND",
        "not_found",
        f"There is no file {Path(file_path).name!r} that may be attached.",
        "Give the path of a file below one of the directories that the operator listed in mcp.attach_from; to attach "
        "bytes that you have, call add_attachment with base64 and fileName instead of filePath.",
    )


def _relative_to(root: Path, file_path: str) -> str | None:
    path = PurePath(file_path)
    if not path.is_absolute():
        return str(path)
    return str(path.relative_to(root)) if path.is_relative_to(root) else None


@contextmanager
def _open_readable(session: Session, root: Path, relative: str) -> Iterator[int]:
    """Open the file, through no link, and never a file that mirrord keeps for itself."""
    with ExitStack() as stack:
        root_descriptor = os.open(root, contained_files.DIRECTORY_FLAGS | os.O_CLOEXEC)
        stack.callback(os.close, root_descriptor)
        native = session.tree.native
        path_descriptor = contained_files.open_beneath(
            root_descriptor, relative, contained_files.PATH_ONLY_FLAGS, native=native, crosses_mounts=True
        )
        stack.callback(os.close, path_descriptor)
        if not stat.S_ISREG(os.fstat(path_descriptor).st_mode):  # opening a device may have effects
            raise Refused("Only regular files can be attached.")
        descriptor = contained_files.open_beneath(
            root_descriptor, relative, contained_files.FILE_FLAGS, native=native, crosses_mounts=True
        )
        stack.callback(os.close, descriptor)
        _check_place(session, path_of_descriptor(descriptor), os.fstat(descriptor).st_nlink)
        yield descriptor


def _check_place(session: Session, place: Path, link_count: int) -> None:
    mirror_root = session.tree.root.resolve()
    if place.is_relative_to(mirror_root):
        path = str(place.relative_to(mirror_root))
        spot = spot_of_file(path)
        is_open = spot is not None and spot.kind is Kind.ATTACHMENT
        if spot is not None and is_beside(spot):
            is_open = session.catalogue.snapshot().would_attach(path)
    else:
        if link_count > 1:  # other names may lie in excluded directories
            raise Refused("The file has several names (hard links); attach a copy of it.")
        is_open = not any(
            place.is_relative_to(path.resolve()) for path in (mirror_root.parent, *session.excluded_paths)
        )
    if not is_open:
        raise Refused("What mirrord itself keeps cannot be attached.")
