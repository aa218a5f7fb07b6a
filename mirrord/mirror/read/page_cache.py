"""
What was read of a tree: listings, summaries and texts.

Every look goes to the disk. Content that was read is reused as long as the stat of its file stays the same.
"""

import threading
from collections import defaultdict
from collections.abc import Iterator, Mapping

from mirrord.domain.entry import Digest, TenantId
from mirrord.errors import MirrordError
from mirrord.mirror.read.agreed_state import AgreedState
from mirrord.mirror.read.directory_listing import (
    EMPTY_LISTING,
    DirectoryListing,
    ListingWithStats,
    Walk,
    list_directory,
    list_with_stats,
)
from mirrord.mirror.read.page_summary import (
    CachedSummary,
    PageIndex,
    PageSummary,
    TextWithStat,
    read_page_text,
    read_summary,
)
from mirrord.mirror.tree.ignore_rules import Ignore
from mirrord.mirror.tree.kernel import Stat
from mirrord.mirror.tree.observed_work import reporting_each
from mirrord.mirror.tree.tenant_tree import Tree
from mirrord.mirror.tree.tree_layout import (
    parent_of,
)

_MAX_OWN_CHARACTERS = 4 << 20  # of the texts of a draft's own pages that are kept
_MAX_CLAIMED_IDS = 2_048  # of texts; a change set has 500 pages


class PageCache:
    """What was read of the pages of one tree; safe to use from several threads."""

    def __init__(self, tree: Tree, tenant: TenantId) -> None:
        self.tree = tree
        self.tenant = tenant
        self.agreed = AgreedState(tree.whole)
        self._sights: dict[str, ListingWithStats] = {}
        self._walk = Walk({})
        self._readings: dict[str, CachedSummary] = {}
        self._own_texts: dict[str, TextWithStat] = {}
        self._claimed_ids: dict[Digest, str] = {}
        self._guard = threading.Lock()

    def close(self) -> None:
        """Close open files; the tree stays open."""
        self.agreed.close()

    def take_over(self, other: "PageCache") -> None:
        """Begin with what *other* has read: it is valid here too for files with the same stat."""
        self._sights, self._readings = dict(other._sights), dict(other._readings)
        self._claimed_ids = other._claimed_ids  # shared from now on: the same bytes claim the same id everywhere

    def note_claimed_id(self, digest: Digest, claimed: str | None) -> None:
        """Note the text of `id:` in the page whose bytes have this *digest*."""
        if len(self._claimed_ids) >= _MAX_CLAIMED_IDS:
            self._claimed_ids.clear()
        self._claimed_ids[digest] = claimed or ""

    def claimed_id(self, digest: Digest) -> str | None:
        """The text of `id:` in the page with this *digest*, "" if it has none; None: it was not noted."""
        return self._claimed_ids.get(digest)

    def summaries(self, stats: Mapping[str, Stat]) -> dict[str, PageSummary]:
        """The cards of existing pages, in the given order; a file is opened only if its stat changed."""
        cards, unread = dict[str, PageSummary](), defaultdict[str, list[str]](list)
        for path, stat in stats.items():
            reading = self._readings.get(path)
            if reading is not None and (reading.stat is stat or reading.stat == stat):
                cards[path] = reading.summary
            else:
                unread[parent_of(path)].append(path)
        for reading in self._read_cards(unread):
            cards[reading.summary.path] = reading.summary
        return {path: cards[path] for path in stats if path in cards} if unread else cards

    def read_own_text(self, path: str, stat: Stat | None) -> TextWithStat | None:
        """The text of a page of the draft's own, which every search looks at. stat: of its file now."""
        known_text = self._own_texts.get(path)
        if known_text is not None and known_text.stat == stat:
            return known_text
        page = read_page_text(self.tree, path)
        if page is not None and page.is_settled:
            with self._guard:
                if sum(len(text.text or "") for text in self._own_texts.values()) > _MAX_OWN_CHARACTERS:
                    self._own_texts = {}
                self._own_texts[path] = page
        return page

    def page_index(self, walk: Walk) -> PageIndex:
        """Every page of *walk*."""
        roll = walk.page_index
        if roll is None:
            roll = PageIndex(self.summaries(walk.pages))
            if len(roll.summaries) == len(walk.pages) and all(map(self._is_cached, roll.summaries.values())):
                walk.page_index = roll
        return roll

    def list_directory(self, directory: str, patterns: Ignore) -> DirectoryListing:
        """The current content of a directory, by name."""
        cached = self._sights.get(directory, EMPTY_LISTING)
        current = list_directory(self.tree, patterns, directory, cached.listing)
        if current is not cached.listing:
            self._sights[directory] = ListingWithStats(current, cached.stats)
        return current

    def list_with_stats(self, directory: str, patterns: Ignore) -> ListingWithStats:
        """The current content of a directory, with stats."""
        cached = self._sights.get(directory, EMPTY_LISTING)
        current = list_with_stats(self.tree, patterns, directory, cached)
        if current is not cached:
            self._sights[directory] = current
        return current

    def cached_walk(self, sights: Mapping[str, ListingWithStats]) -> Walk:
        """The tree of these directories: the previous one if nothing changed. Drops caches of removed paths."""
        walk = Walk(sights)
        with self._guard:
            if self._walk.is_same(walk):
                return self._walk
            self._walk = walk
            self._sights = {path: cached for path, cached in self._sights.items() if path in sights}
            self._readings = {path: cached for path, cached in self._readings.items() if path in walk.pages}
        return walk

    def _is_cached(self, card: PageSummary) -> bool:
        reading = self._readings.get(card.path)
        return reading is not None and reading.summary is card

    def _read_cards(self, unread: Mapping[str, list[str]]) -> Iterator[CachedSummary]:
        counted = reporting_each(sum(map(len, unread.values())))
        for tree, directory, paths in self._by_layer(unread):
            try:
                with tree.open_directory(directory) as descriptor:
                    readings = [reading for path in counted(paths) if (reading := read_summary(descriptor, path))]
            except (OSError, MirrordError):
                continue  # removed since it was listed
            with self._guard:
                self._readings |= {reading.summary.path: reading for reading in readings if reading.is_settled}
            yield from readings

    def _by_layer(self, unread: Mapping[str, list[str]]) -> Iterator[tuple[Tree, str, list[str]]]:
        for directory, paths in unread.items():
            trees = [layer.tree for layer in self.tree.layers(directory)]
            if len(trees) == 1:
                yield trees[0], directory, paths
                continue
            for tree in trees:
                yield tree, directory, [path for path in paths if self.tree.layer_of(path) is tree]
