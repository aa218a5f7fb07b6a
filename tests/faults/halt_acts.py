"""Deletions that are so many that they halt, acts that go on while a halt stands, and what a person decides."""

from contextlib import suppress

import psycopg

from tests.faults.file_acts import Act, files_of
from tests.faults.tokens import Ledger
from tests.faults.world import World

_STANDING_HALTS = "SELECT id, decision IS NULL FROM mirrord.halt WHERE tenant_id = %s AND closed_at IS NULL ORDER BY id"
_DECIDE = "SELECT mirrord.decide_halt(%s, %s)"
DISCARDED_OF = 4  # halts: a person takes one of them back


def remove_shelves(world: World, ledger: Ledger, first: int, _: int) -> None:
    """`rm -r` of every page below a folder: what a wrong script does to a tree."""
    root = world.mirrors[first % 2].root
    for path in files_of(world, first % 2):
        if path.parent != root:
            ledger.remove(world, path.read_bytes())
            path.unlink()
            ledger.touched()


def delete_many_rows(world: World, ledger: Ledger, _: int, __: int) -> None:
    """One statement of an app deletes every page that has no page below it, but one."""
    deleted = world.app.execute(
        "DELETE FROM mirrord.page AS page WHERE kind = 'page' AND deleted_at IS NULL AND name <> 'Keep' AND NOT EXISTS "
        "(SELECT FROM mirrord.page AS child WHERE child.parent_id = page.id AND child.deleted_at IS NULL)"
    )
    ledger.touched(deleted.rowcount)


def decide_halts(world: World, ledger: Ledger, first: int, _: int) -> None:
    """A person looks at the halts there are: most deletions are meant, one in four is taken back."""
    undecided = [halt for halt, is_open in standing_halts(world).items() if is_open]
    for number, halt in enumerate(undecided, first):
        world.app.execute(_DECIDE, [halt, "apply" if number % DISCARDED_OF else "discard"])


def decide_standing_halts(world: World, ledger: Ledger) -> None:
    """The same after all acts; where Postgres has cut the connection, its caller does it again."""
    with suppress(psycopg.Error):
        decide_halts(world, ledger, ledger.edits, 0)


def standing_halts(world: World) -> dict[int, bool]:
    """Those that are not over, by number, with whether nobody has decided about them."""
    with world.cluster.administered() as connection:
        return dict(connection.execute(_STANDING_HALTS, [world.tenant]).fetchall())


HALT_ACTS: dict[str, tuple[int, Act]] = {  # by name: how often, among all acts
    "remove shelves": (3, remove_shelves),
    "delete many rows": (2, delete_many_rows),
    "decide halts": (6, decide_halts),
}
