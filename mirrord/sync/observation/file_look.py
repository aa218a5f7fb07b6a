"""Looks at paths of the tree: what is there that was not seen before. Blocking; runs in threads."""

import errno
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from uuid import UUID

from mirrord.db.content.record_rows import fault_in
from mirrord.domain.entry import MAX_FILE_BYTES, NO_TEXT, EntryId, Kind, UnreadableFile, digest_of
from mirrord.domain.place import (
    BESIDE_PREFIX,
    RECORD_DIRECTORIES,
    RECORDS,
    explain_no_record,
    find_portability_fault,
    name_key,
)
from mirrord.domain.problem_advice import UnsyncedFiles
from mirrord.errors import Busy, Damaged, Refused
from mirrord.markdown.frontmatter.page_text import PageText, decode
from mirrord.mirror.seen_files import Index
from mirrord.mirror.state_file import CachedStat
from mirrord.mirror.tree import contained_files
from mirrord.mirror.tree.ignore_rules import Ignore
from mirrord.mirror.tree.kernel import Stat
from mirrord.mirror.tree.tenant_tree import Tree
from mirrord.mirror.tree.tree_layout import (
    Spot,
    directory_of,
    is_temporary,
    may_be_synced,
    page_path,
    parent_of,
    printable,
    spot_of_directory,
    spot_of_file,
)
from mirrord.mirror.tree.tree_scan import Scan, describe_special, scan
from mirrord.sync.observation.identity_evidence import FoundFile
from mirrord.sync.observation.look_result import LookResult
from mirrord.sync.observation.open_files import OpenFiles, RenamedFiles, find_waiting_files

UNKNOWN_ENTRY = EntryId(UUID(int=0))  # the entry of a file that is not identified yet


@dataclass(slots=True)
class Looker:
    """
    Looks at one tree and keeps its index.

    reclaimed_paths: paths that are synced although they are ignored, and that the index does not know. untaken: from
    the last scan of the whole tree; None before the first.
    """

    tree: Tree
    index: Index
    ignore: Ignore
    open_files: OpenFiles = field(default_factory=OpenFiles)
    reclaimed_paths: set[str] = field(default_factory=set)
    untaken: UnsyncedFiles | None = None
    renamed: RenamedFiles = field(init=False)

    def __post_init__(self) -> None:
        self.renamed = RenamedFiles(self.tree, self.index)

    def expand_path(self, path: str) -> set[str]:
        """The paths to look at because *path* changed: itself, and differing ones below a present or past directory."""
        try:
            stat = self.tree.stat(path)
            if stat is None or not stat.is_directory or not self._may_hold_entries(path):
                return {path, *self.index.paths_below(path)}
            return {path, *self.find_differing(scan(self.tree, self.ignore, path), path)}
        except (OSError, Refused):
            return {path}

    def find_differing(self, scanned: Scan, under: str = "") -> set[str]:
        """Paths below *under* where a scan differs from the index. Reads no files and does not change the index."""
        index = self.index
        if not under:
            self.untaken = scanned.untaken
        paths = {
            path for path, stat in scanned.directories.items() if spot_of_directory(path) and index.differs(path, stat)
        }
        paths.update(path for path, stat in scanned.files.items() if index.differs(path, stat))
        # ignore rules keep new files out, they never delete synced ones
        paths.update(path for path, stat in scanned.ignored.items() if path in index and index.differs(path, stat))
        paths.update(path for path in scanned.strangers if path in index)
        paths.update(path for path in index.paths_below(under) if scanned.proves_absent(path))
        paths.update(path for path in scanned.unknown if path in index)  # no copy: there may be a million
        return paths

    def reclaim_forgotten(self, scanned: Scan, agreed: Iterable[str]) -> set[str]:
        """Select paths with a base (*agreed*) that a scan ignored because the index had forgotten them."""
        kept_out = {path for path in agreed if path in scanned.strangers or path in scanned.ignored}
        lost = {path for path in kept_out if path not in self.index}
        self.reclaimed_paths |= lost
        return lost

    def look_at_paths(self, paths: Iterable[str], forced: frozenset[str] = frozenset()) -> LookResult:
        """Look at *paths*, not below them. forced: paths to report even if they have not changed."""
        result = LookResult()
        self._look_at_all((path for path in sorted(paths) if path not in result.looked_paths), result, forced)
        self._look_at_origins(result, forced)
        if new_folders := self._paths_of_new_folders(result):
            self._look_at_all(sorted(new_folders - result.found_files.keys()), result, new_folders)
            self._look_at_origins(result, forced)
        if result.unknown_files:
            self._hold_back_renamed(result)
        return result

    def _look_at_all(self, paths: Iterable[str], result: LookResult, forced: frozenset[str]) -> None:
        """Look at *paths*, missing ones last: a missing file may be at another of the paths, unreadable for now."""
        for path in paths:
            self._look_at(path, result, forced)
        for path in sorted(result.vanished_paths):
            if (waiting := self.renamed.waiting_at(path)) is not None:
                self._note_waiting(waiting, result)
            else:
                self._note_gone(path, result)
        result.vanished_paths.clear()

    def _look_at_origins(self, result: LookResult, forced: frozenset[str]) -> None:
        """
        Look at the old paths of renamed files, and report what is there now, even if an earlier look reported it.

        A file that went to its new path together with that one, and waits for its row, cannot be told apart alone.
        """
        reported = result.gone_paths | result.unknown_files.keys()
        while origins := {*result.old_path.values()} - reported - result.found_files.keys():
            reported |= origins
            self._look_at_all(sorted(origins), result, forced | origins)

    def _hold_back_renamed(self, result: LookResult) -> None:
        """Count files that cannot be told apart yet as unknown; the index keeps what was at their paths before."""
        waiting = find_waiting_files(result.found_files.values(), result.old_path, result.unknown_files)
        for path in waiting:
            del result.found_files[path]
            result.views.pop(path, None)
            if (record := result.earlier_records[path]) is not None:
                self.index.record(path, record)
            else:
                self.index.forget(path)
        result.unknown_files |= waiting

    def _paths_of_new_folders(self, result: LookResult) -> frozenset[str]:
        """
        Directories that have become folders, with their content, which may have belonged to another entry.

        Their page file is gone, or they were made for a page that had moved already.
        """
        pages = (path for path in result.gone_paths if (spot := spot_of_file(path)) and spot.kind is Kind.PAGE)
        paths = {directory for path in pages if self._is_known_directory(directory := directory_of(path, Kind.PAGE))}
        paths |= {path for path, file in result.found_files.items() if file.spot.kind is Kind.FOLDER}
        paths = {path for path in paths if not self._has_page_file(path)}
        return frozenset(paths | {path for directory in paths for path in self._content_of(directory)})

    def _is_known_directory(self, directory: str) -> bool:
        """Whether the index shows a directory, itself or by its content: one made for a file may not be in it."""
        return directory in self.index or next(self.index.paths_below(directory), None) is not None

    def _has_page_file(self, directory: str) -> bool:
        return any(page_path("", directory, index) in self.index for index in (False, True))

    def _content_of(self, directory: str) -> Iterator[str]:
        """Paths whose place is in *directory*, even deeper ones: `D/Sub/_index.md`, `D/assets/a/b.png`."""
        for path in self.index.paths_below(directory):
            spot = spot_of_file(path) or spot_of_directory(path)
            if spot is not None and spot.folder == directory:
                yield path

    def _look_at(self, path: str, result: LookResult, forced: frozenset[str]) -> None:
        if not may_be_synced(path):
            return
        result.looked_paths.add(path)
        try:
            self._look_at_place(path, self.tree.stat(path), result, forced)
        except (OSError, Refused) as error:
            self._note_unreadable(path, result, error)

    def _look_at_place(self, path: str, stat: Stat | None, result: LookResult, forced: frozenset[str]) -> None:
        if stat is None:
            result.vanished_paths.add(path)
        elif self._is_respelled(path, stat):
            self._note_gone(path, result)
        elif stat.is_directory:
            self._look_at_directory(path, stat, result, forced)
        elif stat.is_file:
            self._note_gone_below(path, result)
            self._look_at_file(path, stat, result, forced)
        elif path in self.index or not self.ignore.matches(path, False):
            self._note_special_file(path, describe_special(stat.mode), result)

    def _may_hold_entries(self, path: str) -> bool:
        """Whether a directory may hold entries; an ignored one only if it already does."""
        if path == RECORDS or path in RECORD_DIRECTORIES:
            return True
        if spot_of_file(path + "/x.md") is None:
            return False
        return not self.ignore.matches(path, True) or any(self.index.paths_below(path))

    def _look_at_directory(self, path: str, stat: Stat, result: LookResult, forced: frozenset[str]) -> None:
        if self._may_hold_entries(path):
            self._look_at_ancestors(path, result, forced)
            self._report_folder(path, stat, result, forced)

    def _report_folder(self, path: str, stat: Stat, result: LookResult, forced: frozenset[str]) -> None:
        result.looked_paths.add(path)
        spot = spot_of_directory(path)
        if spot is None or not (path in forced or self.index.differs(path, stat)):
            return
        found_file = FoundFile(path, spot, NO_TEXT, None, (stat.device, stat.inode))
        self._update_index(path, stat, found_file, result)
        result.found_files[path] = found_file
        self._report_bad_name(path, spot.name, result)

    def _look_at_file(self, path: str, stat: Stat, result: LookResult, forced: frozenset[str]) -> None:
        result.looked_paths.add(path)
        spot = spot_of_file(path)
        if spot is None:
            self._report_stranger(path, result)
        if spot is None or not (path in self.index or path in self.reclaimed_paths or not self._is_ignored(path, spot)):
            return
        if path not in forced and not self.index.differs(path, stat):
            return
        self._look_at_ancestors(path, result, forced)
        try:
            data, stat, is_snapshot = self._read_file(path, stat)
            text = _decode_text(path, data) if spot.kind in (Kind.PAGE, Kind.RECORD) else ""
            views = PageText(text).views if spot.kind is Kind.PAGE else None
            claimed = views.id if views else None
            found_file = FoundFile(path, spot, digest_of(data), claimed, (stat.device, stat.inode), data, is_snapshot)
            self._update_index(path, stat, found_file, result)
        except FileNotFoundError:
            self._note_gone(path, result)
        except (OSError, Refused, Busy, Damaged) as error:
            self._note_unreadable(path, result, error)
            if isinstance(error, Busy) and (waiting := self.renamed.remember(path, stat)) is not None:
                self._note_waiting(waiting, result)
        else:
            result.found_files[path] = found_file
            if views:
                result.views[path] = views
                if views.error:
                    result.troubles.append((path, "front-matter", f"{path!r}: {views.error}"))
            if spot.kind is Kind.RECORD and (why := fault_in(spot.name, text)):
                result.troubles.append((path, "record", f"{path!r}: {why}."))
            if not spot.index:
                self._report_bad_name(path, spot.name, result)

    def _note_waiting(self, waiting: UnreadableFile, result: LookResult) -> None:
        result.looked_paths.add(waiting.path)
        result.gone_paths.discard(waiting.path)
        result.unknown_files[waiting.path] = waiting

    def _read_file(self, path: str, stat: Stat) -> tuple[bytes, Stat, bool]:
        """The bytes and stat of a file, and whether they are a snapshot of a file that is still being written."""
        with self.tree.open_file(path, stat) as descriptor:
            try:
                data, stat = contained_files.read(descriptor, path, MAX_FILE_BYTES)
            except Busy:
                if not self.open_files.is_due(path):
                    raise
                data, stat = contained_files.read_now(descriptor, path, MAX_FILE_BYTES)
                self.open_files.note_snapshot(path)
                return data, stat, True
        self.open_files.note_closed(path)
        return data, stat, False

    def _look_at_ancestors(self, path: str, result: LookResult, forced: frozenset[str]) -> None:
        """Look at new directories above: their own events may come later, or never."""
        parts = path.split("/")[:-1]
        for depth in range(1, len(parts) + 1):
            above = "/".join(parts[:depth])
            if above in self.index or above in result.looked_paths or spot_of_directory(above) is None:
                continue
            if (stat := self.tree.stat(above)) is not None and stat.is_directory:
                self._report_folder(above, stat, result, forced)

    def _update_index(self, path: str, stat: Stat, found_file: FoundFile, result: LookResult) -> None:
        before = self.index.get(path)
        entry = before.entry if before else UNKNOWN_ENTRY
        if self._is_inode_reused(path, found_file):
            self.index.forget_inode(found_file.inode)
        if (origin := self.index.origin_of(found_file.inode)) is not None:
            result.old_path[found_file.inode] = origin
            result.earlier_records.setdefault(path, before)
        old = self.index.path_of(found_file.inode) or path
        if old != path and name_key(old) == name_key(path) and not self.tree.has_exact_spelling(old):
            result.found_files.pop(old, None)
            self._note_gone(old, result)
        self.index.record(path, CachedStat(*stat[:5], found_file.digest, entry))

    def _is_inode_reused(self, path: str, found_file: FoundFile) -> bool:
        """
        Whether a known inode number belongs to a new file, made after the last look.

        If the file system has no birth times, the inode number of a file is no evidence, only its bytes or text are.
        """
        origin = self.index.origin_of(found_file.inode)
        if origin is None:
            return False
        changed_ns = self.index.changed_ns(found_file.inode)
        is_new = self.tree.was_made_since(path, changed_ns) if changed_ns is not None else None
        if origin == path:
            return is_new is True  # if the path had this number itself, the path is stronger evidence
        return is_new if is_new is not None else found_file.spot.kind is not Kind.FOLDER

    def _is_respelled(self, path: str, stat: Stat) -> bool:
        """Whether *path* is another spelling of the file's name, which this file system treats as the same."""
        known_path = self.index.path_of((stat.device, stat.inode))
        if known_path is None or known_path == path or name_key(known_path) != name_key(path):
            return False
        return not self.tree.has_exact_spelling(path)

    def _note_gone(self, path: str, result: LookResult) -> None:
        result.gone_paths.add(path)
        self.index.forget(path)
        self._note_gone_below(path, result)

    def _note_gone_below(self, path: str, result: LookResult) -> None:
        for below in list(self.index.paths_below(path)):
            result.gone_paths.add(below)
            self.index.forget(below)

    def _note_unreadable(self, path: str, result: LookResult, error: Exception) -> None:
        if isinstance(error, Busy):
            result.unknown_files[path] = UnreadableFile(path, str(error))
            return
        if isinstance(error, OSError):
            passing = error.errno in (errno.EIO, errno.ESTALE, errno.EMFILE, errno.ENFILE, errno.ENOMEM)
            code, sentence = "unreadable", f"{printable(path)!r} cannot be read: {error.strerror}."
        else:
            passing, code, sentence = False, "damaged" if isinstance(error, Damaged) else "refused", str(error)
        result.unknown_files[path] = UnreadableFile(path, sentence, passing)
        result.troubles.append((printable(path), code, sentence))

    def _note_special_file(self, path: str, sentence: str, result: LookResult) -> None:
        full_sentence = f"{printable(path)!r} {sentence}."
        result.unknown_files[path] = UnreadableFile(path, full_sentence, is_temporary=False)
        result.troubles.append((printable(path), "refused", full_sentence))

    def _report_bad_name(self, path: str, name: str, result: LookResult) -> None:
        """List a name that is not portable; of an attachment, any part of the name counts."""
        if why := next(filter(None, map(find_portability_fault, name.removeprefix(BESIDE_PREFIX).split("/"))), None):
            result.troubles.append((path, "name", f"{path!r} is synced, but its name {why}."))

    def _report_stranger(self, path: str, result: LookResult) -> None:
        """List a file in a directory of records that is not a record."""
        if parent_of(path) in RECORD_DIRECTORIES and not is_temporary(path):
            result.troubles.append((path, "refused", f"{path!r} {explain_no_record(path)}."))

    def _is_ignored(self, path: str, spot: Spot) -> bool:
        """Whether `.mirrorignore` leaves a file out. Dot patterns never apply to records."""
        return spot.kind is not Kind.RECORD and self.ignore.excludes_file(path)


def _decode_text(path: str, data: bytes) -> str:
    """Decode the bytes of a file. Raises Damaged with the file's path."""
    try:
        return decode(data)
    except Damaged as error:
        raise Damaged(f"{printable(path)!r}: {error}") from error
