"""Uploads and downloads of attachments, which are served without any rights of the console."""

import asyncio
from urllib.parse import quote, unquote

from starlette.datastructures import UploadFile
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from mirrord.db import blobs
from mirrord.db.connect import Connection
from mirrord.domain.entry import Digest, EntryId, Kind, TenantId, digest_of
from mirrord.domain.place import clean
from mirrord.errors import UserError
from mirrord.sync import settling
from mirrord.sync.linking import meaning_of
from mirrord.sync.look import LIMIT
from mirrord.web.desk import Visit, answered, not_found, number_of, refused, visit_of
from mirrord.web.media import TAKEN, shown_as, taken_as
from mirrord.web.rows import attachments, pages
from mirrord.web.rows.pages import Page
from mirrord.web.settling import SIDES, bytes_of

# A file opened directly may run and load nothing, and has an origin of its own.
_FILE_POLICY = "default-src 'none'; style-src 'unsafe-inline'; sandbox; frame-ancestors 'none'"


async def bring(request: Request) -> Response:
    """POST api/pages/{page}/attachments: upload the multipart field `file`; returns its `src` for the page."""
    visit = await visit_of(request)
    if not visit.desk.uploads.allows(visit.session.id):
        raise HTTPException(429, "Too many uploads. Try again in a minute.")
    name, data = await _read_upload(request)
    kind = taken_as(name, data)
    if kind is None:
        raise HTTPException(
            415, f"{name!r} is not supported, or its content does not match. Supported: {', '.join(TAKEN)}."
        )
    digest = await asyncio.to_thread(digest_of, data)
    async with visit.writing() as connection:
        page = await pages.load(connection, visit.page)
        if page is None or page.deleted:
            raise not_found()
        stored = await attachments.add(connection, visit.tenant, _parent_of_assets(page), name, data, digest, kind)
    return answered({"src": f"./assets/{quote(stored)}"}, 201)


async def _read_upload(request: Request) -> tuple[str, bytes]:
    if not request.headers.get("content-type", "").lower().startswith("multipart/form-data"):
        raise HTTPException(415, "Send the file as multipart/form-data, in the field `file`.")
    async with request.form(max_files=1, max_fields=4) as form:
        upload = form.get("file")
        if not isinstance(upload, UploadFile):
            raise refused("The field `file` is missing.")
        data = await upload.read()
    if not data or len(data) > LIMIT:
        raise HTTPException(413 if data else 422, f"A file must have between 1 byte and {LIMIT // 1_000_000} MB.")
    stem, dot, ending = (upload.filename or "file").replace("\\", "/").rpartition("/")[2].rpartition(".")
    return clean(stem or "file", "file") + (f".{ending.lower()}" if dot and ending.isalnum() else ""), data


def _parent_of_assets(page: Page) -> EntryId | None:
    """The parent of attachments of a page: the entry whose `assets/` is next to the page's file."""
    return page.id if page.index or page.kind == "folder" else page.parent


async def hand_out(request: Request) -> Response:
    """GET p/{page}/file?src=: the bytes of the image with that `src` in the page."""
    visit = await visit_of(request)
    src = unquote(request.query_params.get("src", "").partition("?")[0].partition("#")[0])
    async with visit.reading() as connection:
        target = await meaning_of(connection, TenantId(visit.tenant), visit.page, "image", src)
        stored = await attachments.load(connection, target.entry) if target.entry is not None else None
        if stored is None:
            raise not_found()
        return await _file_response(visit, connection, stored.name, stored.digest)


async def hand_out_side(request: Request) -> Response:
    """GET conflicts/{number}/{side}: the current bytes of that side of a conflict about an attachment."""
    visit, side = await visit_of(request), request.path_params["side"]
    async with visit.reading() as connection:
        try:
            dispute = await settling.load(connection, TenantId(visit.tenant), number_of(request))
        except UserError as error:
            raise not_found() from error
        has_bytes = dispute.conflict.kind is Kind.ATTACHMENT and side in SIDES
        digest = bytes_of(dispute, side) if has_bytes else None
        if digest is None:
            raise not_found()
        return await _file_response(visit, connection, dispute.conflict.path, digest)


async def _file_response(visit: Visit, connection: Connection, name: str, digest: Digest) -> Response:
    tag = f'"{digest.hex()}"'
    is_unchanged = visit.request.headers.get("if-none-match") == tag
    data = None if is_unchanged else await blobs.load(connection, TenantId(visit.tenant), digest)
    headers = {"ETag": tag, "Cache-Control": "private, no-cache", "Content-Security-Policy": _FILE_POLICY}
    if is_unchanged:
        return Response(status_code=304, headers=headers)
    if data is None:
        raise not_found()
    kind = shown_as(name, data)
    if kind is None or kind == "image/svg+xml":
        headers["Content-Disposition"] = f"attachment; filename*=UTF-8''{quote(name.rpartition('/')[2], safe='')}"
    return Response(data, headers=headers, media_type=kind or "application/octet-stream")
