"""Versions of a page as JSON: their list, texts that are among them, differences, and how one is restored."""

from dataclasses import asdict
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from mirrord.db.content import dialect_rows, entry_versions
from mirrord.db.content.entry_versions import Revision
from mirrord.db.database import Connection, set_parents
from mirrord.domain.dialect import Dialect
from mirrord.domain.entry import TenantId
from mirrord.errors import Damaged
from mirrord.markdown.read.reader import read_document
from mirrord.markdown.schema.document import check_document, make_document
from mirrord.markdown.schema.normal_form import normalize
from mirrord.web.page_api import version_or_conflict
from mirrord.web.read_limits import run_in_thread
from mirrord.web.request_context import Visit, json_response, not_found, read_json, refusal, visit_of
from mirrord.web.rows import page_rows
from mirrord.web.text_comparison import diff_hunks

_MAX_COMPARED_VERSIONS = 20  # after the one that a text was made from


async def find_text(request: Request) -> Response:
    """
    POST api/pages/{page}/saved: whether a version after `version` has the text `markdown`, or the document `content`.

    A browser that left before the answer to a save asks so.
    """
    visit = await visit_of(request)
    body = await read_json(request, version=int, markdown=(str, type(None)), content=(dict, type(None)))
    async with visit.read_transaction() as connection:
        texts = await entry_versions.load_next_texts(
            connection, TenantId(visit.tenant), visit.page, body["version"], _MAX_COMPARED_VERSIONS
        )
        dialect = await dialect_rows.load_dialect(connection, TenantId(visit.tenant))
    is_saved = body["markdown"] in texts
    if not is_saved and body["content"] is not None:
        is_saved = await run_in_thread(_has_document, texts, body["content"], dialect)
    return json_response({"saved": is_saved})


def _has_document(texts: list[str], content: dict[str, Any], dialect: Dialect) -> bool:
    """Whether one of *texts* is read as *content*; False for a document that is none."""
    try:
        check_document(content)
    except Damaged:
        return False
    document = normalize(make_document(content.get("content") or []))
    return any(normalize(read_document(text, dialect)) == document for text in texts)


async def list_versions(request: Request) -> Response:
    """GET api/pages/{page}/history: the newest version first."""
    visit = await visit_of(request)
    async with visit.read_transaction() as connection:
        history = await entry_versions.load_history(connection, TenantId(visit.tenant), visit.page)
    if not history:
        raise not_found()
    return json_response([_facts(revision) for revision in reversed(history)])


def _facts(revision: Revision) -> dict[str, Any]:
    return {
        "version": revision.version,
        "at": revision.created_at.isoformat(),
        "by": revision.actor,
        "changed": list(revision.changed),
        "title": revision.title,
        "deleted": revision.is_deleted,
        "has_text": revision.size is not None,
        "text_removed": revision.text_removed_at is not None,
    }


async def show_difference(request: Request) -> Response:
    """GET api/pages/{page}/diff?before=&after=: the changed lines, with their changed words."""
    visit = await visit_of(request)
    before, after = (_version_in_query(request, name) for name in ("before", "after"))
    async with visit.read_transaction() as connection:
        old, new = await _load_text(connection, visit, before), await _load_text(connection, visit, after)
    changes = await run_in_thread(diff_hunks, old, new)
    return json_response(
        {"before": before, "after": after, "hunks": [[asdict(line) for line in hunk] for hunk in changes]}
    )


def _version_in_query(request: Request, name: str) -> int:
    """The version in a query parameter; 0: the empty page before the first one."""
    text = request.query_params.get(name, "")
    if not text.isascii() or not text.isdigit() or len(text) > 18:
        raise refusal(f"{name!r} must be the number of a version.")
    return int(text)


async def _load_text(connection: Connection, visit: Visit, version: int) -> str:
    if version == 0:
        return ""
    text = await entry_versions.load_text(connection, TenantId(visit.tenant), visit.page, version)
    if text is None:
        raise refusal(f"There is no version {version} with a text.")
    return text


async def restore_version(request: Request) -> Response:
    """POST api/pages/{page}/restore: the text of version `then` as the next one after `version`."""
    visit = await visit_of(request)
    body = await read_json(request, version=int, then=int)
    async with visit.write_transaction() as connection:
        text = await _load_text(connection, visit, body["then"])
        page = await page_rows.load_page(connection, visit.page)
        if page is None:
            raise not_found()
        if page.markdown == text and not page.is_deleted and not page.ahead:
            return json_response({"version": page.version})
        await set_parents(connection, [body["version"], body["then"]])
        if page.is_deleted:
            body["version"] = await page_rows.revive_page(connection, visit.page)
        written = await page_rows.write_markdown(connection, visit.page, body["version"], text)
    return await version_or_conflict(visit, written)
