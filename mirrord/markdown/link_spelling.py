"""How a link is spelled that is to mean an entry, in the style it had."""

import re
from collections.abc import Callable, Iterator
from dataclasses import replace

from mirrord.domain.dialect import DayFormats, Dialect
from mirrord.domain.entry import EntryId
from mirrord.domain.link_meaning import Path, Site, follow_path, wikilink_path
from mirrord.domain.place import INDEX, name_key
from mirrord.markdown.logseq_names import page_name_of
from mirrord.markdown.page_links import Link

NewPathOf = Callable[[str], str | None]

_BY_PATH = ("markdown", "image")
_SUFFIX = ".md"
_NO_WIKILINK = re.compile(r"[\[\]|#\n\\]|^\s|\s$")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")


def respell_target(link: Link, entry: EntryId, before: Site, after: Site, goal: EntryId | None = None) -> str | None:
    """
    A new target for a link that meant *entry* on the page *before*, and means *goal* on the page *after*.

    goal: None: the same entry. Result None: keep the old target, because it still fits or no target means the goal. A
    Markdown link to the exact file stays one, since other programs follow it too.
    """
    goal = goal or entry
    new = after.names.files.get(goal)
    is_same = goal == entry or not link.target.strip()
    if new is None or (is_same and _is_still_valid(link, (entry, goal), before, after)):
        return None
    options = _possible_targets(link, before.names.files[entry], new, before, after)
    return next(
        (
            option
            for option in options
            if not (is_same and option == link.target) and after.entry_of_link(link.kind, option) == goal
        ),
        None,
    )


def _possible_targets(link: Link, old: str, new: str, before: Site, after: Site) -> Iterator[str]:
    """Possible targets of a link to the file *new*; those in the style of the link to *old* first."""
    if not link.target.strip():  # to the page itself
        link = replace(
            link, target=old.rpartition("/")[2] if link.kind in _BY_PATH else wikilink_path(old).rpartition("/")[2]
        )
    if link.kind in _BY_PATH:
        return _path_options(link.target, old, new, before, after)
    return filter(_is_wikilink, _wikilink_options(link.target, old, new, after))


def spell_wikilink(file: str, title: str, goal: EntryId, site: Site) -> str:
    """A wikilink on a page to the page *goal* at *file*, as short as it can be, which shows *title*."""
    steps = wikilink_path(file).split("/")
    options = ("/".join(steps[-count:]) for count in range(1, len(steps) + 1))
    target = next(
        (option for option in options if site.entry_of_link("wikilink", option) == goal), f"/{'/'.join(steps)}"
    )
    label = " ".join(re.sub(r"[\[\]|\n]", " ", title).split())
    return f"[[{target}]]" if target == title or target.endswith(f"/{title}") else f"[[{target}|{label}]]"


def rebase_target(link: Link, before: Site, after: Site, whereto: NewPathOf) -> str | None:
    """The new target of a Markdown link to a file that is no entry; None: keep the old one, or there is no file."""
    old_path = follow_path(before.directory, link.target)
    if link.kind not in _BY_PATH or link.target.startswith("/") or not old_path:
        return None
    new = whereto("/".join(old_path))
    if new is None or follow_path(after.directory, link.target) == tuple(new.split("/")):
        return None
    return relative_path(after.directory, new)


def _is_still_valid(link: Link, entries: tuple[EntryId, EntryId], before: Site, after: Site) -> bool:
    """Whether the unchanged link means the second entry, and still leads to a file if it led to that of the first."""
    entry, goal = entries
    if after.entry_of_link(link.kind, link.target) != goal:
        return False
    if link.kind not in _BY_PATH:
        return True
    led_before = [file == before.names.files[entry] for file in _files_of_target(link.target, before)]
    leads_after = [file == after.names.files[goal] for file in _files_of_target(link.target, after)]
    return not any(led_before) or leads_after[led_before.index(True)]


def _files_of_target(target: str, site: Site) -> list[str | None]:
    """The files that *target* leads to in programs without titles: from the page, and from the root."""
    starts: list[Path] = [()] if target.startswith("/") else [site.directory, ()]
    paths = (follow_path(start, target) for start in starts)
    return ["/".join(steps) if steps is not None else None for steps in paths]


def _path_options(target: str, old: str, new: str, before: Site, after: Site) -> Iterator[str]:
    """Possible paths of a Markdown link, those in the style of *target* first."""
    path = new if _has_ending(target) or new == wikilink_path(new) else wikilink_path(new)
    if target.endswith("/") and not path.endswith(_SUFFIX):
        path += "/"
    relative = relative_path(after.directory, path)
    if target.startswith("./") and not relative.startswith("../"):
        relative = "./" + relative.removeprefix("./")
    if target.startswith("/"):
        yield "/" + path
    elif _is_from_root(target, old, before) and not _SCHEME.match(path):
        yield path
    elif after.names.dialect is Dialect.OBSIDIAN and not _is_same_file(follow_path(before.directory, target), old):
        yield from _ends_of(path, len(_steps_of(target)))
    yield from (relative, "/" + path)


def _ends_of(path: str, count: int) -> Iterator[str]:
    """The ends of *path* that a link without a scheme can be, from those with *count* steps on."""
    steps = path.rstrip("/").split("/")
    ends = (path.split("/", len(steps) - length)[-1] for length in range(min(count, len(steps)), len(steps) + 1))
    return (end for end in ends if not _SCHEME.match(end))


def _steps_of(target: str) -> list[str]:
    return [part for part in target.strip().split("/") if part not in ("", ".", "..")]


def _has_ending(target: str) -> bool:
    return target.lower().endswith(_SUFFIX)


def _is_from_root(target: str, old: str, before: Site) -> bool:
    """Whether *target* is the path from the root, without a slash in front, on a page in another directory."""
    path_from_page, path_from_root = (follow_path(start, target) for start in (before.directory, ()))
    return before.directory != () and _is_same_file(path_from_root, old) and not _is_same_file(path_from_page, old)


def _is_same_file(steps: Path | None, file: str) -> bool:
    return steps is not None and name_key(wikilink_path("/".join(steps))) == name_key(wikilink_path(file))


def relative_path(directory: Path, path: str) -> str:
    """The target of a Markdown link to the file *path* in a page of *directory*."""
    steps = path.split("/")
    common = 0
    while common < min(len(directory), len(steps) - 1) and directory[common] == steps[common]:
        common += 1
    if steps[common:] == [""]:  # the page's own directory
        common -= 1
    relative = "/".join([".."] * (len(directory) - common) + steps[common:])
    return "./" + relative if _SCHEME.match(relative) else relative


def _wikilink_options(target: str, old: str, new: str, after: Site) -> Iterator[str]:
    """Possible targets of a wikilink: with as many steps of the path as before, then with more."""
    if after.names.dialect is Dialect.LOGSEQ:
        yield from _page_name_options(target, old, new, after.names.days)
    parts, names = target.strip().split("/"), _steps_of(target)
    steps = wikilink_path(new).split("/")
    if name_key(names[-1].removesuffix(_SUFFIX)) == INDEX and new.endswith(f"/{INDEX}{_SUFFIX}"):
        steps.append(INDEX)
    if _has_ending(target.strip()) and new.endswith(_SUFFIX):
        steps[-1] += _SUFFIX
    if parts[0] in (".", ".."):
        relative = relative_path(after.directory, "/".join(steps))
        yield relative if relative.startswith("../") else "./" + relative.removeprefix("./")
    elif parts[0] == "":
        yield "/" + "/".join(steps)
    elif len(names) > 1 and _is_same_file(tuple(names), old):
        yield "/".join(steps)
    for count in range(min(len(names), len(steps)), len(steps) + 1):
        yield "/".join(steps[-count:])
    yield "/" + "/".join(steps)


def _page_name_options(target: str, old: str, new: str, days: DayFormats) -> Iterator[str]:
    """The name that Logseq gives the file *new*, if *target* is that of *old*, or the name of its file."""
    old_stem, new_stem = (wikilink_path(file).rpartition("/")[2] for file in (old, new))
    if name_key(target.strip()) in (name_key(page_name_of(old_stem, days)), name_key(old_stem)):
        yield page_name_of(new_stem, days)


def _is_wikilink(target: str) -> bool:
    """Whether a wikilink can hold *target*."""
    return not _NO_WIKILINK.search(target)
