"""What the triggers make of a page that an app or mirrord writes: views ahead, versions, revisions."""

from uuid import uuid4

import psycopg
import pytest
from psycopg import errors
from psycopg.types.json import Jsonb

from mirrord.domain.entry import digest_of
from tests.support.entries import (
    add,
    add_attachment,
    add_folder,
    add_page,
    change,
    history,
    place,
    render,
    row_of,
    value,
)
from tests.support.rows import Connection

DOCUMENT = Jsonb({"type": "doc", "content": []})


def test_a_new_page_waits_for_its_text_its_name_and_its_id(app_connection: Connection) -> None:
    page = row_of(app_connection, add_page(app_connection, title="Plan", icon="🗺"))
    assert set(page["ahead"]) == {"title", "icon", "id"}
    assert (page["kind"], page["version"]) == ("page", 1)
    assert (page["markdown"], page["digest"], page["name"], page["name_key"]) == (None, None, None, None)


def test_a_new_page_may_be_given_as_a_whole_file(app_connection: Connection) -> None:
    page = row_of(app_connection, add_page(app_connection, title=None, markdown="# Plan\n"))
    assert (page["markdown"], page["digest"], page["ahead"]) == ("# Plan\n", None, ["id"])


def test_a_row_of_kind_folder_waits_for_nothing_but_its_name(app_connection: Connection) -> None:
    folder = row_of(app_connection, add_folder(app_connection))
    assert (folder["kind"], folder["ahead"], folder["name_key"]) == ("folder", [], None)


def test_a_folder_with_text_or_views_is_a_page(app_connection: Connection) -> None:
    assert row_of(app_connection, add_folder(app_connection, title="Work"))["kind"] == "page"
    assert row_of(app_connection, add_folder(app_connection, markdown="text"))["kind"] == "page"
    folder = add_folder(app_connection)
    change(app_connection, folder, markdown="text")
    assert row_of(app_connection, folder)["kind"] == "page"


@pytest.mark.parametrize(
    ("view", "new"),
    [
        ("title", "New"),
        ("icon", "🗺"),
        ("position", "a1"),
        ("frontmatter", Jsonb({"tags": ["x"]})),
        ("content", DOCUMENT),
    ],
)
def test_a_written_view_is_ahead_of_the_text(
    app_connection: Connection, daemon_connection: Connection, view: str, new: object
) -> None:
    page = add_page(app_connection)
    render(daemon_connection, page, "text")
    assert change(app_connection, page, **{view: new}) == 1
    after = row_of(app_connection, page)
    assert (after["ahead"], after["version"], after["markdown"]) == ([view], 2, "text")


def test_views_written_one_after_the_other_are_ahead_together(app_connection: Connection) -> None:
    page = add_page(app_connection, title=None, markdown="text")
    change(app_connection, page, title="New")
    change(app_connection, page, icon="🗺")
    change(app_connection, page, title="Newer")
    assert (row_of(app_connection, page)["ahead"], row_of(app_connection, page)["version"]) == (
        ["icon", "id", "title"],
        4,
    )


def test_writing_what_is_there_already_changes_nothing(app_connection: Connection) -> None:
    page = add_page(app_connection, title="Plan", markdown="text")
    before = row_of(app_connection, page)
    change(app_connection, page, title="Plan", markdown="text", parent_id=None, deleted_at=None)
    assert row_of(app_connection, page) == before
    assert len(history(app_connection, page)) == 1


def test_written_text_makes_what_is_derived_from_it_wait(
    app_connection: Connection, daemon_connection: Connection
) -> None:
    page = add_page(app_connection, content=DOCUMENT)
    render(daemon_connection, page, "text")
    change(app_connection, page, markdown="new text")
    after = row_of(app_connection, page)
    assert (after["content"], after["digest"], after["ahead"], after["version"]) == (None, None, [], 2)


def test_text_and_a_view_in_one_update_are_refused_with_a_sentence(app_connection: Connection) -> None:
    page = add_page(app_connection, markdown="text")
    with pytest.raises(errors.CheckViolation, match=r"either markdown or its views \(title, icon\), not both"):
        change(app_connection, page, markdown="new", title="New", icon="🗺")
    assert row_of(app_connection, page)["version"] == 1


def test_text_and_a_document_in_one_insert_are_refused(app_connection: Connection) -> None:
    with pytest.raises(errors.CheckViolation, match="either markdown or its views"):
        add_page(app_connection, markdown="text", content=DOCUMENT)


def test_text_cannot_be_taken_away(app_connection: Connection) -> None:
    page = add_page(app_connection, markdown="text")
    with pytest.raises(errors.NotNullViolation, match="markdown cannot be set to NULL"):
        change(app_connection, page, markdown=None)


def test_a_document_cannot_be_taken_away(app_connection: Connection) -> None:
    page = add_page(app_connection, content=DOCUMENT)
    change(app_connection, page, content=None)
    after = row_of(app_connection, page)
    assert (after["content"], after["version"]) == (DOCUMENT.obj, 1)


def test_an_app_that_names_the_version_it_read_never_overwrites_another(app_connection: Connection) -> None:
    page = add_page(app_connection)
    write = "UPDATE mirrord.page SET title = %s WHERE id = %s AND version = 1"
    assert app_connection.execute(write, ["mine", page]).rowcount == 1
    assert app_connection.execute(write, ["too late", page]).rowcount == 0


def test_rendering_and_naming_complete_a_write_and_are_no_version_of_their_own(
    app_connection: Connection, daemon_connection: Connection
) -> None:
    page = add_page(app_connection, title="Plan")
    place(daemon_connection, page, "Plan")
    render(daemon_connection, page, "# Plan")
    assert row_of(app_connection, page)["version"] == 1
    (revision,) = history(app_connection, page)
    assert (revision["name"], revision["markdown"]) == ("Plan", "# Plan")
    assert revision["digest"] == digest_of(b"# Plan")
    assert revision["views"]["title"] == "Plan"


def test_every_version_is_one_revision(app_connection: Connection, daemon_connection: Connection) -> None:
    page = add_page(app_connection, title="One")
    render(daemon_connection, page, "one")
    change(app_connection, page, title="Two")
    render(daemon_connection, page, "two")
    change(app_connection, page, markdown="three")
    change(app_connection, page, parent_id=add_folder(app_connection))
    change(app_connection, page, name="Renamed")
    revisions = history(app_connection, page)
    assert [revision["version"] for revision in revisions] == [1, 2, 3, 4, 5]
    assert [revision["markdown"] for revision in revisions] == ["one", "two", "three", "three", "three"]
    assert [revision["parents"] for revision in revisions] == [[], [1], [2], [3], [4]]
    assert revisions[-1]["name"] == "Renamed"
    assert revisions[-2]["parent_id"] is not None


def test_an_overwritten_text_is_still_a_version(app_connection: Connection) -> None:
    page = add_page(app_connection, title=None, markdown="first")
    change(app_connection, page, markdown="second")
    assert [revision["markdown"] for revision in history(app_connection, page)] == ["first", "second"]


def test_mirrords_own_new_text_is_a_new_version(app_connection: Connection, daemon_connection: Connection) -> None:
    page = add_page(app_connection)
    render(daemon_connection, page, "one")
    render(daemon_connection, page, "two")
    assert [revision["markdown"] for revision in history(app_connection, page)] == ["one", "two"]


def test_what_is_derived_from_the_text_is_no_version(app_connection: Connection, daemon_connection: Connection) -> None:
    page = add_page(app_connection)
    place(daemon_connection, page, "Page")
    render(daemon_connection, page, "one")
    change(daemon_connection, page, content=DOCUMENT, title="Derived", icon="🗺", frontmatter=Jsonb({}))
    after = row_of(app_connection, page)
    assert (after["version"], after["ahead"], after["content"]) == (1, [], DOCUMENT.obj)


@pytest.mark.parametrize(("column", "new"), [("name", "Moved"), ("index", True), ("kind", "folder")])
def test_mirrords_own_change_of_place_or_form_is_a_new_version(
    app_connection: Connection, daemon_connection: Connection, column: str, new: object
) -> None:
    page = add_page(app_connection)
    place(daemon_connection, page, "Page")
    render(daemon_connection, page, "one")
    change(daemon_connection, page, **{column: new})
    assert row_of(app_connection, page)["version"] == 2


def test_a_revision_says_who_wrote_from_what_and_in_which_operation(app_connection: Connection) -> None:
    page, operation = add_page(app_connection), uuid4()
    with app_connection.transaction():
        app_connection.execute("""SET LOCAL mirrord.actor = '{"kind": "human", "name": "Ada"}'""")
        app_connection.execute("SET LOCAL mirrord.parents = '{1,1}'")
        app_connection.execute(f"SET LOCAL mirrord.op_id = '{operation}'".encode())
        change(app_connection, page, title="New")
    first, second = history(app_connection, page)
    assert first["actor"] == {"kind": "app", "name": "mirrord_app"}
    assert second["actor"] == {"kind": "human", "name": "Ada"}
    assert (second["parents"], second["op_id"]) == ([1, 1], operation)
    assert row_of(app_connection, page)["updated_by"] == {"kind": "human", "name": "Ada"}


def test_an_operation_is_done_once(app_connection: Connection) -> None:
    page = add_page(app_connection)
    app_connection.execute(f"SET mirrord.op_id = '{uuid4()}'".encode())
    change(app_connection, page, title="once")
    with pytest.raises(errors.UniqueViolation, match="page_revision_by_operation"):
        change(app_connection, page, title="twice")


@pytest.mark.parametrize(
    "column", ["version", "digest", "ahead", "name_key", "index", "kind", "updated_by", "updated_at", "tenant_id", "id"]
)
def test_an_app_cannot_write_what_mirrord_derives(app_connection: Connection, column: str) -> None:
    page = add_page(app_connection)
    with pytest.raises(errors.InsufficientPrivilege):
        app_connection.execute(f"UPDATE mirrord.page SET {column} = {column} WHERE id = %s".encode(), [page])


@pytest.mark.parametrize("table", ["page_revision", "page_link", "entry_feed", "mirror_base", "approval", "mirror"])
def test_an_app_cannot_write_history_bases_and_leases(app_connection: Connection, table: str) -> None:
    for statement in (f"UPDATE mirrord.{table} SET tenant_id = tenant_id", f"DELETE FROM mirrord.{table}"):
        with pytest.raises(errors.InsufficientPrivilege):
            app_connection.execute(statement.encode())


@pytest.mark.parametrize("first", ["page", "attachment"])
def test_an_id_is_that_of_one_entry_whatever_its_kind(app_connection: Connection, first: str) -> None:
    entry = uuid4()
    adders = [add_page, add_attachment] if first == "page" else [add_attachment, add_page]
    adders[0](app_connection, id=entry)
    with pytest.raises(errors.UniqueViolation, match=f"already that of a {first}"):
        adders[1](app_connection, id=entry)


def test_a_record_written_by_an_app_waits_for_its_text(app_connection: Connection) -> None:
    record = add(app_connection, "record", kind="category", key="red", data=Jsonb({"a": 1}))
    first = row_of(app_connection, record, "record")
    assert (first["version"], first["ahead"], first["digest"]) == (1, ["data"], None)
    change(app_connection, record, "record", data=Jsonb({"a": 2}))
    assert row_of(app_connection, record, "record")["version"] == 2
    change(app_connection, record, "record", data=Jsonb({"a": 2}))
    assert row_of(app_connection, record, "record")["version"] == 2


def test_an_attachments_version_counts_its_bytes_and_places(
    app_connection: Connection, daemon_connection: Connection
) -> None:
    attachment = add_attachment(app_connection)
    assert row_of(app_connection, attachment, "attachment")["version"] == 1
    change(daemon_connection, attachment, "attachment", name_key="a.png")
    assert row_of(app_connection, attachment, "attachment")["version"] == 1
    change(daemon_connection, attachment, "attachment", digest=digest_of(b"y"))
    assert row_of(app_connection, attachment, "attachment")["version"] == 2
    change(daemon_connection, attachment, "attachment", name="b.png")
    assert row_of(app_connection, attachment, "attachment")["version"] == 3


def test_nobody_empties_a_table(admin_dsn: str, app_connection: Connection, daemon_connection: Connection) -> None:
    page = add_page(app_connection)
    with psycopg.connect(admin_dsn, autocommit=True) as superuser:
        tables = superuser.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'mirrord'").fetchall()
        for (table,) in tables:
            if table != "migration":
                for connection in (superuser, daemon_connection, app_connection):
                    with pytest.raises(errors.InsufficientPrivilege):
                        connection.execute(f"TRUNCATE mirrord.{table} CASCADE".encode())
    assert value(app_connection, "SELECT count(*) FROM mirrord.page WHERE id = %s", page) == 1
