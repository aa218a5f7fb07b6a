"""One directory as a reader sees it that is not the daemon: its pages or attachments, and the directories below."""

import os
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import NamedTuple, TypeVar

from mirrord.domain.place import ASSETS
from mirrord.errors import Refused, Unavailable
from mirrord.mirror.ignore import Ignore
from mirrord.mirror.kernel import Stat, stat_of
from mirrord.mirror.layout import SUFFIX, is_temporary, is_text
from mirrord.mirror.tree import Tree

_OTHERS_PATTERNS = frozenset({".gitignore", ".ignore", ".rgignore", ".git"})

Stats = Mapping[str, Stat]
_Seen = TypeVar("_Seen")


@dataclass(frozen=True, slots=True)
class Glance:
    """
    The names a directory holds.

    files: pages; below `assets` attachments. beside: attachments that lie beside the pages.
    directories: but for `assets`, unless below one.
    has_patterns: whether files lie there by which programs that search, but not mirrord, leave things out.
    stat, ignore: what it was listed by; it holds as long as these stay. stat None: not even then.
    """

    files: frozenset[str] = frozenset()
    beside: frozenset[str] = frozenset()
    directories: frozenset[str] = frozenset()
    has_assets: bool = False
    has_patterns: bool = False
    stat: Stat | None = None
    ignore: Ignore | None = None


class Sight(NamedTuple):
    """A directory's names, and the stats of its files by name."""

    glance: Glance
    stats: Stats


NOTHING = Sight(Glance(), {})  # of a directory that is gone, a link, or cannot be listed


def glance(tree: Tree, ignore: Ignore, path: str, known: Glance) -> Glance:
    """
    What the directory *path* holds that is synced. known: what it held at another time; itself if that still holds.

    Raises Unavailable if the tree's root cannot be listed.
    """
    return _at(tree, path, lambda descriptor: _listed(descriptor, path, ignore, known), NOTHING.glance)


def sight(tree: Tree, ignore: Ignore, path: str, known: Sight) -> Sight:
    """Like glance(), with stats; each part is that of *known* if it is the same."""

    def seen(descriptor: int) -> Sight:
        names = _listed(descriptor, path, ignore, known.glance)
        stats = _stats(descriptor, names.files | names.beside, known.stats)
        return known if names is known.glance and stats is known.stats else Sight(names, stats)

    return _at(tree, path, seen, NOTHING)


def _at(tree: Tree, path: str, seen: Callable[[int], _Seen], nothing: _Seen) -> _Seen:
    try:
        with tree.directory(path) as descriptor:
            return seen(descriptor) if os.fstat(descriptor).st_dev == tree.opened_as[0] else nothing
    except (OSError, Refused) as error:
        if not path:
            raise Unavailable(f"The tree cannot be listed: {error}") from error
        return nothing


def _listed(descriptor: int, path: str, ignore: Ignore, known: Glance) -> Glance:
    began, before = time.time_ns(), stat_of(os.fstat(descriptor))
    if known.stat == before and known.ignore is ignore:
        return known
    found = _named(descriptor, path, ignore)
    is_settled = before.is_settled(began) and stat_of(os.fstat(descriptor)) == before
    return replace(found, stat=before, ignore=ignore) if is_settled else found


def _named(descriptor: int, path: str, ignore: Ignore) -> Glance:
    files, beside, directories, others = list[str](), list[str](), list[str](), set[str]()
    in_assets, selective, above = ASSETS in path.split("/"), not ignore.is_empty, path + "/" if path else ""
    take = ignore.rules.take
    with os.scandir(descriptor) as entries:
        for entry in entries:
            name = entry.name
            if name[0] == ".":
                others.add(name)
            elif not is_text(name):
                continue
            elif entry.is_dir(follow_symlinks=False):
                if not (selective and ignore.matches(above + name, True)):
                    directories.append(name)
            elif not is_temporary(name):
                is_beside = not (in_assets or name.endswith(SUFFIX))
                is_taken = (not is_beside or take(above + name)) and entry.is_file(follow_symlinks=False)
                if is_taken and not (selective and ignore.matches(above + name, False)):
                    (beside if is_beside else files).append(name)
    has_assets = not in_assets and ASSETS in directories
    below = frozenset(name for name in directories if in_assets or name != ASSETS)
    return Glance(frozenset(files), frozenset(beside), below, has_assets, not _OTHERS_PATTERNS.isdisjoint(others))


def _stats(descriptor: int, files: frozenset[str], known: Stats) -> Stats:
    if files == known.keys() and _are_same(descriptor, known):
        return known
    found = {}
    for name in files:
        with suppress(FileNotFoundError):
            stat = stat_of(os.stat(name, dir_fd=descriptor, follow_symlinks=False))
            if stat.is_file:
                found[name] = stat
    return found


def _are_same(descriptor: int, known: Stats) -> bool:
    """A loop without calls of its own: ten thousand files pass through it for one question, most of them unchanged."""
    try:
        for name, (_, inode, size, mtime, ctime, _, _) in known.items():
            raw = os.stat(name, dir_fd=descriptor, follow_symlinks=False)
            if raw.st_ctime_ns != ctime or raw.st_mtime_ns != mtime or raw.st_ino != inode or raw.st_size != size:
                return False
    except OSError:
        return False
    return True
