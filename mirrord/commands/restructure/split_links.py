"""The texts of all pages after sections became pages of their own: what each link means then."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from mirrord.commands.core.session import Session
from mirrord.commands.pages import page_writes
from mirrord.commands.restructure.linking_pages import LinkFollowing
from mirrord.commands.restructure.page_changes import LinkEdits, PageEdit
from mirrord.domain.entry import EntryId
from mirrord.markdown.frontmatter.page_text import PageText
from mirrord.markdown.heading_links import PageHeadings, follow_heading
from mirrord.markdown.link_updates import GoalOf, LinkGoal
from mirrord.markdown.page_links import Link
from mirrord.markdown.read.page_outline import sections_of
from mirrord.markdown.write.split_text import SplitText, with_marks_replaced
from mirrord.mirror.read.link_index import LinkMoves
from mirrord.mirror.read.name_index import NameChange, new_entry

_BLOCK_MARK = "^"


@dataclass(frozen=True, slots=True)
class NewPage:
    """A page made of a section. entry: its id in Postgres."""

    path: str
    title: str
    entry: EntryId


@dataclass(frozen=True, slots=True)
class RelinkedSplit:
    """
    edit: of the split page. new_texts: of the new pages, without front matter. own_count: of changed links in these.
    """

    edit: PageEdit
    new_texts: Sequence[PageText]
    own_count: int
    linking: LinkEdits


def relink_split(
    session: Session,
    page: page_writes.Page,
    split: SplitText,
    new_pages: Sequence[NewPage],
    moves: Mapping[str, str],
) -> RelinkedSplit:
    """The texts after the split. moves: of leaves that become pages of folders."""
    change = NameChange({page.path: page.path, **moves}, created={new.path: new.title for new in new_pages})
    following = LinkFollowing(session, change)
    links = following.links
    follower = _SplitFollower(links.entry_of(page.path), page, split)
    relinked = links.relink(page.path, split.remaining, follower.goal_from(None))
    marks = [links.link_to_new(page.path, new.title, (new.path, new_entry(at))) for at, new in enumerate(new_pages)]
    edit = PageEdit(page, page_writes.encode_rewrite(page, with_marks_replaced(relinked.page, marks)))
    new_texts = [
        links.relink_new(page.path, part.page, follower.goal_from(at), (new.path, new_entry(at)))
        for at, (new, part) in enumerate(zip(new_pages, split.parts, strict=True))
    ]

    def goal_from(links: LinkMoves) -> GoalOf:
        return _SplitFollower(links.entry_of(page.path), page, split).goal_of

    count = relinked.count + sum(text.count for text in new_texts)
    return RelinkedSplit(edit, [text.page for text in new_texts], count, following.edits(goal_from, {page.path}))


class _SplitFollower:
    """Lets links to headings of a page follow them into new pages."""

    def __init__(self, entry: EntryId, page: page_writes.Page, split: SplitText) -> None:
        self._entry, self._split = entry, split
        self._before = PageHeadings(sections_of(page.content))
        self._remaining = PageHeadings(sections_of(split.remaining))
        self._parts = [PageHeadings(sections_of(part.page)) for part in split.parts]

    def goal_from(self, at: int | None) -> GoalOf:
        """The goals of links in the new page with this number; None: in the page that was split."""
        return lambda link, entry: self._goal_of_link(link, entry, at)

    def goal_of(self, link: Link, entry: EntryId) -> LinkGoal:
        """The goals of links in other pages."""
        return self._goal_of_link(link, entry, None)

    def _goal_of_link(self, link: Link, entry: EntryId, at: int | None) -> LinkGoal:
        if entry != self._entry or link.heading is None:
            return LinkGoal(entry, link.heading)
        number = self._part_of(link, link.heading)
        if number is None:
            return LinkGoal(entry, follow_heading(link, self._before, self._remaining, self._split.numbers))
        numbers = self._split.parts[number].numbers
        heading = follow_heading(link, self._before, self._parts[number], numbers)
        meaning = self._before.meaning_of(link, link.heading)
        is_top = meaning is not None and numbers[meaning.number] == 0
        return LinkGoal(new_entry(number), None if is_top and number != at else heading)

    def _part_of(self, link: Link, heading: str) -> int | None:
        """The number of the new page that has the heading or block of a link; None: the page that was split."""
        if heading.startswith(_BLOCK_MARK):
            return next((at for at, part in enumerate(self._split.parts) if heading[1:] in part.block_ids), None)
        meaning = self._before.meaning_of(link, heading)
        if meaning is None:
            return None
        return next((at for at, part in enumerate(self._split.parts) if meaning.number in part.numbers), None)
