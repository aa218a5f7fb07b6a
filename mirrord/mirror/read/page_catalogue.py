"""
Which pages a tree has: never stale, read only where asked.

Every look goes to the disk; page_cache has the content that was read.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence, Set
from functools import cached_property
from types import MappingProxyType

from mirrord.domain.entry import Digest, EntryId, Kind, TenantId, id_of_path, parse_id
from mirrord.domain.place import ASSETS, name_key
from mirrord.errors import Refused
from mirrord.mirror.read.agreed_state import moved_entries
from mirrord.mirror.read.directory_listing import (
    EMPTY_LISTING,
    DirectoryListing,
    ListingWithStats,
    Stats,
    Walk,
    has_page,
    is_in_assets,
    join_path,
    stat_listed,
)
from mirrord.mirror.read.near_paths import similar_paths
from mirrord.mirror.read.page_cache import PageCache
from mirrord.mirror.read.page_summary import (
    PageIndex,
    PageSummary,
    TextWithStat,
    folder_summary,
    read_page_text,
)
from mirrord.mirror.state_file import CachedStat
from mirrord.mirror.tree.ignore_rules import CurrentPatterns, Ignore
from mirrord.mirror.tree.kernel import Stat
from mirrord.mirror.tree.tenant_tree import Tree
from mirrord.mirror.tree.tree_layout import (
    INDEX_FILE,
    SUFFIX,
    directory_of,
    is_visible,
    lineage,
    parent_of,
    spot_of_file,
)

_MIN_SHARE = 4  # files of a directory for each that is asked about, from which on only those are looked at


class Catalogue(PageCache):
    """The pages of one tree; safe to use from several threads."""

    def __init__(self, tree: Tree, tenant: TenantId) -> None:
        super().__init__(tree, tenant)
        self._patterns = CurrentPatterns(tree)

    def snapshot(self) -> "Snapshot":
        """A view of the tree from now on: each directory is listed once, at the first request."""
        return Snapshot(self, self._patterns.load())


class Snapshot:
    """
    The tree as one query sees it.

    The path of its file, with `.md`, identifies a page: `W/_index.md` is the page of the directory W, or else `W.md`
    beside it. A directory without either is a folder, identified by its own path.
    """

    def __init__(self, pages: PageCache, patterns: Ignore) -> None:
        self._cache = pages
        self._tree = pages.tree
        self._patterns = patterns
        self._glances: dict[str, DirectoryListing] = {}
        self._stats: dict[str, Stats] = {}
        self._few_stats = defaultdict[str, dict[str, Stat]](dict)
        self._cards: dict[str, PageSummary] = {}

    @cached_property
    def walk(self) -> Walk:
        """The whole tree: the one of the previous look if nothing changed."""
        sights = {"": self._list_with_stats("")}
        pending = [""]
        for directory in pending:
            listing = sights[directory].listing
            for name in sorted([*listing.directories, *([ASSETS] if listing.has_assets else [])]):
                below = join_path(directory, name)
                sights[below] = self._list_with_stats(below)
                pending.append(below)
        return self._cache.cached_walk(sights)

    @property
    def folders(self) -> Collection[str]:
        """Every directory without a page file; lists the whole tree."""
        return self.walk.folders

    @property
    def pages(self) -> Mapping[str, Stat]:
        """Every page; lists the whole tree."""
        return self.walk.pages

    @cached_property
    def page_index(self) -> PageIndex:
        """Every page: the previous value if nothing changed; lists the whole tree and reads changed pages."""
        return self._cache.page_index(self.walk)

    @property
    def summaries_by_path(self) -> Mapping[str, PageSummary]:
        """The card of every page, as in roll."""
        return self.page_index.summaries

    @property
    def attachments(self) -> Mapping[str, Stat]:
        """Every attachment; lists the whole tree."""
        return self.walk.attachments

    def would_attach(self, path: str) -> bool:
        """Whether a new file at *path*, not a page, would be an attachment."""
        return not self._patterns.excludes_file(path)

    @property
    def has_patterns(self) -> bool:
        """Whether ignore files exist that hide pages from search programs; lists the whole tree."""
        return self.walk.has_patterns

    def exact_page(self, path: str) -> PageSummary | None:
        """The page whose file is exactly *path*."""
        return self.exact_pages([path]).get(path)

    def exact_pages(self, paths: Iterable[str]) -> dict[str, PageSummary]:
        """The pages whose files are exactly *paths*, by path."""
        return self.summaries(filter(_is_page_path, paths))

    def find(self, path: str) -> PageSummary | None:
        """The page or folder meant by *path*: with or without `.md`, the page of a directory, or a folder; "": None."""
        path = path.strip("/")
        if not path:
            return None
        index = join_path(path, INDEX_FILE)
        return (
            self.exact_page(path) or self.exact_page(index) or self.exact_page(path + SUFFIX) or self._find_folder(path)
        )

    def summaries(self, paths: Iterable[str]) -> dict[str, PageSummary]:
        """The cards of existing pages, in the order of *paths*."""
        paths = list(paths)
        missing = [path for path in paths if path not in self._cards]
        self._cards |= self._cache.summaries(self._stats_of(missing))
        return {path: self._cards[path] for path in paths if path in self._cards}

    def children(self, directory: str) -> list[PageSummary]:
        """The pages and folders directly below *directory*, in sidebar order: by position, then by title."""
        if is_in_assets(directory):
            return []
        listing = self._list_names(directory)
        pages = [name for name in listing.files if name != INDEX_FILE or not directory]
        folders = []
        for name in listing.directories:
            if INDEX_FILE in self._list_names(join_path(directory, name)).files:
                pages.append(f"{name}/{INDEX_FILE}")
            elif not self._has_page(join_path(directory, name)):
                folders.append(folder_summary(join_path(directory, name)))
        cards = [*self.summaries(join_path(directory, name) for name in pages).values(), *folders]
        return sorted(cards, key=_sidebar_key)

    def has_directory(self, card: PageSummary) -> bool:
        """Whether the directory for the children of a page or folder exists."""
        parent, _, name = directory_of(card.path, card.kind).rpartition("/")
        return name in self._list_names(parent).directories

    def has_children(self, card: PageSummary) -> bool:
        """Whether a page or folder holds pages or folders."""
        directory = directory_of(card.path, card.kind)
        parent, _, name = directory.rpartition("/")
        if name not in self._list_names(parent).directories:
            return False
        listing = self._list_names(directory)
        return bool(listing.directories) or any(name != INDEX_FILE for name in listing.files)

    def has_file(self, path: str) -> bool:
        """Whether a file of any kind, synced or not, exists at *path* now."""
        try:
            stat = self._tree.stat(path)
        except (OSError, Refused):
            return False
        return stat is not None and stat.is_file

    def similar_pages(self, path: str) -> tuple[str, ...]:
        """Up to three pages with similar paths; lists the whole tree."""
        return similar_paths(path, self.pages)

    def id_of(self, card: PageSummary) -> EntryId:
        """The id of one page or folder; see ids()."""
        return self.ids([card])[card.path]

    def ids(self, cards: Sequence[PageSummary]) -> dict[str, EntryId]:
        """
        The ids of pages and folders in Postgres.

        In this order: the daemon's record of the unchanged file; the file's own `id:`; the record of the path; the
        record of the file at another path; the id that a new file at that path gets.
        """
        return self.ids_at({card.path: card.claimed for card in cards})

    def ids_at(
        self, claims: Mapping[str, str | None], digests: Mapping[str, Digest] = MappingProxyType({})
    ) -> dict[str, EntryId]:
        """
        As ids(), of existing pages and folders by path. claims: the texts of their `id:`, UUIDs or not.

        digests: of files that the caller has just read; no directory is listed for these.
        """
        records = self._cache.agreed.by_paths([*claims])
        ids = dict[str, EntryId]()
        for path, claim in claims.items():
            record = records.get(path)
            claimed_id = None if record is not None and self._is_same(path, record) else parse_id(claim)
            if (entry_id := claimed_id or (record.entry if record else None)) is not None:
                ids[path] = entry_id
        unknown = [path for path in claims if path not in ids]
        unknown_paths = dict.fromkeys(unknown) | self._stats_of(path for path in unknown if path not in digests)
        moved_ids = moved_entries(self._tree, self._cache.agreed, unknown_paths, digests)
        return ids | {path: moved_ids.get(path) or id_of_path(self._cache.tenant, path) for path in unknown_paths}

    def _is_same(self, path: str, record: CachedStat) -> bool:
        """Whether the daemon's record matches the current file; always for a folder."""
        stat = self._stat_page(path)
        return stat is None or record.matches(stat)

    def read_text(self, path: str) -> TextWithStat | None:
        """The current text of a page; see read_page_text()."""
        if self._tree.lower is None or self._tree.layer_of(path) is self._tree.lower:
            return read_page_text(self._tree, path)
        return self._cache.read_own_text(path, self._stat_page(path))

    def _find_folder(self, path: str) -> PageSummary | None:
        listing = self._list_names(parent_of(path))
        return (
            folder_summary(path) if path.rpartition("/")[2] in listing.directories and not is_in_assets(path) else None
        )

    def _has_page(self, directory: str) -> bool:
        return has_page(directory, self._list_names(directory), self._list_names(parent_of(directory)))

    def _stat_page(self, path: str) -> Stat | None:
        parent, _, name = path.rpartition("/")
        stats = self._stats.get(parent)
        return stats.get(name) if stats is not None else self._stats_of([path]).get(path)

    def _stats_of(self, paths: Iterable[str]) -> dict[str, Stat]:
        """The stats of existing pages, in the order of *paths*."""
        places = {path: path.rpartition("/") for path in paths}
        names_by_directory = defaultdict[str, set[str]](set)
        for directory, _, name in places.values():
            names_by_directory[directory].add(name)
        stats = {directory: self._stats_in(directory, names) for directory, names in names_by_directory.items()}
        return {path: stat for path, (at, _, name) in places.items() if (stat := stats[at].get(name)) is not None}

    def _stats_in(self, directory: str, names: Set[str]) -> Stats:
        """Stats in a directory, at least those of *names*: of a few files in a large one only theirs."""
        if directory not in self._stats:
            listing = self._list_names(directory)
            if len(names) * _MIN_SHARE <= len(listing.files):
                few = self._few_stats[directory]
                new_names = names - few.keys()
                few |= {name: stat for name in new_names if (stat := stat_listed(self._tree, directory, name, listing))}
                return few
        return self._list_with_stats(directory).stats

    def _list_names(self, directory: str) -> DirectoryListing:
        listing = self._glances.get(directory)
        if listing is None:
            is_open = self._is_open(directory)
            listing = self._cache.list_directory(directory, self._patterns) if is_open else EMPTY_LISTING.listing
            self._glances[directory] = listing
        return listing

    def _list_with_stats(self, directory: str) -> ListingWithStats:
        if directory in self._stats:
            return ListingWithStats(self._glances[directory], self._stats[directory])
        is_open = self._is_open(directory)
        sight = self._cache.list_with_stats(directory, self._patterns) if is_open else EMPTY_LISTING
        self._glances[directory], self._stats[directory] = sight
        return sight

    def _is_open(self, directory: str) -> bool:
        """Whether neither a dot-name nor `.mirrorignore` excludes it; listed directories are always open."""
        if not directory or parent_of(directory) in self._glances:
            return True
        is_shown = all(map(is_visible, directory.split("/")))
        return is_shown and not any(self._patterns.matches(path, True) for path in lineage(directory))


def _sidebar_key(card: PageSummary) -> tuple[bool, str, str, str, str]:
    return card.position is None, card.position or "", name_key(card.title), card.title, card.path


def _is_page_path(path: str) -> bool:
    spot = spot_of_file(path)
    return spot is not None and spot.kind is Kind.PAGE
