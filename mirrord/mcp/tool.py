"""What a tool is: what a model is told of it, and the command behind it."""

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Generic, get_type_hints

from mcp_types import Tool as Listed
from mcp_types import ToolAnnotations
from pydantic import TypeAdapter

from mirrord.commands.session import Session
from mirrord.domain.trust import Trust
from mirrord.mcp.arguments import A, schema_of
from mirrord.mcp.lanes import Lane
from mirrord.mcp.shapes import Schema, or_pending

Wire = Mapping[str, Any]  # JSON, keys as the client sees them

_WAITS = " A person decides first: answers pending_approval; the same call later returns the outcome."


def as_it_is(result: Any) -> Wire:
    """The fields of a dataclass."""
    return asdict(result)


@dataclass(frozen=True, slots=True)
class Tool(Generic[A]):
    """
    One tool.

    description: for the model, with an example. result: the schema of what is answered.
    run: does it; None: the command of that name in `commands.registry` does, through the trust gate. wire: what such a
    command's result, its dataclass, is on the wire; by default its fields as they are.
    writes: changes files; destructive: may take something away that was there; idempotent: twice is once.
    waits: may take seconds without working on files. searches: looks at the whole tree, and takes long.
    """

    name: str
    title: str
    description: str
    arguments: type[A]
    result: Schema
    run: Callable[[Session, A], Wire] | None = None
    wire: Callable[[Any], Wire] = as_it_is
    writes: bool = False
    destructive: bool = False
    idempotent: bool = True
    waits: bool = False
    searches: bool = False

    @property
    def lane(self) -> Lane | None:
        """Beside what it is done; None: beside everything."""
        if self.waits:
            return None
        if self.writes or self.run is None:
            return Lane.WRITE
        return Lane.SEARCH if self.searches else Lane.READ

    def is_open(self, level: Trust) -> bool:
        """Whether agents may call it: what only reads has nothing to approve, so raised it is closed to them."""
        return self.run is None or level <= Trust.NOTIFY

    def answered(self, result: Any) -> Wire:
        """What its command's *result* is on the wire, whether that was returned just now or comes from a file."""
        if isinstance(result, Mapping):
            from mirrord.commands.registry import COMMANDS  # noqa: PLC0415  (all commands; see calls)

            result = TypeAdapter(get_type_hints(COMMANDS[self.name].run)["return"]).validate_python(result)
        return self.wire(result)

    def listed(self, level: Trust) -> Listed:
        """As `tools/list` shows it to who is trusted on that level."""
        waits = level >= Trust.SUGGEST
        return Listed(
            name=self.name,
            title=self.title,
            description=self.description + (_WAITS if waits else ""),
            input_schema=schema_of(self.arguments),
            output_schema=or_pending(self.result) if waits else self.result,
            annotations=ToolAnnotations(
                read_only_hint=not self.writes,
                destructive_hint=self.destructive,
                idempotent_hint=self.idempotent,
                open_world_hint=False,
            ),
            _meta={"mirrord/trust": level.name},
        )
