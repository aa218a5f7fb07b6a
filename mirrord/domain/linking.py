"""Which page or attachment a link means: a decision over candidates that share a key with its target."""

import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from mirrord.domain.entry import EntryId, Kind
from mirrord.domain.place import INDEX, name_key

MAX_KEY = 200  # characters: an index of Postgres holds 2,700 bytes
MAX_ALIASES = 100  # of one page
_SUFFIX = ".md"
_BY_PATH = ("markdown", "image")  # kinds of links whose target is a path; the others name a page
_FILES_FIRST = ("embed", "image")

Path = tuple[str, ...]  # names from the root on, without `.md`


class Called(StrEnum):
    """What a name is to an entry."""

    NAME = "name"
    TITLE = "title"
    ALIAS = "alias"


@dataclass(frozen=True, slots=True)
class Candidate:
    """
    An entry by one of its names.

    path: of the entry; an attachment's holds `assets`, an index page's ends in its directory.
    name: the last of *path*, or its title or alias, as *called* says.
    """

    entry: EntryId
    kind: Kind
    path: Path
    called: Called
    name: str


@dataclass(frozen=True, slots=True)
class Origin:
    """The page a link stands in. directory: where its file is, so an index page's is its own."""

    entry: EntryId
    directory: Path


@dataclass(frozen=True, slots=True)
class Found:
    """What a link means. entry None: nothing, or, where *ambiguous*, several things equally well."""

    entry: EntryId | None
    ambiguous: bool = False


@dataclass(frozen=True, slots=True)
class _Sought:
    """A target as a path. anchored: from the root on, else the end of one."""

    steps: Path
    anchored: bool


Rank = tuple[int, ...]


def key_of(name: str) -> str:
    """The key of a name, a path or a title: links and names that may meet have equal keys."""
    last = name.rstrip("/").rpartition("/")[2].strip()
    while (stem := _stem(last)) != last:
        last = stem
    return name_key(last)[:MAX_KEY]


def target_key(kind: str, target: str, origin: Origin) -> str | None:
    """The key of what a link asks for; None: the page itself, or nothing within the mirror."""
    sought = next(_readings(kind, target, origin), None) if target.strip() else None
    return key_of(sought.steps[-1]) if sought else None


def called(name: str, title: str | None, aliases: object) -> list[tuple[Called, str]]:
    """What a page is called, its file's name first. aliases: the value of the front matter's key, whatever it is."""
    listed = aliases if isinstance(aliases, list) else [aliases]
    texts = [alias.strip() for alias in listed if isinstance(alias, str) and alias.strip()][:MAX_ALIASES]
    names = [(Called.NAME, name), (Called.TITLE, title or name), *((Called.ALIAS, alias) for alias in texts)]
    found: dict[str, Called] = {}
    for sort, text in names:
        found.setdefault(text, sort)
    return [(sort, text) for text, sort in found.items()]


def resolve(kind: str, target: str, origin: Origin, candidates: Sequence[Candidate]) -> Found:
    """
    What the link of *kind* (see `codec.links.Link`) to *target* in *origin* means.

    A Markdown link or image is a path from the page's directory, else from the root. A wikilink or embed is the end
    of a path, else a title, else an alias. Whole paths beat ends of paths, the same spelling beats another case,
    near beats far; what is equal in all that is ambiguous.
    """
    if not target.strip():
        return Found(origin.entry)
    for sought in _readings(kind, target, origin):
        found = _best(_at_path(kind, sought, origin, candidates))
        if found is None and not sought.anchored:
            found = _best(_with_name(Called.TITLE, target, origin, candidates))
            found = found or _best(_with_name(Called.ALIAS, target, origin, candidates))
        if found is not None:
            return found
    return Found(None)


def _readings(kind: str, target: str, origin: Origin) -> Iterator[_Sought]:
    first = target.strip().split("/")[0]
    starts: list[tuple[Path, bool]]
    if kind not in _BY_PATH and first not in ("", ".", ".."):
        starts = [((), False)]
    elif first == "":
        starts = [((), True)]
    else:
        starts = [(origin.directory, True), ((), True)]
    for start, anchored in starts:
        if steps := walk(start, target.strip()):
            yield _Sought(_page_at(steps), anchored)


def walk(start: Path, target: str) -> Path | None:
    """Where a path leads from *start*; None: out of the mirror."""
    steps = list(start)
    for part in target.split("/"):
        if part == ".." and not steps:
            return None
        if part == "..":
            steps.pop()
        elif part not in ("", "."):
            steps.append(part)
    return tuple(steps)


def _page_at(steps: Path) -> Path:
    """The page whose file that is, if it is the file of a folder."""
    return steps[:-1] if len(steps) > 1 and name_key(_stem(steps[-1])) == INDEX else steps


def _stem(name: str) -> str:
    return name[: -len(_SUFFIX)] if name[-len(_SUFFIX) :].lower() == _SUFFIX and len(name) > len(_SUFFIX) else name


def _at_path(
    kind: str, sought: _Sought, origin: Origin, candidates: Iterable[Candidate]
) -> Iterator[tuple[Rank, EntryId]]:
    *above, last = sought.steps
    for candidate in candidates:
        if candidate.called is not Called.NAME:
            continue
        asked = [last] if candidate.kind is Kind.ATTACHMENT else [_stem(last), last]
        for place, name in enumerate(asked):
            rank = _rank(kind, candidate, _Sought((*above, name), sought.anchored), origin)
            if rank is not None:
                yield (*rank[:2], place, *rank[2:]), candidate.entry
                break


def _rank(kind: str, candidate: Candidate, sought: _Sought, origin: Origin) -> Rank | None:
    """How well a path fits; None: not at all. The less the better."""
    path, steps = candidate.path, sought.steps
    if sought.anchored and candidate.kind is Kind.PAGE and _folded(path) == _folded((*steps, steps[-1])):
        return (2, 0)  # a folder's note inside it speaks for the folder
    end = path if sought.anchored else path[-len(steps) :]
    if _folded(end) != _folded(steps):
        return None
    is_whole = len(steps) > 1 and len(end) == len(path)
    far = 0 if sought.anchored else _distance(origin.directory, path[:-1])
    return (_sort(kind, candidate.kind), not is_whole, _spelt(end) != _spelt(steps), far)


def _sort(kind: str, entry: Kind) -> int:
    """Pages before attachments, or the reverse where a picture is asked for; directories last."""
    if entry is Kind.FOLDER:
        return 3
    return int((entry is Kind.ATTACHMENT) != (kind in _FILES_FIRST))


def _with_name(
    sort: Called, target: str, origin: Origin, candidates: Iterable[Candidate]
) -> Iterator[tuple[Rank, EntryId]]:
    wanted = target.strip()
    for candidate in candidates:
        if candidate.called is sort and name_key(candidate.name) == name_key(wanted):
            is_other = _spelt((candidate.name,)) != _spelt((wanted,))
            yield (is_other, _distance(origin.directory, candidate.path[:-1])), candidate.entry


def _best(ranked: Iterable[tuple[Rank, EntryId]]) -> Found | None:
    by_rank: dict[Rank, set[EntryId]] = {}
    for rank, entry in ranked:
        by_rank.setdefault(rank, set()).add(entry)
    if not by_rank:
        return None
    best = by_rank[min(by_rank)]
    return Found(None, ambiguous=True) if len(best) > 1 else Found(best.pop())


def _distance(one: Path, other: Path) -> int:
    """How many steps up and down lead from a directory to another."""
    common = 0
    for mine, its in zip(one, other, strict=False):
        if mine != its:
            break
        common += 1
    return len(one) + len(other) - 2 * common


def _folded(path: Path) -> Path:
    return tuple(map(name_key, path))


def _spelt(path: Path) -> Path:
    return tuple(unicodedata.normalize("NFC", part) for part in path)
