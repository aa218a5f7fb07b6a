"""Short JSON Schemas of results: the keys of records, `key?` for an optional one."""

from collections.abc import Mapping
from typing import Any

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
