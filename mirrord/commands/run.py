"""The trust gate: a command is run at once, or becomes a request that a person decides about."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from mirrord.commands import inputs
from mirrord.commands.failure import KINDS, MODIFIED, Failed, Kind, explained
from mirrord.commands.gate import Gate
from mirrord.commands.registry import COMMANDS, Command
from mirrord.commands.session import Session
from mirrord.domain.approval import LIFETIME, Answer, Preview, Request, State, as_facts
from mirrord.domain.entry import new_id
from mirrord.domain.progress import Progress, unobserved
from mirrord.domain.trust import Trust
from mirrord.mirror import requests
from mirrord.mirror.lock import records_lock


@dataclass(frozen=True, slots=True)
class Done:
    """
    A command that was run. result: the command's own dataclass; of one that a person approved, its fields as JSON.
    """

    result: Any


@dataclass(frozen=True, slots=True)
class Pending:
    """A command that waits. preview: summary, lines and facts."""

    request_id: UUID
    expires_at: datetime
    preview: Mapping[str, Any]
    instruction: str


Outcome = Done | Pending


def run(
    session: Session,
    gate: Gate,
    name: str,
    arguments: Mapping[str, Any],
    consent: Mapping[str, str] | None = None,
    progress: Progress = unobserved,
) -> Outcome:
    """
    Run a command as far as it is trusted.

    One that is not becomes a request; the same call finds it again, and once gets what became of it: later it is a new
    request. Raises Failed as the command does, also where a person refused, or nobody decided in time.

    consent: the bases of the preview that a person was shown, and approved, in the asker's client. progress: of a
    command that is long, if it is run now.
    """
    command, level = COMMANDS[name], gate.levels[name]
    if _is_trusted(gate, name, arguments):
        with told(session, {"trust": level.name} if level is Trust.NOTIFY else {}):
            return _run(session, command, arguments, progress)
    if consent is not None:
        seed = _seed_of_call(_request(session, gate, name, arguments))
        with session.seeded(seed), told(session, {"trust": level.name, "channel": "elicitation"}):
            _check_consent(session, command, arguments, consent)
            return _run(session, command, arguments, progress)
    request = _request(session, gate, name, arguments)
    with explained(), records_lock(session.tree):
        if (known := _known(session, gate, request)) is not None:
            return known
    if (nothing := _idle(session, command, arguments)) is not None:
        return Done(nothing)
    request, answer = _previewed(session, command, request)  # not under the lock: it may take long, and take it too
    with explained(), records_lock(session.tree):
        if (known := _known(session, gate, request)) is not None:
            return known
        requests.put(session.tree, request, answer)
    return _pending(request, answer)


def question(session: Session, gate: Gate, name: str, arguments: Mapping[str, Any]) -> Preview | None:
    """What a person has to be asked before a command is run; None: nothing, or it was asked already."""
    if _is_trusted(gate, name, arguments):
        return None
    asked = _request(session, gate, name, arguments)
    with explained():
        if any(
            request.fingerprint == asked.fingerprint and answer.delivered_at is None
            for request, answer in requests.all_of(session.tree)
        ):
            return None
    if _idle(session, COMMANDS[name], arguments) is not None:
        return None
    with session.seeded(_seed_of_call(asked)):
        return COMMANDS[name].preview(session, **arguments)


@contextmanager
def told(session: Session, facts: Mapping[str, object]) -> Iterator[None]:
    """Let the events of a command say *facts* too, for the length of a `with`."""
    before, session.told = session.told, {**session.told, **facts}
    try:
        yield
    finally:
        session.told = before


def _is_trusted(gate: Gate, name: str, arguments: Mapping[str, Any]) -> bool:
    dry = COMMANDS[name].dry
    return gate.levels[name] <= Trust.NOTIFY or bool(dry is not None and arguments.get(dry))


def _idle(session: Session, command: Command, arguments: Mapping[str, Any]) -> Any:
    """The result of a command that would change nothing; None: it would change something."""
    return command.idle(session, **arguments) if command.idle is not None else None


def _run(session: Session, command: Command, arguments: Mapping[str, Any], progress: Progress) -> Done:
    return Done(command.call(session, arguments, progress))


def _seed_of_call(request: Request) -> UUID:
    """The same whenever a client repeats a call: between question and answer nothing is kept here."""
    return UUID(bytes=bytes(request.fingerprint)[:16])


def _check_consent(session: Session, command: Command, arguments: Mapping[str, Any], bases: Mapping[str, str]) -> None:
    if dict(command.preview(session, **arguments).bases) != dict(bases):
        raise Failed("CONFLICT", "conflict", MODIFIED, "Look at what is there now; if it is still right, call again.")


def _request(session: Session, gate: Gate, name: str, arguments: Mapping[str, Any]) -> Request:
    """Without inputs and bases: those it gets when it is known to be new."""
    return Request(
        id=new_id(),
        command=name,
        arguments=arguments,
        inputs={},
        bases={},
        tenant_id=session.tenant_id,
        actor=session.actor,
        token=gate.token,
        requested_at=datetime.now(UTC),
    )


def _known(session: Session, gate: Gate, request: Request) -> Outcome | None:
    """What the same call gets that was made before; None: there was none. Raises Failed, TOO_MANY_PENDING."""
    mine = [found for found in requests.all_of(session.tree) if found[0].actor == session.actor]
    for earlier, answer in mine:
        if earlier.fingerprint == request.fingerprint and answer.delivered_at is None:
            return _answered(session, earlier, answer)
    _check_pending(gate, sum(answer.state is State.PENDING for _, answer in mine))
    return None


def _previewed(session: Session, command: Command, request: Request) -> tuple[Request, Answer]:
    """The whole request. What it depends on is what its asker was shown: should that change, it is not run."""
    arguments = request.arguments
    with session.seeded(request.id):
        preview = command.preview(session, **arguments)
    given = [name for name in command.inputs if arguments.get(name) is not None]
    staged = {name: inputs.stage(session, str(arguments[name])) for name in given}
    request = replace(request, inputs=staged, bases=preview.bases)
    return request, Answer(expires_at=request.requested_at + LIFETIME, preview=as_facts(preview))


def _answered(session: Session, request: Request, answer: Answer) -> Outcome:
    if answer.state in (State.PENDING, State.APPROVED):
        return _pending(request, answer)
    requests.put(session.tree, request, replace(answer, delivered_at=datetime.now(UTC)))
    if answer.result is not None:
        return Done(answer.result)
    raise _failed(request, answer)


def _pending(request: Request, answer: Answer) -> Pending:
    instruction = (
        "Nothing was changed yet: a person has to approve this, with `mirrord approvals` or in the console. Tell them, "
        "and go on with other work; the same call with the same arguments later returns what became of it."
        if answer.state is State.PENDING
        else "It was approved and is being done; make the same call again in a moment."
    )
    expires_at = answer.expires_at or request.requested_at + LIFETIME
    return Pending(request.id, expires_at, answer.preview or {}, instruction)


def _failed(request: Request, answer: Answer) -> Failed:
    told = answer.failure or {}
    kind: Kind = next((one for one in KINDS if one == told.get("kind")), "conflict")
    facts = told.get("facts")
    return Failed(
        str(told.get("code", answer.state.upper())),
        kind,
        str(told.get("sentence", f"The request to run {request.command} was {answer.state}.")),
        str(told.get("instruction", "Ask the person before you try again.")),
        {**(facts if isinstance(facts, dict) else {}), "request_id": str(request.id)},
    )


def _check_pending(gate: Gate, count: int) -> None:
    most = gate.limits.pending
    if most and count >= most:
        raise Failed(
            "TOO_MANY_PENDING",
            "busy",
            f"{count} requests wait for a person already; there may be {most}.",
            "Ask the person to decide about them with `mirrord approvals`, then try again.",
            {"pending": count},
        )
