"""Source tools as resources: their parameters and trust levels."""

from collections.abc import Mapping
from typing import Any

import orjson
from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ResourceNotFoundError
from mcp_types import Resource

from mirrord.mcp.callers import Callers
from mirrord.mcp.tools.arguments import nearest_name
from mirrord.mcp.tools.tool import Tool

JSON_TYPE = "application/json"
TOOL_TEMPLATE = "qualcoder://sources/tools/{tool_name}"
_NAMES = (
    *("import_file", "rename_source", "delete_source", "detect_speakers", "import_survey"),
    *("list_sources", "get_source_text"),
)


def names_in(tools: Mapping[str, Tool[Any]]) -> list[str]:
    """The tools for sources among *tools*."""
    return [name for name in _NAMES if name in tools]


def list_tool_resources(tools: Mapping[str, Tool[Any]]) -> list[Resource]:
    """The resources of the tools for sources."""
    return [
        Resource(
            uri=TOOL_TEMPLATE.format(tool_name=name),
            name=name,
            title=tools[name].title,
            description=f"What {name} takes, and its trust level",
            mime_type=JSON_TYPE,
        )
        for name in names_in(tools)
    ]


def register_tool_schemas(server: MCPServer[None], callers: Callers, tools: Mapping[str, Tool[Any]]) -> None:
    """Register a resource for the tools for sources among *tools*, if there are any."""
    source_tools = {name: tools[name] for name in names_in(tools)}
    if not source_tools:
        return

    @server.resource(TOOL_TEMPLATE, name="source tool", title="A tool for sources", mime_type=JSON_TYPE)
    async def tool(tool_name: str) -> str:
        """What a tool for sources takes, and its trust level, such as qualcoder://sources/tools/list_sources."""
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
                "trust_level": level.name,
            }
        ).decode()
