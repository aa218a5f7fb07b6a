"""Notes of changes are read in batches; a batch costs what it holds, and not what the tenant holds."""

from uuid import uuid4

from mirrord.db.change_notes import BATCH_CHANGES, load_changed_pages
from mirrord.db.database import Database
from mirrord.domain.entry import MirrorId, TenantId
from tests.support.rows import Connection

FOLDERS = 6_000
PLACE_ALL = "UPDATE mirrord.page SET name_key = mirrord.name_key(name)"  # what mirrord does first with a new row
# Rows of pages and of versions that were read in this transaction, by whatever plan.
READ_ROWS = """
SELECT sum(coalesce(seq_tup_read, 0) + coalesce(idx_tup_fetch, 0))::int FROM pg_stat_xact_user_tables
 WHERE schemaname = 'mirrord' AND relname IN ('page', 'page_revision')"""


async def test_a_batch_of_notes_reads_its_own_pages_only(
    app_connection: Connection, daemon_connection: Connection, database: Database, tenant: TenantId
) -> None:
    app_connection.execute(
        "INSERT INTO mirrord.page (id, kind, name) SELECT gen_random_uuid(), 'folder', 'folder ' || n "
        "FROM generate_series(1, %s) AS n",
        [FOLDERS],
    )
    daemon_connection.execute(PLACE_ALL)
    async with database.transaction(tenant) as connection:
        await connection.execute("SET LOCAL plan_cache_mode = force_generic_plan")  # as of statements in frequent use
        changes = await load_changed_pages(connection, tenant, MirrorId(uuid4()))
        (read_rows,) = await (await connection.execute(READ_ROWS)).fetchone() or (None,)
    assert len(changes) == BATCH_CHANGES
    assert read_rows is not None
    assert read_rows <= 6 * BATCH_CHANGES


async def test_notes_are_read_in_the_order_in_which_they_were_made(
    app_connection: Connection, daemon_connection: Connection, database: Database, tenant: TenantId
) -> None:
    names = [f"folder {number}" for number in range(9)]
    for name in names:
        app_connection.execute("INSERT INTO mirrord.page (kind, name) VALUES ('folder', %s)", [name])
    daemon_connection.execute(PLACE_ALL)
    async with database.transaction(tenant) as connection:
        changes = await load_changed_pages(connection, tenant, MirrorId(uuid4()))
    assert [change.after.name for change in changes] == names
