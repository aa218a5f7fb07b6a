"""Answers are text and structured content, unless the client or an operator wants one of them."""

import json
from pathlib import Path

import pytest
from mcp.client import advertise
from mcp_types import CallToolResult, TextContent

from mirrord.domain.answer_form import AnswerForm
from mirrord.mcp.message_source import STRUCTURED_ANSWERS
from tests.support.clients import in_memory, tenant_in

TEXT = "# Alpha\n\nDetails.\n"


async def replies_of(mirror: Path, **client: object) -> list[CallToolResult]:
    """To a call that succeeds and one that fails."""
    tenant = tenant_in(mirror, pages={"Alpha.md": TEXT})
    async with in_memory(tenant, **client) as agent:  # type: ignore[arg-type]
        return [await agent.client.call_tool("read_page", {"path": path}) for path in ("Alpha", "Beta")]


def texts_of(reply: CallToolResult) -> list[str]:
    return [block.text for block in reply.content if isinstance(block, TextContent)]


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_a_client_that_declares_it_gets_structured_content_only(tmp_path: Path, mode: str) -> None:
    page, failure = await replies_of(tmp_path, mode=mode, extensions=[advertise(STRUCTURED_ANSWERS)])
    assert (page.content, failure.content) == ([], [])
    assert page.structured_content is not None
    assert failure.structured_content is not None
    assert page.structured_content["content"] == TEXT
    assert (failure.is_error, failure.structured_content["code"]) == (True, "PAGE_NOT_FOUND")


async def test_other_clients_get_the_form_that_an_operator_chose(tmp_path: Path) -> None:
    page, failure = await replies_of(tmp_path, answers=AnswerForm.TEXT)
    assert (page.structured_content, failure.structured_content) == (None, None)
    assert [json.loads(text)["content"] for text in texts_of(page)] == [TEXT]
    assert [json.loads(text)["code"] for text in texts_of(failure)] == ["PAGE_NOT_FOUND"]


async def test_without_a_word_both_channels_say_the_same(tmp_path: Path) -> None:
    for reply in await replies_of(tmp_path):
        assert [json.loads(text) for text in texts_of(reply)] == [reply.structured_content]
