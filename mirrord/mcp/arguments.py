"""Arguments of tools: strict validation, with errors that a model can act on."""

from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from typing import Any, TypeVar

import orjson
from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic.alias_generators import to_camel

from mirrord.commands.failure import invalid
from mirrord.mcp.shapes import Schema

A = TypeVar("A", bound="Arguments")


class Arguments(BaseModel):
    """Arguments of a tool: snake_case here, camelCase on the wire, no additional fields."""

    model_config = ConfigDict(extra="forbid", frozen=True, alias_generator=to_camel, defer_build=True)

    def for_command(self) -> dict[str, Any]:
        """JSON values by snake_case name, as a command of `commands.registry` takes them."""
        return self.model_dump(mode="json")


class Underscored(Arguments):
    """Arguments that are snake_case on the wire too."""

    model_config = ConfigDict(alias_generator=None)


def parsed(kind: type[A], tool: str, given: Mapping[str, Any]) -> A:
    """The validated arguments of one call. Raises Failed with code INVALID_ARGUMENTS, which names the fault."""
    try:
        orjson.dumps(given)  # lone surrogates would fail later, when files are written
        return kind.model_validate(given, by_alias=True, by_name=False)
    except TypeError:
        raise invalid("INVALID_ARGUMENTS", f"An argument of {tool} is not Unicode text.", "Send plain text.") from None
    except ValidationError as error:
        found = error.errors(include_url=False, include_context=False, include_input=False)
    first = min(found, key=lambda one: one["type"] != "extra_forbidden")  # a misspelt name explains a missing one
    raise invalid("INVALID_ARGUMENTS", _sentence(kind, tool, first), f"Call {tool} with: {_summary(kind)}.")


def from_json(value: object) -> object:
    """*value*, parsed if it is JSON text of an array or object: some clients send these as text."""
    if isinstance(value, str) and value.lstrip()[:1] in ("[", "{"):
        try:
            return orjson.loads(value)
        except orjson.JSONDecodeError:
            return value
    return value


def schema_of(kind: type[Arguments]) -> Schema:
    """The JSON Schema of a tool's input, without parts that models do not need."""
    whole = kind.model_json_schema(by_alias=True)
    schema: Schema = _slim(whole, whole.pop("$defs", {}))
    return schema


def nearest(wrong: str, names: Iterable[str]) -> str | None:
    """The name most similar to *wrong*; None: none is similar."""
    plain = {_plain(name): name for name in names}
    found = get_close_matches(_plain(wrong), plain, 1, 0.5)
    return plain[found[0]] if found else None


def _sentence(kind: type[Arguments], tool: str, error: Mapping[str, Any]) -> str:
    where = [str(part) for part in error["loc"]]
    if error["type"] == "extra_forbidden":
        return f"{tool} has no argument {'.'.join(where)!r}{_hint(kind, where)}"
    if error["type"] == "missing":
        return f"{tool} needs the argument {'.'.join(where)!r}."
    reason = str(error["msg"]).removeprefix("Value error, ").removeprefix("Input ")
    for pydantic_word, json_word in _JSON_WORDS.items():
        reason = reason.replace(pydantic_word, json_word)
    return f"The argument {'.'.join(where)!r} of {tool} {reason}."


def _hint(kind: type[Arguments], where: Sequence[str]) -> str:
    """The end of a sentence about an unknown name: a suggestion, or the valid names."""
    there = _names_at(schema_of(kind), where[:-1])
    meant = next((name for name in _OTHER_TOOLS_WORDS.get(where[-1], ()) if name in there), None)
    meant = meant or nearest(where[-1], there)
    if meant is not None:
        return f"; did you mean {meant!r}?"
    return f"; {where[-2]} takes {', '.join(there)}." if len(where) > 1 and there else "."


def _names_at(schema: Schema, where: Sequence[str]) -> list[str]:
    """The valid names of an object nested in the arguments."""
    for part in where:
        schema = schema.get("items", {}) if part.isdigit() else schema.get("properties", {}).get(part, {})
    return list(schema.get("properties", {}))


def _summary(kind: type[Arguments]) -> str:
    optional = [name for name, field in _fields(kind) if not field.is_required()]
    needed = [name for name, field in _fields(kind) if field.is_required()]
    if not (needed or optional):
        return "no arguments"
    parts = [", ".join(needed), f"optionally {', '.join(optional)}" if optional else ""]
    return "; ".join(filter(None, parts))


def _fields(kind: type[Arguments]) -> list[tuple[str, Any]]:
    return [(field.alias or name, field) for name, field in kind.model_fields.items()]


def _plain(name: str) -> str:
    return name.replace("_", "").replace("-", "").lower()


def _slim(node: Any, definitions: Schema) -> Any:
    """*node* without titles, natural defaults, the null of a missing argument, and references."""
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


# Names of the same arguments in other tools, as models remember them.
_OTHER_TOOLS_WORDS = {
    **dict.fromkeys(("oldText", "old_text", "oldString", "old_string", "old_str", "search"), ("find",)),
    **dict.fromkeys(("newText", "new_text", "newString", "new_string", "new_str", "replacement"), ("replace",)),
}
_JSON_WORDS = {
    **{"should be a valid tuple": "must be a list", "Tuple should have at least": "needs at least"},
    **{"should be a valid dictionary": "must be an object", " after validation": ""},
}

# Keys that need not be stated.
_NATURAL: tuple[tuple[str, object], ...] = (
    *(("default", None), ("default", False), ("default", ""), ("default", []), ("default", {})),
    ("additionalProperties", True),
)
