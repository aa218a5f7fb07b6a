"""Update the links of a page after pages moved, in the spelling each had; no other byte changes."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from urllib.parse import quote

from mirrord.domain.entry import EntryId
from mirrord.domain.link_meaning import Site
from mirrord.markdown.frontmatter.page_text import PageText
from mirrord.markdown.html_links import value_span
from mirrord.markdown.link_spelling import NewPathOf, rebase_target, respell_target
from mirrord.markdown.logseq_tags import is_tag_at, spell_tag
from mirrord.markdown.page_links import Link, links_of, target_span


@dataclass(frozen=True, slots=True)
class LinkGoal:
    """What a link is to mean. heading: as in Link."""

    entry: EntryId
    heading: str | None


GoalOf = Callable[[Link, EntryId], LinkGoal]


def keep_meaning(link: Link, entry: EntryId) -> LinkGoal:
    """Let *link*, which means *entry*, go on meaning it."""
    return LinkGoal(entry, link.heading)


_NOT_ASCII = re.compile(r"%[89A-Fa-f][0-9A-Fa-f]")
_ESCAPED_IN_ANGLES = re.compile(r"[\x00-\x1f\x7f%<>\\#?|]")
_ESCAPED_IN_TAG = re.compile(r"[\x00-\x20\x7f%<>\\#?|()\"'&=`{}]")
_ESCAPED_BARE = re.compile(r"[\x00-\x20\x7f%<>\\#?|()]")


@dataclass(frozen=True, slots=True)
class RelinkedPage:
    """A page, and the number of its rewritten links."""

    page: PageText
    count: int


@dataclass(frozen=True, slots=True)
class _Edit:
    """number: of the link in the page. link: as it will be. written: the new text between start and end."""

    number: int
    link: Link
    start: int
    end: int
    written: str


def _no_other_files(path: str) -> None:
    """The default of whereto: every file is an entry."""


@dataclass(frozen=True, slots=True)
class _Rules:
    """How the links of one page change; the fields are the arguments of relink_page()."""

    before: Site
    after: Site
    whereto: NewPathOf
    goal_of: GoalOf

    def new_link(self, link: Link) -> Link:
        """*link* as it will be."""
        entry = self.before.entry_of_link(link.kind, link.target)
        if entry is None:
            moved = self.before.directory != self.after.directory
            target = (
                rebase_target(link, self.before, self.after, self.whereto) if moved and link.target.strip() else None
            )
            return link if target is None else replace(link, target=target)
        goal = self.goal_of(link, entry)
        target = respell_target(link, entry, self.before, self.after, goal.entry)
        if target is None and self.after.entry_of_link(link.kind, link.target) != goal.entry != entry:
            return link  # nothing can name the goal
        return replace(link, target=link.target if target is None else target, heading=goal.heading)


def relink_page(
    page: PageText,
    before: Site,
    after: Site,
    whereto: NewPathOf = _no_other_files,
    goal_of: GoalOf = keep_meaning,
) -> RelinkedPage:
    """
    *page*, which was in *before* and is in *after*, with links that mean their goals.

    whereto: the new path of a file that is no entry, by its old path; None: there is no such file. goal_of: by default
    links keep their meaning.

    A link without a valid spelling (a wikilink to a name with `#`, or one whose target would end a quoted YAML
    string) stays unchanged, and so do links without a meaning.
    """
    return _rewrite_links(page, _Rules(before, after, whereto, goal_of).new_link)


def retarget_links(
    page: PageText, targets: Mapping[tuple[str, str], str], addresses: re.Pattern[str] | None = None
) -> RelinkedPage:
    """
    *page* with new *targets* of links, by the kind and target that they have; the rest is as for relink_page().

    addresses: of links_of().
    """

    def new_link(link: Link) -> Link:
        return replace(link, target=targets.get((link.kind, link.target), link.target))

    return _rewrite_links(page, new_link, addresses)


def _rewrite_links(
    page: PageText, new_link: Callable[[Link], Link], addresses: re.Pattern[str] | None = None
) -> RelinkedPage:
    links = links_of(page, addresses=addresses)
    edits = [edit for number, link in enumerate(links) if (edit := _edit_link(page.text, number, link, new_link(link)))]
    check = _Check(page, links, addresses)
    if edits and not check.is_clean(edits):
        edits = _select_harmless(check, edits)
    return RelinkedPage(replace(page, text=_apply_edits(page.text, edits)) if edits else page, len(edits))


def _edit_link(text: str, number: int, link: Link, new: Link) -> _Edit | None:
    if (new.target, new.heading) == (link.target, link.heading):
        return None
    start, end = target_span(text, link)
    if value_span(text, link.start, link.end):
        return _Edit(number, new, start, end, _write_value(text[start:end], new))
    if link.kind not in ("wikilink", "embed"):
        return _Edit(number, new, start, end, _write_destination(text[start:end], link, new))
    if is_tag_at(text, link.start):
        return _Edit(number, new, start, end, spell_tag(_with_heading(new.target, new.heading)))
    if new.heading == link.heading:
        return _Edit(number, new, start, end, new.target)
    return _Edit(number, new, start, end + _heading_length(text, end, link), _with_heading(new.target, new.heading))


def _heading_length(text: str, start: int, link: Link) -> int:
    """The length of the heading of a wikilink with its mark, and of blanks before it."""
    if link.heading is None:
        return 0
    return text.index("#", start) + 1 + len(link.heading) - start


def _with_heading(target: str, heading: str | None) -> str:
    return target if heading is None else f"{target}#{heading}"


def _write_destination(old: str, link: Link, new: Link) -> str:
    """The destination of the Markdown link *new* in the style of *old*, that of *link*."""
    angled = old.startswith("<")
    path, mark, heading = (old[1:-1] if angled else old).partition("#")
    if new.target != link.target:
        path = _escape_like(path, new.target, angled=angled)
    if new.heading != link.heading:
        mark, style = ("#", heading or path) if new.heading is not None else ("", "")
        heading = "#".join(_escape_like(style, part, angled=angled) for part in (new.heading or "").split("#"))
    return f"<{path}{mark}{heading}>" if angled else path + mark + heading


def _write_value(old: str, new: Link) -> str:
    """The value of the attribute of a tag for the link *new*, in the style of the value *old*."""
    parts = [new.target, *([] if new.heading is None else new.heading.split("#"))]
    written = [_ESCAPED_IN_TAG.sub(lambda match: f"%{ord(match.group()):02X}", part) for part in parts]
    value = "#".join(written)
    return quote(value, safe="".join(map(chr, range(128)))) if _NOT_ASCII.search(old) else value


def _escape_like(old: str, new: str, *, angled: bool) -> str:
    """A part of a destination in the style of *old*."""
    special = _ESCAPED_IN_ANGLES if angled and "%20" not in old else _ESCAPED_BARE
    written = special.sub(lambda match: f"%{ord(match.group()):02X}", new)
    if ";" in written:
        written = written.replace("&", "%26")  # would be an entity
    return quote(written, safe="".join(map(chr, range(128)))) if _NOT_ASCII.search(old) else written


def _apply_edits(text: str, edits: Sequence[_Edit]) -> str:
    pieces, at = [], 0
    for edit in sorted(edits, key=lambda edit: edit.start):  # a picture precedes the target of the link around it
        pieces += [text[at : edit.start], edit.written]
        at = edit.end
    return "".join([*pieces, text[at:]])


@dataclass(frozen=True, slots=True)
class _Check:
    """Judges edits of *page*, which has *links*. addresses: of links_of()."""

    page: PageText
    links: Sequence[Link]
    addresses: re.Pattern[str] | None

    def is_clean(self, edits: Sequence[_Edit]) -> bool:
        """Whether the edited page has the same links except for these targets, and no newly broken front matter."""
        new = replace(self.page, text=_apply_edits(self.page.text, edits))
        edited = {edit.number: edit.link for edit in edits}
        expected = [_meaning_of(edited.get(number, link)) for number, link in enumerate(self.links)]
        if list(map(_meaning_of, links_of(new, addresses=self.addresses))) != expected:
            return False
        return (new.views.error is None) >= (self.page.views.error is None)


def _meaning_of(link: Link) -> tuple[str, str, str | None]:
    return link.kind, link.target.strip(), link.heading


def _select_harmless(check: _Check, edits: Sequence[_Edit]) -> list[_Edit]:
    """The harmless ones of *edits*, found by bisection: a few harmful ones among many take few readings."""
    accepted: list[_Edit] = []
    batches = [edits]
    while batches:
        batch = batches.pop()
        if check.is_clean([*accepted, *batch]):
            accepted += batch
        elif (half := len(batch) // 2) > 0:
            batches += [batch[half:], batch[:half]]
    return accepted
