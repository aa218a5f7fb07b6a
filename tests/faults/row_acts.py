"""What apps do to the rows, in plain SQL. A refused statement did nothing; an unanswered one may have."""

from contextlib import ExitStack, closing, suppress
from typing import Any
from uuid import UUID

import psycopg
from psycopg.types.json import Jsonb

from mirrord.domain.entry import digest_of
from tests.faults.file_acts import NAMES, Act
from tests.faults.tokens import Ledger
from tests.faults.world import World

_LIVE = "SELECT id FROM mirrord.page WHERE deleted_at IS NULL AND name IS DISTINCT FROM 'Keep' ORDER BY created_at, id"
_APPEND = """
UPDATE mirrord.page SET markdown = markdown || %s WHERE id = %s AND markdown IS NOT NULL AND ahead = '{}'"""
MAX_TRANSACTIONS = 2  # that an app has open at a time
_DEAD = "SELECT id FROM mirrord.page WHERE deleted_at IS NOT NULL ORDER BY created_at, id"


def _page(world: World, number: int, query: str = _LIVE) -> UUID:
    """Raises FileNotFoundError where there is none."""
    rows = world.app.execute(query.encode()).fetchall()
    if not rows:
        raise FileNotFoundError
    page: UUID = rows[number % len(rows)][0]
    return page


def _parent(world: World, number: int) -> UUID | None:
    return _page(world, number) if number % 3 else None


def _write(world: World, query: str, *values: object) -> int:
    return world.app.execute(query.encode(), values).rowcount


def _document(token: str) -> dict[str, Any]:
    return {"type": "paragraph", "content": [{"type": "text", "text": f"A paragraph {token} of an app."}]}


def insert(world: World, ledger: Ledger, first: int, second: int) -> None:
    token, parent = ledger.token(), _parent(world, first)
    name = NAMES[second % len(NAMES)] if second % 2 else None
    _write(
        world,
        "INSERT INTO mirrord.page (parent_id, name, title, markdown) VALUES (%s, %s, %s, %s)",
        *(parent, name, f"Row {second % 7}", f"A row {token} begins.\n"),
    )
    ledger.wrote(token, "inserted with text")


def insert_document(world: World, ledger: Ledger, first: int, second: int) -> None:
    token, parent = ledger.token(), _parent(world, first)
    _write(
        world,
        "INSERT INTO mirrord.page (parent_id, title, content) VALUES (%s, %s, %s)",
        *(parent, f"Document {second % 5}", Jsonb({"type": "doc", "content": [_document(token)]})),
    )
    ledger.wrote(token, "inserted with a document")


def insert_folder(world: World, ledger: Ledger, first: int, second: int) -> None:
    parent, name = _parent(world, first), f"Shelf {second % 4}"
    _write(world, "INSERT INTO mirrord.page (kind, parent_id, name) VALUES ('folder', %s, %s)", parent, name)
    ledger.touched()


def append(world: World, ledger: Ledger, first: int, second: int) -> None:
    token, page = ledger.token(), _page(world, first)
    new = f"\nA line {token} of an app.\n"
    if _write(world, _APPEND, new, page):
        ledger.wrote(token, f"appended to {page}")


def begin_transaction(world: World, ledger: Ledger, first: int, second: int) -> None:
    """An app changes a row and does not commit for a long time; every other one is serialisable."""
    if len(ledger.transactions) >= MAX_TRANSACTIONS:
        commit_transaction(world, ledger, first, second)
        return
    page, token = _page(world, first), ledger.token()
    with ExitStack() as undone:
        connection = world.connect_app(autocommit=False)
        undone.callback(connection.close)
        if second % 2:
            connection.isolation_level = psycopg.IsolationLevel.SERIALIZABLE
        line = f"\nA line {token} of a long transaction.\n"
        if connection.execute(_APPEND.encode(), [line, page]).rowcount:
            undone.pop_all()
            ledger.transactions.append((connection, token))


def commit_transaction(world: World, ledger: Ledger, first: int, second: int) -> None:
    if not ledger.transactions:
        begin_transaction(world, ledger, first, second)
        return
    end_transaction(ledger, first % len(ledger.transactions))


def end_transaction(ledger: Ledger, number: int) -> None:
    """Commit it. Raises psycopg.Error where nothing was written."""
    connection, token = ledger.transactions.pop(number)
    with closing(connection):
        connection.commit()
    ledger.wrote(token, "committed late")


def commit_all(ledger: Ledger) -> None:
    """What an app has still open comes to an end, one way or the other."""
    while ledger.transactions:
        with suppress(psycopg.Error):
            end_transaction(ledger, 0)


def link(world: World, ledger: Ledger, first: int, second: int) -> None:
    """A page gets a link to another one by name; it follows where that is renamed, and costs a version then."""
    token, page, other = ledger.token(), _page(world, first), _page(world, second)
    line = f"\nA line {token} links to "
    if _write(
        world,
        "UPDATE mirrord.page SET markdown = markdown || %s || "
        "(SELECT format(E'[[%%s]].\\n', other.name) FROM mirrord.page AS other WHERE other.id = %s) "
        "WHERE id = %s AND markdown IS NOT NULL AND ahead = '{}'",
        *(line, other, page),
    ):
        ledger.wrote(token, f"linked from {page}")
        ledger.touched()


def overwrite(world: World, ledger: Ledger, first: int, second: int) -> None:
    token, page = ledger.token(), _page(world, first)
    if _write(world, "UPDATE mirrord.page SET markdown = %s WHERE id = %s", f"An app wrote {token} anew.\n", page):
        ledger.wrote(token, f"overwrote {page}")


def extend_document(world: World, ledger: Ledger, first: int, second: int) -> None:
    token, page = ledger.token(), _page(world, first)
    if _write(
        world,
        "UPDATE mirrord.page SET content = jsonb_set(content, '{content}', (content -> 'content') || %s) "
        "WHERE id = %s AND jsonb_typeof(content -> 'content') = 'array'",
        *(Jsonb([_document(token)]), page),
    ):
        ledger.wrote(token, f"extended the document of {page}")


def retitle(world: World, ledger: Ledger, first: int, second: int) -> None:
    token, page = ledger.token(), _page(world, first)
    if _write(world, "UPDATE mirrord.page SET title = %s WHERE id = %s AND kind = 'page'", f"Title {token}", page):
        ledger.wrote(token, f"titled {page}")


def rename(world: World, ledger: Ledger, first: int, second: int) -> None:
    page, name = _page(world, first), NAMES[second % len(NAMES)]
    ledger.touched(_write(world, "UPDATE mirrord.page SET name = %s WHERE id = %s", name, page) * 4)


def move(world: World, ledger: Ledger, first: int, second: int) -> None:
    page, parent = _page(world, first), _parent(world, second)
    ledger.touched(_write(world, "UPDATE mirrord.page SET parent_id = %s WHERE id = %s", parent, page) * 4)


def delete(world: World, ledger: Ledger, first: int, _: int) -> None:
    before = _count(world)
    _write(world, "DELETE FROM mirrord.page WHERE id = %s", _page(world, first))
    ledger.touched(abs(before - _count(world)))


def restore(world: World, ledger: Ledger, first: int, _: int) -> None:
    before = _count(world)
    _write(world, "UPDATE mirrord.page SET deleted_at = NULL WHERE id = %s", _page(world, first, _DEAD))
    ledger.touched(abs(before - _count(world)) + 1)


def attach(world: World, ledger: Ledger, first: int, second: int) -> None:
    token, parent = ledger.token(), _parent(world, first)
    data = f"<svg>{token}</svg>".encode()
    with world.app.transaction():
        _write(world, "INSERT INTO mirrord.blob (digest, part, bytes) VALUES (%s, 0, %s)", bytes(digest_of(data)), data)
        _write(
            world,
            "INSERT INTO mirrord.attachment (parent_id, name, digest, size, media_type) VALUES (%s, %s, %s, %s, %s)",
            *(parent, f"drawing {second % 3}.svg", bytes(digest_of(data)), len(data), "image/svg+xml"),
        )
    ledger.wrote(token, f"attached to {parent}")


def _count(world: World) -> int:
    row = world.app.execute("SELECT count(*) FROM mirrord.page WHERE deleted_at IS NULL").fetchone()
    assert row is not None
    return int(row[0])


ROW_ACTS: dict[str, tuple[int, Act]] = {  # by name: how often, among all acts
    "insert row": (5, insert),
    "insert document": (3, insert_document),
    "insert folder row": (2, insert_folder),
    "append to row": (8, append),
    "begin transaction": (3, begin_transaction),
    "commit transaction": (4, commit_transaction),
    "overwrite row": (3, overwrite),
    "extend document": (4, extend_document),
    "retitle row": (4, retitle),
    "rename row": (3, rename),
    "move row": (4, move),
    "delete row": (3, delete),
    "restore row": (2, restore),
    "attach to row": (2, attach),
    "link row": (3, link),
}
