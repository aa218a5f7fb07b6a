"""The names of a tree's pages, folders and attachments, kept up between looks, and as a change would leave them."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from uuid import UUID

from mirrord.domain.dialect import USUAL_DAYS, DayFormats, Dialect
from mirrord.domain.entry import EntryId, Kind
from mirrord.domain.link_meaning import Candidate, NameKind, Names, candidates_of, key_of, wikilink_path
from mirrord.markdown.logseq_names import names_in_logseq
from mirrord.mirror.read.directory_listing import Walk
from mirrord.mirror.read.page_catalogue import Snapshot
from mirrord.mirror.read.page_summary import PageSummary

_FIRST_NEW = 1 << 64  # number of the first page that a change creates; those of pages that exist are lower


@dataclass(frozen=True, slots=True)
class NameChange:
    """
    A change of the names in a tree.

    moves: of files and directories, old path -> new. titles: new titles of pages, by their old paths. removed: paths of
    pages that go. created: titles of new pages, by their paths. aliases: further ones of pages that move, by old path.
    """

    moves: Mapping[str, str]
    titles: Mapping[str, str] = field(default_factory=dict)
    removed: Collection[str] = ()
    created: Mapping[str, str] = field(default_factory=dict)
    aliases: Mapping[str, Sequence[str]] = field(default_factory=dict)


def new_entry(number: int) -> EntryId:
    """The number in this process of the page that is created as the one with this number, from 0 on."""
    return EntryId(UUID(int=_FIRST_NEW + number))


class NameIndex:
    """
    The names of one tree at the last look, whose pages are of one dialect; not thread-safe.

    Entries have numbers of this process here, not their ids in Postgres: those would take more reading.
    """

    def __init__(self, dialect: Dialect = Dialect.PLAIN, days: DayFormats = USUAL_DAYS) -> None:
        self._dialect, self._days = dialect, days
        self._kinds: dict[str, Kind] = {}
        self._cards: Mapping[str, PageSummary] = {}
        self._entries: dict[str, EntryId] = {}
        self._candidates: dict[str, list[Candidate]] = {}
        self._by_key: dict[str, list[Candidate]] = {}
        self._files: dict[EntryId, str] = {}
        self._count = 0
        self._walk: Walk | None = None

    @property
    def names(self) -> Names:
        """The names for the lookup of links; the next update changes them."""
        return Names(self._by_key, self._files, self._dialect, self._days)

    def entry_of(self, path: str) -> EntryId | None:
        """The number of the page, folder or attachment at *path*."""
        return self._entries.get(path)

    def path_of(self, entry: EntryId) -> str:
        """The path of an entry."""
        return self._files[entry]

    def keys_of(self, path: str) -> set[str]:
        """The possible keys of links to the entry at *path*."""
        return {key_of(candidate.name) for candidate in self._candidates.get(path, ())}

    def update(self, snapshot: Snapshot) -> None:
        """Update the names from *snapshot*; lists the whole tree, unless it is the last one again."""
        cards = snapshot.summaries_by_path
        if cards is self._cards and snapshot.walk is self._walk:
            return
        self._walk = snapshot.walk
        kinds = dict.fromkeys(cards, Kind.PAGE)
        kinds |= dict.fromkeys(snapshot.folders, Kind.FOLDER) | dict.fromkeys(snapshot.attachments, Kind.ATTACHMENT)
        if kinds != self._kinds:
            for path in self._kinds.keys() - kinds.keys():
                self._remove_names(path)
            for path in (path for path, kind in kinds.items() if kind is not Kind.PAGE):
                if self._kinds.get(path) is not kinds[path]:
                    self._add_names(path, kinds[path], None)
            self._kinds = kinds
        for path, card in cards.items():
            if self._cards.get(path) is not card:
                self._add_names(path, Kind.PAGE, card)
        self._cards = cards

    def copy(self) -> Names:
        """A copy of the current names."""
        by_key = {key: list(named_candidates) for key, named_candidates in self._by_key.items()}
        return Names(by_key, dict(self._files), self._dialect, self._days)

    def names_after(self, change: NameChange) -> Names:
        """The names after a change; the entries are the same."""
        moves = dict(zip(change.titles, change.titles, strict=True)) | dict(change.moves)
        moved_paths = {path: new for path, new in moves.items() if path in self._entries}
        by_key, files = dict(self._by_key), dict(self._files)
        for path in (*moved_paths, *change.removed):
            for key in self.keys_of(path):
                by_key[key] = [candidate for candidate in by_key[key] if candidate.entry != self._entries[path]]
        new_candidates = [
            self._candidates_of(path, self._kinds[path], new, self._cards.get(path), change.titles.get(path))
            for path, new in moved_paths.items()
        ]
        files |= {self._entries[path]: new for path, new in moved_paths.items()}
        for path, aliases in change.aliases.items():
            new_candidates.append(_named_candidates(self._entries[path], files[self._entries[path]], aliases))
        for number, (path, title) in enumerate(change.created.items()):
            files[new_entry(number)] = path
            further = self._further_names(path, "")
            new_candidates.append(candidates_of(new_entry(number), Kind.PAGE, path, title, (), further))
        for candidate in chain.from_iterable(new_candidates):
            by_key[key_of(candidate.name)] = [*by_key.get(key_of(candidate.name), ()), candidate]
        return Names(by_key, files, self._dialect, self._days)

    def _add_names(self, path: str, kind: Kind, card: PageSummary | None) -> None:
        self._remove_names(path)
        self._count += 1
        entry = self._entries[path] = EntryId(UUID(int=self._count))
        self._files[entry] = path
        self._candidates[path] = self._candidates_of(path, kind, path, card)
        for candidate in self._candidates[path]:
            self._by_key.setdefault(key_of(candidate.name), []).append(candidate)

    def _candidates_of(
        self, path: str, kind: Kind, new_path: str, card: PageSummary | None, title: str | None = None
    ) -> list[Candidate]:
        """The names of the entry at *path* where it is at *new_path*. title: replaces the one of the card."""
        entry = self._entries[path]
        if card is None:
            return candidates_of(entry, kind, new_path)
        title = title or (card.title if card.is_titled else None)
        further = self._further_names(new_path, card.properties)
        return candidates_of(entry, kind, new_path, title, card.aliases, further)

    def _further_names(self, path: str, properties: str) -> Sequence[tuple[NameKind, str]]:
        if self._dialect is not Dialect.LOGSEQ:
            return ()
        return names_in_logseq(wikilink_path(path).rpartition("/")[2], properties, self._days)

    def _remove_names(self, path: str) -> None:
        entry = self._entries.pop(path, None)
        if entry is None:
            return
        del self._files[entry]
        for candidate in self._candidates.pop(path):
            key = key_of(candidate.name)
            self._by_key[key] = [other for other in self._by_key[key] if other.entry != entry]
            if not self._by_key[key]:
                del self._by_key[key]


def _named_candidates(entry: EntryId, file: str, aliases: Sequence[str]) -> list[Candidate]:
    """The candidates for a page by further aliases."""
    candidates = candidates_of(entry, Kind.PAGE, file, None, aliases)
    return [candidate for candidate in candidates if candidate.name_kind is NameKind.ALIAS]
