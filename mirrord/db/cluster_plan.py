"""
What a Citus cluster needs beside the schema, as statements: a pure plan, which cluster.py carries out.

All rows of a tenant are on one node. Tables are distributed by tenant in one colocation group, names of tenants are on
every node, and a few tables of the daemons stay on the coordinator. The reasons are in docs/decisions/0070.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

OLDEST_CITUS = (14, 0)  # the oldest version on which the tests were run
REFERENCE_TABLE = "tenant"  # on every node, because every tenant's rows refer to it
FIRST_TABLE = "tenant_clock"  # all other tables are colocated with it
COORDINATOR_TABLES = frozenset({"migration", "epoch", "engine_process", "tenant_claim"})

# Functions that run on the node of their tenant, in the transaction that calls them: what they set and see is that
# node's. By name, the argument that is the tenant.
DELEGATED_FUNCTIONS = {
    "begin_writing": "of_tenant",
    "store_base": "of_tenant",
    "finish_changes": "of_tenant",
    "finish_followed": "of_tenant",
    "name_authors": "of_tenant",
    "begin_restore": "of_tenant",
    "restore_rows": "of_tenant",
    "end_restore": "of_tenant",
}

# mirrord_definer logs in between nodes: a call of a function with its rights reads and writes as that role. It has no
# password, so pg_hba.conf decides from where it may (docs/scaling.md).
_ROLES = {"mirrord_owner": "NOLOGIN", "mirrord_definer": "LOGIN", "mirrord_daemon": "LOGIN", "mirrord_app": "LOGIN"}
_DATABASE_SETTINGS = {
    "mirrord.cluster": "on",
    "mirrord.notify": "ticker",  # a transaction that notifies cannot be prepared, so it could not reach two nodes
    "citus.propagate_set_commands": "local",  # SET LOCAL mirrord.tenant reaches the nodes
    "citus.enable_unsafe_triggers": "on",  # they touch rows of their own tenant only
}
_REVOKE_COMMANDS = """
DO $$
DECLARE
    command regprocedure;
BEGIN
    FOR command IN SELECT oid FROM pg_catalog.pg_proc
                    WHERE pronamespace = 'pg_catalog'::regnamespace
                      AND (proname LIKE 'run\\_command\\_on\\_%' OR proname = 'master_run_on_worker') LOOP
        EXECUTE format('REVOKE EXECUTE ON FUNCTION %s FROM PUBLIC', command);
    END LOOP;
END
$$"""


@dataclass(frozen=True, slots=True)
class Node:
    """A node of the cluster. is_active: Citus uses it."""

    name: str
    port: int
    is_coordinator: bool
    is_active: bool
    holds_shards: bool

    def __str__(self) -> str:
        return f"{self.name}:{self.port}"


@dataclass(frozen=True, slots=True)
class ForeignKey:
    """A foreign key to the table *target*. definition: `FOREIGN KEY (…) REFERENCES …`."""

    name: str
    target: str
    definition: str


@dataclass(frozen=True, slots=True)
class Table:
    """A table of the schema. is_distributed: Citus knows it."""

    name: str
    foreign_keys: tuple[ForeignKey, ...]
    is_distributed: bool


@dataclass(frozen=True, slots=True)
class Function:
    """
    A function of the schema. signature: with the types of its arguments, `mirrord.name(uuid, text)`.

    is_public: every role may call it. is_condition: triggers ask it whether they fire.
    """

    name: str
    signature: str
    is_public: bool
    is_condition: bool


def parse_version(text: str) -> tuple[int, int]:
    """The first two numbers of a version of Citus, such as `14.0-1` or `13.2.2`."""
    numbers = re.findall(r"[0-9]+", text)
    return int(numbers[0]), int(numbers[1]) if "." in text else 0


def find_obstacle(version: str, nodes: Sequence[Node]) -> str | None:
    """A sentence about what keeps mirrord from using the cluster; None: nothing."""
    if parse_version(version) < OLDEST_CITUS:
        oldest = ".".join(map(str, OLDEST_CITUS))
        return f"Citus {version} is too old: mirrord needs {oldest} or newer. Nothing was written."
    coordinator = next((node for node in nodes if node.is_coordinator), None)
    if coordinator is None:
        return (
            "The cluster does not know its coordinator. "
            "Run `SELECT citus_set_coordinator_host('HOST', PORT)` there. Nothing was written."
        )
    workers = [node for node in nodes if not node.is_coordinator]
    if not workers:
        return "The cluster has no worker. Run `SELECT citus_add_node('HOST', PORT)` for each. Nothing was written."
    if inactive := [str(node) for node in workers if not node.is_active]:
        return (
            f"The node {', '.join(inactive)} is not active. Run `SELECT citus_activate_node(…)`. Nothing was written."
        )
    if coordinator.holds_shards:
        return (
            "The coordinator may hold rows, which would bypass a check of tenants there. Run "
            f"`SELECT citus_set_node_property('{coordinator.name}', {coordinator.port}, 'shouldhaveshards', false)`. "
            "Nothing was written."
        )
    return None


def node_statements(database: str, walls: Iterable[str]) -> list[str]:
    """
    What every node executes for itself, as a superuser, in this order. All may be repeated.

    database: its quoted name. walls: further statements.
    """
    roles = [_role_statement(name, login) for name, login in _ROLES.items()]
    settings = [f"ALTER DATABASE {database} SET {name} = '{value}'" for name, value in _DATABASE_SETTINGS.items()]
    return [*roles, *settings, _REVOKE_COMMANDS, *walls]


def _role_statement(name: str, login: str) -> str:
    return (
        f"DO $$ BEGIN IF EXISTS (SELECT FROM pg_catalog.pg_roles WHERE rolname = '{name}') "
        f"THEN ALTER ROLE {name} {login}; ELSE CREATE ROLE {name} {login}; END IF; END $$"
    )


def schema_statements(tables: Sequence[Table], functions: Sequence[Function]) -> list[str]:
    """
    What distributes those of *tables* that are not distributed yet, and puts *functions* on every node.

    Foreign keys are dropped before and added afterwards. Citus allows none from a local to a distributed table, and for
    one to a reference table it would make the local table again, and drop every function and trigger that names it.
    Tables of the coordinator stay without theirs, which would make them tables of Citus, with its limits.
    """
    new = [table for table in tables if not table.is_distributed and table.name not in COORDINATOR_TABLES]
    names = sorted((table.name for table in new), key=lambda name: (name != REFERENCE_TABLE, name != FIRST_TABLE, name))
    keys = [
        (table.name, key)
        for table in tables
        for key in table.foreign_keys
        if table.name in names or key.target in names
    ]
    first = sum(name in (REFERENCE_TABLE, FIRST_TABLE) for name in names)
    return [
        *(f"ALTER TABLE mirrord.{name} DROP CONSTRAINT {key.name}" for name, key in keys),
        *map(_table_statement, names[:first]),
        # Citus looks for the functions that triggers call, and not for those of their conditions.
        *(_function_statement(function) for function in functions if function.is_condition),
        *map(_table_statement, names[first:]),
        *(_function_statement(function) for function in functions if not function.is_condition),
        *(
            f"ALTER TABLE mirrord.{name} ADD CONSTRAINT {key.name} {key.definition}"
            for name, key in keys
            if name not in COORDINATOR_TABLES
        ),
    ]


def _table_statement(name: str) -> str:
    if name == REFERENCE_TABLE:
        return f"SELECT create_reference_table('mirrord.{name}')"
    group = "none" if name == FIRST_TABLE else f"mirrord.{FIRST_TABLE}"
    return f"SELECT create_distributed_table('mirrord.{name}', 'tenant_id', colocate_with => '{group}')"


def revoke_statements(functions: Iterable[Function]) -> list[str]:
    """What every node executes so that no more roles call *functions* there than here: Citus grants, never revokes."""
    private = ", ".join(function.signature for function in functions if not function.is_public)
    return [f"REVOKE EXECUTE ON FUNCTION {private} FROM PUBLIC"] if private else []


def _function_statement(function: Function) -> str:
    if (argument := DELEGATED_FUNCTIONS.get(function.name)) is None:
        return f"SELECT create_distributed_function('{function.signature}')"
    return (
        f"SELECT create_distributed_function('{function.signature}', '{argument}', "
        f"colocate_with => 'mirrord.{FIRST_TABLE}', force_delegation => true)"
    )
