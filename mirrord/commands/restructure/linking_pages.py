"""Links that follow a change of names, in all pages: also in those that the scope of a session hides."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import cached_property

from mirrord.commands.core.session import Session
from mirrord.commands.pages import page_writes
from mirrord.commands.restructure.page_changes import LinkEdits, PageEdit, readable_pages
from mirrord.markdown.link_updates import GoalOf
from mirrord.mirror.read.link_index import LinkMoves
from mirrord.mirror.read.name_index import NameChange
from mirrord.mirror.read.page_catalogue import Snapshot

GoalFrom = Callable[[LinkMoves], GoalOf]


@dataclass(frozen=True)
class LinkFollowing:
    """
    The links of a tree after *change*.

    In pages that a scope hides they follow by what they mean in the whole tree, in others by what they mean within the
    scope.
    """

    session: Session
    change: NameChange

    @cached_property
    def snapshot(self) -> Snapshot:
        """The pages before the change."""
        return self.session.catalogue.snapshot()

    @cached_property
    def links(self) -> LinkMoves:
        """The effect of the change on the links in pages that the session shows."""
        return self.session.linkage.plan_moves(self.snapshot, self.change)

    def edits(self, goal_from: GoalFrom, without: Collection[str]) -> LinkEdits:
        """The edits of pages that link to what changes, but not of the pages at *without*."""
        visible_edits, count = _relink_pages(self.session, self.links, self.snapshot, goal_from, without)
        return LinkEdits(visible_edits, self._hidden_edits(goal_from, without), count)

    def _hidden_edits(self, goal_from: GoalFrom, without: Collection[str]) -> Sequence[PageEdit]:
        unlimited = self.session.whole
        if unlimited is self.session:
            return ()
        snapshot = unlimited.catalogue.snapshot()
        edits, _ = _relink_pages(
            unlimited, unlimited.linkage.plan_moves(snapshot, self.change), snapshot, goal_from, without
        )
        return [edit for edit in edits if not self.session.tree.shows(edit.path)]


def _relink_pages(
    session: Session, links: LinkMoves, snapshot: Snapshot, goal_from: GoalFrom, without: Collection[str]
) -> tuple[list[PageEdit], int]:
    edits, count, goal_of = list[PageEdit](), 0, goal_from(links)
    for page in readable_pages(session, snapshot, links.touched, without):
        relinked = links.relink(page.path, page.content, goal_of)
        if relinked.count:
            edits.append(PageEdit(page, page_writes.encode_page(relinked.page.text)))
            count += relinked.count
    return edits, count
