"""
A directory that rows are exported into: exported files are known by digest, everything else stays.

A file is listed durably before it gets its place. So the next export recognises the files of an interrupted one.
"""

import hashlib
import os
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

from mirrord.domain.entry import Digest
from mirrord.domain.long_work import Omission
from mirrord.errors import Damaged, Refused, Unavailable, UserError, reason_of
from mirrord.mirror import tree_marker
from mirrord.mirror.export.export_files import (
    BUILD_PATH,
    EXPORT_DIRECTORY,
    ExportLedger,
    Manifest,
    drop_known,
    remove_exported,
)
from mirrord.mirror.tree import kernel
from mirrord.mirror.tree.tenant_tree import Tree
from mirrord.mirror.tree.tree_layout import STATE_DIRECTORY, lineage, parent_of, printable
from mirrord.mirror.write.bulk_create import UNFINISHED_PREFIX, FileBatch, Obstacle
from mirrord.mirror.write.journal import PRIVATE_MODE

_BATCH_FILES, _BATCH_BYTES = 2_000, 64 << 20  # built between two syncs of the file system
_IGNORED_NAMES = {EXPORT_DIRECTORY, "lost+found"}  # in a directory that counts as empty


@dataclass(slots=True)
class Tally:
    """Numbers of files by outcome. bytes: of the written files. left: paths that stay unchanged, with reasons."""

    written: int = 0
    same: int = 0
    removed: int = 0
    bytes: int = 0
    left: list[Omission] = field(default_factory=list)


class PiecewiseFile:
    """A file written in pieces, with its size and digest so far."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._state = hashlib.blake2b(digest_size=32)
        self.size = 0

    def write(self, piece: bytes) -> None:
        """Add to the file."""
        kernel.write(self._descriptor, piece)
        self._state.update(piece)
        self.size += len(piece)

    @property
    def digest(self) -> Digest:
        """Of all that was written."""
        return Digest(self._state.digest())


class ExportTarget:
    """
    One exported tree, for the length of one export.

    Every method may raise OSError if the disk is full, read-only or broken; the next export continues from there.
    """

    def __init__(self, tree: Tree, ledger: ExportLedger, facts: Manifest, *, is_empty: bool) -> None:
        """facts: the manifest of the export, with its folders. is_empty: the directory is empty."""
        self.tally = Tally()
        self._tree = tree
        self._ledger = ledger
        self._facts = facts
        self._is_empty = is_empty
        self._landing = FileBatch(tree, ledger.building)
        self._exported_digests: dict[str, Digest] = {}  # of files in place, or built
        self._outdated: set[str] = set()
        self._replaced: list[str] = []  # of files built since the last move_into_place()
        self._waiting_bytes = 0
        self._earlier_folders = set(ledger.earlier.folders if ledger.earlier is not None else ())
        self._drop_unfinished()
        ledger.write_manifest(replace(facts, folders=sorted(self._earlier_folders.union(facts.folders))))

    def remove_others(self, files: Collection[str]) -> None:
        """Remove files of exports that are not among *files* any more, and directories that become empty."""
        others = [path for path in self._ledger.known if path not in files]
        for path in others:
            is_removed = self._withdraw_file(path)
            if is_removed is False:
                self.omit(path, "is no longer a file of the tenant, but was changed since the export; it stays")
            self.tally.removed += is_removed is True
        emptied = {*map(parent_of, others), *(self._earlier_folders - set(self._facts.folders))}
        if emptied:
            self._remove_empty(emptied, {*files, *self._facts.folders})

    def make_folders(self) -> None:
        """Create the directories that are rows themselves."""
        for path in self._facts.folders:
            try:
                self._landing.make_directory(path)
            except (OSError, Refused) as error:
                self._report_obstacle(path, error)

    def needs_write(self, path: str, digest: Digest) -> bool:
        """Whether the file at *path* has to be written to get *digest*; False: it has it, or has to stay."""
        if self._is_empty:
            return True
        try:
            digest_in_place = self._tree.digest_now(path)
        except (OSError, Refused) as error:
            self._report_obstacle(path, error)
            return False
        if (
            digest_in_place is not None
            and digest_in_place != digest
            and digest_in_place in self._ledger.known.get(path, ())
        ):
            self._outdated.add(path)
            return True
        if digest_in_place is not None:
            self._keep_existing(path, digest_in_place, digest)
        return digest_in_place is None

    def write(self, path: str, data: bytes, digest: Digest) -> None:
        """Build the file for *path*, which lacks it; the next move_into_place() puts it in place."""
        self._landing.build(path, data)
        self._register_built(path, digest, len(data))

    @contextmanager
    def write_pieces(self, path: str, digest: Digest) -> Iterator[PiecewiseFile]:
        """Like write(), in pieces, for the length of a `with`. Raises Damaged at its end for another digest."""
        with self._landing.building(path) as descriptor:
            pieces = PiecewiseFile(descriptor)
            yield pieces
            if pieces.digest != digest:
                raise Damaged(f"{printable(path)!r} would not have its digest.")
        self._register_built(path, digest, pieces.size)

    def omit(self, path: str, sentence: str) -> None:
        """Report a path that is not exported; *sentence* follows the path. A file of an earlier export stays."""
        self.tally.left.append(Omission(printable(path), f"{printable(path)!r} {sentence}."))

    def move_into_place(self) -> None:
        """Put all built files in place."""
        self._ledger.flush_notes()
        self._landing.sync()
        for path in self._replaced:
            self._withdraw_file(path)
        for path, error in self._landing.move_into_place().items():
            self.tally.written -= 1
            self._handle_failed_landing(path, self._exported_digests.pop(path), error)
        self._replaced.clear()
        self._waiting_bytes = 0

    def finish(self, counts: Mapping[str, int]) -> Manifest:
        """Put all built files in place and write the final manifest."""
        self.move_into_place()
        others = {
            path: digests[-1] for path, digests in self._ledger.known.items() if path not in self._exported_digests
        }
        others = {path: digest for path, digest in others.items() if self._is_file(path)}
        self._landing.sync()
        digest = self._ledger.write_list(self._exported_digests | others)
        facts = replace(self._facts, complete=not self.tally.left, counts=counts, digest=digest.hex())
        self._ledger.write_manifest(facts)
        return facts

    def _register_built(self, path: str, digest: Digest, size: int) -> None:
        self._ledger.note_file(path, digest)
        self._exported_digests[path] = digest
        self._replaced += [path] if path in self._outdated else []
        self.tally.written += 1
        self.tally.bytes += size
        self._waiting_bytes += size
        if self._landing.pending_count >= _BATCH_FILES or self._waiting_bytes >= _BATCH_BYTES:
            self.move_into_place()

    def _handle_failed_landing(self, path: str, digest: Digest, obstacle: Obstacle) -> None:
        """Handle a file that did not get its place, possibly because the path is taken."""
        try:
            digest_in_place = self._tree.digest_now(path) if isinstance(obstacle, FileExistsError) else None
        except (OSError, Refused) as error:
            digest_in_place, obstacle = None, error
        if digest_in_place is not None:
            self._keep_existing(path, digest_in_place, digest)
        else:
            self._report_obstacle(path, obstacle)

    def _keep_existing(self, path: str, digest_in_place: Digest, digest: Digest) -> None:
        """Keep the file in place: count it if it is equal, else report it."""
        if digest_in_place == digest:
            self._exported_digests[path] = digest
            self.tally.same += 1
        else:
            self.omit(path, "is there with other bytes, which no export wrote; it stays. Move it away, export again")

    def _report_obstacle(self, path: str, error: Obstacle) -> None:
        self.omit(path, f"cannot be written: {reason_of(error).rstrip('.')}")

    def _is_file(self, path: str) -> bool:
        with suppress(OSError, Refused):
            stat = self._tree.stat(path)
            return stat is not None and stat.is_file
        return False

    def _withdraw_file(self, path: str) -> bool | None:
        """Remove a file that is unchanged since an export. False: it is changed, and stays; None: no file is there."""
        return remove_exported(self._tree, path, self._ledger.known[path], self._ledger.building)

    def _remove_empty(self, directories: Collection[str], kept_paths: Collection[str]) -> None:
        kept_directories = {above for path in kept_paths for above in lineage(path)}
        emptied = {above for path in directories for above in lineage(path)} - kept_directories
        for path in sorted(emptied, key=len, reverse=True):
            with suppress(OSError, Refused):
                self._tree.remove_directory(path)

    def _drop_unfinished(self) -> None:
        """Drop files under construction of an interrupted export, and displaced files only if an export wrote them."""
        digests = {digest for file_digests in self._ledger.known.values() for digest in file_digests}
        for name in os.listdir(self._ledger.building):
            if name.startswith(UNFINISHED_PREFIX):
                kernel.unlink(self._ledger.building, name)
            elif not drop_known(self._ledger.building, name, digests):
                self.omit(
                    f"{BUILD_PATH}/{name}", "was saved over an exported file while that was replaced; take it out"
                )


@contextmanager
def open_export(root: Path, facts: Manifest, *, force: bool) -> Iterator[ExportTarget]:
    """
    The directory *root*, created if it is missing, to export into. force: accept foreign files in it.

    Raises:
        UserError: it cannot be created, is a symbolic link, or belongs to a mirror.
        Refused: it holds foreign files without an export, or an export of another tenant.
        Busy, Damaged: as Ledger.
    """
    tree = _open_tree(root)
    try:
        is_empty = tree.list_stats("").keys() <= _IGNORED_NAMES
        if not (is_empty or force or tree.stat(EXPORT_DIRECTORY) is not None):
            raise Refused(
                f"{root} is not empty, and not of an earlier export. Choose another directory, or add --force: "
                "then everything in it stays, and missing files are added."
            )
        ledger = ExportLedger(tree)
        try:
            if ledger.earlier is not None and ledger.earlier.tenant_id != facts.tenant_id:
                raise Refused(
                    f"{root} holds an export of another tenant, {ledger.earlier.tenant}; choose another directory."
                )
            yield ExportTarget(tree, ledger, facts, is_empty=is_empty and not ledger.known)
        finally:
            ledger.close()
    finally:
        tree.close()


def _open_tree(root: Path) -> Tree:
    for directory in (root, *root.parents):
        if (directory / STATE_DIRECTORY).exists():
            raise UserError(f"{root} lies in {directory}, where mirrord works; export into a directory of its own.")
    try:
        tree_marker.make_root(root, PRIVATE_MODE)
        return Tree(root)
    except OSError as error:
        raise UserError(f"{root} cannot be made or opened: {reason_of(error)}") from error
    except Unavailable as error:
        raise UserError(f"{root} is no directory, or a symbolic link to one; name the directory itself.") from error
