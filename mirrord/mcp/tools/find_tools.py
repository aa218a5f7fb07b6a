"""Tools that list pages: lists, the tree, links."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field

from mirrord.commands.core.session import Session
from mirrord.mcp.tools.arguments import (
    COUNT,
    FLAG,
    TEXT,
    Arguments,
    array_schema,
    nullable,
    object_schema,
    result_schema,
)
from mirrord.mcp.tools.tool import Tool, Wire

if TYPE_CHECKING:
    from mirrord.commands.pages.page_listing import ListedPage, TreeNode
    from mirrord.commands.pages.search_command import LinkEnd

Cursor = Annotated[str | None, Field(description="nextCursor, to go on.")]
Below = Annotated[str | None, Field(description="Only below this page or folder; default: everywhere.")]
_LINK = object_schema(title=TEXT, path=nullable(TEXT))
_LISTED_PAGE = object_schema(
    path=TEXT,
    title=TEXT,
    icon=nullable(TEXT),
    hasChildren=FLAG,
    pageId=TEXT,
    boundTo=TEXT,
    content=TEXT,
    contentCut=FLAG,
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
    depth: Annotated[int | None, Field(ge=1, le=50, description="Levels, as fit in 8 KB.")] = None


class Links(Arguments):
    """What get_page_links takes."""

    path: str
    limit: Annotated[int | None, Field(ge=1, le=500, description="Each way.")] = None


def _list_pages(session: Session, arguments: List) -> Wire:
    from mirrord.commands.pages.page_listing import list_pages

    listing = list_pages(session, arguments.path, arguments.depth, arguments.include_content, arguments.cursor)
    return with_cursor({"pages": [_listed_page(page) for page in listing.pages]}, listing.next_cursor)


def _listed_page(page: "ListedPage") -> Wire:
    answer: dict[str, Any] = {
        "path": page.path,
        "title": page.title,
        "icon": page.icon,
        "hasChildren": page.has_children,
        "pageId": page.page_id,
    }
    if page.binding is not None:
        answer["boundTo"] = page.binding
    if page.content is not None:
        answer |= {"content": page.content, **({"contentCut": True} if page.content_cut else {})}
    return answer


def _grow(session: Session, arguments: Grow) -> Wire:
    """The node of one page, or a root node with the name of the tenant."""
    from mirrord.commands.pages.page_listing import get_tree

    tree = get_tree(session, arguments.include_metadata, arguments.path, arguments.depth)
    if arguments.path is not None and len(tree.nodes) == 1:
        return _node_answer(tree.nodes[0])
    root: dict[str, Any] = {"title": session.tenant_name, "path": "", "pageId": None}
    return _with_children(root, tree.nodes, has_more=tree.truncated)


def _node_answer(node: "TreeNode") -> Wire:
    answer: dict[str, Any] = {"title": node.title, "path": node.path, "pageId": node.page_id}
    if (metadata := node.metadata) is not None:
        answer |= {
            "icon": metadata.icon,
            "position": metadata.position,
            "tags": metadata.tags,
            "aliases": metadata.aliases,
        }
    return _with_children(answer, node.children, has_more=node.has_more)


def _with_children(answer: dict[str, Any], children: Sequence["TreeNode"], *, has_more: bool) -> Wire:
    answer["children"] = [_node_answer(child) for child in children]
    return {**answer, "hasMore": True} if has_more else answer


def _page_links(session: Session, arguments: Links) -> Wire:
    from mirrord.commands.pages.search_command import get_page_links

    page_links = get_page_links(session, arguments.path, arguments.limit)
    links = {
        "outgoing": [_link_answer(link) for link in page_links.outgoing],
        "incoming": [_link_answer(link) for link in page_links.incoming],
    }
    return {**links, "leftOut": page_links.left_out} if page_links.left_out else links


def _link_answer(link: "LinkEnd") -> Wire:
    return {"title": link.title, "path": link.path}


def with_cursor(answer: Wire, cursor: str | None) -> Wire:
    """*answer* with its nextCursor, if it has one."""
    return answer if cursor is None else {**answer, "nextCursor": cursor}


LIST_PAGES = Tool(
    "list_pages",
    "List pages",
    "Lists what is below a page or folder, in the order of the sidebar. boundTo: of a page that is changed in its app. "
    "Long lists go on with cursor = nextCursor. "
    'Example: {"path": "Projects", "depth": 2}.',
    List,
    result_schema({"pages": array_schema(_LISTED_PAGE), "nextCursor?": TEXT}),
    _list_pages,
)
GET_TREE = Tool(
    "get_tree",
    "Show the tree of pages",
    "Returns the hierarchy of all pages, or of one, nested, in the order of the sidebar. "
    "hasMore: pages below are missing; ask for that path, or list_pages. "
    'Example: {"path": "Projects", "depth": 2}.',
    Grow,
    result_schema(
        {
            "title": TEXT,
            "path": TEXT,
            "pageId": nullable(TEXT),
            "children": array_schema({"type": "object"}),
            "hasMore?": FLAG,
        }
    ),
    _grow,
)
GET_PAGE_LINKS = Tool(
    "get_page_links",
    "Links of a page",
    "Returns which pages a page links to and which link to it: wikilinks, embeds, aliases, relative Markdown "
    "links. path is null where the target does not exist. "
    'Example: {"path": "Projects/Alpha.md"}.',
    Links,
    result_schema({"outgoing": array_schema(_LINK), "incoming": array_schema(_LINK), "leftOut?": COUNT}),
    _page_links,
)
