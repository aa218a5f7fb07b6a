"""
Which pages a tree has, for readers that are not the daemon: never stale, and only read where it is asked.

Every look goes to the disk. What is kept between looks is what was read of files whose stat stays the same.
"""

import threading
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property

from mirrord.domain.entry import EntryId, Kind, TenantId, id_of_path, parse_id
from mirrord.domain.place import ASSETS, name_key
from mirrord.errors import Busy, Damaged, MirrordError, Refused
from mirrord.mirror import ignore
from mirrord.mirror.agreed import Agreed
from mirrord.mirror.card import Card, Reading, Whole, folder_card, read_card, read_whole
from mirrord.mirror.glance import NOTHING, Glance, Sight, Stats, glance, sight
from mirrord.mirror.ignore import Ignore
from mirrord.mirror.kernel import Stat
from mirrord.mirror.layout import INDEX_FILE, SUFFIX, directory_of, is_visible, lineage, parent_of, spot_of_file
from mirrord.mirror.moved import moved_entries
from mirrord.mirror.nearness import nearest
from mirrord.mirror.roll import Roll
from mirrord.mirror.state import Seen
from mirrord.mirror.tree import Tree
from mirrord.mirror.walk import Walk, has_page, is_in_assets, join


class Catalogue:
    """The pages of one tree; safe to use from several threads."""

    def __init__(self, tree: Tree, tenant: TenantId) -> None:
        self.tree = tree
        self.tenant = tenant
        self.agreed = Agreed(tree)
        self._known: dict[str, Sight] = {}
        self._walk = Walk({})
        self._readings: dict[str, Reading] = {}
        self._guard = threading.Lock()
        self._ignore: tuple[tuple[object, ...], Ignore] = ((), Ignore())

    def close(self) -> None:
        """Give back what is open; the tree is not."""
        self.agreed.close()

    def look(self) -> "Snapshot":
        """The tree from now on: each directory is looked at once, when it is first asked for."""
        return Snapshot(self, self._patterns())

    def cards(self, stats: Mapping[str, Stat]) -> dict[str, Card]:
        """The cards of pages that are there, in their order; a file is opened only if its stat is not what it was."""
        found, unread = dict[str, Card](), defaultdict[str, list[str]](list)
        for path, stat in stats.items():
            known = self._readings.get(path)
            if known is not None and (known.stat is stat or known.stat == stat):
                found[path] = known.card
            else:
                unread[parent_of(path)].append(path)
        for reading in self._read(unread):
            found[reading.card.path] = reading.card
        return {path: found[path] for path in stats if path in found} if unread else found

    def roll(self, walk: Walk) -> Roll:
        """Every page of *walk*."""
        found = walk.roll
        if found is None:
            found = Roll(self.cards(walk.pages))
            if len(found.cards) == len(walk.pages) and all(map(self._is_known, found.cards.values())):
                walk.roll = found
        return found

    def glance(self, directory: str, patterns: Ignore) -> Glance:
        """What a directory holds right now, by name."""
        known = self._known.get(directory, NOTHING)
        found = glance(self.tree, patterns, directory, known.glance)
        if found is not known.glance:
            self._known[directory] = Sight(found, known.stats)
        return found

    def sight(self, directory: str, patterns: Ignore) -> Sight:
        """What a directory holds right now, with stats."""
        known = self._known.get(directory, NOTHING)
        found = sight(self.tree, patterns, directory, known)
        if found is not known:
            self._known[directory] = found
        return found

    def walked(self, sights: Mapping[str, Sight]) -> Walk:
        """The tree of which these are all directories: the same as before if nothing changed. Forgets what is gone."""
        walk = Walk(sights)
        with self._guard:
            if self._walk.is_same(walk):
                return self._walk
            self._walk = walk
            self._known = {path: known for path, known in self._known.items() if path in sights}
            self._readings = {path: known for path, known in self._readings.items() if path in walk.pages}
        return walk

    def _is_known(self, card: Card) -> bool:
        known = self._readings.get(card.path)
        return known is not None and known.card is card

    def _read(self, unread: Mapping[str, list[str]]) -> Iterator[Reading]:
        for directory, paths in unread.items():
            try:
                with self.tree.directory(directory) as descriptor:
                    readings = [reading for path in paths if (reading := read_card(descriptor, path))]
            except (OSError, MirrordError):
                continue  # gone since it was listed
            with self._guard:
                self._readings |= {one.card.path: one for one in readings if one.is_settled}
            yield from readings

    def _patterns(self) -> Ignore:
        """What is kept out as it is now; as it was, while that cannot be taken."""
        governed_by, known = self._ignore
        found = ignore.governing(self.tree)
        if found != governed_by:
            try:
                known = Ignore.load(self.tree)
            except (Busy, Damaged, Refused):
                return known
            self._ignore = found, known
        return known


class Snapshot:
    """
    The tree as one question sees it.

    A page is known by the path of its file, with `.md`: `W/_index.md` is the page of the directory W, or else `W.md`
    beside it. A directory without either is a folder, known by its own path.
    """

    def __init__(self, catalogue: Catalogue, patterns: Ignore) -> None:
        self._catalogue = catalogue
        self._tree = catalogue.tree
        self._patterns = patterns
        self._glances: dict[str, Glance] = {}
        self._stats: dict[str, Stats] = {}
        self._cards: dict[str, Card] = {}

    @cached_property
    def walk(self) -> Walk:
        """The whole tree: the one of the look before if nothing changed."""
        found = {"": self._sight("")}
        pending = [""]
        for directory in pending:
            here = found[directory].glance
            for name in sorted([*here.directories, *([ASSETS] if here.has_assets else [])]):
                below = join(directory, name)
                found[below] = self._sight(below)
                pending.append(below)
        return self._catalogue.walked(found)

    @property
    def folders(self) -> Collection[str]:
        """Every directory without a page file; looks at the whole tree."""
        return self.walk.folders

    @property
    def pages(self) -> Mapping[str, Stat]:
        """Every page; looks at the whole tree."""
        return self.walk.pages

    @cached_property
    def roll(self) -> Roll:
        """Every page, as in the look before if nothing changed; looks at the whole tree, and reads what changed."""
        return self._catalogue.roll(self.walk)

    @property
    def every(self) -> Mapping[str, Card]:
        """The card of every page, as in roll."""
        return self.roll.cards

    @property
    def attachments(self) -> Mapping[str, Stat]:
        """Every attachment; looks at the whole tree."""
        return self.walk.attachments

    def would_attach(self, path: str) -> bool:
        """Whether a file that is new at *path*, which is no page, would be an attachment."""
        return not self._patterns.leaves_out(path)

    @property
    def has_patterns(self) -> bool:
        """Whether files lie about that keep programs that search out of some pages; looks at the whole tree."""
        return self.walk.has_patterns

    def page(self, path: str) -> Card | None:
        """The page whose file is exactly *path*."""
        return self.cards([path]).get(path) if _is_page(path) else None

    def find(self, path: str) -> Card | None:
        """What a person means by *path*: a page with or without `.md`, the page of a directory, or a folder; "" no."""
        path = path.strip("/")
        if not path:
            return None
        index = join(path, INDEX_FILE)
        return self.page(path) or self.page(index) or self.page(path + SUFFIX) or self._folder(path)

    def cards(self, paths: Iterable[str]) -> dict[str, Card]:
        """The cards of pages that are still there, in the order of *paths*."""
        paths = list(paths)
        missing = [path for path in paths if path not in self._cards]
        stats = {path: stat for path in missing if (stat := self._stat(path)) is not None}
        self._cards |= self._catalogue.cards(stats)
        return {path: self._cards[path] for path in paths if path in self._cards}

    def children(self, directory: str) -> list[Card]:
        """The pages and folders right below *directory*, in the order of the sidebar: by position, then by title."""
        if is_in_assets(directory):
            return []
        here = self._glance(directory)
        pages = [name for name in here.files if name != INDEX_FILE or not directory]
        folders = []
        for name in here.directories:
            if INDEX_FILE in self._glance(join(directory, name)).files:
                pages.append(f"{name}/{INDEX_FILE}")
            elif not self._has_page(join(directory, name)):
                folders.append(folder_card(join(directory, name)))
        found = [*self.cards(join(directory, name) for name in pages).values(), *folders]
        return sorted(found, key=_in_sidebar)

    def has_directory(self, card: Card) -> bool:
        """Whether the directory is there where the pages below a page or folder are."""
        directory = directory_of(card.path, card.kind)
        return directory.rpartition("/")[2] in self._glance(parent_of(directory)).directories

    def has_children(self, card: Card) -> bool:
        """Whether a page or folder holds pages or folders."""
        if not self.has_directory(card):
            return False
        here = self._glance(directory_of(card.path, card.kind))
        return bool(here.directories) or any(name != INDEX_FILE for name in here.files)

    def has_file(self, path: str) -> bool:
        """Whether a file of any kind, synced or not, is at *path* right now."""
        try:
            found = self._tree.stat(path)
        except (OSError, Refused):
            return False
        return found is not None and found.is_file

    def nearest(self, path: str) -> tuple[str, ...]:
        """Up to three pages that may have been meant; looks at the whole tree."""
        return nearest(path, self.pages)

    def id_of(self, card: Card) -> EntryId:
        """The id of one page or folder; see ids()."""
        return self.ids([card])[card.path]

    def ids(self, cards: Sequence[Card]) -> dict[str, EntryId]:
        """
        The ids by which Postgres knows pages and folders.

        What the daemon noted of the file as it is now; else its own `id:`; else what was noted of the path; else of the
        file at another path; else the id that a new file at that path gets.
        """
        noted = self._catalogue.agreed.of([card.path for card in cards])
        found = dict[str, EntryId]()
        for card in cards:
            seen = noted.get(card.path)
            own = None if seen is not None and self._is_same(card.path, seen) else parse_id(card.claimed)
            if (known := own or (seen.entry if seen else None)) is not None:
                found[card.path] = known
        left = [card.path for card in cards if card.path not in found]
        moved = moved_entries(self._tree, self._catalogue.agreed, left)
        return found | {path: moved.get(path) or id_of_path(self._catalogue.tenant, path) for path in left}

    def _is_same(self, path: str, seen: Seen) -> bool:
        """Whether what the daemon noted is of the file as it is now; a folder has none."""
        stat = self._stat(path)
        return stat is None or seen.matches(stat)

    def read(self, path: str) -> Whole | None:
        """All of a page as it is right now; see card.read_whole()."""
        return read_whole(self._tree, path)

    def _folder(self, path: str) -> Card | None:
        here = self._glance(parent_of(path))
        return folder_card(path) if path.rpartition("/")[2] in here.directories and not is_in_assets(path) else None

    def _has_page(self, directory: str) -> bool:
        return has_page(directory, self._glance(directory), self._glance(parent_of(directory)))

    def _stat(self, path: str) -> Stat | None:
        directory, _, name = path.rpartition("/")
        stats = self._stats.get(directory)
        return (self._sight(directory).stats if stats is None else stats).get(name)

    def _glance(self, directory: str) -> Glance:
        found = self._glances.get(directory)
        if found is None:
            is_open = self._is_open(directory)
            found = self._catalogue.glance(directory, self._patterns) if is_open else NOTHING.glance
            self._glances[directory] = found
        return found

    def _sight(self, directory: str) -> Sight:
        if directory in self._stats:
            return Sight(self._glances[directory], self._stats[directory])
        found = self._catalogue.sight(directory, self._patterns) if self._is_open(directory) else NOTHING
        self._glances[directory], self._stats[directory] = found
        return found

    def _is_open(self, directory: str) -> bool:
        """Whether neither a dot-name nor `.mirrorignore` keeps it out; what a glance listed is."""
        if not directory or parent_of(directory) in self._glances:
            return True
        shown = all(map(is_visible, directory.split("/")))
        return shown and not any(self._patterns.matches(path, True) for path in lineage(directory))


def _in_sidebar(card: Card) -> tuple[bool, str, str, str, str]:
    return card.position is None, card.position or "", name_key(card.title), card.title, card.path


def _is_page(path: str) -> bool:
    spot = spot_of_file(path)
    return spot is not None and spot.kind is Kind.PAGE
