"""A task: what a person asks for, how an agent does it best, and what the files have to be afterwards."""

import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mcp import Client

from tests.support.harness import Mirrord

PATH_ARGUMENTS = ("path", "sourcePath", "pagePath", "source")  # of pages that must exist
PAGES_AND_CHANGES = "pages,changes"

Files = dict[str, bytes]


class Unknowable(AssertionError):
    """A script names a page that neither the task nor an answer has named."""


@dataclass(slots=True)
class Player:
    """
    An agent's connection that counts what goes through it.

    root: of the tree, for what people do meanwhile. knowledge: the task and all answers. bytes_in: of results as the
    model gets them; bytes_out: of arguments. daemon: that keeps the tree in sync, for what people decide; None: none.
    """

    client: Client
    root: Path
    knowledge: str
    calls: int = 0
    bytes_in: int = 0
    bytes_out: int = 0
    answers: list[dict[str, Any]] = field(default_factory=list)
    daemon: Mirrord | None = None

    async def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """The answer, also of a refusal; a server that answers with text only gives {"content": text}."""
        self._check_paths(arguments)
        result = await self.client.call_tool(tool, arguments)
        text = "\n".join(block.text for block in result.content if block.type == "text")
        answer = answer_of(text, result.structured_content)
        self.calls += 1
        self.bytes_out += len(json.dumps(arguments, ensure_ascii=False).encode())
        self.bytes_in += bytes_for_model(text, result.structured_content)
        self.knowledge += "\n" + text
        self.answers.append(answer)
        return answer

    def save(self, path: str, text: str) -> None:
        """A person saves a page meanwhile."""
        (self.root / path).write_bytes(text.encode())

    def _check_paths(self, arguments: Mapping[str, Any]) -> None:
        names = [arguments[key] for key in PATH_ARGUMENTS if key in arguments] + list(arguments.get("paths", []))
        parts = {part for name in names for part in Path(name.removeprefix(f"{self.root}/")).with_suffix("").parts}
        if unnamed := [part for part in parts if part not in self.knowledge]:
            raise Unknowable(f"{', '.join(sorted(unnamed))} of {names} is neither in the task nor in an answer")


Script = Callable[[Player], Awaitable[object]]


@dataclass(frozen=True, slots=True)
class Task:
    """
    act: the best an agent can do; what it returns is its reply to the person. reply: what that has to be. change: the
    files afterwards by those before; None: nothing may change. bare: the same with server-filesystem, if it can.
    prelude: what another agent did before, uncounted. sets: of tools. scope: further options of the server, or of its
    token.
    """

    name: str
    sentence: str
    act: Script
    reply: object = None
    change: Callable[[Files], Files] | None = None
    bare: Script | None = None
    prelude: Script | None = None
    sets: str = PAGES_AND_CHANGES
    scope: tuple[str, ...] = ()


def answer_of(text: str, structured: Mapping[str, Any] | None) -> dict[str, Any]:
    """The answer as an object, whichever channel has it."""
    return dict(structured) if structured is not None else {"content": text}


def bytes_for_model(text: str, structured: Mapping[str, Any] | None) -> int:
    """Bytes of the text, and of the structured content unless it says the same."""
    size = len(text.encode())
    if structured is None or structured == {"content": text}:
        return size
    try:
        repeats = json.loads(text) == structured
    except ValueError:
        repeats = False
    return size if repeats else size + len(json.dumps(structured, ensure_ascii=False).encode())


def replaced(path: str, *pairs: tuple[str, str]) -> Callable[[Files], Files]:
    """A change of one page: each first text of *pairs*, which must be there, becomes the second."""
    return changed({path: pairs})


def changed(edits: Mapping[str, tuple[tuple[str, str], ...]]) -> Callable[[Files], Files]:
    """The same of several pages."""

    def change(files: Files) -> Files:
        after = dict(files)
        for path, pairs in edits.items():
            for old, new in pairs:
                assert old.encode() in after[path], f"{path} has no {old!r}"
                after[path] = after[path].replace(old.encode(), new.encode())
        return after

    return change
