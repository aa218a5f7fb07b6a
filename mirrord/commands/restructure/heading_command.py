"""The command that renames a heading; all links to it follow."""

from collections.abc import Sequence
from dataclasses import dataclass

from mirrord.commands.core.command_plan import Plan, command
from mirrord.commands.core.failure import edit_missed, invalid_argument, translating_errors
from mirrord.commands.core.session import Session
from mirrord.commands.pages import page_writes
from mirrord.commands.restructure.linking_pages import LinkFollowing
from mirrord.commands.restructure.page_changes import (
    NO_LINKS,
    LinkEdits,
    PageEdit,
    bases_of,
    check_size,
    note_new_links,
    preview_lines,
    rewrite_pages,
)
from mirrord.domain.approval import Preview
from mirrord.domain.entry import EntryId, digest_of
from mirrord.markdown.frontmatter.page_text import EditTargetError, PageText
from mirrord.markdown.heading_links import PageHeadings, follow_heading
from mirrord.markdown.link_updates import GoalOf, LinkGoal
from mirrord.markdown.page_links import Link
from mirrord.markdown.read.page_outline import Section, sections_of
from mirrord.markdown.write.heading_edits import with_heading_text
from mirrord.markdown.write.page_edits import section_of
from mirrord.mirror.read.link_index import LinkMoves
from mirrord.mirror.read.name_index import NameChange
from mirrord.mirror.tree.scoped_tree import check_writable
from mirrord.mirror.write.journal import Journal


@dataclass(frozen=True, slots=True)
class RenamedHeading:
    """
    A page with a renamed heading.

    links_rewritten: number of links to the heading. pages: the changed pages, that one included.
    """

    page_id: str
    path: str
    digest: str
    heading: str
    links_rewritten: int
    pages: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _HeadingRename(Plan[RenamedHeading]):
    """edit: of the page of the heading; None: it is called so already. own_count: of changed links in that page."""

    page: page_writes.Page
    old: str
    new: str
    edit: PageEdit | None = None
    own_count: int = 0
    linking: LinkEdits = NO_LINKS

    @property
    def edits(self) -> Sequence[PageEdit]:
        """Of all pages that change, as far as the session shows them; that of the heading first."""
        return [self.edit, *self.linking.visible_edits] if self.edit is not None else []

    @property
    def links_count(self) -> int:
        """Number of changed links."""
        return self.own_count + self.linking.count

    def preview(self, session: Session) -> Preview:
        facts = {"path": self.page.path, "heading": self.old, "to": self.new, "changed_pages_count": len(self.edits)}
        facts |= {"links_rewritten_count": self.links_count}
        sentence = f"The heading {self.old!r} of {self.page.path} would become {self.new!r}."
        return Preview(sentence, facts, preview_lines(self.edits), bases_of(session, self.edits))

    def carry_out(self, session: Session, journal: Journal) -> RenamedHeading:
        if self.edit is not None:
            rewrite_pages(session, journal, [self.edit], self.linking)
            note_new_links(session, self.edits)
        return self._result(session)

    def idle_result(self, session: Session) -> RenamedHeading | None:
        return None if self.edit is not None else self._result(session)

    def _result(self, session: Session) -> RenamedHeading:
        entry = page_writes.id_of_page(session, self.page)
        digest = digest_of(self.edit.data) if self.edit is not None else self.page.digest
        pages = tuple(edit.path for edit in self.edits)
        return RenamedHeading(str(entry), self.page.path, digest.hex(), self.new, self.links_count, pages)


@command("rename_heading")
def rename_heading(session: Session, path: str, heading: str, to: str) -> Plan[RenamedHeading]:
    """
    Give a heading another text; links to it follow in all pages, in the spelling each had.

    heading: as in read_page. Raises Failed, HEADING_AMBIGUOUS, with the lines of the headings that it may mean.
    """
    page = page_writes.find_page(session, path)
    with translating_errors():
        check_writable(session.tree, page.path)
    page_writes.check_unchanged(session, page, None)
    try:
        section = section_of(page.content, heading)
    except EditTargetError as error:
        raise edit_missed(error) from error
    title = " ".join(to.split())
    renamed = with_heading_text(page.content, section, title) if title else None
    if renamed is None:
        raise invalid_argument("INVALID_HEADING", f"{to!r} cannot be a heading.", "Give one line of text, without #.")
    if title == section.title:
        return _HeadingRename(page, section.title, title)
    edit, count, linking = _follow_links(session, page, renamed)
    plan = _HeadingRename(page, section.title, title, edit, count, linking)
    check_size(len(plan.edits), sum(len(edit.data) for edit in plan.edits))
    return plan


def _follow_links(session: Session, page: page_writes.Page, renamed: PageText) -> tuple[PageEdit, int, LinkEdits]:
    """The new text of *page*, with the number of changed links in it, and the pages that link to its headings."""
    following = LinkFollowing(session, NameChange({page.path: page.path}))

    def goal_from(links: LinkMoves) -> GoalOf:
        return _HeadingFollower(links.entry_of(page.path), sections_of(page.content), sections_of(renamed)).goal_of

    relinked = following.links.relink(page.path, renamed, goal_from(following.links))
    edit = PageEdit(page, page_writes.encode_rewrite(page, relinked.page))
    return edit, relinked.count, following.edits(goal_from, {page.path})


class _HeadingFollower:
    """Lets links to the headings of one page follow them, whose number stays."""

    def __init__(self, entry: EntryId, before: Sequence[Section], after: Sequence[Section]) -> None:
        self._entry = entry
        self._before, self._after = PageHeadings(before), PageHeadings(after)
        self._numbers = {number: number for number in range(len(before))}

    def goal_of(self, link: Link, entry: EntryId) -> LinkGoal:
        if entry != self._entry:
            return LinkGoal(entry, link.heading)
        return LinkGoal(entry, follow_heading(link, self._before, self._after, self._numbers))
