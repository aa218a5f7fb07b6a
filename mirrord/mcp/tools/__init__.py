"""The tools, a module for each kind: what a model is told of them, and which command does the work."""

from typing import Any

from mirrord.mcp.tool import Tool

TOOLS: tuple[Tool[Any], ...] = ()
