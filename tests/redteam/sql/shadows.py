"""
Attacks that put objects of their own in the way of names, and then let mirrord's functions run.

They are played in a database whose operator was generous: apps may make temporary objects there, and objects in a
schema of their own. Whatever such an object is called by, it calls `own.confess()`, which warns when it runs with
rights that are not the attacker's.
"""

from collections.abc import Iterator

from tests.redteam.sql.attack import Attack, Attacker

# The console's rights are an app's.
_ATTACKERS = (Attacker.APP, Attacker.DAEMON)
# Every way on which an app's session runs functions, triggers and policies of mirrord.
ENTRANCES = (
    "INSERT INTO mirrord.page (name, markdown) VALUES ('Entrance', E'---\\nicon: x\\n---\\ntext\\n')",
    "INSERT INTO mirrord.page (kind, name) VALUES ('folder', 'Folder')",
    "UPDATE mirrord.page SET markdown = 'other' WHERE name = 'Entrance'",
    "UPDATE mirrord.page SET title = 'Title', icon = 'i', position = 'a0' WHERE name = 'Entrance'",
    "UPDATE mirrord.page SET frontmatter = '{\"a\": 1}' WHERE name = 'Entrance'",
    'UPDATE mirrord.page SET content = \'{"type": "doc", "content": []}\' WHERE name = \'Entrance\'',
    "UPDATE mirrord.page SET name = 'Way in' WHERE name = 'Entrance'",
    "UPDATE mirrord.page SET parent_id = (SELECT id FROM mirrord.page WHERE name = 'Folder' LIMIT 1)"
    " WHERE name = 'Way in'",
    "UPDATE mirrord.page SET deleted_at = now() WHERE name = 'Folder'",
    "UPDATE mirrord.page SET deleted_at = NULL WHERE name = 'Folder'",
    "INSERT INTO mirrord.attachment (name, digest, size) VALUES ('a.png', '\\x78', 1)",
    "UPDATE mirrord.attachment SET digest = '\\x79' WHERE name = 'a.png'",
    "UPDATE mirrord.attachment SET deleted_at = now() WHERE name = 'a.png'",
    "INSERT INTO mirrord.record (kind, key, data) VALUES ('category', 'red', '{}')",
    "UPDATE mirrord.record SET data = '{\"dir\": \"x\"}' WHERE key = 'red'",
    "UPDATE mirrord.record SET text = 'dir: y' WHERE key = 'red'",
    "INSERT INTO mirrord.event (type) VALUES ('PageCreated')",
    "SELECT mirrord.read_notifications()",
    "SELECT mirrord.decide_halt(0, 'apply')",
    "SELECT mirrord.settle_conflict(0, 'took-row')",
    "SELECT mirrord.approve(id) FROM mirrord.approval WHERE state = 'pending'",
    "SELECT mirrord.reject(id, 'no') FROM mirrord.approval WHERE state = 'pending'",
    "SELECT * FROM mirrord.category, mirrord.collection, mirrord.segment",
    "SELECT mirrord.name_key('X'), mirrord.current_actor(), mirrord.channel(mirrord.current_tenant())",
    "DELETE FROM mirrord.record",
    "DELETE FROM mirrord.attachment",
    "DELETE FROM mirrord.page WHERE name IN ('Way in', 'Folder')",
)

_TYPES = (
    "jsonb", "json", "uuid", "text", "bigint", "integer", "boolean", "bytea", "timestamptz", "regclass", "numeric",
    "interval", "xid8", "name",
)  # fmt: skip
_FUNCTIONS = {
    "current_setting": "text, boolean",
    "set_config": "text, text, boolean",
    "clock_timestamp": "",
    "now": "",
    "pg_notify": "text, text",
    "to_jsonb": "record",
    "jsonb_build_object": "",
    "jsonb_each": "jsonb",
    "jsonb_typeof": "jsonb",
    "jsonb_strip_nulls": "jsonb",
    "gen_random_uuid": "",
    "pg_current_xact_id": "",
    "array_remove": "anycompatiblearray, anycompatible",
    "array_to_string": "anyarray, text",
    "lower": "text",
    "translate": "text, text, text",
    "replace": "text, text, text",
    "format": "text",
    "coalesce_row": "mirrord.page",
    "name_key": "text",
    "current_tenant": "",
    "by_mirrord": "",
}
_OPERATORS = (
    ("=", "uuid", "uuid"),
    ("=", "text", "text"),
    ("=", "name", "text"),
    ("<>", "text", "text"),
    ("<>", "bigint", "bigint"),
    (">", "bigint", "bigint"),
    ("||", "text[]", "text"),
    ("->>", "jsonb", "text"),
    ("->", "jsonb", "text"),
    ("-", "jsonb", "text[]"),
    ("~~", "text", "text"),
    ("~", "text", "text"),
    ("+", "bigint", "integer"),
)
_RELATIONS = (
    "page", "page_revision", "attachment", "record", "event", "approval", "halt", "conflict", "tenant_clock",
    "entry_feed", "pg_class", "pg_roles", "pg_attribute", "pg_settings", "json_each",
)  # fmt: skip


def shadows() -> Iterator[Attack]:
    """Types, functions, operators and relations of the same names, in the temporary schema and in one of their own."""
    for schema in ("pg_temp", "own"):
        path = f"SET search_path = {schema}, own, mirrord, pg_catalog"
        for name in _TYPES:
            yield Attack(
                f"type {schema}.{name}",
                (f"CREATE DOMAIN {schema}.{name} AS pg_catalog.{name} CHECK (own.confess())", path, *ENTRANCES),
                _ATTACKERS,
            )
        for name in _RELATIONS:
            yield Attack(
                f"relation {schema}.{name}",
                (f"CREATE VIEW {schema}.{name} AS SELECT own.confess() AS id", path, *ENTRANCES),
                _ATTACKERS,
            )
    for name, arguments in _FUNCTIONS.items():
        body = "RETURNS text LANGUAGE plpgsql AS 'BEGIN PERFORM own.confess(); RETURN NULL; END'"
        path = "SET search_path = own, pg_temp, pg_catalog, mirrord"
        yield Attack(
            f"function {name}", (f"CREATE FUNCTION own.{name}({arguments}) {body}", path, *ENTRANCES), _ATTACKERS
        )
    for number, (operator, left_type, right_type) in enumerate(_OPERATORS):
        function = f"own.compare_{number}"
        yield Attack(
            f"operator {operator} ({left_type}, {right_type})",
            (
                f"CREATE FUNCTION {function}({left_type}, {right_type}) RETURNS boolean LANGUAGE plpgsql "
                "AS 'BEGIN RETURN own.confess(); END'",
                f"CREATE OPERATOR own.{operator} "
                f"(FUNCTION = {function}, LEFTARG = {left_type}, RIGHTARG = {right_type})",
                "SET search_path = own, pg_catalog, mirrord",
                *ENTRANCES,
            ),
            _ATTACKERS,
        )
    yield Attack(
        "cast of a type of its own",
        (
            "CREATE TYPE own.kind AS ENUM ('agent')",
            "CREATE FUNCTION own.as_text(own.kind) RETURNS text LANGUAGE plpgsql AS 'BEGIN PERFORM own.confess(); "
            "RETURN 1; END'",
            "CREATE CAST (own.kind AS text) WITH FUNCTION own.as_text(own.kind) AS IMPLICIT",
            "SELECT mirrord.reject((SELECT id FROM mirrord.approval LIMIT 1), 'agent'::own.kind)",
            *ENTRANCES,
        ),
        _ATTACKERS,
    )
