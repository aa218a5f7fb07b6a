"""How change sets stand that wait for a person's review: a request to apply each, and the person's answer."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from mirrord.commands.changes.draft_session import changes_seen, reading_draft
from mirrord.commands.core.failure import Failed, translating_errors
from mirrord.commands.core.session import Gate, Session
from mirrord.domain.approval import Answer, Request, RequestState
from mirrord.mirror.draft import draft_store
from mirrord.mirror.draft.draft_store import DraftFacts
from mirrord.mirror.write import request_files
from mirrord.mirror.write.tree_locks import records_lock

APPLY = "apply_changes"  # the command of the requests
IN_REVIEW, REJECTED = "in review", "rejected"


@dataclass(frozen=True, slots=True)
class Review:
    """The last request to apply a change set, and its answer."""

    request: Request
    answer: Answer

    @property
    def is_open(self) -> bool:
        """Whether a person has still to decide, or what was accepted is still to be applied."""
        return self.answer.state in (RequestState.PENDING, RequestState.APPROVED)

    @property
    def state(self) -> str:
        """The state of the change set."""
        return IN_REVIEW if self.is_open else REJECTED

    @property
    def comment(self) -> str | None:
        """Why it was not applied."""
        failure = self.answer.failure or {}
        comment = failure.get("sentence")
        return str(comment) if comment is not None else None


def load_reviews(session: Session) -> Mapping[str, Review]:
    """The last reviews of the tenant's change sets, by their ids."""
    reviews: dict[str, Review] = {}
    with translating_errors():
        for request, answer in request_files.read_all(session.tree):
            change_set = str(request.arguments.get("change_set"))
            is_newer = change_set not in reviews or request.requested_at > reviews[change_set].request.requested_at
            if request.command == APPLY and is_newer:
                reviews[change_set] = Review(request, answer)
    return reviews


def review_of(session: Session, facts: DraftFacts) -> Review | None:
    """The review that an open draft waits for, or was sent back from; None: it was not submitted."""
    if not facts.is_submitted or facts.state != draft_store.OPEN:
        return None
    return load_reviews(session).get(facts.id)


def reopen_draft(session: Session, facts: DraftFacts) -> DraftFacts:
    """Let the agent go on with a draft that a person sent back. Raises Failed, IN_REVIEW, before there is an answer."""
    review = review_of(session, facts)
    if review is None:
        return facts
    if review.is_open:
        raise Failed(
            "IN_REVIEW",
            "conflict",
            f"A person reviews the change set {facts.title!r}.",
            "Go on with other work; changes_status says what became of it.",
            {"state": IN_REVIEW},
        )
    with translating_errors(), records_lock(session.tree):
        delivered = replace(review.answer, delivered_at=datetime.now(UTC))
        request_files.write(session.tree, review.request, delivered)
    reopened = replace(facts, is_submitted=False, comment=review.comment)
    draft_store.write_facts(session.tree, reopened)
    return reopened


def submit_draft(session: Session, change_set: str) -> None:
    """Note that a draft waits for a person's review."""
    for facts in draft_store.list_drafts(session.tree):
        if facts.id == change_set and not facts.is_submitted:
            draft_store.write_facts(session.tree, replace(facts, is_submitted=True))


def needs_review(session: Session, gate: Gate, facts: DraftFacts) -> bool:
    """
    Whether a person reviews what a draft changes.

    Within a scope, also if links may follow in pages that it hides: in which ones, the answer must not tell.
    """
    if not gate.rules.may_review:
        return False
    if facts.follows_links and session.tree.whole is not session.tree:  # whether any page links must not show
        return True
    with translating_errors(), reading_draft(session, facts) as (_, tree):
        changes = changes_seen(session, tree)
    return gate.rules.reviews(path for change in changes for path in (change.path, change.source) if path is not None)
