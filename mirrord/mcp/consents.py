"""Ask the person at the client for consent where the operator and client allow it."""

from typing import Any

from mcp.server.mcpserver import Context
from mcp.shared.exceptions import MCPError
from mcp_types import (
    ElicitRequest,
    ElicitRequestFormParams,
    ElicitResult,
    InputRequiredResult,
)
from mcp_types.version import is_version_at_least

from mirrord.commands.core.failure import Failed
from mirrord.domain.approval import Preview
from mirrord.domain.entry import digest_of

_KEY = "approve"
_SCHEMA: dict[str, Any] = {"type": "object", "properties": {}}  # accepting is the whole answer
_TWO_STEP_VERSION = "2026-07-28"  # from this version on a call returns the question, and is repeated with the answer
_MAX_MESSAGE_CHARACTERS = 3_000  # characters


def can_ask(context: Context[None, Any]) -> bool:
    """Whether the client declares support for forms; early versions declare only elicitation as such."""
    declared = context.client_capabilities.elicitation if context.client_capabilities is not None else None
    return declared is not None and (declared.form is not None or declared.url is None)


async def ask_approval(context: Context[None, Any], preview: Preview) -> bool | InputRequiredResult:
    """
    Whether the person approves; False: no decision, which then has to be made elsewhere.

    Returns the question if the client asks between two calls. Raises Failed, REJECTED, if the person declines.
    """
    answer = await _ask_client(context, preview)
    if isinstance(answer, InputRequiredResult):
        return answer
    if answer == "decline":
        sentence = "The person declined this in the client."
        raise Failed("REJECTED", "forbidden", sentence, "Do not ask again for the same; ask what is wanted instead.")
    return answer == "accept"


async def _ask_client(context: Context[None, Any], preview: Preview) -> str | InputRequiredResult:
    message = "\n".join((preview.summary, *preview.lines, "", "Approve this?"))[:_MAX_MESSAGE_CHARACTERS]
    version = context.protocol_version
    if version is None or not is_version_at_least(version, _TWO_STEP_VERSION):
        try:
            result: ElicitResult = await context.session.elicit_form(message, _SCHEMA, context.request_id)
        except MCPError:  # the client does not support it after all
            return "cancel"
        return result.action
    state = digest_of(repr(sorted(preview.bases.items())).encode()).hex()
    response = (context.input_responses or {}).get(_KEY)
    if (
        isinstance(response, ElicitResult) and context.request_state == state
    ):  # otherwise the person saw another preview
        return response.action
    request = ElicitRequest(params=ElicitRequestFormParams(message=message, requested_schema=_SCHEMA))
    return InputRequiredResult(input_requests={_KEY: request}, request_state=state)
