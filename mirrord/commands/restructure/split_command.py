"""The command that makes sections of a page pages of their own; links follow."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from mirrord.commands.core import page_paths
from mirrord.commands.core.command_plan import Plan, command
from mirrord.commands.core.failure import edit_missed, invalid_argument, translating_errors
from mirrord.commands.core.session import Session
from mirrord.commands.pages import move_plan, page_writes
from mirrord.commands.pages.page_commands import children_directory
from mirrord.commands.restructure.page_changes import (
    PageEdit,
    bases_of,
    carry_out_with_events,
    check_size,
    file_moves,
    preview_lines,
    update_memory,
)
from mirrord.commands.restructure.split_links import NewPage, RelinkedSplit, relink_split
from mirrord.domain.approval import ABSENT_DIGEST, MAX_PREVIEW_LINES, Preview
from mirrord.domain.entry import EntryId, digest_of
from mirrord.domain.place import clean_name, name_key, unused_name
from mirrord.markdown.frontmatter.page_properties import with_keys
from mirrord.markdown.frontmatter.page_text import EditTargetError, PageText
from mirrord.markdown.heading_links import text_in_links
from mirrord.markdown.read.page_outline import Section, sections_of
from mirrord.markdown.write.page_edits import section_of
from mirrord.markdown.write.split_text import SplitText, split_text
from mirrord.mirror.tree.scoped_tree import check_writable
from mirrord.mirror.tree.tree_layout import page_path, parent_of
from mirrord.mirror.write.change_plan import FileChanges, FileText
from mirrord.mirror.write.journal import Journal


@dataclass(frozen=True, slots=True)
class SplitPage:
    """
    A page whose sections became pages.

    pages: titles of the new pages by their paths. links_rewritten: number of links that changed.
    """

    page_id: str
    path: str
    digest: str
    pages: dict[str, str]
    links_rewritten: int


@dataclass(frozen=True, slots=True)
class _Split(Plan[SplitPage]):
    """
    texts: of the new pages, by path. moves: of leaves that become pages of folders. relinked: all other edits.
    """

    page: page_writes.Page
    new_pages: Sequence[NewPage]
    texts: Mapping[str, tuple[EntryId, bytes]]
    moves: Mapping[str, str]
    relinked: RelinkedSplit

    @property
    def edits(self) -> Sequence[PageEdit]:
        """Of pages by their old paths, as far as the session shows them; that of *page* first."""
        return [self.relinked.edit, *self.relinked.linking.visible_edits]

    @property
    def links_count(self) -> int:
        """Number of changed links."""
        return self.relinked.own_count + self.relinked.linking.count

    def preview(self, session: Session) -> Preview:
        facts = {"path": self.page.path, "new_pages_count": len(self.new_pages)}
        facts |= {"links_rewritten_count": self.links_count, "changed_pages_count": len(self.edits)}
        lines = [f"new {new.path}" for new in self.new_pages]
        lines += [f"{path} -> {new}" for path, new in self.moves.items()]
        bases = bases_of(session, self.edits) | dict.fromkeys((*self.texts, *self.moves.values()), ABSENT_DIGEST)
        sentence = f"{len(self.new_pages)} sections of {self.page.path} would become pages."
        return Preview(sentence, facts, tuple([*lines, *preview_lines(self.edits)][:MAX_PREVIEW_LINES]), bases)

    def carry_out(self, session: Session, journal: Journal) -> SplitPage:
        edit, path = self.relinked.edit, self.moves.get(self.page.path, self.page.path)
        changed = FileText(path, page_writes.id_of_page(session, self.page), self.page.digest, edit.data)
        created = [FileText(path, entry, None, data) for path, (entry, data) in self.texts.items()]
        changes = FileChanges(moves=file_moves(session, self.moves), texts=[changed, *created])
        carry_out_with_events(session, journal, changes, self.relinked.linking)
        update_memory(session, self.moves, self.edits[1:], [])
        session.memory.forget(self.page.path)
        titles = {new.path: new.title for new in self.new_pages}
        return SplitPage(str(changed.entry), path, digest_of(changed.data).hex(), titles, self.links_count)


@command("split_page")
def split_page(
    session: Session,
    path: str,
    heading: str | None = None,
    level: int | None = None,
    parent_path: str | None = None,
) -> Plan[SplitPage]:
    """
    Make the section of *heading*, or all sections of a level, pages of their own; a link stays in the place of each.

    parent_path: page or folder to make them under; None: the folder of the page's file. Links to the sections, and to
    headings in them, follow.
    """
    page = page_writes.find_page(session, path)
    with translating_errors():
        check_writable(session.tree, page.path)
    page_writes.check_unchanged(session, page, None)
    page_writes.check_front_matter(page.content, PageText(""))
    sections = _chosen_sections(page, heading, level)
    with translating_errors():
        split = split_text(page.content, sections)
        new_pages = _new_pages(session, page, split, parent_path)
        check_writable(session.tree, *(new.path for new in new_pages))
        moves = _promotions(session, [new.path for new in new_pages])
        relinked = relink_split(session, page, split, new_pages, moves)
    texts = {
        new.path: (new.entry, page_writes.encode_page(_with_head(new, text).text))
        for new, text in zip(new_pages, relinked.new_texts, strict=True)
    }
    plan = _Split(page, new_pages, texts, moves, relinked)
    check_size(len(plan.edits) + len(texts), sum(len(data) for _, data in texts.values()))
    return plan


def _chosen_sections(page: page_writes.Page, heading: str | None, level: int | None) -> list[Section]:
    if (heading is None) == (level is None):
        raise invalid_argument("INVALID_ARGUMENTS", "split_page takes a heading or a level.", "Give one of them.")
    if heading is not None:
        try:
            return [section_of(page.content, heading)]
        except EditTargetError as error:
            raise edit_missed(error) from error
    sections = [section for section in sections_of(page.content) if section.level == level]
    if not sections:
        raise edit_missed(EditTargetError(f"No heading of {page.path} has the level {level}.", 0, _headings_of(page)))
    return sections


def _headings_of(page: page_writes.Page) -> list[str]:
    return [f"{'#' * section.level} {section.title}" for section in sections_of(page.content)[:30]]


def _new_pages(session: Session, page: page_writes.Page, split: SplitText, parent_path: str | None) -> list[NewPage]:
    directory = parent_of(page.path) if parent_path is None else children_directory(session, parent_path)
    page_paths.check_depth(f"{directory}/")
    used_keys, pages = page_paths.taken_keys(session.tree, directory), list[NewPage]()
    for number, part in enumerate(split.parts):
        fallback = session.new_page_id(f"{directory}/{number}").hex[-8:]
        name = unused_name(clean_name(text_in_links(part.title), fallback), used_keys)
        used_keys.add(name_key(name))
        path = page_path(directory, name)
        page_paths.check_not_ignored(session.tree, path)
        pages.append(NewPage(path, part.title or name, session.new_page_id(path)))
    return pages


def _promotions(session: Session, paths: Sequence[str]) -> dict[str, str]:
    """Leaves above new pages, which become pages of folders."""
    return dict(move_plan.promotion_renames(session.tree, paths[0]))


def _with_head(new: NewPage, text: PageText) -> PageText:
    return with_keys(text, {"id": str(new.entry), "title": new.title})
