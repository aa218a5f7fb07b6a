"""Commands about change sets but applying: begin, review, discard, and how they stand."""

from dataclasses import dataclass
from datetime import UTC, datetime

from mirrord.commands.changes import draft_session
from mirrord.commands.changes.change_review import Settlement, diff_of_change, diff_underneath, settle_changes
from mirrord.commands.changes.draft_session import OpenDraft
from mirrord.commands.changes.review_state import reopen_draft, review_of
from mirrord.commands.core.answer_budget import json_bytes, take_fitting
from mirrord.commands.core.connection_changes import ConnectionChanges, current_client
from mirrord.commands.core.failure import Failed, invalid_argument, translating_errors
from mirrord.commands.core.list_cursor import cursor_of, start_index
from mirrord.commands.core.session import Session
from mirrord.domain.trust import Trust
from mirrord.mirror.draft import draft_store
from mirrord.mirror.draft.draft_changes import DraftChange
from mirrord.mirror.draft.draft_store import DraftFacts

MAX_TITLE_CHARACTERS = 200
_MAX_QUOTED_CHARACTERS = 200  # of a path in a sentence
_ITEM_BYTES = 60  # of a listed change's keys and numbers
_MAX_DIFF_BYTES = 3_400  # of all listed changes together: with them an answer has at most 8 KB
_MAX_SINGLE_DIFF_BYTES = 7_000  # of the one that was asked for


@dataclass(frozen=True, slots=True)
class ChangeSetSummary:
    """
    A change set. begun_at: ISO 8601. pages: the number of changed files; None: it has ended, and they are not known.

    needs: the trust level that applying it needs, if a person has to agree.

    comment: of the person who reviewed it. rejected, remainder: as in DraftFacts.
    """

    id: str
    title: str
    state: str
    begun_at: str
    pages: int | None = None
    needs: str | None = None
    message: str | None = None
    comment: str | None = None
    rejected: tuple[str, ...] = ()
    remainder: str | None = None


@dataclass(frozen=True, slots=True)
class ReviewedChange:
    """
    One changed file. old_path: of a moved one. added, removed: lines. underneath: what changed in the tree since.

    clash: why it cannot be applied.
    """

    path: str
    kind: str
    old_path: str | None
    added: int
    removed: int
    underneath: str | None
    clash: str | None


@dataclass(frozen=True, slots=True)
class ReviewedChanges:
    """
    Changes of an open change set, and the diff of those listed. is_cut: a diff is not complete.

    omitted_count: of those that follow; next_cursor leads to them. underneath_diff: of the one page that was asked for,
    what the tree's became since; "": the same.
    """

    summary: ChangeSetSummary
    changes: tuple[ReviewedChange, ...]
    omitted_count: int
    diff: str
    is_cut: bool
    next_cursor: str | None = None
    underneath_diff: str = ""


def begin_changes(
    session: Session, connection: ConnectionChanges, title: str | None, change_set: str | None = None
) -> ChangeSetSummary:
    """
    Begin a change set for *connection*, or continue *change_set*, also one that a person sent back.

    Raises Failed if one is open, without a title, and for a change set that is unknown, foreign, ended or in review.
    """
    draft_session.leave_ended_draft(connection, session)
    if isinstance(connection.draft, OpenDraft):
        facts = connection.draft.facts
        raise Failed(
            "CHANGES_OPEN",
            "conflict",
            f"The change set {facts.title!r} is open on this connection.",
            "Call apply_changes or discard_changes before begin_changes.",
            {"change_set": facts.id},
        )
    if change_set is not None:
        facts = draft_session.find_draft(session, change_set)
        draft_session.check_open(facts)
        draft = draft_session.enter_draft(session, reopen_draft(session, facts))
    else:
        title = _check_title(title)
        draft = draft_session.begin_draft(
            session, title, connection.owner or draft_session.LOCAL_OWNER, current_client()
        )
    connection.draft, connection.draft_id = draft, draft.facts.id
    return summary_of(session, draft.facts)


def review_changes(
    session: Session, connection: ConnectionChanges, path: str | None = None, cursor: str | None = None
) -> ReviewedChanges:
    """The changes of the open change set, with a bounded diff; *path*: of a page, or a folder. cursor: to continue."""
    draft = draft_session.current_draft(connection, session)
    with translating_errors(), draft_session.reading_draft(session, draft.facts) as (_, tree):
        changes = draft_session.changes_seen(session, tree)
        settlement = settle_changes(session, tree)
        selected_changes = changes if path is None else draft_session.changes_below(changes, path)
        if path is not None and not selected_changes:
            raise not_changed(path)
        is_single = path is not None and len(selected_changes) == 1
        question = f"review {draft.facts.id} {path}"
        start = start_index([change.path for change in selected_changes], cursor, question)
        reviewed = (
            (_reviewed(change, settlement, diff), diff)
            for change in selected_changes[start:]
            for diff in [diff_of_change(tree, change)]
        )
        listed, has_more = take_fitting(reviewed, None, lambda change_and_diff: _size_of(change_and_diff[0]))
        beneath = diff_underneath(session, tree, selected_changes[0]) if is_single else ""
    shown_beneath = beneath.encode()[:_MAX_DIFF_BYTES].decode(errors="ignore")
    diff = "\n".join(diff for _, diff in listed if diff)
    max_bytes = _MAX_DIFF_BYTES if not is_single else _MAX_SINGLE_DIFF_BYTES - len(shown_beneath.encode())
    shown_diff = diff.encode()[:max_bytes].decode(errors="ignore")
    end = start + len(listed)
    return ReviewedChanges(
        summary_of(session, draft.facts, len(changes)),
        tuple(change for change, _ in listed),
        len(selected_changes) - end,
        shown_diff,
        (shown_diff, shown_beneath) != (diff, beneath),
        cursor_of(question, listed[-1][0].path, end) if has_more else None,
        shown_beneath,
    )


def not_changed(path: str) -> Failed:
    """Failure for a file that the open change set leaves as it is."""
    sentence = f"The change set does not change {path[:_MAX_QUOTED_CHARACTERS]!r}."
    return Failed("NOT_CHANGED", "not_found", sentence, "Call review_changes without path for the list.")


def _size_of(change: ReviewedChange) -> int:
    return _ITEM_BYTES + json_bytes(change.path, change.kind, change.old_path, change.underneath, change.clash)


def discard_changes(session: Session, connection: ConnectionChanges, change_set: str | None = None) -> ChangeSetSummary:
    """Discard the open change set, or *change_set*; its new texts stay in the trash for 30 days."""
    if change_set is None:
        try:
            facts = draft_session.current_draft(connection, session).facts
        except Failed:
            draft_session.leave_ended_draft(connection, session)
            raise
    else:
        facts = draft_session.find_draft(session, change_set)
        draft_session.check_open(facts)
        draft_session.check_unused(session, connection, facts)
    if isinstance(connection.draft, OpenDraft) and connection.draft.facts.id == facts.id:
        draft_session.leave_draft(connection)
    count = draft_session.discard_draft(session, facts)
    return summary_of(session, facts.ended(draft_store.DISCARDED), count)


def changes_status(
    session: Session, connection: ConnectionChanges
) -> tuple[ChangeSetSummary | None, list[ChangeSetSummary]]:
    """The change set that is open on this connection, and the caller's others."""
    draft = connection.draft if isinstance(connection.draft, OpenDraft) else None
    own_drafts = draft_session.own_drafts_of(session)
    current = next((facts for facts in own_drafts if draft is not None and facts.id == draft.facts.id), None)
    others = [summary_of(session, facts) for facts in own_drafts if facts is not current]
    return (summary_of(session, current) if current is not None else None), others


def summary_of(session: Session, facts: DraftFacts, pages: int | None = None) -> ChangeSetSummary:
    """A change set in few words. pages: number of changed files, if the caller knows it."""
    if pages is None and facts.state == draft_store.OPEN:
        pages = _count_changes(session, facts)
    begun_at = datetime.fromtimestamp(facts.begun_at, UTC).isoformat(timespec="seconds")
    needs = Trust(facts.level).name if facts.level >= Trust.SUGGEST else None
    review = review_of(session, facts)
    return ChangeSetSummary(
        facts.id,
        facts.title,
        review.state if review is not None else facts.state,
        begun_at,
        pages,
        needs,
        facts.message,
        review.comment if review is not None else facts.comment,
        tuple(filter(session.tree.shows, facts.rejected)),
        facts.remainder,
    )


def _count_changes(session: Session, facts: DraftFacts) -> int:
    with translating_errors(), draft_session.reading_draft(session, facts) as (_, tree):
        return len(draft_session.changes_seen(session, tree))


def _reviewed(change: DraftChange, settlement: Settlement, diff: str) -> ReviewedChange:
    lines = diff.splitlines()
    added = sum(line.startswith("+") and not line.startswith("+++") for line in lines)
    removed = sum(line.startswith("-") and not line.startswith("---") for line in lines)
    old_path = change.source if change.source != change.path else None
    underneath, clash = settlement.underneath.get(change.path), settlement.clashes.get(change.path)
    return ReviewedChange(change.path, change.sort, old_path, added, removed, underneath, clash)


def _check_title(title: str | None) -> str:
    stripped_title = (title or "").strip()
    if not stripped_title or not draft_session.is_plain(stripped_title, max_characters=MAX_TITLE_CHARACTERS):
        raise invalid_argument(
            "INVALID_TITLE",
            f"A change set needs a title of one line with at most {MAX_TITLE_CHARACTERS} characters.",
            'Call begin_changes with title, such as {"title": "Tidy the inbox"}.',
        )
    return stripped_title
