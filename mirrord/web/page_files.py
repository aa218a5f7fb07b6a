"""Attachments of a page: uploads and downloads."""

import asyncio
from urllib.parse import quote, unquote

from starlette.datastructures import UploadFile
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from mirrord.db.content import stored_bytes
from mirrord.db.database import Connection
from mirrord.db.feed_cursors import load_unfollowed
from mirrord.documents.link_places import meaning_of
from mirrord.domain.entry import MAX_FILE_BYTES, EntryId, Kind, TenantId, digest_of
from mirrord.domain.place import clean_name
from mirrord.errors import UserError
from mirrord.operations import conflict_resolution
from mirrord.web.conflict_writer import SIDES, digest_of_side
from mirrord.web.media_types import ACCEPTED_EXTENSIONS, accepted_media_type, displayed_media_type
from mirrord.web.request_context import json_response, not_found, number_of, refusal, visit_of
from mirrord.web.rows import file_rows, page_rows
from mirrord.web.rows.file_rows import StoredAttachment
from mirrord.web.rows.page_rows import Page

# A file opened directly may run and load nothing, and has an origin of its own.
_FILE_POLICY = "default-src 'none'; style-src 'unsafe-inline'; sandbox; frame-ancestors 'none'"


async def upload_attachment(request: Request) -> Response:
    """POST api/pages/{page}/attachments: upload the multipart field `file`; returns its `src` for the page."""
    visit = await visit_of(request)
    if not visit.app.upload_rate.allows(visit.session.id):
        raise HTTPException(429, "Too many uploads. Try again in a minute.")
    name, data = await _read_upload(request)
    kind = accepted_media_type(name, data)
    if kind is None:
        raise HTTPException(
            415,
            f"{name!r} is not supported, or its content does not match. Supported: {', '.join(ACCEPTED_EXTENSIONS)}.",
        )
    upload = file_rows.Upload(name, data, await asyncio.to_thread(digest_of, data), kind)
    async with visit.write_transaction() as connection:
        page = await page_rows.load_page(connection, visit.page)
        if page is None or page.is_deleted:
            raise not_found()
        stored = await file_rows.add_attachment(connection, visit.tenant, _parent_of_assets(page), upload)
    return json_response({"src": f"./assets/{quote(stored)}"}, 201)


async def _read_upload(request: Request) -> tuple[str, bytes]:
    if not request.headers.get("content-type", "").lower().startswith("multipart/form-data"):
        raise HTTPException(415, "Send the file as multipart/form-data, in the field `file`.")
    async with request.form(max_files=1, max_fields=4) as form:
        upload = form.get("file")
        if not isinstance(upload, UploadFile):
            raise refusal("The field `file` is missing.")
        data = await upload.read()
    if not data or len(data) > MAX_FILE_BYTES:
        raise HTTPException(
            413 if data else 422, f"A file must have between 1 byte and {MAX_FILE_BYTES // 1_000_000} MB."
        )
    stem, dot, ending = (upload.filename or "file").replace("\\", "/").rpartition("/")[2].rpartition(".")
    return clean_name(stem or "file", "file") + (f".{ending.lower()}" if dot and ending.isalnum() else ""), data


def _parent_of_assets(page: Page) -> EntryId | None:
    """The parent of attachments of a page: the entry whose `assets/` is next to the page's file."""
    return page.id if page.index or page.kind == "folder" else page.parent


async def download_file(request: Request) -> Response:
    """GET p/{page}/file?src=: the bytes of the image with that `src` in the page."""
    visit = await visit_of(request)
    src = unquote(request.query_params.get("src", "").partition("?")[0].partition("#")[0])
    async with visit.read_transaction() as connection:
        unfollowed = await load_unfollowed(connection, TenantId(visit.tenant))  # a picture that was just pasted is one
        target = await meaning_of(connection, TenantId(visit.tenant), visit.page, "image", src, unfollowed)
        stored = await file_rows.load_attachment(connection, target.entry) if target.entry is not None else None
        if stored is None:
            raise not_found()
        return await file_response(request, connection, TenantId(visit.tenant), stored)


async def download_side(request: Request) -> Response:
    """GET conflicts/{number}/{side}: the current bytes of that side of a conflict about an attachment."""
    visit, side = await visit_of(request), request.path_params["side"]
    async with visit.read_transaction() as connection:
        try:
            dispute = await conflict_resolution.load_dispute(connection, TenantId(visit.tenant), number_of(request))
        except UserError as error:
            raise not_found() from error
        has_bytes = dispute.conflict.kind is Kind.ATTACHMENT and side in SIDES
        digest = digest_of_side(dispute, side) if has_bytes else None
        if digest is None:
            raise not_found()
        side_file = StoredAttachment(dispute.conflict.path, digest)
        return await file_response(request, connection, TenantId(visit.tenant), side_file)


async def file_response(
    request: Request, connection: Connection, tenant: TenantId, stored: StoredAttachment
) -> Response:
    """The bytes of an attachment; 304 if the client has them. Raises 404."""
    name, digest = stored.name, stored.digest
    tag = f'"{digest.hex()}"'
    is_unchanged = request.headers.get("if-none-match") == tag
    data = None if is_unchanged else await stored_bytes.load_blob(connection, tenant, digest)
    headers = {"ETag": tag, "Cache-Control": "private, no-cache", "Content-Security-Policy": _FILE_POLICY}
    if is_unchanged:
        return Response(status_code=304, headers=headers)
    if data is None:
        raise not_found()
    kind = displayed_media_type(name, data)
    if kind is None or kind == "image/svg+xml":
        headers["Content-Disposition"] = f"attachment; filename*=UTF-8''{quote(name.rpartition('/')[2], safe='')}"
    return Response(data, headers=headers, media_type=kind or "application/octet-stream")
