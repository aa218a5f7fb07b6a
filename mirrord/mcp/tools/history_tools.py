"""Tools that show history: what changed since, the versions of a page, their difference, and the trash."""

from collections import Counter
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Annotated, Any

from pydantic import Field

from mirrord.commands.core.failure import Failed, Kind, translating_errors
from mirrord.commands.core.list_cursor import cursor_of, cursor_position
from mirrord.commands.core.session import Session
from mirrord.domain.place import RECORDS
from mirrord.domain.time_reading import TIME_FORMS
from mirrord.mcp.tools.arguments import ANY, COUNT, TEXT, Arguments, array_schema, object_schema, result_schema
from mirrord.mcp.tools.daemon_questions import ask_daemon
from mirrord.mcp.tools.tool import Tool, Wire
from mirrord.mirror.write import trash
from mirrord.mirror.write.journal_labels import key_of

_PART_CHARACTERS = 100_000  # of a text in one answer of the daemon, whose file has at most 1 MB
MAX_TRASHED = 40  # removed pages in one answer
_TRASHED = object_schema(path=TEXT, trashId=TEXT, at=TEXT, reason=TEXT, pages=COUNT)

_WAYS_OUT = {
    "INVALID_TIME": f"Give a time that has been, such as {TIME_FORMS}; or last_look, or a changeSet.",
    "UNKNOWN_CHANGE_SET": "Call changes_status for a changeSet of yours, or give a time.",
    "PATH_NOT_FOUND": "Call get_tree for the paths, or list_changes without path.",
    "PAGE_NOT_FOUND": "Call list_pages or search_pages for the path; list_changes names deleted pages.",
    "INVALID_ARGUMENTS": "Leave out control characters, then make the same call again.",
    "INVALID_CURSOR": "Ask again without a cursor, then go on.",
    "UNKNOWN_VERSION": "Call page_history with this path for the versions.",
    "TOO_SLOW": "Ask for less: a later time in since, fewer days. If it happens again, tell the person.",
    "TEXT_REMOVED": "Call page_history with this path: versions without textRemoved have their text.",
}


class Since(Arguments):
    """What list_changes takes."""

    since: Annotated[str, Field(description="A time, or a changeSet.")] = "last_look"
    by: str | None = None
    path: str | None = None
    cursor: str | None = None


class Versions(Arguments):
    """What page_history takes."""

    path: str
    before: Annotated[int | None, Field(ge=1, description="Only older versions.")] = None


class Compared(Arguments):
    """What diff_page takes."""

    path: str
    from_version: Annotated[int | None, Field(ge=1, alias="from", description="Default: one before.")] = None
    to_version: Annotated[int | None, Field(ge=1, alias="to", description="Default: newest.")] = None


class Trashed(Arguments):
    """What list_trash takes."""

    cursor: str | None = None


def ask_history(session: Session, command: str, arguments: Mapping[str, object]) -> Mapping[str, Any]:
    """The answer of the daemon to a question about history. Raises Failed."""
    answer = ask_daemon(session, command, arguments, "what only its rows know cannot be told")
    if answer.failure is None:
        return answer.result or {}
    code = str(answer.failure.get("code", "REFUSED"))
    kind: Kind = "invalid" if code.startswith("INVALID_") else "not_found" if code in _WAYS_OUT else "forbidden"
    kind = "busy" if code == "TOO_SLOW" else kind
    way_out = _WAYS_OUT.get(code, "Tell the person what mirrord answered.")
    raise Failed(code, kind, str(answer.failure.get("sentence", "It was refused.")), way_out)


def read_whole_version(session: Session, path: str, version: int) -> tuple[str, str]:
    """The path of a page now, and its whole text in an earlier version. Raises Failed."""
    parts, place = list[str](), path
    offset: int | None = 0
    while offset is not None:
        asked_for = {"path": path, "version": version, "offset": offset, "limit": _PART_CHARACTERS}
        part = ask_history(session, "read_version", asked_for)
        parts.append(part["content"])
        offset, place = part["nextOffset"], str(part["path"])
    return place, "".join(parts)


def _list_changes(session: Session, arguments: Since) -> Wire:
    question = "\0".join(("list_changes", arguments.since, arguments.by or "", arguments.path or ""))
    asked_for: dict[str, object] = {"since": arguments.since, "by": arguments.by, "path": arguments.path}
    if arguments.cursor is not None:
        period, start = cursor_position(arguments.cursor, question)
        begin, _, end = period.partition(" ")
        asked_for |= {"from": begin, "until": end, "start": start}
    result = ask_history(session, "list_changes", asked_for)
    answer = {"since": result.get("since"), "changes": result.get("changes", [])}
    next_start = result.get("next_start")
    if next_start is None:
        return answer
    return {**answer, "nextCursor": cursor_of(question, f"{result['since']} {result['until']}", int(next_start))}


def _page_history(session: Session, arguments: Versions) -> Wire:
    result = ask_history(session, "page_history", {"path": arguments.path, "before": arguments.before})
    answer = {key: value for key, value in result.items() if key != "next_before"}
    return answer if result.get("next_before") is None else {**answer, "nextBefore": result["next_before"]}


def _diff_page(session: Session, arguments: Compared) -> Wire:
    asked_for = {"path": arguments.path, "from": arguments.from_version, "to": arguments.to_version}
    result = ask_history(session, "diff_page", asked_for)
    answer = {key: value for key, value in result.items() if key != "characters"}
    if result.get("characters", 0) > len(str(result.get("diff", ""))):
        answer["note"] = "The diff is cut: compare versions that lie closer together."
    return answer


def _list_trash(session: Session, arguments: Trashed) -> Wire:
    from mirrord.commands.pages.page_trash import is_shown, leader_of

    start = cursor_position(arguments.cursor, "list_trash")[1] if arguments.cursor is not None else 0
    with translating_errors():
        stored = [
            file for file in reversed(trash.list_trash(session.tree)) if is_shown(file) and _is_listed(session, file)
        ]
    removed = [(file.card, key_of(file.name)) for file in stored if file.card is not None]
    keys = {key for _, key in removed}
    followers = Counter(leader_of(card) for card, _ in removed if card.path.endswith(".md"))
    pages = [(card, key) for card, key in removed if leader_of(card) not in keys]
    listed = [
        {
            "path": card.path,
            "trashId": key,
            "at": datetime.fromtimestamp(card.time, UTC).isoformat(timespec="seconds"),
            "reason": card.reason,
            **({"pages": followers[key] + card.path.endswith(".md")} if followers[key] else {}),
        }
        for card, key in pages[start : start + MAX_TRASHED]
    ]
    end = start + len(listed)
    return {"trash": listed} | ({"nextCursor": cursor_of("list_trash", "", end)} if end < len(pages) else {})


def _is_listed(session: Session, file: trash.TrashedFile) -> bool:
    """Within a scope, records only come back with their pages: by themselves they may be those of hidden ones."""
    is_scoped = session.tree.whole is not session.tree
    return not (is_scoped and file.card is not None and file.card.path.startswith(f"{RECORDS}/"))


LIST_CHANGES = Tool(
    "list_changes",
    "What changed since",
    "Lists what changed since a time, by default your last look: kind, author, lines. Reverted changes are left out. "
    'Example: {"since": "2026-01-31T14:00", "path": "Projects"}.',
    Since,
    result_schema({"since": TEXT, "changes": array_schema(ANY), "nextCursor?": TEXT}),
    _list_changes,
    waits=True,
    about_changes=True,
)
PAGE_HISTORY = Tool(
    "page_history",
    "Versions of a page",
    "Lists the versions of a page, deleted ones too, the newest first: time, author, what changed. "
    'Example: {"path": "Projects/Alpha.md"}.',
    Versions,
    result_schema({"path": TEXT, "pageId": TEXT, "versions": array_schema(ANY), "nextBefore?": COUNT}),
    _page_history,
    waits=True,
    about_changes=True,
)
DIFF_PAGE = Tool(
    "diff_page",
    "Compare versions of a page",
    "Shows what changed between two versions of a page, by default the last change. "
    'Example: {"path": "Projects/Alpha.md", "from": 3, "to": 5}.',
    Compared,
    result_schema({"path": TEXT, "from": COUNT, "to": COUNT, "diff": TEXT, "note?": TEXT}),
    _diff_page,
    waits=True,
    about_changes=True,
)
LIST_TRASH = Tool(
    "list_trash",
    "List the trash",
    "Lists deletions, the newest first, with the trashId that restore_page takes. Example: {}.",
    Trashed,
    result_schema({"trash": array_schema(_TRASHED), "nextCursor?": TEXT}),
    _list_trash,
)

HISTORY_TOOLS = (LIST_CHANGES, PAGE_HISTORY, DIFF_PAGE, LIST_TRASH)
