"""What a tool is: what a model is told of it, and the command behind it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Generic

from mcp_types import Tool as Listed
from mcp_types import ToolAnnotations

from mirrord.commands.session import Session
from mirrord.domain.trust import DEFAULTS
from mirrord.mcp.arguments import A, schema_of
from mirrord.mcp.shapes import Schema

Wire = Mapping[str, Any]  # JSON, keys as the client sees them


@dataclass(frozen=True, slots=True)
class Tool(Generic[A]):
    """
    One tool.

    description: for the model, with an example. result: the schema of what run() answers.
    writes: changes files; destructive: may take something away that was there; idempotent: twice is once.
    waits: may take seconds without working on files, so that other calls go on meanwhile.
    """

    name: str
    title: str
    description: str
    arguments: type[A]
    result: Schema
    run: Callable[[Session, A], Wire]
    writes: bool = False
    destructive: bool = False
    idempotent: bool = True
    waits: bool = False

    def listed(self) -> Listed:
        """As `tools/list` shows it."""
        return Listed(
            name=self.name,
            title=self.title,
            description=self.description,
            input_schema=schema_of(self.arguments),
            output_schema=self.result,
            annotations=ToolAnnotations(
                read_only_hint=not self.writes,
                destructive_hint=self.destructive,
                idempotent_hint=self.idempotent,
                open_world_hint=False,
            ),
            _meta={"mirrord/trust": DEFAULTS[self.name].name},
        )
