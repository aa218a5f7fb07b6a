"""What a cluster needs, as statements: which tables go where, in which order; and what keeps it from being used."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mirrord.db.cluster_plan import (
    COORDINATOR_TABLES,
    DELEGATED_FUNCTIONS,
    ForeignKey,
    Function,
    Node,
    Table,
    find_obstacle,
    node_statements,
    parse_version,
    revoke_statements,
    schema_statements,
)

COORDINATOR = Node("one", 5432, is_coordinator=True, is_active=True, holds_shards=False)
WORKER = Node("two", 5432, is_coordinator=False, is_active=True, holds_shards=True)
RESTING = Node("three", 5432, is_coordinator=False, is_active=False, holds_shards=True)
HOLDER = Node("one", 5432, is_coordinator=True, is_active=True, holds_shards=True)


def table(name: str, *references: str, is_distributed: bool = False) -> Table:
    keys = tuple(
        ForeignKey(f"{name}_{target}", target, f"FOREIGN KEY (x) REFERENCES {target}") for target in references
    )
    return Table(name, keys, is_distributed)


def function(name: str, *, is_public: bool = True, is_condition: bool = False) -> Function:
    return Function(name, f"mirrord.{name}(uuid)", is_public, is_condition)


def test_a_coordinator_and_a_worker_are_a_usable_cluster() -> None:
    assert find_obstacle("14.0-1", [COORDINATOR, WORKER]) is None


@pytest.mark.parametrize(
    ("version", "nodes", "words"),
    [
        ("13.2.2", [COORDINATOR, WORKER], "too old"),
        ("14.0-1", [WORKER], "citus_set_coordinator_host"),
        ("14.0-1", [COORDINATOR], "citus_add_node"),
        ("14.0-1", [COORDINATOR, WORKER, RESTING], "three:5432 is not active"),
        ("14.0-1", [HOLDER, WORKER], "shouldhaveshards"),
    ],
)
def test_every_obstacle_is_a_sentence_with_its_cure(version: str, nodes: list[Node], words: str) -> None:
    obstacle = find_obstacle(version, nodes)
    assert obstacle is not None
    assert words in obstacle
    assert obstacle.endswith("Nothing was written.")


@pytest.mark.parametrize(
    ("text", "version"), [("14.0-1", (14, 0)), ("13.2.2", (13, 2)), ("14.1", (14, 1)), ("15", (15, 0))]
)
def test_a_version_is_read_up_to_its_second_number(text: str, version: tuple[int, int]) -> None:
    assert parse_version(text) == version


def test_no_foreign_key_exists_while_only_one_of_its_tables_is_distributed() -> None:
    tables = [
        table("page", "page", "tenant"),
        table("tenant"),
        table("tenant_clock", "tenant"),
        table("tenant_claim", "tenant"),
    ]
    assert schema_statements(tables, []) == [
        "ALTER TABLE mirrord.page DROP CONSTRAINT page_page",
        "ALTER TABLE mirrord.page DROP CONSTRAINT page_tenant",
        "ALTER TABLE mirrord.tenant_clock DROP CONSTRAINT tenant_clock_tenant",
        "ALTER TABLE mirrord.tenant_claim DROP CONSTRAINT tenant_claim_tenant",
        "SELECT create_reference_table('mirrord.tenant')",
        "SELECT create_distributed_table('mirrord.tenant_clock', 'tenant_id', colocate_with => 'none')",
        "SELECT create_distributed_table('mirrord.page', 'tenant_id', colocate_with => 'mirrord.tenant_clock')",
        "ALTER TABLE mirrord.page ADD CONSTRAINT page_page FOREIGN KEY (x) REFERENCES page",
        "ALTER TABLE mirrord.page ADD CONSTRAINT page_tenant FOREIGN KEY (x) REFERENCES tenant",
        "ALTER TABLE mirrord.tenant_clock ADD CONSTRAINT tenant_clock_tenant FOREIGN KEY (x) REFERENCES tenant",
    ]


def test_tables_that_the_cluster_knows_and_those_of_the_coordinator_are_left_alone() -> None:
    distributed = [table("tenant", is_distributed=True), table("page", "tenant", is_distributed=True)]
    statements = schema_statements([*distributed, table("newer", "page"), *map(table, sorted(COORDINATOR_TABLES))], [])
    assert [statement.split("'")[1] for statement in statements if "create_" in statement] == ["mirrord.newer"]
    assert all("mirrord.newer" in statement for statement in statements)


@given(st.sets(st.tuples(st.sampled_from("abcde"), st.sampled_from("abcde"))))
def test_every_foreign_key_that_is_dropped_comes_back_behind_all_tables(pairs: set[tuple[str, str]]) -> None:
    tables = [table(name, *sorted(target for source, target in pairs if source == name)) for name in "abcde"]
    statements = schema_statements(tables, [])
    places = [place for place, statement in enumerate(statements) if "create_distributed_table" in statement]
    dropped = {text.replace("DROP", "ADD") for text in statements[: places[0]]}
    assert dropped == {text.partition(" FOREIGN KEY")[0] for text in statements[places[-1] + 1 :]}
    assert len(dropped) == len(pairs)


def test_conditions_of_triggers_are_on_every_node_before_the_triggers_are() -> None:
    functions = [function("ring"), function("is_restoring", is_condition=True)]
    statements = schema_statements([table("page"), table("tenant_clock")], functions)
    assert [re.sub(r"^[^']*'mirrord[.](\w+).*$", r"\1", text) for text in statements[:4]] == [
        "tenant_clock",
        "is_restoring",
        "page",
        "ring",
    ]


@pytest.mark.parametrize(("name", "argument"), DELEGATED_FUNCTIONS.items())
def test_functions_that_set_what_a_transaction_needs_run_on_the_tenants_node(name: str, argument: str) -> None:
    (statement,) = schema_statements([], [function(name)])
    assert f"'{argument}'" in statement
    assert "force_delegation => true" in statement


def test_what_not_every_role_may_call_is_revoked_on_every_node() -> None:
    functions = [function("name_key"), function("ring", is_public=False), function("put_back", is_public=False)]
    assert revoke_statements(functions) == [
        "REVOKE EXECUTE ON FUNCTION mirrord.ring(uuid), mirrord.put_back(uuid) FROM PUBLIC"
    ]
    assert revoke_statements([function("name_key")]) == []


def test_every_node_gets_roles_settings_revokes_and_walls_in_this_order() -> None:
    statements = node_statements('"mirrord"', ["REVOKE CREATE ON SCHEMA public FROM PUBLIC"])
    kinds = [next(word for word in ("ROLE", "DATABASE", "run", "REVOKE") if word in text) for text in statements]
    assert kinds == ["ROLE"] * 4 + ["DATABASE"] * 4 + ["run", "REVOKE"]
    assert any("mirrord.notify = 'ticker'" in statement for statement in statements)
    assert any("mirrord_owner NOLOGIN" in statement for statement in statements)
