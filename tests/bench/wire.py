"""A client of the bare protocol on stdio: what it measures is the server's time, not a client library's."""

import json
import os
import subprocess
from collections.abc import Mapping, Sequence
from itertools import count
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import mirrord

HELLO = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}}


class Wire:
    """A server's process and the connection to it, shaken hands on."""

    def __init__(self, command: Sequence[str], directory: Path, environment: Mapping[str, str]) -> None:
        self._numbers = count(1)
        self._process = subprocess.Popen(
            command,
            cwd=directory,
            env={**os.environ, "PYTHONPATH": str(Path(mirrord.__file__).parents[1]), **environment},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        self.request("initialize", HELLO)
        self._send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
        assert self._process.stdout is not None
        self._process.stdout.close()

    @property
    def pid(self) -> int:
        """The server's process id."""
        return self._process.pid

    def request(self, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        """The result of one request. Fails where the server answers with an error."""
        return self._answer(self._ask(method, params))

    def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """The result of a tool that must not fail."""
        return self.answer_of_call(self.send_call(tool, **arguments))

    def send_call(self, tool: str, **arguments: Any) -> int:
        """Ask for a tool and do not wait; the number of the request."""
        return self._ask("tools/call", {"name": tool, "arguments": arguments})

    def answer_of_call(self, number: int) -> dict[str, Any]:
        """The result of a call sent before, which must not have failed."""
        result = self._answer(number)
        assert not result.get("isError"), f"a tool failed: {result}"
        return result

    def _ask(self, method: str, params: Mapping[str, Any]) -> int:
        number = next(self._numbers)
        self._send({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
        return number

    def _answer(self, number: int) -> dict[str, Any]:
        """Others' messages are passed over."""
        assert self._process.stdout is not None
        while line := self._process.stdout.readline():
            message = json.loads(line)
            if message.get("id") == number:
                assert "result" in message, f"the answer is {message}"
                result: dict[str, Any] = message["result"]
                return result
        raise AssertionError("the server ended before it answered")

    def _send(self, message: Mapping[str, Any]) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(message).encode() + b"\n")
        self._process.stdin.flush()
