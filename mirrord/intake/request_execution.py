"""Commands run by the daemon, as a preview or because a person approved them: with what, and for whom."""

import json
import secrets
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeVar
from uuid import UUID

from mirrord.auth.access_grant import DAEMON_AUDIENCE, LOCAL_ACTOR
from mirrord.commands.core.failure import Failed, containing_errors, translating_errors
from mirrord.config import Config
from mirrord.domain.approval import ABSENT_DIGEST, InputFile, Preview, Request, to_storable
from mirrord.domain.entry import Actor, Digest, new_id
from mirrord.domain.event import EVENTS_FOLDER
from mirrord.domain.long_work import Progress, ignore_progress
from mirrord.domain.scope import UNLIMITED, Scope
from mirrord.errors import Refused
from mirrord.mirror.tree.scoped_tree import scope_tree
from mirrord.mirror.tree.tenant_tree import Tree
from mirrord.sync.observation.mirror_handles import Sides


@dataclass(frozen=True, slots=True)
class TenantContext:
    """One tenant's mirror, with the operator's configuration for agents."""

    sides: Sides
    config: Config

    def check_author(self, request: Request, *, writes: bool = True, is_undo: bool = False) -> Scope:
        """
        Check the author of *request*, and return its scope: that of the token, or of the local caller's server.

        is_undo: it changes rows without a draft, so authors whose changes a person reviews are refused. Raises Refused
        unless it is the claimed actor and may read or change files.
        """
        if request.tenant_id != self.sides.tenant:
            raise Refused("It was made in another tenant.")
        if request.token is None:
            if not self.config.trusts_locally() or request.actor != LOCAL_ACTOR:
                raise Refused("It shows no token, and no actor is trusted without one here.")
            if writes and request.scope.is_read_only:
                raise Refused("Its patterns let it read only.")
            self._check_undo(is_reviewed=False, is_undo=is_undo)
            return request.scope
        from mirrord.auth import signed_tokens  # noqa: PLC0415  (cryptography: a tenth of a start, and few show a token)

        grant = signed_tokens.verify_token(signed_tokens.Keyring(self.config.mirror), request.token, DAEMON_AUDIENCE)
        if grant.tenant_id != self.sides.tenant or grant.actor != request.actor:
            raise Refused("Its token belongs to another actor or tenant.")
        if grant.paths != request.scope:
            raise Refused("Its patterns of paths are not those of its token.")
        if writes and not grant.may_write:
            raise Refused("Its token may only read.")
        self._check_undo(is_reviewed=grant.is_reviewed, is_undo=is_undo)
        return grant.paths

    def _check_undo(self, *, is_reviewed: bool, is_undo: bool) -> None:
        if is_undo and self.config.agents.rules_of(is_reviewed=is_reviewed).may_review:
            raise Refused("A person reviews the changes of this agent, so a person undoes them.")


# Commands are imported when one is asked for: all of them take a third of a start, and most starts need none.
if TYPE_CHECKING:
    from mirrord.commands.core.command_plan import Command
    from mirrord.commands.core.session import Session

MAX_TRIES = 20  # of a command, while another program has a file open
TRY_PAUSE_SECONDS = 0.25  # seconds between them

T = TypeVar("T")


def preview_request(desk: TenantContext, request: Request) -> Preview:
    """Preview a request on the tree as it is now. Raises Failed; STALE if its author saw another state."""
    _check_places(desk, request)
    with _open_session(desk, request) as session:
        return _run_patiently(request, lambda: _preview_command(session, request))


def renew_request(desk: TenantContext, request: Request) -> tuple[Request, Preview]:
    """
    The same request to apply a change set on the files as they are now, and its preview with what clashes.

    Raises Failed if the change set has ended, or changes nothing any more.
    """
    from mirrord.commands.changes.change_previews import preview_review  # noqa: PLC0415  (as below)

    renewed = replace(request, id=new_id(), bases={}, requested_at=datetime.now(UTC))
    with _open_session(desk, renewed) as session:
        change_set = str(renewed.arguments["change_set"])
        preview = _run_patiently(renewed, lambda: preview_review(session, change_set))
    return replace(renewed, bases=preview.bases), preview


def execute_request(
    desk: TenantContext,
    request: Request,
    level: str,
    progress: Progress = ignore_progress,
    acceptance: Mapping[str, Any] = MappingProxyType({}),
) -> dict[str, Any]:
    """
    Run an approved request; returns {"result"}, or {"failure"} if nothing was changed.

    acceptance: further arguments, of a person who reviewed a change set.
    """
    from mirrord.commands.trust_gate import adding_event_facts  # noqa: PLC0415  (as above)

    try:
        with (
            _open_session(desk, request) as session,
            adding_event_facts(session, {"trust": level, "request_id": str(request.id), "change_set": str(request.id)}),
        ):
            run = partial(_run_command, session, request, progress, acceptance)
            return {"result": to_storable(_run_patiently(request, run))}
    except Failed as failed:
        return {"failure": failure_facts(failed)}


def events_of_dead_run(desk: TenantContext, request: Request) -> list[dict[str, Any]]:
    """
    The work of a dead process for a request, as the data of its events.

    Journaled work that it began is finished, or undone, before.
    """
    with _open_session(desk, request) as session, session.writing():
        pass
    tree, event_lines = desk.sides.tree, []
    try:
        names = sorted(tree.list_stats(EVENTS_FOLDER))
    except FileNotFoundError:
        return []
    for name in names:
        with tree.open_file(f"{EVENTS_FOLDER}/{name}") as descriptor, open(descriptor, "rb", closefd=False) as lines:
            event_lines += [line for line in lines if str(request.id).encode() in line]
    events = map(_parse_event, event_lines)
    own_events = [event["data"] | {"type": event["type"]} for event in events if _is_event_of(event, request.id)]
    return [event for event in own_events if _is_shown(event, request.scope)]


def failure_facts(failed: Failed) -> dict[str, Any]:
    """A failure as it is stored in the files of requests."""
    details = {"sentence": str(failed), "instruction": failed.instruction, "facts": dict(failed.facts)}
    return to_storable({"code": failed.code, "kind": failed.kind, **details})


@contextmanager
def open_session(
    desk: TenantContext,
    actor: Actor,
    scope: Scope = UNLIMITED,
    staged: Mapping[str, InputFile] = MappingProxyType({}),
) -> "Iterator[Session]":
    """A session of *actor* within *scope*, which of files outside the tree reads only the *staged* ones."""
    from mirrord.commands.core.session import Session, SessionSettings  # noqa: PLC0415  (as above)
    from mirrord.research.collections.group_scope import shows_group  # noqa: PLC0415  (as above)

    sides, writer = desk.sides, f"approval-{secrets.token_hex(8)}"
    settings = SessionSettings(staged=staged, sources_dir=desk.config.sources_dir)
    tree = scope_tree(Tree(sides.tree.root, sides.tree.attachments), scope, shows_group)
    session = Session(tree, sides.name, sides.tenant, actor, writer, settings)
    try:
        yield session
    finally:
        session.close()


@contextmanager
def _open_session(desk: TenantContext, request: Request) -> "Iterator[Session]":
    """A session like that of the request's author."""
    staged = {
        str(request.arguments[name]): staged_input
        for name, staged_input in request.inputs.items()
        if name in request.arguments
    }
    with open_session(desk, request.actor, request.scope, staged) as session:
        for path, digest in request.bases.items():
            if digest != ABSENT_DIGEST:
                session.note_shown(path, Digest(bytes.fromhex(digest)))
        with session.deriving_ids(request.id):
            yield session


def _preview_command(session: "Session", request: Request) -> Preview:
    """Preview a request. Raises Failed, STALE, if it would not concern the same files as when it was made."""
    _check_bases(session, request.bases)
    with closing(_command_of(request).plan_call(session, request.arguments)) as plan:
        preview = plan.preview(session)
    _check_preview(session, request, preview)
    return preview


def _run_command(
    session: "Session", request: Request, progress: Progress, acceptance: Mapping[str, Any]
) -> dict[str, Any]:
    if acceptance:  # a part of a change set: the other files do not matter
        check = partial(_check_part, session, request)
    else:
        _check_bases(session, request.bases)
        check = partial(_check_preview, session, request)
    arguments = {**request.arguments, **acceptance}
    return asdict(_command_of(request).call(session, arguments, progress, check))


def _check_scope(session: "Session", request: Request, preview: Preview) -> None:
    from mirrord.commands.trust_gate import check_scope  # noqa: PLC0415  (as above)

    check_scope(session, request.command, preview)


def _check_part(session: "Session", request: Request, preview: Preview) -> None:
    """Raises Failed: STALE unless everything in *preview* is as the person saw it, and OUT_OF_SCOPE."""
    _check_scope(session, request, preview)
    for path, digest in preview.bases.items():
        if request.bases.get(path) != digest:
            name, facts = _name_and_facts(session, path)
            sentence = f"{name} changed after this was shown, so nothing was done."
            raise Failed("STALE", "conflict", sentence, "Look at what is there now.", facts)


def _check_preview(session: "Session", request: Request, preview: Preview) -> None:
    _check_scope(session, request, preview)
    if dict(preview.bases) != dict(request.bases):
        sentence = f"{request.command} would be about other files now than when it was asked for."
        raise Failed("STALE", "conflict", sentence, "Look at what is there now; if it is still right, ask again.")


def _command_of(request: Request) -> "Command[..., Any]":
    from mirrord.commands.command_registry import COMMANDS  # noqa: PLC0415  (as above)

    if request.command not in COMMANDS:
        sentence = f"There is no command {request.command!r}."
        raise Failed("UNKNOWN_COMMAND", "invalid", sentence, "Use a tool that is listed.")
    return COMMANDS[request.command]


def _check_places(desk: TenantContext, request: Request) -> None:
    """Check again that input files are open to agents: not only the agents' server may have written the request."""
    listed = desk.config.agents.attach_from
    for source in request.inputs.values():
        if source.place is None or listed is None:
            continue
        if not any(Path(source.place).is_relative_to(root.resolve()) for root in listed):
            sentence = f"{source.place} is below none of the directories that the operator listed in mcp.attach_from."
            raise Failed("REFUSED", "forbidden", sentence, "Ask for a file below one of those.")


def _check_bases(session: "Session", bases: Mapping[str, str]) -> None:
    for path, digest in bases.items():
        current = _digest_of(session.tree.whole, path)
        if current != digest:
            change = "changed" if current != ABSENT_DIGEST else "was deleted"
            change = change if digest != ABSENT_DIGEST else "was made"
            name, facts = _name_and_facts(session, path)
            sentence = f"{name} {change} after this was asked for, so it was not done."
            raise Failed(
                "STALE", "conflict", sentence, "Look at what is there now; if it is still right, ask again.", facts
            )


def _name_and_facts(session: "Session", path: str) -> tuple[str, dict[str, object]]:
    """How a failure names *path*: not, if the scope of the request's author hides it."""
    return (path, {"path": path}) if session.tree.shows(path) else ("A file", {})


def _digest_of(tree: Tree, path: str) -> str:
    """The digest of the file; ABSENT: there is none."""
    try:
        return tree.digest(path)[0].hex()
    except FileNotFoundError:
        return ABSENT_DIGEST


def _run_patiently(request: Request, work: Callable[[], T]) -> T:
    """Run *work*, again while another program has a file open. Raises Failed for every error."""
    for _ in range(MAX_TRIES - 1):
        try:
            return _run_contained(request, work)
        except Failed as failed:
            if failed.kind != "busy":
                raise
        time.sleep(TRY_PAUSE_SECONDS)
    return _run_contained(request, work)


def _run_contained(request: Request, work: Callable[[], T]) -> T:
    with containing_errors(request.command), translating_errors():
        return work()


def _parse_event(line: bytes) -> dict[str, Any]:
    try:
        event = json.loads(line)
    except ValueError:
        return {}
    return event if isinstance(event, dict) and isinstance(event.get("data"), dict) else {}


def _is_event_of(event: Mapping[str, Any], request: UUID) -> bool:
    return bool(event) and event["data"].get("request_id") == str(request)


def _is_shown(event: Mapping[str, Any], scope: Scope) -> bool:
    """Whether an author with *scope* may know of *event*, as the data of one page; others sum up what is hidden too."""
    path = event.get("path")
    return scope.is_unlimited or (isinstance(path, str) and bool(path) and scope.can_read(path))
