"""Pages as JSON: read, write, rename, move, delete, restore."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

import orjson
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from mirrord.db.content import dialect_rows
from mirrord.db.database import Connection
from mirrord.documents.link_places import paths_of
from mirrord.domain.bound_page import BINDING_KEY, URL_KEY, describe_bound_page
from mirrord.domain.dialect import Dialect
from mirrord.domain.entry import TenantId
from mirrord.domain.place import clean_name, remove_directions
from mirrord.errors import Damaged
from mirrord.markdown.frontmatter.page_properties import Views
from mirrord.markdown.frontmatter.page_text import PageText
from mirrord.markdown.frontmatter.yaml_reader import Json
from mirrord.markdown.read.reader import read_document
from mirrord.markdown.schema.document import Document, Node, check_document, make_document, text_node
from mirrord.web import markdown_writes
from mirrord.web.page_finder import load_ancestors
from mirrord.web.properties import checked_changes, shown_properties
from mirrord.web.read_limits import run_in_thread
from mirrord.web.request_context import Visit, entry_of, json_response, not_found, read_json, refusal, visit_of
from mirrord.web.rows import page_rows, tree_rows
from mirrord.web.rows.page_rows import Page
from mirrord.web.rows.tree_rows import place_among

_MAX_SIBLINGS = 5000  # among which a page may be moved to a given place
_MAX_TITLE_CHARACTERS = 500  # of a title
_MAX_ICON_CHARACTERS = 16  # of an icon: an emoji may be a sequence of signs
_MAX_PASTED_CHARACTERS = 500_000  # of a text that is read as Markdown
_FOLDER_ORDER = "Folders without a page of their own are sorted by title, after the pages that you put in order."


async def show_page(request: Request) -> Response:
    """GET api/pages/{page}?known=: without texts, and what is `above`, if the client's version is current."""
    visit = await visit_of(request)
    text = request.query_params.get("known", "")
    version = int(text) if text.isascii() and text.isdigit() and len(text) < 19 else None
    async with visit.read_transaction() as connection:
        facts = await load_facts(connection, visit.tenant, visit.page, version)
        above = {"above": await load_ancestors(connection, visit.page)} if "content" in facts else {}
    return json_response(facts | above)


async def show_version(request: Request) -> Response:
    """GET api/pages/{page}/version: only the version, which a change of place or name must state."""
    visit = await visit_of(request)
    async with visit.read_transaction() as connection:
        version = await page_rows.load_version(connection, visit.page)
    if version is None:
        raise not_found()
    return json_response({"version": version})


async def load_facts(
    connection: Connection, tenant: UUID, page: UUID, known_version: int | None = None
) -> dict[str, Any]:
    """A page for the console's client. known_version: the version whose texts the client has. Raises 404."""
    page_row = await page_rows.load_page(connection, page, known_version)
    if page_row is None:
        raise not_found()
    paths = await paths_of(connection, TenantId(tenant), [page_row.id])
    return page_facts(page_row, paths[page_row.id] if page_row.name else f"{page_row.title}.md")


def page_facts(page: Page, path: str) -> dict[str, Any]:
    """The JSON of a page, as expected by the client."""
    content = None if page.content is None else orjson.Fragment(page.content)
    fault = PageText(page.markdown or "").views.error
    texts = {"markdown": page.markdown, "content": content, "fault": fault}
    return {
        "id": page.id,
        "version": page.version,
        "kind": page.kind,
        "title": page.title,
        "icon": page.icon,
        "name": page.name,
        "parent": page.parent,
        "path": path,
        **({} if page.is_known else texts | {"text_digest": markdown_writes.text_digest(page.markdown)}),
        "ahead": page.ahead,
        "problem": page.problem,
        "updated_at": page.updated_at.isoformat(),
        "updated_by": page.by,
        "on_disk": page.on_disk,
        "halted": page.is_halted,
        "bound": _bound_facts(page.properties or {}),
        "properties": shown_properties(page.properties or {}),
        "deleted": page.is_deleted,
    }


def _bound_facts(properties: Mapping[str, object]) -> dict[str, str | None] | None:
    """The app that has the page, if it is changed there only. url: None: unknown, or no address of the web."""
    binding, url = properties.get(BINDING_KEY), properties.get(URL_KEY)
    if not isinstance(binding, str):
        return None
    is_address = isinstance(url, str) and url.startswith(("https://", "http://"))
    return {"binding": binding, "url": str(url) if is_address else None}


async def put_content(request: Request) -> Response:
    """PUT api/pages/{page}/content: a whole TipTap document."""
    visit = await visit_of(request)
    body = await read_json(request, version=int, content=dict)
    try:
        check_document(body["content"])
    except Damaged as error:
        raise refusal(f"{str(error)[:1].upper()}{str(error)[1:]}.") from error
    async with visit.write_transaction() as connection:
        await _check_front_matter(connection, visit)
        written = await page_rows.write_content(connection, visit.page, body["version"], body["content"])
    return await version_or_conflict(visit, written)


async def _check_front_matter(connection: Connection, visit: Visit) -> None:
    """Raise a refusal if the front matter is not YAML: then no view of the page can be written into its file."""
    fault = (await _refuse_bound(connection, visit)).error
    if fault is not None:
        raise refusal(f"The front matter of this page cannot be read ({fault}). Mend it in the Markdown view first.")


async def _refuse_bound(connection: Connection, visit: Visit) -> Views:
    """The views of the page's front matter. Raises a refusal if the page is changed in an app only."""
    views = PageText(await page_rows.load_head(connection, visit.page)).views
    if (sentences := describe_bound_page("This", views.frontmatter or {})) is not None:
        raise refusal(" ".join(sentences))
    return views


async def read_markdown(request: Request) -> Response:
    """POST api/document: the text `markdown` as a document, for pasting. Its front matter becomes a block of code."""
    visit = await visit_of(request)
    body = await read_json(request, markdown=str)
    if len(body["markdown"]) > _MAX_PASTED_CHARACTERS:
        raise refusal(f"A pasted text may have at most {_MAX_PASTED_CHARACTERS:,} characters.")
    async with visit.app.costly_reads.turn(visit.session.id, visit.tenant):
        async with visit.read_transaction() as connection:
            dialect = await dialect_rows.load_dialect(connection, TenantId(visit.tenant))
        content = await run_in_thread(_read_document, body["markdown"], dialect)
    return json_response({"content": content})


def _read_document(text: str, dialect: Dialect) -> Document:
    document, page = read_document(text, dialect), PageText(text)
    if not page.source:
        return document
    attrs: dict[str, Json] = {"language": page.form.name.lower()}
    node: Node = {"type": "codeBlock", "attrs": attrs, "content": [text_node(page.source.rstrip())]}
    return make_document([node, *document["content"]])


async def put_markdown(request: Request) -> Response:
    """PUT api/pages/{page}/markdown: the whole file, over the text with the `text_digest` that was read."""
    visit = await visit_of(request)
    body = await read_json(request, version=int, markdown=str, text_digest=(str, type(None)))
    markdown, tenant = body["markdown"], TenantId(visit.tenant)
    async with visit.write_transaction() as connection:
        await _refuse_bound(connection, visit)
        written = await markdown_writes.write_markdown(
            connection, tenant, visit.page, body["version"], body["text_digest"], markdown
        )
    if written is None:
        return json_response(await _text_conflict(visit), 409)
    return json_response({"version": written, "text_digest": markdown_writes.text_digest(markdown)})


async def _text_conflict(visit: Visit) -> dict[str, Any]:
    """What a refused text is answered with: the page with the text that it has or is about to have."""
    async with visit.read_transaction() as connection:
        page = await load_facts(connection, visit.tenant, visit.page)
        current = await markdown_writes.load_current_text(connection, TenantId(visit.tenant), visit.page)
    if current is not None and current.version == page["version"]:
        page |= {"markdown": current.markdown, "text_digest": markdown_writes.text_digest(current.markdown)}
    return _conflict_of(page)


async def version_or_conflict(visit: Visit, version: int | None) -> Response:
    """The new version; 409 with the current page if another writer was faster."""
    if version is not None:
        return json_response({"version": version})
    async with visit.read_transaction() as connection:
        current = await load_facts(connection, visit.tenant, visit.page)
    return json_response(_conflict_of(current), 409)


def _conflict_of(page: dict[str, Any]) -> dict[str, Any]:
    sentence = "The page is in the trash." if page["deleted"] else "The page was changed meanwhile."
    return {"sentence": sentence, "page": page}


async def change_page(request: Request) -> Response:
    """PATCH api/pages/{page}: a new `title`, which also names the file, a new `icon`, or `properties` by key."""
    visit = await visit_of(request)
    body = await read_json(
        request, version=int, title=(str, type(None)), icon=(str, type(None)), properties=(dict, type(None))
    )
    async with visit.write_transaction() as connection:
        await _check_front_matter(connection, visit)
        if body["properties"] is not None:
            changes = checked_changes(body["properties"])
            written = await page_rows.set_properties(connection, visit.page, body["version"], changes)
        elif body["title"] is None:
            written = await page_rows.set_icon(connection, visit.page, body["version"], _checked_icon(body["icon"]))
        else:
            written = await _rename(connection, visit, body["version"], clean_title(body["title"]))
    return await version_or_conflict(visit, written)


def _checked_icon(text: str | None) -> str | None:
    icon = (text or "").strip()
    if len(icon) > _MAX_ICON_CHARACTERS:
        raise refusal("An icon is one emoji or sign.")
    return icon or None


async def _rename(connection: Connection, visit: Visit, version: int, title: str) -> int | None:
    """Rename a page. A title equal to the file's name is not stored, unless no file can have that name."""
    page = await page_rows.load_page(connection, visit.page)
    if page is None:
        raise not_found()
    name = clean_name(title, str(page.id)[:8])
    own_title = title if page.has_own_title or name != title else None
    if page.kind == "folder" and own_title is None:
        own_title = title
    return await page_rows.rename_page(connection, visit.page, version, name, own_title)


def clean_title(text: str) -> str:
    """*text* as a title: in one line, and in one direction. Raises a refusal if it is empty or too long."""
    title = " ".join(remove_directions(text).split())
    if not title or len(title) > _MAX_TITLE_CHARACTERS:
        raise refusal(f"A title must have between 1 and {_MAX_TITLE_CHARACTERS} characters.")
    return title


async def move_page(request: Request) -> Response:
    """POST api/pages/{page}/move: below `parent`, right before the sibling `before` (null: at the end)."""
    visit = await visit_of(request)
    body = await read_json(request, version=int, parent=(str, type(None)), before=(str, type(None)))
    parent = entry_of(body["parent"]) if body["parent"] is not None else None
    before = entry_of(body["before"]) if body["before"] is not None else None
    async with visit.write_transaction() as connection:
        await _refuse_bound(connection, visit)
        page = await page_rows.load_page(connection, visit.page)
        if page is None or (parent is not None and await page_rows.load_title(connection, parent) is None):
            raise not_found()
        siblings = [
            sibling
            for sibling in await tree_rows.load_children(connection, parent, 0, _MAX_SIBLINGS)
            if sibling.id != page.id
        ]
        index = next((number for number, sibling in enumerate(siblings) if sibling.id == before), len(siblings))
        place = place_among(_node_of(page), siblings, index)
        if place is None or len(siblings) > _MAX_SIBLINGS:
            raise refusal(
                "Too many siblings would need a position. Move the page to the top, or give some of them positions."
            )
        if page.kind == "folder" and page.parent == parent and not place.is_exact:
            raise refusal(_FOLDER_ORDER)
        written = await tree_rows.move_page(connection, visit.page, body["version"], parent, place.position)
        if written is not None:
            await tree_rows.set_positions(connection, place.sibling_positions)
    if written is None or place.is_exact:
        return await version_or_conflict(visit, written)
    return json_response({"version": written, "sentence": f"{page.title} was moved. {_FOLDER_ORDER}"})


def _node_of(page: Page) -> tree_rows.Node:
    return tree_rows.Node(page.id, page.kind, page.title, page.icon, page.position, page.version, page.parent, False)


async def delete_page(request: Request) -> Response:
    """DELETE api/pages/{page}: move it to the trash with its descendants."""
    visit = await visit_of(request)
    body = await read_json(request, version=int)
    async with visit.write_transaction() as connection:
        await _refuse_bound(connection, visit)
        written = await page_rows.delete_page(connection, visit.page, body["version"])
    return await version_or_conflict(visit, written)


async def revive_page(request: Request) -> Response:
    """POST api/pages/{page}/revive: restore it from the trash."""
    visit = await visit_of(request)
    async with visit.write_transaction() as connection:
        written = await page_rows.revive_page(connection, visit.page)
    if written is None:
        raise HTTPException(409, "The page is no longer in the trash.")
    return json_response({"version": written, "href": visit.href(visit.page)})
