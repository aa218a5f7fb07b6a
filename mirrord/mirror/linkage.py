"""
The links between the pages of a tree: what they mean, and what links where. Kept up between looks, never stale.

A link is found in two steps: of every page it is known which keys its links may have; which links those are, which
takes a parser to tell from what only looks like a link, only of pages that may ask for what is sought.
"""

import sys
import threading
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from mirrord.codec.links import links_of, mentions_of
from mirrord.codec.relinking import Relinked, relinked
from mirrord.codec.respelling import Whereto
from mirrord.domain.entry import EntryId
from mirrord.domain.linking import Origin, key_of, target_key
from mirrord.domain.meaning import Names, plain, site_of
from mirrord.mirror.card import Whole
from mirrord.mirror.catalogue import Snapshot
from mirrord.mirror.kernel import Stat
from mirrord.mirror.layout import lineage
from mirrord.mirror.naming import Naming

_NOBODY = EntryId(UUID(int=0))

Links = tuple[tuple[str, str], ...]  # kind and target of each link of a page


@dataclass(frozen=True, slots=True)
class Target:
    """What a page links to. written: as it stands there; path: of the file or folder, None: nothing, or several."""

    written: str
    path: str | None


@dataclass(frozen=True, slots=True)
class Moving:
    """
    What files and directories that move do to links.

    files: where each page, folder and attachment that moves is afterwards. touched: pages that may have links to be
    written anew, those that move among them: for links based on where they were.
    """

    files: Mapping[str, str]
    touched: Sequence[str]
    _entries: Mapping[str, EntryId]
    _before: Names
    _after: Names
    _whereto: Whereto

    def relinked(self, path: str, text: str) -> Relinked:
        """*text*, of one of *touched*, with links that mean afterwards what they meant before."""
        entry, new = self._entries[path], self.files.get(path, path)
        before, after = site_of(entry, path, self._before), site_of(entry, new, self._after)
        return relinked(text, before, after, self._whereto)


@dataclass(slots=True)
class _Asked:
    """What the links of a page ask for. keys: all they may have, and more; links: None while nobody asked for them."""

    stat: Stat
    keys: tuple[str, ...]
    links: Links | None = None


class Linkage:
    """The links of one tree; safe to use from several threads."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._naming = Naming()
        self._asked: dict[str, _Asked] = {}

    def outgoing(self, snapshot: Snapshot, path: str) -> list[Target]:
        """What the page at *path* links to, each once, in the order of the page; not to places in itself."""
        with self._guard:
            self._naming.update(snapshot)
            found = [(target, self._meaning(path, kind, target)) for kind, target in self._links(snapshot, path)]
            targets = [Target(target, None if entry is None else self._naming.path(entry)) for target, entry in found]
        return list(dict.fromkeys(targets))

    def incoming(self, snapshot: Snapshot, path: str) -> list[str]:
        """The pages that link to what is at *path*, by their paths."""
        with self._guard:
            self._naming.update(snapshot)
            meant = self._naming.entry(path)
            asking = self._asking(snapshot, self._naming.keys(path))
            return sorted(
                page
                for page in asking
                if page != path and any(self._meaning(page, *link) == meant for link in self._links(snapshot, page))
            )

    def moving(self, snapshot: Snapshot, moves: Mapping[str, str], titles: Mapping[str, str]) -> Moving:
        """
        What becomes of links once files and directories move, old path -> new.

        titles: those that pages get then, by their paths before.
        """
        with self._guard:
            self._naming.update(snapshot)
            files = dict(_each_file(snapshot, moves))
            keys = {key for path in (*files, *titles) for key in self._naming.keys(path)}
            keys |= {key_of(name) for name in (*map(plain, files.values()), *titles.values())}
            pages = {path for path in (*files, *titles) if path in snapshot.pages}
            touched = sorted(pages | set(self._asking(snapshot, keys)))
            entries = {path: entry for path in touched if (entry := self._naming.entry(path)) is not None}
            before, after = self._naming.copy(), self._naming.after(files, titles)
        return Moving(files, list(entries), entries, before, after, lambda path: _whereto(snapshot, moves, path))

    def _meaning(self, path: str, kind: str, target: str) -> EntryId | None:
        entry = self._naming.entry(path)
        return site_of(entry, path, self._naming.names).meaning(kind, target) if entry is not None else None

    def _asking(self, snapshot: Snapshot, keys: Collection[str]) -> list[str]:
        """The pages with links that may have one of *keys*."""
        keys, found = frozenset(keys), []
        if len(self._asked) > len(snapshot.pages):
            self._asked = {path: known for path, known in self._asked.items() if path in snapshot.pages}
        for path, stat in snapshot.pages.items():
            known = self._asked.get(path)
            if known is None or known.stat != stat:
                known = self._read(snapshot, path)
            if known is not None and not keys.isdisjoint(known.keys):
                found.append(path)
        return found

    def _read(self, snapshot: Snapshot, path: str) -> _Asked | None:
        whole = snapshot.read(path)
        if whole is None or whole.text is None:
            return None
        asked = _Asked(whole.stat, _keys(whole.text, path))
        self._remember(path, whole, asked)
        return asked

    def _links(self, snapshot: Snapshot, path: str) -> Links:
        """The links of a page to others, each once."""
        known = self._asked.get(path)
        if known is not None and known.stat == snapshot.pages.get(path) and known.links is not None:
            return known.links
        whole = snapshot.read(path)
        if whole is None or whole.text is None:
            return ()
        links = {(link.kind, link.target): None for link in links_of(whole.text) if link.target.strip()}
        self._remember(path, whole, _Asked(whole.stat, _keys(whole.text, path), tuple(links)))
        return tuple(links)

    def _remember(self, path: str, whole: Whole, asked: _Asked) -> None:
        if whole.is_settled:
            self._asked[path] = asked
        else:
            self._asked.pop(path, None)


def _keys(text: str, path: str) -> tuple[str, ...]:
    """The keys of whatever may be a link in the page at *path*."""
    origin = Origin(_NOBODY, tuple(path.split("/")[:-1]))
    found = {target_key(kind, target, origin) for kind, target in set(mentions_of(text))}
    return tuple(sys.intern(key) for key in found if key is not None)


def _each_file(snapshot: Snapshot, moves: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Each page, folder and attachment that moves, in a directory or by itself."""
    for path in (*snapshot.pages, *snapshot.attachments, *snapshot.folders):
        if (new := _moved(path, moves)) is not None:
            yield path, new


def _whereto(snapshot: Snapshot, moves: Mapping[str, str], path: str) -> str | None:
    """Where a file that is not synced is afterwards; None: there is none."""
    return (_moved(path, moves) or path) if snapshot.has_file(path) else None


def _moved(path: str, moves: Mapping[str, str]) -> str | None:
    """Where what is at *path* is afterwards, if it or a directory above it moves."""
    above = next((one for one in lineage(path) if one in moves), None)
    return None if above is None else moves[above] + path.removeprefix(above)
