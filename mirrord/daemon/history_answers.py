"""Answers to questions of agents about history, which only rows know."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import psycopg

from mirrord.db import change_set_rows
from mirrord.db.change_set_rows import Position
from mirrord.db.content import entry_versions, recent_versions
from mirrord.db.content.entry_versions import Revision, TextRemoved
from mirrord.db.content.recent_versions import Period
from mirrord.db.database import Connection
from mirrord.domain.approval import Request
from mirrord.domain.entry import TenantId, parse_id
from mirrord.domain.scope import UNLIMITED, Scope
from mirrord.errors import TooSlow, UserError
from mirrord.mirror.write import question_files
from mirrord.operations.change_listing import TOO_SLOW, ChangeQuestion, Unanswerable, find_moment, list_changes
from mirrord.operations.change_set_listing import ListedChangeSet, list_own
from mirrord.operations.page_versions import History, compare_in, find_revision, load_page_history
from mirrord.operations.restore import UnknownPage
from mirrord.operations.scoped_history import list_scoped_changes, load_scoped_history
from mirrord.sync.observation.mirror_handles import Sides

LAST_LOOK = "last_look"
FIRST_LOOK_SPAN = timedelta(days=1)  # of the first look of an agent
MAX_VERSIONS = 40  # versions in one answer
STATEMENT_SECONDS = 20  # seconds of one statement: who asks waits for 30
MAX_DIFF_CHARACTERS = 7_000  # characters of a diff

Facts = dict[str, Any]


async def answer_question(sides: Sides, request: Request, scope: Scope = UNLIMITED) -> Facts:
    """The answer to a question, of what *scope* shows. Raises Unanswerable, UserError, Refused."""
    answer = _ANSWERS.get(request.command)
    if answer is None:
        raise Unanswerable("UNKNOWN_QUESTION", f"This daemon does not know {request.command!r}.")
    try:
        async with sides.database.transaction(sides.tenant) as connection:
            await connection.execute(f"SET LOCAL statement_timeout = '{STATEMENT_SECONDS}s'".encode())
            return await answer(_Question(sides, connection, request, scope))
    except TextRemoved as error:
        raise Unanswerable("TEXT_REMOVED", str(error)) from error
    except TooSlow as error:  # asked again and again, it would hold up all later questions
        raise Unanswerable("TOO_SLOW", TOO_SLOW) from error
    except psycopg.DataError as error:  # one odd question must not end the daemon, which would meet it at each start
        raise Unanswerable("INVALID_ARGUMENTS", "Postgres takes a value of this question for none.") from error


@dataclass(frozen=True, slots=True)
class _Question:
    """A question, with what its answer is looked for in."""

    sides: Sides
    connection: Connection
    request: Request
    scope: Scope

    @property
    def tenant(self) -> TenantId:
        return self.sides.tenant

    @property
    def arguments(self) -> Mapping[str, object]:
        return self.request.arguments


async def _answer_changes(question: _Question) -> Facts:
    """What changed. The last part of an unfiltered answer since the last look is the next last look."""
    arguments, connection = question.arguments, question.connection
    now = await recent_versions.load_clock(connection)
    until = _moment_argument(arguments, "until") or now
    since = _moment_argument(arguments, "from") or await _begin(question, now)
    author, path = _text_argument(arguments, "by"), _text_argument(arguments, "path")
    start = _number_argument(arguments, "start") or 0
    changes = ChangeQuestion(Period(since, until, author), path, start)
    if question.scope.is_unlimited:
        listed = await list_changes(connection, question.tenant, changes)
    else:
        listed = await list_scoped_changes(connection, question.tenant, changes, question.scope)
    is_look = arguments.get("since") == LAST_LOOK and author is None and path is None
    if is_look and listed.next_start is None:
        question_files.write_look(question.sides.tree, question.request.actor, {"at": until.isoformat()})
    period = {"since": since.isoformat(), "until": until.isoformat()}
    return {**period, "changes": list(listed.changes), "next_start": listed.next_start}


async def _begin(question: _Question, now: datetime) -> datetime:
    since = _text_argument(question.arguments, "since") or LAST_LOOK
    if since != LAST_LOOK:
        only_of = None if question.scope.is_unlimited else question.request.actor
        return await find_moment(question.connection, question.tenant, since, only_of=only_of)
    looked_at = question_files.read_look(question.sides.tree, question.request.actor).get("at")
    return _parse(looked_at) or now - FIRST_LOOK_SPAN


async def _answer_history(question: _Question) -> Facts:
    loaded = await _load_history(question)
    before = _number_argument(question.arguments, "before")
    earlier = [revision for revision in loaded.revisions if before is None or revision.version < before]
    versions = [_version_facts(loaded, revision) for revision in reversed(earlier[-MAX_VERSIONS:])]
    next_before = earlier[-MAX_VERSIONS].version if len(earlier) > MAX_VERSIONS else None
    return {"path": loaded.path, "pageId": str(loaded.page), "versions": versions, "next_before": next_before}


async def _answer_diff(question: _Question) -> Facts:
    arguments = question.arguments
    loaded = await _load_history(question)
    before, after = _number_argument(arguments, "from"), _number_argument(arguments, "to")
    for number in (before, after):
        if number is not None:
            _revision(loaded, number)
    if before is None and after is not None:
        before = max(after - 1, loaded.revisions[0].version)
    difference = await compare_in(question.connection, question.tenant, loaded, before, after)
    text = "\n".join(difference.lines)
    other = {name: list(values) for name, values in difference.other_changes.items()}
    numbers = {"from": difference.before.version, "to": difference.after.version}
    return {"path": loaded.path, **numbers, **other, "diff": text[:MAX_DIFF_CHARACTERS], "characters": len(text)}


async def _answer_version(question: _Question) -> Facts:
    """The text of a page then, or a part of it; `offset` and `limit` are in characters."""
    loaded = await _load_history(question)
    revision = _revision(loaded, _number_argument(question.arguments, "version") or 0)
    text = await entry_versions.load_text(question.connection, question.tenant, loaded.page, revision.version) or ""
    offset, limit = (_number_argument(question.arguments, name) for name in ("offset", "limit"))
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


async def _load_history(question: _Question) -> History:
    path = _text_argument(question.arguments, "path") or ""
    try:
        if question.scope.is_unlimited:
            return await load_page_history(question.connection, question.tenant, path)
        return await load_scoped_history(question.connection, question.tenant, path, question.scope)
    except UnknownPage as error:
        raise Unanswerable("PAGE_NOT_FOUND", error.sentence) from error
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
    if revision.text_removed_at is not None:
        facts["textRemoved"] = revision.text_removed_at.astimezone(UTC).isoformat(timespec="seconds")
    return facts | ({"place": loaded.place_of(revision)} if {"place", "created"} & set(changed) else {})


def _text_argument(arguments: Mapping[str, object], name: str) -> str | None:
    """A text of the arguments. Raises Unanswerable for one that no row has: Postgres refuses to look for it."""
    value = arguments.get(name)
    if not isinstance(value, str) or not value:
        return None
    if "\0" in value or any("\ud800" <= character <= "\udfff" for character in value):
        raise Unanswerable("INVALID_ARGUMENTS", f"The value of {name!r} has characters that no text here has.")
    return value


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


async def _answer_change_sets(question: _Question) -> Facts:
    """The change sets of the agent that asks, and which of `without`, the drafts that it has listed, were undone."""
    connection, tenant, actor = question.connection, question.tenant, question.request.actor
    without = _ids_argument(question.arguments, "without")
    position = Position(
        _moment_argument(question.arguments, "at"), parse_id(_text_argument(question.arguments, "id") or ""), without
    )
    if (position.started_at is None) != (position.id is None):
        raise Unanswerable("INVALID_CURSOR", "The position names a time without an id, or an id without a time.")
    listed, has_more = await list_own(connection, tenant, actor, question.scope, position)
    undone = await change_set_rows.load_undone(connection, tenant, actor, without)
    return {
        "sets": [_change_set_facts(change_set) for change_set in listed],
        "undone": {str(change_set): str(undo) for change_set, undo in undone.items()},
        "has_more": has_more,
    }


def _change_set_facts(listed: ListedChangeSet) -> Facts:
    row = listed.change_set
    facts = {
        "changeSet": str(row.id),
        "title": listed.title,
        "kind": row.kind,
        "state": row.shown_state,
        "undoneBy": str(row.undone_by) if row.undone_by is not None else None,
        "begunAt": row.started_at.astimezone(UTC).isoformat(),
        "pages": listed.pages,
    }
    return {key: value for key, value in facts.items() if value is not None}


def _ids_argument(arguments: Mapping[str, object], name: str) -> tuple[UUID, ...]:
    values = arguments.get(name)
    texts = values if isinstance(values, list | tuple) else ()
    return tuple(filter(None, (parse_id(text) for text in texts if isinstance(text, str))))


_ANSWERS: Mapping[str, Callable[[_Question], Awaitable[Facts]]] = {
    "list_changes": _answer_changes,
    "page_history": _answer_history,
    "diff_page": _answer_diff,
    "read_version": _answer_version,
    "list_change_sets": _answer_change_sets,
}
