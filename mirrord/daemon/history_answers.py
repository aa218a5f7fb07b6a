"""Answers to questions of agents about history, which only rows know."""

from collections.abc import Awaitable, Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from mirrord.db.content import entry_versions, recent_versions
from mirrord.db.content.entry_versions import Revision
from mirrord.db.content.recent_versions import Period
from mirrord.db.database import Connection
from mirrord.domain.approval import Request
from mirrord.errors import UserError
from mirrord.mirror.write import question_files
from mirrord.operations.change_listing import ChangeQuestion, Unanswerable, find_moment, list_changes
from mirrord.operations.page_versions import History, compare_versions, find_revision, load_page_history
from mirrord.sync.observation.mirror_handles import Sides

LAST_LOOK = "last_look"
FIRST_LOOK_SPAN = timedelta(days=1)  # of the first look of an agent
MAX_VERSIONS = 40  # versions in one answer
MAX_DIFF_CHARACTERS = 7_000  # characters of a diff

Facts = dict[str, Any]


async def answer_question(sides: Sides, request: Request) -> Facts:
    """The answer to a question. Raises Unanswerable, UserError, Refused."""
    answer = _ANSWERS.get(request.command)
    if answer is None:
        raise Unanswerable("UNKNOWN_QUESTION", f"This daemon does not know {request.command!r}.")
    async with sides.database.transaction(sides.tenant) as connection:
        return await answer(sides, connection, request)


async def _answer_changes(sides: Sides, connection: Connection, request: Request) -> Facts:
    """What changed. The last part of an unfiltered answer since the last look is the next last look."""
    arguments, now = request.arguments, await recent_versions.load_clock(connection)
    until = _moment_argument(arguments, "until") or now
    since = _moment_argument(arguments, "from") or await _begin(sides, connection, request, now)
    author, path = _text_argument(arguments, "by"), _text_argument(arguments, "path")
    start = _number_argument(arguments, "start") or 0
    question = ChangeQuestion(Period(since, until, author), path, start)
    listed = await list_changes(connection, sides.tenant, question)
    is_look = arguments.get("since") == LAST_LOOK and author is None and path is None
    if is_look and listed.next_start is None:
        question_files.write_look(sides.tree, request.actor, {"at": until.isoformat()})
    period = {"since": since.isoformat(), "until": until.isoformat()}
    return {**period, "changes": list(listed.changes), "next_start": listed.next_start}


async def _begin(sides: Sides, connection: Connection, request: Request, now: datetime) -> datetime:
    since = _text_argument(request.arguments, "since") or LAST_LOOK
    if since != LAST_LOOK:
        return await find_moment(connection, sides.tenant, since)
    looked_at = question_files.read_look(sides.tree, request.actor).get("at")
    return _parse(looked_at) or now - FIRST_LOOK_SPAN


async def _answer_history(sides: Sides, connection: Connection, request: Request) -> Facts:
    loaded = await _load_history(sides, connection, request)
    before = _number_argument(request.arguments, "before")
    earlier = [revision for revision in loaded.revisions if before is None or revision.version < before]
    versions = [_version_facts(loaded, revision) for revision in reversed(earlier[-MAX_VERSIONS:])]
    next_before = earlier[-MAX_VERSIONS].version if len(earlier) > MAX_VERSIONS else None
    return {"path": loaded.path, "pageId": str(loaded.page), "versions": versions, "next_before": next_before}


async def _answer_diff(sides: Sides, connection: Connection, request: Request) -> Facts:
    arguments = request.arguments
    loaded = await _load_history(sides, connection, request)
    before, after = _number_argument(arguments, "from"), _number_argument(arguments, "to")
    for number in (before, after):
        if number is not None:
            _revision(loaded, number)
    if before is None and after is not None:
        before = max(after - 1, loaded.revisions[0].version)
    difference = await compare_versions(connection, sides.tenant, str(loaded.page), before, after)
    text = "\n".join(difference.lines)
    other = {name: list(values) for name, values in difference.other_changes.items()}
    numbers = {"from": difference.before.version, "to": difference.after.version}
    return {"path": loaded.path, **numbers, **other, "diff": text[:MAX_DIFF_CHARACTERS], "characters": len(text)}


async def _answer_version(sides: Sides, connection: Connection, request: Request) -> Facts:
    """The text of a page then, or a part of it; `offset` and `limit` are in characters."""
    loaded = await _load_history(sides, connection, request)
    revision = _revision(loaded, _number_argument(request.arguments, "version") or 0)
    text = await entry_versions.load_text(connection, sides.tenant, loaded.page, revision.version) or ""
    offset, limit = (_number_argument(request.arguments, name) for name in ("offset", "limit"))
    start = min(offset or 0, len(text))
    end = len(text) if limit is None else min(start + limit, len(text))
    return {
        "content": text[start:end],
        "path": loaded.path,
        "pageId": str(loaded.page),
        **_version_facts(loaded, revision),
        "totalChars": len(text),
        "nextOffset": end if end < len(text) else None,
    }


async def _load_history(sides: Sides, connection: Connection, request: Request) -> History:
    try:
        return await load_page_history(connection, sides.tenant, _text_argument(request.arguments, "path") or "")
    except UserError as error:
        raise Unanswerable("PAGE_NOT_FOUND", str(error)) from error


def _revision(loaded: History, number: int) -> Revision:
    try:
        return find_revision(loaded, number)
    except UserError as error:
        raise Unanswerable("UNKNOWN_VERSION", str(error)) from error


def _version_facts(loaded: History, revision: Revision) -> Facts:
    changed = list(revision.changed)
    facts = {
        "version": revision.version,
        "at": revision.created_at.astimezone(UTC).isoformat(timespec="seconds"),
        "by": f"{revision.actor.get('kind', '?')} {revision.actor.get('name', '')}".strip(),
        "changed": ", ".join(changed) or "form",
        "chars": revision.size,
    }
    return facts | ({"place": loaded.place_of(revision)} if {"place", "created"} & set(changed) else {})


def _text_argument(arguments: Mapping[str, object], name: str) -> str | None:
    value = arguments.get(name)
    return value if isinstance(value, str) and value else None


def _number_argument(arguments: Mapping[str, object], name: str) -> int | None:
    value = arguments.get(name)
    return value if type(value) is int and 0 <= value < 1 << 62 else None


def _moment_argument(arguments: Mapping[str, object], name: str) -> datetime | None:
    return _parse(_text_argument(arguments, name))


def _parse(text: str | None) -> datetime | None:
    """A moment that was written by mirrord; None: it is none."""
    try:
        moment = datetime.fromisoformat(text or "")
    except ValueError:
        return None
    return moment if moment.tzinfo is not None else None


_ANSWERS: Mapping[str, Callable[[Sides, Connection, Request], Awaitable[Facts]]] = {
    "list_changes": _answer_changes,
    "page_history": _answer_history,
    "diff_page": _answer_diff,
    "read_version": _answer_version,
}
