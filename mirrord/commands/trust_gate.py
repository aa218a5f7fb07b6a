"""The trust gate: a command runs at once or becomes a request for approval."""

from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from typing import Any
from uuid import UUID

from mirrord.commands.command_registry import COMMANDS
from mirrord.commands.core import inputs
from mirrord.commands.core.command_plan import Check, Command
from mirrord.commands.core.failure import KINDS, MODIFIED_SENTENCE, Failed, Kind, translating_errors
from mirrord.commands.core.session import Gate, Session
from mirrord.domain.approval import REQUEST_LIFETIME, Answer, Preview, Request, RequestState, preview_facts
from mirrord.domain.long_work import Progress, ignore_progress
from mirrord.domain.trust import Trust
from mirrord.mirror.tree.scoped_tree import check_writable
from mirrord.mirror.write import request_files
from mirrord.mirror.write.tree_locks import records_lock


@dataclass(frozen=True, slots=True)
class CompletedCommand:
    """
    A command that ran. result: the command's own dataclass; after approval by a person, its fields as JSON.
    """

    result: Any


@dataclass(frozen=True, slots=True)
class PendingRequest:
    """A command that awaits a decision. preview: summary, lines and facts."""

    request_id: UUID
    expires_at: datetime
    preview: Mapping[str, Any]
    instruction: str


Outcome = CompletedCommand | PendingRequest


class ReviewNeeded(Failed):
    """A person reviews what the command would change: it belongs into a change set, and that has to be submitted."""

    def __init__(self) -> None:
        super().__init__(
            "REVIEW_NEEDED",
            "forbidden",
            "A person reviews this change before it counts.",
            "Call begin_changes, make the change, then call apply_changes.",
        )


def run(
    session: Session,
    gate: Gate,
    name: str,
    arguments: Mapping[str, Any],
    consent: Mapping[str, str] | None = None,
    progress: Progress = ignore_progress,
) -> Outcome:
    """
    Run a command if it is trusted.

    Otherwise it becomes a request; repeating the call finds the request and delivers its outcome once. After that the
    call makes a new request. Raises Failed as the command does, and after a refusal or an expired request; ReviewNeeded
    if a person reviews changes of such files, and then nothing was done.

    consent: bases of the preview that a person approved in the caller's client. progress: of a long command, if it
    runs now.
    """
    command, level = COMMANDS[name], gate.levels[name]
    if session.draft is not None:  # people see it before it is applied
        session.draft.note_level(name, level)
        return CompletedCommand(command.call(session, arguments, progress, _scope_check(session, name)))
    if _is_trusted(gate, name, arguments):
        with adding_event_facts(session, {"trust": level.name} if level is Trust.NOTIFY else {}):
            return CompletedCommand(command.call(session, arguments, progress, _check_of(session, gate, name)))
    if consent is not None:
        seed = _seed_of_call(session.new_request(name, arguments))
        with session.deriving_ids(seed), adding_event_facts(session, {"trust": level.name, "channel": "elicitation"}):
            check = partial(_check_consent, session, name, consent)
            return CompletedCommand(command.call(session, arguments, progress, check))
    request = session.new_request(name, arguments)
    with translating_errors(), records_lock(session.tree):
        if (earlier := _answer_of_earlier(session, gate, request)) is not None:
            return earlier
    # outside the lock: it may take long, and acquires the lock itself
    with session.deriving_ids(request.id), closing(command.plan_call(session, arguments)) as plan:
        if (idle_result := plan.idle_result(session)) is not None:
            return CompletedCommand(idle_result)
        preview = plan.preview(session)
        _check_rules(session, gate, name, preview)
        request, answer = _add_preview(session, command, request, preview)
    with translating_errors(), records_lock(session.tree):
        if (earlier := _answer_of_earlier(session, gate, request)) is not None:
            return earlier
        request_files.write(session.tree, request, answer)
    return _to_pending(request, answer)


def preview_if_needed(session: Session, gate: Gate, name: str, arguments: Mapping[str, Any]) -> Preview | None:
    """Preview to confirm with a person before a command runs; None: unnecessary, or requested already."""
    if session.draft is not None or _is_trusted(gate, name, arguments):
        return None
    new_request = session.new_request(name, arguments)
    with translating_errors():
        if any(
            request.fingerprint == new_request.fingerprint and answer.delivered_at is None
            for request, answer in request_files.read_all(session.tree)
        ):
            return None
    plan_call = COMMANDS[name].plan_call
    with session.deriving_ids(_seed_of_call(new_request)), closing(plan_call(session, arguments)) as plan:
        preview = plan.preview(session) if plan.idle_result(session) is None else None
    return preview if preview is not None and not gate.rules.reviews(preview.bases) else None


@contextmanager
def adding_event_facts(session: Session, facts: Mapping[str, object]) -> Iterator[None]:
    """Add *facts* to the events of a command within a `with` block."""
    before, session.event_facts = session.event_facts, {**session.event_facts, **facts}
    try:
        yield
    finally:
        session.event_facts = before


def check_scope(session: Session, name: str, preview: Preview) -> None:
    """Raises Failed, OUT_OF_SCOPE, before a plan begins that changes what the token's patterns do not permit."""
    if name != "apply_changes":  # what is in a draft was checked there
        with translating_errors():
            check_writable(session.tree, *preview.bases)


def _check_of(session: Session, gate: Gate, name: str) -> Check | None:
    if gate.rules.may_review:
        return partial(_check_rules, session, gate, name)
    return _scope_check(session, name)


def _scope_check(session: Session, name: str) -> Check | None:
    """None without a scope: a check costs a preview."""
    return partial(check_scope, session, name) if session.tree.whole is not session.tree else None


def _check_rules(session: Session, gate: Gate, name: str, preview: Preview) -> None:
    """Raises Failed, OUT_OF_SCOPE, and ReviewNeeded."""
    check_scope(session, name, preview)
    if gate.rules.reviews(preview.bases):
        raise ReviewNeeded


def _is_trusted(gate: Gate, name: str, arguments: Mapping[str, Any]) -> bool:
    return gate.levels[name] <= Trust.NOTIFY or COMMANDS[name].is_dry(arguments)


def _seed_of_call(request: Request) -> UUID:
    """Seed derived from the call, equal for repetitions; no state is kept between question and answer."""
    return UUID(bytes=bytes(request.fingerprint)[:16])


def _check_consent(session: Session, name: str, bases: Mapping[str, str], preview: Preview) -> None:
    check_scope(session, name, preview)
    if dict(preview.bases) != dict(bases):
        raise Failed(
            "CONFLICT", "conflict", MODIFIED_SENTENCE, "Look at what is there now; if it is still right, call again."
        )


def _answer_of_earlier(session: Session, gate: Gate, request: Request) -> Outcome | None:
    """Outcome of an earlier equal call, or None. Raises Failed, TOO_MANY_PENDING."""
    caller = request.actor, request.scope
    own_requests = [
        stored for stored in request_files.read_all(session.tree) if (stored[0].actor, stored[0].scope) == caller
    ]
    for earlier, answer in own_requests:
        if earlier.fingerprint == request.fingerprint and answer.delivered_at is None:
            return _deliver_answer(session, earlier, answer)
    _check_pending(gate, sum(answer.state is RequestState.PENDING for _, answer in own_requests))
    return None


def _add_preview(
    session: Session, command: Command[..., Any], request: Request, preview: Preview
) -> tuple[Request, Answer]:
    """The complete request and its preview. The request does not run if the bases of the preview change."""
    arguments = request.arguments
    input_names = [name for name in command.inputs if arguments.get(name) is not None]
    staged = {name: inputs.stage_input(session, str(arguments[name])) for name in input_names}
    request = replace(request, inputs=staged, bases=preview.bases)
    return request, Answer(expires_at=request.requested_at + REQUEST_LIFETIME, preview=preview_facts(preview))


def _deliver_answer(session: Session, request: Request, answer: Answer) -> Outcome:
    if answer.state in (RequestState.PENDING, RequestState.APPROVED):
        return _to_pending(request, answer)
    request_files.write(session.tree, request, replace(answer, delivered_at=datetime.now(UTC)))
    if answer.result is not None:
        return CompletedCommand(answer.result)
    raise _to_failure(request, answer)


def _to_pending(request: Request, answer: Answer) -> PendingRequest:
    instruction = (
        "Nothing was changed yet: a person has to approve this, with `mirrord approvals` or in the console. Tell them, "
        "and go on with other work; the same call with the same arguments later returns what became of it."
        if answer.state is RequestState.PENDING
        else "It was approved and is being done; make the same call again in a moment."
    )
    expires_at = answer.expires_at or request.requested_at + REQUEST_LIFETIME
    return PendingRequest(request.id, expires_at, answer.preview or {}, instruction)


def _to_failure(request: Request, answer: Answer) -> Failed:
    failure = answer.failure or {}
    kind: Kind = next((known_kind for known_kind in KINDS if known_kind == failure.get("kind")), "conflict")
    facts = failure.get("facts")
    return Failed(
        str(failure.get("code", answer.state.upper())),
        kind,
        str(failure.get("sentence", f"The request to run {request.command} was {answer.state}.")),
        str(failure.get("instruction", "Ask the person before you try again.")),
        {**(facts if isinstance(facts, dict) else {}), "request_id": str(request.id)},
    )


def _check_pending(gate: Gate, count: int) -> None:
    limit = gate.limits.pending
    if limit and count >= limit:
        raise Failed(
            "TOO_MANY_PENDING",
            "busy",
            f"{count} requests wait for a person already; there may be {limit}.",
            "Ask the person to decide about them with `mirrord approvals`, then try again.",
            {"pending": count},
        )
