"""The command that merges pages into one: texts, tags, children and attachments move over, and links follow."""

from collections.abc import Sequence
from dataclasses import dataclass

from mirrord.commands.core.command_plan import Plan, command
from mirrord.commands.core.failure import invalid_argument, translating_errors
from mirrord.commands.core.session import Session
from mirrord.commands.pages import page_trash, page_writes
from mirrord.commands.restructure.linking_pages import LinkFollowing
from mirrord.commands.restructure.merge_layout import MergeLayout, lay_out_merge
from mirrord.commands.restructure.page_changes import (
    LinkEdits,
    PageEdit,
    bases_of,
    carry_out_with_events,
    check_size,
    file_moves,
    preview_lines,
    update_memory,
)
from mirrord.domain.approval import ABSENT_DIGEST, MAX_PREVIEW_LINES, Preview
from mirrord.domain.entry import EntryId, digest_of
from mirrord.domain.link_meaning import wikilink_path
from mirrord.markdown.frontmatter.page_text import PageText
from mirrord.markdown.heading_links import HeadingMeaning, PageHeadings, follow_heading
from mirrord.markdown.link_updates import GoalOf, LinkGoal
from mirrord.markdown.page_links import Link
from mirrord.markdown.read.page_outline import sections_of
from mirrord.markdown.write.merged_text import (
    MergedPart,
    PartHeadings,
    added_aliases,
    common_labels,
    merge_texts,
    with_joined_properties,
)
from mirrord.mirror.read.link_index import LinkMoves
from mirrord.mirror.read.name_index import NameChange
from mirrord.mirror.tree.scoped_tree import check_owned, check_writable
from mirrord.mirror.write.change_plan import FileChanges, FileText
from mirrord.mirror.write.journal import Journal
from mirrord.mirror.write.journal_labels import new_key

MAX_MERGED = 50  # pages of one call


@dataclass(frozen=True, slots=True)
class MergedPages:
    """
    A page that took others in.

    merged: trash ids, for restore_page, by the paths of the others. moved: new paths of pages and attachments by the
    old ones. links_rewritten: number of links that changed. warnings: what may mean something else now.
    """

    page_id: str
    path: str
    digest: str
    merged: dict[str, str]
    moved: dict[str, str]
    links_rewritten: int
    warnings: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Merge(Plan[MergedPages]):
    """edit: of *into*. own_count: of changed links in it."""

    into: page_writes.Page
    pages: Sequence[page_writes.Page]
    layout: MergeLayout
    edit: PageEdit
    own_count: int
    linking: LinkEdits
    warnings: tuple[str, ...]

    @property
    def edits(self) -> Sequence[PageEdit]:
        """Of pages by their old paths, as far as the session shows them; that of *into* first."""
        return [self.edit, *self.linking.visible_edits]

    @property
    def links_count(self) -> int:
        """Number of changed links."""
        return self.own_count + self.linking.count

    def preview(self, session: Session) -> Preview:
        paths, moves = [page.path for page in self.pages], self.layout.moves
        facts = {"into": self.into.path, "merged_pages_count": len(paths), "moved_files_count": len(moves)}
        facts |= {"links_rewritten_count": self.links_count, "changed_pages_count": len(self.edits)}
        lines = [f"{path} -> trash" for path in paths] + [f"{path} -> {new}" for path, new in moves.items()]
        bases = bases_of(session, self.edits) | {page.path: page.digest.hex() for page in self.pages}
        bases |= {move.source: move.expected.hex() for move in file_moves(session, moves)}
        bases |= dict.fromkeys(moves.values(), ABSENT_DIGEST)
        sentence = f"{len(paths)} pages would go into {self.into.path}, and then to the trash."
        return Preview(sentence, facts, tuple([*lines, *preview_lines(self.edits)][:MAX_PREVIEW_LINES]), bases)

    def carry_out(self, session: Session, journal: Journal) -> MergedPages:
        removals = [page_trash.removal_of(session, page, new_key()) for page in self.pages]
        moves = file_moves(session, self.layout.moves)
        into = self._text(session, self.edit)
        changes = FileChanges(moves=moves, texts=[into], removals=removals, emptied=self.layout.emptied)
        carry_out_with_events(session, journal, changes, self.linking)
        update_memory(session, self.layout.moves, self.edits, [page.path for page in self.pages])
        return MergedPages(
            str(into.entry),
            into.path,
            digest_of(into.data).hex(),
            {removal.path: removal.key for removal in removals},
            dict(self.layout.moves),
            self.links_count,
            self.warnings,
        )

    def _text(self, session: Session, edit: PageEdit) -> FileText:
        path = self.layout.moves.get(edit.path, edit.path)
        return FileText(path, page_writes.id_of_page(session, edit.page), edit.page.digest, edit.data)


@command("merge_pages")
def merge_pages(session: Session, paths: Sequence[str], into: str) -> Plan[MergedPages]:
    """
    Append the texts of pages to the page *into*, each below a heading, and move the pages to the trash.

    Their tags are added to its own, and their titles to its aliases; the pages and attachments below them move over,
    and links to them go to their headings. Raises Failed, and nothing is changed then.
    """
    target = page_writes.find_page(session, into)
    pages = _pages_to_merge(session, paths, target)
    with translating_errors():
        check_writable(session.tree, target.path)
        check_owned(session.tree, *(page.path for page in pages))
    for page in (target, *pages):
        page_writes.check_unchanged(session, page, None)
        page_writes.check_front_matter(page.content, PageText(""))
    layout = lay_out_merge(session, pages, target)
    with translating_errors():
        check_writable(session.tree, *(path for move in layout.moves.items() for path in move))
        edit, count, linking = _Relinking(session, target, pages, layout).edits()
    labels = common_labels([page.content for page in (target, *pages)])
    warnings = tuple(f"Several of the pages define [{label}], and not alike." for label in labels)
    plan = _Merge(target, pages, layout, edit, count, linking, warnings)
    check_size(len(plan.edits) + len(pages) + len(layout.moves), sum(len(edit.data) for edit in plan.edits))
    return plan


def _pages_to_merge(session: Session, paths: Sequence[str], target: page_writes.Page) -> list[page_writes.Page]:
    pages = {page.path: page for page in (page_writes.find_page(session, path) for path in paths)}
    if target.path in pages:
        raise invalid_argument("INVALID_ARGUMENTS", f"{target.path} cannot go into itself.", "Leave it out of paths.")
    if not pages or len(pages) > MAX_MERGED:
        sentence = f"One call merges 1 to {MAX_MERGED} pages."
        raise invalid_argument("INVALID_ARGUMENTS", sentence, "Name other pages in paths, or make several calls.")
    return list(pages.values())


class _Relinking:
    """The texts of all pages after a merge."""

    def __init__(
        self, session: Session, into: page_writes.Page, pages: Sequence[page_writes.Page], layout: MergeLayout
    ) -> None:
        self._into, self._pages = into, pages
        removed = [page.path for page in pages]
        moves = {into.path: into.path, **layout.moves}
        parts = [_part_of(page, page.content) for page in pages]
        change = NameChange(moves, removed=removed, aliases={into.path: added_aliases(into.content, parts)})
        self._following = LinkFollowing(session, change)
        self._merged, self._part_headings = merge_texts(into.content, parts)

    def edits(self) -> tuple[PageEdit, int, LinkEdits]:
        """The edit of the page which takes the others in, the number of changed links in it, and all other edits."""
        links, goal_of = self._following.links, self._goal_from(self._following.links)
        into = links.relink(self._into.path, self._into.content, goal_of)
        relinked = [links.relink(page.path, page.content, goal_of, into=self._into.path) for page in self._pages]
        parts = [_part_of(page, part.page) for page, part in zip(self._pages, relinked, strict=True)]
        merged = with_joined_properties(merge_texts(into.page, parts)[0], parts)
        edit = PageEdit(self._into, page_writes.encode_rewrite(self._into, merged))
        own_paths = {self._into.path, *(page.path for page in self._pages)}
        count = into.count + sum(part.count for part in relinked)
        return edit, count, self._following.edits(self._goal_from, own_paths)

    def _goal_from(self, links: LinkMoves) -> GoalOf:
        follower = _MergeFollower(links.entry_of(self._into.path), PageHeadings(sections_of(self._merged)))
        for page, headings in zip(self._pages, self._part_headings, strict=True):
            follower.add(links.entry_of(page.path), PageHeadings(sections_of(page.content)), headings)
        return follower.goal_of


def _part_of(page: page_writes.Page, text: PageText) -> MergedPart:
    name = wikilink_path(page.path).rpartition("/")[2]
    title = page.head.title or name
    return MergedPart(title, text, tuple(dict.fromkeys([title, name])))


class _MergeFollower:
    """Lets links to merged pages go to their headings in the page that took them in."""

    def __init__(self, entry: EntryId, headings: PageHeadings) -> None:
        self._entry, self._headings = entry, headings
        self._parts: dict[EntryId, tuple[PageHeadings, PartHeadings]] = {}

    def add(self, entry: EntryId, before: PageHeadings, part: PartHeadings) -> None:
        self._parts[entry] = before, part

    def goal_of(self, link: Link, entry: EntryId) -> LinkGoal:
        if entry not in self._parts:
            return LinkGoal(entry, link.heading)
        before, part = self._parts[entry]
        if link.heading is not None:
            return LinkGoal(self._entry, follow_heading(link, before, self._headings, part.numbers))
        if not link.target.strip():
            return LinkGoal(self._entry, None)
        return LinkGoal(self._entry, self._headings.spell(link, HeadingMeaning((part.heading,))))
