"""Pages and the tools for sources as MCP resources: URIs, templates, completion and lists."""

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote, unquote

import orjson
from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ResourceNotFoundError
from mcp.shared.exceptions import MCPError
from mcp_types import (
    Completion,
    CompletionArgument,
    CompletionContext,
    ListResourcesResult,
    PromptReference,
    Resource,
    ResourceTemplateReference,
)

from mirrord.commands.core.failure import Failed, failure_of
from mirrord.commands.core.list_cursor import cursor_of, start_index
from mirrord.commands.core.session import Session
from mirrord.domain.entry import Kind
from mirrord.errors import MirrordError
from mirrord.mcp.callers import Caller, Callers
from mirrord.mcp.refusals import protocol_error
from mirrord.mcp.tools.arguments import nearest_name
from mirrord.mcp.tools.tool import Lane, Tool
from mirrord.mirror.tree.tree_layout import INDEX_FILE, SUFFIX, directory_of

PAGE_SCHEME = "page:///"
PAGE_TEMPLATE = PAGE_SCHEME + "{+path}"


def uri_of(path: str) -> str:
    """The URI of the page at *path*."""
    return PAGE_SCHEME + quote(path)


def paths_from_uri(uri: str) -> tuple[str, ...]:
    """Possible paths of the page of *uri*; empty if it is not the URI of a page."""
    if not uri.startswith(PAGE_SCHEME):
        return ()
    path = unquote(uri.removeprefix(PAGE_SCHEME))
    return (path,) if path.endswith(SUFFIX) else (f"{path}{SUFFIX}", f"{path}/{INDEX_FILE}")


MARKDOWN_TYPE = "text/markdown"
MAX_LISTED_RESOURCES = 100  # resources in one list: some clients load only one list, and some show it to the model
MAX_COMPLETIONS = 100  # the maximum of the protocol
_CURSOR_QUESTION = "resources"
_UNKNOWN_KINDS = ("not_found", "invalid", "forbidden")


def register_pages(server: MCPServer[None], callers: Callers, tools: Sequence[str] = ()) -> None:
    """Register the pages by URI, and the completion of paths. tools: names to complete too."""

    @server.resource(PAGE_TEMPLATE, name="page", title="A page", mime_type=MARKDOWN_TYPE)
    async def page(path: str) -> str:
        """A page's whole text, by its path, such as page:///Projects/Alpha.md."""
        from mirrord.commands.pages.page_commands import read_page  # noqa: PLC0415  (as for tools: loaded on demand)

        try:
            caller = callers.current()
            page_read = await caller.perform(caller.on_pages(read_page, path), Lane.READ)
        except MirrordError as error:
            raise _resource_error(failure_of(error)) from error
        if page_read.folder is not None:  # a missing resource must not look empty
            raise ResourceNotFoundError(f"{page_read.path} is a folder without a page file.")
        return page_read.content

    @server.completion()  # type: ignore[no-untyped-call, untyped-decorator]  # the SDK leaves it so
    async def complete(
        reference: PromptReference | ResourceTemplateReference,
        argument: CompletionArgument,
        _: CompletionContext | None,
    ) -> Completion | None:
        if argument.name == "tool_name":
            matches = [name for name in tools if argument.value.lower() in name]
            return Completion(values=matches, total=len(matches), has_more=False)
        if argument.name != "path":
            return None
        try:
            caller = callers.current()
            paths = await caller.perform(caller.on_pages(_matching_paths, argument.value), Lane.READ)
        except MirrordError as error:
            raise protocol_error(error) from error
        return Completion(values=paths[:MAX_COMPLETIONS], total=len(paths), has_more=len(paths) > MAX_COMPLETIONS)


async def list_pages(caller: Caller, cursor: str | None) -> ListResourcesResult:
    """One part of the list of all pages; the first two levels come first."""
    pages, next_cursor = await caller.perform(caller.on_pages(_list_part, cursor), Lane.READ)
    resources = [
        Resource(uri=uri_of(path), name=path, title=title, description=f"The page {title}", mime_type=MARKDOWN_TYPE)
        for path, title in pages
    ]
    return ListResourcesResult(resources=resources, next_cursor=next_cursor)


def _list_part(session: Session, cursor: str | None) -> tuple[list[tuple[str, str]], str | None]:
    """Paths and titles, and the cursor after them; None: this is the last part."""
    snapshot = session.catalogue.snapshot()
    paths = sorted(snapshot.pages, key=_top_level_first)
    start = start_index(paths, cursor, _CURSOR_QUESTION)
    part = paths[start : start + MAX_LISTED_RESOURCES]
    has_more = start + len(part) < len(paths)
    pages = [(path, card.title) for path, card in snapshot.summaries(part).items()]
    return pages, cursor_of(_CURSOR_QUESTION, part[-1], start + len(part)) if has_more else None


def _top_level_first(path: str) -> tuple[int, str]:
    directory = directory_of(path, Kind.PAGE)
    return max(directory.count("/"), 1), directory


def _matching_paths(session: Session, typed: str) -> list[str]:
    """Paths that begin with *typed*, those that contain it, and those of pages with such a title; in any case."""
    snapshot = session.catalogue.snapshot()
    needle, paths = typed.lower(), sorted(snapshot.pages)
    prefixed = [path for path in paths if path.lower().startswith(needle)]
    matching = dict.fromkeys([*prefixed, *(path for path in paths if needle in path.lower())])
    if len(matching) < MAX_COMPLETIONS:  # to know titles takes reading every page once
        titles = snapshot.summaries_by_path
        matching |= dict.fromkeys(path for path in paths if path in titles and needle in titles[path].title.lower())
    return list(matching)


def _resource_error(failed: Failed) -> ResourceNotFoundError | MCPError:
    return ResourceNotFoundError(str(failed)) if failed.kind in _UNKNOWN_KINDS else protocol_error(failed)


JSON_TYPE = "application/json"
TOOL_TEMPLATE = "qualcoder://sources/tools/{tool_name}"
_NAMES = (
    *("import_file", "rename_source", "delete_source", "detect_speakers", "import_survey"),
    *("list_sources", "get_source_text"),
)


def source_tool_names(tools: Mapping[str, Tool[Any]]) -> list[str]:
    """The tools for sources among *tools*."""
    return [name for name in _NAMES if name in tools]


def list_tool_resources(tools: Mapping[str, Tool[Any]]) -> list[Resource]:
    """The resources of the tools for sources."""
    return [
        Resource(
            uri=TOOL_TEMPLATE.format(tool_name=name),
            name=name,
            title=tools[name].title,
            description=f"What {name} takes and answers, and its trust level",
            mime_type=JSON_TYPE,
        )
        for name in source_tool_names(tools)
    ]


def register_tool_schemas(server: MCPServer[None], callers: Callers, tools: Mapping[str, Tool[Any]]) -> None:
    """Register a resource for the tools for sources among *tools*, if there are any."""
    source_tools = {name: tools[name] for name in source_tool_names(tools)}
    if not source_tools:
        return

    @server.resource(TOOL_TEMPLATE, name="source tool", title="A tool for sources", mime_type=JSON_TYPE)
    async def tool(tool_name: str) -> str:
        """What a tool for sources takes and answers, and its trust, such as qualcoder://sources/tools/list_sources."""
        source_tool = source_tools.get(tool_name)
        if source_tool is None:
            suggestion = nearest_name(tool_name, source_tools)
            raise ResourceNotFoundError(
                f"Unknown tool: {tool_name}" + (f". Did you mean {suggestion}?" if suggestion else "")
            )
        level = callers.current().gate.levels[tool_name]
        entry = source_tool.entry_for(level)
        return orjson.dumps(
            {
                "name": entry.name,
                "description": entry.description,
                "inputSchema": entry.input_schema,
                "outputSchema": source_tool.result_for(level),
                "trust_level": level.name,
            }
        ).decode()
