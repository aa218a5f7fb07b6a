"""How the target of a link is spelt after something moved: in the style it had, and so that it means the same."""

import re
from collections.abc import Callable, Iterator

from mirrord.codec.links import Link
from mirrord.domain.entry import EntryId
from mirrord.domain.linking import Path, walk
from mirrord.domain.meaning import Site, plain
from mirrord.domain.place import INDEX, name_key

Whereto = Callable[[str], str | None]

_BY_PATH = ("markdown", "image")
_SUFFIX = ".md"
_NO_WIKILINK = re.compile(r"[\[\]|#\n\\]|^\s|\s$")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")


def respelt(link: Link, entry: EntryId, before: Site, after: Site) -> str | None:
    """
    A target that means *entry* on the page as it is after, which the link means on the page as it was before.

    None: the one it has, also where nothing that can be written means the entry. A Markdown link to the very file
    stays one: other programs follow it too.
    """
    new = after.names.files.get(entry)
    if new is None or _holds(link, entry, before, after):
        return None
    if link.kind in _BY_PATH:
        options = _paths(link.target, before.names.files[entry], new, before, after)
    else:
        options = (one for one in _ends(link.target, before.names.files[entry], new, after) if _is_wikilink(one))
    return next((one for one in options if one != link.target and after.meaning(link.kind, one) == entry), None)


def rebased(link: Link, before: Site, after: Site, whereto: Whereto) -> str | None:
    """A Markdown link's target that leads on to a file that is no entry; None: the one it has, or there is no file."""
    here = walk(before.directory, link.target)
    if link.kind not in _BY_PATH or link.target.startswith("/") or not here:
        return None
    new = whereto("/".join(here))
    if new is None or walk(after.directory, link.target) == tuple(new.split("/")):
        return None
    return _relative(after.directory, new)


def _holds(link: Link, entry: EntryId, before: Site, after: Site) -> bool:
    """Whether the link means the same as it stands, and leads to the file if it did."""
    if after.meaning(link.kind, link.target) != entry:
        return False
    if link.kind not in _BY_PATH:
        return True
    led = [file == before.names.files[entry] for file in _landings(link.target, before)]
    leads = [file == after.names.files[entry] for file in _landings(link.target, after)]
    return not any(led) or leads[led.index(True)]


def _landings(target: str, site: Site) -> list[str | None]:
    """The files that *target* leads to for programs that know nothing of titles: from the page, from the root."""
    starts: list[Path] = [()] if target.startswith("/") else [site.directory, ()]
    found = (walk(start, target) for start in starts)
    return ["/".join(steps) if steps is not None else None for steps in found]


def _paths(target: str, old: str, new: str, before: Site, after: Site) -> Iterator[str]:
    """Spellings of a Markdown link's path, those in the style of *target* first."""
    path = new if _has_ending(target) or new == plain(new) else plain(new)
    if target.endswith("/") and not path.endswith(_SUFFIX):
        path += "/"
    relative = _relative(after.directory, path)
    if target.startswith("./") and not relative.startswith("../"):
        relative = "./" + relative.removeprefix("./")
    if target.startswith("/"):
        yield "/" + path
    elif _is_from_root(target, old, before) and not _SCHEME.match(path):
        yield path
    yield from (relative, "/" + path)


def _has_ending(target: str) -> bool:
    return target.lower().endswith(_SUFFIX)


def _is_from_root(target: str, old: str, before: Site) -> bool:
    """Whether *target* is the whole path, with nothing in front, on a page that is elsewhere."""
    here, root = (walk(start, target) for start in (before.directory, ()))
    return before.directory != () and _same(root, old) and not _same(here, old)


def _same(steps: Path | None, file: str) -> bool:
    return steps is not None and name_key(plain("/".join(steps))) == name_key(plain(file))


def _relative(directory: Path, path: str) -> str:
    steps = path.split("/")
    common = 0
    while common < min(len(directory), len(steps) - 1) and directory[common] == steps[common]:
        common += 1
    if steps[common:] == [""]:  # the page's own directory
        common -= 1
    found = "/".join([".."] * (len(directory) - common) + steps[common:])
    return "./" + found if _SCHEME.match(found) else found


def _ends(target: str, old: str, new: str, after: Site) -> Iterator[str]:
    """Spellings of a wikilink's target: as many steps of the path as it had, then more."""
    parts = target.strip().split("/")
    named = [part for part in parts if part not in ("", ".", "..")]
    steps = plain(new).split("/")
    if name_key(named[-1].removesuffix(_SUFFIX)) == INDEX and new.endswith(f"/{INDEX}{_SUFFIX}"):
        steps.append(INDEX)
    if _has_ending(target.strip()) and new.endswith(_SUFFIX):
        steps[-1] += _SUFFIX
    if parts[0] in (".", ".."):
        relative = _relative(after.directory, "/".join(steps))
        yield relative if relative.startswith("../") else "./" + relative.removeprefix("./")
    elif parts[0] == "":
        yield "/" + "/".join(steps)
    elif len(named) > 1 and _same(tuple(named), old):
        yield "/".join(steps)
    for count in range(min(len(named), len(steps)), len(steps) + 1):
        yield "/".join(steps[-count:])
    yield "/" + "/".join(steps)


def _is_wikilink(target: str) -> bool:
    """Whether a wikilink can hold it."""
    return not _NO_WIKILINK.search(target)
