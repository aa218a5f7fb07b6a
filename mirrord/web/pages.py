"""Pages as JSON: read, written under the version that was read, made, named, moved, deleted, brought back."""

from typing import Any
from uuid import UUID

import orjson
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from mirrord.db.connect import Connection
from mirrord.domain.entry import TenantId
from mirrord.domain.place import clean
from mirrord.sync.linking import paths_of
from mirrord.web.desk import Visit, answered, asked, entry_of, not_found, refused, visit_of
from mirrord.web.order import stand
from mirrord.web.rows import pages, tree
from mirrord.web.rows.pages import Page
from mirrord.web.rows.tree import Node

_ALL = 5000  # siblings among which a page may be put at a place of its own
_LONGEST = 500  # characters of a title


async def show(request: Request) -> Response:
    """GET api/pages/{page}?known=: without the texts if that version, which the client has, is still the page's."""
    visit = await visit_of(request)
    said = request.query_params.get("known", "")
    known = int(said) if said.isascii() and said.isdigit() and len(said) < 19 else None
    async with visit.reading() as connection:
        return answered(await facts_of(connection, visit.tenant, visit.page, known))


async def show_version(request: Request) -> Response:
    """GET api/pages/{page}/version: what a change of its place or name has to name, without all that the page says."""
    visit = await visit_of(request)
    async with visit.reading() as connection:
        version = await pages.version_of(connection, visit.page)
    if version is None:
        raise not_found()
    return answered({"version": version})


async def facts_of(connection: Connection, tenant: UUID, page: UUID, known: int | None = None) -> dict[str, Any]:
    """A page as the console's client knows it. known: the version whose texts it has. Raises 404."""
    found = await pages.load(connection, page, known)
    if found is None:
        raise not_found()
    paths = await paths_of(connection, TenantId(tenant), [found.id])
    return facts(found, paths[found.id] if found.name else f"{found.title}.md")


def facts(page: Page, path: str) -> dict[str, Any]:
    """The contract with the client."""
    content = None if page.content is None else orjson.Fragment(page.content)
    texts = {} if page.is_known else {"markdown": page.markdown, "content": content}
    return {
        "id": page.id,
        "version": page.version,
        "kind": page.kind,
        "title": page.title,
        "icon": page.icon,
        "name": page.name,
        "parent": page.parent,
        "path": path,
        **texts,
        "ahead": page.ahead,
        "problem": page.problem,
        "updated_at": page.updated_at.isoformat(),
        "updated_by": page.by,
        "on_disk": page.on_disk,
        "deleted": page.deleted,
    }


async def put_content(request: Request) -> Response:
    """PUT api/pages/{page}/content: a whole TipTap document."""
    visit = await visit_of(request)
    body = await asked(request, version=int, content=dict)
    if body["content"].get("type") != "doc" or not isinstance(body["content"].get("content", []), list):
        raise refused("The content is no document: its type is to be `doc`, its content a list.")
    async with visit.writing() as connection:
        written = await pages.write_content(connection, visit.page, body["version"], body["content"])
    return await written_or_current(visit, written)


async def put_markdown(request: Request) -> Response:
    """PUT api/pages/{page}/markdown: the whole file."""
    visit = await visit_of(request)
    body = await asked(request, version=int, markdown=str)
    async with visit.writing() as connection:
        written = await pages.write_markdown(connection, visit.page, body["version"], body["markdown"])
    return await written_or_current(visit, written)


async def written_or_current(visit: Visit, version: int | None) -> Response:
    """The new version, or, where somebody was quicker, 409 with the page as it is now."""
    if version is not None:
        return answered({"version": version})
    async with visit.reading() as connection:
        found = await facts_of(connection, visit.tenant, visit.page)
    sentence = "The page is in the trash." if found["deleted"] else "Somebody changed the page meanwhile."
    return answered({"sentence": sentence, "page": found}, 409)


async def create(request: Request) -> Response:
    """POST api/pages: a new page below `parent` (null: in the root)."""
    visit = await visit_of(request)
    body = await asked(request, parent=(str, type(None)), title=str)
    parent = entry_of(body["parent"]) if body["parent"] is not None else None
    title = _title(body["title"])
    async with visit.writing() as connection:
        if parent is not None and await pages.titled(connection, parent) is None:
            raise not_found()
        page = await pages.create(connection, parent, title)
    return answered({"id": page, "version": 1, "href": visit.href(page)}, 201)


async def change(request: Request) -> Response:
    """PATCH api/pages/{page}: another `title`, which the file is called by, or another `icon`."""
    visit = await visit_of(request)
    body = await asked(request, version=int, title=(str, type(None)), icon=(str, type(None)))
    async with visit.writing() as connection:
        if body["title"] is None:
            icon = (body["icon"] or "").strip()[:_LONGEST] or None
            written = await pages.set_icon(connection, visit.page, body["version"], icon)
        else:
            written = await _rename(connection, visit, body["version"], _title(body["title"]))
    return await written_or_current(visit, written)


async def _rename(connection: Connection, visit: Visit, version: int, title: str) -> int | None:
    """A page whose title is only its file's name keeps it so, unless no file can be called like that."""
    found = await pages.load(connection, visit.page)
    if found is None:
        raise not_found()
    name = clean(title, str(found.id)[:8])
    own = title if found.titled or name != title else None
    if found.kind == "folder" and own is None:
        own = title
    return await pages.rename(connection, visit.page, version, name, own)


def _title(text: str) -> str:
    title = " ".join(text.split())
    if not title or len(title) > _LONGEST:
        raise refused(f"A title has between 1 and {_LONGEST} characters.")
    return title


async def move(request: Request) -> Response:
    """POST api/pages/{page}/move: below `parent`, right before the sibling `before` (null: at the end)."""
    visit = await visit_of(request)
    body = await asked(request, version=int, parent=(str, type(None)), before=(str, type(None)))
    parent = entry_of(body["parent"]) if body["parent"] is not None else None
    before = entry_of(body["before"]) if body["before"] is not None else None
    async with visit.writing() as connection:
        found = await pages.load(connection, visit.page)
        if found is None or (parent is not None and await pages.titled(connection, parent) is None):
            raise not_found()
        siblings = [one for one in await tree.children(connection, parent, 0, _ALL) if one.id != found.id]
        index = next((number for number, one in enumerate(siblings) if one.id == before), len(siblings))
        place = stand(_node(found), siblings, index)
        if place is None or len(siblings) > _ALL:
            raise refused("So many siblings would need a position of their own; put it at the top, or give some one.")
        written = await tree.move(connection, visit.page, body["version"], parent, place.position)
        if written is not None:
            await tree.place(connection, place.others)
    return await written_or_current(visit, written)


def _node(page: Page) -> Node:
    return Node(page.id, page.kind, page.title, page.icon, page.position, page.version, page.parent, False)


async def delete(request: Request) -> Response:
    """DELETE api/pages/{page}: into the trash, with all below it."""
    visit = await visit_of(request)
    body = await asked(request, version=int)
    async with visit.writing() as connection:
        written = await pages.delete(connection, visit.page, body["version"])
    return await written_or_current(visit, written)


async def revive(request: Request) -> Response:
    """POST api/pages/{page}/revive: out of the trash."""
    visit = await visit_of(request)
    async with visit.writing() as connection:
        written = await pages.revive(connection, visit.page)
    if written is None:
        raise HTTPException(409, "The page is not in the trash any more.")
    return answered({"version": written, "href": visit.href(visit.page)})
