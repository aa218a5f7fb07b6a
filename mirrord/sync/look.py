"""Looking at paths of the tree: what is there now that was not seen before. Blocking; runs in threads."""

import errno
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from uuid import UUID

from mirrord.codec.text import decode
from mirrord.codec.views import Views, views_of
from mirrord.domain.entry import EntryId, Kind, digest_of
from mirrord.domain.place import BESIDE, RECORDS, name_key, unportable
from mirrord.domain.record import DIRECTORIES, why_no_record
from mirrord.domain.state import NO_TEXT, Unknown
from mirrord.domain.untaken import Untaken
from mirrord.errors import Busy, Damaged, Refused
from mirrord.mirror.ignore import Ignore
from mirrord.mirror.index import Index
from mirrord.mirror.kernel import Stat
from mirrord.mirror.layout import (
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
from mirrord.mirror.scan import Scan, describe_special, scan
from mirrord.mirror.state import Seen
from mirrord.mirror.tree import Tree
from mirrord.sync.evidence import Found, Inode
from mirrord.sync.held import Held
from mirrord.sync.recorded import fault_in
from mirrord.sync.renamed import Renamed

LIMIT = 50 << 20  # bytes of one file
NOBODY = EntryId(UUID(int=0))  # whose file it is has not been decided


@dataclass(slots=True)
class Look:
    """
    found: what is new, changed or asked for, by path; views: of the pages among it.
    gone: paths that hold nothing now.
    old_path: where the inodes of what was found were when it was last known whose they are.
    troubles: (path, code, sentence) to be listed. vanished: paths that hold nothing, until what is there was looked at.
    """

    found: dict[str, Found] = field(default_factory=dict)
    views: dict[str, Views] = field(default_factory=dict)
    gone: set[str] = field(default_factory=set)
    unknown: dict[str, Unknown] = field(default_factory=dict)
    troubles: list[tuple[str, str, str]] = field(default_factory=list)
    old_path: dict[Inode, str] = field(default_factory=dict)
    looked: set[str] = field(default_factory=set)
    vanished: set[str] = field(default_factory=set)

    @property
    def passing(self) -> list[str]:
        """Paths to look at again soon: what hinders there will be over without anybody's doing."""
        held = [path for path, found in self.found.items() if found.held]
        return held + [path for path, unknown in self.unknown.items() if unknown.passing]

    def list_troubles(self, found: Scan) -> None:
        """What a scan could not take in, in the words of a look."""
        for path, sentence in found.troubles:
            self.troubles.append((path, "refused", f"{path!r} {sentence}."))


@dataclass(slots=True)
class Looker:
    """
    Looks at one tree and keeps its index.

    agreed: paths of what is synced though it is kept out, and the index does not know it. untaken: as the last
    scan of the whole tree has it; None: there was none yet.
    """

    tree: Tree
    index: Index
    ignore: Ignore
    held: Held = field(default_factory=Held)
    agreed: set[str] = field(default_factory=set)
    untaken: Untaken | None = None
    renamed: Renamed = field(init=False)

    def __post_init__(self) -> None:
        self.renamed = Renamed(self.tree, self.index)

    def expand(self, path: str) -> set[str]:
        """What to look at because *path* changed: itself, and what differs below it if it is, or was, a directory."""
        try:
            stat = self.tree.stat(path)
            if stat is None or not stat.is_directory or not self._is_taken(path):
                return {path, *self.index.below(path)}
            return {path, *self.differing(scan(self.tree, self.ignore, path), path)}
        except (OSError, Refused):
            return {path}

    def differing(self, found: Scan, under: str = "") -> set[str]:
        """Paths below *under* where a scan did not find what was last seen. Nothing is read, nothing remembered."""
        index = self.index
        if not under:
            self.untaken = found.untaken
        paths = {
            path for path, stat in found.directories.items() if spot_of_directory(path) and index.differs(path, stat)
        }
        paths.update(path for path, stat in found.files.items() if index.differs(path, stat))
        # ignoring keeps new things out, it never deletes what is synced
        paths.update(path for path, stat in found.ignored.items() if path in index and index.differs(path, stat))
        paths.update(path for path in found.strangers if path in index)
        paths.update(path for path in index.below(under) if found.shows_absent(path))
        return paths | {path for path in found.unknown if path in index}

    def reclaim(self, found: Scan, agreed: Iterable[str]) -> set[str]:
        """Those of *agreed*, paths that both sides know, that a scan kept out because the index forgot them."""
        kept_out = {path for path in agreed if path in found.strangers or path in found.ignored}
        lost = {path for path in kept_out if path not in self.index}
        self.agreed |= lost
        return lost

    def look(self, paths: Iterable[str], forced: frozenset[str] = frozenset()) -> Look:
        """Look at *paths*, not below them. forced: reported even where nothing changed."""
        result = Look()
        self._look_at_all((path for path in sorted(paths) if path not in result.looked), result, forced)
        self._look_at_origins(result, forced)
        if left := self._left_behind(result):
            self._look_at_all(sorted(left - result.found.keys()), result, left)
            self._look_at_origins(result, forced)
        return result

    def _look_at_all(self, paths: Iterable[str], result: Look, forced: frozenset[str]) -> None:
        """What is not there is judged last: it may be at another of the paths, where nobody can read it yet."""
        for path in paths:
            self._look_at(path, result, forced)
        for path in sorted(result.vanished):
            if (waiting := self.renamed.waiting(path)) is not None:
                self._wait(waiting, result)
            else:
                self._gone(path, result)
        result.vanished.clear()

    def _look_at_origins(self, result: Look, forced: frozenset[str]) -> None:
        # what is found under another name left its old one, maybe to another file: where did that come from?
        while unseen := [path for path in result.old_path.values() if path not in result.looked]:
            result.looked.update(unseen)
            self._look_at_all(unseen, result, forced)

    def _left_behind(self, result: Look) -> frozenset[str]:
        """
        Directories that are folders from now, with what hangs on them: it may have been known as something else's.

        Their page file went, or they were made for a page that had moved already.
        """
        pages = (path for path in result.gone if (spot := spot_of_file(path)) and spot.kind is Kind.PAGE)
        left = {directory for path in pages if self._is_held(directory := directory_of(path, Kind.PAGE))}
        left |= {path for path, found in result.found.items() if found.spot.kind is Kind.FOLDER}
        left = {path for path in left if not self._has_page_file(path)}
        return frozenset(left | {path for directory in left for path in self._held_by(directory)})

    def _is_held(self, directory: str) -> bool:
        """Whether a directory is there, as far as was seen; one that was made for a file was not looked at itself."""
        return directory in self.index or next(self.index.below(directory), None) is not None

    def _has_page_file(self, directory: str) -> bool:
        return any(page_path("", directory, index) in self.index for index in (False, True))

    def _held_by(self, directory: str) -> Iterator[str]:
        """What has its place in *directory*, deeper paths too: `D/Sub/_index.md`, `D/assets/a/b.png`."""
        for path in self.index.below(directory):
            spot = spot_of_file(path) or spot_of_directory(path)
            if spot is not None and spot.folder == directory:
                yield path

    def _look_at(self, path: str, result: Look, forced: frozenset[str]) -> None:
        if not may_be_synced(path):
            return
        result.looked.add(path)
        try:
            stat = self.tree.stat(path)
        except (OSError, Refused) as error:
            self._cannot(path, result, error)
            return
        if stat is None:
            result.vanished.add(path)
        elif self._is_respelled(path, stat):
            self._gone(path, result)
        elif stat.is_directory:
            self._directory(path, stat, result, forced)
        elif stat.is_file:
            self._gone_below(path, result)
            self._file(path, stat, result, forced)
        elif path in self.index or not self.ignore.matches(path, False):
            self._trouble(path, describe_special(stat.mode), result)

    def _is_taken(self, path: str) -> bool:
        """Whether a directory may hold entries; one that is ignored only if it does already."""
        if path == RECORDS or path in DIRECTORIES:
            return True
        if spot_of_file(path + "/x.md") is None:
            return False
        return not self.ignore.matches(path, True) or any(self.index.below(path))

    def _directory(self, path: str, stat: Stat, result: Look, forced: frozenset[str]) -> None:
        if self._is_taken(path):
            self._ancestors(path, result, forced)
            self._folder(path, stat, result, forced)

    def _folder(self, path: str, stat: Stat, result: Look, forced: frozenset[str]) -> None:
        result.looked.add(path)
        spot = spot_of_directory(path)
        if spot is None or not (path in forced or self.index.differs(path, stat)):
            return
        result.found[path] = Found(path, spot, NO_TEXT, None, (stat.device, stat.inode))
        self._remark_name(path, spot.name, result)
        self._note(path, stat, result.found[path], result)

    def _file(self, path: str, stat: Stat, result: Look, forced: frozenset[str]) -> None:
        result.looked.add(path)
        spot = spot_of_file(path)
        if spot is None:
            self._remark_stranger(path, result)
        if spot is None or not (path in self.index or path in self.agreed or not self._is_ignored(path, spot)):
            return
        if path not in forced and not self.index.differs(path, stat):
            return
        self._ancestors(path, result, forced)
        try:
            data, stat, held = self._read(path)
            text = _text(path, data) if spot.kind in (Kind.PAGE, Kind.RECORD) else ""
            views = views_of(text) if spot.kind is Kind.PAGE else None
        except FileNotFoundError:
            self._gone(path, result)
        except (OSError, Refused, Busy, Damaged) as error:
            self._cannot(path, result, error)
            if isinstance(error, Busy) and (waiting := self.renamed.remember(path, stat)) is not None:
                self._wait(waiting, result)
        else:
            claimed = views.id if views else None
            found = Found(path, spot, digest_of(data), claimed, (stat.device, stat.inode), data, held)
            result.found[path] = found
            if views:
                result.views[path] = views
                if views.error:
                    result.troubles.append((path, "front-matter", f"{path!r}: {views.error}"))
            if spot.kind is Kind.RECORD and (why := fault_in(spot.name, text)):
                result.troubles.append((path, "record", f"{path!r}: {why}."))
            if not spot.index:
                self._remark_name(path, spot.name, result)
            self._note(path, stat, found, result)

    def _wait(self, waiting: Unknown, result: Look) -> None:
        result.looked.add(waiting.path)
        result.gone.discard(waiting.path)
        result.unknown[waiting.path] = waiting

    def _read(self, path: str) -> tuple[bytes, Stat, bool]:
        """What a file holds, and whether it is only a snapshot of what somebody goes on writing."""
        try:
            data, stat = self.tree.read(path, LIMIT)
        except Busy:
            if not self.held.is_due(path):
                raise
            data, stat = self.tree.snapshot(path, LIMIT)
            self.held.was_read(path)
            return data, stat, True
        self.held.is_free(path)
        return data, stat, False

    def _ancestors(self, path: str, result: Look, forced: frozenset[str]) -> None:
        """The directories above, where they are new too: their own events may come later, or never."""
        parts = path.split("/")[:-1]
        for depth in range(1, len(parts) + 1):
            above = "/".join(parts[:depth])
            if above in self.index or above in result.looked or spot_of_directory(above) is None:
                continue
            if (stat := self.tree.stat(above)) is not None and stat.is_directory:
                self._folder(above, stat, result, forced)

    def _note(self, path: str, stat: Stat, found: Found, result: Look) -> None:
        before = self.index.get(path)
        entry = before.entry if before else NOBODY
        if self._is_reused(path, found):
            self.index.disown(found.inode)
        if (origin := self.index.origin_of(found.inode)) is not None:
            result.old_path[found.inode] = origin
        old = self.index.path_of(found.inode) or path
        if old != path and name_key(old) == name_key(path) and not self.tree.spells(old):
            result.found.pop(old, None)
            self._gone(old, result)
        self.index.note(path, Seen(*stat[:5], found.digest, entry))

    def _is_reused(self, path: str, found: Found) -> bool:
        """
        Whether the number of an inode that was seen before belongs to a new file now: it was made since that look.

        Where the file system does not say when, a file's number is no evidence; its bytes, or most of them, have to be.
        """
        origin = self.index.origin_of(found.inode)
        if origin is None:
            return False
        changed_ns = self.index.changed_ns(found.inode)
        is_new = self.tree.was_made_since(path, changed_ns) if changed_ns is not None else None
        if origin == path:
            return is_new is True  # of a path that had the number itself, the path says more
        return is_new if is_new is not None else found.spot.kind is not Kind.FOLDER

    def _is_respelled(self, path: str, stat: Stat) -> bool:
        """Whether what was found is another spelling of the name, which this file system takes for the same."""
        known = self.index.path_of((stat.device, stat.inode))
        if known is None or known == path or name_key(known) != name_key(path):
            return False
        return not self.tree.spells(path)

    def _gone(self, path: str, result: Look) -> None:
        result.gone.add(path)
        self.index.forget(path)
        self._gone_below(path, result)

    def _gone_below(self, path: str, result: Look) -> None:
        for below in list(self.index.below(path)):
            result.gone.add(below)
            self.index.forget(below)

    def _cannot(self, path: str, result: Look, error: Exception) -> None:
        if isinstance(error, Busy):
            result.unknown[path] = Unknown(path, str(error))
            return
        if isinstance(error, OSError):
            passing = error.errno in (errno.EIO, errno.ESTALE, errno.EMFILE, errno.ENFILE, errno.ENOMEM)
            code, sentence = "unreadable", f"{printable(path)!r} cannot be read: {error.strerror}."
        else:
            passing, code, sentence = False, "damaged" if isinstance(error, Damaged) else "refused", str(error)
        result.unknown[path] = Unknown(path, sentence, passing)
        result.troubles.append((printable(path), code, sentence))

    def _trouble(self, path: str, sentence: str, result: Look) -> None:
        whole = f"{printable(path)!r} {sentence}."
        result.unknown[path] = Unknown(path, whole, passing=False)
        result.troubles.append((printable(path), "refused", whole))

    def _remark_name(self, path: str, name: str, result: Look) -> None:
        """Of an attachment any part of the name counts; a page with an index file has the name of its directory."""
        if why := next(filter(None, map(unportable, name.removeprefix(BESIDE).split("/"))), None):
            result.troubles.append((path, "name", f"{path!r} is synced, but its name {why}."))

    def _remark_stranger(self, path: str, result: Look) -> None:
        """Among records there is nothing else."""
        if parent_of(path) in DIRECTORIES and not is_temporary(path):
            result.troubles.append((path, "refused", f"{path!r} {why_no_record(path)}."))

    def _is_ignored(self, path: str, spot: Spot) -> bool:
        """Records are not the ignored sort: `.*` in `.mirrorignore` does not mean them."""
        return spot.kind is not Kind.RECORD and self.ignore.leaves_out(path)


def _text(path: str, data: bytes) -> str:
    """Raises Damaged, which says of which file."""
    try:
        return decode(data)
    except Damaged as error:
        raise Damaged(f"{printable(path)!r}: {error}") from error
