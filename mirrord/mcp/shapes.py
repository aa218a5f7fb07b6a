"""JSON Schemas of results, in few words: a record's keys as TOOLS have them, `key?` where it may be missing."""

from collections.abc import Mapping
from typing import Any

Schema = dict[str, Any]

TEXT: Schema = {"type": "string"}
FLAG: Schema = {"type": "boolean"}
COUNT: Schema = {"type": "integer"}
ANY: Schema = {"type": "object"}


def nullable(schema: Schema) -> Schema:
    """That, or null."""
    return {**schema, "type": [schema["type"], "null"]}


def listed(schema: Schema) -> Schema:
    """An array of that."""
    return {"type": "array", "items": schema}


def record(fields: Mapping[str, Schema]) -> Schema:
    """An object with these keys."""
    return {"type": "object", "properties": _properties(fields), "required": _required(fields)}


def result(fields: Mapping[str, Schema], definitions: Mapping[str, Schema] | None = None) -> Schema:
    """
    What a tool answers: an object with these keys, or a failure.

    Clients hold failures against this schema too, so it admits them.
    definitions: schemas under the names that `{"$ref": "#/$defs/NAME"}` uses.
    """
    succeeded, failed = {"required": _required(fields)}, {"required": ["error", "code", "error_type", "instruction"]}
    schema: Schema = {"type": "object", "properties": _properties(fields), "anyOf": [succeeded, failed]}
    return {**schema, "$defs": dict(definitions)} if definitions else schema


def _properties(fields: Mapping[str, Schema]) -> Schema:
    return {key.removesuffix("?"): schema for key, schema in fields.items()}


def _required(fields: Mapping[str, Schema]) -> list[str]:
    return [key for key in fields if not key.endswith("?")]
