"""Which page or attachment a link means, decided over candidates that share a key with its target."""

import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from mirrord.domain.dialect import USUAL_DAYS, DayFormats, Dialect
from mirrord.domain.entry import EntryId, Kind
from mirrord.domain.place import INDEX, name_key

MAX_KEY_CHARACTERS = 200  # characters; an index of Postgres holds 2,700 bytes
MAX_ALIASES = 100  # of one page
_SUFFIX = ".md"
_KINDS_BY_PATH = ("markdown", "image")  # kinds of links whose target is a path; the others name a page
_KINDS_OF_FILES = ("embed", "image")

Path = tuple[str, ...]  # names from the root on, without `.md`


class NameKind(StrEnum):
    """The kinds of names of an entry."""

    NAME = "name"
    TITLE = "title"
    ALIAS = "alias"


@dataclass(frozen=True, slots=True)
class Candidate:
    """
    An entry by one of its names.

    path: of the entry; that of an attachment includes `assets`, that of an index page ends with its directory.
    name: the last of *path*, or its title or alias, as *name_kind* says.
    """

    entry: EntryId
    kind: Kind
    path: Path
    name_kind: NameKind
    name: str


@dataclass(frozen=True, slots=True)
class Origin:
    """The page of a link. directory: that of its file, which for an index page is its own. dialect: of its tenant."""

    entry: EntryId
    directory: Path
    dialect: Dialect = Dialect.PLAIN


@dataclass(frozen=True, slots=True)
class LinkMeaning:
    """The meaning of a link. entry None: no entry or, if *ambiguous*, several equally good ones."""

    entry: EntryId | None
    ambiguous: bool = False


@dataclass(frozen=True, slots=True)
class _SoughtPath:
    """A target as a path. anchored: from the root on; otherwise the end of a path."""

    steps: Path
    anchored: bool


Rank = tuple[int, ...]


def key_of(name: str) -> str:
    """The key of a name, a path or a title: links and names that may match have equal keys."""
    last = name.rstrip("/").rpartition("/")[2].strip()
    while (stem := _without_suffix(last)) != last:
        last = stem
    return name_key(last)[:MAX_KEY_CHARACTERS]


def target_key(kind: str, target: str, origin: Origin) -> str | None:
    """The key of the target of a link; None: the page itself, or nothing within the mirror."""
    sought = next(_possible_paths(kind, target, origin), None) if target.strip() else None
    return key_of(sought.steps[-1]) if sought else None


def names_of_page(
    name: str, title: str | None, aliases: object, further: Sequence[tuple[NameKind, str]] = ()
) -> list[tuple[NameKind, str]]:
    """
    The names of a page, that of its file first.

    aliases: the raw value of the key in the front matter. further: those that its dialect gives it.
    """
    alias_values = aliases if isinstance(aliases, list) else [aliases]
    texts = [alias.strip() for alias in alias_values if isinstance(alias, str) and alias.strip()][:MAX_ALIASES]
    names = [(NameKind.NAME, name), (NameKind.TITLE, title or name), *((NameKind.ALIAS, alias) for alias in texts)]
    names += further[:MAX_ALIASES]
    sort_by_text: dict[str, NameKind] = {}
    for sort, text in names:
        sort_by_text.setdefault(text, sort)
    return [(sort, text) for text, sort in sort_by_text.items()]


def resolve_link(kind: str, target: str, origin: Origin, candidates: Sequence[Candidate]) -> LinkMeaning:
    """
    The meaning of a link of *kind* (see `codec.links.Link`) to *target* in *origin*.

    A Markdown link or image is a path from the page's directory, else from the root. A wikilink or embed is the end
    of a path, else a title, else an alias. Whole paths beat ends of paths, the same spelling beats another case,
    near beats far; candidates that are equal in all of this are ambiguous.

    In a vault of Obsidian a Markdown link may be the end of a path, too, and a name alone means the page at the root
    before those that are nearer: Obsidian writes the whole path of a page unless its name is the only one.
    """
    if not target.strip():
        return LinkMeaning(origin.entry)
    for sought in _possible_paths(kind, target, origin):
        resolution = _best_of(_candidates_at_path(kind, sought, origin, candidates))
        if resolution is None and not sought.anchored and kind not in _KINDS_BY_PATH:
            resolution = _best_of(_candidates_with_name(NameKind.TITLE, target, origin, candidates))
            resolution = resolution or _best_of(_candidates_with_name(NameKind.ALIAS, target, origin, candidates))
        if resolution is not None:
            return resolution
    return LinkMeaning(None)


def _possible_paths(kind: str, target: str, origin: Origin) -> Iterator[_SoughtPath]:
    first = target.strip().split("/")[0]
    is_bare = first not in ("", ".", "..")
    starts: list[tuple[Path, bool]]
    if kind not in _KINDS_BY_PATH and is_bare:
        starts = [((), False)]
    elif first == "":
        starts = [((), True)]
    else:
        starts = [(origin.directory, True), ((), True)]
        starts += [((), False)] if is_bare and origin.dialect is Dialect.OBSIDIAN else []
    for start, anchored in starts:
        if steps := follow_path(start, target.strip()):
            yield _SoughtPath(_page_path_of(steps), anchored)


def follow_path(start: Path, target: str) -> Path | None:
    """The path that *target* leads to from *start*; None: out of the mirror."""
    steps = list(start)
    for part in target.split("/"):
        if part == ".." and not steps:
            return None
        if part == "..":
            steps.pop()
        elif part not in ("", "."):
            steps.append(part)
    return tuple(steps)


def _page_path_of(steps: Path) -> Path:
    """The path of the page; for the index file of a folder that of the folder."""
    return steps[:-1] if len(steps) > 1 and name_key(_without_suffix(steps[-1])) == INDEX else steps


def _without_suffix(name: str) -> str:
    return name[: -len(_SUFFIX)] if name[-len(_SUFFIX) :].lower() == _SUFFIX and len(name) > len(_SUFFIX) else name


def _candidates_at_path(
    kind: str, sought: _SoughtPath, origin: Origin, candidates: Iterable[Candidate]
) -> Iterator[tuple[Rank, EntryId]]:
    *above, last = sought.steps
    for candidate in candidates:
        if candidate.name_kind is not NameKind.NAME:
            continue
        last_names = [last] if candidate.kind is Kind.ATTACHMENT else [_without_suffix(last), last]
        for place, name in enumerate(last_names):
            rank = _rank_at_path(kind, candidate, _SoughtPath((*above, name), sought.anchored), origin)
            if rank is not None:
                yield (*rank[:2], place, *rank[2:]), candidate.entry
                break


def _rank_at_path(kind: str, candidate: Candidate, sought: _SoughtPath, origin: Origin) -> Rank | None:
    """The rank of a candidate for a path, lower is better; None: it does not fit."""
    path, steps = candidate.path, sought.steps
    if sought.anchored and candidate.kind is Kind.PAGE and _fold_path(path) == _fold_path((*steps, steps[-1])):
        return (2, 0)  # a note in a folder with the folder's name represents the folder
    end = path if sought.anchored else path[-len(steps) :]
    if _fold_path(end) != _fold_path(steps):
        return None
    is_whole = len(end) == len(path) and (len(steps) > 1 or origin.dialect is Dialect.OBSIDIAN)
    distance = 0 if sought.anchored else _count_steps(origin.directory, path[:-1])
    return (_rank_of_kind(kind, candidate.kind), not is_whole, _normalize_path(end) != _normalize_path(steps), distance)


def _rank_of_kind(kind: str, entry: Kind) -> int:
    """The rank of a kind of entry: pages before attachments, the reverse for pictures; directories last."""
    if entry is Kind.FOLDER:
        return 3
    return int((entry is Kind.ATTACHMENT) != (kind in _KINDS_OF_FILES))


def _candidates_with_name(
    sort: NameKind, target: str, origin: Origin, candidates: Iterable[Candidate]
) -> Iterator[tuple[Rank, EntryId]]:
    name = target.strip()
    for candidate in candidates:
        if candidate.name_kind is sort and name_key(candidate.name) == name_key(name):
            is_other = _normalize_path((candidate.name,)) != _normalize_path((name,))
            yield (is_other, _count_steps(origin.directory, candidate.path[:-1])), candidate.entry


def _best_of(ranked: Iterable[tuple[Rank, EntryId]]) -> LinkMeaning | None:
    by_rank: dict[Rank, set[EntryId]] = {}
    for rank, entry in ranked:
        by_rank.setdefault(rank, set()).add(entry)
    if not by_rank:
        return None
    best = by_rank[min(by_rank)]
    return LinkMeaning(None, ambiguous=True) if len(best) > 1 else LinkMeaning(best.pop())


def _count_steps(directory: Path, other_directory: Path) -> int:
    """The number of steps up and down from one directory to another."""
    common = 0
    for step, other_step in zip(directory, other_directory, strict=False):
        if step != other_step:
            break
        common += 1
    return len(directory) + len(other_directory) - 2 * common


def _fold_path(path: Path) -> Path:
    return tuple(map(name_key, path))


def _normalize_path(path: Path) -> Path:
    return tuple(unicodedata.normalize("NFC", part) for part in path)


@dataclass(frozen=True, slots=True)
class Names:
    """
    The names of the entries of a tree.

    by_key: all candidates for a key, see `linking.key_of`.
    files: the path of every entry's file, with `.md`; for a folder that of its directory.
    dialect: of its pages. days: how they are called in a graph of Logseq.
    """

    by_key: Mapping[str, Sequence[Candidate]]
    files: Mapping[EntryId, str]
    dialect: Dialect = Dialect.PLAIN
    days: DayFormats = USUAL_DAYS

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

    @property
    def origin(self) -> Origin:
        """The page as the origin of its links."""
        return Origin(self.entry, self.directory, self.names.dialect)

    def entry_of_link(self, kind: str, target: str) -> EntryId | None:
        """The entry that a link on the page means; None: no entry, or several."""
        return self.names.resolve_link(kind, target, self.origin).entry


def wikilink_path(file: str) -> str:
    """The path of a page as in wikilinks: without `.md`; for the page of a directory, the directory."""
    stem = file.removesuffix(_SUFFIX)
    return stem.removesuffix("/" + INDEX) if stem != file else file


def candidates_of(
    entry: EntryId,
    kind: Kind,
    file: str,
    title: str | None = None,
    aliases: Sequence[str] = (),
    further: Sequence[tuple[NameKind, str]] = (),
) -> list[Candidate]:
    """The candidates for an entry, one for each of its names. file: as in Names.files. further: of names_of_page()."""
    path = tuple((wikilink_path(file) if kind is Kind.PAGE else file).split("/"))
    is_named = kind is not Kind.ATTACHMENT
    names = names_of_page(path[-1], title, list(aliases), further) if is_named else [(NameKind.NAME, path[-1])]
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
