"""What a change set would do to the tree as it is now: merged by three ways where both changed, or a conflict."""

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace

from mirrord.commands.core.command_plan import diff_of
from mirrord.commands.core.session import Session
from mirrord.domain.entry import MAX_FILE_BYTES, Digest, Kind
from mirrord.errors import Busy, Damaged
from mirrord.markdown.frontmatter.page_text import decode
from mirrord.merge.edit_merge import merge
from mirrord.mirror.draft import draft_changes
from mirrord.mirror.draft.draft_changes import ChangeSort, DraftChange
from mirrord.mirror.draft.draft_tree import DraftTree
from mirrord.mirror.tree.observed_work import report_work
from mirrord.mirror.tree.tree_layout import SUFFIX, directory_of
from mirrord.mirror.write.change_plan import SETTLED_PERCENT

OPEN_CONFLICT = "has an open conflict"  # how the reason of such a clash begins
_CONFLICT_COPY = re.compile(r" \(conflict \d{4}-\d\d-\d\d \d{6}Z [0-9a-f]{6}\)")


@dataclass(frozen=True, slots=True)
class SettledChange:
    """
    A change that applies.

    current: digest of the tree's file now; None: there is none. data: the new content; None: it stays as it is.
    is_merged: the tree's file changed too.
    """

    change: DraftChange
    current: Digest | None
    data: bytes | None
    is_merged: bool = False


@dataclass(slots=True)
class Settlement:
    """
    A change set on the tree as it is now. clashes: why an entry cannot be applied, by its path in the draft; nothing
    is applied then. unmerged: of those the pages whose texts do not fit only, each with the draft's text.
    """

    settled: list[SettledChange] = field(default_factory=list)
    clashes: dict[str, str] = field(default_factory=dict)
    unmerged: dict[str, SettledChange] = field(default_factory=dict)
    underneath: dict[str, str] = field(default_factory=dict)


class _Clash(Exception):
    """Why a change cannot be applied, as the rest of a sentence after its path. unmerged: as in Settlement."""

    def __init__(self, reason: str, unmerged: SettledChange | None = None) -> None:
        super().__init__(reason)
        self.unmerged = unmerged


@dataclass(frozen=True, slots=True)
class _Sources:
    """
    Places in the tree that the applied changes leave empty, and those that all changes of the draft would.

    names: of the tree's directories that were looked into for conflict pages, as a scope shows them and as they are.
    """

    leaving: frozenset[str]
    left_by_all: frozenset[str]
    names: dict[tuple[bool, str], Sequence[str]] = field(default_factory=dict)

    def clash_at(self, path: str, reason: str) -> _Clash:
        """*reason*, unless a change of the draft that is not accepted would have left *path* empty."""
        if path in self.left_by_all:
            return _Clash("is the place of a page whose move is not accepted; accept both or neither")
        return _Clash(reason)


def settle_changes(session: Session, tree: DraftTree, without: Collection[str] = ()) -> Settlement:
    """
    Compare the draft *tree* with the tree of *session* as it is now. without: paths of changes to pass over.

    Links in pages that a scope hides followed a move; where they clash, those pages are passed over too.
    """
    all_changes = draft_changes.changes_of(tree)
    changes = [change for change in all_changes if change.path not in without]
    sources = _Sources(_sources_of(changes), _sources_of(all_changes))
    settlement = Settlement()
    for index, change in enumerate(changes):
        report_work(index, len(changes), last=SETTLED_PERCENT)
        try:
            settled = _settle(session, tree, change, sources)
        except _Clash as clash:
            if not session.tree.shows(change.path):
                continue
            settlement.clashes[change.path] = str(clash)
            if clash.unmerged is not None:
                settlement.unmerged[change.path] = clash.unmerged
            continue
        if settled is not None:
            settlement.settled.append(settled)
            if settled.is_merged and session.tree.shows(change.path):
                settlement.underneath[change.path] = "changed in the tree too; both changes fit together"
    return settlement


def diff_of_change(tree: DraftTree, change: DraftChange) -> str:
    """The unified diff of a change, from what was copied to the draft; "" for what is no text."""
    old, new = _old_text(tree, change), _text_of(tree, change.path) if change.digest is not None else ""
    return diff_of(change.path, old, new) if old is not None and new is not None else ""


def diff_underneath(session: Session, tree: DraftTree, change: DraftChange) -> str:
    """The unified diff of what the tree's page became since it was copied; "" if it is the same, gone, or no text."""
    claim = change.claim
    if claim is None or claim.digest is None or not session.tree.shows(claim.path):
        return ""
    if tree.lower.digest_now(claim.path) in (None, claim.digest):
        return ""
    base = draft_changes.base_text(tree, claim.digest)
    old = decode_or_none(base) if base is not None else None
    new = decode_or_none(tree.lower.snapshot(claim.path, MAX_FILE_BYTES)[0])
    return diff_of(claim.path, old, new) if old is not None and new is not None else ""


def _sources_of(changes: Iterable[DraftChange]) -> frozenset[str]:
    """The places in the tree that *changes* leave empty."""
    sorts = (ChangeSort.MOVED, ChangeSort.DELETED)
    return frozenset(change.source for change in changes if change.source is not None and change.sort in sorts)


def _settle(session: Session, tree: DraftTree, change: DraftChange, sources: _Sources) -> SettledChange | None:
    """None: the tree is already as the draft wants it."""
    lower = session.tree.whole
    if change.claim is None:
        return _settle_new(tree, change, sources)
    current = lower.digest_now(change.claim.path)
    if change.sort is ChangeSort.MOVED and change.path not in sources.leaving and lower.stat(change.path) is not None:
        raise sources.clash_at(change.path, "was made in the tree meanwhile, where this moves a page to")
    if current is None:
        if change.sort is ChangeSort.DELETED:
            return None
        raise _Clash(_what_became_of(session, change))
    if (copy := _find_conflict_copy(session, change.claim.path, sources)) is not None:
        raise _Clash(f"{OPEN_CONFLICT}, whose other text is in {copy}")
    if change.sort is ChangeSort.DELETED:
        if current != change.claim.digest:
            raise _Clash("was edited in the tree since, and the change set deletes it")
        return SettledChange(change, current, None)
    if not change.has_new_text or current == change.digest:
        unchanged = SettledChange(change, current, None)
        return unchanged if change.sort is ChangeSort.MOVED else None
    data = _read(tree, change.path)
    settled = SettledChange(change, current, data)
    if current == change.claim.digest:
        return settled
    if (merged := _merged(session, tree, change, data)) is None:
        raise _Clash("was changed in the tree since, in the same lines", settled)
    return replace(settled, data=merged, is_merged=True)


def _settle_new(tree: DraftTree, change: DraftChange, sources: _Sources) -> SettledChange | None:
    if change.path not in sources.leaving:
        current = tree.lower.digest_now(change.path) if _is_file(tree, change.path) else None
        if current is not None and current == change.digest:
            return None
        if tree.lower.stat(change.path) is not None:
            raise sources.clash_at(change.path, "was made in the tree meanwhile")
    return SettledChange(change, None, _read(tree, change.path))


def _is_file(tree: DraftTree, path: str) -> bool:
    stat = tree.lower.stat(path)
    return stat is not None and stat.is_file


def _merged(session: Session, tree: DraftTree, change: DraftChange, data: bytes) -> bytes | None:
    """None: both sides changed the same lines."""
    assert change.claim is not None
    assert change.claim.digest is not None
    base = draft_changes.base_text(tree, change.claim.digest)
    if base is None or not change.path.endswith(SUFFIX):
        raise _Clash("was changed in the tree since, and is no page that could be merged")
    try:
        file = decode(session.tree.whole.read(change.claim.path, MAX_FILE_BYTES)[0])
        text = merge(decode(base), file, decode(data))
    except (Busy, Damaged) as error:
        raise _Clash(f"cannot be merged now: {error}") from error
    return text.encode() if text is not None else None


def _what_became_of(session: Session, change: DraftChange) -> str:
    assert change.claim is not None
    assert change.claim.stat is not None
    inode = change.claim.stat.inode
    snapshot = session.catalogue.snapshot()
    renamed = next((path for path, stat in snapshot.pages.items() if stat.inode == inode), None)
    return f"was renamed in the tree since, to {renamed}" if renamed is not None else "was deleted in the tree since"


def _find_conflict_copy(session: Session, path: str, sources: _Sources) -> str | None:
    """The page with the other text of an open conflict of *path*; None: there is none, or the changes remove it."""
    if not path.endswith(SUFFIX):
        return None
    parent, _, stem = directory_of(path, Kind.PAGE).rpartition("/")
    place = session.tree.shows(path), parent
    if place not in sources.names:
        sources.names[place] = (session.tree if place[0] else session.tree.whole).list_names(parent)
    beside = (name for name in sources.names[place] if name.startswith(stem) and _CONFLICT_COPY.match(name, len(stem)))
    copies = (f"{parent}/{name}".lstrip("/") for name in beside)
    return next((copy for copy in copies if copy not in sources.leaving), None)


def _old_text(tree: DraftTree, change: DraftChange) -> str | None:
    claim = change.claim
    if claim is None:
        return ""
    assert claim.digest is not None
    if not change.has_new_text and change.digest is not None:
        return _text_of(tree, change.path)
    base = draft_changes.base_text(tree, claim.digest)
    if base is None and tree.lower.digest_now(claim.path) == claim.digest:
        base = tree.lower.snapshot(claim.path, MAX_FILE_BYTES)[0]
    return decode_or_none(base) if base is not None else None


def _text_of(tree: DraftTree, path: str) -> str | None:
    return decode_or_none(_read(tree, path))


def decode_or_none(data: bytes) -> str | None:
    """The text in a file; None: it is no text."""
    try:
        return decode(data)
    except Damaged:
        return None


def _read(tree: DraftTree, path: str) -> bytes:
    return tree.snapshot(path, MAX_FILE_BYTES)[0]
