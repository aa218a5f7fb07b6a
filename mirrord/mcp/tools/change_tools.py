"""Tools for change sets: a draft of many changes, applied as a whole."""

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field

from mirrord.commands.core.answer_budget import take_rows
from mirrord.commands.core.connection_changes import ConnectionChanges, current_connection
from mirrord.commands.core.failure import invalid_argument
from mirrord.commands.core.session import Session
from mirrord.mcp.tools.arguments import (
    ANY,
    COUNT,
    TEXT,
    Arguments,
    Schema,
    array_schema,
    nullable,
    or_pending,
    result_schema,
)
from mirrord.mcp.tools.tool import Tool, Wire

if TYPE_CHECKING:
    from mirrord.commands.changes.apply_command import AppliedChanges
    from mirrord.commands.changes.change_commands import ChangeSetSummary

_MAX_OTHERS = 20  # change sets of the caller beside the open one
_CUT_NOTE = "The diff is cut: call review_changes with path for one page."
_SINGLE_CUT_NOTE = "The diff is cut: read_page shows the page as the change set has it."
_SHARED_NOTE = (
    "Over HTTP without sessions all programs with this token are one connection: they all work in this draft until it "
    "is applied or discarded. A program that must not needs a token of its own."
)
_CLASH_NOTE = (
    "A page with a clash keeps all of it from being applied: discard_changes with its path shows it as the "
    "tree has it, to be read and changed again. With an open conflict, delete_page the page with its other text, too."
)


class Begin(Arguments):
    """What begin_changes takes."""

    title: Annotated[str | None, Field(description="What the changes are for.")] = None
    change_set: Annotated[str | None, Field(description="Continue this one instead.")] = None


class Review(Arguments):
    """What review_changes takes."""

    path: str | None = None
    cursor: str | None = None


class Apply(Arguments):
    """What apply_changes takes."""

    message: Annotated[str | None, Field(description="What was done and why; default: the title.")] = None
    change_set: Annotated[str | None, Field(description="Default: the open one.")] = None


class Discard(Arguments):
    """What discard_changes takes."""

    path: str | None = None
    change_set: Annotated[str | None, Field(description="Default: the open one.")] = None


class Status(Arguments):
    """What changes_status takes."""

    cursor: str | None = None


def _summary(summary: "ChangeSetSummary") -> dict[str, Any]:
    facts = {"changeSet": summary.id, "title": summary.title, "state": summary.state, "begunAt": summary.begun_at}
    optional: dict[str, Any] = {"pages": summary.pages, "needs": summary.needs}
    optional |= {"message": summary.message, "comment": summary.comment}
    optional |= {"rejected": summary.rejected or None, "remainder": summary.remainder}
    return facts | {key: value for key, value in optional.items() if value is not None}


def _connection() -> ConnectionChanges:
    connection = current_connection()
    assert connection is not None
    return connection


def _begin(session: Session, arguments: Begin) -> Wire:
    from mirrord.commands.changes.change_commands import begin_changes

    connection = _connection()
    summary = _summary(begin_changes(session, connection, arguments.title, arguments.change_set))
    return summary | ({"note": _SHARED_NOTE} if connection.is_shared else {})


def _review(session: Session, arguments: Review) -> Wire:
    from mirrord.commands.changes.change_commands import review_changes

    review = review_changes(session, _connection(), arguments.path, arguments.cursor)
    changes = [{key: value for key, value in asdict(change).items() if value is not None} for change in review.changes]
    for change in changes:
        if "old_path" in change:
            change["oldPath"] = change.pop("old_path")
    answer: dict[str, Any] = {**_summary(review.summary), "changes": changes, "diff": review.diff}
    if review.underneath_diff:
        answer["underneathDiff"] = review.underneath_diff
    if review.omitted_count:
        answer |= {"more": review.omitted_count, "nextCursor": review.next_cursor}
    cut_note = _CUT_NOTE if len(changes) > 1 or review.omitted_count else _SINGLE_CUT_NOTE
    notes = [cut_note] if review.is_cut else []
    notes += [_CLASH_NOTE] if any("clash" in change for change in changes) else []
    if notes:
        answer["note"] = " ".join(notes)
    return answer


def _discard(session: Session, arguments: Discard) -> Wire:
    from mirrord.commands.changes.change_commands import discard_changes

    if arguments.path is not None:
        return _withdraw(session, arguments.path, arguments.change_set)
    return _summary(discard_changes(session, _connection(), arguments.change_set))


def _withdraw(session: Session, path: str, change_set: str | None) -> Wire:
    from mirrord.commands.changes.withdrawal import withdraw_file

    if change_set is not None:
        sentence = "discard_changes takes a path of the open change set only."
        raise invalid_argument("INVALID_ARGUMENTS", sentence, "Leave out changeSet, or leave out path.")
    note = "The page is as in the tree again: read it before you change it."
    return {**_summary(withdraw_file(session, _connection(), path)), "note": note}


def _status(session: Session, arguments: Status) -> Wire:
    """Drafts are files; what connections changed by themselves, and what was undone, only rows know."""
    from mirrord.commands.changes.change_commands import changes_status
    from mirrord.mcp.tools.change_set_list import list_change_sets

    current, others = changes_status(session, _connection())
    opened = _summary(current) if current is not None else None
    drafts = take_rows(map(_summary, others), _MAX_OTHERS)
    listed = list_change_sets(session, drafts, opened, arguments.cursor).marking(_connection().change_set)
    answer: dict[str, Any] = {"open": opened, "others": listed.change_sets}
    optional = {"nextCursor": listed.next_cursor, "note": listed.note}
    return answer | {key: value for key, value in optional.items() if value is not None}


def _apply_answer(applied: "AppliedChanges") -> Wire:
    counts = {sort: getattr(applied, sort) for sort in ("created", "edited", "moved", "deleted")}
    optional = {
        **({"merged": list(applied.merged)} if applied.merged else {}),
        **({"comment": applied.comment} if applied.comment else {}),
        **({"rejected": list(applied.rejected), "remainder": applied.remainder} if applied.rejected else {}),
        **({"note": applied.note} if applied.note is not None else {}),
    }
    return {"changeSet": applied.change_set, "state": "applied", "pages": applied.pages, **counts, **optional}


_COUNT_OR_CLASHES: Schema = {"type": ["integer", "array"]}  # a refusal lists the pages that clash
_SUMMARY = result_schema({"changeSet": TEXT, "title": TEXT, "state": TEXT, "pages": COUNT})

BEGIN_CHANGES = Tool(
    "begin_changes",
    "Begin a change set",
    "Your changes now go into a draft, which only your reads and searches show, until "
    'apply_changes or discard_changes. Example: {"title": "Tidy the inbox"}.',
    Begin,
    _SUMMARY,
    _begin,
    writes=True,
    idempotent=False,
    about_changes=True,
)
REVIEW_CHANGES = Tool(
    "review_changes",
    "Review the open change set",
    "Lists what the open change set changes, with line counts, a diff, and what others changed since; with "
    'path those of a page or folder. Example: {"path": "Projects/Alpha.md"}.',
    Review,
    result_schema({"changeSet": TEXT, "changes": array_schema(ANY), "diff": TEXT}),
    _review,
    about_changes=True,
)
APPLY_CHANGES = Tool(
    "apply_changes",
    "Apply the change set",
    "Makes the open change set real: all of it, merged with what others changed, or nothing and CONFLICT with the "
    'pages. Example: {"message": "Moved finished tasks to the archive"}.',
    Apply,
    or_pending(result_schema({"changeSet": TEXT, "state": TEXT, "pages": _COUNT_OR_CLASHES})),
    wire=_apply_answer,
    writes=True,
    destructive=True,
    idempotent=False,
    about_changes=True,
)
DISCARD_CHANGES = Tool(
    "discard_changes",
    "Discard the change set",
    "Drops the open change set, or only the page at path. Its texts stay in the trash for 30 days. Example: {}.",
    Discard,
    _SUMMARY,
    _discard,
    writes=True,
    idempotent=False,
    about_changes=True,
)
CHANGES_STATUS = Tool(
    "changes_status",
    "Your change sets",
    "Lists the open change set and your others, also of earlier connections, for undo_changes: in review, rejected "
    "with a comment, applied, undone or discarded. Example: {}.",
    Status,
    result_schema({"open": nullable(ANY), "others": array_schema(ANY), "nextCursor?": TEXT, "note?": TEXT}),
    _status,
    waits=True,
    about_changes=True,
)

CHANGE_TOOLS = (BEGIN_CHANGES, REVIEW_CHANGES, APPLY_CHANGES, DISCARD_CHANGES, CHANGES_STATUS)
