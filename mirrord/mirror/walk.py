"""All directories of a tree as of one look, and the pages, folders and attachments in them."""

from collections.abc import Collection, Iterator, Mapping
from functools import cached_property

from mirrord.domain.entry import Kind
from mirrord.domain.place import ASSETS
from mirrord.mirror.glance import DirectoryListing, ListingWithStats
from mirrord.mirror.kernel import Stat
from mirrord.mirror.layout import INDEX_FILE, SUFFIX, parent_of
from mirrord.mirror.roll import PageIndex


class Walk:
    """
    A tree; immutable, so that the same object again means an unchanged tree.

    sights: each directory by path, the root "" and `assets` included, parents first.
    page_index: of all pages; None as long as one of them may change without its stat.
    """

    def __init__(self, sights: Mapping[str, ListingWithStats]) -> None:
        self.sights = sights
        self.page_index: PageIndex | None = None

    def is_same(self, other: "Walk") -> bool:
        """Whether both consist of the same sight objects."""
        pairs = zip(self.sights.values(), other.sights.values(), strict=False)
        return len(self.sights) == len(other.sights) and all(
            first.listing is second.listing and first.stats is second.stats for first, second in pairs
        )

    @cached_property
    def pages(self) -> Mapping[str, Stat]:
        """All pages, in the order of paths."""
        return dict(sorted(self._files(Kind.PAGE)))

    @cached_property
    def attachments(self) -> Mapping[str, Stat]:
        """All attachments, in the order of paths."""
        return dict(sorted(self._files(Kind.ATTACHMENT)))

    @cached_property
    def folders(self) -> Collection[str]:
        """All directories without a page file."""
        return [path for path in self.sights if path and not is_in_assets(path) and not self._has_page(path)]

    @cached_property
    def has_patterns(self) -> bool:
        """Whether ignore files exist that hide pages from search programs."""
        return any(sight.listing.has_patterns for sight in self.sights.values())

    def _has_page(self, directory: str) -> bool:
        return has_page(directory, self.sights[directory].listing, self.sights[parent_of(directory)].listing)

    def _files(self, kind: Kind) -> Iterator[tuple[str, Stat]]:
        for directory, sight in self.sights.items():
            kind_of_files = Kind.ATTACHMENT if is_in_assets(directory) else Kind.PAGE
            names = sight.listing.files if kind is kind_of_files else frozenset[str]()
            names |= sight.listing.beside if kind is Kind.ATTACHMENT else frozenset[str]()
            for name in names:
                if (stat := sight.stats.get(name)) is not None:
                    yield join_path(directory, name), stat


def has_page(directory: str, listing: DirectoryListing, above: DirectoryListing) -> bool:
    """Whether a directory has a page: the index page in it, or the page beside it."""
    return INDEX_FILE in listing.files or directory.rpartition("/")[2] + SUFFIX in above.files


def is_in_assets(directory: str) -> bool:
    """Whether *directory* is for attachments, not for pages."""
    return ASSETS in directory.split("/")


def join_path(directory: str, name: str) -> str:
    """The path of *name* in *directory*."""
    return f"{directory}/{name}" if directory else name
