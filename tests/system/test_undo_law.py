"""The law of undo, on a real Postgres: changes and their undo leave the rows as they were, and its undo redoes them."""

import asyncio
import itertools
from collections.abc import Iterator
from contextlib import suppress
from typing import Any
from uuid import UUID

import psycopg
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from psycopg.types.json import Jsonb

from mirrord.db import tenant_rows
from mirrord.db.database import Database, daemon_dsn
from mirrord.domain.entry import Actor, TenantId, digest_of
from mirrord.operations.undo import UndoOutcome, UndoRequest, undo
from tests.support.change_sets import AGENT
from tests.support.entries import add, add_attachment, add_folder, add_page, change, value
from tests.support.laws import scale_examples
from tests.support.rows import Connection

PERSON = Actor("human", "ada")
_numbers = itertools.count(1)

numbers = st.integers(0, 5)
names = st.sampled_from(["A", "B", "C", "D"])
texts = st.sampled_from(["", "one\n", "one\n\ntwo\n", "two\n\nthree\n"])
steps = st.one_of(
    st.tuples(st.just("edit"), numbers, texts),
    st.tuples(st.just("move"), numbers, numbers, names),
    st.tuples(st.just("bury"), numbers),
    st.tuples(st.just("revive"), numbers),
    st.tuples(st.just("create"), numbers, names, texts),
    st.tuples(st.just("make folder"), numbers, names),
    st.tuples(st.just("attach"), numbers, texts),
    st.tuples(st.just("detach"), numbers),
    st.tuples(st.just("write record"), numbers, texts),
)


class Rows:
    """The rows of one tenant, and changes to them as the engine takes them in from files."""

    def __init__(self, daemon: Connection) -> None:
        self._daemon = daemon
        folders = [add_folder(daemon, **_named(name)) for name in ("F", "G")]
        inside = [add_page(daemon, **_named(name), **_text("one\n"), parent_id=folders[0]) for name in ("A", "B")]
        outside = [add_page(daemon, **_named(name), **_text("one\n\ntwo\n")) for name in ("A", "C")]
        self.pages: list[UUID] = [*folders, *inside, *outside]
        self.attachments = [add_attachment(daemon, parent_id=page, name_key="a.png") for page in inside]
        self.records = [add(daemon, "record", kind="category", key="red", **_record("dir: x\n"))]

    def apply(self, step: tuple[Any, ...]) -> None:
        """Apply one step; what the rows refuse, such as a name that is taken, has no effect."""
        kind, number, *arguments = step
        page, daemon = self.pages[number % len(self.pages)], self._daemon
        with suppress(psycopg.errors.IntegrityError):
            if kind == "edit" and value(daemon, "SELECT kind FROM mirrord.page WHERE id = %s", page) == "page":
                change(daemon, page, **_text(arguments[0]))
            elif kind == "move":
                parent = self.pages[arguments[0] % 2] if arguments[0] < 4 else None
                if page != parent and page not in self.pages[:2]:
                    change(daemon, page, parent_id=parent, **_named(arguments[1]))
            elif kind == "bury":
                change(daemon, page, deleted_at="now")
            elif kind == "revive":
                name = value(daemon, "SELECT lower(name) FROM mirrord.page WHERE id = %s", page)
                change(daemon, page, deleted_at=None, name_key=name)
            elif kind == "create":
                self.pages.append(
                    add_page(daemon, parent_id=self.pages[number % 2], **_named(arguments[0]), **_text(arguments[1]))
                )
            elif kind == "make folder":
                self.pages.append(add_folder(daemon, parent_id=self.pages[number % 2], **_named(arguments[0])))
            else:
                self._apply_to_others(kind, number, arguments)

    def _apply_to_others(self, kind: str, number: int, arguments: list[Any]) -> None:
        attachment = self.attachments[number % len(self.attachments)]
        if kind == "attach":
            change(
                self._daemon, attachment, "attachment", digest=digest_of(arguments[0].encode()), size=len(arguments[0])
            )
        elif kind == "detach":
            change(self._daemon, attachment, "attachment", deleted_at="now")
        else:
            change(self._daemon, self.records[0], "record", **_record(f"dir: {arguments[0].strip() or 'y'!r}\n"))

    def place(self) -> None:
        """Name what triggers restored, as the daemon does."""
        for table in ("page", "attachment"):
            query = f"UPDATE mirrord.{table} SET name_key = lower(name) WHERE name_key IS NULL AND deleted_at IS NULL"
            self._daemon.execute(query.encode())

    def state(self) -> list[list[Any]]:
        """Every living row without its version and times."""
        self.place()
        columns = {
            "page": "id, parent_id, kind, name, name_key, title, markdown, digest",
            "attachment": "id, parent_id, name, name_key, digest, size",
            "record": "id, kind, key, text, data, digest",
        }
        queries = [
            f"SELECT {names} FROM mirrord.{table} WHERE deleted_at IS NULL ORDER BY id"
            for table, names in columns.items()
        ]
        return [self._daemon.execute(query.encode()).fetchall() for query in queries]

    def begin(self) -> Any:
        """The moment now, for stamp()."""
        return value(self._daemon, "SELECT clock_timestamp()")

    def stamp(self, since: Any) -> UUID:
        """Give the versions since a moment a change set of an agent."""
        change_set = add(self._daemon, "change_set", kind="connection", title="x", actor=Jsonb(AGENT))
        for table in ("page", "attachment", "record"):
            query = f"UPDATE mirrord.{table}_revision SET change_set = %s WHERE created_at > %s"
            self._daemon.execute(query.encode(), [change_set, since])
        return change_set


def _named(name: str) -> dict[str, Any]:
    return {"name": name, "name_key": name.lower(), "title": name}


def _text(text: str) -> dict[str, Any]:
    return {"markdown": text, "digest": digest_of(text.encode())}


def _record(text: str) -> dict[str, Any]:
    return {"text": text, "digest": digest_of(text.encode()), "data": Jsonb({"dir": text[5:].strip().strip("'")})}


@pytest.fixture(scope="module")
def daemon(module_dsn: str) -> Iterator[Connection]:
    with psycopg.connect(daemon_dsn(module_dsn), autocommit=True) as connection:
        connection.execute("SET mirrord.cascade = 'off'")
        connection.execute("""SET mirrord.actor = '{"kind": "agent", "name": "researcher"}'""")
        yield connection


async def _make_tenant(dsn: str) -> TenantId:
    async with Database(dsn, size=1) as database:
        return await tenant_rows.ensure_tenant(database, f"law-{next(_numbers)}")


async def _undo(dsn: str, tenant: TenantId, change_set: UUID) -> UndoOutcome:
    async with Database(dsn, size=1) as database:
        return await undo(database, tenant, UndoRequest(PERSON, str(change_set)))


@settings(max_examples=scale_examples(40))
@given(changes=st.lists(steps, min_size=1, max_size=8))
def test_changes_and_their_undo_are_nothing_and_the_undo_of_that_is_a_redo(
    module_dsn: str, daemon: Connection, changes: list[tuple[Any, ...]]
) -> None:
    tenant = asyncio.run(_make_tenant(module_dsn))
    daemon.execute(f"SET mirrord.tenant = '{tenant}'".encode())
    rows = Rows(daemon)
    before, moment = rows.state(), rows.begin()
    for step in changes:
        rows.apply(step)
        rows.place()
    changed, change_set = rows.state(), rows.stamp(moment)
    if changed == before:
        return
    undone = asyncio.run(_undo(module_dsn, tenant, change_set))
    assert (undone.clashes, rows.state()) == ([], before)
    assert undone.change_set is not None
    redone = asyncio.run(_undo(module_dsn, tenant, undone.change_set))
    assert (redone.clashes, rows.state()) == ([], changed)
