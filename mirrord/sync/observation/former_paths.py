"""
Paths that files of pages had until mirrord renamed them a moment ago. Pure.

An editor that has a page open does not know that an app or another host moved it, and saves it at the former path.
"""

from dataclasses import dataclass, field, replace

from mirrord.domain.entry import Digest, EntryId

MOVED_SECONDS = 5.0  # between a move and a save at the former path that an editor of the page may have made
SAVED_SECONDS = 60.0  # the same after such a save: the editor has that path still
MAX_FORMER_PATHS = 10_000  # the latest; a folder may have more pages

_NANOSECONDS = 1_000_000_000


@dataclass(frozen=True, slots=True)
class FormerPath:
    """
    A path that the file of *entry* had.

    digest: of the text that the file had there, or that was saved there last (is_saved). since_ns: the moment of the
    move, or of that save, in Unix nanoseconds.
    """

    entry: EntryId
    digest: Digest
    since_ns: int
    is_saved: bool = False

    def may_be_open(self, ctime_ns: int) -> bool:
        """Whether an editor that had the page open may have made a file that came to the path at *ctime_ns*."""
        limit_seconds = SAVED_SECONDS if self.is_saved else MOVED_SECONDS
        return abs(ctime_ns - self.since_ns) <= limit_seconds * _NANOSECONDS  # a clock may have been set back


@dataclass(slots=True)
class FormerPaths:
    """The former paths of one mirror's pages; lost with the process."""

    _pages: dict[str, FormerPath] = field(default_factory=dict)

    def note_move(self, path: str, page: FormerPath) -> None:
        """Note that the file of *page* left *path*."""
        self._pages.pop(path, None)
        self._pages[path] = page
        if len(self._pages) > MAX_FORMER_PATHS:
            del self._pages[next(iter(self._pages))]

    def note_save(self, path: str, digest: Digest, now_ns: int) -> None:
        """Note that a text saved at *path* was taken in; no effect if that is no former path."""
        if (page := self._pages.get(path)) is not None:
            self.note_move(path, replace(page, digest=digest, since_ns=now_ns, is_saved=True))

    def find_page(self, path: str, ctime_ns: int) -> FormerPath | None:
        """The page that an editor may have saved at *path*, in a file that came there at *ctime_ns*."""
        page = self._pages.get(path)
        return page if page is not None and page.may_be_open(ctime_ns) else None
