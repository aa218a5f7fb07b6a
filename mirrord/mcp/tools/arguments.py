"""JSON Schemas of results, and strict reading of tool arguments."""

from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from typing import Any, TypeVar, get_args

import orjson
from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic.alias_generators import to_camel

from mirrord.commands.core.failure import invalid_argument

Schema = dict[str, Any]

TEXT: Schema = {"type": "string"}
FLAG: Schema = {"type": "boolean"}
COUNT: Schema = {"type": "integer"}
ANY: Schema = {"type": "object"}


def nullable(schema: Schema) -> Schema:
    """*schema*, or null."""
    return {**schema, "type": [schema["type"], "null"]}


def array_schema(schema: Schema) -> Schema:
    """An array of *schema*."""
    return {"type": "array", "items": schema}


def object_schema(**fields: Schema) -> Schema:
    """An object with these keys; a list of required keys would cost bytes in every client's context."""
    return {"type": "object", "properties": fields}


def result_schema(fields: Mapping[str, Schema]) -> Schema:
    """The result of a tool: an object with these keys, or a failure, which clients validate with this schema too."""
    success, failure = {"required": _required_keys(fields)}, {"required": ["error"]}
    return {"type": "object", "properties": _properties_of(fields), "anyOf": [success, failure]}


def or_pending(schema: Schema) -> Schema:
    """The schema of a result, or of the reply while a person has not decided."""
    return {**schema, "anyOf": [*schema["anyOf"], {"required": ["status", "request_id"]}]}


def _properties_of(fields: Mapping[str, Schema]) -> Schema:
    return {key.removesuffix("?"): schema for key, schema in fields.items()}


def _required_keys(fields: Mapping[str, Schema]) -> list[str]:
    return [key for key in fields if not key.endswith("?")]


A = TypeVar("A", bound="Arguments")


class Arguments(BaseModel):
    """Arguments of a tool: snake_case here, camelCase on the wire, no additional fields."""

    # constants: Infinity and NaN would become null, and the command would write that instead of refusing them
    model_config = ConfigDict(
        extra="forbid", frozen=True, alias_generator=to_camel, defer_build=True, ser_json_inf_nan="constants"
    )

    def for_command(self) -> dict[str, Any]:
        """JSON values by snake_case name, as a command of `commands.registry` takes them."""
        return self.model_dump(mode="json")


class Underscored(Arguments):
    """Arguments that are snake_case on the wire too."""

    model_config = ConfigDict(alias_generator=None)


def parse_arguments(kind: type[A], tool: str, values: Mapping[str, Any]) -> A:
    """The validated arguments of one call. Raises Failed with code INVALID_ARGUMENTS, which names the fault."""
    try:
        orjson.dumps(values)  # lone surrogates would fail later, when files are written
        return kind.model_validate(values, by_alias=True, by_name=False)
    except TypeError as error:
        if "Integer" in str(error):
            fault, remedy = "a number of more than 64 bits", "Send a smaller number."
        else:
            fault, remedy = "not Unicode text", "Send plain text."
        raise invalid_argument("INVALID_ARGUMENTS", f"An argument of {tool} is {fault}.", remedy) from None
    except ValidationError as error:
        faults = error.errors(include_url=False, include_context=False, include_input=False)
    first = min(faults, key=lambda fault: fault["type"] != "extra_forbidden")  # a misspelt name explains a missing one
    raise invalid_argument(
        "INVALID_ARGUMENTS", _describe_fault(kind, tool, first, values), f"Call {tool} with: {_summary_of(kind)}."
    )


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
    full = kind.model_json_schema(by_alias=True)
    schema: Schema = _slim_schema(full, full.pop("$defs", {}))
    return schema


def nearest_name(wrong: str, names: Iterable[str]) -> str | None:
    """The name most similar to *wrong*; None: none is similar."""
    plain = {_plain_name(name): name for name in names}
    matches = get_close_matches(_plain_name(wrong), plain, 1, 0.5)
    return plain[matches[0]] if matches else None


def _describe_fault(kind: type[Arguments], tool: str, error: Mapping[str, Any], values: Mapping[str, Any]) -> str:
    place = [str(part) for part in error["loc"]]
    if error["type"] == "extra_forbidden":
        return f"{tool} has no argument {'.'.join(place)!r}{_hint_at(kind, place, values)}"
    if error["type"] == "missing":
        return f"{tool} needs the argument {'.'.join(place)!r}."
    reason = str(error["msg"]).removeprefix("Value error, ").removeprefix("Input ")
    for pydantic_word, json_word in _JSON_WORDS.items():
        reason = reason.replace(pydantic_word, json_word)
    return f"The argument {'.'.join(place)!r} of {tool} {reason}."


def _hint_at(kind: type[Arguments], place: Sequence[str], values: Mapping[str, Any]) -> str:
    """The end of a sentence about an unknown name: a suggestion, or the valid names. values: what was sent."""
    around = [part for part in place[:-1] if not part.isdigit()]
    if (other_way := _OTHER_WAYS.get(place[-1])) is not None and around == ["edits"]:
        return other_way
    names = _names_at(kind, around)
    missing_names = names if place[:-1] else [name for name in names if name not in values]
    suggestion = next((name for name in _OTHER_TOOLS_WORDS.get(place[-1], ()) if name in missing_names), None)
    suggestion = suggestion or nearest_name(place[-1], missing_names)
    if suggestion is not None:
        return f"; did you mean {suggestion!r}?"
    return f"; {around[-1]} takes {', '.join(names)}." if around and names else "."


def _names_at(kind: type[Arguments], place: Sequence[str]) -> list[str]:
    """The valid names of an object nested in the arguments, of which a schema may not tell."""
    for part in place:
        field = next((field for name, field in _fields_of(kind) if name == part), None)
        nested = _arguments_in(field.annotation) if field is not None else None
        if nested is None:
            return []
        kind = nested
    return [name for name, _ in _fields_of(kind)]


def _arguments_in(annotation: Any) -> type[Arguments] | None:
    """The kind of arguments that an annotation has in it, such as that of the items of a list."""
    if isinstance(annotation, type) and issubclass(annotation, Arguments):
        return annotation
    return next((nested for part in get_args(annotation) if (nested := _arguments_in(part)) is not None), None)


def _summary_of(kind: type[Arguments]) -> str:
    optional = [name for name, field in _fields_of(kind) if not field.is_required()]
    required = [name for name, field in _fields_of(kind) if field.is_required()]
    if not (required or optional):
        return "no arguments"
    parts = [", ".join(required), f"optionally {', '.join(optional)}" if optional else ""]
    return "; ".join(filter(None, parts))


def _fields_of(kind: type[Arguments]) -> list[tuple[str, Any]]:
    return [(field.alias or name, field) for name, field in kind.model_fields.items()]


def _plain_name(name: str) -> str:
    return name.replace("_", "").replace("-", "").lower()


def _slim_schema(node: Any, definitions: Schema) -> Any:
    """*node* without titles, natural defaults, the null of a missing argument, and references."""
    if isinstance(node, list):
        return [_slim_schema(part, definitions) for part in node]
    if not isinstance(node, dict):
        return node
    if "$ref" in node:
        node = definitions[node["$ref"].rpartition("/")[2]]
    if "anyOf" in node:
        (variant,) = (part for part in node["anyOf"] if part != {"type": "null"})
        return _slim_schema({**variant, **{key: value for key, value in node.items() if key != "anyOf"}}, definitions)
    if "properties" in node:
        properties = {name: _slim_schema(part, definitions) for name, part in node["properties"].items()}
        required = {"required": node["required"]} if "required" in node else {}
        return {"type": "object", "properties": properties, **required, "additionalProperties": False}
    return {
        key: _slim_schema(value, definitions)
        for key, value in node.items()
        if key != "title" and (key, value) not in _NATURAL_KEYS
    }


# Names of the same arguments in other tools, as models remember them.
_OTHER_TOOLS_WORDS = {
    **dict.fromkeys(("oldText", "old_text", "oldString", "old_string", "old_str", "search"), ("find",)),
    **dict.fromkeys(("newText", "new_text", "newString", "new_string", "new_str", "replacement"), ("replace",)),
    **dict.fromkeys(("section", "insertAfterHeading", "underHeading"), ("heading",)),
    **dict.fromkeys(("newHeading", "new_heading", "newTitle", "newName", "newText"), ("to", "replace")),
    **dict.fromkeys(("newPath", "new_path", "target", "targetPath", "destination"), ("destinationPath",)),
}
# What an edit of another tool can be told, and how it is told here.
_OTHER_WAYS = dict.fromkeys(
    ("all", "replaceAll", "replace_all"),
    "; count says how often find occurs in this page, and edit_pages replaces find in all pages of a query.",
)
_JSON_WORDS = {
    "should be a valid tuple": "must be a list",
    "Tuple should have at least": "needs at least",
    "should be a valid dictionary": "must be an object",
    " after validation": "",
}

# Keys that need not be stated.
_NATURAL_KEYS: tuple[tuple[str, object], ...] = (
    *(("default", None), ("default", False), ("default", ""), ("default", []), ("default", {})),
    *(("minimum", 0), ("minimum", 1)),
    ("additionalProperties", True),
)
