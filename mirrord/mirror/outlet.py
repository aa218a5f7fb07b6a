"""
A directory that rows are exported into: what exports wrote there is known by its digest, all else is other people's
and stays.

A file is listed, durably, before it gets its place. So whenever an export dies, what it left is recognised by the next.
"""

import hashlib
import os
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

from mirrord.domain.entry import Digest
from mirrord.domain.omission import Omission
from mirrord.errors import Damaged, Refused, Unavailable, UserError, reason_of
from mirrord.mirror import kernel, marker
from mirrord.mirror.journal import PRIVATE
from mirrord.mirror.landing import UNFINISHED, Hindrance, Landing
from mirrord.mirror.layout import MACHINE, lineage, parent_of, printable
from mirrord.mirror.ledger import Ledger
from mirrord.mirror.manifest import BUILDING, DIRECTORY, Manifest
from mirrord.mirror.tree import Tree
from mirrord.mirror.withdrawal import drop, withdraw

_BATCH_FILES, _BATCH_BYTES = 2_000, 64 << 20  # built between two syncs of the file system
_NOTHING = {DIRECTORY, "lost+found"}  # in a directory that is empty for people


@dataclass(slots=True)
class Tally:
    """What became of the paths so far, in files. bytes: of what was written. left: what stays as it is, and why."""

    written: int = 0
    same: int = 0
    removed: int = 0
    bytes: int = 0
    left: list[Omission] = field(default_factory=list)


class Pieces:
    """A file written in pieces, and what it holds so far."""

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


class Outlet:
    """
    One exported tree, for the length of one export.

    Every method may raise OSError where the disk is full, read-only or broken; the next export goes on from there.
    """

    def __init__(self, tree: Tree, ledger: Ledger, facts: Manifest, *, is_empty: bool) -> None:
        """facts: what is exported, with its folders. is_empty: there is nothing yet."""
        self.tally = Tally()
        self._tree = tree
        self._ledger = ledger
        self._facts = facts
        self._is_empty = is_empty
        self._landing = Landing(tree, ledger.building)
        self._meant: dict[str, Digest] = {}  # what is in place, or about to be
        self._outdated: set[str] = set()
        self._replaced: list[str] = []  # of what was built since the last land()
        self._waiting_bytes = 0
        self._before = set(ledger.earlier.folders if ledger.earlier is not None else ())
        self._tidy()
        ledger.state(replace(facts, folders=sorted(self._before.union(facts.folders))))

    def remove_others(self, files: Collection[str]) -> None:
        """Remove what exports wrote and is not among *files* any more, and directories that are empty by that."""
        others = [path for path in self._ledger.known if path not in files]
        for path in others:
            gone = self._withdraw(path)
            if gone is False:
                self.leave(path, "is none of the tenant's files any more, but was changed since the export; it stays")
            self.tally.removed += gone is True
        emptied = {*map(parent_of, others), *(self._before - set(self._facts.folders))}
        if emptied:
            self._remove_empty(emptied, {*files, *self._facts.folders})

    def make_folders(self) -> None:
        """The directories that are rows themselves."""
        for path in self._facts.folders:
            try:
                self._landing.make_directory(path)
            except (OSError, Refused) as error:
                self._hinder(path, error)

    def lacks(self, path: str, digest: Digest) -> bool:
        """Whether the file at *path* is to be written to hold what has *digest*; else it does, or has to stay."""
        if self._is_empty:
            return True
        try:
            found = self._tree.digest_now(path)
        except (OSError, Refused) as error:
            self._hinder(path, error)
            return False
        if found is not None and found != digest and found in self._ledger.known.get(path, ()):
            self._outdated.add(path)
            return True
        if found is not None:
            self._keep(path, found, digest)
        return found is None

    def write(self, path: str, data: bytes, digest: Digest) -> None:
        """Build the file at *path*, which lacks it; it gets its place with the next land()."""
        self._landing.write(path, data)
        self._built(path, digest, len(data))

    @contextmanager
    def writing(self, path: str, digest: Digest) -> Iterator[Pieces]:
        """The same in pieces, for the length of a `with`. Raises Damaged at its end if they have another digest."""
        with self._landing.writing(path) as descriptor:
            pieces = Pieces(descriptor)
            yield pieces
            if pieces.digest != digest:
                raise Damaged(f"{printable(path)!r} would not have its digest.")
        self._built(path, digest, pieces.size)

    def leave(self, path: str, sentence: str) -> None:
        """What is not exported; *sentence*: what follows the path. What an earlier export wrote there stays."""
        self.tally.left.append(Omission(printable(path), f"{printable(path)!r} {sentence}."))

    def land(self) -> None:
        """Let everything that was built be in its place."""
        self._ledger.write()
        self._landing.seal()
        for path in self._replaced:
            self._withdraw(path)
        for path, why in self._landing.land().items():
            self.tally.written -= 1
            self._hindered(path, self._meant.pop(path), why)
        self._replaced.clear()
        self._waiting_bytes = 0

    def finish(self, counts: Mapping[str, int]) -> Manifest:
        """Let what was built be in its place, and say that this is all."""
        self.land()
        others = {path: known[-1] for path, known in self._ledger.known.items() if path not in self._meant}
        others = {path: digest for path, digest in others.items() if self._is_file(path)}
        self._landing.seal()
        digest = self._ledger.settle(self._meant | others)
        facts = replace(self._facts, complete=not self.tally.left, counts=counts, digest=digest.hex())
        self._ledger.state(facts)
        return facts

    def _built(self, path: str, digest: Digest, size: int) -> None:
        self._ledger.note(path, digest)
        self._meant[path] = digest
        self._replaced += [path] if path in self._outdated else []
        self.tally.written += 1
        self.tally.bytes += size
        self._waiting_bytes += size
        if self._landing.waiting >= _BATCH_FILES or self._waiting_bytes >= _BATCH_BYTES:
            self.land()

    def _hindered(self, path: str, digest: Digest, why: Hindrance) -> None:
        """The file at *path* did not get its place; maybe because it is there."""
        try:
            found = self._tree.digest_now(path) if isinstance(why, FileExistsError) else None
        except (OSError, Refused) as error:
            found, why = None, error
        if found is not None:
            self._keep(path, found, digest)
        else:
            self._hinder(path, why)

    def _keep(self, path: str, found: Digest, digest: Digest) -> None:
        """What is in place is not replaced."""
        if found == digest:
            self._meant[path] = digest
            self.tally.same += 1
        else:
            self.leave(path, "is there with other bytes, which no export wrote; it stays. Move it away, export again")

    def _hinder(self, path: str, why: Hindrance) -> None:
        self.leave(path, f"cannot be written: {reason_of(why).rstrip('.')}")

    def _is_file(self, path: str) -> bool:
        with suppress(OSError, Refused):
            stat = self._tree.stat(path)
            return stat is not None and stat.is_file
        return False

    def _withdraw(self, path: str) -> bool | None:
        """Remove a file that is as an export wrote it. False: it is not, and stays; None: no file is there."""
        return withdraw(self._tree, path, self._ledger.known[path], self._ledger.building)

    def _remove_empty(self, directories: Collection[str], kept: Collection[str]) -> None:
        standing = {above for path in kept for above in lineage(path)}
        emptied = {above for path in directories for above in lineage(path)} - standing
        for path in sorted(emptied, key=len, reverse=True):
            with suppress(OSError, Refused):
                self._tree.remove_directory(path)

    def _tidy(self) -> None:
        """Drop what a dead export was building; of what it had taken out of its place only what it had written."""
        digests = {digest for known in self._ledger.known.values() for digest in known}
        for name in os.listdir(self._ledger.building):
            if name.startswith(UNFINISHED):
                kernel.unlink(self._ledger.building, name)
            elif not drop(self._ledger.building, name, digests):
                self.leave(f"{BUILDING}/{name}", "was saved over an exported file while that was replaced; take it out")


@contextmanager
def opened(root: Path, facts: Manifest, *, force: bool) -> Iterator[Outlet]:
    """
    The directory *root*, made if it is missing, to export into. force: also if it holds what no export wrote.

    Raises:
        UserError: it cannot be made, is a symbolic link, or belongs to a mirror.
        Refused: it holds something, but no export, or one of another tenant.
        Busy, Damaged: as Ledger.
    """
    tree = _opened_tree(root)
    try:
        is_empty = tree.names("").keys() <= _NOTHING
        if not (is_empty or force or tree.stat(DIRECTORY) is not None):
            raise Refused(
                f"{root} is not empty, and not of an earlier export. Choose another directory, or add --force: "
                "then everything in it stays, and what lacks is added."
            )
        ledger = Ledger(tree)
        try:
            if ledger.earlier is not None and ledger.earlier.tenant_id != facts.tenant_id:
                raise Refused(
                    f"{root} holds an export of another tenant, {ledger.earlier.tenant}; choose another directory."
                )
            yield Outlet(tree, ledger, facts, is_empty=is_empty and not ledger.known)
        finally:
            ledger.close()
    finally:
        tree.close()


def _opened_tree(root: Path) -> Tree:
    for above in (root, *root.parents):
        if (above / MACHINE).exists():
            raise UserError(f"{root} lies in {above}, where mirrord works; export into a directory of its own.")
    try:
        marker.make_root(root, PRIVATE)
        return Tree(root)
    except OSError as error:
        raise UserError(f"{root} cannot be made or opened: {reason_of(error)}") from error
    except Unavailable as error:
        raise UserError(f"{root} is no directory, or a symbolic link to one; name the directory itself.") from error
