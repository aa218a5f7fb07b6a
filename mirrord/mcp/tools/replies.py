"""Replies to the client: text, structured content, or the same in both channels."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import orjson
from mcp_types import CallToolResult, ContentBlock, ImageContent, TextContent
from pydantic.alias_generators import to_camel

from mirrord.commands.core.failure import Failed
from mirrord.domain.answer_form import AnswerForm

if TYPE_CHECKING:
    from mirrord.commands.trust_gate import PendingRequest

_MAX_SENTENCE_CHARACTERS = 2_000  # characters of a sentence


class PictureAnswer(dict[str, Any]):
    """An answer with a picture, which is content of its own. data: of the picture, in base64."""

    def __init__(self, facts: Mapping[str, Any], media_type: str, data: str) -> None:
        super().__init__(facts)
        self.media_type = media_type
        self.data = data


def success_reply(value: Mapping[str, Any], form: AnswerForm) -> CallToolResult:
    """The result of a successful call."""
    if isinstance(value, PictureAnswer):
        return _picture_reply(value)
    return _reply(value, form, is_error=False)


def failure_reply(failed: Failed, form: AnswerForm) -> CallToolResult:
    """The result of a failed call, which changed nothing."""
    return _reply({"success": False, **facts_of_failure(failed)}, form, is_error=True)


def pending_reply(pending: "PendingRequest") -> dict[str, Any]:
    """The result of a call that waits for a person's decision."""
    preview = pending.preview
    return {
        "status": "pending_approval",
        "request_id": str(pending.request_id),
        "expires_at": pending.expires_at.isoformat(timespec="seconds"),
        "preview": {"summary": preview.get("summary"), "lines": preview.get("lines")},
        "instruction": pending.instruction,
        **preview.get("facts", {}),
    }


def facts_of_failure(failed: Failed) -> dict[str, object]:
    """A failure as the client receives it."""
    facts = {to_camel(key): value for key, value in failed.facts.items()}
    sentences = {"error": _cut(str(failed)), "instruction": _cut(failed.instruction)}
    return {"code": failed.code, "error_type": failed.kind, **sentences, **facts}


def _cut(text: str) -> str:
    """*text*, cut to _MAX_SENTENCE_CHARACTERS: sentences repeat arguments of any length."""
    return text if len(text) <= _MAX_SENTENCE_CHARACTERS else f"{text[:_MAX_SENTENCE_CHARACTERS]}…"


def _picture_reply(answer: PictureAnswer) -> CallToolResult:
    """A reply without structured content: clients that take that show nothing else, and no picture."""
    picture = ImageContent(type="image", data=answer.data, mime_type=answer.media_type)
    facts: list[ContentBlock] = [TextContent(type="text", text=orjson.dumps(dict(answer)).decode()), picture]
    return CallToolResult(content=facts)


def _reply(value: Mapping[str, Any], form: AnswerForm, *, is_error: bool) -> CallToolResult:
    content: list[ContentBlock] = []
    if form is not AnswerForm.STRUCTURED:
        content.append(TextContent(type="text", text=orjson.dumps(value).decode()))
    structured = dict(value) if form is not AnswerForm.TEXT else None
    return CallToolResult(content=content, structured_content=structured, is_error=is_error)
