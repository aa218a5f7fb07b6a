"""What a person is shown of a change set before it is applied: its changes on the tree of now, and what clashes."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from mirrord.commands.changes import draft_session
from mirrord.commands.changes.change_review import (
    SettledChange,
    Settlement,
    decode_or_none,
    diff_of_change,
    settle_changes,
)
from mirrord.commands.changes.followed_moves import find_followed
from mirrord.commands.core.failure import Failed, translating_errors
from mirrord.commands.core.session import Session
from mirrord.domain.approval import ABSENT_DIGEST, MAX_PREVIEW_LINES, Preview
from mirrord.domain.entry import MAX_FILE_BYTES
from mirrord.domain.review import MAX_SHOWN_CHARACTERS, ChangePreview
from mirrord.domain.trust import Trust
from mirrord.mirror.draft import draft_changes
from mirrord.mirror.draft.draft_changes import ChangeSort, DraftChange
from mirrord.mirror.draft.draft_store import DraftFacts
from mirrord.mirror.draft.draft_tree import FILES_NAME, DraftTree


def preview_review(session: Session, change_set: str) -> Preview:
    """
    What a person is shown now of a change set that waits, with what clashes: the person may leave that out.

    Raises Failed if it has ended, or changes nothing any more.
    """
    facts = draft_session.find_draft(session, change_set)
    draft_session.check_open(facts)
    with draft_session.reading_draft(session, facts) as (draft, tree), translating_errors():
        settlement = settle_changes(session, tree)
        if not settlement.settled and not settlement.clashes:
            raise nothing_changed(facts)
        return preview_changes(session, draft, facts, settlement)


def preview_changes(session: Session, draft: Session, facts: DraftFacts, settlement: Settlement) -> Preview:
    """The preview of a change set; the requester's part is without pages that its scope hides. draft: its session."""
    tree = draft_session.draft_tree_of(draft)
    clashing = [change for change in draft_changes.changes_of(tree) if change.path in settlement.clashes]
    changes = sorted([*(settled.change for settled in settlement.settled), *clashing], key=lambda change: change.path)
    shown_changes = [change for change in changes if session.tree.shows(change.path)]
    shown_facts: dict[str, object] = {
        "change_set": facts.id,
        "title": facts.title,
        "changed_pages_count": len(shown_changes),
    }
    if facts.level >= Trust.SUGGEST:
        shown_facts["needs"] = Trust(facts.level).name
    sentence = f"The change set {facts.title!r} would change {len(shown_changes)} pages and files."
    bases = _bases_of(session, facts, settlement, clashing)
    followed = find_followed(session, draft, changes)
    previews = tuple(
        replace(preview, followed=followed.get(preview.path, {}))
        for preview in _previews_of(session, tree, settlement, changes)
    )
    return Preview(sentence, shown_facts, _preview_lines(tree, shown_changes), bases, previews)


def nothing_changed(facts: DraftFacts) -> Failed:
    """Failure for a change set that changes nothing."""
    sentence = f"The change set {facts.title!r} changes nothing."
    return Failed("NOTHING_CHANGED", "invalid", sentence, "Write, move or delete pages first, or call discard_changes.")


def shown_texts(session: Session, tree: DraftTree, settled: SettledChange) -> tuple[str | None, str | None]:
    """The text of a page now, and as it would be; None: there is none, or it is no text."""
    change = settled.change
    old = _text_in_tree(session, change.source) if settled.current is not None else None
    if change.sort is ChangeSort.DELETED:
        return old, None
    return old, decode_or_none(settled.data) if settled.data is not None else old


def _bases_of(
    session: Session, facts: DraftFacts, settlement: Settlement, clashing: Sequence[DraftChange]
) -> Mapping[str, str]:
    """The files of the tree, and those of the draft: a draft that goes on after the preview is another one."""
    changes = [*(settled.change for settled in settlement.settled), *clashing]
    bases = dict.fromkeys((change.path for change in changes), ABSENT_DIGEST)
    for settled in settlement.settled:
        if settled.change.source is not None and settled.current is not None:
            bases[settled.change.source] = settled.current.hex()
    for path in {path for change in clashing for path in (change.path, change.source) if path is not None}:
        bases[path] = _digest_in_tree(session, path)
    files = f"{facts.directory}/{FILES_NAME}"
    return bases | {f"{files}/{change.path}": change.digest.hex() for change in changes if change.digest is not None}


def _previews_of(
    session: Session, tree: DraftTree, settlement: Settlement, changes: Sequence[DraftChange]
) -> Iterator[ChangePreview]:
    """What a person sees of these changes; texts beyond the limit are left out."""
    settled_at, characters = {settled.change.path: settled for settled in settlement.settled}, 0
    for change in changes:
        settled = settled_at.get(change.path)
        old, new = shown_texts(session, tree, settled) if settled else _texts_of_clash(session, tree, change)
        characters += len(old or "") + len(new or "")
        if characters > MAX_SHOWN_CHARACTERS:
            old = new = None
        is_merged, clash = settled is not None and settled.is_merged, settlement.clashes.get(change.path)
        is_mendable = change.path in settlement.unmerged and new is not None
        yield ChangePreview(change.path, change.sort, change.source, old, new, is_merged, clash, is_mendable)


def _texts_of_clash(session: Session, tree: DraftTree, change: DraftChange) -> tuple[str | None, str | None]:
    old = _text_in_tree(session, change.source or change.path)
    if change.digest is None:
        return old, None
    return old, decode_or_none(tree.snapshot(change.path, MAX_FILE_BYTES)[0])


def _text_in_tree(session: Session, path: str | None) -> str | None:
    """None: no file is there, or it is no text."""
    if path is None or not _digest_in_tree(session, path):
        return None
    return decode_or_none(session.tree.whole.snapshot(path, MAX_FILE_BYTES)[0])


def _digest_in_tree(session: Session, path: str) -> str:
    stat = session.tree.whole.stat(path)
    digest = session.tree.whole.digest_now(path) if stat is not None and stat.is_file else None
    return digest.hex() if digest is not None else ABSENT_DIGEST


def _preview_lines(tree: DraftTree, changes: Sequence[DraftChange]) -> tuple[str, ...]:
    lines = [line for change in changes for line in _lines_of(tree, change)]
    if len(lines) > MAX_PREVIEW_LINES:
        lines = [*lines[: MAX_PREVIEW_LINES - 1], f"… and {len(lines) - MAX_PREVIEW_LINES + 1} lines more"]
    return tuple(lines)


def _lines_of(tree: DraftTree, change: DraftChange) -> list[str]:
    moved = f" (from {change.source})" if change.sort is ChangeSort.MOVED else ""
    return [f"{change.sort} {change.path}{moved}", *diff_of_change(tree, change).splitlines()]
