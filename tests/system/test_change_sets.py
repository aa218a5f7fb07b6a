"""Change sets in rows: apps read them and ask for an undo, and the event of a command gives its version to one."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest
from psycopg import sql
from psycopg.types.json import Jsonb

from mirrord.domain.entry import TenantId, digest_of
from tests.support.entries import add, add_attachment, add_folder, add_page, change, value
from tests.support.rows import Connection

AGENT = {"kind": "agent", "name": "researcher"}
SOMEONE = {"kind": "human", "name": "file"}
TOLD = {**AGENT, "channel": "file"}


@contextmanager
def _written_by(connection: Connection, actor: dict[str, str] | None = None) -> Iterator[None]:
    """What comes from files, or from an *actor*."""
    connection.execute(sql.SQL("SET mirrord.actor = {}").format(sql.Literal(json.dumps(actor or SOMEONE))))
    yield
    connection.execute("RESET mirrord.actor")


def _write(daemon: Connection, text: str, page: UUID | None = None, **columns: Any) -> UUID:
    """A text that the engine takes in from a file."""
    columns |= {"markdown": text, "digest": digest_of(text.encode())}
    with _written_by(daemon):
        if page is None:
            return add_page(daemon, **columns)
        change(daemon, page, **columns)
    return page


def _take_in(daemon: Connection, entry: UUID, table: str = "page", /, **columns: Any) -> None:
    with _written_by(daemon):
        change(daemon, entry, table, **columns)


def _begin(daemon: Connection, **columns: Any) -> UUID:
    return add(daemon, "change_set", **({"kind": "connection", "title": "a", "actor": Jsonb(AGENT)} | columns))


def _tell(daemon: Connection, kind: str, seconds: float = 0.0, /, **data: object) -> bool:
    """Whether the event names an author now."""
    happened = datetime.now(UTC) + timedelta(seconds=seconds)
    facts = {key: str(fact) for key, fact in data.items()}
    event = add(daemon, "event", type=kind, actor=Jsonb(AGENT), channel="file", data=Jsonb(facts), occurred_at=happened)
    return bool(value(daemon, "SELECT mirrord.name_author(mirrord.current_tenant(), %s)", event))


def _authors(daemon: Connection, entry: UUID, table: str = "page") -> list[tuple[Any, ...]]:
    """The author and the change set of each version, the oldest first."""
    query = "SELECT actor, change_set FROM mirrord.{0}_revision WHERE {0}_id = %s ORDER BY version"
    return daemon.execute(query.format(table).encode(), [entry]).fetchall()


def test_an_app_reads_change_sets_and_writes_none(daemon_connection: Connection, app_connection: Connection) -> None:
    change_set = _begin(daemon_connection)
    assert value(app_connection, "SELECT id FROM change_set") == change_set
    for statement in (
        "INSERT INTO change_set (kind, title, actor) VALUES ('draft', 'x', '{}')",
        "UPDATE change_set SET title = 'x'",
        "DELETE FROM change_set",
        "UPDATE page_revision SET change_set = NULL",
        "SELECT mirrord.name_author(mirrord.current_tenant(), gen_random_uuid())",
    ):
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            app_connection.execute(statement.encode())


def test_a_setting_of_an_app_puts_no_version_into_a_change_set(
    daemon_connection: Connection, app_connection: Connection
) -> None:
    change_set = _begin(daemon_connection)
    app_connection.execute(f"SET mirrord.change_set = '{change_set}'".encode())
    page = add_page(app_connection)
    assert _authors(daemon_connection, page)[0][1] is None


def test_an_app_asks_for_an_undo_as_its_own_actor(daemon_connection: Connection, app_connection: Connection) -> None:
    change_set = _begin(daemon_connection, title="Tidy up")
    app_connection.execute("""SET mirrord.actor = '{"kind": "human", "name": "Ada"}'""")
    request = value(app_connection, "SELECT mirrord.undo_change_set(%s, true)", change_set)
    query = "SELECT kind, title, undoes, partial, state, actor ->> 'name' FROM change_set WHERE id = %s"
    row = app_connection.execute(query, [request]).fetchone()
    assert row == ("undo", "Undo of Tidy up", change_set, True, "requested", "Ada")


def test_an_undo_of_an_unknown_change_set_is_refused(app_connection: Connection) -> None:
    with pytest.raises(psycopg.errors.NoDataFound, match="there is no change set"):
        app_connection.execute("SELECT mirrord.undo_change_set(gen_random_uuid())")


def test_another_tenants_change_set_is_unknown(
    daemon_connection: Connection, app_connection: Connection, other_tenant: TenantId
) -> None:
    change_set = _begin(daemon_connection)
    app_connection.execute(f"SET mirrord.tenant = '{other_tenant}'".encode())
    assert value(app_connection, "SELECT count(*) FROM change_set") == 0
    with pytest.raises(psycopg.errors.NoDataFound):
        app_connection.execute("SELECT mirrord.undo_change_set(%s)", [change_set])


def test_a_text_belongs_to_the_change_set_of_its_event(daemon_connection: Connection) -> None:
    daemon, change_set = daemon_connection, _begin(daemon_connection)
    page = _write(daemon, "one")
    assert _tell(daemon, "PageCreated", page_id=page, digest=digest_of(b"one").hex(), change_set=change_set)
    assert _authors(daemon, page) == [(TOLD, change_set)]
    assert value(daemon, "SELECT updated_by FROM mirrord.page WHERE id = %s", page) == TOLD


def test_an_event_names_nobody_until_its_version_exists(daemon_connection: Connection) -> None:
    daemon, change_set = daemon_connection, _begin(daemon_connection)
    page, digest = _write(daemon, "one"), digest_of(b"two").hex()
    facts = {"page_id": page, "digest": digest, "change_set": change_set}
    assert not _tell(daemon, "PageWritten", **facts)
    _write(daemon, "two", page)
    assert _tell(daemon, "PageWritten", **facts)
    assert _authors(daemon, page) == [(SOMEONE, None), (TOLD, change_set)]


def test_a_person_keeps_the_name_of_an_edit_in_between(daemon_connection: Connection) -> None:
    daemon, change_set = daemon_connection, _begin(daemon_connection)
    page = _write(daemon, "one")
    _write(daemon, "by a person", page)
    _write(daemon, "three", page)
    for text in (b"one", b"three"):
        _tell(daemon, "PageWritten", page_id=page, digest=digest_of(text).hex(), change_set=change_set)
    assert _authors(daemon, page) == [(TOLD, change_set), (SOMEONE, None), (TOLD, change_set)]


def test_a_move_belongs_to_the_agent_and_the_text_before_it_does_not(daemon_connection: Connection) -> None:
    daemon, change_set = daemon_connection, _begin(daemon_connection)
    page = _write(daemon, "one", name="Old", name_key="old")
    _take_in(daemon, page, name="New")
    facts = {"page_id": page, "digest": digest_of(b"one").hex(), "old_path": "Old.md", "path": "New.md"}
    assert _tell(daemon, "PageMoved", **facts, change_set=change_set)
    assert _authors(daemon, page) == [(SOMEONE, None), (TOLD, change_set)]


def test_a_move_with_a_new_text_gives_both_versions_their_author(daemon_connection: Connection) -> None:
    daemon, change_set = daemon_connection, _begin(daemon_connection)
    page = _write(daemon, "one", name="Old", name_key="old")
    _take_in(daemon, page, name="New")
    _write(daemon, "two", page)
    facts = {"page_id": page, "digest": digest_of(b"two").hex(), "old_path": "Old.md", "path": "New/_index.md"}
    assert _tell(daemon, "PageMoved", **facts, change_set=change_set)
    assert _authors(daemon, page)[1:] == [(TOLD, change_set), (TOLD, change_set)]


def test_a_move_elsewhere_by_a_person_keeps_their_name(daemon_connection: Connection) -> None:
    daemon = daemon_connection
    page = _write(daemon, "one", name="Old", name_key="old")
    _take_in(daemon, page, name="Theirs")
    assert not _tell(daemon, "PageMoved", page_id=page, old_path="Old.md", path="Mine.md")
    assert _authors(daemon, page) == [(SOMEONE, None)] * 2


def test_what_a_person_did_long_before_the_event_stays_theirs(daemon_connection: Connection) -> None:
    page = _write(daemon_connection, "one")
    digest = digest_of(b"one").hex()
    assert not _tell(daemon_connection, "PageWritten", 60.0, page_id=page, digest=digest)


def test_a_deletion_takes_what_the_folder_held_along(daemon_connection: Connection) -> None:
    daemon, change_set = daemon_connection, _begin(daemon_connection)
    with _written_by(daemon):
        folder = add_folder(daemon)
        inner = add_folder(daemon, name="Inner", parent_id=folder)
        picture = add_attachment(daemon, parent_id=inner)
        other = add_attachment(daemon, parent_id=inner, name="by an app.png")
        segments = add(daemon, "record", kind="segment", key=str(folder), data=Jsonb({}), text="{}")
    with _written_by(daemon, {"kind": "app", "name": "editor"}):
        change(daemon, other, "attachment", deleted_at="now")
    with _written_by(daemon):
        for entry, table in ((picture, "attachment"), (segments, "record"), (inner, "page"), (folder, "page")):
            change(daemon, entry, table, deleted_at="now")
    assert _tell(daemon, "PageDeleted", page_id=folder, path="Folder", change_set=change_set)
    for entry, table in ((picture, "attachment"), (segments, "record"), (inner, "page"), (folder, "page")):
        assert _authors(daemon, entry, table)[1:] == [(TOLD, change_set)]
    assert _authors(daemon, other, "attachment")[1] == ({"kind": "app", "name": "editor"}, None)


def test_attachments_and_records_belong_to_the_change_set_of_their_events(daemon_connection: Connection) -> None:
    daemon, change_set = daemon_connection, _begin(daemon_connection)
    page, digest = _write(daemon, "one"), digest_of(b"dir: x\n")
    with _written_by(daemon):
        picture = add_attachment(daemon, parent_id=page)
        record = add(daemon, "record", kind="category", key="red", data=Jsonb({}), text="dir: x\n", digest=digest)
        change(daemon, record, "record", deleted_at="now")
    facts = {"page_id": page, "digest": digest_of(b"x").hex(), "path": "assets/a.png", "change_set": change_set}
    assert _tell(daemon, "AttachmentAdded", **facts)
    assert _tell(daemon, "CategoryAdded", record_id=record, digest=digest.hex(), change_set=change_set)
    assert _tell(daemon, "CategoryRemoved", record_id=record, change_set=change_set)
    assert _authors(daemon, picture, "attachment") == [(TOLD, change_set)]
    assert _authors(daemon, record, "record") == [(TOLD, change_set)] * 2


@pytest.mark.parametrize("case", ["unknown", "of another author", "no uuid"])
def test_an_event_puts_nothing_into_a_change_set_that_is_not_its_authors(
    daemon_connection: Connection, case: str
) -> None:
    other = _begin(daemon_connection, actor=Jsonb({"kind": "agent", "name": "another"}))
    change_set = {"unknown": uuid4(), "of another author": other, "no uuid": "x"}[case]
    page, digest = _write(daemon_connection, "one"), digest_of(b"one").hex()
    assert _tell(daemon_connection, "PageWritten", page_id=page, digest=digest, change_set=change_set)
    assert _authors(daemon_connection, page) == [(TOLD, None)]


@pytest.mark.parametrize("data", [{}, {"page_id": "x"}, {"page_id": uuid4(), "digest": "xyz"}, {"record_id": uuid4()}])
def test_an_event_about_nothing_known_names_nobody(daemon_connection: Connection, data: dict[str, object]) -> None:
    assert not _tell(daemon_connection, "PageWritten", **data)
