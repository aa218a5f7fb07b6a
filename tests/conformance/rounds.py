"""The suite's tools that ask first and answer later (InputRequiredResult, SEP-2322)."""

from collections.abc import Callable, Mapping
from typing import Any

from mcp.server.mcpserver import Context
from mcp.shared.exceptions import MCPError
from mcp_types import (
    MISSING_REQUIRED_CLIENT_CAPABILITY,
    CallToolResult,
    CreateMessageRequest,
    CreateMessageRequestParams,
    ElicitRequest,
    ElicitRequestFormParams,
    ElicitResult,
    InputRequiredResult,
    ListRootsRequest,
    SamplingMessage,
    TextContent,
)

from mirrord.mcp.server import Server

Json = dict[str, dict[str, dict[str, str]]]
Requests = dict[str, CreateMessageRequest | ListRootsRequest | ElicitRequest]


def register(server: Server) -> None:
    """All of them."""
    _single(server, "test_input_required_result_elicitation", lambda: {"user_name": _elicit("name")})
    _single(server, "test_streaming_elicitation", lambda: {"user_name": _elicit("name")})
    _single(server, "test_input_required_result_sampling", lambda: {"capital_question": _sample("Capital of France?")})
    _single(server, "test_input_required_result_list_roots", lambda: {"client_roots": ListRootsRequest()})
    _stateful(server, "test_input_required_result_request_state", {"confirm": _elicit("ok", "boolean")}, "state-ok")
    _stateful(server, "test_input_required_result_tampered_state", {"confirm": _elicit("ok", "boolean")}, "state-ok")
    several: Requests = {
        "user_name": _elicit("name"),
        "greeting": _sample("Generate a greeting"),
        "client_roots": ListRootsRequest(),
    }
    _stateful(server, "test_input_required_result_multiple_inputs", several, "all")
    _multi_round(server)
    _capabilities(server)
    _prompt(server)


def _elicit(key: str, kind: str = "string") -> ElicitRequest:
    schema = {"type": "object", "properties": {key: {"type": kind}}, "required": [key]}
    return ElicitRequest(params=ElicitRequestFormParams(message=f"Please give: {key}", requested_schema=schema))


def _sample(text: str) -> CreateMessageRequest:
    sampling_message = SamplingMessage(role="user", content=TextContent(type="text", text=text))
    return CreateMessageRequest(params=CreateMessageRequestParams(messages=[sampling_message], max_tokens=50))


def _done(text: str) -> CallToolResult:
    return CallToolResult(content=[TextContent(type="text", text=text)])


def _answers(context: Context[None], requested: Mapping[str, object]) -> Mapping[str, Any] | None:
    """What was answered, None unless everything was."""
    responses = context.input_responses or {}
    complete = all(name in responses and not _is_empty(responses[name]) for name in requested)
    return responses if complete else None


def _is_empty(answer: object) -> bool:
    return isinstance(answer, ElicitResult) and answer.action == "accept" and not answer.content


def _single(server: Server, name: str, requests: Callable[[], Requests]) -> None:
    @server.tool(name)
    async def ask(context: Context[None]) -> CallToolResult | InputRequiredResult:
        """Asks once."""
        responses = _answers(context, requests())
        return InputRequiredResult(input_requests=requests()) if responses is None else _done(f"Got {responses}")


def _stateful(server: Server, name: str, requests: Requests, answer: str) -> None:
    @server.tool(name)
    async def ask(context: Context[None]) -> CallToolResult | InputRequiredResult:
        """Asks once, and wants its state back."""
        if _answers(context, requests) is None or context.request_state != "begun":
            return InputRequiredResult(input_requests=requests, request_state="begun")
        return _done(answer)


def _multi_round(server: Server) -> None:
    @server.tool()
    async def test_input_required_result_multi_round(context: Context[None]) -> CallToolResult | InputRequiredResult:
        """Asks twice."""
        if context.request_state == "second" and _answers(context, {"step2": None}) is not None:
            return _done("Both steps done")
        if context.request_state == "first" and _answers(context, {"step1": None}) is not None:
            return InputRequiredResult(input_requests={"step2": _elicit("color")}, request_state="second")
        return InputRequiredResult(input_requests={"step1": _elicit("name")}, request_state="first")


def _capabilities(server: Server) -> None:
    @server.tool()
    async def test_input_required_result_capabilities(context: Context[None]) -> CallToolResult | InputRequiredResult:
        """Asks only in ways the client declared."""
        declared = context.client_capabilities
        requests: Requests = {}
        if declared is not None and declared.elicitation is not None:
            requests["user_name"] = _elicit("name")
        if declared is not None and declared.sampling is not None:
            requests["greeting"] = _sample("Generate a greeting")
        if not requests or _answers(context, requests) is not None:
            return _done("done")
        return InputRequiredResult(input_requests=requests)

    @server.tool()
    async def test_missing_capability(context: Context[None]) -> str:
        """Needs sampling."""
        declared = context.client_capabilities
        if declared is None or declared.sampling is None:
            data: Json = {"requiredCapabilities": {"sampling": {}}}
            raise MCPError(MISSING_REQUIRED_CLIENT_CAPABILITY, "This tool needs sampling", data)
        return "done"


def _prompt(server: Server) -> None:
    @server.prompt()
    async def test_input_required_result_prompt(context: Context[None]) -> Any:
        """Asks before it says anything."""
        requests: Requests = {"user_context": _elicit("context")}
        if _answers(context, requests) is None:
            return InputRequiredResult(input_requests=requests)
        return "Prompt with context"
