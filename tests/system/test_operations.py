"""What a mirror takes in has an id: taking it in twice is refused, and the id stays with its version."""

from pathlib import Path
from uuid import UUID, uuid4

import psycopg
import pytest
from psycopg import errors

from mirrord import app
from mirrord.config import Config
from mirrord.db import mirror_leases
from mirrord.db.content.entry_writes import PageValues, Statement, StatementBuilder, run_statements
from mirrord.db.database import Database
from mirrord.domain.entry import (
    FILE_ACTOR,
    Base,
    EntryId,
    Kind,
    MirrorId,
    Place,
    Row,
    TenantId,
    digest_of,
    operation_id,
)
from mirrord.sync.change_sources import add_missing_versions
from tests.support.entries import change, history, row_of
from tests.support.rows import Connection

MIRROR = MirrorId(UUID(int=7))
UPDATED_VERSIONS = "SELECT pg_stat_get_xact_tuples_updated('mirrord.page_revision'::regclass)"


async def write(database: Database, tenant: TenantId, *statements: Statement) -> list[int | None]:
    async with database.transaction(tenant, None, FILE_ACTOR) as connection:
        return await run_statements(connection, list(statements))


def base(entry: EntryId, text: str) -> Base:
    return Base(entry, Kind.PAGE, f"{entry}.md", Place(None, str(entry)), 0, digest_of(text.encode()), None)


def edit(tenant: TenantId, mirror: MirrorId, entry: EntryId, expected: int, text: str, made_from: int) -> Statement:
    agreed = base(entry, text)
    operation = operation_id(mirror, entry, made_from, agreed.digest)
    row = Row(entry, Kind.PAGE, agreed.place, True, expected, None, deleted=False)
    return StatementBuilder(tenant, mirror).update(agreed, row, PageValues(text), operation)


async def test_a_retry_finds_its_version_gone_and_a_forgery_of_it_is_refused(
    database: Database, tenant: TenantId, app_connection: Connection
) -> None:
    mirror, entry = MirrorId(uuid4()), EntryId(uuid4())
    await mirror_leases.record_mirror(database, tenant, mirror, "host", f"/{mirror}")
    first = base(entry, "one")
    inserted = StatementBuilder(tenant, mirror).insert(first, first.place, first.place.name, PageValues("one"))
    assert await write(database, tenant, inserted) == [1]
    assert await write(database, tenant, edit(tenant, mirror, entry, 1, "two", 1)) == [2]
    assert await write(database, tenant, edit(tenant, mirror, entry, 1, "two", 1)) == [None]
    change(app_connection, UUID(str(entry)), markdown="by an app")
    with pytest.raises(errors.UniqueViolation):
        await write(database, tenant, edit(tenant, mirror, entry, 3, "two", 1))
    assert await write(database, tenant, edit(tenant, mirror, entry, 3, "two", 3)) == [4]
    versions = history(app_connection, UUID(str(entry)))
    operation_ids = [operation_id(mirror, entry, version, digest_of(b"two")) for version in (1, 3)]
    assert [version["op_id"] for version in versions] == [None, operation_ids[0], None, operation_ids[1]]


async def test_a_version_is_stored_once_with_its_operation(database: Database, tenant: TenantId) -> None:
    mirror, entries = MirrorId(uuid4()), [EntryId(uuid4()) for _ in range(3)]
    await mirror_leases.record_mirror(database, tenant, mirror, "host", f"/{mirror}")
    writer = StatementBuilder(tenant, mirror)
    firsts = [base(entry, "one") for entry in entries]
    await write(database, tenant, *(writer.insert(b, b.place, b.place.name, PageValues("one")) for b in firsts))
    async with database.transaction(tenant, None, FILE_ACTOR) as connection:
        edits = [edit(tenant, mirror, entry, 1, "two", 1) for entry in entries]
        assert await run_statements(connection, edits) == [2, 2, 2]
        cursor = await connection.execute(UPDATED_VERSIONS)
        assert await cursor.fetchone() == (0,)
        versions = await connection.execute(
            "SELECT op_id FROM mirrord.page_revision WHERE page_id = ANY (%s) AND version = 2", (entries,)
        )
        operations = {operation_id(mirror, entry, 1, digest_of(b"two")) for entry in entries}
        assert {operation for (operation,) in await versions.fetchall()} == operations


async def test_the_text_that_completes_an_apps_version_gives_it_the_operation(
    database: Database, tenant: TenantId, app_connection: Connection
) -> None:
    mirror, entry = MirrorId(uuid4()), EntryId(uuid4())
    await mirror_leases.record_mirror(database, tenant, mirror, "host", f"/{mirror}")
    first = base(entry, "one")
    inserted = StatementBuilder(tenant, mirror).insert(first, first.place, first.place.name, PageValues("one"))
    await write(database, tenant, inserted)
    change(app_connection, UUID(str(entry)), icon="x")
    assert await write(database, tenant, edit(tenant, mirror, entry, 2, "two", 2)) == [2]
    operation_ids = [version["op_id"] for version in history(app_connection, UUID(str(entry)))]
    assert operation_ids == [None, operation_id(mirror, entry, 2, digest_of(b"two"))]


async def test_an_operation_of_another_mirror_page_version_or_text_is_another() -> None:
    entry, digest = EntryId(uuid4()), digest_of(b"x")
    same = {operation_id(MIRROR, entry, 1, digest) for _ in range(3)}
    others = {
        operation_id(MirrorId(uuid4()), entry, 1, digest),
        operation_id(MIRROR, EntryId(uuid4()), 1, digest),
        operation_id(MIRROR, entry, 2, digest),
        operation_id(MIRROR, entry, 1, digest_of(b"y")),
    }
    assert (len(same), len(others - same)) == (1, 4)


async def test_apps_cannot_give_operations(app_connection: Connection, database: Database, tenant: TenantId) -> None:
    mirror, entry = MirrorId(uuid4()), EntryId(uuid4())
    await mirror_leases.record_mirror(database, tenant, mirror, "host", f"/{mirror}")
    first = base(entry, "one")
    await write(
        database,
        tenant,
        StatementBuilder(tenant, mirror).insert(first, first.place, first.place.name, PageValues("one")),
    )
    with pytest.raises(errors.InsufficientPrivilege):
        change(app_connection, UUID(str(entry)), op_id=uuid4())
    assert row_of(app_connection, UUID(str(entry)))["op_id"] is None


async def test_a_text_written_behind_the_triggers_becomes_a_version_and_the_one_before_stays(
    database: Database, admin_dsn: str, tenant: TenantId, app_connection: Connection, tmp_path: Path
) -> None:
    opened = await app.open_mirror(database, Config(tmp_path, tmp_path), "acme", tenant)
    try:
        forged, other = (EntryId(uuid4()) for _ in range(2))
        for entry in (forged, other):
            first = base(entry, "one\n")
            await write(
                database, tenant, opened.sides.writer.insert(first, first.place, str(entry), PageValues("one\n"))
            )
        assert await add_missing_versions(opened.sides) == 0
        with psycopg.connect(admin_dsn) as admin:
            admin.execute("SET session_replication_role = replica")
            admin.execute("UPDATE mirrord.page SET markdown = %s WHERE id = %s", ["by nobody\n", forged])
        assert await add_missing_versions(opened.sides) == 1
        assert await add_missing_versions(opened.sides) == 0
    finally:
        opened.close()
    versions = history(app_connection, UUID(str(forged)))
    assert [version["markdown"] for version in versions] == ["one\n", "one\n", "by nobody\n"]
    row = row_of(app_connection, UUID(str(forged)))
    assert (row["markdown"], row["digest"], row["version"]) == ("by nobody\n", digest_of(b"by nobody\n"), 3)
    assert len(history(app_connection, UUID(str(other)))) == 1
