"""DELETE as drivers understand it: it tells how many rows it deleted, and which; their tombstones stay."""

import asyncio
from collections.abc import Callable
from uuid import UUID

import psycopg
import pytest

from mirrord.db import tenant_rows
from mirrord.db.database import Database, app_dsn
from mirrord.domain.entry import TenantId
from tests.support.entries import (
    add,
    add_attachment,
    add_folder,
    add_page,
    change,
    history,
    lives,
    place,
    render,
    row_of,
    value,
)
from tests.support.rows import Connection

Insert = Callable[..., UUID]


def add_record(connection: Connection, **columns: object) -> UUID:
    return add(connection, "record", **({"kind": "category", "key": "books"} | columns))


EVERY_TABLE = pytest.mark.parametrize(
    ("table", "insert"),
    [("page", add_page), ("page", add_folder), ("attachment", add_attachment), ("record", add_record)],
)


@EVERY_TABLE
def test_a_delete_tells_how_many_rows_it_deleted_and_which(
    app_connection: Connection, table: str, insert: Insert
) -> None:
    entry = insert(app_connection)
    cursor = app_connection.execute(f"DELETE FROM mirrord.{table} WHERE id = %s RETURNING id".encode(), [entry])
    assert (cursor.rowcount, cursor.fetchall()) == (1, [(entry,)])
    assert not lives(app_connection, entry, table)


@EVERY_TABLE
def test_what_is_deleted_already_is_not_deleted_again(app_connection: Connection, table: str, insert: Insert) -> None:
    entry = insert(app_connection)
    deletion = f"DELETE FROM mirrord.{table} WHERE id = %s".encode()
    app_connection.execute(deletion, [entry])
    before = row_of(app_connection, entry, table)
    assert app_connection.execute(deletion, [entry]).rowcount == 0
    assert row_of(app_connection, entry, table) == before


@EVERY_TABLE
def test_a_tombstone_keeps_every_column_but_those_of_its_deletion(
    app_connection: Connection, table: str, insert: Insert
) -> None:
    entry = insert(app_connection)
    before = row_of(app_connection, entry, table)
    app_connection.execute(f"DELETE FROM mirrord.{table} WHERE id = %s".encode(), [entry])
    after = row_of(app_connection, entry, table)
    changed = {column for column in before if before[column] != after[column]}
    assert changed <= {"version", "deleted_at", "updated_at", "name_key", "key_slot"}
    assert (before["version"], after["version"]) == (1, 2)


def test_the_history_goes_on_over_a_deletion(app_connection: Connection, daemon_connection: Connection) -> None:
    page = add_page(app_connection, markdown="text")
    render(daemon_connection, page, "text")
    change(app_connection, page, markdown="second")
    app_connection.execute("DELETE FROM mirrord.page WHERE id = %s", [page])
    assert [(line["version"], line["deleted"], line["parents"]) for line in history(app_connection, page)] == [
        (1, False, []),
        (2, False, [1]),
        (3, True, [2]),
    ]
    change(app_connection, page, deleted_at=None)
    assert (row_of(app_connection, page)["version"], row_of(app_connection, page)["markdown"]) == (4, "second")


def test_a_new_page_may_have_the_name_of_a_deleted_one(
    app_connection: Connection, daemon_connection: Connection
) -> None:
    first = add_page(app_connection, name="Plan")
    place(daemon_connection, first, "Plan")
    app_connection.execute("DELETE FROM mirrord.page WHERE id = %s", [first])
    second = add_page(app_connection, name="Plan")
    place(daemon_connection, second, "Plan")
    assert lives(app_connection, second)


@pytest.mark.parametrize("order", ["ASC", "DESC"])
def test_a_whole_tree_is_deleted_in_one_statement_and_its_folder_brings_all_back(
    app_connection: Connection, order: str
) -> None:
    folder = add_folder(app_connection)
    pages = [add_page(app_connection, name=f"Page {number}", parent_id=folder) for number in range(3)]
    below = add_page(app_connection, name="Below", parent_id=pages[0])
    picture = add_attachment(app_connection, parent_id=pages[0])
    # The order in which a statement meets its rows is that of the table.
    app_connection.execute(f"UPDATE mirrord.page SET icon = 'x' WHERE id = %s OR {order == 'ASC'}".encode(), [folder])
    assert app_connection.execute("DELETE FROM mirrord.page WHERE deleted_at IS NULL").rowcount == 5
    assert not any(lives(app_connection, page) for page in (folder, *pages, below))
    assert not lives(app_connection, picture, "attachment")
    change(app_connection, folder, deleted_at=None)
    assert all(lives(app_connection, page) for page in (folder, *pages, below))
    assert lives(app_connection, picture, "attachment")


def test_a_deletion_that_is_rolled_back_never_was(app_connection: Connection) -> None:
    page = add_page(app_connection)
    before = row_of(app_connection, page)
    with app_connection.transaction(force_rollback=True):
        app_connection.execute("DELETE FROM mirrord.page WHERE id = %s", [page])
    assert row_of(app_connection, page) == before


def test_rows_read_by_a_deletion_grow_with_the_number_of_rows_deleted(fresh_dsn: str) -> None:
    folders, count, most_reads = 4, 2_000, 60  # reads of one deletion, with what its triggers ask
    tenant = asyncio.run(_add_tenant(fresh_dsn))
    with (
        psycopg.connect(app_dsn(fresh_dsn, tenant)) as app,
        psycopg.connect(fresh_dsn, autocommit=True) as administered,
    ):
        for number in range(folders):
            folder = add_folder(app, name=f"Folder {number}")
            app.execute(
                "INSERT INTO mirrord.page (title, markdown, parent_id) "
                "SELECT 'n' || n, 'text', %s FROM generate_series(1, %s) AS n",
                [folder, count // folders],
            )
        app.commit()
        administered.execute("ANALYZE mirrord.page")
        app.execute("SET plan_cache_mode = force_generic_plan")  # as the daemon has it
        app.execute("SET CONSTRAINTS ALL IMMEDIATE")
        app.execute("UPDATE mirrord.page SET deleted_at = now() WHERE parent_id IS NOT NULL")
        query = (
            "SELECT seq_tup_read + idx_tup_fetch FROM pg_stat_xact_all_tables WHERE relid = 'mirrord.page'::regclass"
        )
        reads = value(app, query)
    assert count < reads < most_reads * count


def test_rows_read_by_an_insertion_grow_with_the_number_of_children_inserted(fresh_dsn: str) -> None:
    count, most_reads = 2_000, 60  # reads of one insertion, with what its triggers ask
    tenant = asyncio.run(_add_tenant(fresh_dsn))
    with psycopg.connect(app_dsn(fresh_dsn, tenant)) as app:
        page = add_page(app, name="Page", markdown="text")
        app.commit()
        app.execute("SET CONSTRAINTS ALL IMMEDIATE")
        app.execute(
            "INSERT INTO mirrord.page (title, markdown, parent_id) SELECT 'n' || n, 'text', %s "
            "FROM generate_series(1, %s) AS n",
            [page, count],
        )
        query = (
            "SELECT seq_tup_read + idx_tup_fetch FROM pg_stat_xact_all_tables WHERE relid = 'mirrord.page'::regclass"
        )
        reads = value(app, query)
        looks_at_history = value(
            app, "SELECT idx_scan FROM pg_stat_xact_all_tables WHERE relid = 'mirrord.page_revision'::regclass"
        )
    assert count < reads < most_reads * count
    assert looks_at_history <= 1  # by the check of a foreign key; a new page has no history


async def _add_tenant(dsn: str) -> TenantId:
    async with Database(dsn, size=1) as opened:
        return await tenant_rows.ensure_tenant(opened, "demo")
