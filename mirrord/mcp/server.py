"""The MCP server with its tools, wired for the callers of one tenant, and served on stdin and stdout."""

import sys
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from functools import partial
from typing import Any

from mcp.server._otel import OpenTelemetryMiddleware
from mcp.server.auth.provider import TokenVerifier
from mcp.server.auth.settings import AuthSettings
from mcp.server.lowlevel.server import NotificationOptions
from mcp.server.mcpserver import Context, MCPServer
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INVALID_PARAMS,
    CallToolResult,
    GetPromptResult,
    InputRequiredResult,
    ListResourcesResult,
    PaginatedRequestParams,
    Prompt,
    SubscribeRequestParams,
    UnsubscribeRequestParams,
)
from mcp_types import Tool as Listed
from opentelemetry import trace

from mirrord import __version__
from mirrord.config import DEFAULT_TOOLS, Config
from mirrord.domain.scope import UNLIMITED, Scope
from mirrord.mcp import calls, prompts, served_resources
from mirrord.mcp.admission import Tenant
from mirrord.mcp.callers import Callers, local_caller
from mirrord.mcp.message_source import note_source
from mirrord.mcp.notice_views import view_of
from mirrord.mcp.page_notices import Notices
from mirrord.mcp.prompts import instructions_for
from mirrord.mcp.refusals import Refusals
from mirrord.mcp.stdio_protocol import standard_streams
from mirrord.mcp.tool_sets import check_sets, set_with, tools_of
from mirrord.mcp.tools.arguments import nearest_name
from mirrord.mcp.tools.tool import Tool

NAME = "mirrord"


class Server(MCPServer[None]):
    """
    The server of one tenant.

    Its own tools come before those registered with the SDK.
    """

    def __init__(
        self,
        callers: Callers,
        tools: Sequence[Tool[Any]],
        notices: Notices,
        instructions: str,
        *,
        auth: AuthSettings | None = None,
        verifier: TokenVerifier | None = None,
    ) -> None:
        """*auth*, *verifier*: authorisation over HTTP; None: the transport is trusted."""
        self._callers = callers
        self._own_tools = {tool.name: tool for tool in tools}
        self.notices = notices
        with _without_rich():
            super().__init__(
                NAME,
                title="mirrord",
                instructions=instructions,
                version=__version__,
                log_level="WARNING",
                lifespan=self._lifespan,
                subscriptions=notices.bus,
                middleware=[note_source, Refusals(callers).convert_refusals, notices.observe],
                auth=auth,
                token_verifier=verifier,
            )
        self._drop_unread_spans()
        self._has_prompts = False
        served_resources.register_pages(self, callers, served_resources.source_tool_names(self._own_tools))
        served_resources.register_tool_schemas(self, callers, self._own_tools)
        self._add_missing_handlers()

    async def list_tools(self) -> list[Listed]:
        """The tools that the caller may use, always in the same order."""
        caller = self._callers.current()
        levels = caller.gate.levels
        usable = [tool for tool in self._own_tools.values() if caller.can_use(tool)]
        listed = [tool.entry_for(levels[tool.name]) for tool in usable]
        return [*listed, *await super().list_tools()]

    async def call_tool(
        self, name: str, arguments: dict[str, Any], context: Context[None, Any] | None = None
    ) -> CallToolResult | InputRequiredResult:
        """As in the SDK; failures of mirrord's tools are replies with an instruction."""
        if tool := self._own_tools.get(name):
            return await calls.perform_call(self._callers, tool, arguments, context)
        others = [tool.name for tool in await super().list_tools()]
        if name in others:
            return await super().call_tool(name, arguments, context)
        raise MCPError(INVALID_PARAMS, f"Unknown tool: {name}{_hint_for(name, [*self._own_tools, *others])}")

    async def list_prompts(self) -> list[Prompt]:
        """The prompts of mirrord and those registered with the SDK."""
        self._register_prompts()
        return await super().list_prompts()

    async def get_prompt(
        self, name: str, arguments: dict[str, Any] | None = None, context: Context[None, Any] | None = None
    ) -> GetPromptResult | InputRequiredResult:
        """As in the SDK, but an unknown name is an error of the client, with a suggestion."""
        names = [prompt.name for prompt in await self.list_prompts()]
        if name not in names:
            suggestion = nearest_name(name, names)
            raise MCPError(
                INVALID_PARAMS, f"Unknown prompt: {name}" + (f". Did you mean {suggestion}?" if suggestion else "")
            )
        try:
            return await super().get_prompt(name, arguments, context)
        except ValueError as error:  # missing or invalid arguments
            raise MCPError(INVALID_PARAMS, str(error)) from error

    def _register_prompts(self) -> None:
        """Register the prompts on the first request: this takes a hundredth of the start."""
        if not self._has_prompts:
            prompts.register_prompts(self)
            self._has_prompts = True

    async def _list_resources(self, _: Any, params: PaginatedRequestParams) -> ListResourcesResult:
        """The pages; after the last one the tools for sources and the resources registered with the SDK."""
        listing = await served_resources.list_pages(self._callers.current(), params.cursor)
        if listing.next_cursor is None:
            listing.resources += [
                *served_resources.list_tool_resources(self._own_tools),
                *await super().list_resources(),
            ]
        return listing

    async def run_stdio_async(self) -> None:
        """Serve stdin and stdout until stdin ends."""
        options = self._lowlevel_server.create_initialization_options()
        with standard_streams() as (incoming, outgoing):
            await self._lowlevel_server.run(incoming, outgoing, options)

    @asynccontextmanager
    async def _lifespan(self, _: MCPServer[None]) -> AsyncIterator[None]:
        async with self.notices.watching():
            yield

    def _drop_unread_spans(self) -> None:
        """Without a provider of OpenTelemetry each message would make a span that no program reads."""
        if isinstance(trace.get_tracer_provider(), trace.ProxyTracerProvider):
            middleware = self._lowlevel_server.middleware
            middleware[:] = [layer for layer in middleware if not isinstance(layer, OpenTelemetryMiddleware)]

    def _add_missing_handlers(self) -> None:
        """Handle and declare cursors and subscriptions: MCPServer has no public API for them."""
        server = self._lowlevel_server
        create_options = partial(server.create_initialization_options, NotificationOptions(resources_changed=True))
        server.create_initialization_options = create_options  # type: ignore[method-assign]  # HTTP takes no options
        add_handler = server.add_request_handler
        add_handler("resources/list", PaginatedRequestParams, self._list_resources)
        add_handler("resources/subscribe", SubscribeRequestParams, self.notices.subscribe)
        add_handler("resources/unsubscribe", UnsubscribeRequestParams, self.notices.unsubscribe)


def _hint_for(tool: str, served: Sequence[str]) -> str:
    """The end of a sentence about a tool that is not among those *served*: where it is, or the most similar one."""
    if (name := set_with(tool)) is not None:
        return f". It is in the set of tools {name!r}, which a person can add to --tools."
    suggestion = nearest_name(tool, served)
    return f". Did you mean {suggestion}?" if suggestion is not None else ""


@contextmanager
def _without_rich() -> Iterator[None]:
    """Hide rich from MCPServer, which colours its log: a twentieth of the start, and no client shows colours."""
    is_hidden = sys.modules.setdefault("rich.console", None) is None  # type: ignore[arg-type]  # blocks the import
    try:
        yield
    finally:
        if is_hidden:
            del sys.modules["rich.console"]


def assemble_server(
    tenant: Tenant,
    callers: Callers,
    sets: Sequence[str] = DEFAULT_TOOLS,
    *,
    auth: AuthSettings | None = None,
    verifier: TokenVerifier | None = None,
) -> Server:
    """The server of *tenant* with these sets of tools. Raises UserError for a set that does not exist."""
    chosen = check_sets(sets)
    notices = Notices(tenant.root, lambda: view_of(callers.current()), callers.may_notify)
    return Server(callers, tools_of(chosen), notices, instructions_for(chosen), auth=auth, verifier=verifier)


def serve_stdio(config: Config, paths: Scope = UNLIMITED) -> None:
    """
    Serve until stdin ends. paths: what a caller without a token sees.

    Raises Refused for a missing or invalid token.
    """
    tenant, caller = local_caller(config, paths)
    callers = Callers(caller, config.agents.answers)
    try:
        assemble_server(tenant, callers, config.agents.tools).run("stdio")
    finally:
        callers.close()
