"""The history of a page: who made which version, what it changed, and back to one."""

import asyncio
from dataclasses import asdict
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from mirrord.db import revisions
from mirrord.db.connect import Connection, set_parents
from mirrord.db.revisions import Revision
from mirrord.domain.entry import TenantId
from mirrord.web.changes import hunks
from mirrord.web.desk import Visit, answered, asked, not_found, refused, visit_of
from mirrord.web.pages import written_or_current
from mirrord.web.rows import pages


async def versions(request: Request) -> Response:
    """GET api/pages/{page}/history: the newest version first."""
    visit = await visit_of(request)
    async with visit.reading() as connection:
        found = await revisions.history(connection, TenantId(visit.tenant), visit.page)
    if not found:
        raise not_found()
    return answered([_facts(one) for one in reversed(found)])


def _facts(one: Revision) -> dict[str, Any]:
    return {
        "version": one.version,
        "at": one.created_at.isoformat(),
        "by": one.actor,
        "changed": list(one.changed),
        "title": one.title,
        "deleted": one.deleted,
        "has_text": one.size is not None,
    }


async def difference(request: Request) -> Response:
    """GET api/pages/{page}/diff?before=&after=: lines, with the words that changed in them."""
    visit = await visit_of(request)
    before, after = (_number(request, name) for name in ("before", "after"))
    async with visit.reading() as connection:
        old, new = await _text(connection, visit, before), await _text(connection, visit, after)
    found = await asyncio.to_thread(hunks, old, new)
    return answered({"before": before, "after": after, "hunks": [[asdict(line) for line in hunk] for hunk in found]})


def _number(request: Request, name: str) -> int:
    """0: before there was anything."""
    said = request.query_params.get(name, "")
    if not said.isascii() or not said.isdigit() or len(said) > 18:
        raise refused(f"{name!r} is the number of a version.")
    return int(said)


async def _text(connection: Connection, visit: Visit, version: int) -> str:
    if version == 0:
        return ""
    text = await revisions.text_of(connection, TenantId(visit.tenant), visit.page, version)
    if text is None:
        raise refused(f"There is no version {version} with a text.")
    return text


async def restore(request: Request) -> Response:
    """POST api/pages/{page}/restore: the text of version `then` as the next one after `version`."""
    visit = await visit_of(request)
    body = await asked(request, version=int, then=int)
    async with visit.writing() as connection:
        text = await _text(connection, visit, body["then"])
        found = await pages.load(connection, visit.page)
        if found is None:
            raise not_found()
        if found.markdown == text and not found.deleted and not found.ahead:
            return answered({"version": found.version})
        await set_parents(connection, [body["version"], body["then"]])
        if found.deleted:
            body["version"] = await pages.revive(connection, visit.page)
        written = await pages.write_markdown(connection, visit.page, body["version"], text)
    return await written_or_current(visit, written)
