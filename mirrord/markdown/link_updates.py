"""Update the links of a page after pages moved, in the spelling each had; no other byte changes."""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from urllib.parse import quote

from mirrord.domain.entry import EntryId
from mirrord.domain.link_meaning import Path, Site, follow_path, wikilink_path
from mirrord.domain.place import INDEX, name_key
from mirrord.markdown.frontmatter.page_text import PageText
from mirrord.markdown.page_links import Link, links_of, target_span

NewPathOf = Callable[[str], str | None]

_BY_PATH = ("markdown", "image")
_SUFFIX = ".md"
_NO_WIKILINK = re.compile(r"[\[\]|#\n\\]|^\s|\s$")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")


def respell_target(link: Link, entry: EntryId, before: Site, after: Site) -> str | None:
    """
    A new target for a link that meant *entry* on the page *before*, and means it on the page *after*.

    None: keep the old target, because it still fits or no target means the entry. A Markdown link to the exact file
    stays one, since other programs follow it too.
    """
    new = after.names.files.get(entry)
    if new is None or _is_still_valid(link, entry, before, after):
        return None
    if link.kind in _BY_PATH:
        options = _path_options(link.target, before.names.files[entry], new, before, after)
    else:
        options = (
            option
            for option in _wikilink_options(link.target, before.names.files[entry], new, after)
            if _is_wikilink(option)
        )
    return next(
        (option for option in options if option != link.target and after.entry_of_link(link.kind, option) == entry),
        None,
    )


def rebase_target(link: Link, before: Site, after: Site, whereto: NewPathOf) -> str | None:
    """The new target of a Markdown link to a file that is no entry; None: keep the old one, or there is no file."""
    old_path = follow_path(before.directory, link.target)
    if link.kind not in _BY_PATH or link.target.startswith("/") or not old_path:
        return None
    new = whereto("/".join(old_path))
    if new is None or follow_path(after.directory, link.target) == tuple(new.split("/")):
        return None
    return _relative_path(after.directory, new)


def _is_still_valid(link: Link, entry: EntryId, before: Site, after: Site) -> bool:
    """Whether the unchanged link keeps its meaning, and still leads to the file if it did before."""
    if after.entry_of_link(link.kind, link.target) != entry:
        return False
    if link.kind not in _BY_PATH:
        return True
    led_before = [file == before.names.files[entry] for file in _files_of_target(link.target, before)]
    leads_after = [file == after.names.files[entry] for file in _files_of_target(link.target, after)]
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
    relative = _relative_path(after.directory, path)
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
    """Whether *target* is the path from the root, without a slash in front, on a page in another directory."""
    path_from_page, path_from_root = (follow_path(start, target) for start in (before.directory, ()))
    return before.directory != () and _is_same_file(path_from_root, old) and not _is_same_file(path_from_page, old)


def _is_same_file(steps: Path | None, file: str) -> bool:
    return steps is not None and name_key(wikilink_path("/".join(steps))) == name_key(wikilink_path(file))


def _relative_path(directory: Path, path: str) -> str:
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
    parts = target.strip().split("/")
    names = [part for part in parts if part not in ("", ".", "..")]
    steps = wikilink_path(new).split("/")
    if name_key(names[-1].removesuffix(_SUFFIX)) == INDEX and new.endswith(f"/{INDEX}{_SUFFIX}"):
        steps.append(INDEX)
    if _has_ending(target.strip()) and new.endswith(_SUFFIX):
        steps[-1] += _SUFFIX
    if parts[0] in (".", ".."):
        relative = _relative_path(after.directory, "/".join(steps))
        yield relative if relative.startswith("../") else "./" + relative.removeprefix("./")
    elif parts[0] == "":
        yield "/" + "/".join(steps)
    elif len(names) > 1 and _is_same_file(tuple(names), old):
        yield "/".join(steps)
    for count in range(min(len(names), len(steps)), len(steps) + 1):
        yield "/".join(steps[-count:])
    yield "/" + "/".join(steps)


def _is_wikilink(target: str) -> bool:
    """Whether a wikilink can hold *target*."""
    return not _NO_WIKILINK.search(target)


_NOT_ASCII = re.compile(r"%[89A-Fa-f][0-9A-Fa-f]")
_ESCAPED_IN_ANGLES = re.compile(r"[\x00-\x1f\x7f%<>\\#?|]")
_ESCAPED_BARE = re.compile(r"[\x00-\x20\x7f%<>\\#?|()]")


@dataclass(frozen=True, slots=True)
class RelinkedPage:
    """A page, and the number of its rewritten links."""

    page: PageText
    count: int


@dataclass(frozen=True, slots=True)
class _Edit:
    """number: of the link in the page. target: its new target. written: the new text between start and end."""

    number: int
    target: str
    start: int
    end: int
    written: str


def _no_other_files(path: str) -> None:
    """The default of whereto: every file is an entry."""


def relink_page(page: PageText, before: Site, after: Site, whereto: NewPathOf = _no_other_files) -> RelinkedPage:
    """
    *page*, which was in *before* and is in *after*, with links that keep their meaning.

    whereto: the new path of a file that is no entry, by its old path; None: there is no such file.

    A link without a valid spelling (a wikilink to a name with `#`, or one whose target would end a quoted YAML
    string) stays unchanged, and so do links without a meaning.
    """
    links = links_of(page)
    edits = [
        edit
        for number, link in enumerate(links)
        if (edit := _edit_link(page.text, number, link, before, after, whereto))
    ]
    if edits and not _is_clean(page, links, edits):
        edits = _select_harmless(page, links, edits)
    return RelinkedPage(PageText(_apply_edits(page.text, edits)) if edits else page, len(edits))


def _edit_link(text: str, number: int, link: Link, before: Site, after: Site, whereto: NewPathOf) -> _Edit | None:
    if not link.target.strip():
        return None
    entry = before.entry_of_link(link.kind, link.target)
    moved = before.directory != after.directory
    if entry is not None:
        target = respell_target(link, entry, before, after)
    else:
        target = rebase_target(link, before, after, whereto) if moved else None
    if target is None:
        return None
    start, end = target_span(text, link)
    is_wikilink = link.kind in ("wikilink", "embed")
    return _Edit(number, target, start, end, target if is_wikilink else _write_destination(text[start:end], target))


def _write_destination(old: str, target: str) -> str:
    """The destination of a Markdown link in the style of *old*, with its heading."""
    angled = old.startswith("<")
    path, mark, heading = (old[1:-1] if angled else old).partition("#")
    special = _ESCAPED_IN_ANGLES if angled and "%20" not in path else _ESCAPED_BARE
    written = special.sub(lambda match: f"%{ord(match.group()):02X}", target)
    if ";" in written:
        written = written.replace("&", "%26")  # would be an entity
    if _NOT_ASCII.search(path):
        written = quote(written, safe="".join(map(chr, range(128))))
    return f"<{written}{mark}{heading}>" if angled else written + mark + heading


def _apply_edits(text: str, edits: Sequence[_Edit]) -> str:
    pieces, at = [], 0
    for edit in sorted(edits, key=lambda edit: edit.start):  # a picture precedes the target of the link around it
        pieces += [text[at : edit.start], edit.written]
        at = edit.end
    return "".join([*pieces, text[at:]])


def _is_clean(page: PageText, links: Sequence[Link], edits: Sequence[_Edit]) -> bool:
    """Whether the edited page has the same links except for these targets, and no newly broken front matter."""
    new = PageText(_apply_edits(page.text, edits))
    targets = {edit.number: edit.target for edit in edits}
    expected = [
        (link.kind, targets.get(number, link.target).strip(), link.heading) for number, link in enumerate(links)
    ]
    actual = [(link.kind, link.target.strip(), link.heading) for link in links_of(new)]
    return actual == expected and (new.views.error is None) >= (page.views.error is None)


def _select_harmless(page: PageText, links: Sequence[Link], edits: Sequence[_Edit]) -> list[_Edit]:
    """The harmless ones of *edits*, found by bisection: a few harmful ones among many take few readings."""
    accepted: list[_Edit] = []
    batches = [edits]
    while batches:
        batch = batches.pop()
        if _is_clean(page, links, [*accepted, *batch]):
            accepted += batch
        elif (half := len(batch) // 2) > 0:
            batches += [batch[half:], batch[:half]]
    return accepted
