"""Files from outside the tree that commands read: only from where an operator allows, or as they were staged."""

import os
import stat
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path, PurePath

from mirrord.commands.failure import Failed, explained, invalid
from mirrord.commands.session import Session
from mirrord.domain.approval import Input
from mirrord.domain.entry import Kind
from mirrord.errors import Refused
from mirrord.mirror import contained, staging
from mirrord.mirror.layout import is_beside, spot_of_file


@contextmanager
def opened(session: Session, file_path: str) -> Iterator[tuple[str, int]]:
    """
    The name of a file and a descriptor to read it with, for the length of a `with`.

    file_path: below a directory of `attach_from`, absolute or relative to one.
    Raises Failed, FILE_NOT_FOUND or REFUSED; STALE if what was staged is not there as it was.
    """
    with ExitStack() as held:
        yield (
            held.enter_context(_staged(session, session.staged[file_path]))
            if file_path in session.staged
            else (_outside(session, file_path, held))
        )


def stage(session: Session, file_path: str) -> Input:
    """Keep the bytes that a file has now for a command that runs later. Raises Failed, TOO_LARGE."""
    with opened(session, file_path) as (name, descriptor), explained():
        size = os.fstat(descriptor).st_size
        if size > staging.LIMIT:
            sentence = f"{name!r} has {size} bytes; at most {staging.LIMIT} are kept until a person decides."
            raise invalid("TOO_LARGE", sentence, "Ask the person to do this at the command line.")
        return Input(name, staging.keep(session.tree, descriptor, name), str(place_of(descriptor)))


def place_of(descriptor: int) -> Path:
    """Where the file is, absolute, that a descriptor from outside is of."""
    return Path(f"/proc/self/fd/{descriptor}").readlink()


@contextmanager
def _staged(session: Session, kept: Input) -> Iterator[tuple[str, int]]:
    with ExitStack() as held:
        descriptor = held.enter_context(staging.opened(session.tree, kept.digest))
        if descriptor is None:
            sentence = f"The file {kept.name!r} is no longer kept as it was when this was asked for."
            raise Failed("STALE", "conflict", sentence, "Ask for it again.")
        yield kept.name, descriptor


def _outside(session: Session, file_path: str, held: ExitStack) -> tuple[str, int]:
    for root in session.attach_from:
        relative = _below(root, file_path)
        if relative is None:
            continue
        try:
            with explained():
                return relative.rpartition("/")[2], held.enter_context(_readable(session, root, relative))
        except (FileNotFoundError, NotADirectoryError, IsADirectoryError, PermissionError):
            continue
    raise Failed(
        "FILE_NOT_FOUND",
        "not_found",
        f"There is no file {Path(file_path).name!r} that may be attached.",
        "Give the path of a file below one of the directories that the operator listed in mcp.attach_from.",
    )


def _below(root: Path, file_path: str) -> str | None:
    path = PurePath(file_path)
    if not path.is_absolute():
        return str(path)
    return str(path.relative_to(root)) if path.is_relative_to(root) else None


@contextmanager
def _readable(session: Session, root: Path, relative: str) -> Iterator[int]:
    """A descriptor of the file; through no link, and not of what mirrord keeps to itself."""
    with ExitStack() as held:
        above = os.open(root, contained.DIRECTORY | os.O_CLOEXEC)
        held.callback(os.close, above)
        native = session.tree.native
        looked_at = contained.opened(above, relative, contained.ITSELF, native=native, crosses_mounts=True)
        held.callback(os.close, looked_at)
        if not stat.S_ISREG(os.fstat(looked_at).st_mode):  # opening a device may already act
            raise Refused("Only regular files can be attached.")
        descriptor = contained.opened(above, relative, contained.FILE, native=native, crosses_mounts=True)
        held.callback(os.close, descriptor)
        _check_place(session, place_of(descriptor), os.fstat(descriptor).st_nlink)
        yield descriptor


def _check_place(session: Session, found: Path, names: int) -> None:
    own = session.tree.root.resolve()
    if found.is_relative_to(own):
        path = str(found.relative_to(own))
        spot = spot_of_file(path)
        is_open = spot is not None and spot.kind is Kind.ATTACHMENT
        if spot is not None and is_beside(spot):
            is_open = session.catalogue.look().would_attach(path)
    else:
        if names > 1:  # the others may be where nothing may be attached from
            raise Refused("The file has several names (hard links); attach a copy of it.")
        is_open = not any(found.is_relative_to(path.resolve()) for path in (own.parent, *session.kept_from))
    if not is_open:
        raise Refused("What mirrord itself keeps cannot be attached.")
