"""What a binding may see and what an app may not do with it: row-level security, odd names, functions that shadow."""

import psycopg
import pytest

from tests.binding.knowledge_base import MAPPING, BoundWorld
from tests.support.entries import value
from tests.support.harness import eventually

ROLE = "SELECT 'mirrord_bind_' || left(replace(id::text, '-', ''), 12) FROM mirrord.binding"
UNFILTERED = MAPPING.replace('filter = { space_type = { not = "PRIVATE" } }', "")
ODD_TABLE = "odd $$ 'table' {x} \\"
ODD_TOML = r"""
[binding]
name = "odd"
[page]
table = "kb.odd $$ 'table' {x} \\"
id = "the id; --"
title = "TITLE {0}"
parent = "$1"
filter = { "kind of 'row'" = "it's \\ {0}" }
[body]
column = "$body$"
format = "markdown"
[front]
"key's {name}" = "SELECT"
"""
SHADOWS = """
CREATE TABLE kb.called (by_role text);;
GRANT INSERT ON kb.called TO PUBLIC;;
GRANT USAGE ON SCHEMA kb TO PUBLIC;;
CREATE FUNCTION public.to_jsonb(text) RETURNS jsonb LANGUAGE plpgsql AS
    'BEGIN INSERT INTO kb.called VALUES (current_user); RETURN NULL; END';;
CREATE FUNCTION public.pg_typeof(text) RETURNS regtype LANGUAGE plpgsql AS
    'BEGIN INSERT INTO kb.called VALUES (current_user); RETURN NULL; END';;
CREATE FUNCTION public.clock_timestamp(text) RETURNS timestamptz LANGUAGE plpgsql AS
    'BEGIN INSERT INTO kb.called VALUES (current_user); RETURN NULL; END';;
CREATE FUNCTION public.is_equal(text, text) RETURNS boolean LANGUAGE plpgsql AS
    'BEGIN INSERT INTO kb.called VALUES (current_user); RETURN $1 OPERATOR(pg_catalog.=) $2; END';;
CREATE OPERATOR public.= (LEFTARG = text, RIGHTARG = text, FUNCTION = public.is_equal);;
CREATE TEMP TABLE change (binding text, external_id text);;
CREATE TEMP TABLE pg_type (oid oid)
"""


def test_rows_that_a_policy_of_the_app_hides_never_leave_it(world: BoundWorld) -> None:
    world.mapping.write_text(UNFILTERED)
    team_page, private_page = world.app.create("Shown", "S."), world.app.create("Hidden", "H.", space_type="PRIVATE")
    world.app.connection.execute("ALTER TABLE kb.pages ENABLE ROW LEVEL SECURITY")
    assert "kb.pages has row-level security" in world.bind("check", str(world.mapping))
    world.bind("add", str(world.mapping))
    role = value(world.admin, ROLE)
    world.app.connection.execute(
        f"CREATE POLICY team ON kb.pages FOR SELECT TO \"{role}\" USING (space_type <> 'PRIVATE')".encode()
    )
    for number in range(3):  # so that one page is not all pages
        world.app.create(f"Page {number}")
    world.mirrord.up()
    world.await_text("Shown.md", "S.")
    world.app.change(private_page, title="Hidden still")
    world.app.change(team_page, title="Shown still")
    world.await_text("Shown still.md", "S.")
    world.await_rest()
    texts = "SELECT count(*) FROM mirrord.page_revision WHERE markdown LIKE '%%H.%%' OR markdown LIKE '%%Hidden%%'"
    assert value(world.admin, texts) == 0
    world.app.change(team_page, space_type="PRIVATE")
    world.await_absence("Shown still.md")
    world.app.change(private_page, space_type="TEAM")
    world.await_text("Hidden still.md", "H.")


def test_without_a_policy_for_the_binding_no_row_is_a_page(world: BoundWorld) -> None:
    world.app.connection.execute("ALTER TABLE kb.pages ENABLE ROW LEVEL SECURITY")
    world.bind("add", str(world.mapping))
    world.mirrord.up()
    world.app.create("Page", "P.")
    world.await_rest()
    assert value(world.admin, "SELECT count(*) FROM mirrord.page") == 0


def test_a_policy_that_fails_halts_the_binding_and_not_the_app(bound: BoundWorld) -> None:
    page = bound.app.create("Page", "P.")
    bound.await_text("Page.md", "P.")
    bound.app.connection.execute("ALTER TABLE kb.pages ENABLE ROW LEVEL SECURITY")
    bound.app.connection.execute("CREATE POLICY odd ON kb.pages FOR SELECT USING (1 / (position - position) = 1)")
    bound.app.change(page, title="Another")
    assert "division by zero" in bound.await_state("halted")["sentence"]
    assert bound.mirrord.text("Page.md") is not None
    bound.app.connection.execute("DROP POLICY odd ON kb.pages")
    bound.app.connection.execute("ALTER TABLE kb.pages DISABLE ROW LEVEL SECURITY")
    bound.bind("resume", "kb")
    bound.await_text("Another.md", "P.")


def test_names_that_look_like_statements_are_names(world: BoundWorld) -> None:
    table = psycopg.sql.Identifier("kb", ODD_TABLE)
    create = psycopg.sql.SQL(
        'CREATE TABLE {} ("the id; --" integer PRIMARY KEY, "TITLE {{0}}" text, "$1" integer, "kind of \'row\'" text, '
        '"$body$" text, "SELECT" text)'
    ).format(table)
    world.app.connection.execute(create)
    file = world.mapping.with_name("odd.toml")
    file.write_text(ODD_TOML)
    world.bind("check", str(file))
    world.bind("add", str(file))
    world.mirrord.up()
    insert = psycopg.sql.SQL("INSERT INTO {} VALUES (%s, %s, %s, %s, %s, %s)").format(table)
    world.app.connection.execute(insert, [1, "Top", None, "it's \\ {0}", "Text.", "V"])
    world.app.connection.execute(insert, [2, "Not a page", None, "its", "Text.", "V"])
    world.await_text("Top.md", "Text.", "key's {name}")
    world.app.connection.execute(insert, [3, "Below", 1, "it's \\ {0}", "Text of $$ {x} %s 'it'.", None])
    world.await_text("Top/Below.md", "Text of $$ {x} %s 'it'.")
    world.bind("resume", "odd")
    assert not world.mirrord.file("Not a page.md").exists()
    world.bind("drop", "odd")


def test_functions_and_tables_of_the_app_that_shadow_those_of_postgres_are_never_used(bound: BoundWorld) -> None:
    database = value(bound.admin, "SELECT current_database()")
    bound.admin.execute(f'GRANT TEMPORARY ON DATABASE "{database}" TO kb_app'.encode())
    bound.admin.execute("GRANT CREATE ON SCHEMA public TO kb_app")
    for statement in SHADOWS.split(";;"):
        bound.app.connection.execute(statement.encode())
    bound.app.connection.execute("SET search_path = public, pg_catalog")
    page = bound.app.create("Page", "Before.", icon="1", summary="S.")
    bound.await_text("Page.md", "Before.", "summary: S.")
    bound.app.change(page, summary="T.")
    bound.await_text("Page.md", "summary: T.")
    roles = value(bound.admin, "SELECT array_agg(DISTINCT by_role) FROM kb.called WHERE by_role <> 'kb_app'")
    assert roles is None


@pytest.mark.parametrize(
    "loss",
    [
        "DROP TABLE mirrord_bind.change",
        "DROP SEQUENCE mirrord_bind.notifies_{id}",
        "REVOKE USAGE ON SCHEMA mirrord_bind FROM mirrord_owner",
        "ALTER TABLE mirrord_bind.change ADD CHECK (false) NOT VALID",
        "DROP SCHEMA mirrord CASCADE",
    ],
)
def test_no_statement_of_the_app_fails_whatever_is_lost(world: BoundWorld, loss: str) -> None:
    world.bind("add", str(world.mapping))
    binding = value(world.admin, "SELECT left(replace(id::text, '-', ''), 12) FROM mirrord.binding")
    world.admin.execute(loss.format(id=binding).encode())
    page = world.app.create("Page", "P.")
    world.app.save(page, "Q.", expected=1)
    world.app.connection.execute("DELETE FROM kb.blocks")
    world.app.change(page, title="T", id="another")
    world.app.connection.execute("DELETE FROM kb.pages")
    assert value(world.app.connection, "SELECT count(*) FROM kb.pages") == 0


@pytest.mark.parametrize("title", ["a" * 2_000, "a/b/../c", "..", "", "\u202e.md", "CON", ".mirrord", "line\nbreak"])
def test_a_title_that_can_be_no_name_is_a_page_all_the_same(bound: BoundWorld, title: str) -> None:
    page = bound.app.create(title, "Text.")
    bound.app.create("Another", "A.")
    bound.await_text("Another.md", "A.")
    row = "SELECT title FROM mirrord.page WHERE id = %s AND name_key IS NOT NULL"
    eventually(lambda: value(bound.admin, row, page) is not None, "the page has a name")
    files = [path for path in bound.mirrord.root.rglob("*.md") if f"id: {page}" in path.read_text("utf-8")]
    eventually(
        lambda: any(f"id: {page}" in path.read_text("utf-8") for path in bound.mirrord.root.rglob("*.md")),
        f"{files} has the page",
    )
