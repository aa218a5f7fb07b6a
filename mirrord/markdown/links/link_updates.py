"""Update the links of a page after pages moved; no other byte changes."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import quote

from mirrord.domain.link_meaning import Site
from mirrord.markdown.frontmatter.page_text import PageText
from mirrord.markdown.links.link_spelling import NewPathOf, rebase_target, respell_target
from mirrord.markdown.links.page_links import Link, links_of, target_span

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
