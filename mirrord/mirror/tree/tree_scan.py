"""Scans a tree or a part of it without following links, and counts the files it skips."""

import os
import stat as modes
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Set
from contextlib import nullcontext, suppress
from dataclasses import dataclass, field

from mirrord.domain.place import ASSETS, RECORD_DIRECTORIES, RECORDS, explain_no_record
from mirrord.domain.problem_advice import UnsyncedFiles
from mirrord.errors import Mounted, Refused, Unavailable
from mirrord.mirror.tree.contained_files import why_not_mirrored
from mirrord.mirror.tree.ignore_rules import Ignore
from mirrord.mirror.tree.kernel import Stat, stat_of
from mirrord.mirror.tree.packed_stats import PackedStats
from mirrord.mirror.tree.tenant_tree import Tree
from mirrord.mirror.tree.tree_layout import SUFFIX, is_temporary, is_text, lineage, printable, spot_of_file

_SPECIAL = {
    modes.S_IFLNK: "is a symbolic link; links are not followed, put the file itself here",
    modes.S_IFIFO: "is a named pipe, not a file",
    modes.S_IFSOCK: "is a socket, not a file",
    modes.S_IFCHR: "is a device, not a file",
    modes.S_IFBLK: "is a device, not a file",
}
_NOT_UTF_8 = "has a name that is not UTF-8; rename it"


@dataclass(slots=True)
class Scan:
    """
    The result of a scan. Keys are paths.

    files: pages, attachments and records, without those in *unchanged*.
    unchanged: files that are unchanged since the last look, if the caller knows them.
    directories: folders, `assets` and everything below it, those of records; without the scanned directory itself.
    ignored: files and directories that `.mirrorignore` excludes, unless they are synced already.
    strangers: files that are neither pages nor attachments, unless they are synced already.
    untaken: strangers that `.mirrorignore` does not exclude: their number by ending, with one example.
    others: number of visible files of kinds that are not synced.
    troubles: printable path, and the rest of a sentence that begins with it.
    unknown: paths at and below which absence proves nothing.
    """

    files: Mapping[str, Stat] = field(default_factory=PackedStats)
    unchanged: set[str] = field(default_factory=set)
    directories: dict[str, Stat] = field(default_factory=dict)
    ignored: dict[str, Stat] = field(default_factory=dict)
    strangers: set[str] = field(default_factory=set)
    untaken: UnsyncedFiles = field(default_factory=UnsyncedFiles)
    others: int = 0
    troubles: list[tuple[str, str]] = field(default_factory=list)
    unknown: set[str] = field(default_factory=set)

    def proves_absent(self, path: str) -> bool:
        """Whether *path*, below the scanned directory, is certainly absent."""
        if path in self.files or path in self.unchanged or path in self.directories or path in self.ignored:
            return False
        if path in self.strangers:
            return False
        return self.unknown.isdisjoint(lineage(path))


def scan(
    tree: Tree,
    ignore: Ignore,
    under: str = "",
    report_count: Callable[[int], None] = lambda _: None,
    stored_path: Callable[[str, Stat], str | None] = lambda _path, _stat: None,
) -> Scan:
    """
    Scan everything below the directory *under*; a missing one is empty.

    report_count: called repeatedly with the number of files and directories so far.
    stored_path: returns the caller's own string for the path of an unchanged file, else None: so the paths of a large
        unchanged tree are not in memory twice.

    Raises:
        Unavailable: the tree's root cannot be listed.
        Refused: *under* is reached through a symbolic link.
    """
    walk = _Walk(tree, ignore, stored_path)
    walk.start(under)
    while walk.pending:
        walk.scan_directory(walk.pending.pop())
        report_count(len(walk.result.files) + len(walk.result.unchanged) + len(walk.result.directories))
    return walk.result


def describe_special(mode: int) -> str:
    """Why an entry that is neither file nor directory is not synced: the rest of a sentence after its path."""
    return _SPECIAL.get(modes.S_IFMT(mode), "is of an unknown kind")


@dataclass(frozen=True, slots=True)
class _Directory:
    path: str
    in_assets: bool
    ignored: bool

    def child(self, name: str) -> str:
        return f"{self.path}/{name}" if self.path else name


_ScanLayer = Callable[[int, _Directory, Set[str]], None]  # called with the names that are not listed


class _Walk:
    def __init__(self, tree: Tree, ignore: Ignore, stored_path: Callable[[str, Stat], str | None]) -> None:
        self.tree = tree
        self.known = stored_path
        self.ignore = ignore
        self.selective = not ignore.is_empty
        self.device = tree.opened_as[0]
        self._stats = PackedStats()
        self.result = Scan(self._stats)
        self.pending: list[_Directory] = []

    def start(self, under: str) -> None:
        ignored = any(self.ignore.matches(path, True) for path in lineage(under))
        directory = _Directory(under, ASSETS in under.split("/"), ignored)
        try:
            self._scan_layers(directory, self._list_entries)
        except (FileNotFoundError, NotADirectoryError):
            if not under:
                raise
        except OSError as error:
            if not under:
                raise Unavailable(f"The root {self.tree.root} cannot be listed: {error.strerror}.") from error
            self._report_trouble(under, f"cannot be listed: {error.strerror}", ignored)

    def scan_directory(self, directory: _Directory) -> None:
        path = directory.path
        try:
            self._scan_layers(directory, self._note_and_list)
        except FileNotFoundError:
            pass
        except Mounted:
            self._report_trouble(path, why_not_mirrored(path), directory.ignored)
        except (Refused, NotADirectoryError):
            self.result.unknown.add(path)  # replaced since it was listed
        except OSError as error:
            self._report_trouble(path, f"cannot be listed: {error.strerror}", directory.ignored)

    def _scan_layers(self, directory: _Directory, scan_layer: _ScanLayer) -> None:
        """Scan a directory; of a draft's two layers, names of the first are not listed again."""
        layers = self.tree.layers(directory.path)
        names = set[str]()
        for layer in layers[:-1]:
            with suppress(FileNotFoundError), layer.tree.open_directory(directory.path) as descriptor:
                scan_layer(descriptor, directory, layer.hidden)
                names.update(os.listdir(descriptor))
        last = layers[-1]
        hidden = last.hidden | names if names else last.hidden
        with (
            suppress(FileNotFoundError) if names else nullcontext(),
            last.tree.open_directory(directory.path) as descriptor,
        ):
            scan_layer(descriptor, directory, hidden)

    def _note_and_list(self, descriptor: int, directory: _Directory, hidden: Set[str]) -> None:
        path, stat = directory.path, stat_of(os.fstat(descriptor))
        (self.result.ignored if directory.ignored else self.result.directories)[path] = stat
        if stat.device != self.device:
            self._report_trouble(path, why_not_mirrored(path), directory.ignored)
        else:
            self._list_entries(descriptor, directory, hidden)

    def _list_entries(self, descriptor: int, directory: _Directory, hidden: Set[str]) -> None:
        with os.scandir(descriptor) as entries:
            for entry in entries:
                if entry.name in hidden:
                    continue
                if entry.name[0] == "." and not (entry.name == RECORDS and not directory.path):
                    continue
                if directory.path == RECORDS and directory.child(entry.name) not in RECORD_DIRECTORIES:
                    continue
                try:
                    if entry.is_file(follow_symlinks=False):
                        self._see_file(entry, directory)
                    else:
                        self._see_other(entry, directory)
                except FileNotFoundError:
                    continue
                except OSError as error:
                    path = directory.child(entry.name)
                    self._report_trouble(path, f"cannot be looked at: {error.strerror}", directory.ignored)

    def _see_file(self, entry: os.DirEntry[str], directory: _Directory) -> None:
        name = entry.name
        path = directory.child(name)
        if not name.isascii() and not is_text(name):
            self._report_trouble(path, _NOT_UTF_8, directory.ignored)
        elif directory.path in RECORD_DIRECTORIES:
            self._see_record(path, entry)
        elif is_temporary(name):
            self.result.others += 1
        elif not (name.endswith(SUFFIX) or directory.in_assets or self.ignore.rules.is_attachment(path)):
            self._pass_over(path, directory)
        elif directory.ignored or (self.selective and self.ignore.matches(path, False)):
            self.result.ignored[path] = stat_of(entry.stat(follow_symlinks=False))
        else:
            self._note_file(path, entry)

    def _pass_over(self, path: str, directory: _Directory) -> None:
        self.result.others += 1
        self.result.strangers.add(path)
        if not directory.ignored and not (self.selective and self.ignore.matches(path, False)):
            self.result.untaken.add(path)

    def _note_file(self, path: str, entry: os.DirEntry[str]) -> None:
        stat = stat_of(entry.stat(follow_symlinks=False))
        if (unchanged_path := self.known(path, stat)) is not None:
            self.result.unchanged.add(unchanged_path)
        else:
            self._stats.add(path, stat)

    def _see_record(self, path: str, entry: os.DirEntry[str]) -> None:
        if spot_of_file(path) is not None:
            self._note_file(path, entry)
        elif is_temporary(entry.name):
            self.result.others += 1
        else:
            self.result.troubles.append((path, explain_no_record(path)))

    def _see_other(self, entry: os.DirEntry[str], directory: _Directory) -> None:
        path = directory.child(entry.name)
        if not is_text(entry.name):
            self._report_trouble(path, _NOT_UTF_8, directory.ignored)
        elif directory.path in RECORD_DIRECTORIES and entry.is_dir(follow_symlinks=False):
            self.result.others += 1
        elif entry.is_dir(follow_symlinks=False):
            ignored = directory.ignored or (path[0] != "." and self.ignore.matches(path, True))
            self.pending.append(_Directory(path, directory.in_assets or entry.name == ASSETS, ignored))
        else:
            self._report_trouble(path, describe_special(entry.stat(follow_symlinks=False).st_mode), directory.ignored)

    def _report_trouble(self, path: str, sentence: str, is_ignored: bool) -> None:
        self.result.unknown.add(path)
        if not is_ignored:
            self.result.troubles.append((printable(path), sentence))


HIDDEN, UNFINISHED, IGNORED, NO_ENDING = "hidden", "unfinished", "ignored", "without ending"


def count_skipped(tree: Tree, scan: Scan) -> Counter[str]:
    """
    Number of names that a scan of the whole *tree* did not list, by HIDDEN, UNFINISHED, IGNORED, or file_sort().

    A hidden or ignored directory counts once, with all its content.
    """
    counts = Counter(kind for path in ("", *scan.directories) for kind in _kinds_in_directory(tree, path))
    ignored = [path for path in scan.ignored if path.rpartition("/")[0] not in scan.ignored]
    return counts + Counter({IGNORED: len(ignored)}) + Counter(map(file_sort, scan.strangers))


def file_sort(path: str) -> str:
    """The kind of a file that is neither a page nor an attachment: its ending, or NO_ENDING."""
    return printable(os.path.splitext(path)[1].lower()) or NO_ENDING


def _kinds_in_directory(tree: Tree, path: str) -> Iterator[str]:
    if path.startswith(RECORDS):
        return
    try:
        with tree.open_directory(path) as directory, os.scandir(directory) as entries:
            for entry in entries:
                if entry.name.startswith("."):
                    yield from () if entry.name == RECORDS and not path else (HIDDEN,)
                elif entry.is_file(follow_symlinks=False) and is_temporary(entry.name):
                    yield UNFINISHED
    except (OSError, Refused):
        return  # the scan reports the reason
