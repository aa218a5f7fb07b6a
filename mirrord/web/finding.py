"""Finding: the sidebar's levels, search, completion, what a link means, who links here."""

from urllib.parse import quote, unquote
from uuid import UUID

from starlette.requests import Request
from starlette.responses import Response

from mirrord.codec.fences import split
from mirrord.db.connect import Connection
from mirrord.domain.entry import EntryId, TenantId
from mirrord.sync.linking import meaning_of, paths_of
from mirrord.web.desk import Visit, answered, entry_of, not_found, visit_of
from mirrord.web.rows import pages, search, tree
from mirrord.web.rows.tree import LEVEL, Node

_LONGEST = 200  # characters asked for
_COMPLETED = 12  # completions shown
_PREVIEW = 400  # characters of a page


async def level(request: Request) -> Response:
    """GET api/tree?parent=&start=: what is right below a page, a part at a time."""
    visit = await visit_of(request)
    said, start = request.query_params.get("parent"), request.query_params.get("start", "0")
    parent = entry_of(said) if said else None
    async with visit.reading() as connection:
        found = await tree.children(connection, parent, int(start) if start.isdigit() and len(start) < 10 else 0)
    return answered({"nodes": [_facts(one) for one in found[:LEVEL]], "more": len(found) > LEVEL})


def _facts(node: Node) -> dict[str, object]:
    return {
        "id": node.id,
        "kind": node.kind,
        "title": node.title,
        "icon": node.icon,
        "has_children": node.has_children,
    }


async def above(request: Request) -> Response:
    """GET api/pages/{page}/above: the folders to open so that the sidebar shows it."""
    visit = await visit_of(request)
    async with visit.reading() as connection:
        return answered(await tree.above(connection, visit.page))


async def trash(request: Request) -> Response:
    """GET api/trash: what was deleted, the newest first."""
    visit = await visit_of(request)
    async with visit.reading() as connection:
        found = await tree.trash(connection)
    return answered(
        [
            {"id": one.id, "title": one.title, "icon": one.icon, "deleted_at": one.deleted_at, "by": one.by}
            for one in found
        ]
    )


async def find(request: Request) -> Response:
    """GET api/search?q=: pages called so, then pages that say so."""
    visit = await visit_of(request)
    text = _text(request, "q")
    if not text:
        return answered({"called": [], "saying": []})
    async with visit.reading() as connection:
        named = await search.called(connection, text)
        said = await search.saying(connection, text)
    return answered(
        {
            "called": [{"id": one.id, "title": one.title, "icon": one.icon, "alias": one.alias} for one in named],
            "saying": [
                {
                    **{"id": one.id, "title": one.title, "icon": one.icon},
                    **{"before": one.before, "words": one.words, "after": one.after},
                }
                for one in said
            ],
        }
    )


async def completions(request: Request) -> Response:
    """GET api/completions?q=: what may stand between `[[` and `]]`."""
    visit = await visit_of(request)
    async with visit.reading() as connection:
        found = await search.called(connection, _text(request, "q"), _COMPLETED)
        paths = await paths_of(connection, TenantId(visit.tenant), [one.id for one in found])
        return answered(
            [
                {
                    **{"id": one.id, "title": one.title, "icon": one.icon, "path": paths.get(one.id, one.title)},
                    "target": await _target(connection, paths.get(one.id, one.title)),
                }
                for one in found
            ]
        )


async def _target(connection: Connection, path: str) -> str:
    """The shortest that means this page alone: its name, else its whole path."""
    whole = path.removesuffix(".md").removesuffix("/_index")
    name = whole.rpartition("/")[2]
    return name if await search.is_name_of_one(connection, name) else f"/{whole}"


async def preview(request: Request) -> Response:
    """GET api/preview?target=&from=: the beginning of what a wikilink means."""
    visit = await visit_of(request)
    source = entry_of(request.query_params.get("from"))
    return await _previewed(visit, source)


async def resolve(request: Request) -> Response:
    """GET api/pages/{page}/resolve?target=: the same, for following it."""
    visit = await visit_of(request)
    return await _previewed(visit, visit.page)


async def _previewed(visit: Visit, source: EntryId) -> Response:
    kind = visit.request.query_params.get("kind", "wikilink")
    target, _, heading = _text(visit.request, "target").partition("#")
    if kind == "markdown":
        target = unquote(target)
    async with visit.reading() as connection:
        meant = await meaning_of(connection, TenantId(visit.tenant), source, kind, target)
        found = await pages.load(connection, meant.entry) if meant.entry is not None else None
    if found is None or found.deleted:
        raise not_found()
    body = split(found.markdown or "").body.strip()[:_PREVIEW]
    fragment = f"#{quote(heading)}" if heading else ""
    return answered({"id": found.id, "title": found.title, "text": body, "href": visit.href(found.id) + fragment})


async def backlinks(request: Request) -> Response:
    """GET api/pages/{page}/backlinks: pages that link here."""
    visit = await visit_of(request)
    async with visit.reading() as connection:
        found = await search.backlinks(connection, visit.page)
    return answered([_backlink(visit, *one) for one in found])


def _backlink(visit: Visit, page: UUID, title: str, icon: str | None, count: int) -> dict[str, object]:
    return {"id": page, "title": title, "icon": icon, "count": count, "href": visit.href(page)}


def _text(request: Request, name: str) -> str:
    """What is asked for; Postgres has no place for NUL."""
    return request.query_params.get(name, "")[:_LONGEST].replace("\0", "").strip()
