"""
The links of a tree's pages: what they mean and who links where, kept up between looks.

A link is found in two steps: for every page the possible keys of its links are known; only pages with a sought key are
parsed, which separates real links from text that looks like one.
"""

import sys
import threading
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from uuid import UUID

from mirrord.domain.dialect import USUAL_DAYS, DayFormats, Dialect
from mirrord.domain.entry import EntryId
from mirrord.domain.link_meaning import (
    LinkMeaning,
    Names,
    Origin,
    Site,
    key_of,
    site_of,
    target_key,
    wikilink_path,
)
from mirrord.markdown.frontmatter.page_text import PageText
from mirrord.markdown.link_spelling import NewPathOf, spell_wikilink
from mirrord.markdown.link_updates import GoalOf, RelinkedPage, keep_meaning, relink_page
from mirrord.markdown.page_links import links_of, possible_targets_of
from mirrord.mirror.read.directory_listing import Walk
from mirrord.mirror.read.name_index import NameChange, NameIndex, new_entry
from mirrord.mirror.read.page_catalogue import Snapshot
from mirrord.mirror.read.page_summary import TextWithStat
from mirrord.mirror.tree.kernel import Stat
from mirrord.mirror.tree.tree_layout import lineage

_NO_ENTRY = EntryId(UUID(int=0))
_KIND_OF_PICTURE = {"wikilink": "embed", "markdown": "image"}  # the same text with `!` before it

Links = tuple[tuple[str, str], ...]  # kind and target of each link of a page


@dataclass(frozen=True, slots=True)
class Target:
    """The target of a link. written: as it stands in the page; path: of the file or folder, None: none, or several."""

    written: str
    path: str | None


@dataclass(frozen=True, slots=True)
class LinkMoves:
    """
    The effect of moves of files and directories on links.

    files: the new path of each page, folder and attachment that moves. touched: pages that may have links to rewrite,
    moved pages included: for links relative to their old place.
    """

    files: Mapping[str, str]
    touched: Sequence[str]
    _entries: Mapping[str, EntryId]
    _before: Names
    _after: Names
    _new_path_of: NewPathOf

    def entry_of(self, path: str) -> EntryId:
        """The number of one of *touched*, which a `GoalOf` is asked with."""
        return self._entries[path]

    def relink(
        self, path: str, page: PageText, goal_of: GoalOf = keep_meaning, into: str | None = None
    ) -> RelinkedPage:
        """
        *page*, one of *touched*, with links that mean their goals after the move: their old targets by default.

        into: path before the move of the page that the text goes into; None: it stays the page's own.
        """
        return relink_page(page, self._site_before(path), self._site_after(into or path), self._new_path_of, goal_of)

    def relink_new(self, path: str, page: PageText, goal_of: GoalOf, new: tuple[str, EntryId]) -> RelinkedPage:
        """As relink(), for a text that goes into a page which is created. new: its path and number."""
        after = site_of(new[1], new[0], self._after)
        return relink_page(page, self._site_before(path), after, self._new_path_of, goal_of)

    def link_to_new(self, path: str, title: str, new: tuple[str, EntryId]) -> str:
        """A wikilink on one of *touched*, after the change, to a page that is created. new: its path and number."""
        return spell_wikilink(new[0], title, new[1], self._site_after(path))

    def _site_before(self, path: str) -> Site:
        return site_of(self._entries[path], path, self._before)

    def _site_after(self, path: str) -> Site:
        return site_of(self._entries[path], self.files.get(path, path), self._after)


@dataclass(slots=True)
class _PageLinks:
    """The links of a page. keys: all that its links may have, and more; links: None until they are needed."""

    stat: Stat
    keys: tuple[str, ...]
    links: Links | None = None


class LinkIndex:
    """The links of one tree, the pages of which are of one dialect; safe to use from several threads."""

    def __init__(self, dialect: Dialect = Dialect.PLAIN, days: DayFormats = USUAL_DAYS) -> None:
        self.dialect, self.days = dialect, days
        self._guard = threading.Lock()
        self._naming = NameIndex(dialect, days)
        self._page_links: dict[str, _PageLinks] = {}
        self._sources: tuple[Walk | None, Mapping[str, list[str]]] = (None, {})

    def outgoing(self, snapshot: Snapshot, path: str) -> list[Target]:
        """The targets of the page at *path*, each once, in the order of the page; without links to itself."""
        with self._guard:
            self._naming.update(snapshot)
            links = [
                (target, self._resolve_link(path, kind, target)) for kind, target in self._read_links(snapshot, path)
            ]
            targets = [
                Target(target, None if entry is None else self._naming.path_of(entry)) for target, entry in links
            ]
        return list(dict.fromkeys(targets))

    def links_at(self, snapshot: Snapshot, path: str) -> Links:
        """The links of the page at *path*, each once; none if no page is there."""
        with self._guard:
            return self._read_links(snapshot, path)

    def resolve_at(self, snapshot: Snapshot, path: str, links: Iterable[tuple[str, str]]) -> list[str | None]:
        """The paths that *links* mean on a page at *path*, which need not be there; None: nothing, or several."""
        with self._guard:
            self._naming.update(snapshot)
            site = site_of(self._naming.entry_of(path) or new_entry(0), path, self._naming.names)
            entries = [site.entry_of_link(kind, target) for kind, target in links]
            return [None if entry is None else self._naming.path_of(entry) for entry in entries]

    def incoming(self, snapshot: Snapshot, path: str) -> list[str]:
        """The paths of pages that link to the entry at *path*, sorted."""
        with self._guard:
            self._naming.update(snapshot)
            entry_id = self._naming.entry_of(path)
            candidates = self._pages_with_keys(snapshot, self._naming.keys_of(path))
            return sorted(
                page
                for page in candidates
                if page != path
                and any(self._resolve_link(page, *link) == entry_id for link in self._read_links(snapshot, page))
            )

    def has_incoming(self, snapshot: Snapshot, path: str) -> bool:
        """Whether another page links to the entry at *path*. Faster than incoming() when asked for many entries."""
        with self._guard:
            self._naming.update(snapshot)
            sources, entry_id = self._sources_by_key(snapshot), self._naming.entry_of(path)
            pages = {page for key in self._naming.keys_of(path) for page in sources.get(key, ()) if page != path}
            return any(
                self._resolve_link(page, *link) == entry_id
                for page in sorted(pages)
                for link in self._read_links(snapshot, page)
            )

    def unresolved(self, snapshot: Snapshot, path: str, *, ambiguous: bool) -> list[str]:
        """The targets of links of the page at *path*, as written, that mean nothing, or with *ambiguous* several."""
        with self._guard:
            self._naming.update(snapshot)
            entry, page = self._naming.entry_of(path), self._page_links.get(path)
            is_read = page is not None and page.stat == snapshot.pages.get(path) and page.links is not None
            if entry is None or not (is_read or self._may_have_unresolved(snapshot, path)):
                return []
            origin, meaning = site_of(entry, path, self._naming.names).origin, LinkMeaning(None, ambiguous)
            links = self._read_links(snapshot, path)
            return list(
                dict.fromkeys(link[1] for link in links if self._naming.names.resolve_link(*link, origin) == meaning)
            )

    def _may_have_unresolved(self, snapshot: Snapshot, path: str) -> bool:
        """Whether something that may be a link on the page means no single entry; far faster than parsing it."""
        page = snapshot.read_text(path)
        targets = (
            set(possible_targets_of(page.text, self.dialect)) if page is not None and page.text is not None else ()
        )
        return any(
            self._resolve_link(path, kind, target) is None
            for name, target in targets
            if target.strip()
            for kind in (name, _KIND_OF_PICTURE[name])
        )

    def _sources_by_key(self, snapshot: Snapshot) -> Mapping[str, Sequence[str]]:
        """The pages that may have a link with a key, by key; the previous value if nothing changed."""
        walk, sources = self._sources
        if walk is snapshot.walk:
            return sources
        sources = defaultdict[str, list[str]](list)
        for path, stat in snapshot.pages.items():
            for key in self._keys_of_page(snapshot, path, stat):
                sources[key].append(path)
        if self._page_links.keys() >= snapshot.pages.keys():
            self._sources = snapshot.walk, sources
        return sources

    def plan_moves(self, snapshot: Snapshot, change: NameChange) -> LinkMoves:
        """The effect of *change* on links."""
        with self._guard:
            self._naming.update(snapshot)
            files = dict(_each_file(snapshot, change.moves))
            paths = (*files, *change.titles, *change.removed)
            keys = {key for path in paths for key in self._naming.keys_of(path)}
            keys |= {key_of(name) for name in _new_names(change, files)}
            pages = {path for path in paths if path in snapshot.pages}
            touched = sorted(pages | set(self._pages_with_keys(snapshot, keys)))
            entries = {path: entry for path in touched if (entry := self._naming.entry_of(path)) is not None}
            names = self._naming.copy(), self._naming.names_after(replace(change, moves=files))
        return LinkMoves(
            files, list(entries), entries, *names, lambda path: _path_after_moves(snapshot, change.moves, path)
        )

    def _resolve_link(self, path: str, kind: str, target: str) -> EntryId | None:
        entry = self._naming.entry_of(path)
        return site_of(entry, path, self._naming.names).entry_of_link(kind, target) if entry is not None else None

    def _pages_with_keys(self, snapshot: Snapshot, keys: Collection[str]) -> list[str]:
        """The pages with links that may have one of *keys*."""
        keys, paths = frozenset(keys), []
        if len(self._page_links) > len(snapshot.pages):
            self._page_links = {
                path: page_links for path, page_links in self._page_links.items() if path in snapshot.pages
            }
        for path, stat in snapshot.pages.items():
            if not keys.isdisjoint(self._keys_of_page(snapshot, path, stat)):
                paths.append(path)
        return paths

    def _keys_of_page(self, snapshot: Snapshot, path: str, stat: Stat) -> tuple[str, ...]:
        page_links = self._page_links.get(path)
        if page_links is None or page_links.stat != stat:
            page_links = self._read_keys(snapshot, path)
        return page_links.keys if page_links is not None else ()

    def _read_keys(self, snapshot: Snapshot, path: str) -> _PageLinks | None:
        page = snapshot.read_text(path)
        if page is None or page.text is None:
            return None
        page_links = _PageLinks(page.stat, _keys_in_text(page.text, path, self.dialect))
        self._cache_page(path, page, page_links)
        return page_links

    def _read_links(self, snapshot: Snapshot, path: str) -> Links:
        """The links of a page to others, each once."""
        page_links = self._page_links.get(path)
        if page_links is not None and page_links.stat == snapshot.pages.get(path) and page_links.links is not None:
            return page_links.links
        page = snapshot.read_text(path)
        if page is None or page.text is None:
            return ()
        links = {
            (link.kind, link.target): None
            for link in links_of(PageText(page.text, self.dialect))
            if link.target.strip()
        }
        self._cache_page(path, page, _PageLinks(page.stat, _keys_in_text(page.text, path, self.dialect), tuple(links)))
        return tuple(links)

    def _cache_page(self, path: str, page: TextWithStat, page_links: _PageLinks) -> None:
        if page.is_settled:
            self._page_links[path] = page_links
        else:
            self._page_links.pop(path, None)


def _keys_in_text(text: str, path: str, dialect: Dialect) -> tuple[str, ...]:
    """The keys of all possible links in the page at *path*."""
    origin = Origin(_NO_ENTRY, tuple(path.split("/")[:-1]))
    keys = {target_key(kind, target, origin) for kind, target in set(possible_targets_of(text, dialect))}
    return tuple(sys.intern(key) for key in keys if key is not None)


def _new_names(change: NameChange, files: Mapping[str, str]) -> Iterator[str]:
    """The names that *change* brings. files: new paths of files by their old ones."""
    yield from map(wikilink_path, (*files.values(), *change.created))
    yield from (*change.titles.values(), *change.created.values())
    yield from chain.from_iterable(change.aliases.values())


def _each_file(snapshot: Snapshot, moves: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Old and new path of each page, folder and attachment that moves, with its directory or by itself."""
    for path in (*snapshot.pages, *snapshot.attachments, *snapshot.folders):
        if (new := _new_path(path, moves)) is not None:
            yield path, new


def _path_after_moves(snapshot: Snapshot, moves: Mapping[str, str], path: str) -> str | None:
    """The new path of a file that is not synced; None: it does not exist."""
    return (_new_path(path, moves) or path) if snapshot.has_file(path) else None


def _new_path(path: str, moves: Mapping[str, str]) -> str | None:
    """The new path of *path*, if it or a parent directory moves; else None."""
    moved_path = next((ancestor for ancestor in lineage(path) if ancestor in moves), None)
    return None if moved_path is None else moves[moved_path] + path.removeprefix(moved_path)
