"""What links mean in one state of a tree."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from mirrord.domain.entry import EntryId, Kind
from mirrord.domain.linking import Called, Candidate, Found, Origin, Path, called, key_of, resolve, target_key
from mirrord.domain.place import INDEX

_SUFFIX = ".md"


@dataclass(frozen=True, slots=True)
class Names:
    """
    What the entries of a tree are called.

    by_key: all candidates of a key, see `linking.key_of`.
    files: the path of every entry's file, with `.md`; of a folder's directory.
    """

    by_key: Mapping[str, Sequence[Candidate]]
    files: Mapping[EntryId, str]

    def found(self, kind: str, target: str, origin: Origin) -> Found:
        """What a link of *kind* to *target* in *origin* means."""
        key = target_key(kind, target, origin)
        return resolve(kind, target, origin, self.by_key.get(key, ()) if key is not None else ())


@dataclass(frozen=True, slots=True)
class Site:
    """A page in one state of its tree. directory: where its file is."""

    entry: EntryId
    directory: Path
    names: Names

    def meaning(self, kind: str, target: str) -> EntryId | None:
        """The entry that a link on the page means; None: nothing, or nothing certain."""
        return self.names.found(kind, target, Origin(self.entry, self.directory)).entry


def plain(file: str) -> str:
    """A page's path as wikilinks have it: without `.md`, a directory's page as the directory."""
    stem = file.removesuffix(_SUFFIX)
    return stem.removesuffix("/" + INDEX) if stem != file else file


def candidates(
    entry: EntryId, kind: Kind, file: str, title: str | None = None, aliases: Sequence[str] = ()
) -> list[Candidate]:
    """An entry by all its names. file: as in Names.files."""
    path = tuple((plain(file) if kind is Kind.PAGE else file).split("/"))
    is_named = kind is not Kind.ATTACHMENT
    said = called(path[-1], title, list(aliases)) if is_named else [(Called.NAME, path[-1])]
    return [Candidate(entry, kind, path, sort, name) for sort, name in said]


def by_key(named: Iterable[Candidate]) -> dict[str, list[Candidate]]:
    """Candidates by their keys."""
    found = defaultdict[str, list[Candidate]](list)
    for candidate in named:
        found[key_of(candidate.name)].append(candidate)
    return dict(found)


def site_of(entry: EntryId, file: str, names: Names) -> Site:
    """The page *entry* whose file is *file*."""
    return Site(entry, tuple(file.split("/")[:-1]), names)
