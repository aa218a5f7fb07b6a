"""Search, and the quick switcher: pages by words, by titles and paths, and the ones seen last."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass

from starlette.requests import Request
from starlette.responses import Response

from mirrord.db.database import Connection
from mirrord.documents.link_places import paths_of
from mirrord.domain.entry import EntryId, TenantId, parse_id
from mirrord.domain.place import name_key
from mirrord.markdown.snippets import Stretch, mark_terms, snippet_of
from mirrord.web.read_limits import run_in_thread
from mirrord.web.request_context import Visit, json_response, visit_of
from mirrord.web.request_parameters import query_text, start_of
from mirrord.web.rows import search_rows
from mirrord.web.rows.search_rows import MatchingPage, TitledPage

RESULTS = 20  # of one answer
MAX_TITLES = 12  # of one answer
MAX_UNINDEXED = 1000  # pages that are not searched yet are counted up to this
MAX_COUNTED = 400  # pages that fit; beyond, there are perhaps more
_SLASH = "/"


@dataclass(frozen=True, slots=True)
class _Result:
    """A page as the search shows it; its texts in parts, each with whether it is one of the words."""

    id: EntryId
    kind: str
    icon: str | None
    href: str
    title: list[Stretch]
    path: list[Stretch]
    snippet: list[Stretch]
    changed_at: str


async def search_pages(request: Request) -> Response:
    """GET api/search?q=&start=: pages that fit a query, the best first."""
    visit = await visit_of(request)
    query, start = query_text(request, "q"), start_of(request)
    if not query:
        return json_response({"results": [], "matches": 0, "more": False, "note": None, "unindexed": 0})
    async with visit.read_transaction() as connection:
        pages = await search_rows.search(connection, query, start, RESULTS)
        terms = await search_rows.load_terms(connection, query)
        paths = await paths_of(connection, TenantId(visit.tenant), [page.id for page in pages])
        unindexed = await search_rows.count_unindexed(connection, MAX_UNINDEXED)
    near_words = sorted({word for page in pages for word in page.near_words or ()})
    results = await run_in_thread(_show_results, visit, pages, paths, [*terms, *near_words])
    matches = pages[0].matches if pages else 0
    return json_response(
        {
            "results": [asdict(result) for result in results],
            "matches": matches,
            "more": start + len(pages) < matches,
            "note": _note_about(near_words) if pages else None,
            "unindexed": unindexed,
        }
    )


def _note_about(near_words: Sequence[str]) -> str | None:
    words = ", ".join(f"“{word}”" for word in near_words[:5])
    return f"No page has all of these words. These have {words}." if words else None


def _show_results(
    visit: Visit, pages: Sequence[MatchingPage], paths: dict[EntryId, str], terms: Sequence[str]
) -> list[_Result]:
    return [
        _Result(
            page.id,
            page.kind,
            page.icon,
            visit.href(page.id),
            mark_terms(page.title, terms),
            mark_terms(_place_of(paths.get(page.id, ""), page.title), terms),
            snippet_of(page.markdown or "", terms),
            page.changed_at.isoformat(),
        )
        for page in pages
    ]


def _place_of(path: str, title: str) -> str:
    """The path of a page as people read it; without its own name where that is its title."""
    folder, _, name = path.removesuffix("/_index.md").removesuffix(".md").rpartition(_SLASH)
    place = folder if name_key(name) == name_key(title) else f"{folder}{_SLASH}{name}".lstrip(_SLASH)
    return place.replace(_SLASH, " / ")


async def list_titles(request: Request) -> Response:
    """GET api/titles?q=&seen=: pages and folders by title and path; without a query, those seen and changed last."""
    visit = await visit_of(request)
    query = query_text(request, "q")
    async with visit.read_transaction() as connection:
        if query:
            titles = await find_by_title(connection, query, MAX_TITLES)
        else:
            titles = await _load_latest(connection, request.query_params.get("seen", "")[:2_000])
        paths = await paths_of(connection, TenantId(visit.tenant), [page.id for page in titles])
        terms = await search_rows.load_terms(connection, query.replace(_SLASH, " "))
    return json_response({"pages": [_title_facts(visit, page, paths, terms) for page in titles]})


def _title_facts(visit: Visit, page: TitledPage, paths: dict[EntryId, str], terms: Sequence[str]) -> dict[str, object]:
    return {
        "id": page.id,
        "kind": page.kind,
        "icon": page.icon,
        "href": visit.href(page.id),
        "title": mark_terms(page.title, terms),
        "path": mark_terms(_place_of(paths.get(page.id, ""), page.title), terms),
    }


async def find_by_title(connection: Connection, query: str, limit: int) -> list[TitledPage]:
    """Pages and folders by words of their titles; in `kitchen/d`, what comes before the last slash is a path."""
    folder, slash, words = query.rpartition(_SLASH)
    if slash and folder.strip():
        words = f'path:"{folder.strip()}" {words}'
    elif slash:
        words = query.replace(_SLASH, " ")
    return await search_rows.find_titles(connection, words, limit)


async def _load_latest(connection: Connection, opened: str) -> list[TitledPage]:
    """The pages that the browser names, then those changed last. opened: their ids with commas between them."""
    ids = [entry for text in opened.split(",") if (entry := parse_id(text)) is not None][:MAX_TITLES]
    titles = await search_rows.load_titles(connection, ids)
    recent = await search_rows.load_recent(connection, MAX_TITLES)
    return [*titles, *(page for page in recent if page.id not in ids)][:MAX_TITLES]
