"""
An installation of an older mirrord starts with today's as it was: rows, files, tokens, settings and commands.

The installation, its settings and the list of its commands are in tests/fixtures/older; README.md there says how they
were made.
"""

import json
import socket
import sqlite3
import tarfile
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg import sql

from mirrord.auth.signed_tokens import Keyring, verify_token
from mirrord.cli.command_table import cli
from mirrord.config import Flags, load
from mirrord.db.migrate import newest_number
from mirrord.domain.trust import Trust
from mirrord.errors import Refused
from tests.fixtures.older.list_commands import list_commands
from tests.fixtures.older.make_installation import HOST, PAGES, PICTURE, ROOT, Installation
from tests.support.editors import save
from tests.support.entries import value
from tests.support.harness import eventually
from tests.support.older import FIXTURE, OLD_SCHEMA, list_dumped_migrations, restore_dump
from tests.support.rows import Connection
from tests.support.trees import files

# Tables whose rows an upgrade leaves alone. Not among them are the lease of the mirror and the cursors of followers.
KEPT_TABLES = (
    "tenant page page_revision page_link attachment attachment_revision blob record record_revision segment_anchor "
    "conflict event halt approval problem mirror_base entry_feed"
).split()

Rows = dict[str, list[str]]
Files = dict[str, tuple[bytes, int, int]]  # bytes, mode, nanosecond of the last change


@dataclass(frozen=True, slots=True)
class Upgrade:
    """An older installation, with today's daemon running. before, after: rows and files around its first start."""

    installation: Installation
    dsn: str
    rows_before: Rows
    rows_after: Rows
    files_before: Files
    files_after: Files

    @property
    def app(self) -> Connection:
        """An app's connection."""
        return self.installation.app


@pytest.fixture(scope="module")
def upgrade(module_dsn: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Upgrade]:
    """The older installation once today's daemon has compared everything; each test changes pages of its own."""
    directory = tmp_path_factory.mktemp("older")
    with Installation(directory, module_dsn) as installation:
        _restore(installation, module_dsn)
        columns = _columns(module_dsn)
        rows, files_before = _rows(module_dsn, columns), _files(installation.root)
        installation.up()
        installation.flush()
        yield Upgrade(
            installation, module_dsn, rows, _rows(module_dsn, columns), files_before, _files(installation.root)
        )


def test_the_database_is_migrated(upgrade: Upgrade) -> None:
    with psycopg.connect(upgrade.dsn) as connection:
        numbers = [number for (number,) in connection.execute("SELECT number FROM mirrord.migration ORDER BY number")]
    assert len(list_dumped_migrations()) == OLD_SCHEMA
    assert numbers == list(range(1, newest_number() + 1))


def test_the_tree_is_taken_up_where_it_was_left(upgrade: Upgrade) -> None:
    opened = upgrade.installation.wait_event("mirror_opened")
    assert (opened["start"], opened["adopting"]) == ("RESUME", False)
    assert [event for event in upgrade.installation.events() if event["level"] != "info"] == []


def test_the_mark_of_the_tree_is_as_before(upgrade: Upgrade) -> None:
    with tarfile.open(FIXTURE / "files.tar.gz") as packed:
        mark = packed.extractfile("data/mirror/demo/.mirrord/id")
        assert mark is not None
        assert upgrade.installation.text(".mirrord/id") == mark.read().decode()


@pytest.mark.parametrize("table", KEPT_TABLES)
def test_rows_are_as_before(upgrade: Upgrade, table: str) -> None:
    assert upgrade.rows_after[table] == upgrade.rows_before[table]


@pytest.mark.parametrize("table", "page page_revision attachment record segment_anchor conflict blob event".split())
def test_the_fixture_has_rows(upgrade: Upgrade, table: str) -> None:
    assert upgrade.rows_before[table] != []


def test_no_file_changes(upgrade: Upgrade) -> None:
    assert upgrade.files_after == upgrade.files_before
    texts = {path: text.encode() for path, text in PAGES.items()}
    for path in ("Welcome.md", "Notes/Windows.md", "Notes/Überblick – 概要.md", "Notes/table.csv"):
        assert upgrade.files_after[path][0] == texts[path]
    assert upgrade.files_after["Projects/assets/plan.png"][0] == PICTURE


def test_both_sides_are_equal(upgrade: Upgrade) -> None:
    assert upgrade.installation.check() == {}


def test_nothing_waits_but_the_old_conflict(upgrade: Upgrade) -> None:
    waiting = upgrade.installation.status()["attention"]
    assert [row["kind"] for row in waiting] == ["conflict"]
    open_paths = "SELECT path FROM conflict WHERE resolved_at IS NULL"
    assert upgrade.app.execute(open_paths).fetchall() == [("Colour.md",)]


def test_an_edit_of_a_file_and_one_of_a_row_go_through(upgrade: Upgrade) -> None:
    older = upgrade.installation
    guide = older.page("Guide.md")
    assert guide is not None
    save(older.file("Guide.md"), "# Guide\n\nEdited in a file.\n")
    eventually(lambda: (page := older.page("Guide.md")) and page.version == guide.version + 1, "the next version")
    upgrade.app.execute("UPDATE page SET title = 'A title' WHERE id = %s", [guide.id])
    expected = "---\ntitle: A title\n---\n# Guide\n\nEdited in a file.\n"
    eventually(lambda: older.text("Guide.md") == expected, "the title in the file")


def test_an_old_version_comes_back(upgrade: Upgrade) -> None:
    older = upgrade.installation
    older.order("restore", "Projects/Alpha.md", "--version", "1")
    eventually(lambda: older.text("Projects/Alpha.md") == PAGES["Projects/Alpha.md"], "the first version in the file")


def test_a_deleted_page_comes_back(upgrade: Upgrade) -> None:
    older = upgrade.installation
    upgrade.app.execute("UPDATE page SET deleted_at = NULL WHERE name = 'Removed'")
    eventually(lambda: older.text("Removed.md") == PAGES["Removed.md"], "the file of the deleted page")


def test_the_open_conflict_is_settled(upgrade: Upgrade) -> None:
    older = upgrade.installation
    number = value(upgrade.app, "SELECT id FROM conflict WHERE resolved_at IS NULL")
    older.order("conflicts", "take-file", str(number))
    eventually(lambda: older.text("Colour.md") == "colour: red\n", "the file's text")
    assert value(upgrade.app, "SELECT resolution FROM conflict WHERE id = %s", number) == "took-file"


def test_a_category_and_a_collection_mean_the_same_pages(upgrade: Upgrade) -> None:
    content = upgrade.installation.order("collections", "content", "reading")
    assert "Projects/Alpha.md" in content
    query = "SELECT dir, patterns FROM category WHERE name = 'projects'"
    assert upgrade.app.execute(query).fetchall() == [("Projects", ["*", "!drafts/"])]


def test_segments_follow_an_edit(upgrade: Upgrade) -> None:
    query = "SELECT first FROM segment WHERE quote LIKE '%%The river%%'"
    begin = value(upgrade.app, query)
    text = PAGES["Sources/Interview.md"].replace("How was it?", "How was it then?")
    save(upgrade.installation.file("Sources/Interview.md"), text)
    eventually(lambda: value(upgrade.app, query) == begin + len(" then"), "the segment at its new place")


def test_tokens_and_keys_are_as_before(upgrade: Upgrade) -> None:
    older = upgrade.installation
    keyring = Keyring(older.mirror)
    grant = verify_token(keyring, (older.directory / "token").read_text().strip())
    assert (grant.actor.name, grant.may_write, grant.expires) == ("reader", False, None)
    with pytest.raises(Refused, match="revoked"):
        verify_token(keyring, (older.directory / "revoked-token").read_text().strip())
    fresh = verify_token(keyring, older.order("tenant", "token", "demo"))
    assert (fresh.key, fresh.tenant) == (grant.key, grant.tenant)


def test_every_key_of_the_older_settings_is_accepted() -> None:
    config = load(Flags(file=FIXTURE / "every-key.toml"), {})
    assert (config.dsn, config.tenants, config.notify) == ("postgresql://older.example/mirrord", ("demo",), "ticker")
    assert (config.data, config.mirror) == (Path("data").absolute(), Path("data/mirror").absolute())
    assert (config.mode, config.sources_dir, config.metrics) == (0o2770, "Sources", ("127.0.0.1", 9464))
    console, agents = config.console, config.agents
    assert (console.serve, console.port, console.hosts) == (True, 7448, ("notes.example",))
    assert (agents.token_file, agents.local_trust, agents.elicitation) == (Path("token"), True, True)
    assert (agents.attach_from, agents.tools) == ((Path("pictures").absolute(),), ("pages", "sources", "collections"))
    assert (agents.limits.pending, agents.limits.calls, agents.limits.mutations) == (20, 600, 120)
    assert agents.trust["delete_source"] is Trust.REQUIRE


def test_every_older_command_and_option_exists() -> None:
    older: dict[str, list[str]] = json.loads((FIXTURE / "commands.json").read_text(encoding="utf-8"))
    current = list_commands(cli)
    missing = {name: sorted({*options} - {*current.get(name, [])}) for name, options in older.items()}
    assert older.keys() - current.keys() == set()
    assert {name: options for name, options in missing.items() if options} == {}


def _restore(installation: Installation, dsn: str) -> None:
    """Unpack the files, load the dump into the database, and let both be this host's, stopped just now."""
    with tarfile.open(FIXTURE / "files.tar.gz") as packed:
        packed.extractall(installation.directory, filter="tar")
    restore_dump(dsn)
    with psycopg.connect(dsn, autocommit=True) as connection:
        _move_to_this_host(connection, installation.root)
        _acknowledge_this_cluster(connection, installation.root)


def _move_to_this_host(connection: psycopg.Connection[Any], root: Path) -> None:
    connection.execute("SET session_replication_role = replica")  # no trigger sees this
    connection.execute(
        "UPDATE mirrord.mirror SET host = %s, root = %s, expires_at = now() WHERE (host, root) = (%s, %s)",
        [socket.gethostname(), str(root), HOST, ROOT],
    )
    connection.execute("UPDATE mirrord.page SET deleted_at = now() WHERE deleted_at IS NOT NULL")  # else purged one day


def _acknowledge_this_cluster(connection: psycopg.Connection[Any], root: Path) -> None:
    """Let the tree remember this cluster instead of the one that the dump is from."""
    epoch = value(
        connection,
        "SELECT (SELECT system_identifier FROM pg_control_system()) || ' ' "
        "|| left(pg_walfile_name(pg_current_wal_lsn()), 8) || ' ' || id FROM mirrord.epoch",
    )
    with closing(sqlite3.connect(root / ".mirrord/state.db")) as state, state:
        state.execute("UPDATE counter SET value = json_set(value, '$.epoch', ?) WHERE key = 'ack'", [epoch])


def _columns(dsn: str) -> dict[str, list[str]]:
    """The columns of the tables that are kept."""
    query = "SELECT attname FROM pg_attribute WHERE attrelid = %s::regclass AND attnum > 0 AND NOT attisdropped"
    with psycopg.connect(dsn) as connection:
        return {table: [name for (name,) in connection.execute(query, [f"mirrord.{table}"])] for table in KEPT_TABLES}


def _rows(dsn: str, columns: dict[str, list[str]]) -> Rows:
    """Every row of these columns, as text."""
    with psycopg.connect(dsn) as connection:
        return {
            table: sorted(repr(row) for row in connection.execute(_selection(table, names)))
            for table, names in columns.items()
        }


def _selection(table: str, names: list[str]) -> sql.Composed:
    listed = sql.SQL(", ").join(map(sql.Identifier, names))
    return sql.SQL("SELECT {} FROM mirrord.{}").format(listed, sql.Identifier(table))


def _files(root: Path) -> Files:
    """The tree's files, those in its trash too."""
    return {
        path.relative_to(root).as_posix(): (path.read_bytes(), stat.st_mode, stat.st_mtime_ns)
        for path in [*files(root), *(root / ".mirrord/trash").iterdir()]
        for stat in [path.stat()]
    }
