"""What people and apps do to a few categories, in their files and in their rows."""

from pathlib import Path

from psycopg.types.json import Jsonb

from tests.faults.file_acts import Act
from tests.faults.saves import SAVES
from tests.faults.tokens import Ledger
from tests.faults.world import World

_NAMES = ("red", "blue")


def _file(world: World, first: int) -> Path:
    return world.mirrors[first % 2].root / f".records/categories/{_NAMES[first // 2 % 2]}.yaml"


def note_in_file(world: World, ledger: Ledger, first: int, second: int) -> None:
    """One of three values is said anew."""
    path, key, token = _file(world, first), f"value{second % 3}", ledger.token()
    path.parent.mkdir(parents=True, exist_ok=True)
    before = path.read_bytes() if path.exists() else b""
    ledger.destroy(world, before)
    lines = [line for line in before.decode().splitlines(keepends=True) if not line.startswith(key)]
    SAVES[0](path, "".join([*lines, f"{key}: {token}\n"]).encode())
    ledger.wrote(token, f"noted in {path}")


def remove_file(world: World, ledger: Ledger, first: int, _: int) -> None:
    path = _file(world, first)
    ledger.destroy(world, path.read_bytes())
    path.unlink()
    ledger.touched()


def note_in_row(world: World, ledger: Ledger, first: int, second: int) -> None:
    token = ledger.token()
    cursor = world.app.execute(
        "UPDATE mirrord.record SET data = data || %s WHERE key = %s AND deleted_at IS NULL",
        [Jsonb({f"value{second % 3}": token}), _NAMES[first % 2]],
    )
    if cursor.rowcount:
        ledger.wrote(token, f"noted in the row of {_NAMES[first % 2]}")


def insert_row(world: World, ledger: Ledger, first: int, second: int) -> None:
    token = ledger.token()
    world.app.execute(
        "INSERT INTO mirrord.record (kind, key, data) VALUES ('category', %s, %s)",
        [_NAMES[first % 2], Jsonb({f"value{second % 3}": token})],
    )
    ledger.wrote(token, f"inserted {_NAMES[first % 2]}")


def delete_row(world: World, ledger: Ledger, first: int, _: int) -> None:
    world.app.execute("DELETE FROM mirrord.record WHERE key = %s AND deleted_at IS NULL", [_NAMES[first % 2]])
    ledger.touched()


RECORD_ACTS: dict[str, tuple[int, Act]] = {  # by name: how often, among all acts
    "note in a record": (5, note_in_file),
    "note in a record's row": (4, note_in_row),
    "insert a record's row": (1, insert_row),
    "remove a record": (1, remove_file),
    "delete a record's row": (1, delete_row),
}
