"""The end of texts of earlier versions, on a real Postgres: the rule is kept, and what something needs stays."""

import asyncio
import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from psycopg.types.json import Jsonb

from mirrord.db import tenant_rows
from mirrord.db.content import derived_rows, entry_versions
from mirrord.db.content.history_purge import BATCH_VERSIONS, load_cost
from mirrord.db.database import Database, daemon_dsn
from mirrord.domain.entry import Actor, Digest, EntryId, TenantId, digest_of
from mirrord.domain.history_rule import HistoryCost, HistoryRule
from mirrord.operations.undo import UndoRequest, preview_undo
from mirrord.operations.undo_plan import REMOVED
from tests.support.change_sets import AGENT
from tests.support.entries import add, add_page, change, value
from tests.support.laws import scale_examples
from tests.support.removed_texts import connect_clock, let_days_pass, purge_texts
from tests.support.rows import Connection

PERSON = Actor("human", "ada")
PAGES = 2
FIRST_VERSIONS = 4  # of each page, before anything else happens
_numbers = itertools.count(1)

days = st.integers(1, 3)
pages = st.integers(0, PAGES - 1)
texts = st.sampled_from(["", "one\n", "one\n\ntwo\n", "two\n\nthree\n", "three\n"])
steps = st.one_of(
    st.tuples(st.just("edit"), pages, texts),
    st.tuples(st.just("edit record"), pages, texts),
    st.tuples(st.just("bury"), pages),
    st.tuples(st.just("revive"), pages),
    st.tuples(st.just("wait"), days),
    st.tuples(st.just("agree"), pages, st.integers(0, 4)),
    st.tuples(st.just("conflict"), pages, st.integers(0, 4)),
    st.tuples(st.just("settle")),
    st.tuples(st.just("write events")),
    st.tuples(st.just("agent edits"), st.lists(pages, min_size=1, max_size=3), texts),
    st.tuples(st.just("agent goes on"), st.lists(pages, min_size=1, max_size=3), texts),
    st.tuples(st.just("ask")),
    st.tuples(st.just("decide")),
    st.tuples(st.just("purge"), st.integers(1, 4), st.integers(1, 3)),
)
Key = tuple[str, UUID, int]  # table, entry, version


@dataclass
class Needs:
    """What the model knows: agreed versions, compared versions, change sets with their versions, waiting requests."""

    agreed: dict[UUID, int] = field(default_factory=dict)
    compared: list[tuple[int, UUID, int]] = field(default_factory=list)
    changed: dict[UUID, list[Key]] = field(default_factory=dict)
    waiting: list[UUID] = field(default_factory=list)


class World:
    """The rows of one tenant with times that pass, and the model of what has to be kept."""

    def __init__(self, daemon: Connection, clock: Connection, tenant: TenantId) -> None:
        self.daemon, self.clock, self.tenant, self.needs = daemon, clock, tenant, Needs()
        self.pages = [edited_page(daemon, FIRST_VERSIONS, name) for name in "AB"]
        change(daemon, self.pages[0], **_text("1\n"))  # a text once more
        self.record = add(daemon, "record", kind="category", key="red", **_record("dir: x\n"))
        self.mirror = uuid4()
        daemon.execute("INSERT INTO mirrord.mirror (tenant_id, id) VALUES (%s, %s)", [tenant, self.mirror])

    def apply(self, step: tuple[Any, ...]) -> None:
        """Apply one step but a purge."""
        kind, *arguments = step
        if kind == "wait":
            let_days_pass(self.clock, self.tenant, arguments[0])
        elif kind in ("agent edits", "agent goes on"):
            is_new = kind == "agent edits" or not self.needs.changed
            self._edit_as_agent([self.pages[number] for number in arguments[0]], arguments[1], is_new=is_new)
        elif kind in ("settle", "write events", "ask", "decide"):
            self._end_needs(kind)
        else:
            self._change(kind, self.pages[arguments[0]], arguments)

    def _change(self, kind: str, page: UUID, arguments: list[Any]) -> None:
        if kind == "edit":
            change(self.daemon, page, **_text(arguments[1]))
        elif kind == "edit record":
            change(self.daemon, self.record, "record", **_record(f"dir: {arguments[1].strip() or 'y'!r}\n"))
        elif kind == "bury":
            change(self.daemon, page, deleted_at="now")
        elif kind == "revive":
            change(self.daemon, page, deleted_at=None, name_key="AB"[arguments[0]].lower())
        else:
            version = self._version_with_text(page, arguments[1])
            (self._agree if kind == "agree" else self._clash)(page, version)

    def _end_needs(self, kind: str) -> None:
        """Settle a conflict, write events, ask a person, or have a request decided."""
        if kind == "settle" and self.needs.compared:
            number, _, _ = self.needs.compared.pop()
            self.daemon.execute("UPDATE mirrord.conflict SET resolved_at = now() WHERE id = %s", [number])
        elif kind == "write events":
            self.daemon.execute("DELETE FROM mirrord.event_outbox")
        elif kind == "ask":
            self.needs.waiting.append(self._ask())
        elif kind == "decide" and self.needs.waiting:
            self.clock.execute(
                "UPDATE mirrord.approval SET state = 'rejected' WHERE id = %s", [self.needs.waiting.pop()]
            )

    def _version(self, page: UUID) -> int:
        version: int = value(self.daemon, "SELECT version FROM mirrord.page WHERE id = %s", page)
        return version

    def _version_with_text(self, page: UUID, back: int) -> int:
        """A version some versions before the present one; a later one if its text was removed."""
        query = (
            "SELECT min(version) FROM mirrord.page_revision "
            "WHERE page_id = %s AND version >= %s AND text_removed_at IS NULL"
        )
        version: int = value(self.daemon, query, page, self._version(page) - back)
        return version

    def _agree(self, page: UUID, version: int) -> None:
        self.needs.agreed[page] = version
        self.daemon.execute(
            "INSERT INTO mirrord.mirror_base (tenant_id, mirror_id, entry_id, kind, name, version, digest) "
            "SELECT tenant_id, %s, page_id, 'page', name, version, digest FROM mirrord.page_revision "
            "WHERE page_id = %s AND version = %s ON CONFLICT (tenant_id, mirror_id, entry_id) "
            "DO UPDATE SET version = EXCLUDED.version, digest = EXCLUDED.digest",
            [self.mirror, page, version],
        )

    def _clash(self, page: UUID, version: int) -> None:
        number = value(
            self.daemon,
            "INSERT INTO mirrord.conflict (tenant_id, mirror_id, entry_id, path, row_version) "
            "VALUES (%s, %s, %s, 'A.md', %s) RETURNING id",
            *(self.tenant, self.mirror, page, version),
        )
        self.needs.compared.append((number, page, version))

    def _edit_as_agent(self, entries: list[UUID], text: str, *, is_new: bool) -> None:
        """Edit pages as a new change set, or as one that began before."""
        if is_new:
            change_set = add(self.daemon, "change_set", kind="connection", title="x", actor=Jsonb(AGENT))
        else:
            change_set = next(reversed(self.needs.changed))
        before = {page: self._version(page) for page in entries}
        for number, page in enumerate(entries):
            change(self.daemon, page, **_text(f"{text}{number}\n"))
        stamped = self.daemon.execute(
            "UPDATE mirrord.page_revision AS v SET change_set = %s "
            "FROM unnest(%s::uuid[], %s::bigint[]) AS old (id, last) "
            "WHERE v.page_id = old.id AND v.version > old.last RETURNING v.page_id, v.version",
            [change_set, list(before), list(before.values())],
        ).fetchall()
        self.needs.changed.setdefault(change_set, []).extend(("page", page, version) for page, version in stamped)

    def _ask(self) -> UUID:
        request = uuid4()
        self.daemon.execute(
            "INSERT INTO mirrord.approval (tenant_id, id, mirror_id, command, arguments, arguments_digest, actor, "
            "preview, expires_at, level) "
            "VALUES (%s, %s, %s, 'undo_changes', '{}', '', %s, %s, now() + interval '7 days', 'REQUIRE')",
            [self.tenant, request, self.mirror, Jsonb(AGENT), Jsonb({"summary": "x"})],
        )
        return request

    def versions(self) -> list[tuple[Key, datetime, bytes | None, bool]]:
        """Every version of pages and records: key, time, digest, whether it has its text."""
        rows = self.daemon.execute(
            "SELECT 'page', page_id, version, created_at, digest, text_removed_at IS NULL FROM mirrord.page_revision "
            "UNION ALL SELECT 'record', record_id, version, created_at, digest, text_removed_at IS NULL "
            "FROM mirrord.record_revision ORDER BY 1, 2, 3"
        ).fetchall()
        return [((table, entry, version), *columns) for table, entry, version, *columns in rows]

    def expected(self, rule: HistoryRule, now: datetime) -> set[Key]:
        """The versions that have their text after a purge, counted one by one."""
        assert rule.age is not None
        requests = self.daemon.execute("SELECT requested_at FROM mirrord.approval WHERE state = 'pending'").fetchall()
        moment = min([now, *(requested_at for (requested_at,) in requests)])
        since, versions = moment - rule.age, self.versions()
        times = {key: created_at for key, created_at, _, _ in versions}
        needed = self._needed(versions, times, since)
        expected: set[Key] = set()
        for key, _, _, has_text in versions:
            table, entry, number = key
            later = [
                created_at
                for (other, of, version), created_at in times.items()
                if (other, of) == key[:2] and version > number
            ]
            replaced_at = times.get((table, entry, number + 1))
            is_newest = sum(created_at <= moment for created_at in later) < rule.newest
            if has_text and (replaced_at is None or replaced_at >= since or is_newest or key in needed):
                expected.add(key)
        return expected

    def _needed(
        self, versions: list[tuple[Key, datetime, bytes | None, bool]], times: dict[Key, datetime], since: datetime
    ) -> set[Key]:
        digests = {key: digest for key, _, digest, _ in versions}
        needed = {("page", page, version) for _, page, version in self.needs.compared}
        for page, version in self.needs.agreed.items():
            agreed = digests["page", page, version]
            needed |= {key for key in digests if key[:2] == ("page", page) and digests[key] == agreed}
        for table, entry, version in self.daemon.execute("SELECT kind, entry_id, version FROM mirrord.event_outbox"):
            needed |= {key for key in digests if key[:2] == (table, entry) and key[2] >= version - 1}
        for changed in self.needs.changed.values():
            if any(times[key] >= since for key in changed):
                for page in {entry for _, entry, _ in changed}:
                    first = min(version for _, entry, version in changed if entry == page)
                    needed |= {key for key in digests if key[:2] == ("page", page) and key[2] >= first - 1}
        return needed


def _text(text: str) -> dict[str, Any]:
    return {"markdown": text, "digest": digest_of(text.encode())}


def _record(text: str) -> dict[str, Any]:
    return {"text": text, "digest": digest_of(text.encode()), "data": Jsonb({"dir": text[5:].strip().strip("'")})}


@pytest.fixture(scope="module")
def daemon(module_dsn: str) -> Iterator[Connection]:
    with psycopg.connect(daemon_dsn(module_dsn), autocommit=True) as connection:
        connection.execute("SET mirrord.cascade = 'off'")
        yield connection


@pytest.fixture(scope="module")
def clock(module_dsn: str) -> Iterator[Connection]:
    with connect_clock(module_dsn) as connection:
        yield connection


async def make_tenant(dsn: str) -> TenantId:
    async with Database(dsn, size=1) as database:
        return await tenant_rows.ensure_tenant(database, f"texts-{next(_numbers)}")


async def check_needs(database: Database, world: World, since: datetime) -> None:
    """What merges, conflicts, undos and looks back since a moment need can be read."""
    tenant = world.tenant
    async with database.transaction(tenant) as connection:
        for page, version in world.needs.agreed.items():
            agreed = value(world.daemon, "SELECT digest FROM mirrord.mirror_base WHERE entry_id = %s", page)
            text = await derived_rows.load_text_of_digest(connection, tenant, EntryId(page), Digest(bytes(agreed)))
            assert text is not None, version
        for _, page, version in world.needs.compared:
            await entry_versions.load_text(connection, tenant, EntryId(page), version)
        for moment in (since, since + timedelta(days=1)):
            entries = await entry_versions.load_at_moment(connection, tenant, moment)
            assert [entry for entry in entries if entry.text_removed_at is not None] == []
    recent = world.daemon.execute(
        "SELECT DISTINCT change_set FROM mirrord.page_revision WHERE change_set IS NOT NULL AND created_at >= %s",
        [since],
    ).fetchall()
    for (change_set,) in recent:
        outcome = await preview_undo(database, tenant, UndoRequest(PERSON, str(change_set)))
        assert REMOVED not in {clash.reason for clash in outcome.clashes}


@settings(max_examples=scale_examples(80))
@given(
    phases=st.tuples(*[st.lists(steps, max_size=5)] * 3),
    waits=st.tuples(*[st.integers(1, 2)] * 2),
    last=st.tuples(st.just("purge"), st.integers(1, 3), st.integers(1, 2)),
)
@example(phases=([], [("edit", 0, "")], [("purge", 1, 1)]), waits=(1, 1), last=("purge", 2, 1))
def test_after_any_edits_and_purges_what_is_kept_is_what_the_rule_says_and_nothing_needed_is_gone(
    module_dsn: str,
    daemon: Connection,
    clock: Connection,
    phases: tuple[list[tuple[Any, ...]], ...],
    waits: tuple[int, ...],
    last: tuple[Any, ...],
) -> None:
    async def play() -> None:
        tenant = await make_tenant(module_dsn)
        daemon.execute(f"SET mirrord.tenant = '{tenant}'".encode())
        world = World(daemon, clock, tenant)
        async with Database(module_dsn, size=1) as database:
            first, second, third = phases
            since = datetime.min.replace(tzinfo=UTC)  # a purge with a longer age brings nothing back
            for step in (*first, ("wait", waits[0]), *second, ("wait", waits[1]), *third, last):
                if step[0] != "purge":
                    world.apply(step)
                    continue
                rule = HistoryRule(timedelta(days=step[1]), step[2])
                now = value(daemon, "SELECT clock_timestamp()")
                expected = world.expected(rule, now)
                await purge_texts(database, tenant, rule)
                assert {key for key, _, _, has_text in world.versions() if has_text} == expected
                since = max(since, now - timedelta(days=step[1]))
                await check_needs(database, world, since)

    asyncio.run(play())


DAY = HistoryRule(timedelta(days=1), 1)


def texts_of(daemon: Connection, entry: UUID) -> list[int]:
    """The versions of a page that have their text."""
    query = "SELECT version FROM mirrord.page_revision WHERE page_id = %s AND text_removed_at IS NULL ORDER BY version"
    return [version for (version,) in daemon.execute(query, [entry]).fetchall()]


def edited_page(daemon: Connection, number: int, name: str = "Page") -> UUID:
    """A page of *number* versions."""
    entry = add_page(daemon, name=name, name_key=name.lower(), **_text("1\n"))
    for version in range(2, number + 1):
        change(daemon, entry, **_text(f"{version}\n"))
    return entry


async def test_texts_end_in_batches_and_the_versions_stay(
    database: Database, tenant: TenantId, admin_dsn: str, daemon_connection: Connection
) -> None:
    entry = edited_page(daemon_connection, 2)
    daemon_connection.execute(
        "INSERT INTO mirrord.page_revision (tenant_id, page_id, version, digest, markdown, frontmatter, name, actor) "
        "SELECT tenant_id, page_id, number, digest, markdown, '{}', name, actor "
        "FROM mirrord.page_revision, generate_series(3, 1201) AS number WHERE page_id = %s AND version = 2",
        [entry],
    )
    with connect_clock(admin_dsn) as clock:
        clock.execute("UPDATE mirrord.page SET version = 1201 WHERE id = %s", [entry])
        let_days_pass(clock, tenant, 2)
    before = await costs(database, tenant)
    batches = await purge_texts(database, tenant, DAY)
    assert max(batch.texts for batch in batches) == BATCH_VERSIONS
    assert sum(batch.texts for batch in batches) == 1200
    assert texts_of(daemon_connection, entry) == [1201]
    assert value(daemon_connection, "SELECT count(digest) FROM mirrord.page_revision WHERE page_id = %s", entry) == 1201
    after = await costs(database, tenant)
    assert (before.versions, before.removed, after.versions, after.removed) == (1200, 0, 1200, 1200)
    assert before.size == sum(batch.size for batch in batches)
    assert after.size == 0


async def costs(database: Database, tenant: TenantId) -> HistoryCost:
    async with database.transaction(tenant) as connection:
        return await load_cost(connection, tenant)


async def test_what_is_kept_for_ever_is_not_even_looked_at(
    database: Database, tenant: TenantId, admin_dsn: str, daemon_connection: Connection
) -> None:
    entry = edited_page(daemon_connection, 3)
    with connect_clock(admin_dsn) as clock:
        let_days_pass(clock, tenant, 10_000)
    assert await purge_texts(database, tenant, HistoryRule()) == []
    assert texts_of(daemon_connection, entry) == [1, 2, 3]


async def test_texts_of_another_tenant_stay(
    database: Database, tenant: TenantId, other_tenant: TenantId, admin_dsn: str, daemon_connection: Connection
) -> None:
    entry = edited_page(daemon_connection, 3)
    with connect_clock(admin_dsn) as clock:
        let_days_pass(clock, tenant, 2)
    await purge_texts(database, other_tenant, DAY)
    assert texts_of(daemon_connection, entry) == [1, 2, 3]


async def test_what_events_segments_and_siblings_of_conflicts_compare_with_stays(
    database: Database, tenant: TenantId, admin_dsn: str, daemon_connection: Connection
) -> None:
    noted, coded, sibling, plain = (edited_page(daemon_connection, 5, name) for name in ("A", "B", "C", "D"))
    values = {"tenant": tenant, "mirror": uuid4(), "noted": noted, "coded": coded, "sibling": sibling}
    for statement in (
        "INSERT INTO mirrord.event_outbox (tenant_id, entry_id, version, kind, was_folder, is_folder) "
        "VALUES (%(tenant)s, %(noted)s, 4, 'page', false, true)",
        "INSERT INTO mirrord.segment_anchor (tenant_id, page_id, page_version, record_version) "
        "VALUES (%(tenant)s, %(coded)s, 2, 1)",
        "INSERT INTO mirrord.conflict (tenant_id, mirror_id, entry_id, sibling_id, path) "
        "VALUES (%(tenant)s, %(mirror)s, %(noted)s, %(sibling)s, 'A.md')",
    ):
        daemon_connection.execute(statement.encode(), values)
    with connect_clock(admin_dsn) as clock:
        let_days_pass(clock, tenant, 2)
    await purge_texts(database, tenant, DAY)
    entries = (noted, coded, sibling, plain)
    assert [texts_of(daemon_connection, entry) for entry in entries] == [[3, 4, 5], [2, 5], [1, 5], [5]]

    for table in ("event_outbox", "segment_anchor", "conflict"):
        daemon_connection.execute(f"DELETE FROM mirrord.{table}".encode())
    await purge_texts(database, tenant, DAY)
    assert [texts_of(daemon_connection, entry) for entry in entries] == [[5]] * 4
