"""Moves of a change set that links of its other pages follow: one without the other leaves links that lead nowhere."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from mirrord.commands.core.session import Session
from mirrord.mirror.draft.draft_changes import ChangeSort, DraftChange
from mirrord.mirror.read.page_catalogue import Snapshot
from mirrord.mirror.tree.tree_layout import SUFFIX

Followed = Mapping[str, dict[str, list[str]]]


@dataclass(frozen=True, slots=True)
class _Tree:
    """The pages of a tree, and where links lead there."""

    session: Session
    snapshot: Snapshot

    def links_of(self, path: str) -> tuple[tuple[str, str], ...]:
        return self.session.linkage.links_at(self.snapshot, path)

    def resolve_at(self, path: str, links: Sequence[tuple[str, str]]) -> list[str | None]:
        return self.session.linkage.resolve_at(self.snapshot, path, links)


def find_followed(session: Session, draft: Session, changes: Sequence[DraftChange]) -> Mapping[str, Followed]:
    """
    By the path of a changed page, and that of a moved one: links of the page that lead nowhere without both.

    new: in its text of the draft, where the move is left out. old: in its text of the tree, where the move is applied.
    """
    moves = {change.path: change.source for change in changes if change.sort is ChangeSort.MOVED and change.source}
    if not moves:
        return {}
    before, after = (_Tree(each.whole, each.whole.catalogue.snapshot()) for each in (session, draft))
    followed = {
        change.path: _followed_by(change, moves, before, after) for change in changes if change.path.endswith(SUFFIX)
    }
    return {path: links for path, links in followed.items() if links}


def _followed_by(change: DraftChange, moves: Mapping[str, str], before: _Tree, after: _Tree) -> Followed:
    followed: dict[str, dict[str, list[str]]] = defaultdict(lambda: {"new": [], "old": []})
    if change.digest is not None:
        links = after.links_of(change.path)
        targets = zip(links, after.resolve_at(change.path, links), before.resolve_at(change.path, links), strict=True)
        for (_, written), target, target_before in targets:
            if target is not None and target != change.path and target_before != moves.get(target, target_before):
                followed[target]["new"].append(written)
    if change.source is not None:
        path_after = {source: path for path, source in moves.items()}
        links = before.links_of(change.source)
        targets = zip(
            links, before.resolve_at(change.source, links), after.resolve_at(change.source, links), strict=True
        )
        for (_, written), target, target_after in targets:
            moved = path_after.get(target or "")
            if moved is not None and moved != change.path and target_after != moved:
                followed[moved]["old"].append(written)
    return dict(followed)
