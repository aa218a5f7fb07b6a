"""Reviews of change sets in the console, page by page; and the list of change sets with their undo."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from functools import partial
from typing import Any
from uuid import UUID

import psycopg
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from mirrord.db import change_set_rows, review_rows
from mirrord.db.approval_rows import StoredRequest
from mirrord.db.change_set_rows import ChangeSet
from mirrord.db.content import dialect_rows
from mirrord.db.database import Connection
from mirrord.db.review_rows import StoredReview
from mirrord.domain.dialect import Dialect
from mirrord.domain.entry import Actor, Kind, TenantId
from mirrord.domain.review import ChangePreview, ReviewChoice, choice_of, clashes_of
from mirrord.errors import Refused, Stale
from mirrord.markdown.read.reader import read_document
from mirrord.operations import change_diffs, review_choices
from mirrord.operations.change_diffs import ChangedEntry
from mirrord.operations.review_decisions import Acceptance, Reviewer
from mirrord.operations.undo import UndoRequest, preview_undo
from mirrord.web.read_limits import run_in_thread
from mirrord.web.request_context import (
    CHANNEL,
    Visit,
    entry_of,
    json_response,
    not_found,
    read_json,
    refusal,
    require_operator,
    visit_of,
)
from mirrord.web.text_comparison import diff_hunks

_MAX_LISTED = 50  # change sets
_MAX_COMMENT_CHARACTERS = 1_000
_MAX_FOLLOWED = 3  # moves that a page's links follow
_MAX_SHOWN = 100  # entries of a change set
_MAX_COMPARED_CHARACTERS = 400_000  # of all texts of a change set, before and after: sync runs in the same process
_MAX_RENDERED_CHARACTERS = 200_000  # of a text that is also shown as a document
_ENDED = "This change set does not wait for a review, or not any more."
_CHANGED = "This change set is another one now. Look at it again; nothing was decided."


async def list_reviews(request: Request) -> Response:
    """GET api/reviews: the change sets that wait, the oldest first."""
    visit = await visit_of(request)
    async with visit.read_transaction() as connection:
        waiting = await review_rows.list_waiting(connection, TenantId(visit.tenant))
    return json_response({"reviews": [_waiting_facts(stored) for stored in waiting], "may_decide": _may_decide(visit)})


async def show_review(request: Request) -> Response:
    """GET api/reviews/{change_set}: the pages that it would change now, without their texts."""
    visit = await visit_of(request)
    look = await _reviewer_of(visit).look(_change_set_of(request))
    if look is None:
        raise HTTPException(404, _ENDED)
    review = look.review
    changes = [_change_facts(review, change) for change in review.changes]
    facts = {"shown": review.shown, "is_current": look.is_fresh, "changes": changes, "may_decide": _may_decide(visit)}
    return json_response(_waiting_facts(review.request) | facts)


async def show_reviewed_page(request: Request) -> Response:
    """GET api/reviews/{change_set}/page?path=: the changed blocks of a page, its text, and both as documents."""
    visit = await visit_of(request)
    async with visit.read_transaction() as connection:
        review = await _load_review(connection, visit)
        dialect = await dialect_rows.load_dialect(connection, TenantId(visit.tenant))
    path = request.query_params.get("path", "")
    change = next((review.shown_change(change) for change in review.changes if change.path == path), None)
    if change is None:
        raise not_found()
    return json_response(await run_in_thread(_page_facts, review, change, dialect))


async def choose_page(request: Request) -> Response:
    """POST api/reviews/{change_set}/page: `shown`, `path`, and `text`, the person's own; null: the agent's again."""
    visit = require_operator(await visit_of(request))
    body = await read_json(request, shown=str, path=str, text=(str, type(None)))
    async with visit.write_transaction() as connection:
        review = await _load_shown(connection, visit, body["shown"])
        agents_text = next((change.new for change in review.changes if change.path == body["path"]), None)
        text = body["text"] if body["text"] is not None else agents_text
        choice = review_choices.edit_page(review, body["path"], text or "")
        await review_rows.store_choice(connection, review.request.id, choice)
    return json_response({"shown": replace(review, choice=choice).shown})


async def decide_review(request: Request) -> Response:
    """
    POST api/reviews/{change_set}: `shown`, `accept`, `rejected`, `blocks` by path, `comment`.

    Of an accepted part the answer says whether it `is_applied`.
    """
    visit = require_operator(await visit_of(request))
    body = await read_json(request, shown=str, accept=bool, rejected=list, blocks=dict, comment=(str, type(None)))
    comment = (body["comment"] or "").strip()[:_MAX_COMMENT_CHARACTERS] or None
    if body["accept"]:
        return json_response({"is_applied": await _accept(visit, body, comment)})
    async with visit.write_transaction() as connection:
        review = await _load_shown(connection, visit, body["shown"])
        await review_rows.decide_review(
            connection, TenantId(visit.tenant), review, accept=False, comment=comment, channel=CHANNEL
        )
    return json_response({})


async def _accept(visit: Visit, body: Mapping[str, Any], comment: str | None) -> bool:
    choose = partial(_choice_in, body=body)
    return await accept_review(
        visit, Acceptance(_change_set_of(visit.request), choose, body["shown"], comment, CHANNEL)
    )


async def accept_review(visit: Visit, acceptance: Acceptance) -> bool:
    """Accept a part of a change set; whether it is applied. Raises 409 if the person saw another one, and 422."""
    try:
        return (await _reviewer_of(visit).accept(acceptance)).is_applied
    except Stale as error:
        raise HTTPException(409, _CHANGED) from error
    except Refused as error:
        raise refusal(str(error)) from error


async def list_changes(request: Request) -> Response:
    """GET api/changes: the newest change sets, and which of them can be undone."""
    visit = await visit_of(request)
    tenant = TenantId(visit.tenant)
    async with visit.read_transaction() as connection:
        change_sets = await change_set_rows.load_change_sets(connection, tenant, _MAX_LISTED)
        ids = [change_set.id for change_set in change_sets]
        counts = await change_set_rows.count_entries(connection, tenant, ids)
    return json_response([_change_set_facts(change_set, counts) for change_set in change_sets])


async def show_change(request: Request) -> Response:
    """GET api/changes/{change_set}: the entries that it changed, with the differences of their texts."""
    visit = await visit_of(request)
    change_set = UUID(str(entry_of(request.path_params["change_set"])))
    async with visit.read_transaction() as connection:
        tenant = TenantId(visit.tenant)
        changed, further = await change_diffs.load_first_changed(connection, tenant, change_set, _MAX_SHOWN)
    if not changed:
        raise not_found()
    entries = await run_in_thread(_changed_facts, changed)
    return json_response({"entries": entries, "further": further})


async def preview_undo_of(request: Request) -> Response:
    """GET api/changes/{change_set}/undo: what an undo would do, and what clashes."""
    visit = await visit_of(request)
    actor = Actor("human", visit.session.name)
    asked_for = UndoRequest(actor, str(entry_of(request.path_params["change_set"])))
    try:
        outcome = await preview_undo(visit.app.database, TenantId(visit.tenant), asked_for)
    except Refused as error:
        raise refusal(str(error)) from error
    return json_response(outcome.facts())


async def ask_undo(request: Request) -> Response:
    """POST api/changes/{change_set}/undo: `partial`; the daemon carries it out. The id of the undo."""
    visit = require_operator(await visit_of(request))
    body = await read_json(request, partial=bool)
    change_set = UUID(str(entry_of(request.path_params["change_set"])))
    query = "SELECT mirrord.undo_change_set(%s, %s)"
    try:
        async with visit.write_transaction() as connection:
            row = await (await connection.execute(query, (change_set, body["partial"]))).fetchone()
    except psycopg.errors.NoDataFound as error:
        raise not_found() from error
    return json_response({"change_set": row[0] if row is not None else None})


def _may_decide(visit: Visit) -> bool:
    return visit.role.is_operator


def _reviewer_of(visit: Visit) -> Reviewer:
    return Reviewer(visit.app.database, TenantId(visit.tenant), Actor("human", visit.session.name))


def _change_set_of(request: Request) -> str:
    return str(entry_of(request.path_params["change_set"]))


async def _load_review(connection: Connection, visit: Visit) -> StoredReview:
    review = await review_rows.find_review(connection, TenantId(visit.tenant), _change_set_of(visit.request))
    if review is None:
        raise HTTPException(404, _ENDED)
    return review


async def _load_shown(connection: Connection, visit: Visit, shown_digest: str) -> StoredReview:
    """Raises 409 if the person saw another one."""
    review = await _load_review(connection, visit)
    if review.shown != shown_digest:
        raise HTTPException(409, _CHANGED)
    return review


def _choice_in(review: StoredReview, body: Mapping[str, Any]) -> ReviewChoice:
    """The choice in a body, with the person's texts of the pages that are accepted."""
    try:
        choice = choice_of({"rejected": body["rejected"], "blocks": body["blocks"]})
    except ValueError as error:
        raise refusal(str(error)) from error
    review_choices.check_paths(review, [*choice.rejected, *choice.blocks])
    review_choices.choose_parts(review, [], choice.blocks)
    texts, unfitting = (
        {path: text for path, text in mapping.items() if path not in choice.rejected}
        for mapping in (review.choice.texts, review.choice.unfitting)
    )
    return replace(choice, texts=texts, unfitting=unfitting)


def _waiting_facts(stored: StoredRequest) -> dict[str, Any]:
    facts = stored.preview.get("facts", {})
    return {
        "id": stored.arguments["change_set"],
        "title": facts.get("title"),
        "count": facts.get("changed_pages_count"),
        "message": stored.arguments.get("message"),
        "by": stored.actor,
        "at": stored.requested_at.isoformat(),
        "until": stored.expires_at.isoformat(),
    }


def _change_facts(review: StoredReview, change: ChangePreview) -> dict[str, Any]:
    is_edited, clashes = review.choice.text_of(change.path) is not None, clashes_of([change], review.choice)
    marks: dict[str, Any] = {"is_edited": is_edited, "is_rejected": change.path in review.choice.rejected}
    marks |= {"clash": clashes.get(change.path), "can_edit": change.clash is None or change.is_mendable}
    marks["follows"] = sorted(change.followed)[:_MAX_FOLLOWED]
    facts = {"path": change.path, "kind": change.kind, "source": change.source, "is_merged": change.is_merged}
    return facts | marks


def _page_facts(review: StoredReview, change: ChangePreview, dialect: Dialect) -> dict[str, Any]:
    blocks = review_choices.blocks_of(change) if change.kind != "deleted" else []
    listed: Sequence[Mapping[str, Any]] = [
        {"number": block.number, "hunks": _hunks_of(block.old, block.new)} for block in blocks
    ]
    facts = _change_facts(review, change) | {"blocks": listed, "text": change.new}
    if change.kind == "deleted":
        facts["hunks"] = _hunks_of(change.old or "", "")
    old, new = (_document_of(text, dialect) for text in (change.old, change.new))
    return facts | {"old_document": old, "new_document": new}


def _hunks_of(old: str, new: str) -> list[list[dict[str, Any]]]:
    return [[asdict(line) for line in hunk] for hunk in diff_hunks(old, new)]


def _document_of(text: str | None, dialect: Dialect) -> Mapping[str, Any] | None:
    return read_document(text, dialect) if text is not None and len(text) <= _MAX_RENDERED_CHARACTERS else None


def _changed_facts(changed: Sequence[ChangedEntry]) -> list[dict[str, Any]]:
    """hunks: None where the texts are too long to be compared for a list."""
    remaining, listed = _MAX_COMPARED_CHARACTERS, []
    for entry in changed:
        old, new = ("" if state.is_deleted else state.text or "" for state in (entry.before, entry.after))
        remaining -= len(old) + len(new)
        listed.append(
            {
                "page": entry.entry if entry.kind in (Kind.PAGE, Kind.FOLDER) and not entry.after.is_deleted else None,
                "name": entry.name,
                "before": entry.before.name if entry.before.name != entry.after.name else None,
                "changes": entry.changes,
                "removal": entry.removal,
                "hunks": _hunks_of(old, new) if remaining >= 0 else None,
            }
        )
    return listed


def _change_set_facts(change_set: ChangeSet, counts: Mapping[UUID, int]) -> dict[str, Any]:
    return {
        "id": change_set.id,
        "title": change_set.title,
        "kind": change_set.kind,
        "by": change_set.actor,
        "at": change_set.started_at.isoformat(),
        "count": counts.get(change_set.id, 0),
        "state": change_set.shown_state,
        "refused": (change_set.outcome or {}).get("refused"),
        "can_undo": change_set.state == "applied" and change_set.undone_by is None,
    }
