"""What everything in a tree is called, kept up between looks by what changed."""

import weakref
from collections.abc import Callable, Mapping
from uuid import UUID

from mirrord.domain.entry import EntryId, Kind
from mirrord.domain.linking import Candidate, key_of
from mirrord.domain.meaning import Names, candidates
from mirrord.mirror.card import Card
from mirrord.mirror.catalogue import Snapshot


class Naming:
    """
    The names of one tree at the last look; not for several threads at once.

    Entries have numbers of this process here, not the ids that Postgres knows: telling those takes more reading.
    """

    def __init__(self) -> None:
        self._kinds: dict[str, Kind] = {}
        self._cards: dict[str, Card] = {}
        self._entries: dict[str, EntryId] = {}
        self._candidates: dict[str, list[Candidate]] = {}
        self._by_key: dict[str, list[Candidate]] = {}
        self._files: dict[EntryId, str] = {}
        self._count = 0
        self._learned: Callable[[], Snapshot | None] = lambda: None

    @property
    def names(self) -> Names:
        """What links are looked up in; changed by the next update."""
        return Names(self._by_key, self._files)

    def entry(self, path: str) -> EntryId | None:
        """The number of the page, folder or attachment at *path*."""
        return self._entries.get(path)

    def path(self, entry: EntryId) -> str:
        """Where an entry is."""
        return self._files[entry]

    def keys(self, path: str) -> set[str]:
        """The keys that links to what is at *path* may have."""
        return {key_of(one.name) for one in self._candidates.get(path, ())}

    def update(self, snapshot: Snapshot) -> None:
        """Learn what *snapshot* holds; looks at the whole tree, unless that is what was learned last."""
        if self._learned() is snapshot:
            return
        self._learned = weakref.ref(snapshot)
        cards = snapshot.every
        kinds = dict.fromkeys(cards, Kind.PAGE)
        kinds |= dict.fromkeys(snapshot.folders, Kind.FOLDER) | dict.fromkeys(snapshot.attachments, Kind.ATTACHMENT)
        if kinds != self._kinds:
            for path in self._kinds.keys() - kinds.keys():
                self._forget(path)
            for path in (path for path, kind in kinds.items() if kind is not Kind.PAGE):
                if self._kinds.get(path) is not kinds[path]:
                    self._call(path, kinds[path], None)
            self._kinds = kinds
        for path, card in cards.items():
            if self._cards.get(path) is not card:
                self._call(path, Kind.PAGE, card)
        self._cards = cards

    def copy(self) -> Names:
        """What everything is called now, for good."""
        return Names({key: list(named) for key, named in self._by_key.items()}, dict(self._files))

    def after(self, moves: Mapping[str, str], titles: Mapping[str, str]) -> Names:
        """
        What everything is called once files are moved, old path -> new; the entries are the same.

        titles: new ones of pages, by their paths before.
        """
        moves = dict(zip(titles, titles, strict=True)) | dict(moves)
        moved = {path: new for path, new in moves.items() if path in self._entries}
        by_key, files = dict(self._by_key), dict(self._files)
        for path in moved:
            for key in self.keys(path):
                by_key[key] = [one for one in by_key[key] if one.entry != self._entries[path]]
        for path, new in moved.items():
            files[self._entries[path]] = new
            for one in _called(self._entries[path], self._kinds[path], new, self._cards.get(path), titles.get(path)):
                by_key[key_of(one.name)] = [*by_key.get(key_of(one.name), ()), one]
        return Names(by_key, files)

    def _call(self, path: str, kind: Kind, card: Card | None) -> None:
        self._forget(path)
        self._count += 1
        entry = self._entries[path] = EntryId(UUID(int=self._count))
        self._files[entry] = path
        self._candidates[path] = _called(entry, kind, path, card)
        for one in self._candidates[path]:
            self._by_key.setdefault(key_of(one.name), []).append(one)

    def _forget(self, path: str) -> None:
        entry = self._entries.pop(path, None)
        if entry is None:
            return
        del self._files[entry]
        for one in self._candidates.pop(path):
            key = key_of(one.name)
            self._by_key[key] = [other for other in self._by_key[key] if other.entry != entry]
            if not self._by_key[key]:
                del self._by_key[key]


def _called(entry: EntryId, kind: Kind, path: str, card: Card | None, title: str | None = None) -> list[Candidate]:
    """title: another one than the card's."""
    if card is None:
        return candidates(entry, kind, path)
    return candidates(entry, kind, path, title or (card.title if card.is_titled else None), card.aliases)
