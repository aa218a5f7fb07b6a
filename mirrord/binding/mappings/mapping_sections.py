"""The tables of a mapping's file, with the checks that all of them share."""

from collections.abc import Mapping as ByKey
from dataclasses import dataclass
from typing import Any

from mirrord.binding.mappings.mapping import Condition, Literal, TableName
from mirrord.binding.mappings.mapping_names import IDENTIFIER, check_names, checked_column
from mirrord.errors import UserError


@dataclass(frozen=True, slots=True)
class Section:
    """One table of the file."""

    name: str
    values: ByKey[str, Any]

    def text_of(self, key: str) -> str | None:
        """The text of *key*; None: there is no such key."""
        value = self.values.get(key)
        if value is not None and (not isinstance(value, str) or not value):
            raise UserError(f"`{self.name}.{key}` must be a text.")
        return value

    def required_text(self, key: str) -> str:
        """The text of *key*."""
        if (text := self.text_of(key)) is None:
            raise UserError(f"`{self.name}.{key}` is missing.")
        return text

    def column_of(self, key: str) -> str | None:
        """The name of a column in *key*; None: there is no such key."""
        return None if (text := self.text_of(key)) is None else checked_column(text, f"{self.name}.{key}")

    def required_column(self, key: str) -> str:
        """The name of a column in *key*."""
        return checked_column(self.required_text(key), f"{self.name}.{key}")

    def table_of(self, key: str) -> ByKey[str, Any]:
        """The table in *key*; empty: there is no such key."""
        value = self.values.get(key, {})
        if not isinstance(value, dict):
            raise UserError(f'`{self.name}.{key}` must be a table, such as {{ key = "value" }}.')
        return value


def section_of(tables: ByKey[str, Any], name: str) -> Section:
    """The table *name* of the file; empty: there is none."""
    values = tables.get(name, {})
    if not isinstance(values, dict):
        raise UserError(f"`{name}` must be a table, [{name}].")
    return Section(name, values)


def read_table(section: Section, key: str) -> TableName:
    """The table of the app in *key*."""
    schema, dot, name = section.required_text(key).rpartition(".")
    schema = schema if dot else "public"
    if not (IDENTIFIER.fullmatch(schema) and IDENTIFIER.fullmatch(name)):
        raise UserError(f"`{section.name}.{key}` must be the name of a table, or SCHEMA.TABLE.")
    if schema in ("mirrord", "mirrord_bind"):
        raise UserError(f"`{section.name}.{key}` is a table of mirrord, and its pages need no binding.")
    return TableName(schema, name)


def read_condition(column: str, value: object, section: str) -> Condition:
    """What the key *column* of a filter says. section: with the filter."""
    key = f"{section}.filter.{column}"
    checked_column(column, key)
    is_excluded = isinstance(value, dict)
    if isinstance(value, dict):
        check_names(value, ["not"], f"{key}.")
        value = value.get("not")
    values: list[Any] = value if isinstance(value, list) else [value]
    if not values or not all(isinstance(each, Literal) for each in values):
        raise UserError(f"`{key}` must be a value, a list of values, or {{ not = … }}.")
    return Condition(column, tuple(values), is_excluded)
