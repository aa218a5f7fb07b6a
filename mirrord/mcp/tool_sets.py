"""The sets of tools that a server can serve; a set that was not asked for is not loaded."""

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from mirrord.errors import UserError
from mirrord.mcp.tools.find_tools import GET_PAGE_LINKS, GET_TREE, LIST_PAGES
from mirrord.mcp.tools.move_tools import ADD_ATTACHMENT, DELETE_PAGE, MOVE_PAGE, RESTORE_PAGE
from mirrord.mcp.tools.query_tools import FIND_PAGES, SEARCH_PAGES
from mirrord.mcp.tools.read_tools import READ_PAGE, READ_PAGES, SYNC_STATUS
from mirrord.mcp.tools.tool import Tool
from mirrord.mcp.tools.write_tools import CREATE_PAGE, EDIT_PAGE, WRITE_PAGE

Tools = tuple[Tool[Any], ...]

ALL_SETS = "all"  # the name of all sets together

# Clients and models remember the list: the order never changes, new tools come last in their group.
PAGES: Tools = (
    *(LIST_PAGES, GET_TREE, SEARCH_PAGES, GET_PAGE_LINKS, READ_PAGE, READ_PAGES, SYNC_STATUS, FIND_PAGES),
    *(WRITE_PAGE, EDIT_PAGE, CREATE_PAGE, ADD_ATTACHMENT, MOVE_PAGE, DELETE_PAGE, RESTORE_PAGE),
)


def _page_tools() -> Tools:
    return PAGES


def _source_tools() -> Tools:
    from mirrord.research.sources.folder_tools import FOLDERS  # only requested sets are loaded
    from mirrord.research.sources.source_tools import IMPORTS, SOURCES, SPEAKERS

    return (*FOLDERS, *SOURCES, *IMPORTS, *SPEAKERS)


def _collection_tools() -> Tools:
    from mirrord.research.collections.collection_tools import COLLECTION_TOOLS

    return COLLECTION_TOOLS


def _change_tools() -> Tools:
    from mirrord.mcp.tools.change_tools import CHANGE_TOOLS  # only requested sets are loaded
    from mirrord.mcp.tools.history_tools import HISTORY_TOOLS
    from mirrord.mcp.tools.undo_tool import UNDO_CHANGES

    return (*CHANGE_TOOLS, UNDO_CHANGES, *HISTORY_TOOLS)


def _attachment_tools() -> Tools:
    from mirrord.mcp.tools.attachment_tools import ATTACHMENT_TOOLS  # only requested sets are loaded

    return ATTACHMENT_TOOLS


def _restructuring_tools() -> Tools:
    from mirrord.mcp.tools.restructure_tools import RESTRUCTURE_TOOLS  # only requested sets are loaded

    return RESTRUCTURE_TOOLS


SETS: Mapping[str, Callable[[], Tools]] = MappingProxyType(
    {
        "pages": _page_tools,
        "sources": _source_tools,
        "collections": _collection_tools,
        "changes": _change_tools,
        "attachments": _attachment_tools,
        "restructure": _restructuring_tools,
    }
)


def check_sets(sets: Sequence[str]) -> tuple[str, ...]:
    """*sets* without duplicates, in the standard order. Raises UserError for an unknown set, and for no set."""
    if unknown := [name for name in sets if name not in SETS and name != ALL_SETS]:
        raise UserError(f"There is no set of tools {unknown[0]!r}; there are {', '.join(SETS)}, and {ALL_SETS}.")
    if not sets:
        raise UserError(f"No set of tools is named; there are {', '.join(SETS)}, and {ALL_SETS}.")
    return tuple(name for name in SETS if name in sets or ALL_SETS in sets)


def set_with(tool: str) -> str | None:
    """The set that has *tool*; None: there is no such tool. Loads all sets."""
    return next((name for name, tools in SETS.items() if any(entry.name == tool for entry in tools())), None)


def tools_of(sets: Sequence[str]) -> Tools:
    """All tools of these sets, always in the same order."""
    return tuple(tool for name in check_sets(sets) for tool in SETS[name]())
