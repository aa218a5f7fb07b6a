"""The schema comes from nothing, once, and never from the future."""

import asyncio
import subprocess
import sys

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from mirrord.db.database import daemon_dsn
from mirrord.db.migrate import list_pending, load_migrations, migrate, newest_number
from mirrord.errors import Unavailable, UserError
from tests.support.entries import value
from tests.support.older import OLD_SCHEMA, restore_dump

UPGRADES = [migration.name for migration in load_migrations()]
NEWEST = newest_number()
MIGRATE = "import asyncio, sys; from mirrord.db.migrate import migrate; print(asyncio.run(migrate(sys.argv[1])))"


def test_migrations_are_numbered_without_gaps() -> None:
    assert [migration.number for migration in load_migrations()] == list(range(OLD_SCHEMA + 1, NEWEST + 1))


async def test_an_empty_database_gets_the_whole_schema_once(empty_dsn: str) -> None:
    assert await migrate(empty_dsn) == ["schema"]
    assert await migrate(empty_dsn) == []
    with psycopg.connect(empty_dsn) as connection:
        assert connection.execute("SELECT number, name FROM mirrord.migration").fetchall() == [(NEWEST, "schema")]


async def test_the_database_finds_the_schema_without_its_name(empty_dsn: str) -> None:
    await migrate(empty_dsn)
    with psycopg.connect(empty_dsn) as connection:
        assert value(connection, "SELECT to_regclass('page')::oid = 'mirrord.page'::regclass::oid")


async def test_several_migrations_at_once_create_the_schema_once(empty_dsn: str) -> None:
    applied = await asyncio.gather(*(migrate(empty_dsn) for _ in range(4)))
    assert sorted(applied) == [[], [], [], ["schema"]]


def test_two_processes_that_migrate_at_once_create_the_schema_once(empty_dsn: str) -> None:
    command = [sys.executable, "-c", MIGRATE, empty_dsn]
    processes = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    outputs = sorted(process.communicate(timeout=60)[0].strip() for process in processes)
    assert [process.returncode for process in processes] == [0, 0]
    assert outputs == sorted(["[]", str(["schema"])])


async def test_a_schema_from_the_future_is_refused_and_left_alone(fresh_dsn: str) -> None:
    with psycopg.connect(fresh_dsn, autocommit=True) as connection:
        connection.execute("INSERT INTO mirrord.migration (number, name) VALUES (9999, '9999_future.sql')")
        with pytest.raises(UserError, match=f"has schema 9999, this mirrord knows schemas up to {NEWEST}"):
            await migrate(fresh_dsn)
        assert value(connection, "SELECT count(*) FROM mirrord.migration") == 2


async def test_an_older_schema_gets_what_it_lacks(empty_dsn: str) -> None:
    restore_dump(empty_dsn)
    assert await migrate(empty_dsn) == UPGRADES
    assert await migrate(empty_dsn) == []


async def test_pages_of_before_are_due_to_be_indexed(empty_dsn: str) -> None:
    restore_dump(empty_dsn)
    await migrate(empty_dsn)
    with psycopg.connect(empty_dsn) as superuser:
        pages = value(superuser, "SELECT count(*) FROM mirrord.page WHERE deleted_at IS NULL")
        assert value(superuser, "SELECT count(*) FROM mirrord.search_due") == pages > 0


OLD_PAGE = """
UPDATE mirrord.page SET markdown = %s, content = '{"type": "doc", "content": [{"type": "paragraph"}]}'
 WHERE id = (SELECT id FROM mirrord.page WHERE deleted_at IS NULL AND content IS NOT NULL AND ahead = '{}' LIMIT 1)
RETURNING id, version"""


@pytest.mark.parametrize(
    ("text", "is_due"),
    [
        ('+++\ntitle = "x"\n+++\ntext\n', True),
        ('\ufeff{\r\n"title": "x"\r\n}\r\ntext\r\n', True),
        ("---\ntitle: x\n...\ntext\n", True),
        ("---\ntitle: x\n---\ntext ...\n", False),
        ("{braces} and\n+++\n", False),
        ('<p>\n<IMG src="a.png">\n</p>\n', True),
        ('x <a\n  href="b.md">y</a>\n', True),
        ("x <abbr> href\n", False),
        ("![a|300x200](b.png) ![|30](c.png)\n", True),
        ("![a|b](c.png) <abbr>x</abbr> a | 300](b)\n", False),
    ],
)
async def test_documents_that_are_read_in_another_way_now_are_due(empty_dsn: str, text: str, is_due: bool) -> None:
    restore_dump(empty_dsn)
    with psycopg.connect(empty_dsn, autocommit=True) as superuser:
        superuser.execute("SET session_replication_role = replica")
        changed = superuser.execute(OLD_PAGE, [text]).fetchone()
        assert changed is not None
        await migrate(empty_dsn)
        query = "SELECT version, content IS NULL, prior IS NOT NULL, ahead = '{}' FROM mirrord.page WHERE id = %s"
        assert superuser.execute(query, [changed[0]]).fetchone() == (changed[1], is_due, is_due, True)


@pytest.mark.parametrize(("dialect", "is_due"), [("obsidian", True), ("logseq", True), ("jekyll", False)])
async def test_links_of_obsidian_and_logseq_are_due_after_the_upgrade(
    empty_dsn: str, dialect: str, is_due: bool
) -> None:
    restore_dump(empty_dsn)
    upgrade = next(pending for pending in list_pending(OLD_SCHEMA) if pending.name == "0054_links_of_dialects.sql")
    with psycopg.connect(empty_dsn, autocommit=True) as superuser:
        await migrate(empty_dsn)
        superuser.execute("SET session_replication_role = replica")
        superuser.execute("UPDATE mirrord.tenant SET dialect = %s", [dialect])
        superuser.execute("UPDATE mirrord.page_link SET due = false")
        superuser.execute("UPDATE mirrord.link_cursor SET seq = 7")
        superuser.execute("SET session_replication_role = origin")
        superuser.execute(upgrade.statements.encode())

        assert superuser.execute("SELECT DISTINCT due FROM mirrord.page_link").fetchall() == [(is_due,)]
        assert superuser.execute("SELECT DISTINCT seq = 0 FROM mirrord.link_cursor").fetchall() == [(is_due,)]


FOREIGN_PAGE = """
UPDATE mirrord.page SET markdown = 'a {{ b }}', content = %s
 WHERE id = (SELECT id FROM mirrord.page WHERE deleted_at IS NULL AND ahead = '{}' LIMIT 1) RETURNING id"""
MANY_PAGES = """
INSERT INTO mirrord.page (tenant_id, id, name, markdown)
SELECT tenant_id, gen_random_uuid(), 'Further ' || number, 'x' FROM mirrord.page, generate_series(1, %s) number
 WHERE page.id = %s"""
RAW = '{"type": "doc", "content": [{"type": "rawBlock", "attrs": {"raw": "{{ b }}"}}]}'
TEXT = '{"type": "doc", "content": [{"type": "paragraph"}]}'


@pytest.mark.parametrize(
    ("dialect", "content", "others", "is_due"),
    [
        ("jekyll", TEXT, 1000, True),
        ("plain", RAW, 1000, True),
        ("obsidian", TEXT, 1000, False),
        ("jekyll", RAW, 0, False),
    ],
)
async def test_documents_that_another_dialect_may_have_missed_are_due_after_the_upgrade(
    empty_dsn: str, dialect: str, content: str, others: int, is_due: bool
) -> None:
    restore_dump(empty_dsn)
    upgrade = next(pending for pending in list_pending(OLD_SCHEMA) if pending.name == "0055_links_of_tags.sql")
    with psycopg.connect(empty_dsn, autocommit=True) as superuser:
        await migrate(empty_dsn)
        superuser.execute("SET session_replication_role = replica")
        superuser.execute("UPDATE mirrord.tenant SET dialect = %s", [dialect])
        changed = superuser.execute(FOREIGN_PAGE, [content]).fetchone()
        assert changed is not None
        superuser.execute(MANY_PAGES, [others, changed[0]])
        superuser.execute("SET session_replication_role = origin")
        superuser.execute(upgrade.statements.encode())

        query = "SELECT content IS NULL FROM mirrord.page WHERE id = %s"
        assert superuser.execute(query, [changed[0]]).fetchone() == (is_due,)


@pytest.mark.parametrize(
    ("name", "dialect", "text", "is_due"),
    [
        ("0056_lines_of_mdx", "astro", "a\n\n{/* b\n\nc */}\n", True),
        ("0056_lines_of_mdx", "docusaurus", "<Cards\n  items={[]} />\n", True),
        ("0056_lines_of_mdx", "docusaurus", "a {b} <c>\n", False),
        ("0056_lines_of_mdx", "jekyll", "{{ a }}\n", False),
        ("0057_tags_of_logseq", "logseq", "- a #tag\n", True),
        ("0057_tags_of_logseq", "logseq", "# a\n", False),
        ("0057_tags_of_logseq", "obsidian", "- a #tag\n", False),
    ],
)
async def test_documents_that_a_dialect_reads_in_another_way_are_due_after_the_upgrade(
    empty_dsn: str, name: str, dialect: str, text: str, is_due: bool
) -> None:
    restore_dump(empty_dsn)
    upgrade = next(pending for pending in list_pending(OLD_SCHEMA) if pending.name == f"{name}.sql")
    with psycopg.connect(empty_dsn, autocommit=True) as superuser:
        await migrate(empty_dsn)
        superuser.execute("SET session_replication_role = replica")
        superuser.execute("UPDATE mirrord.tenant SET dialect = %s", [dialect])
        changed = superuser.execute(OLD_PAGE, [text]).fetchone()
        assert changed is not None
        superuser.execute("SET session_replication_role = origin")
        superuser.execute(upgrade.statements.encode())

        query = "SELECT version, content IS NULL FROM mirrord.page WHERE id = %s"
        assert superuser.execute(query, [changed[0]]).fetchone() == (changed[1], is_due)


CODE = """{"type": "doc", "content": [{"type": "blockquote", "content": [{"type": "codeBlock", "content": [
    {"type": "text", "text": "%s"}]}]}]}"""


@pytest.mark.parametrize(
    ("text", "content", "is_due"),
    [
        ("> 1. a\n", CODE % "1. d", True),
        ("> 1. a\n", CODE % "- d\\ne", True),
        ("> 1. a\n", CODE % "d - e", False),
        ("\x0b**_a_**\n", TEXT, True),
        ("\x0ba **b**\n", TEXT, False),
    ],
)
async def test_documents_that_other_parsers_read_in_another_way_are_due_after_the_upgrade(
    empty_dsn: str, text: str, content: str, is_due: bool
) -> None:
    restore_dump(empty_dsn)
    upgrade = next(pending for pending in list_pending(OLD_SCHEMA) if pending.name.endswith("_lazy_lines.sql"))
    with psycopg.connect(empty_dsn, autocommit=True) as superuser:
        await migrate(empty_dsn)
        superuser.execute("SET session_replication_role = replica")
        changed = superuser.execute(OLD_PAGE, [text]).fetchone()
        assert changed is not None
        superuser.execute("UPDATE mirrord.page SET content = %s WHERE id = %s", [content, changed[0]])
        superuser.execute("SET session_replication_role = origin")
        superuser.execute(upgrade.statements.encode())

        query = "SELECT version, content IS NULL FROM mirrord.page WHERE id = %s"
        assert superuser.execute(query, [changed[0]]).fetchone() == (changed[1], is_due)


def test_each_schema_has_its_upgrades() -> None:
    for number in range(OLD_SCHEMA, NEWEST + 1):
        assert [pending.name for pending in list_pending(number)] == UPGRADES[number - OLD_SCHEMA :]


async def test_a_schema_that_is_too_old_is_refused_and_left_alone(empty_dsn: str) -> None:
    restore_dump(empty_dsn)
    with psycopg.connect(empty_dsn, autocommit=True) as connection:
        connection.execute("DELETE FROM mirrord.migration WHERE number = %s", [OLD_SCHEMA])
        with pytest.raises(UserError, match=f"has schema {OLD_SCHEMA - 1}, .* from {OLD_SCHEMA} on"):
            await migrate(empty_dsn)
        assert value(connection, "SELECT count(*) FROM mirrord.migration") == OLD_SCHEMA - 1


async def test_a_schema_that_fails_halfway_leaves_nothing(empty_dsn: str) -> None:
    with psycopg.connect(empty_dsn, autocommit=True) as connection:
        connection.execute("CREATE SCHEMA mirrord CREATE TABLE approval ()")  # in the way of a later file
        with pytest.raises(psycopg.errors.DuplicateTable):
            await migrate(empty_dsn)
        assert value(connection, "SELECT count(*) FROM pg_class WHERE relnamespace = 'mirrord'::regnamespace") == 1


async def test_a_role_that_may_not_make_roles_is_told_so(empty_dsn: str) -> None:
    await migrate(empty_dsn)
    with psycopg.connect(empty_dsn, autocommit=True) as connection:
        connection.execute("DROP SCHEMA mirrord CASCADE")
    with pytest.raises(UserError, match="whose role may create roles and schemas"):
        await migrate(make_conninfo(empty_dsn, user="mirrord_app"))


async def test_a_role_that_owns_the_database_and_may_make_roles_can_migrate(empty_dsn: str) -> None:
    database = conninfo_to_dict(empty_dsn)["dbname"]
    with psycopg.connect(empty_dsn, autocommit=True) as connection:
        connection.execute("CREATE ROLE installer LOGIN CREATEROLE")
        # mirrord's roles are the cluster's and made by another database's migration: as if installer had made them
        connection.execute(
            "GRANT mirrord_owner, mirrord_definer, mirrord_daemon, mirrord_app TO installer WITH ADMIN OPTION"
        )
        connection.execute(f"ALTER DATABASE {database} OWNER TO installer".encode())
    installer = make_conninfo(empty_dsn, user="installer")
    assert await migrate(installer) == ["schema"]
    with psycopg.connect(daemon_dsn(installer)) as connection:
        assert value(connection, "SELECT count(*) FROM mirrord.tenant") == 0
    with psycopg.connect(empty_dsn, autocommit=True) as connection:
        connection.execute(f"ALTER DATABASE {database} OWNER TO postgres".encode())
        connection.execute("REASSIGN OWNED BY installer TO postgres")
        connection.execute("DROP OWNED BY installer")
        connection.execute("DROP ROLE installer")


async def test_a_server_that_is_not_there_is_unavailable() -> None:
    with pytest.raises(Unavailable, match="out of reach"):
        await migrate("host=/nonexistent dbname=mirrord")
