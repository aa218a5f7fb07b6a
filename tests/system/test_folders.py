"""Parents, deletions and restorations of rows, also when two transactions meet."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from uuid import UUID, uuid4

import pytest
from psycopg import errors

from mirrord.db.database import app_dsn
from mirrord.domain.entry import TenantId
from tests.support.entries import (
    add_attachment,
    add_folder,
    add_page,
    change,
    delete,
    history,
    lives,
    row_of,
    value,
)
from tests.support.harness import eventually
from tests.support.rows import Connection

NOW = "2030-01-01T00:00:00Z"


@pytest.fixture
def other_connection(admin_dsn: str, tenant: TenantId, connect: Callable[[str], Connection]) -> Connection:
    """A second session of the same app."""
    return connect(app_dsn(admin_dsn, tenant))


def wait_until_blocked(blocker: Connection, blocked: Connection) -> None:
    """Return when *blocked* waits for a lock that *blocker* holds."""
    waits = "SELECT %s = ANY (pg_blocking_pids(%s))"
    pids = (blocker.info.backend_pid, blocked.info.backend_pid)
    eventually(lambda: value(blocker, waits, *pids), "that the other transaction waits for this one")


def test_delete_makes_a_tombstone_with_a_version_of_its_own(app_connection: Connection) -> None:
    page = add_page(app_connection, markdown="text")
    delete(app_connection, page)
    after = row_of(app_connection, page)
    assert after["deleted_at"] is not None
    assert (after["version"], after["markdown"], after["name_key"]) == (2, "text", None)
    assert [revision["deleted"] for revision in history(app_connection, page)] == [False, True]


@pytest.mark.parametrize("table", ["page", "attachment"])
def test_a_tombstone_is_purged_by_mirrord_only(
    app_connection: Connection, daemon_connection: Connection, table: str
) -> None:
    entry = add_page(app_connection) if table == "page" else add_attachment(app_connection)
    for _ in range(3):
        delete(app_connection, entry, table)
    assert not lives(app_connection, entry, table)
    assert row_of(app_connection, entry, table)["version"] == 2
    daemon_connection.execute(f"DELETE FROM mirrord.{table}_revision WHERE {table}_id = %s".encode(), [entry])
    delete(daemon_connection, entry, table)
    assert value(app_connection, f"SELECT count(*) FROM mirrord.{table} WHERE id = %s", entry) == 0


def test_a_deletion_can_be_taken_back(app_connection: Connection) -> None:
    page = add_page(app_connection, markdown="text")
    delete(app_connection, page)
    change(app_connection, page, deleted_at=None)
    assert lives(app_connection, page)
    assert row_of(app_connection, page)["version"] == 3


def test_a_deleted_folder_takes_everything_in_it_along_with_one_stamp(app_connection: Connection) -> None:
    folder = add_folder(app_connection)
    child = add_page(app_connection, parent_id=folder)
    grandchild = add_page(app_connection, parent_id=child)
    picture = add_attachment(app_connection, parent_id=grandchild)
    beside = add_page(app_connection)
    delete(app_connection, folder)
    pages = (folder, child, grandchild)
    stamps = {
        *(row_of(app_connection, page)["deleted_at"] for page in pages),
        row_of(app_connection, picture, "attachment")["deleted_at"],
    }
    assert len(stamps) == 1
    assert None not in stamps
    assert lives(app_connection, beside)
    assert all(len(history(app_connection, page)) == 2 for page in pages)


def test_a_restored_folder_brings_back_what_was_deleted_with_it_and_nothing_else(app_connection: Connection) -> None:
    folder = add_folder(app_connection)
    earlier, with_it = (add_page(app_connection, parent_id=folder) for _ in range(2))
    picture = add_attachment(app_connection, parent_id=with_it)
    delete(app_connection, earlier)
    change(app_connection, folder, deleted_at=NOW)
    change(app_connection, folder, deleted_at=None)
    assert lives(app_connection, with_it)
    assert lives(app_connection, picture, "attachment")
    assert not lives(app_connection, earlier)


def test_mirrords_own_deletion_of_a_folder_is_that_row_alone(
    app_connection: Connection, daemon_connection: Connection
) -> None:
    """It deletes what it saw deleted, children first, entry by entry."""
    folder = add_folder(app_connection)
    child = add_page(app_connection, parent_id=folder)
    change(daemon_connection, child, deleted_at=NOW)
    assert lives(app_connection, folder)
    change(daemon_connection, folder, deleted_at=NOW)
    change(daemon_connection, folder, deleted_at=None)
    assert lives(app_connection, folder)
    assert not lives(app_connection, child)


def test_a_folder_that_still_holds_something_alive_stays(
    app_connection: Connection, daemon_connection: Connection
) -> None:
    with_page, with_picture = add_folder(app_connection), add_folder(app_connection)
    add_page(app_connection, parent_id=with_page)
    add_attachment(app_connection, parent_id=with_picture)
    for folder in (with_page, with_picture):
        change(daemon_connection, folder, deleted_at=NOW)
        assert lives(app_connection, folder)


def test_a_child_that_comes_back_brings_its_folders_but_not_its_siblings(app_connection: Connection) -> None:
    outer = add_folder(app_connection)
    inner = add_folder(app_connection, parent_id=outer)
    page, sibling = (add_page(app_connection, parent_id=inner) for _ in range(2))
    delete(app_connection, outer)
    change(app_connection, page, deleted_at=None)
    assert [lives(app_connection, entry) for entry in (outer, inner, page, sibling)] == [True, True, True, False]


def test_a_page_that_moves_into_a_deleted_folder_brings_it_back(app_connection: Connection) -> None:
    folder, page = add_folder(app_connection), add_page(app_connection)
    delete(app_connection, folder)
    change(app_connection, page, parent_id=folder)
    assert lives(app_connection, folder)


def test_an_attachment_below_a_deleted_folder_brings_it_back(app_connection: Connection) -> None:
    folder = add_folder(app_connection)
    delete(app_connection, folder)
    add_attachment(app_connection, parent_id=folder)
    assert lives(app_connection, folder)


def test_a_new_page_below_a_deleted_folder_is_refused_with_a_way_out(app_connection: Connection) -> None:
    folder = add_folder(app_connection)
    delete(app_connection, folder)
    with pytest.raises(errors.ForeignKeyViolation, match="is deleted") as refused:
        add_page(app_connection, parent_id=folder)
    assert "Restore it first" in str(refused.value.diag.message_hint)


def test_a_deletion_that_had_to_wait_for_a_new_page_takes_it_along(
    app_connection: Connection, other_connection: Connection
) -> None:
    folder = add_folder(app_connection)
    app_connection.execute("BEGIN")
    page = add_page(app_connection, parent_id=folder)
    with ThreadPoolExecutor(1) as aside:
        deletion = aside.submit(delete, other_connection, folder)
        wait_until_blocked(app_connection, other_connection)
        app_connection.execute("COMMIT")
        deletion.result()
    assert not lives(app_connection, folder)
    assert not lives(app_connection, page)


def test_a_page_that_had_to_wait_for_the_deletion_of_its_folder_brings_it_back(
    app_connection: Connection, other_connection: Connection
) -> None:
    folder = add_folder(app_connection)
    app_connection.execute("BEGIN")
    delete(app_connection, folder)
    with ThreadPoolExecutor(1) as aside:
        adding = aside.submit(lambda: add_page(other_connection, parent_id=folder))
        wait_until_blocked(app_connection, other_connection)
        app_connection.execute("COMMIT")
        assert lives(app_connection, adding.result())
    assert lives(app_connection, folder)


def test_a_page_waits_for_the_deletion_of_its_folder_after_a_sibling_was_rolled_back(
    app_connection: Connection, other_connection: Connection
) -> None:
    folder = add_folder(app_connection)
    other_connection.execute("BEGIN")
    with other_connection.transaction(force_rollback=True):
        add_page(other_connection, parent_id=folder)
    app_connection.execute("BEGIN")
    delete(app_connection, folder)  # waits for no lock of the sibling
    with ThreadPoolExecutor(1) as aside:
        adding = aside.submit(lambda: add_page(other_connection, parent_id=folder))
        wait_until_blocked(app_connection, other_connection)
        app_connection.execute("COMMIT")
        page = adding.result()
    other_connection.execute("COMMIT")
    assert lives(app_connection, page)
    assert lives(app_connection, folder)


def test_a_page_moved_out_survives_the_deletion_of_its_folder(
    app_connection: Connection, other_connection: Connection
) -> None:
    folder = add_folder(app_connection)
    page = add_page(app_connection, parent_id=folder)
    app_connection.execute("BEGIN")
    change(app_connection, page, parent_id=None)
    with ThreadPoolExecutor(1) as aside:
        deletion = aside.submit(delete, other_connection, folder)
        wait_until_blocked(app_connection, other_connection)
        app_connection.execute("COMMIT")
        deletion.result()
    assert lives(app_connection, page)
    assert not lives(app_connection, folder)


def test_a_parent_must_exist(app_connection: Connection) -> None:
    with pytest.raises(errors.ForeignKeyViolation, match="page_parent_exists"):
        add_page(app_connection, parent_id=uuid4())
    with pytest.raises(errors.ForeignKeyViolation, match="attachment_parent_exists"):
        add_attachment(app_connection, parent_id=uuid4())


def test_a_child_may_be_written_before_its_parent_in_one_transaction(app_connection: Connection) -> None:
    folder = uuid4()
    with app_connection.transaction():
        app_connection.execute("SET CONSTRAINTS ALL DEFERRED")
        page = add_page(app_connection, parent_id=folder)
        add_folder(app_connection, id=folder)
    assert row_of(app_connection, page)["parent_id"] == folder


def test_a_page_is_not_its_own_parent(app_connection: Connection) -> None:
    page = add_page(app_connection)
    with pytest.raises(errors.CheckViolation, match="page_is_not_its_own_parent"):
        change(app_connection, page, parent_id=page)


def chain(connection: Connection, length: int) -> list[UUID]:
    """Folders in each other, outermost first."""
    folders = [add_folder(connection)]
    while len(folders) < length:
        folders.append(add_folder(connection, parent_id=folders[-1]))
    return folders


def test_a_folder_cannot_be_moved_below_itself(app_connection: Connection) -> None:
    outer, *_, inner = chain(app_connection, 4)
    with pytest.raises(errors.CheckViolation, match="cannot be moved below itself"):
        change(app_connection, outer, parent_id=inner)
    assert row_of(app_connection, outer)["parent_id"] is None


def test_a_loop_of_new_folders_is_refused(app_connection: Connection) -> None:
    first, other = uuid4(), uuid4()
    app_connection.execute("BEGIN")
    app_connection.execute("SET CONSTRAINTS ALL DEFERRED")
    add_folder(app_connection, id=first, parent_id=other)
    add_folder(app_connection, id=other, parent_id=first)
    with pytest.raises(errors.CheckViolation, match="below itself"):
        app_connection.execute("COMMIT")


def test_a_page_has_256_folders_above_it_at_most(app_connection: Connection) -> None:
    *_, deepest = chain(app_connection, 257)
    with pytest.raises(errors.CheckViolation, match="more than 256 folders deep"):
        add_page(app_connection, parent_id=deepest)


def test_a_loop_that_is_gone_before_the_commit_is_fine(app_connection: Connection) -> None:
    outer, inner = chain(app_connection, 2)
    with app_connection.transaction():
        change(app_connection, outer, parent_id=inner)
        change(app_connection, inner, parent_id=None)
    assert row_of(app_connection, outer)["parent_id"] == inner


def test_of_two_moves_that_make_a_loop_together_the_second_is_refused(
    app_connection: Connection, other_connection: Connection
) -> None:
    first, other = add_folder(app_connection), add_folder(app_connection)
    app_connection.execute("BEGIN")
    change(app_connection, first, parent_id=other)
    with ThreadPoolExecutor(1) as aside:
        second = aside.submit(change, other_connection, other, parent_id=first)
        wait_until_blocked(app_connection, other_connection)
        app_connection.execute("COMMIT")
        with pytest.raises(errors.CheckViolation, match="below itself"):
            second.result()
    assert row_of(app_connection, first)["parent_id"] == other
    assert row_of(app_connection, other)["parent_id"] is None


def test_of_two_such_moves_at_the_same_moment_exactly_one_is_refused(
    app_connection: Connection, other_connection: Connection
) -> None:
    def moves(connection: Connection, folder: UUID, parent: UUID) -> bool:
        try:
            change(connection, folder, parent_id=parent)
        except (errors.CheckViolation, errors.DeadlockDetected):
            return False
        return True

    with ThreadPoolExecutor(2) as together:
        for _ in range(10):
            first, other = add_folder(app_connection), add_folder(app_connection)
            moved = together.map(moves, (app_connection, other_connection), (first, other), (other, first))
            assert sorted(moved) == [False, True]
