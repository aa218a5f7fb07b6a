"""What the links of a tree mean before and after moves, and which pages may have a link that notices."""

import html
import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from urllib.parse import unquote

from mirrord.codec.relinking import Relinked, relinked
from mirrord.domain.entry import EntryId, Kind, TenantId, id_of_path
from mirrord.domain.linking import Candidate
from mirrord.domain.meaning import Names, Site, by_key, candidates, plain, site_of
from mirrord.domain.place import ASSETS
from mirrord.mirror.card import Card
from mirrord.mirror.catalogue import Snapshot
from mirrord.mirror.layout import SUFFIX, page_path

_BETWEEN = re.compile(r"[\[\]()<>|#/\n\"']")

Moved = Callable[[str], str]


class Linkage:
    """
    The links of one tree, which is about to change.

    Entries are called by their paths before, whatever Postgres calls them: only which is which matters here.
    """

    def __init__(self, snapshot: Snapshot, tenant: TenantId, moved: Moved, titles: Mapping[str, str]) -> None:
        """*moved*: the path of a file or directory afterwards; *titles*: new titles of pages by their paths before."""
        self._tenant = tenant
        self._moved = moved
        before: list[tuple[EntryId, Kind, str, Card | None]] = [
            (self._id(path), Kind.PAGE, path, card) for path, card in snapshot.cards(snapshot.pages).items()
        ]
        others = [(Kind.ATTACHMENT, path) for path in snapshot.attachments]
        others += [(Kind.FOLDER, path) for path in _folders(snapshot)]
        before += [(self._id(path), kind, path, None) for kind, path in others]
        self.before = _names((entry, kind, path, _called(card)) for entry, kind, path, card in before)
        self.after = _names(
            (entry, kind, moved(path), (titles.get(path, title), aliases))
            for entry, kind, path, card in before
            for title, aliases in [_called(card)]
        )
        self._needles = _needles(self.before, self.after)

    def relinked(self, path: str, text: str) -> Relinked:
        """*text*, of the page that is at *path* before, with links that mean afterwards what they mean now."""
        return relinked(text, self.site(path), site_of(self._id(path), self._moved(path), self.after))

    def site(self, path: str) -> Site:
        """The page at *path* as it is before."""
        return site_of(self._id(path), path, self.before)

    def is_it(self, entry: EntryId | None, path: str) -> bool:
        """Whether what a link of a site means is what is at *path* before."""
        return entry == self._id(path)

    def touches(self, text: str) -> bool:
        """Whether a link in *text* may mean something else afterwards; False is certain."""
        plain, odd = self._needles
        known = folded(text)
        return not plain.isdisjoint(map(_stem, _BETWEEN.split(known))) or any(needle in known for needle in odd)

    def _id(self, path: str) -> EntryId:
        return id_of_path(self._tenant, path)


_Called = tuple[str | None, tuple[str, ...]]  # title, aliases


def _called(card: Card | None) -> _Called:
    """A title that is the file's name, or falls back to it, is none of its own."""
    if card is None:
        return None, ()
    is_name = card.title == plain(card.path).rpartition("/")[2]
    return None if is_name else card.title, card.aliases


def _names(entries: Iterable[tuple[EntryId, Kind, str, _Called]]) -> Names:
    files: dict[EntryId, str] = {}
    named: list[Candidate] = []
    for entry, kind, path, (title, aliases) in entries:
        files[entry] = path
        named += candidates(entry, kind, path, title, aliases)
    return Names(by_key(named), files)


def _folders(snapshot: Snapshot) -> list[str]:
    """Directories that are no page's."""
    found = []
    for path in snapshot.directories:
        is_page = page_path("", path, index=True) in snapshot.pages or path + SUFFIX in snapshot.pages
        if path and not is_page and ASSETS not in path.split("/"):
            found.append(path)
    return found


def _needles(before: Names, after: Names) -> tuple[frozenset[str], Sequence[str]]:
    """
    The keys under which something is not what it was, folded: those that stand alone between the marks around a link's
    target, and others.
    """
    keys = {key for key in before.by_key.keys() | after.by_key.keys() if _of(before, key) != _of(after, key)}
    found = {_stem(folded(key)) for key in keys}
    odd = [key for key in found if _BETWEEN.search(key)]
    return frozenset(found.difference(odd)), odd


def _of(names: Names, key: str) -> set[Candidate]:
    return set(names.by_key.get(key, ()))


def folded(text: str) -> str:
    """As key_of() folds names, or coarser; without the escapes that a target may have."""
    if "&" in text:
        text = html.unescape(text)
    if "%" in text:
        text = unquote(text)
    text = text.replace("\\", "")
    return (text if text.isascii() else unicodedata.normalize("NFC", text)).casefold()


def _stem(piece: str) -> str:
    piece = piece.strip()
    while piece.endswith(SUFFIX):
        piece = piece.removesuffix(SUFFIX).rstrip()
    return piece
