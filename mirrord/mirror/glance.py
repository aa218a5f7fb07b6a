"""One directory as a reader sees it that is not the daemon: its pages or attachments, and the directories below."""

import os
from dataclasses import dataclass, field

from mirrord.domain.place import ASSETS
from mirrord.errors import Refused, Unavailable
from mirrord.mirror.ignore import Ignore
from mirrord.mirror.kernel import Stat
from mirrord.mirror.layout import SUFFIX, is_temporary, is_text
from mirrord.mirror.tree import Tree

_OTHERS_PATTERNS = frozenset({".gitignore", ".ignore", ".rgignore", ".git"})


@dataclass(slots=True)
class Glance:
    """
    What a directory holds, by name.

    files: pages; below `assets` attachments.
    directories: but for `assets`, unless below one.
    has_patterns: whether files lie there by which programs that search, but not mirrord, leave things out.
    """

    files: dict[str, Stat] = field(default_factory=dict)
    directories: list[str] = field(default_factory=list)
    has_assets: bool = False
    has_patterns: bool = False


def glance(tree: Tree, ignore: Ignore, path: str) -> Glance:
    """
    What the directory *path* holds that is synced; nothing if it is gone, a link, or cannot be listed.

    Raises Unavailable if the tree's root cannot be listed.
    """
    found = Glance()
    try:
        with tree.directory(path) as descriptor:
            if os.fstat(descriptor).st_dev == tree.opened_as[0]:
                _fill(found, descriptor, path, ignore)
    except (OSError, Refused) as error:
        if not path:
            raise Unavailable(f"The tree cannot be listed: {error}") from error
    return found


def _fill(found: Glance, descriptor: int, path: str, ignore: Ignore) -> None:
    """A loop without calls of its own where it can: ten thousand files pass through it for one question."""
    in_assets, selective, above = ASSETS in path.split("/"), not ignore.is_empty, path + "/" if path else ""
    with os.scandir(descriptor) as entries:
        for entry in entries:
            name = entry.name
            try:
                if name[0] == ".":
                    found.has_patterns |= name in _OTHERS_PATTERNS
                elif not name.isascii() and not is_text(name):
                    continue
                elif entry.is_dir(follow_symlinks=False):
                    if selective and ignore.matches(above + name, True):
                        continue
                    if name == ASSETS and not in_assets:
                        found.has_assets = True
                    else:
                        found.directories.append(name)
                elif not entry.is_file(follow_symlinks=False):
                    continue
                elif (in_assets or name.endswith(SUFFIX)) and not is_temporary(name):
                    if selective and ignore.matches(above + name, False):
                        continue
                    raw = entry.stat(follow_symlinks=False)
                    times = raw.st_mtime_ns, raw.st_ctime_ns
                    found.files[name] = Stat(raw.st_dev, raw.st_ino, raw.st_size, *times, raw.st_mode, raw.st_nlink)
            except FileNotFoundError:
                continue
