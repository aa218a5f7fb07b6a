"""What the bound app does to its rows, in its own transactions. A refused statement did nothing."""

from collections.abc import Callable
from contextlib import suppress
from uuid import NAMESPACE_OID, uuid5

import psycopg

from mirrord.binding.mappings.mapping import SPACE_PREFIX
from tests.faults.bound.bound_world import BoundLedger, BoundWorld

BoundAct = Callable[[BoundWorld, BoundLedger, int, int], None]

MAX_TRANSACTIONS = 2  # that the app has open at a time
PLACES = 9


def select_row(world: BoundWorld, number: int) -> str:
    """The id of a living row. Raises FileNotFoundError where there is none."""
    ids = sorted(world.rows())
    if not ids:
        raise FileNotFoundError
    return ids[number % len(ids)]


def insert(world: BoundWorld, ledger: BoundLedger, first: int, second: int) -> None:
    token, parent = ledger.token(), select_row(world, first) if first % 3 else None
    with world.owner.transaction():
        key = str(uuid5(NAMESPACE_OID, token))  # the same in each replay, which chooses rows in the order of their ids
        query = f"INSERT INTO {world.shape.pages} (id, parent, title, place) VALUES (%s, %s, %s, %s)"
        world.write(query, key, parent, f"Row {second % 7}", second % PLACES)
        text = f"A row {token} begins."
        if world.shape.insert_body is None:
            world.write(world.shape.replace, world.shape.body_of(text), key)
        else:
            world.write(world.shape.insert_body, world.shape.body_of(text), key)
    ledger.wrote(token, f"inserted as {key}")


def append(world: BoundWorld, ledger: BoundLedger, first: int, second: int) -> None:
    key, token = select_row(world, first), ledger.token()
    if world.write(world.shape.append, world.shape.part_of(f"A line {token} of the app."), key):
        ledger.wrote(token, f"appended to {key}")


def append_to_all(world: BoundWorld, ledger: BoundLedger, first: int, second: int) -> None:
    """A script of the app: one transaction writes every row, each with a line of its own."""
    tokens = {key: ledger.token() for key in world.rows()}
    with world.owner.transaction():
        written = {
            token: key
            for key, token in tokens.items()
            if world.write(world.shape.append, world.shape.part_of(f"A line {token} of a script."), key)
        }
    for token, key in written.items():
        ledger.wrote(token, f"appended to {key} with all others")


def touch_all(world: BoundWorld, ledger: BoundLedger, first: int, second: int) -> None:
    """One statement writes every row, and changes nothing that a page has."""
    world.write(f"UPDATE {world.shape.pages} SET views = views + 1")


def place_all(world: BoundWorld, ledger: BoundLedger, first: int, second: int) -> None:
    """One statement gives every row another place."""
    ledger.touched(world.write(f"UPDATE {world.shape.pages} SET place = place + 1"))


def replace(world: BoundWorld, ledger: BoundLedger, first: int, second: int) -> None:
    """The app writes a whole body, as an editor that loaded it a moment ago."""
    key, token = select_row(world, first), ledger.token()
    with world.owner.transaction():
        world.owner.execute(
            world.sql(f"SELECT FROM {world.shape.body} WHERE {_key_of_body(world)}::text = %s FOR UPDATE").encode(),
            [key],
        )
        ledger.destroy(world, " ".join(world.rows()[key].tokens).encode())
        if not world.write(world.shape.replace, world.shape.body_of(f"All is new {token} in the app."), key):
            return
    ledger.wrote(token, f"replaced the body of {key}")


def _key_of_body(world: BoundWorld) -> str:
    return "id" if world.shape.insert_body is None else "page"


def rename(world: BoundWorld, ledger: BoundLedger, first: int, second: int) -> None:
    key = select_row(world, first)
    ledger.touched(world.write(f"UPDATE {world.shape.pages} SET title = %s WHERE id::text = %s", f"New {second}", key))


def move(world: BoundWorld, ledger: BoundLedger, first: int, second: int) -> None:
    """The app lets no page be below itself."""
    key, above = select_row(world, first), select_row(world, second) if second % 4 else None
    rows, current = world.rows(), above
    while current is not None and not current.startswith(SPACE_PREFIX):
        if current == key or current not in rows:
            return
        current = rows[current].parent
    query = f"UPDATE {world.shape.pages} SET parent = %s WHERE id::text = %s"
    ledger.touched(world.write(query, above, key))


def order(world: BoundWorld, ledger: BoundLedger, first: int, second: int) -> None:
    key = select_row(world, first)
    query = f"UPDATE {world.shape.pages} SET place = %s WHERE id::text = %s"
    ledger.touched(world.write(query, second % PLACES, key))


def delete(world: BoundWorld, ledger: BoundLedger, first: int, second: int) -> None:
    """The row is locked first, so that the binding writes nothing into it that the app has not read."""
    key, pages = select_row(world, first), world.shape.pages
    with world.owner.transaction():
        world.write(f"SELECT FROM {pages} WHERE id::text = %s FOR UPDATE", key)
        row = world.rows().get(key)
        if row is None:
            return
        ledger.destroy(world, " ".join(row.tokens).encode())
        if world.shape.has_trash:
            world.write(f"UPDATE {pages} SET deleted_at = now() WHERE id::text = %s", key)
        else:
            ledger.removed_rows.add(key)
            world.write(f"DELETE FROM {pages} WHERE id::text = %s", key)
    ledger.touched()


def restore(world: BoundWorld, ledger: BoundLedger, first: int, second: int) -> None:
    """A row comes out of the app's trash."""
    if not world.shape.has_trash:
        raise FileNotFoundError
    query = f"SELECT id FROM {world.shape.pages} WHERE deleted_at IS NOT NULL ORDER BY id"
    ids = [row[0] for row in world.owner.execute(world.sql(query).encode()).fetchall()]
    if ids:
        query = f"UPDATE {world.shape.pages} SET deleted_at = NULL WHERE id = %s"
        ledger.touched(world.write(query, ids[first % len(ids)]))


def roll_back(world: BoundWorld, ledger: BoundLedger, first: int, second: int) -> None:
    """A transaction that writes two rows and is taken back."""
    tokens = [ledger.token(), ledger.token()]
    ledger.undone |= set(tokens)
    with suppress(psycopg.Rollback), world.owner.transaction():
        for token, number in zip(tokens, (first, second), strict=True):
            part = world.shape.part_of(f"A line {token} that never was.")
            world.write(world.shape.append, part, select_row(world, number))
        raise psycopg.Rollback


def use_savepoint(world: BoundWorld, ledger: BoundLedger, first: int, second: int) -> None:
    """A transaction that takes the second of its three writes back."""
    key, (earlier, undone, later) = select_row(world, first), (ledger.token() for _ in range(3))
    ledger.undone.add(undone)
    with world.owner.transaction():
        counts = [_append_token(world, earlier, key)]
        with suppress(psycopg.Rollback), world.owner.transaction() as savepoint:
            _append_token(world, undone, key)
            raise psycopg.Rollback(savepoint)
        counts.append(_append_token(world, later, key))
    for token, count in zip((earlier, later), counts, strict=True):
        if count:
            ledger.wrote(token, f"beside a savepoint in {key}")


def _append_token(world: BoundWorld, token: str, key: str) -> int:
    return world.write(world.shape.append, world.shape.part_of(f"A line {token} of a transaction."), key)


def begin_transaction(world: BoundWorld, ledger: BoundLedger, first: int, second: int) -> None:
    """The app changes a row and does not commit for a long time."""
    if len(ledger.transactions) >= MAX_TRANSACTIONS:
        end_transaction(world, ledger, first, second)
        return
    key, token = select_row(world, first), ledger.token()
    connection = world.connect_owner(autocommit=False)
    try:
        part = world.shape.part_of(f"A line {token} of a long transaction.")
        count = connection.execute(world.sql(world.shape.append).encode(), [part, key]).rowcount
    except BaseException:
        connection.close()
        raise
    if count:
        ledger.transactions.append((connection, token))
    else:
        connection.close()


def end_transaction(world: BoundWorld, ledger: BoundLedger, first: int, second: int) -> None:
    """Commit it; every fourth is taken back."""
    if not ledger.transactions:
        raise FileNotFoundError
    connection, token = ledger.transactions.pop(first % len(ledger.transactions))
    try:
        if second % 4 == 0:
            connection.rollback()
            ledger.undone.add(token)
            return
        connection.commit()
    finally:
        connection.close()
    ledger.wrote(token, "committed late")


def upload(world: BoundWorld, ledger: BoundLedger, first: int, second: int) -> None:
    """The app puts a file beside a page."""
    _need_files(world)
    key, token = select_row(world, first), ledger.token()
    content = f"Bytes {token}".encode()
    query = "INSERT INTO {s}.upload (note, name, content) VALUES (%s::uuid, %s, %s)"
    ledger.touched(world.write(query, key, f"file {second % 4}.txt", content))


def change_file(world: BoundWorld, ledger: BoundLedger, first: int, second: int) -> None:
    """The app gives a file other bytes, another name, or another page; or removes it."""
    _need_files(world)
    (number,) = _select_of(world, "SELECT id FROM {s}.upload ORDER BY id", first)
    match second % 4:
        case 0:
            content = f"Bytes {ledger.token()}".encode()
            count = world.write("UPDATE {s}.upload SET content = %s WHERE id = %s", content, number)
        case 1:
            count = world.write("UPDATE {s}.upload SET name = %s WHERE id = %s", f"new {second % 5}.txt", number)
        case 2:
            key = select_row(world, second)
            count = world.write("UPDATE {s}.upload SET note = %s::uuid WHERE id = %s", key, number)
        case _:
            count = world.write("DELETE FROM {s}.upload WHERE id = %s", number)
    ledger.touched(count)


def _need_files(world: BoundWorld) -> None:
    if not world.shape.has_files:
        raise FileNotFoundError


def _select_of(world: BoundWorld, query: str, number: int) -> tuple[object, ...]:
    rows = world.owner.execute(world.sql(query).encode()).fetchall()
    if not rows:
        raise FileNotFoundError
    return rows[number % len(rows)]


def change_space(world: BoundWorld, ledger: BoundLedger, first: int, second: int) -> None:
    """The app moves a page to a space, or gives a space another name."""
    if not world.shape.has_spaces:
        raise FileNotFoundError
    if second % 4 == 0:
        query = "UPDATE {s}.space SET name = %s WHERE id = %s"
        ledger.touched(world.write(query, f"Space {second % 3}", first % 3 + 1))
        return
    key = select_row(world, first)
    query = "UPDATE {s}.doc SET parent = NULL, space = %s WHERE id::text = %s"
    ledger.touched(world.write(query, second % 3 + 1, key))


APP_ACTS: dict[str, tuple[int, BoundAct]] = {  # by name: how often, among all acts
    "insert": (10, insert),
    "append": (16, append),
    "append to all": (2, append_to_all),
    "touch all": (1, touch_all),
    "place all": (1, place_all),
    "replace": (3, replace),
    "rename": (4, rename),
    "move": (4, move),
    "order": (3, order),
    "delete": (3, delete),
    "restore": (2, restore),
    "roll back": (3, roll_back),
    "use a savepoint": (3, use_savepoint),
    "begin a transaction": (3, begin_transaction),
    "end a transaction": (6, end_transaction),
    "upload": (4, upload),
    "change a file": (5, change_file),
    "change a space": (5, change_space),
}
