"""The history of a page: versions, authors, differences, restore."""

import asyncio
from dataclasses import asdict
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from mirrord.db.content import entry_versions
from mirrord.db.content.entry_versions import Revision
from mirrord.db.database import Connection, set_parents
from mirrord.domain.entry import TenantId
from mirrord.web.page_api import version_or_conflict
from mirrord.web.request_context import Visit, json_response, not_found, read_json, refusal, visit_of
from mirrord.web.rows import page_rows
from mirrord.web.text_comparison import diff_hunks


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
    }


async def show_difference(request: Request) -> Response:
    """GET api/pages/{page}/diff?before=&after=: the changed lines, with their changed words."""
    visit = await visit_of(request)
    before, after = (_version_in_query(request, name) for name in ("before", "after"))
    async with visit.read_transaction() as connection:
        old, new = await _load_text(connection, visit, before), await _load_text(connection, visit, after)
    changes = await asyncio.to_thread(diff_hunks, old, new)
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
