"""
What the conformance suite calls, registered on mirrord's own server: tools, resources and prompts by its names.

    python -m tests.conformance.fixture DIRECTORY      prints the URL and serves it until it is ended
"""

import base64
import json
import socket
import sys
from pathlib import Path
from typing import Annotated
from uuid import uuid4

import anyio
import uvicorn
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.prompts.base import UserMessage
from mcp_types import (
    AudioContent,
    CreateMessageRequestParams,
    EmbeddedResource,
    EmptyResult,
    ImageContent,
    SamplingMessage,
    SetLevelRequestParams,
    TextContent,
    TextResourceContents,
)
from pydantic import BaseModel, Field, JsonValue, create_model

from mirrord.commands.core.session import Gate, Session
from mirrord.domain.entry import Actor, MirrorId, TenantId
from mirrord.mcp import http
from mirrord.mcp.admission import Tenant
from mirrord.mcp.callers import Caller, Callers
from mirrord.mcp.server import Server, assemble_server
from mirrord.mirror import tree_marker
from mirrord.mirror.tree.tenant_tree import Tree
from mirrord.mirror.tree_marker import Marker
from tests.conformance import rounds

PICTURE = (  # one transparent pixel
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGNgYGBgAAAABQABpfZFQAAAAABJRU5ErkJggg=="
)
SOUND = base64.b64encode(
    b"RIFF\x24\0\0\0WAVEfmt \x10\0\0\0\1\0\1\0\x40\x1f\0\0\x80\x3e\0\0\2\0\x10\0data\0\0\0\0"
).decode()
PAUSE = 0.05  # seconds, as the suite asks for


class Person(BaseModel):
    """What test_elicitation asks for."""

    username: str = Field(description="User's response")
    email: str = Field(description="User's email address")


class Defaults(BaseModel):
    """A default for each primitive type (SEP-1034)."""

    name: str = "John Doe"
    age: int = 30
    score: float = 95.5
    status: Annotated[str, Field(json_schema_extra={"enum": ["active", "inactive", "pending"]})] = "active"
    verified: bool = True


_TITLED: list[JsonValue] = [{"const": f"value{number}", "title": f"Option {number}"} for number in (1, 2, 3)]
_PLAIN: list[JsonValue] = ["option1", "option2", "option3"]


Choices = create_model(  # every way to offer a choice (SEP-1330)
    "Choices",
    untitledSingle=(str, Field(json_schema_extra={"enum": [*_PLAIN]})),
    titledSingle=(str, Field(json_schema_extra={"oneOf": [*_TITLED]})),
    legacyEnum=(str, Field(json_schema_extra={"enum": [*_PLAIN], "enumNames": ["One", "Two", "Three"]})),
    untitledMulti=(list[str], Field(json_schema_extra={"items": {"type": "string", "enum": [*_PLAIN]}})),
    titledMulti=(list[str], Field(json_schema_extra={"items": {"anyOf": [*_TITLED]}})),
)


def register(server: Server) -> None:
    """All that the suite calls by name."""
    _contents(server)
    _messages(server)
    _questions(server)
    _resources(server)
    _prompts(server)
    rounds.register(server)

    async def set_level(_: object, params: SetLevelRequestParams) -> EmptyResult:
        return EmptyResult()

    server._lowlevel_server.add_request_handler("logging/setLevel", SetLevelRequestParams, set_level)


def _contents(server: Server) -> None:
    @server.tool()
    def test_simple_text() -> str:
        """Text."""
        return "This is a simple text response for testing."

    @server.tool()
    def test_image_content() -> list[ImageContent]:
        """A picture."""
        return [ImageContent(type="image", data=PICTURE, mime_type="image/png")]

    @server.tool()
    def test_audio_content() -> list[AudioContent]:
        """A sound."""
        return [AudioContent(type="audio", data=SOUND, mime_type="audio/wav")]

    @server.tool()
    def test_embedded_resource() -> list[EmbeddedResource]:
        """A resource in the answer."""
        return [_embedded("test://embedded-resource", "text/plain", "This is an embedded resource content.")]

    @server.tool()
    def test_multiple_content_types() -> list[TextContent | ImageContent | EmbeddedResource]:
        """Three kinds at once."""
        return [
            TextContent(type="text", text="Multiple content types test:"),
            ImageContent(type="image", data=PICTURE, mime_type="image/png"),
            _embedded("test://mixed-content-resource", "application/json", '{"test":"data","value":123}'),
        ]

    @server.tool()
    def test_error_handling() -> str:
        """An error."""
        raise RuntimeError("This tool intentionally returns an error for testing")


def _messages(server: Server) -> None:
    @server.tool()
    async def test_tool_with_logging(context: Context[None]) -> str:
        """Three log messages."""
        for message in ("Tool execution started", "Tool processing data", "Tool execution completed"):
            await context.info(message)
            await anyio.sleep(PAUSE)
        return "done"

    @server.tool()
    async def test_logging_tool(context: Context[None]) -> str:
        """A log message, if the client wants any."""
        await context.info("working")
        return "done"

    @server.tool()
    async def test_tool_with_progress(context: Context[None]) -> str:
        """Three steps."""
        for step in (0, 50, 100):
            await context.report_progress(step, 100)
            await anyio.sleep(PAUSE)
        return "done"

    @server.tool()
    async def test_trigger_tool_change(context: Context[None]) -> str:
        """Says that the list of tools changed."""
        await context.notify_tools_changed()
        return "done"

    @server.tool()
    async def test_trigger_prompt_change(context: Context[None]) -> str:
        """Says that the list of prompts changed."""
        await context.notify_prompts_changed()
        return "done"


def _questions(server: Server) -> None:
    @server.tool()
    async def test_sampling(prompt: str, context: Context[None]) -> str:
        """Asks the client's model."""
        sampling_message = SamplingMessage(role="user", content=TextContent(type="text", text=prompt))
        params = CreateMessageRequestParams(messages=[sampling_message], max_tokens=100)
        answer = await context.session.create_message(params.messages, max_tokens=100)
        assert isinstance(answer.content, TextContent)
        return f"LLM response: {answer.content.text}"

    @server.tool()
    async def test_elicitation(message: str, context: Context[None]) -> str:
        """Asks the person."""
        return await _asked(context, message, Person)

    @server.tool()
    async def test_elicitation_sep1034_defaults(context: Context[None]) -> str:
        """Asks with defaults."""
        return await _asked(context, "Please check", Defaults)

    @server.tool()
    async def test_elicitation_sep1330_enums(context: Context[None]) -> str:
        """Asks for choices."""
        return await _asked(context, "Please choose", Choices)


async def _asked(context: Context[None], message: str, answer_type: type[BaseModel]) -> str:
    answer = await context.elicit(message, answer_type)
    content = answer.data.model_dump_json() if answer.action == "accept" else "{}"
    return f"Elicitation completed: action={answer.action}, content={content}"


def _resources(server: Server) -> None:
    @server.resource("test://static-text", mime_type="text/plain")
    def static_text() -> str:
        """A text."""
        return "This is the content of the static text resource."

    @server.resource("test://static-binary", mime_type="image/png")
    def static_binary() -> bytes:
        """A picture."""
        return base64.b64decode(PICTURE)

    @server.resource("test://template/{id}/data", mime_type="application/json")
    def template(id: str) -> str:
        """One of many."""
        return json.dumps({"id": id, "templateTest": True, "data": f"Data for ID: {id}"})

    @server.resource("test://watched-resource", mime_type="text/plain")
    def watched() -> str:
        """One to subscribe to."""
        return "Watched"


def _prompts(server: Server) -> None:
    @server.prompt()
    def test_simple_prompt() -> str:
        """Without arguments."""
        return "This is a simple prompt for testing."

    @server.prompt()
    def test_prompt_with_arguments(arg1: str, arg2: str) -> str:
        """With arguments."""
        return f"Prompt with arguments: arg1='{arg1}', arg2='{arg2}'"

    @server.prompt()
    def test_prompt_with_embedded_resource(resourceUri: str) -> list[UserMessage]:  # noqa: N803  (the suite's name)
        """With a resource."""
        resource = _embedded(resourceUri, "text/plain", "Embedded resource content for testing.")
        return [UserMessage(resource), UserMessage("Please process the embedded resource above.")]

    @server.prompt()
    def test_prompt_with_image() -> list[UserMessage]:
        """With a picture."""
        picture = ImageContent(type="image", data=PICTURE, mime_type="image/png")
        return [UserMessage(picture), UserMessage("Please analyze the image above.")]


def _embedded(uri: str, mime_type: str, text: str) -> EmbeddedResource:
    return EmbeddedResource(type="resource", resource=TextResourceContents(uri=uri, mime_type=mime_type, text=text))


def main(directory: Path) -> None:
    """Serve a tenant of its own below *directory*."""
    root, tenant_id = directory / "demo", TenantId(uuid4())
    tree_marker.make_root(root)
    (root / "Welcome.md").write_text("# Welcome\n", encoding="utf-8")
    tree = Tree(root)
    tree_marker.write(tree, Marker("demo", tenant_id, MirrorId(uuid4())))
    session = Session(tree, "demo", tenant_id, Actor("agent", "suite"), "suite")
    callers = Callers(Caller(session, Gate(), may_write=True, still_holds=lambda: None))
    server = assemble_server(Tenant("demo", tenant_id, root), callers)
    register(server)
    app = server.streamable_http_app(transport_security=http.security_settings("127.0.0.1", ()))
    with socket.create_server(("127.0.0.1", 0)) as listener:
        print(f"http://127.0.0.1:{listener.getsockname()[1]}/mcp", flush=True)
        uvicorn.Server(uvicorn.Config(app, log_level="warning")).run(sockets=[listener])


if __name__ == "__main__":
    main(Path(sys.argv[1]))
