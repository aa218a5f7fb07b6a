"""
The tree of a draft: a tenant's tree, with the draft's own files over it.

A path is the draft's once it is *claimed*: then only the draft's files count, and what is missing there is deleted. All
other paths are the tree's, which no method here changes.
"""

import errno
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from mirrord.domain.event import EVENTS_FOLDER
from mirrord.errors import DraftFull, Refused, Stale
from mirrord.mirror.draft.draft_copies import DraftCopies
from mirrord.mirror.draft.draft_manifest import Claim, ClaimKind
from mirrord.mirror.draft.first_texts import confirm_loaded_text, open_manifest, write_first_text
from mirrord.mirror.tree import kernel
from mirrord.mirror.tree.kernel import OpenDescriptor, Stat
from mirrord.mirror.tree.replaced_file import Replaced
from mirrord.mirror.tree.tenant_tree import Layer, Tree
from mirrord.mirror.tree.tree_layout import STATE_DIRECTORY, SUFFIX, lineage, parent_of, printable
from mirrord.mirror.write.journal import JOURNALS_PATH, PRIVATE_MODE, TRASH_PATH
from mirrord.mirror.write.tree_locks import WRITE_LOCK

FILES_NAME = "tree"  # in the draft's directory: what it holds over the tree
MAX_PAGES = 500
MAX_BYTES = 50 << 20

_PRIVATE = (JOURNALS_PATH, EVENTS_FOLDER)  # directories that a draft has of its own
_PRIVATE_PATHS = frozenset((STATE_DIRECTORY, WRITE_LOCK, *_PRIVATE))
_BELOW_PRIVATE = tuple(f"{directory}/" for directory in _PRIVATE)


class DraftTree(Tree):
    """
    The tree of a draft; *lower* stays open when it is closed.

    Its root is that of *lower*, whose name it bears in messages. Several threads may read while one writes.
    """

    lower: Tree

    def __init__(self, lower: Tree, directory: Path) -> None:
        """*directory*: the draft's. Raises Unavailable if it is gone."""
        super().__init__(directory / FILES_NAME, lower.attachments)
        self.root = lower.root
        self.lower = lower
        self._upper = Tree(directory / FILES_NAME, lower.attachments)
        self.manifest = open_manifest(directory, self._upper)
        self._claimed_names: dict[str, frozenset[str]] = {}  # by directory, also of those above a claimed path
        self._written_bytes = 0
        self._copies = DraftCopies(lower, self._upper)
        self._settle_last_move()
        self._index_claims()

    def close(self) -> None:
        """Close the draft's files, not those of the tree below."""
        self._copies.close()
        self.manifest.close()
        self._upper.close()
        super().close()

    def claim(self, *paths: str, new_bytes: int = 0) -> None:
        """As in Tree. Raises Busy while a program writes such a file, and Refused for what is no file."""
        self._claim_paths(paths, new_bytes)
        self._sync_claims()

    def claim_with_next_syncs(self, path: str, new_bytes: int) -> None:
        """As in Tree; raises as claim()."""
        self._claim_paths([path], new_bytes)

    def write_first_text(self, path: str, data: bytes, replaced: Replaced) -> bool:
        """
        As in Tree, durably with its claim; until then reads go below.

        Raises Stale if the tree has another file there than *replaced*, and as claim().
        """
        if self.is_claimed(path):
            return False
        confirm_loaded_text(self.manifest, self._upper)
        if self.manifest.has_unwritten_claims:  # of a write that failed
            self._sync_claims()
        self._make_shadow(parent_of(path))
        self._check_space([path], replaced.stat.size + len(data))
        with self._copies.syncing() as unsynced:
            first = write_first_text((self.lower, self._upper), self.manifest, path, data, replaced, unsynced)
        with suppress(OSError):  # of a full disk: it is confirmed before the next change
            self.manifest.confirm_first_text(first)
        self._note_claims([first.claim])
        self._written_bytes += len(data)
        return True

    @contextmanager
    def syncing_notes(self) -> Iterator[Sequence[int]]:
        """As in Tree: first of what new claims rely on, after which their lines are written; then of these lines."""
        if not self.manifest.has_unwritten_claims:
            with self.manifest.syncing() as descriptors:
                yield descriptors
            return
        try:
            with self._copies.syncing() as descriptors:
                yield descriptors
        except OSError:
            self._forget_unwritten_claims()
            raise
        try:
            self.manifest.write_claims()  # all that they rely on is durable
        except OSError:
            self._forget_unwritten_claims()
            raise

    def _forget_unwritten_claims(self) -> None:
        self.manifest.forget_unwritten_claims()
        self._index_claims()
        self.remove_unclaimed_files()

    def remove_unclaimed_files(self) -> None:
        """Remove files without a claim, as a power cut leaves them; only the connection that has the draft may."""
        unclaimed = [
            path for path, stat in self._upper_entries() if stat.is_file and not self.manifest.is_claimed(path)
        ]
        for path in unclaimed:
            with suppress(OSError), self._upper.open_directory(parent_of(path)) as directory:
                kernel.unlink(directory, path.rpartition("/")[2])

    def _claim_paths(self, paths: Sequence[str], new_bytes: int) -> None:
        confirm_loaded_text(self.manifest, self._upper)
        for path in paths:
            if _is_private(path):
                continue
            self._make_shadow(parent_of(path))
            if not self.manifest.is_claimed(path):
                self._copy_and_claim(path)
        self._check_space((), new_bytes)
        self._written_bytes += new_bytes

    def claim_new_directory(self, path: str) -> None:
        """As in Tree."""
        if self.stat(path) is None:
            self.claim(path)
        else:
            self._make_shadow(path)

    def note_move(self, source: str, target: str) -> None:
        """As in Tree."""
        self._sync_claims()
        self.manifest.note_move(source, target)
        self.moved_from = self.manifest.moved_from

    def note_removal(self, path: str) -> None:
        """As in Tree."""
        self._sync_claims()
        self.manifest.note_removal(path)
        self.moved_from = self.manifest.moved_from

    def is_claimed_alone(self, path: str) -> bool:
        """Whether *path* is claimed by itself, and not with a directory above it."""
        return path in self.manifest.claims and not any(map(self.manifest.is_claimed, lineage(parent_of(path))))

    def has_moved_away(self, path: str) -> bool:
        """Whether the draft has the tree's file at *path* at another path."""
        return any(source == path != target for target, source in self.manifest.sources.items())

    def withdraw(self, path: str) -> None:
        """Give the file at *path*, which is claimed alone, back to the tree: the draft's own goes, for good."""
        self._sync_claims()
        try:
            self.manifest.note_withdrawal(path)
        finally:
            self._index_claims()
        with suppress(OSError), self._upper.open_directory(parent_of(path)) as directory:  # a leftover means nothing
            kernel.unlink(directory, path.rpartition("/")[2])

    def is_claimed(self, path: str) -> bool:
        """Whether *path* is the draft's."""
        return self.manifest.is_claimed(path) or _is_private(path)

    def layers(self, path: str) -> tuple[Layer, ...]:
        """As in Tree."""
        if self.is_claimed(path):
            return (Layer(self._upper, frozenset()),)
        claimed_names = self._claimed_names.get(path)
        if claimed_names is None and path != TRASH_PATH:
            return (Layer(self.lower, frozenset()),)
        return (Layer(self._upper, frozenset()), Layer(self.lower, claimed_names or frozenset()))

    def layer_of(self, path: str) -> Tree:
        """As in Tree."""
        return self._upper if self.is_claimed(path) else self.lower

    def list_names(self, path: str) -> list[str]:
        """As in Tree."""
        return [*dict.fromkeys(name for names in self._list_layers(path) for name in names)]

    def list_stats(self, path: str) -> dict[str, Stat]:
        """As in Tree."""
        stats: dict[str, Stat] = {}
        for layer in reversed(self._existing_layers(path)):
            entries = layer.tree.list_stats(path).items()
            stats |= {name: stat for name, stat in entries if name not in layer.hidden}
        return stats

    def open_directory(self, path: str) -> OpenDescriptor:
        """As in Tree, but of the draft's own directory, in which files may be changed; see layers() for lists."""
        try:
            return self._upper.open_directory(path)
        except (FileNotFoundError, NotADirectoryError):
            self._make_shadow(path)
            return self._upper.open_directory(path)

    def make_directories(self, path: str, mode: int | None = None) -> None:
        """As in Tree."""
        if _is_private(path) or path.startswith(STATE_DIRECTORY):
            self._upper.make_directories(path, mode)
            return
        for directory in reversed([*lineage(path)]):
            stat = self.stat(directory)
            if stat is None:
                self.claim(directory)
                self._upper.make_directories(directory, mode)
            elif not stat.is_directory:
                raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), directory)

    def remove_directory(self, path: str) -> bool:
        """As in Tree."""
        try:
            if self.list_names(path):
                return False
        except FileNotFoundError:
            return True
        except NotADirectoryError:
            return False
        self._make_shadow(parent_of(path))
        if not self.manifest.is_claimed(path):
            self._record_claims([Claim(path, ClaimKind.DIRECTORY)])
        self._sync_claims()
        return self._upper.remove_directory(path)

    def move(self, source: str, target: str) -> Stat:
        """As in Tree."""
        self.claim(source, target)
        if self._upper.stat(source) is None or self._upper.stat(target) is not None:
            return self._upper.move(source, target)  # which says what hinders it
        self.manifest.note_move(source, target)
        try:
            return self._upper.move(source, target)
        except (OSError, Stale, Refused):
            self.manifest.note_move(target, source)
            raise
        finally:
            self.moved_from = self.manifest.moved_from

    def own_entries(self) -> Iterator[tuple[str, Stat]]:
        """The draft's own files and directories by path, without mirrord's state."""
        return ((path, stat) for path, stat in self._upper_entries() if self.manifest.is_claimed(path))

    def _upper_entries(self) -> Iterator[tuple[str, Stat]]:
        """As own_entries(), with directories that are only on the way, and files that nothing is recorded of."""
        pending = [""]
        while pending:
            directory = pending.pop()
            for name, stat in sorted(self._upper.list_stats(directory).items()):
                path = f"{directory}/{name}".lstrip("/")
                if _is_private(path) or path == STATE_DIRECTORY:
                    continue
                if stat.is_directory:
                    pending.append(path)
                yield path, stat

    def own_paths(self) -> Iterator[str]:
        """As in Tree. What is made below a claimed directory has no claim of its own."""
        pending, copied = list(self.manifest.claims), self.manifest.sources
        for path in pending:
            stat = self._upper.stat(path) if path not in copied else None  # every search asks: a copy is a file
            if stat is not None and stat.is_directory:
                pending += [f"{path}/{name}" for name in self._upper.list_names(path)]
            else:
                yield path

    def _open(self, path: str, flags: int) -> int:
        layer = self.layer_of(path)
        try:
            return layer._open(path, flags)
        except FileNotFoundError:
            if layer is self.lower and (path in self._claimed_names or parent_of(path) == TRASH_PATH):
                return self._upper._open(path, flags)
            raise

    def _existing_layers(self, path: str) -> list[Layer]:
        layers = [layer for layer in self.layers(path) if layer.tree.stat(path) is not None]
        return layers or [*self.layers(path)[-1:]]

    def _list_layers(self, path: str) -> Iterator[list[str]]:
        for layer in self._existing_layers(path):
            yield [name for name in layer.tree.list_names(path) if name not in layer.hidden]

    def _make_shadow(self, path: str) -> None:
        """Give the draft its own directory at *path*, if the tree or the draft has one."""
        if self._upper.stat(path) is not None or (not _is_private(path) and self.manifest.is_claimed(path)):
            return
        if path == STATE_DIRECTORY or path.startswith(f"{STATE_DIRECTORY}/") or _is_private(path):
            self._upper.make_directories(path, PRIVATE_MODE)
            return
        stat = self.lower.stat(path)
        if stat is None or not stat.is_directory:
            return
        self._make_own_directory(path)

    def _make_own_directory(self, path: str) -> None:
        """Make a directory that the tree has, and those above it that the draft has not."""
        above = parent_of(path)
        if above and self._upper.stat(above) is None:
            self._make_own_directory(above)
        with self._upper.open_directory(above) as parent, suppress(FileExistsError):
            kernel.mkdir(parent, path.rpartition("/")[2], PRIVATE_MODE)
            self._copies.note_change(above)

    def _sync_claims(self) -> None:
        """Make what new claims rely on durable, then their lines."""
        confirm_loaded_text(self.manifest, self._upper)
        for _ in range(2):
            with self.syncing_notes() as descriptors:
                if descriptors:
                    kernel.fsync_all(*descriptors)

    def _copy_and_claim(self, path: str) -> None:
        """Copy what the tree has at *path*, and claim it."""
        stat = self.lower.stat(path)
        if stat is None:
            self._check_space([path], 0)
            self._record_claims([Claim(path, ClaimKind.ABSENT)])
            return
        stats = {path: stat} | (dict(self._stats_below(path)) if stat.is_directory else {})
        self._check_space(stats, sum(stat.size for stat in stats.values() if stat.is_file))
        self._record_claims([self._copy_entry(path, stat) for path, stat in stats.items()])

    def _stats_below(self, directory: str) -> Iterator[tuple[str, Stat]]:
        """What the tree has below a directory, and the draft not yet; parents first."""
        for name, stat in self.lower.list_stats(directory).items():
            path = f"{directory}/{name}"
            if self.manifest.is_claimed(path):
                continue
            yield path, stat
            if stat.is_directory:
                yield from self._stats_below(path)

    def _copy_entry(self, path: str, stat: Stat) -> Claim:
        if stat.is_directory:
            self._make_shadow(path)
            return Claim(path, ClaimKind.DIRECTORY)
        if not stat.is_file:
            raise Refused(f"{printable(path)!r} is not a regular file; it is neither read nor replaced.")
        return self._copies.copy_file(path, stat)

    def _check_space(self, paths: Iterable[str], new_bytes: int) -> None:
        pages = self.manifest.page_count + sum(path.endswith(SUFFIX) for path in paths)
        if pages > MAX_PAGES or self._written_bytes + self.manifest.copied_bytes + new_bytes > MAX_BYTES:
            raise DraftFull(
                f"A change set has at most {MAX_PAGES} pages and {MAX_BYTES >> 20} MB; this would make it larger."
            )

    def _record_claims(self, claims: Sequence[Claim]) -> None:
        self.manifest.add(claims)
        self._note_claims(claims)

    def _note_claims(self, claims: Iterable[Claim]) -> None:
        for claim in claims:
            _add_name(self._claimed_names, claim.path)
        self.moved_from = self.manifest.moved_from

    def _index_claims(self) -> None:
        names: dict[str, frozenset[str]] = {}
        for path in self.manifest.claims:
            _add_name(names, path)
        self._claimed_names, self.moved_from = names, self.manifest.moved_from

    def _settle_last_move(self) -> None:
        """Undo the record of a move that a dying process did not carry out."""
        if self.manifest.last_move is not None:
            source, target = self.manifest.last_move
            if self._upper.stat(target) is None and self._upper.stat(source) is not None:
                self.manifest.note_move(target, source)


def _add_name(claimed_names: dict[str, frozenset[str]], path: str) -> None:
    """Add the name at *path* to those of its directory, and the directories above."""
    directory, name = parent_of(path), path.rpartition("/")[2]
    claimed_names[directory] = claimed_names.get(directory, frozenset()) | {name}
    for above in ("", *lineage(parent_of(directory))):
        claimed_names.setdefault(above, frozenset())


def _is_private(path: str) -> bool:
    return path in _PRIVATE_PATHS or path.startswith(_BELOW_PRIVATE)
