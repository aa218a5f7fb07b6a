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
from mirrord.merge.changed_blocks import changed_blocks, select_blocks
from mirrord.web.page_api import version_or_conflict
from mirrord.web.read_limits import run_in_thread
from mirrord.web.request_context import Visit, json_response, not_found, read_json, refusal, visit_of
from mirrord.web.rows import page_rows
from mirrord.web.rows.page_rows import Page
from mirrord.web.text_comparison import diff_hunks

_MAX_COMPARED_VERSIONS = 20  # after the one that a text was made from
_MAX_READ_CHARACTERS = 200_000  # of changed blocks that are also shown as documents


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


async def show_blocks(request: Request) -> Response:
    """
    GET api/pages/{page}/blocks?before=&after=: the changed blocks, as source and as a person reads them.

    Without `before` they are what would change if the text of `after` came back; `version` is the page's then.
    """
    visit = await visit_of(request)
    after = _version_in_query(request, "after")
    async with visit.read_transaction() as connection:
        new = await _load_text(connection, visit, after)
        if "before" in request.query_params:
            version, old = None, await _load_text(connection, visit, _version_in_query(request, "before"))
        else:
            page = await _load_written(connection, visit)
            version, old = page.version, page.markdown or ""
        dialect = await dialect_rows.load_dialect(connection, TenantId(visit.tenant))
    return json_response({"version": version, "blocks": await run_in_thread(_list_blocks, old, new, dialect)})


async def _load_written(connection: Connection, visit: Visit) -> Page:
    """The page with a text that has all its changes."""
    page = await page_rows.load_page(connection, visit.page)
    if page is None:
        raise not_found()
    if page.ahead:
        raise refusal("This page is being written. Try again in a moment.")
    return page


def _list_blocks(old: str, new: str, dialect: Dialect) -> list[dict[str, Any]]:
    remaining = _MAX_READ_CHARACTERS
    blocks: list[dict[str, Any]] = []
    for block in changed_blocks(old, new):
        remaining -= len(block.old) + len(block.new)
        documents = [read_document(text, dialect) if remaining >= 0 else None for text in (block.old, block.new)]
        hunks = [[asdict(line) for line in hunk] for hunk in diff_hunks(block.old, block.new)]
        blocks.append({"number": block.number, "hunks": hunks, "old": documents[0], "new": documents[1]})
    return blocks


async def restore_version(request: Request) -> Response:
    """
    POST api/pages/{page}/restore: the text of version `then` as the next one after `version`.

    With a `block` only that one of those that differ, as show_blocks() numbers them; null: the whole text.
    """
    visit = await visit_of(request)
    body = await read_json(request, version=int, then=int, block=(int, type(None)))
    if body["block"] is not None:
        return await version_or_conflict(visit, await _restore_block(visit, body))
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


async def _restore_block(visit: Visit, body: dict[str, Any]) -> int | None:
    """The new version; None: the page is another one than the blocks were shown of."""
    async with (
        visit.app.costly_reads.turn(visit.session.id, visit.tenant),
        visit.write_transaction() as connection,
    ):
        then = await _load_text(connection, visit, body["then"])
        page = await _load_written(connection, visit)
        if page.version != body["version"]:
            return None
        text = await run_in_thread(select_blocks, page.markdown or "", then, {body["block"]})
        if text == page.markdown:
            raise refusal(f"There is no changed block {body['block']}.")
        return await page_rows.write_markdown(connection, visit.page, page.version, text)
