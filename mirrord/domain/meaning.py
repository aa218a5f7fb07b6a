"""The meaning of links in one state of a tree."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from mirrord.domain.entry import EntryId, Kind
from mirrord.domain.linking import (
    Candidate,
    LinkMeaning,
    NameKind,
    Origin,
    Path,
    key_of,
    names_of_page,
    resolve_link,
    target_key,
)
from mirrord.domain.place import INDEX

_SUFFIX = ".md"


@dataclass(frozen=True, slots=True)
class Names:
    """
    The names of the entries of a tree.

    by_key: all candidates for a key, see `linking.key_of`.
    files: the path of every entry's file, with `.md`; for a folder that of its directory.
    """

    by_key: Mapping[str, Sequence[Candidate]]
    files: Mapping[EntryId, str]

    def resolve_link(self, kind: str, target: str, origin: Origin) -> LinkMeaning:
        """The meaning of a link of *kind* to *target* in *origin*."""
        key = target_key(kind, target, origin)
        return resolve_link(kind, target, origin, self.by_key.get(key, ()) if key is not None else ())


@dataclass(frozen=True, slots=True)
class Site:
    """A page in one state of its tree. directory: that of its file."""

    entry: EntryId
    directory: Path
    names: Names

    def entry_of_link(self, kind: str, target: str) -> EntryId | None:
        """The entry that a link on the page means; None: no entry, or several."""
        return self.names.resolve_link(kind, target, Origin(self.entry, self.directory)).entry


def wikilink_path(file: str) -> str:
    """The path of a page as in wikilinks: without `.md`; for the page of a directory, the directory."""
    stem = file.removesuffix(_SUFFIX)
    return stem.removesuffix("/" + INDEX) if stem != file else file


def candidates_of(
    entry: EntryId, kind: Kind, file: str, title: str | None = None, aliases: Sequence[str] = ()
) -> list[Candidate]:
    """The candidates for an entry, one for each of its names. file: as in Names.files."""
    path = tuple((wikilink_path(file) if kind is Kind.PAGE else file).split("/"))
    is_named = kind is not Kind.ATTACHMENT
    names = names_of_page(path[-1], title, list(aliases)) if is_named else [(NameKind.NAME, path[-1])]
    return [Candidate(entry, kind, path, sort, name) for sort, name in names]


def group_by_key(named: Iterable[Candidate]) -> dict[str, list[Candidate]]:
    """The candidates grouped by their keys."""
    candidates_by_key = defaultdict[str, list[Candidate]](list)
    for candidate in named:
        candidates_by_key[key_of(candidate.name)].append(candidate)
    return dict(candidates_by_key)


def site_of(entry: EntryId, file: str, names: Names) -> Site:
    """The page *entry* whose file is *file*."""
    return Site(entry, tuple(file.split("/")[:-1]), names)
