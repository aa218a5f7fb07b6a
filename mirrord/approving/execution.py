"""Commands run by the daemon: only to see what they would do, or because a person approved them."""

import json
import secrets
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar
from uuid import UUID

from mirrord.approving.desk import Desk
from mirrord.commands.failure import Failed, contained, explained
from mirrord.domain.approval import ABSENT, Preview, Request, storable
from mirrord.domain.entry import Digest
from mirrord.domain.event import FOLDER
from mirrord.domain.progress import Progress, unobserved
from mirrord.mirror.tree import Tree

# Commands are imported when one is asked for: all of them take a third of a start, and most starts need none.
if TYPE_CHECKING:
    from mirrord.commands.registry import Command
    from mirrord.commands.session import Session

TRIES = 20  # of a command, while somebody has a file open
PAUSE = 0.25  # seconds between them

T = TypeVar("T")


def previewed(desk: Desk, request: Request) -> Preview:
    """What a request would do as the tree is now. Raises Failed, STALE too where its asker saw something else."""
    _check_places(desk, request)
    with _session(desk, request) as session:
        return _patiently(request, lambda: _preview(session, request))


def executed(desk: Desk, request: Request, level: str, progress: Progress = unobserved) -> dict[str, Any]:
    """Run what was approved; {"result"}, or {"failure"} where nothing was changed."""
    from mirrord.commands.run import told  # noqa: PLC0415  (as above)

    try:
        with _session(desk, request) as session, told(session, {"trust": level, "request_id": str(request.id)}):
            return {"result": storable(_patiently(request, lambda: _run(session, request, progress)))}
    except Failed as failed:
        return {"failure": failure(failed)}


def left_events(desk: Desk, request: Request) -> list[dict[str, Any]]:
    """
    What a process that died had done for a request: the data of its events.

    What it had begun with a journal is finished, or undone, before.
    """
    with _session(desk, request) as session, session.writing():
        pass
    tree, found = desk.sides.tree, []
    try:
        names = sorted(tree.names(FOLDER))
    except FileNotFoundError:
        return []
    for name in names:
        with tree.file(f"{FOLDER}/{name}") as descriptor, open(descriptor, "rb", closefd=False) as lines:
            found += [line for line in lines if str(request.id).encode() in line]
    return [event["data"] | {"type": event["type"]} for event in map(_event, found) if _is_of(event, request.id)]


def failure(failed: Failed) -> dict[str, Any]:
    """A failure as the files of requests have it."""
    said = {"sentence": str(failed), "instruction": failed.instruction, "facts": dict(failed.facts)}
    return storable({"code": failed.code, "kind": failed.kind, **said})


@contextmanager
def _session(desk: Desk, request: Request) -> "Iterator[Session]":
    """Like the asker's own, but that it reads from outside only what was staged."""
    from mirrord.commands.session import Session  # noqa: PLC0415  (as above)

    sides = desk.sides
    staged = {str(request.arguments[name]): one for name, one in request.inputs.items() if name in request.arguments}
    writer = f"approval-{secrets.token_hex(8)}"
    session = Session(
        Tree(sides.tree.root, sides.tree.attachments),
        sides.name,
        sides.tenant,
        request.actor,
        writer,
        staged=staged,
        sources_dir=desk.config.sources_dir,
    )
    try:
        for path, digest in request.bases.items():
            if digest != ABSENT:
                session.saw(path, Digest(bytes.fromhex(digest)))
        with session.seeded(request.id):
            yield session
    finally:
        session.close()


def _preview(session: "Session", request: Request) -> Preview:
    """Raises Failed, STALE, where it would not be about the very files any more that it was asked for with."""
    _check_bases(session, request.bases)
    preview = _command(request).preview(session, **request.arguments)
    if dict(preview.bases) != dict(request.bases):
        sentence = f"{request.command} would be about other files now than when it was asked for."
        raise Failed("STALE", "conflict", sentence, "Look at what is there now; if it is still right, ask again.")
    return preview


def _run(session: "Session", request: Request, progress: Progress) -> dict[str, Any]:
    _preview(session, request)
    return asdict(_command(request).call(session, request.arguments, progress))


def _command(request: Request) -> "Command":
    from mirrord.commands.registry import COMMANDS  # noqa: PLC0415  (as above)

    if request.command not in COMMANDS:
        sentence = f"There is no command {request.command!r}."
        raise Failed("UNKNOWN_COMMAND", "invalid", sentence, "Use a tool that is listed.")
    return COMMANDS[request.command]


def _check_places(desk: Desk, request: Request) -> None:
    """Whoever wrote the request looked whether its files are open to agents, but anybody may have written it."""
    listed = desk.config.agents.attach_from
    for one in request.inputs.values():
        if one.place is None or listed is None:
            continue
        if not any(Path(one.place).is_relative_to(root.resolve()) for root in listed):
            sentence = f"{one.place} is below none of the directories that the operator listed in mcp.attach_from."
            raise Failed("REFUSED", "forbidden", sentence, "Ask for a file below one of those.")


def _check_bases(session: "Session", bases: Mapping[str, str]) -> None:
    for path, digest in bases.items():
        now = _digest(session.tree, path)
        if now != digest:
            what = "changed" if now != ABSENT else "was deleted"
            what = what if digest != ABSENT else "was made"
            raise Failed(
                "STALE",
                "conflict",
                f"{path} {what} after this was asked for, so it was not done.",
                "Look at what is there now; if it is still right, ask again.",
                {"path": path},
            )


def _digest(tree: Tree, path: str) -> str:
    """What there is now; ABSENT: nothing."""
    try:
        return tree.digest(path)[0].hex()
    except FileNotFoundError:
        return ABSENT


def _patiently(request: Request, work: Callable[[], T]) -> T:
    """Do *work*, again while somebody has a file open. Raises Failed for whatever goes wrong."""
    for _ in range(TRIES - 1):
        try:
            return _contained(request, work)
        except Failed as failed:
            if failed.kind != "busy":
                raise
        time.sleep(PAUSE)
    return _contained(request, work)


def _contained(request: Request, work: Callable[[], T]) -> T:
    with contained(request.command), explained():
        return work()


def _event(line: bytes) -> dict[str, Any]:
    try:
        event = json.loads(line)
    except ValueError:
        return {}
    return event if isinstance(event, dict) and isinstance(event.get("data"), dict) else {}


def _is_of(event: Mapping[str, Any], request: UUID) -> bool:
    return bool(event) and event["data"].get("request_id") == str(request)
