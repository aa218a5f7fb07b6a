"""`.mirrord/id`: which tenant's mirror a tree is and by which dialect its pages are read; its private directory."""

import json
import os
import secrets
from collections.abc import Mapping
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from uuid import UUID

from mirrord.domain.dialect import USUAL_DAYS, DayFormats, Dialect, dialect_called
from mirrord.domain.entry import MirrorId, TenantId
from mirrord.errors import Damaged
from mirrord.mirror.tree import kernel
from mirrord.mirror.tree.file_access import make_directory
from mirrord.mirror.tree.tenant_tree import Tree
from mirrord.mirror.tree.tree_layout import STATE_DIRECTORY, name_of
from mirrord.mirror.write.journal import JOURNALS_PATH, PRIVATE_MODE, TRASH_PATH

MARKER_PATH = f"{STATE_DIRECTORY}/id"
_FILE_MODE = 0o600


@dataclass(frozen=True, slots=True)
class Marker:
    """
    tenant: its name when the tree was made, for people only; the ids decide. dialect: of its pages, as the daemon last
    found it, for commands, which do not look at rows. days: how they are called in a graph of Logseq.
    """

    tenant: str
    tenant_id: TenantId
    mirror: MirrorId
    dialect: Dialect = Dialect.PLAIN
    days: DayFormats = USUAL_DAYS


def make_root(root: Path, mode: int = PRIVATE_MODE) -> bool:
    """Create a tenant's root if it is missing, and return whether it was. An existing one keeps its mode."""
    try:
        root.mkdir(parents=True)
    except FileExistsError:
        return False
    root.chmod(mode)  # mkdir would subtract the umask and drop the set-group bit
    return True


def read(tree: Tree) -> Marker | None:
    """
    The marker of a tree, None if it has none.

    Raises:
        Damaged: there is one, but it is invalid.
    """
    try:
        data, _ = tree.read(MARKER_PATH, 1 << 16)
    except (FileNotFoundError, NotADirectoryError):
        return None
    try:
        raw = json.loads(data)
        tenant, mirror = TenantId(UUID(raw["tenant_id"])), MirrorId(UUID(raw["mirror"]))
        return Marker(str(raw["tenant"]), tenant, mirror, dialect_called(raw.get("dialect")), _days_of(raw))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        remedy = "restore it, or delete it to adopt the tree again."
        raise Damaged(f"{tree.root / MARKER_PATH} does not say which mirror this is; {remedy}") from error


def _days_of(raw: Mapping[str, object]) -> DayFormats:
    return DayFormats(str(raw.get("title_of_days", USUAL_DAYS.title)), str(raw.get("file_of_days", USUAL_DAYS.file)))


def write(tree: Tree, marker: Marker) -> None:
    """Write the marker of the tree, atomically; replaces an earlier one."""
    facts = {
        "tenant": marker.tenant,
        "tenant_id": str(marker.tenant_id),
        "mirror": str(marker.mirror),
    }
    if marker.dialect is not Dialect.PLAIN:
        facts["dialect"] = marker.dialect.value
    if marker.days != USUAL_DAYS:
        facts |= {"title_of_days": marker.days.title, "file_of_days": marker.days.file}
    _write_files(tree, {"id": json.dumps(facts, indent=2).encode() + b"\n"})


def _write_files(tree: Tree, contents: Mapping[str, bytes]) -> None:
    """Write files of `.mirrord/` with all that it must have, durably, with one sync of the directory."""
    tree.make_directories(STATE_DIRECTORY, PRIVATE_MODE)
    with tree.open_directory(STATE_DIRECTORY) as directory:
        for path in (JOURNALS_PATH, TRASH_PATH):
            with suppress(FileExistsError):
                make_directory(directory, name_of(path), PRIVATE_MODE)
        if tree.stat(f"{STATE_DIRECTORY}/.gitignore") is None:
            contents = {".gitignore": b"*\n", **contents}
        _replace_files(directory, contents)
        kernel.fsync(directory)


def _replace_files(directory: int, contents: Mapping[str, bytes]) -> None:
    """Replace files, each atomically; their names are durable after a sync of the directory."""
    suffix = secrets.token_hex(4)
    with ExitStack() as opened:
        descriptors = list[int]()
        for name, data in contents.items():
            descriptors.append(kernel.create(directory, f"{name}.{suffix}", _FILE_MODE))
            opened.callback(os.close, descriptors[-1])
            kernel.write(descriptors[-1], data)
        kernel.fsync_all(*descriptors)
    for name in contents:
        kernel.rename(directory, f"{name}.{suffix}", directory, name)
