"""Writing entries in plain SQL, and reading back what the triggers made of them."""

from typing import Any
from uuid import UUID

from psycopg import sql
from psycopg.rows import dict_row

from mirrord.domain.entry import digest_of
from tests.support.rows import Connection


def value(connection: Connection, query: str, *values: object) -> Any:
    """The first column of the first row; None where there is none."""
    row = connection.execute(query.encode(), values).fetchone()
    return row[0] if row else None


def add(connection: Connection, table: str, /, **columns: object) -> UUID:
    """Insert a row; its id."""
    statement = sql.SQL("INSERT INTO mirrord.{} ({}) VALUES ({}) RETURNING id").format(
        sql.Identifier(table),
        sql.SQL(", ").join(map(sql.Identifier, columns)),
        sql.SQL(", ").join(map(sql.Literal, columns.values())),
    )
    row = connection.execute(statement).fetchone()
    assert row is not None
    entry_id: UUID = row[0]
    return entry_id


def add_page(connection: Connection, **columns: object) -> UUID:
    """Insert a page; its id."""
    return add(connection, "page", **({"title": "Page"} | columns))


def add_folder(connection: Connection, **columns: object) -> UUID:
    """Insert a folder; its id."""
    return add(connection, "page", **({"kind": "folder", "name": "Folder"} | columns))


def add_attachment(connection: Connection, **columns: object) -> UUID:
    """Insert an attachment (no bytes with it); its id."""
    return add(connection, "attachment", **({"name": "a.png", "digest": digest_of(b"x"), "size": 1} | columns))


def change(connection: Connection, entry: UUID, table: str = "page", /, **columns: object) -> int:
    """Update columns of an entry; how many rows that were, 0 or 1."""
    pairs = [sql.SQL("{} = {}").format(sql.Identifier(name), sql.Literal(new)) for name, new in columns.items()]
    statement = sql.SQL("UPDATE mirrord.{} SET {} WHERE id = {}").format(
        sql.Identifier(table), sql.SQL(", ").join(pairs), sql.Literal(entry)
    )
    return connection.execute(statement).rowcount


def delete(connection: Connection, entry: UUID, table: str = "page") -> None:
    """DELETE an entry."""
    connection.execute(sql.SQL("DELETE FROM mirrord.{} WHERE id = %s").format(sql.Identifier(table)), [entry])


def row_of(connection: Connection, entry: UUID, table: str = "page") -> dict[str, Any]:
    """Every column of an entry that exists."""
    query = sql.SQL("SELECT * FROM mirrord.{} WHERE id = %s").format(sql.Identifier(table))
    with connection.cursor(row_factory=dict_row) as cursor:
        row = cursor.execute(query, [entry]).fetchone()
    assert row is not None
    return row


def history(connection: Connection, page: UUID) -> list[dict[str, Any]]:
    """Every revision of a page, oldest first."""
    query = "SELECT * FROM mirrord.page_revision WHERE page_id = %s ORDER BY version"
    with connection.cursor(row_factory=dict_row) as cursor:
        return cursor.execute(query, [page]).fetchall()


def lives(connection: Connection, entry: UUID, table: str = "page") -> bool:
    """Whether an entry exists and is no tombstone."""
    return row_of(connection, entry, table)["deleted_at"] is None


def place(daemon: Connection, page: UUID, name: str) -> None:
    """What mirrord does first with a new row: clean its name and claim the key."""
    daemon.execute(
        "UPDATE mirrord.page SET name = %s, name_key = mirrord.name_key(%s) WHERE id = %s", [name, name, page]
    )


def render(daemon: Connection, page: UUID, markdown: str) -> None:
    """What mirrord does next: store the text made of the written views."""
    daemon.execute(
        "UPDATE mirrord.page SET markdown = %s, digest = %s, ahead = '{}' WHERE id = %s",
        [markdown, digest_of(markdown.encode()), page],
    )
