"""A line that is no message of the protocol gets the answer that JSON-RPC wants; the client does not wait for ever."""

import json
from typing import Any

import pytest

from mirrord.mcp.stdio_protocol import answer_to

CALL = '{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"read_page","arguments":{"path":"%s"}}}'


def answered(line: str) -> dict[str, Any]:
    answer = answer_to(line)
    assert answer is not None
    assert answer.endswith(b"\n")
    return dict(json.loads(answer))


@pytest.mark.parametrize(
    ("line", "code", "request_id"),
    [
        ("nonsense", -32700, None),
        ('{"jsonrpc":"2.0","id":7,"method":"ping"', -32700, 7),
        ('{"jsonrpc":"2.0","method":"ping","params":{"id":1},"id":"seven"', -32700, "seven"),
        ('{"jsonrpc":"2.0","params":{"id":1},"method":"ping"', -32700, None),
        ('[{"jsonrpc":"2.0","id":7,"method":"ping"}]', -32600, None),
        ("[]", -32600, None),
        ("3", -32600, None),
        ('{"id":7,"method":"ping"}', -32600, 7),
        ('{"jsonrpc":"2.0","id":7}', -32600, 7),
        ('{"jsonrpc":"2.0","id":null,"method":"ping"}', -32600, None),
        ('{"jsonrpc":"2.0","id":[1],"method":"ping"}', -32600, None),
        (CALL % "\\ud83d", -32602, 7),
        ('{"jsonrpc":"2.0","id":7,"method":"tools/call","params":[1]}', -32602, 7),
        (CALL.replace('"%s"', "[" * 300 + "]" * 300), -32600, 7),
        (CALL.replace('"%s"', "[" * 100_000 + "]" * 100_000), -32600, 7),
    ],
)
def test_a_line_that_is_no_message_is_answered(line: str, code: int, request_id: object) -> None:
    answer = answered(line)
    assert (answer["error"]["code"], answer["id"]) == (code, request_id)
    assert answer["error"]["message"].endswith(".")


@pytest.mark.parametrize(
    "line",
    [
        "",
        "  ",
        '{"jsonrpc":"2.0","method":"notifications/cancelled","params":[1]}',
        '{"jsonrpc":"2.0","id":7,"result":{"text":"\\ud83d"}}',
        '{"jsonrpc":"2.0","id":7,"error":3}',
    ],
)
def test_nobody_waits_for_an_answer_to_these(line: str) -> None:
    assert answer_to(line) is None


def test_an_id_that_is_half_a_character_is_not_sent_back() -> None:
    assert answered('{"jsonrpc":"2.0","id":"\\ud83d","method":"ping"}')["id"] is None
