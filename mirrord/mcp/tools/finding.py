"""Tools that find pages: lists, the tree, search, links."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field

from mirrord.commands.session import Session
from mirrord.mcp.arguments import Arguments
from mirrord.mcp.shapes import COUNT, FLAG, TEXT, listed, nullable, record, result
from mirrord.mcp.tool import Tool, Wire
from mirrord.mcp.tools.reading import PagePath

if TYPE_CHECKING:
    from mirrord.commands.linked import Linked
    from mirrord.commands.listing import Listed, Node
    from mirrord.commands.search import SearchResult

Cursor = Annotated[str | None, Field(description="nextCursor of an answer to the same question, to go on.")]
Below = Annotated[str | None, Field(description="Only below this page or folder; default: everywhere.")]
_LINK = record(title=TEXT, path=nullable(TEXT))
_HIT = record(path=TEXT, title=TEXT, matchLine=COUNT, matchContext=TEXT, pageId=TEXT)
_LISTED = record(
    path=TEXT, title=TEXT, icon=nullable(TEXT), hasChildren=FLAG, pageId=TEXT, content=TEXT, contentCut=FLAG
)


class List(Arguments):
    """What list_pages takes."""

    path: Below = None
    depth: Annotated[int, Field(ge=1, le=50, description="Levels.")] = 1
    include_content: Annotated[bool, Field(description="With each page's text.")] = False
    cursor: Cursor = None


class Grow(Arguments):
    """What get_tree takes."""

    include_metadata: Annotated[bool, Field(description="With icon, position, tags, aliases.")] = False
    path: Below = None
    depth: Annotated[int | None, Field(ge=1, le=50, description="Levels; default: as fit in 8 KB.")] = None


class Search(Arguments):
    """What search_pages takes."""

    query: Annotated[str, Field(description='Words that must all occur, "phrases in quotes".')]
    path: Below = None
    limit: Annotated[int, Field(ge=1, le=100)] = 20
    regex: Annotated[bool, Field(description="The query is a regular expression.")] = False
    case_sensitive: bool = False
    cursor: Cursor = None


class Links(Arguments):
    """What get_page_links takes."""

    path: PagePath


def _list(session: Session, given: List) -> Wire:
    from mirrord.commands.listing import list_pages

    found = list_pages(session, given.path, given.depth, given.include_content, given.cursor)
    return _going_on({"pages": [_listed(one) for one in found.pages]}, found.next_cursor)


def _listed(page: "Listed") -> Wire:
    shown: dict[str, Any] = {
        "path": page.path,
        "title": page.title,
        "icon": page.icon,
        "hasChildren": page.has_children,
        "pageId": page.page_id,
    }
    if page.content is not None:
        shown |= {"content": page.content, **({"contentCut": True} if page.content_cut else {})}
    return shown


def _grow(session: Session, given: Grow) -> Wire:
    """The node of one page, or a root node with the name of the tenant."""
    from mirrord.commands.listing import get_tree

    tree = get_tree(session, given.include_metadata, given.path, given.depth)
    if given.path is not None and len(tree.nodes) == 1:
        return _node(tree.nodes[0])
    root: dict[str, Any] = {"title": session.tenant_name, "path": "", "pageId": None}
    return _branched(root, tree.nodes, has_more=tree.truncated)


def _node(node: "Node") -> Wire:
    shown: dict[str, Any] = {"title": node.title, "path": node.path, "pageId": node.page_id}
    if (known := node.metadata) is not None:
        shown |= {"icon": known.icon, "position": known.position, "tags": known.tags, "aliases": known.aliases}
    return _branched(shown, node.children, has_more=node.has_more)


def _branched(shown: dict[str, Any], children: Sequence["Node"], *, has_more: bool) -> Wire:
    shown["children"] = [_node(child) for child in children]
    return {**shown, "hasMore": True} if has_more else shown


def _search(session: Session, given: Search) -> Wire:
    from mirrord.commands.search import search_pages

    found = search_pages(session, given.query, given.path, given.limit, given.regex, given.case_sensitive, given.cursor)
    answer = {"results": [_hit(one) for one in found.results], "truncated": found.truncated}
    skipped = {"skipped": found.skipped, "skippedCount": found.skipped_count} if found.skipped else {}
    return _going_on({**answer, **skipped}, found.next_cursor)


def _hit(hit: "SearchResult") -> Wire:
    return {
        "path": hit.path,
        "title": hit.title,
        "matchLine": hit.match_line,
        "matchContext": hit.match_context,
        "pageId": hit.page_id,
    }


def _links(session: Session, given: Links) -> Wire:
    from mirrord.commands.linked import get_page_links

    found = get_page_links(session, given.path)
    links = {"outgoing": [_link(one) for one in found.outgoing], "incoming": [_link(one) for one in found.incoming]}
    return {**links, "leftOut": found.left_out} if found.left_out else links


def _link(link: "Linked") -> Wire:
    return {"title": link.title, "path": link.path}


def _going_on(answer: Wire, cursor: str | None) -> Wire:
    return answer if cursor is None else {**answer, "nextCursor": cursor}


LIST_PAGES = Tool(
    "list_pages",
    "List pages",
    "Lists what is below a page or folder, in the order of the sidebar. Long lists go on with cursor = nextCursor. "
    'Example: {"path": "Projects", "depth": 2}.',
    List,
    result({"pages": listed(_LISTED), "nextCursor?": TEXT}),
    _list,
)
GET_TREE = Tool(
    "get_tree",
    "Show the tree of pages",
    "Returns the hierarchy of all pages, or of one, nested, in the order of the sidebar. "
    "hasMore: pages below are missing; ask for that path, or list_pages. "
    'Example: {"path": "Projects", "depth": 2}.',
    Grow,
    result(
        {
            "title": TEXT,
            "path": TEXT,
            "pageId": nullable(TEXT),
            "children": listed({"type": "object"}),
            "hasMore?": FLAG,
        }
    ),
    _grow,
)
SEARCH_PAGES = Tool(
    "search_pages",
    "Search pages",
    "Finds pages whose title, tags or text hold all the words: titles and tags first, then the text with its "
    "line. Quotes make a phrase. "
    'Example: {"query": "\\"architecture diagram\\" 2026", "path": "Projects"}.',
    Search,
    result(
        {
            "results": listed(_HIT),
            "truncated": FLAG,
            "nextCursor?": TEXT,
            "skipped?": listed(TEXT),
            "skippedCount?": COUNT,
        }
    ),
    _search,
    searches=True,
)
GET_PAGE_LINKS = Tool(
    "get_page_links",
    "Links of a page",
    "Returns which pages a page links to and which link to it: wikilinks, embeds, aliases, relative Markdown "
    "links. path is null where the target does not exist. "
    'Example: {"path": "Projects/Alpha.md"}.',
    Links,
    result({"outgoing": listed(_LINK), "incoming": listed(_LINK), "leftOut?": COUNT}),
    _links,
)
