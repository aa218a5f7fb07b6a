"""A statement that writes a row and its base is two on a cluster, which writes one table a statement."""

import re

import pytest

from mirrord.db.content import entry_writes, record_rows
from mirrord.db.content.entry_tables import split_statement

WITH_BASE = {
    name: sql
    for module in (entry_writes, record_rows)
    for name, sql in vars(module).items()
    if isinstance(sql, str)
    and "INSERT INTO mirrord.mirror_base" in sql
    and "written AS (" in sql
    and "recorded AS (" not in sql
}


def test_the_engine_has_statements_of_both_kinds() -> None:
    assert {"_INSERT_PAGE", "_UPDATE_TEXT", "_MOVE_PAGE", "_RECORD_BASE", "INSERT", "MOVE"} <= WITH_BASE.keys()
    assert split_statement(entry_writes._DROP_BASE) is None
    assert split_statement(entry_writes._ENTOMB) is None


@pytest.mark.parametrize("name", WITH_BASE)
def test_the_parts_name_the_same_values_and_the_second_only_the_base(name: str) -> None:
    statement = WITH_BASE[name]
    parts = split_statement(statement)
    assert parts is not None
    row, base = parts
    assert "mirror_base" not in row
    assert base.startswith("INSERT INTO mirrord.mirror_base")
    assert "FROM written" not in base
    assert _parameters(row) | _parameters(base) == _parameters(statement) | {"written"}
    assert row.count("(") == row.count(")")
    assert base.count("(") == base.count(")")


def _parameters(sql: str) -> set[str]:
    return set(re.findall(r"%\((\w+)\)s", sql))
