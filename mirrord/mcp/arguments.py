"""Arguments of tools: read strictly, and refused in words a model can act on."""

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from typing import Any, TypeVar

import orjson
from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic.alias_generators import to_camel

from mirrord.commands.failure import invalid
from mirrord.mcp.shapes import Schema

A = TypeVar("A", bound="Arguments")


class Arguments(BaseModel):
    """What a tool takes: snake_case here, camelCase on the wire; nothing beyond its fields."""

    model_config = ConfigDict(extra="forbid", frozen=True, alias_generator=to_camel, defer_build=True)

    def for_command(self) -> dict[str, Any]:
        """As JSON values by snake_case names: what a command of `commands.registry` takes."""
        return self.model_dump(mode="json")


class Underscored(Arguments):
    """The same, for tools whose arguments are snake_case on the wire, too."""

    model_config = ConfigDict(alias_generator=None)


def parsed(kind: type[A], tool: str, given: Mapping[str, Any]) -> A:
    """The arguments of one call. Raises Failed with code INVALID_ARGUMENTS, naming what is wrong."""
    try:
        orjson.dumps(given)  # lone surrogates would fail later, where files are written
        return kind.model_validate(given, by_alias=True, by_name=False)
    except TypeError:
        raise invalid("INVALID_ARGUMENTS", f"An argument of {tool} is not Unicode text.", "Send plain text.") from None
    except ValidationError as error:
        found = error.errors(include_url=False, include_context=False, include_input=False)
    first = min(found, key=lambda one: one["type"] != "extra_forbidden")  # a misspelt name explains a missing one
    raise invalid("INVALID_ARGUMENTS", _sentence(kind, tool, first), f"Call {tool} with: {_summary(kind)}.")


def from_json(value: object) -> object:
    """An array or object as it is; some clients send them as JSON text."""
    if isinstance(value, str) and value.lstrip()[:1] in ("[", "{"):
        try:
            return orjson.loads(value)
        except orjson.JSONDecodeError:
            return value
    return value


def schema_of(kind: type[Arguments]) -> Schema:
    """The JSON Schema of a tool's input, without what no model needs."""
    whole = kind.model_json_schema(by_alias=True)
    schema: Schema = _slim(whole, whole.pop("$defs", {}))
    return schema


def nearest(wrong: str, names: Iterable[str]) -> str | None:
    """The one of *names* that *wrong* was most likely meant to be; None if it is like none of them."""
    plain = {_plain(name): name for name in names}
    found = get_close_matches(_plain(wrong), plain, 1, 0.5)
    return plain[found[0]] if found else None


def _sentence(kind: type[Arguments], tool: str, error: Mapping[str, Any]) -> str:
    where = [str(part) for part in error["loc"]]
    name = where[-1] if where else ""
    if error["type"] == "extra_forbidden":
        meant = nearest(name, _names(kind)) if len(where) == 1 else None
        return f"{tool} has no argument {'.'.join(where)!r}{f'; did you mean {meant!r}?' if meant else '.'}"
    if error["type"] == "missing":
        return f"{tool} needs the argument {'.'.join(where)!r}."
    reason = str(error["msg"]).removeprefix("Value error, ").removeprefix("Input ")
    return f"The argument {'.'.join(where)!r} of {tool} {reason}."


def _summary(kind: type[Arguments]) -> str:
    optional = [name for name, field in _fields(kind) if not field.is_required()]
    needed = [name for name, field in _fields(kind) if field.is_required()]
    parts = [", ".join(needed), f"and, if you like, {', '.join(optional)}" if optional else ""]
    return " ".join(filter(None, parts)) or "no arguments"


def _names(kind: type[Arguments]) -> list[str]:
    return [name for name, _ in _fields(kind)]


def _fields(kind: type[Arguments]) -> list[tuple[str, Any]]:
    return [(field.alias or name, field) for name, field in kind.model_fields.items()]


def _plain(name: str) -> str:
    return name.replace("_", "").replace("-", "").lower()


def _slim(node: Any, definitions: Schema) -> Any:
    """Without titles, natural defaults, the null that stands for a missing argument, and names for parts."""
    if isinstance(node, list):
        return [_slim(one, definitions) for one in node]
    if not isinstance(node, dict):
        return node
    if "$ref" in node:
        node = definitions[node["$ref"].rpartition("/")[2]]
    if "anyOf" in node:
        (kept,) = (one for one in node["anyOf"] if one != {"type": "null"})
        return _slim({**kept, **{key: value for key, value in node.items() if key != "anyOf"}}, definitions)
    if "properties" in node:
        properties = {name: _slim(one, definitions) for name, one in node["properties"].items()}
        required = {"required": node["required"]} if "required" in node else {}
        return {"type": "object", "properties": properties, **required, "additionalProperties": False}
    return {
        key: _slim(value, definitions) for key, value in node.items() if key != "title" and (key, value) not in _NATURAL
    }


# What goes without saying.
_NATURAL: tuple[tuple[str, object], ...] = (
    *(("default", None), ("default", False), ("default", ""), ("default", []), ("default", {})),
    ("additionalProperties", True),
)
