"""
The end of texts of earlier versions: removed after their time, unless something may still need them.

A version itself stays, with its digest, author, time and place: a file with its bytes counts as old for ever
(docs/decisions/0072).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from mirrord.db.database import Connection
from mirrord.domain.entry import EntryId, TenantId
from mirrord.domain.history_rule import HistoryCost, HistoryRule

BATCH_ENTRIES = 200  # entries looked at per statement
BATCH_VERSIONS = 500  # texts removed per statement

# Time stands still while a request waits: what a person is asked about is still there when it is carried out.
_MOMENT = """
SELECT least(clock_timestamp(), (
    SELECT min(requested_at) FROM mirrord.approval
     WHERE tenant_id = %(tenant)s AND (state = 'pending' OR state = 'approved' AND outcome IS NULL)), (
    SELECT min(started_at) FROM mirrord.change_set WHERE tenant_id = %(tenant)s AND state = 'requested'))"""
# Change sets with a version since: an undo of one takes back all of it, also what it changed before.
_UNDOABLE = """
SELECT s.id FROM mirrord.change_set AS s
 WHERE s.tenant_id = %(tenant)s AND (
    EXISTS (SELECT FROM mirrord.page_revision AS v
                WHERE v.change_set = s.id AND v.tenant_id = %(tenant)s AND v.created_at >= %(since)s)
    OR EXISTS (SELECT FROM mirrord.record_revision AS v
                WHERE v.change_set = s.id AND v.tenant_id = %(tenant)s AND v.created_at >= %(since)s)
    OR EXISTS (SELECT FROM mirrord.attachment_revision AS v
                WHERE v.change_set = s.id AND v.tenant_id = %(tenant)s AND v.created_at >= %(since)s))"""
# What needs the text of an entry's version v: merges its base, conflicts what they compare with, events that are not
# written yet the version and the one before, segments the text that they were last held against.
_REMOVE = """
WITH entries AS MATERIALIZED (
    SELECT id FROM mirrord.{table}
     WHERE tenant_id = %(tenant)s AND id > %(after)s AND version > %(newest)s ORDER BY id LIMIT %(entries)s),
numbered AS MATERIALIZED (
    SELECT v.{table}_id AS entry, v.version, v.digest, v.text_removed_at IS NULL AS has_text,
           lead(v.created_at) OVER later < %(since)s
           AND lead(v.created_at, %(newest)s) OVER later <= %(moment)s AS is_past,
           min(v.version) FILTER (WHERE v.change_set = ANY (%(undoable)s)) OVER (PARTITION BY v.{table}_id) AS undoable,
           {size} AS size
      FROM entries JOIN mirrord.{table}_revision AS v ON v.tenant_id = %(tenant)s AND v.{table}_id = entries.id
    WINDOW later AS (PARTITION BY v.{table}_id ORDER BY v.version)),
due AS MATERIALIZED (
    SELECT v.entry, v.version, v.size FROM numbered AS v
     WHERE v.has_text AND v.is_past AND (v.undoable IS NULL OR v.version < v.undoable - 1)
       AND NOT EXISTS (
        SELECT FROM mirrord.mirror AS m JOIN mirrord.mirror_base AS b
            ON b.tenant_id = m.tenant_id AND b.mirror_id = m.id AND b.entry_id = v.entry
         WHERE m.tenant_id = %(tenant)s AND (v.version IN (b.version, b.saved) OR v.digest = b.digest))
       AND NOT EXISTS (
        SELECT FROM mirrord.conflict AS c
         WHERE c.tenant_id = %(tenant)s AND c.entry_id = v.entry AND c.row_version = v.version
           AND c.resolved_at IS NULL)
       AND NOT EXISTS (
        SELECT FROM mirrord.conflict AS c
         WHERE c.tenant_id = %(tenant)s AND c.sibling_id = v.entry AND c.resolved_at IS NULL AND v.version = 1)
       AND NOT EXISTS (
        SELECT FROM mirrord.event_outbox AS o
         WHERE o.tenant_id = %(tenant)s AND o.entry_id = v.entry AND v.version >= o.version - 1)
       AND NOT EXISTS (
        SELECT FROM mirrord.segment_anchor AS a
         WHERE a.tenant_id = %(tenant)s AND a.page_id = v.entry AND a.page_version = v.version)
     ORDER BY v.entry, v.version LIMIT %(versions)s),
removed AS (
    UPDATE mirrord.{table}_revision AS v SET {columns}, text_removed_at = statement_timestamp()
      FROM due WHERE v.tenant_id = %(tenant)s AND v.{table}_id = due.entry AND v.version = due.version)
SELECT count(*), coalesce(sum(size), 0), (SELECT id FROM entries ORDER BY id DESC LIMIT 1) FROM due"""
_COLUMNS = {"page": ("markdown", "frontmatter", "views"), "record": ("text", "data")}  # removed
_COST = """
SELECT count(*), count(*) FILTER (WHERE v.text_removed_at IS NOT NULL), coalesce(sum({size}), 0)
  FROM mirrord.{table} AS now JOIN mirrord.{table}_revision AS v
    ON v.tenant_id = now.tenant_id AND v.{table}_id = now.id AND v.version < now.version
 WHERE now.tenant_id = %(tenant)s"""


@dataclass(frozen=True, slots=True)
class RemovalRun:
    """
    What one run over a tenant removes: texts of versions that were replaced before *since*, by *newest* versions at
    *moment*, the time of the run or of the oldest request that waits. undoable: change sets that can still be undone.
    """

    moment: datetime
    since: datetime
    newest: int
    undoable: Sequence[UUID]


@dataclass(frozen=True, slots=True)
class RemovedBatch:
    """A batch. size: bytes as stored. next_after: go on behind this entry; None: nothing is left."""

    texts: int
    size: int
    next_after: EntryId | None


async def begin_removal(connection: Connection, tenant: TenantId, rule: HistoryRule) -> RemovalRun | None:
    """The run that applies *rule* now; None: texts are kept for ever."""
    if rule.age is None:
        return None
    row = await (await connection.execute(_MOMENT, {"tenant": tenant})).fetchone()
    assert row is not None
    since = row[0] - rule.age
    change_sets = await (await connection.execute(_UNDOABLE, {"tenant": tenant, "since": since})).fetchall()
    return RemovalRun(row[0], since, rule.newest, [change_set for (change_set,) in change_sets])


async def remove_batch(
    connection: Connection, tenant: TenantId, run: RemovalRun, table: str, after: EntryId
) -> RemovedBatch:
    """Remove the texts past their time of the next entries of *table*, page or record, behind *after*."""
    columns = _COLUMNS[table]
    statement = _REMOVE.format(
        table=table, size=_size_sql(table), columns=", ".join(f"{column} = NULL" for column in columns)
    )
    values = {"tenant": tenant, "after": after, "entries": BATCH_ENTRIES, "versions": BATCH_VERSIONS}
    rule = {"moment": run.moment, "since": run.since, "newest": run.newest, "undoable": list(run.undoable)}
    row = await (await connection.execute(statement.encode(), values | rule)).fetchone()
    assert row is not None
    texts, size, last = row
    is_full = texts == BATCH_VERSIONS  # the same entries may have more
    return RemovedBatch(texts, size, after if is_full else last)


def _size_sql(table: str) -> str:
    """The bytes that the text of version v takes, as stored."""
    return " + ".join(f"coalesce(pg_column_size(v.{column}), 0)" for column in _COLUMNS[table])


async def load_cost(connection: Connection, tenant: TenantId) -> HistoryCost:
    """What the earlier versions of a tenant cost. Reads a row of each, and no text."""
    totals = [0, 0, 0]
    for table in _COLUMNS:
        statement = _COST.format(table=table, size=_size_sql(table))
        row = await (await connection.execute(statement.encode(), {"tenant": tenant})).fetchone()
        assert row is not None
        totals = [total + int(part) for total, part in zip(totals, row, strict=True)]
    return HistoryCost(*totals)
