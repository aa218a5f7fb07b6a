"""Answers to lines that are not protocol messages, as JSON-RPC 2.0 section 5.1 requires. Pure."""

import json
import re
from typing import Any

from mcp_types import INVALID_PARAMS, INVALID_REQUEST, PARSE_ERROR

Id = str | int | None

_TOKENS = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\]:,]|[^\s{}\[\]:,"]+')
_TOO_DEEP = "The message is nested too deeply, or holds a number or text that JSON does not allow."
_SURROGATE = "The message holds half a character (a lone surrogate, such as a cut emoji). Send whole characters."
_BATCH = "A line holds one message; batches are not a part of this protocol."
_NO_REQUEST = (
    'The message is no request: it needs "jsonrpc": "2.0", a "method", and an "id" that is text or a whole number.'
)


def answer_to(line: str) -> bytes | None:
    """The error that answers *line*; None: no answer is expected, as for an empty line or a notification."""
    if not line.strip():
        return None
    try:
        message = json.loads(line)
    except RecursionError:
        return _encode_error(INVALID_REQUEST, _TOO_DEEP, _id_in(line))
    except ValueError as error:
        return _encode_error(PARSE_ERROR, f"The line is not JSON: {error}.", _id_in(line))
    if isinstance(message, list):
        return _encode_error(INVALID_REQUEST, _BATCH, None)
    if not isinstance(message, dict):
        return _encode_error(INVALID_REQUEST, _NO_REQUEST, None)
    return _answer_to_object(message)


def _answer_to_object(message: dict[str, Any]) -> bytes | None:
    if "method" not in message and ("result" in message or "error" in message):
        return None  # the answer to a request of the server
    is_request = message.get("jsonrpc") == "2.0" and isinstance(message.get("method"), str)
    if is_request and "id" not in message:
        return None  # a notification
    if not (is_request and _is_id(message["id"])):
        return _encode_error(INVALID_REQUEST, _NO_REQUEST, message.get("id"))
    if _has_surrogate(message):
        return _encode_error(INVALID_PARAMS, _SURROGATE, message["id"])
    if not isinstance(message.get("params", {}), dict):
        return _encode_error(INVALID_PARAMS, '"params" has to be an object.', message["id"])
    return _encode_error(INVALID_REQUEST, _TOO_DEEP, message["id"])


def _encode_error(code: int, sentence: str, request_id: Any) -> bytes:
    request_id = request_id if _is_id(request_id) and not _has_surrogate(request_id) else None
    answer = {"jsonrpc": "2.0", "id": request_id, "error": {"code": code, "message": sentence}}
    return json.dumps(answer, ensure_ascii=True).encode() + b"\n"


def _is_id(value: Any) -> bool:
    return isinstance(value, str | int) and not isinstance(value, bool)


def _has_surrogate(value: Any) -> bool:
    return "\\ud" in json.dumps(value) and not _is_encodable(json.dumps(value, ensure_ascii=False))


def _is_encodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _id_in(line: str) -> Id:
    """The "id" of the outermost object, as far as the line can be read."""
    depth, before, key = 0, "", ""
    for token in _TOKENS.findall(line):
        if depth == 1 and key == '"id"' and before == ":":
            return _value_of(token)
        if before in ("{", ",") and depth == 1:
            key = token
        depth += (token in "{[") - (token in "}]")
        before = token
    return None


def _value_of(token: str) -> Id:
    try:
        value = json.loads(token)
    except ValueError:
        return None
    return value if _is_id(value) else None
