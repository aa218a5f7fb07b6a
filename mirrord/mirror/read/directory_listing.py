"""Directories as a reader sees them: one listing, and all listings of a tree from one look."""

import os
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple, TypeVar

from mirrord.domain.entry import Kind
from mirrord.domain.place import ASSETS
from mirrord.errors import Refused, Unavailable
from mirrord.mirror.read.page_summary import PageIndex
from mirrord.mirror.tree.ignore_rules import Ignore
from mirrord.mirror.tree.kernel import Stat, stat_of
from mirrord.mirror.tree.tenant_tree import Layer, Tree
from mirrord.mirror.tree.tree_layout import INDEX_FILE, SUFFIX, is_temporary, is_text, parent_of

_FOREIGN_IGNORE_FILES = frozenset({".gitignore", ".ignore", ".rgignore", ".git"})

Stats = Mapping[str, Stat]
_Listing = TypeVar("_Listing")


@dataclass(frozen=True, slots=True)
class DirectoryListing:
    """
    The names a directory holds.

    files: pages; below `assets` attachments. beside: attachments that lie beside the pages.
    directories: without `assets`, unless below one.
    has_patterns: whether it holds ignore files that search programs, but not mirrord, obey.
    stat, ignore: the listing is valid as long as both stay the same. stat None: it is not reusable.
    """

    files: frozenset[str] = frozenset()
    beside: frozenset[str] = frozenset()
    directories: frozenset[str] = frozenset()
    has_assets: bool = False
    has_patterns: bool = False
    stat: Stat | None = None
    ignore: Ignore | None = None


class ListingWithStats(NamedTuple):
    """A directory's names, and the stats of its files by name."""

    listing: DirectoryListing
    stats: Stats


@dataclass(frozen=True, slots=True)
class MergedListing(DirectoryListing):
    """What a directory of a draft, or seen through a scope, holds. parts: the listings of *layers*."""

    layers: tuple[Layer, ...] = ()
    parts: tuple[ListingWithStats, ...] = ()


EMPTY_LISTING = ListingWithStats(DirectoryListing(), {})  # for a directory that is missing, a link, or cannot be listed


def list_directory(tree: Tree, ignore: Ignore, path: str, cached: DirectoryListing) -> DirectoryListing:
    """
    The synced content of the directory *path*. cached: an earlier listing; returned itself if it is still valid.

    Raises Unavailable if the tree's root cannot be listed.
    """
    layers = tree.layers(path)
    if len(layers) == 1 and not layers[0].hidden:
        return _list_layer(layers[0].tree, ignore, path, cached)
    parts = [
        ListingWithStats(_list_layer(layer.tree, ignore, path, part.listing), part.stats)
        for layer, part in zip(layers, _parts_of(cached, layers), strict=True)
    ]
    return _merge_parts(cached, layers, parts).listing


def list_with_stats(tree: Tree, ignore: Ignore, path: str, cached: ListingWithStats) -> ListingWithStats:
    """Like glance(), with stats; equal parts are those of *cached* itself."""
    layers = tree.layers(path)
    if len(layers) == 1 and not layers[0].hidden:
        return _list_layer_with_stats(layers[0].tree, ignore, path, cached)
    parts = [
        _list_layer_with_stats(layer.tree, ignore, path, part)
        for layer, part in zip(layers, _parts_of(cached.listing, layers), strict=True)
    ]
    merged = _merge_parts(cached.listing, layers, parts)
    return cached if merged.listing is cached.listing else merged


def stat_listed(tree: Tree, directory: str, name: str, listing: DirectoryListing) -> Stat | None:
    """The stat of one file of *listing*; None: it lists none of that name, or it is gone since."""
    if name not in listing.files and name not in listing.beside:
        return None
    try:
        stat = tree.stat(join_path(directory, name))
    except (OSError, Refused):
        return None
    return stat if stat is not None and stat.is_file else None


def _list_layer(tree: Tree, ignore: Ignore, path: str, cached: DirectoryListing) -> DirectoryListing:
    return _look_at_directory(
        tree, path, lambda descriptor: _list_directory(descriptor, path, ignore, cached), EMPTY_LISTING.listing
    )


def _list_layer_with_stats(tree: Tree, ignore: Ignore, path: str, cached: ListingWithStats) -> ListingWithStats:
    def look(descriptor: int) -> ListingWithStats:
        names = _list_directory(descriptor, path, ignore, cached.listing)
        stats = _stat_files(descriptor, names.files | names.beside, cached.stats)
        return cached if names is cached.listing and stats is cached.stats else ListingWithStats(names, stats)

    return _look_at_directory(tree, path, look, EMPTY_LISTING)


def _parts_of(cached: DirectoryListing, layers: tuple[Layer, ...]) -> Sequence[ListingWithStats]:
    """The earlier listings of *layers*."""
    if isinstance(cached, MergedListing) and len(cached.parts) == len(layers):
        return cached.parts
    return [EMPTY_LISTING] * len(layers)


def _merge_parts(
    cached: DirectoryListing, layers: tuple[Layer, ...], parts: Sequence[ListingWithStats]
) -> ListingWithStats:
    """One listing of all *layers*; the listing is *cached* itself if every part is the same as there."""
    earlier = _parts_of(cached, layers)
    is_same = all(
        new.listing is old.listing and new.stats is old.stats for new, old in zip(parts, earlier, strict=True)
    )
    if is_same and isinstance(cached, MergedListing) and cached.layers == layers:
        return ListingWithStats(cached, {})
    stats: dict[str, Stat] = {}
    for layer, part in zip(reversed(layers), reversed(parts), strict=True):
        stats |= {name: stat for name, stat in part.stats.items() if name not in layer.hidden}
    return ListingWithStats(
        MergedListing(
            files=_merge_names(layers, [part.listing.files for part in parts]),
            beside=_merge_names(layers, [part.listing.beside for part in parts]),
            directories=_merge_names(layers, [part.listing.directories for part in parts]),
            has_assets=any(
                part.listing.has_assets and ASSETS not in layer.hidden
                for layer, part in zip(layers, parts, strict=True)
            ),
            has_patterns=any(part.listing.has_patterns for part in parts),
            layers=layers,
            parts=tuple(parts),
        ),
        stats,
    )


def _merge_names(layers: tuple[Layer, ...], names: Sequence[frozenset[str]]) -> frozenset[str]:
    return frozenset().union(*(part - layer.hidden for layer, part in zip(layers, names, strict=True)))


def _look_at_directory(tree: Tree, path: str, look: Callable[[int], _Listing], nothing: _Listing) -> _Listing:
    try:
        with tree.open_directory(path) as descriptor:
            return look(descriptor) if os.fstat(descriptor).st_dev == tree.opened_as[0] else nothing
    except (OSError, Refused) as error:
        if not path:
            raise Unavailable(f"The tree cannot be listed: {error}") from error
        return nothing


def _list_directory(descriptor: int, path: str, ignore: Ignore, cached: DirectoryListing) -> DirectoryListing:
    began, before = time.time_ns(), stat_of(os.fstat(descriptor))
    if cached.stat == before and cached.ignore is ignore:
        return cached
    listing = _list_names(descriptor, path, ignore)
    is_settled = before.is_settled(began) and stat_of(os.fstat(descriptor)) == before
    return replace(listing, stat=before, ignore=ignore) if is_settled else listing


def _list_names(descriptor: int, path: str, ignore: Ignore) -> DirectoryListing:
    files, beside, directories, others = list[str](), list[str](), list[str](), set[str]()
    in_assets, selective, above = ASSETS in path.split("/"), not ignore.is_empty, path + "/" if path else ""
    take = ignore.rules.is_attachment
    with os.scandir(descriptor) as entries:
        for entry in entries:
            name = entry.name
            if name[0] == ".":
                others.add(name)
            elif not is_text(name):
                continue
            elif entry.is_dir(follow_symlinks=False):
                if not (selective and ignore.matches(above + name, True)):
                    directories.append(name)
            elif not is_temporary(name):
                is_beside = not (in_assets or name.endswith(SUFFIX))
                is_included = (not is_beside or take(above + name)) and entry.is_file(follow_symlinks=False)
                if is_included and not (selective and ignore.matches(above + name, False)):
                    (beside if is_beside else files).append(name)
    has_assets = not in_assets and ASSETS in directories
    below = frozenset(name for name in directories if in_assets or name != ASSETS)
    return DirectoryListing(
        frozenset(files), frozenset(beside), below, has_assets, not _FOREIGN_IGNORE_FILES.isdisjoint(others)
    )


def _stat_files(descriptor: int, files: frozenset[str], cached: Stats) -> Stats:
    if files == cached.keys() and _are_same(descriptor, cached):
        return cached
    stats = {}
    for name in files:
        with suppress(FileNotFoundError):
            stat = stat_of(os.stat(name, dir_fd=descriptor, follow_symlinks=False))
            if stat.is_file:
                stats[name] = stat
    return stats


def _are_same(descriptor: int, cached: Stats) -> bool:
    """A loop without further calls: one query runs it for ten thousand files, most of them unchanged."""
    try:
        for name, (_, inode, size, mtime, ctime, _, _) in cached.items():
            raw = os.stat(name, dir_fd=descriptor, follow_symlinks=False)
            if raw.st_ctime_ns != ctime or raw.st_mtime_ns != mtime or raw.st_ino != inode or raw.st_size != size:
                return False
    except OSError:
        return False
    return True


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
