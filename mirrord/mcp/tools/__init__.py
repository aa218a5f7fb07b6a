"""The tools, a module for each kind: what a model is told of them, and which command does the work."""

from typing import Any

from mirrord.mcp.tool import Tool
from mirrord.mcp.tools.finding import GET_PAGE_LINKS, GET_TREE, LIST_PAGES, SEARCH_PAGES
from mirrord.mcp.tools.reading import READ_PAGE, READ_PAGES
from mirrord.mcp.tools.rearranging import ADD_ATTACHMENT, DELETE_PAGE, MOVE_PAGE, RESTORE_PAGE
from mirrord.mcp.tools.standing import SYNC_STATUS
from mirrord.mcp.tools.writing import CREATE_PAGE, EDIT_PAGE, WRITE_PAGE

# Clients and models keep what they were told: the order never changes, new ones come last in their group.
TOOLS: tuple[Tool[Any], ...] = (
    *(LIST_PAGES, GET_TREE, SEARCH_PAGES, GET_PAGE_LINKS, READ_PAGE, READ_PAGES, SYNC_STATUS),
    *(WRITE_PAGE, EDIT_PAGE, CREATE_PAGE, ADD_ATTACHMENT, MOVE_PAGE, DELETE_PAGE, RESTORE_PAGE),
)
