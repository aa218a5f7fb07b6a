"""Finding pages: sidebar levels, completion, link targets, backlinks."""

from dataclasses import asdict
from urllib.parse import quote, unquote
from uuid import UUID

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from mirrord.db.content import dialect_rows
from mirrord.db.database import Connection
from mirrord.db.feed_cursors import MAX_UNFOLLOWED_ENTRIES, load_unfollowed
from mirrord.documents.link_places import meaning_of, paths_of
from mirrord.domain.entry import EntryId, TenantId
from mirrord.domain.link_rule import LinkRule
from mirrord.markdown.page_beginnings import beginning_of
from mirrord.markdown.read.reader import read_document
from mirrord.web.read_limits import run_in_thread
from mirrord.web.request_context import Visit, entry_of, json_response, not_found, visit_of
from mirrord.web.request_parameters import query_text, start_of
from mirrord.web.rows import page_rows, search_rows, tree_rows
from mirrord.web.rows.page_rows import Page
from mirrord.web.rows.tree_rows import LEVEL_ENTRIES, Node
from mirrord.web.search_api import find_by_title

_MAX_COMPLETIONS = 12  # of one answer


async def list_children(request: Request) -> Response:
    """GET api/tree?parent=&start=: the children of a page, LEVEL at a time."""
    visit = await visit_of(request)
    parent_text = request.query_params.get("parent")
    parent = entry_of(parent_text) if parent_text else None
    async with visit.read_transaction() as connection:
        nodes = await tree_rows.load_children(connection, parent, start_of(request))
    names = tree_rows.distinct_names(nodes)
    listed = [_facts(node) | {"name": names.get(node.id)} for node in nodes[:LEVEL_ENTRIES]]
    return json_response({"nodes": listed, "more": len(nodes) > LEVEL_ENTRIES})


def _facts(node: Node) -> dict[str, object]:
    return {
        "id": node.id,
        "kind": node.kind,
        "title": node.title,
        "icon": node.icon,
        "has_children": node.has_children,
    }


async def list_ancestors(request: Request) -> Response:
    """GET api/pages/{page}/above: the folders to open so that the sidebar shows the page, then the page itself."""
    visit = await visit_of(request)
    async with visit.read_transaction() as connection:
        return json_response(await load_ancestors(connection, visit.page))


async def load_ancestors(connection: Connection, page: UUID) -> list[dict[str, object]]:
    """What is above a page from the top down, then the page itself, for the client; [] if it is in the trash."""
    return [_facts(node) for node in await tree_rows.load_path(connection, page)]


async def list_trash(request: Request) -> Response:
    """GET api/trash?q=&start=: deleted pages whose title or name has `q`, the newest first, LEVEL at a time."""
    visit = await visit_of(request)
    async with visit.read_transaction() as connection:
        pages = await tree_rows.load_trash(connection, query_text(request, "q"), start_of(request))
        listed = pages[:LEVEL_ENTRIES]
        paths = await paths_of(connection, TenantId(visit.tenant), [page.id for page in listed])
    facts = [{**asdict(page), "path": paths.get(page.id, page.title)} for page in listed]
    return json_response({"pages": facts, "more": len(pages) > LEVEL_ENTRIES})


async def list_completions(request: Request) -> Response:
    """GET api/completions?q=: candidates for the text between `[[` and `]]`."""
    visit = await visit_of(request)
    async with visit.read_transaction() as connection:
        query = query_text(request, "q")
        titles = await (
            find_by_title(connection, query, _MAX_COMPLETIONS)
            if query
            else search_rows.load_recent(connection, _MAX_COMPLETIONS)
        )
        paths = await paths_of(connection, TenantId(visit.tenant), [page.id for page in titles])
        return json_response(
            [
                {
                    "id": page.id,
                    "title": page.title,
                    "icon": page.icon,
                    "path": paths.get(page.id, page.title),
                    "target": await _shortest_target(connection, paths.get(page.id, page.title)),
                }
                for page in titles
            ]
        )


async def _shortest_target(connection: Connection, path: str) -> str:
    """The shortest unambiguous link target: the page's name, else its full path."""
    full_name = path.removesuffix(".md").removesuffix("/_index")
    name = full_name.rpartition("/")[2]
    return name if await search_rows.is_unambiguous_name(connection, name) else f"/{full_name}"


async def preview_link(request: Request) -> Response:
    """GET api/preview?target=&from=: the beginning of the page, or of its part, that a wikilink refers to."""
    visit = await visit_of(request)
    source = entry_of(request.query_params.get("from"))
    page, heading = await _load_target(visit, source)
    async with visit.read_transaction() as connection:
        dialect = await dialect_rows.load_dialect(connection, TenantId(visit.tenant))
    text = await run_in_thread(beginning_of, page.markdown or "", heading)
    content = await run_in_thread(read_document, text, dialect)
    return json_response({**_target_facts(visit, page, heading), "text": text, "content": content})


async def resolve_link(request: Request) -> Response:
    """GET api/pages/{page}/resolve?target=: where a link of the page leads."""
    visit = await visit_of(request)
    page, heading = await _load_target(visit, visit.page)
    return json_response(_target_facts(visit, page, heading))


async def _load_target(visit: Visit, source: EntryId) -> tuple[Page, str]:
    """
    The page that the link `target` of *source* leads to, and the heading in it; "" if it names none.

    Raises 404 if there is no such page, 503 if it may be one of very many that changed just now.
    """
    kind = visit.request.query_params.get("kind", "wikilink")
    target, _, heading = query_text(visit.request, "target").partition("#")
    if kind == "markdown":
        target = unquote(target)
    tenant = TenantId(visit.tenant)
    async with visit.read_transaction() as connection:
        unfollowed = await load_unfollowed(connection, tenant)  # before stored names, which may follow meanwhile
        meaning = await meaning_of(connection, tenant, source, kind, target, unfollowed)
        page = await page_rows.load_page(connection, meaning.entry) if meaning.entry is not None else None
        if page is not None and not page.is_deleted:
            return page, heading
        if await page_rows.load_title(connection, source) is None:
            raise not_found()
    if len(unfollowed) == MAX_UNFOLLOWED_ENTRIES:
        raise HTTPException(503, "Many pages have changed, and links are still following. Try again in a moment.")
    raise not_found()


def _target_facts(visit: Visit, page: Page, heading: str) -> dict[str, object]:
    fragment = f"#{quote(heading)}" if heading else ""
    return {"id": page.id, "title": page.title, "href": visit.href(page.id) + fragment}


async def list_unresolved(request: Request) -> Response:
    """GET api/pages/{page}/unresolved: its links that lead to nothing, and whether links still follow changes."""
    visit = await visit_of(request)
    async with visit.read_transaction() as connection:
        if await page_rows.load_title(connection, visit.page) is None:
            raise not_found()
        is_behind = bool(await load_unfollowed(connection, TenantId(visit.tenant), limit=1))
        links = await search_rows.load_unresolved(connection, visit.page)
    facts = [{"kind": kind, "target": target} for kind, target in links]
    return json_response({"links": facts, "following": is_behind})


async def list_backlinks(request: Request) -> Response:
    """GET api/pages/{page}/backlinks: pages that link here."""
    visit = await visit_of(request)
    async with visit.read_transaction() as connection:
        rows = await search_rows.load_backlinks(connection, visit.page)
    return json_response([_backlink_facts(visit, *row) for row in rows])


async def count_linking(request: Request) -> Response:
    """
    GET api/pages/{page}/linking: how many other pages link to the page or below it, whether links follow it, and how
    many pages and folders are below it.
    """
    visit = await visit_of(request)
    async with visit.read_transaction() as connection:
        if await page_rows.load_title(connection, visit.page) is None:
            raise not_found()
        below, pages = await search_rows.count_linking(connection, visit.page)
    return json_response({"pages": pages, "follow": visit.app.links is not LinkRule.NEVER, "below": below})


def _backlink_facts(visit: Visit, page: UUID, title: str, icon: str | None, count: int) -> dict[str, object]:
    return {"id": page, "title": title, "icon": icon, "count": count, "href": visit.href(page)}
