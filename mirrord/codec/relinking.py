"""The links of a page after pages moved: what meant something means the same, and no other byte changes."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import quote

from mirrord.codec.links import Link, links_of, target_span
from mirrord.codec.respelling import Whereto, rebased, respelt
from mirrord.codec.views import views_of
from mirrord.domain.meaning import Site

_NOT_ASCII = re.compile(r"%[89A-Fa-f][0-9A-Fa-f]")
_SPECIAL = re.compile(r"[\x00-\x1f\x7f%<>\\#?|]")
_SPECIAL_BARE = re.compile(r"[\x00-\x20\x7f%<>\\#?|()]")


@dataclass(frozen=True, slots=True)
class Relinked:
    """A page's text and how many of its links were written anew."""

    text: str
    count: int


@dataclass(frozen=True, slots=True)
class _Edit:
    """number: of the link in the page. target: what it asks for then. written: what stands between start and end."""

    number: int
    target: str
    start: int
    end: int
    written: str


def _nowhere(path: str) -> None:
    """There are no files but entries."""


def relinked(text: str, before: Site, after: Site, whereto: Whereto = _nowhere) -> Relinked:
    """
    *text*, a page that was in *before* and is in *after*, with links that mean there what they meant.

    whereto: where a file that is no entry is afterwards, by its path before; None: there is none.

    A link that no spelling keeps (a wikilink to a name with `#`, one in quoted YAML that would end it) stays as it is,
    and so do links that meant nothing.
    """
    links = links_of(text)
    edits = [edit for number, link in enumerate(links) if (edit := _edit(text, number, link, before, after, whereto))]
    if edits and not _is_clean(text, links, edits):
        edits = _harmless(text, links, edits)
    return Relinked(_applied(text, edits), len(edits))


def _edit(text: str, number: int, link: Link, before: Site, after: Site, whereto: Whereto) -> _Edit | None:
    if not link.target.strip():
        return None
    entry = before.meaning(link.kind, link.target)
    moved = before.directory != after.directory
    if entry is not None:
        target = respelt(link, entry, before, after)
    else:
        target = rebased(link, before, after, whereto) if moved else None
    if target is None:
        return None
    start, end = target_span(text, link)
    is_wikilink = link.kind in ("wikilink", "embed")
    return _Edit(number, target, start, end, target if is_wikilink else _destination(text[start:end], target))


def _destination(old: str, target: str) -> str:
    """A Markdown link's destination in the style of *old*, with its heading."""
    angled = old.startswith("<")
    path, mark, heading = (old[1:-1] if angled else old).partition("#")
    special = _SPECIAL if angled and "%20" not in path else _SPECIAL_BARE
    written = special.sub(lambda found: f"%{ord(found.group()):02X}", target)
    if ";" in written:
        written = written.replace("&", "%26")  # would be an entity
    if _NOT_ASCII.search(path):
        written = quote(written, safe="".join(map(chr, range(128))))
    return f"<{written}{mark}{heading}>" if angled else written + mark + heading


def _applied(text: str, edits: Sequence[_Edit]) -> str:
    pieces, at = [], 0
    for edit in sorted(edits, key=lambda edit: edit.start):  # a picture stands before the target of the link around it
        pieces += [text[at : edit.start], edit.written]
        at = edit.end
    return "".join([*pieces, text[at:]])


def _is_clean(text: str, links: Sequence[Link], edits: Sequence[_Edit]) -> bool:
    """Whether the page then has the same links but for these targets, and front matter as readable as before."""
    new = _applied(text, edits)
    targets = {edit.number: edit.target for edit in edits}
    wanted = [(link.kind, targets.get(number, link.target).strip(), link.heading) for number, link in enumerate(links)]
    found = [(link.kind, link.target.strip(), link.heading) for link in links_of(new)]
    return found == wanted and (views_of(new).error is None) >= (views_of(text).error is None)


def _harmless(text: str, links: Sequence[Link], edits: Sequence[_Edit]) -> list[_Edit]:
    """Tried by halves: few harmful ones among many take few readings of the page."""
    kept: list[_Edit] = []
    waiting = [edits]
    while waiting:
        some = waiting.pop()
        if _is_clean(text, links, [*kept, *some]):
            kept += some
        elif (half := len(some) // 2) > 0:
            waiting += [some[half:], some[:half]]
    return kept
