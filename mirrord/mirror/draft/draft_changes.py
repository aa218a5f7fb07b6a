"""What a draft changes: its files compared with those it copied, entry by entry."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from mirrord.domain.entry import MAX_FILE_BYTES, Digest
from mirrord.mirror.draft.draft_manifest import Claim, ClaimKind
from mirrord.mirror.draft.draft_tree import DraftTree
from mirrord.mirror.tree.tree_layout import STATE_DIRECTORY
from mirrord.mirror.write import trash
from mirrord.mirror.write.journal import TRASH_PATH
from mirrord.mirror.write.trash import TrashedFile


class ChangeSort(StrEnum):
    """What a draft does to a file; a moved one may have a new text too."""

    CREATED = "created"
    EDITED = "edited"
    MOVED = "moved"
    DELETED = "deleted"


@dataclass(frozen=True, slots=True)
class DraftChange:
    """
    A file that a draft changes.

    path: in the draft; of a deleted file in the tree. claim: what the tree had when the file was copied; None: the file
    is new. digest: of the draft's text; None: it is deleted.
    """

    sort: ChangeSort
    path: str
    claim: Claim | None
    digest: Digest | None

    @property
    def source(self) -> str | None:
        """Its path in the tree; None: it is new."""
        return self.claim.path if self.claim is not None else None

    @property
    def has_new_text(self) -> bool:
        """Whether its text differs from what was copied."""
        return self.digest is not None and (self.claim is None or self.claim.digest != self.digest)


@dataclass(frozen=True, slots=True)
class DraftDirectories:
    """Directories that a draft made, parents first, and those it removed, children first."""

    created: Sequence[str]
    removed: Sequence[str]


def changes_of(tree: DraftTree) -> list[DraftChange]:
    """The files that the draft changes, by path."""
    claims, sources = tree.manifest.files, tree.manifest.sources
    digests = {path: digest for path in _own_files(tree) if (digest := tree.digest_now(path)) is not None}
    moved_away = {source for path, source in sources.items() if path in digests}
    changes = []
    for path, digest in digests.items():
        source = sources.get(path)
        if source is None and path in claims and path not in moved_away:
            source = path  # another file took the place of a deleted one
        claim = claims[source] if source is not None else None
        if claim is None:
            changes.append(DraftChange(ChangeSort.CREATED, path, None, digest))
        elif source != path:
            changes.append(DraftChange(ChangeSort.MOVED, path, claim, digest))
        elif digest != claim.digest:
            changes.append(DraftChange(ChangeSort.EDITED, path, claim, digest))
    occupied_paths = {path for path in digests if sources.get(path) in (None, path)}  # by their own files or new ones
    deleted = [claim for path, claim in claims.items() if path not in moved_away and path not in occupied_paths]
    changes += [
        DraftChange(ChangeSort.DELETED, claim.path, claim, None) for claim in deleted if _is_outside(claim.path)
    ]
    return sorted(changes, key=lambda change: change.path)


def directories_of(tree: DraftTree) -> DraftDirectories:
    """The directories that the draft makes and removes."""
    own_directories = {path for path, stat in tree.own_entries() if stat.is_directory}
    removed = [
        path
        for path, claim in tree.manifest.claims.items()
        if claim.kind is ClaimKind.DIRECTORY and path not in own_directories and _is_outside(path)
    ]
    created = [path for path in own_directories if tree.lower.stat(path) is None]
    return DraftDirectories(
        sorted(created, key=lambda path: path.count("/")),
        sorted(removed, key=lambda path: path.count("/"), reverse=True),
    )


def own_trash(tree: DraftTree) -> list[TrashedFile]:
    """What was put into the trash in the draft."""
    try:
        lower_names = frozenset(tree.lower.list_names(TRASH_PATH))
    except FileNotFoundError:
        lower_names = frozenset()
    return trash.list_trash(tree.layers(TRASH_PATH)[0].tree, lower_names)


def restored_names(tree: DraftTree) -> list[str]:
    """The names in the tree's trash of files that the draft took out of it."""
    names = [path.rpartition("/")[2] for path in tree.manifest.claims if path.startswith(f"{TRASH_PATH}/")]
    return [name for name in names if not name.endswith(".json") and tree.stat(f"{TRASH_PATH}/{name}") is None]


def base_text(tree: DraftTree, digest: Digest) -> bytes | None:
    """The bytes of a file as it was copied, from the draft's trash; None: it was not replaced there."""
    for name in trash.names_of_text(tree, digest):
        path = f"{TRASH_PATH}/{name}"
        if tree.digest_now(path) == digest:
            return tree.snapshot(path, MAX_FILE_BYTES)[0]
    return None


def _own_files(tree: DraftTree) -> list[str]:
    return [path for path, stat in tree.own_entries() if stat.is_file]


def _is_outside(path: str) -> bool:
    """Whether *path* is no state of mirrord's own."""
    return not path.startswith(f"{STATE_DIRECTORY}/")
