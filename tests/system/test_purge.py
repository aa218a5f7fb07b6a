"""The end of tombstones, and a mirror that was away when it came."""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from uuid import UUID, uuid4

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.types.json import Jsonb

from mirrord.db.content.tombstone_purge import TOMBSTONE_AGE, purge_batch
from mirrord.db.database import Database, daemon_dsn
from mirrord.domain.entry import TenantId, digest_of
from tests.support.commands import Near
from tests.support.editors import save
from tests.support.entries import add, add_attachment, add_folder, change, delete, value
from tests.support.harness import Mirrord, eventually
from tests.support.health import look_everywhere
from tests.support.rows import Connection

LONG_AGO = "clock_timestamp() - interval '401 days'"


def page(daemon: Connection, name: str = "Page", parent: UUID | None = None) -> UUID:
    text = {"markdown": "text\n", "digest": digest_of(b"text\n")}
    return add(daemon, "page", name=name, name_key=name.lower(), title=name, parent_id=parent, **text)


def bury(daemon: Connection, entry: UUID, table: str = "page") -> None:
    """Delete it long ago."""
    delete(daemon, entry, table)
    daemon.execute(f"UPDATE mirrord.{table} SET deleted_at = {LONG_AGO} WHERE id = %s".encode(), [entry])


def add_mirror(
    daemon: Connection, *, acknowledged: int, expiry: str = "clock_timestamp() + interval '1 minute'"
) -> UUID:
    mirror = uuid4()
    daemon.execute(
        "INSERT INTO mirrord.mirror (tenant_id, id, ack_seq, expires_at) "
        f"VALUES (mirrord.current_tenant(), %s, %s, {expiry})".encode(),
        [mirror, acknowledged],
    )
    return mirror


def seq(daemon: Connection) -> int:
    current_seq = value(daemon, "SELECT seq FROM mirrord.tenant_clock WHERE tenant_id = mirrord.current_tenant()")
    assert isinstance(current_seq, int)
    return current_seq


async def purge(database: Database, tenant: TenantId, retention: timedelta = TOMBSTONE_AGE) -> list[UUID]:
    purged: list[UUID] = []
    while True:
        async with database.transaction(tenant) as connection:
            some = await purge_batch(connection, tenant, retention)
        if not some:
            return purged
        purged += some


def is_there(daemon: Connection, entry: UUID, table: str = "page") -> bool:
    return bool(value(daemon, f"SELECT count(*) FROM mirrord.{table} WHERE id = %s", entry))


async def test_what_was_deleted_long_ago_goes_when_every_mirror_knows_it(
    database: Database, tenant: TenantId, daemon_connection: Connection
) -> None:
    entry, attachment = page(daemon_connection), add_attachment(daemon_connection)
    record = add(daemon_connection, "record", kind="category", key="books", data=Jsonb({}))
    bury(daemon_connection, entry)
    bury(daemon_connection, attachment, "attachment")
    bury(daemon_connection, record, "record")
    slow = add_mirror(daemon_connection, acknowledged=0)
    add_mirror(daemon_connection, acknowledged=seq(daemon_connection))
    assert await purge(database, tenant) == []

    daemon_connection.execute("UPDATE mirrord.mirror SET ack_seq = %s WHERE id = %s", [seq(daemon_connection), slow])
    assert set(await purge(database, tenant)) == {entry, attachment, record}
    assert not is_there(daemon_connection, entry)
    assert not is_there(daemon_connection, attachment, "attachment")
    assert not is_there(daemon_connection, record, "record")
    for belonging in ("page_revision", "attachment_revision", "record_revision"):
        assert value(daemon_connection, f"SELECT count(*) FROM mirrord.{belonging}") == 0
    assert value(daemon_connection, "SELECT purged_seq = seq FROM mirrord.entry_feed WHERE entry_id = %s", entry)


async def test_a_mirror_that_nobody_runs_any_more_holds_nothing_back(
    database: Database, tenant: TenantId, daemon_connection: Connection
) -> None:
    entry = page(daemon_connection)
    bury(daemon_connection, entry)
    add_mirror(daemon_connection, acknowledged=0, expiry=LONG_AGO)
    add_mirror(daemon_connection, acknowledged=seq(daemon_connection))
    assert await purge(database, tenant) == [entry]


async def test_without_any_mirror_nothing_goes(
    database: Database, tenant: TenantId, daemon_connection: Connection
) -> None:
    bury(daemon_connection, page(daemon_connection))
    assert await purge(database, tenant) == []


async def test_what_lives_and_what_was_deleted_lately_stays(
    database: Database, tenant: TenantId, daemon_connection: Connection
) -> None:
    alive, dead = page(daemon_connection, "Alive"), page(daemon_connection, "Dead")
    delete(daemon_connection, dead)
    add_mirror(daemon_connection, acknowledged=seq(daemon_connection))
    assert await purge(database, tenant) == []
    assert await purge(database, tenant, timedelta(0)) == [dead]
    assert is_there(daemon_connection, alive)


async def test_a_folder_goes_after_what_was_in_it(
    database: Database, tenant: TenantId, daemon_connection: Connection
) -> None:
    folder = add_folder(daemon_connection, name="Folder", name_key="folder")
    inside = page(daemon_connection, "Inside", folder)
    picture = add_attachment(daemon_connection, parent_id=inside)
    for entry, table in ((picture, "attachment"), (inside, "page"), (folder, "page")):
        bury(daemon_connection, entry, table)
    add_mirror(daemon_connection, acknowledged=seq(daemon_connection))
    purged = await purge(database, tenant)
    assert purged.index(picture) < purged.index(inside) < purged.index(folder)


async def test_an_id_that_is_used_again_is_not_purged_any_more(
    database: Database, tenant: TenantId, daemon_connection: Connection
) -> None:
    entry = page(daemon_connection)
    bury(daemon_connection, entry)
    add_mirror(daemon_connection, acknowledged=seq(daemon_connection))
    await purge(database, tenant)
    text = {"markdown": "anew\n", "digest": digest_of(b"anew\n")}
    add(daemon_connection, "page", id=entry, name="Page", name_key="page", title="Page", **text)
    query = "SELECT purged_seq = seq FROM mirrord.entry_feed WHERE entry_id = %s"
    assert value(daemon_connection, query, entry) is False


@pytest.fixture
def mirrord(fresh_dsn: str, tmp_path: Path) -> Iterator[Mirrord]:
    """A daemon of this test's own."""
    with Near(tmp_path, tenant="away", dsn=fresh_dsn) as installation:
        yield installation


async def test_a_mirror_that_was_away_longer_brings_no_deleted_page_back_and_loses_no_edit(mirrord: Mirrord) -> None:
    names = ("Deleted.md", "Edited.md", "Folder/Deep.md", "Kept/Deep.md", "Alive.md", "Absent.md")
    for name in names:
        save(mirrord.file(name), f"{name}\n")
    mirrord.up()
    eventually(lambda: all(map(mirrord.page, names)), "a row of each")
    look_everywhere(mirrord)
    mirrord.stop()
    assert mirrord.dsn is not None
    await _forget(mirrord.dsn, ("Deleted", "Edited", "Deep", "Folder", "Kept"))
    save(mirrord.file("Edited.md"), "an edit nobody else has\n")
    save(mirrord.file("Kept/Deep.md"), "another\n")
    mirrord.file("Absent.md").unlink()

    mirrord.up()
    assert mirrord.wait_event("mirror_opened")["adopting"] is True
    eventually(lambda: mirrord.text("Deleted.md") is None, "the deleted page's file to go")
    eventually(lambda: not mirrord.file("Folder").exists(), "the deleted folder to go")
    eventually(lambda: mirrord.page("Edited.md"), "the edited page to live again")
    eventually(lambda: mirrord.page("Kept/Deep.md"), "the edited page in a folder to live again")
    look_everywhere(mirrord)
    assert mirrord.text("Edited.md") == "an edit nobody else has\n"
    assert mirrord.text("Absent.md") == "Absent.md\n"
    assert mirrord.page("Deleted.md") is None
    trash = mirrord.root / ".mirrord/trash"
    assert b"Deleted.md\n" in [file.read_bytes() for file in trash.iterdir()]
    assert mirrord.check() == {}


async def _forget(dsn: str, names: tuple[str, ...]) -> None:
    """What happens to pages of these names, and to the tenant's mirrors, in 401 days without this mirror."""
    with psycopg.connect(dsn, autocommit=True) as admin:
        tenant = value(admin, "SELECT id FROM mirrord.tenant")
    daemon_info = conninfo_to_dict(daemon_dsn(dsn))
    options = f"{daemon_info['options']} -c mirrord.tenant={tenant}"
    with psycopg.connect(make_conninfo("", **{**daemon_info, "options": options}), autocommit=True) as daemon:
        daemon.execute("DELETE FROM mirrord.page WHERE name = ANY (%s)", [list(names)])
        daemon.execute(f"UPDATE mirrord.page SET deleted_at = {LONG_AGO} WHERE deleted_at IS NOT NULL".encode())
        daemon.execute(f"UPDATE mirrord.mirror SET expires_at = {LONG_AGO}".encode())
        add_mirror(daemon, acknowledged=seq(daemon))
        async with Database(dsn, size=1) as database:
            assert len(await purge(database, TenantId(tenant))) == len(names) + 1
        change(daemon, value(daemon, "SELECT id FROM mirrord.page WHERE name = 'Alive'"), icon="x")
