"""New pages: empty ones, copies, those that begin as a template, and the note of a day."""

import re
from uuid import UUID

from starlette.requests import Request
from starlette.responses import Response

from mirrord.db.database import Connection
from mirrord.domain.bound_page import BINDING_KEY, URL_KEY
from mirrord.domain.entry import EntryId
from mirrord.domain.place import clean_name
from mirrord.markdown.frontmatter.page_properties import REMOVED, with_keys
from mirrord.markdown.frontmatter.page_text import PageText
from mirrord.web.page_api import clean_title
from mirrord.web.request_context import Visit, entry_of, json_response, not_found, read_json, refusal, visit_of
from mirrord.web.rows import page_rows, tree_rows

TEMPLATES, DAILY = "Templates", "Daily"  # names of folders in the root
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_OWN_KEYS = ("id", "title", "position", BINDING_KEY, URL_KEY)  # of the page that is copied


async def create_page(request: Request) -> Response:
    """POST api/pages: a new page below `parent` (null: the root), begun as the page `template` (null: empty)."""
    visit = await visit_of(request)
    body = await read_json(
        request, parent=(str, type(None)), title=str, template=(str, type(None)), date=(str, type(None))
    )
    parent = entry_of(body["parent"]) if body["parent"] is not None else None
    title = clean_title(body["title"])
    async with visit.write_transaction() as connection:
        if parent is not None and await page_rows.load_title(connection, parent) is None:
            raise not_found()
        if body["template"] is None:
            page = await page_rows.create_page(connection, parent, title)
        else:
            text = await _load_text(connection, entry_of(body["template"]))
            page = await _create_copy(connection, parent, title, _filled(text, title, _date_of(body["date"])))
    return _created(visit, page)


async def duplicate_page(request: Request) -> Response:
    """POST api/pages/{page}/duplicate: a copy of the page beside it, without the pages inside it."""
    visit = await visit_of(request)
    async with visit.write_transaction() as connection:
        page = await page_rows.load_page(connection, visit.page)
        if page is None or page.is_deleted or page.kind == "folder":
            raise not_found()
        text = await _load_text(connection, visit.page)
        copy = await _create_copy(connection, page.parent, f"{page.title} (copy)", text)
    return _created(visit, copy)


async def open_daily_note(request: Request) -> Response:
    """POST api/daily: the page of the day `date` (of the person's calendar), made if there is none."""
    visit = await visit_of(request)
    day = _date_of((await read_json(request, date=str))["date"])
    async with visit.write_transaction() as connection:
        await page_rows.lock_places(connection)
        folder = await page_rows.find_by_place(connection, None, DAILY)
        parent = folder.id if folder else await page_rows.create_page(connection, None, DAILY)
        note = await page_rows.find_by_place(connection, parent, day)
        if note is not None:
            return json_response({"id": note.id, "href": visit.href(note.id)})
        template = await _find_template(connection, DAILY)
        if template is None:
            page = await page_rows.create_page(connection, parent, day)
        else:
            page = await _create_copy(
                connection, parent, day, _filled(await _load_text(connection, template), day, day)
            )
    return _created(visit, page)


async def list_templates(request: Request) -> Response:
    """GET api/templates: the pages in the folder Templates."""
    visit = await visit_of(request)
    async with visit.read_transaction() as connection:
        folder = await page_rows.find_by_place(connection, None, TEMPLATES)
        pages = await tree_rows.load_children(connection, folder.id) if folder else []
    return json_response(
        [{"id": page.id, "title": page.title, "icon": page.icon} for page in pages if page.kind == "page"]
    )


async def _find_template(connection: Connection, name: str) -> EntryId | None:
    folder = await page_rows.find_by_place(connection, None, TEMPLATES)
    template = await page_rows.find_by_place(connection, folder.id, name) if folder else None
    return template.id if template and template.kind == "page" else None


async def _load_text(connection: Connection, page: UUID) -> str:
    copied = await page_rows.load_page(connection, page)
    if copied is None or copied.is_deleted or copied.kind == "folder":
        raise not_found()
    if copied.markdown is None or copied.ahead:
        raise refusal("This page is being written. Try again in a moment.")
    return copied.markdown


async def _create_copy(connection: Connection, parent: UUID | None, title: str, text: str) -> EntryId:
    """A page with *text*, which says nothing of the page that it was copied from."""
    page = PageText(text)
    copied = page if page.views.error else with_keys(page, dict.fromkeys(_OWN_KEYS, REMOVED))
    return await page_rows.create_from_text(connection, parent, clean_name(title, "copy"), copied.text)


def _filled(text: str, title: str, day: str) -> str:
    """A template with the places for the title and the date filled in; a title may be no YAML, so only in the body."""
    bom, head, body = PageText(text).parts
    return bom + head.replace("{{date}}", day) + body.replace("{{title}}", title).replace("{{date}}", day)


def _date_of(text: str | None) -> str:
    if text is None:
        return ""
    if not _DATE.fullmatch(text):
        raise refusal("A date is written as 2026-01-31.")
    return text


def _created(visit: Visit, page: EntryId) -> Response:
    return json_response({"id": page, "version": 1, "href": visit.href(page)}, 201)
