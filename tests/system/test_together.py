"""Texts of many pages written in one statement are what they are one by one."""

from uuid import UUID, uuid4

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
from tests.support.entries import history, row_of
from tests.support.rows import Connection

TEXTS = (
    PageValues("---\ntitle: Called\n---\nnew\n", "Called", "🌱", "a5", {"title": "Called", "n": [1, None]}),
    PageValues("plain \\ “quoted”\n"),
    PageValues(""),
    PageValues("too late\n"),
)
LATE = 3  # of these: the version it expects is not there
VARY = {"id", "page_id", "updated_at", "written_at", "created_at", "op_id"}
BASES = "SELECT kind, version, digest, claimed, saved FROM mirrord.mirror_base WHERE entry_id = %s"


def base(entry: EntryId, text: str) -> Base:
    return Base(entry, Kind.PAGE, f"{entry}.md", Place(None, str(entry)), 0, digest_of(text.encode()), str(entry))


def edit(writer: StatementBuilder, entry: EntryId, number: int) -> Statement:
    text = TEXTS[number].markdown or ""
    operation = operation_id(writer.mirror, entry, 1, digest_of(text.encode()))
    row = Row(entry, Kind.PAGE, Place(None, str(entry)), True, 7 if number == LATE else 1, None, deleted=False)
    return writer.update(base(entry, text), row, TEXTS[number], operation)


def shape(app: Connection, entry: EntryId) -> list[dict[str, object]]:
    rows = [row_of(app, UUID(str(entry))), *history(app, UUID(str(entry)))]
    comparable = [{key: "its own" if value == str(entry) else value for key, value in row.items()} for row in rows]
    return [{key: value for key, value in row.items() if key not in VARY} for row in comparable]


async def test_texts_written_together_are_what_they_are_one_by_one(
    database: Database, tenant: TenantId, app_connection: Connection, daemon_connection: Connection
) -> None:
    writer = StatementBuilder(tenant, MirrorId(uuid4()))
    await mirror_leases.record_mirror(database, tenant, writer.mirror, "host", f"/{writer.mirror}")
    apart, together = ([EntryId(uuid4()) for _ in TEXTS] for _ in range(2))
    async with database.transaction(tenant, None, FILE_ACTOR) as connection:
        firsts = [base(entry, "one") for entry in (*apart, *together)]
        await run_statements(
            connection, [writer.insert(first, first.place, first.place.name, PageValues("one")) for first in firsts]
        )
        alone = [await run_statements(connection, [edit(writer, entry, n)]) for n, entry in enumerate(apart)]
        at_once = await run_statements(connection, [edit(writer, entry, n) for n, entry in enumerate(together)])

    assert at_once == [2, 2, 2, None]
    assert [version for versions in alone for version in versions] == at_once
    for single, other in zip(apart, together, strict=True):
        assert shape(app_connection, single) == shape(app_connection, other)
        bases = [daemon_connection.execute(BASES, [entry]).fetchone() for entry in (single, other)]
        assert bases[0] is not None
        assert bases[1] is not None
        assert bases[0][:3] + bases[0][4:] == bases[1][:3] + bases[1][4:]
        assert [bases[0][3], bases[1][3]] == [str(single), str(other)]
