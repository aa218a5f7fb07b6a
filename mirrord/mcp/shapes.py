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


def record(**fields: Schema) -> Schema:
    """An object with these keys; which of them must be there is not worth its bytes in every client's context."""
    return {"type": "object", "properties": fields}


def result(fields: Mapping[str, Schema]) -> Schema:
    """What a tool answers: an object with these keys, or a failure, which clients hold against this schema too."""
    succeeded, failed = {"required": _required(fields)}, {"required": ["error"]}
    return {"type": "object", "properties": _properties(fields), "anyOf": [succeeded, failed]}


def or_pending(schema: Schema) -> Schema:
    """The schema of a result, or of what a command that waits for a person answers."""
    return {**schema, "anyOf": [*schema["anyOf"], {"required": ["status", "request_id"]}]}


def _properties(fields: Mapping[str, Schema]) -> Schema:
    return {key.removesuffix("?"): schema for key, schema in fields.items()}


def _required(fields: Mapping[str, Schema]) -> list[str]:
    return [key for key in fields if not key.endswith("?")]
