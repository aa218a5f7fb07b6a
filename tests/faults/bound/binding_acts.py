"""What an operator does to a binding and its tables, and what agents do to pages, while all goes on."""

from mirrord.commands.core.failure import Failed
from mirrord.commands.pages import page_commands
from tests.faults.bound.app_acts import BoundAct
from tests.faults.bound.bound_world import NAME, BoundLedger, BoundWorld
from tests.faults.file_acts import select_file
from tests.support.agents import agent


def pause(world: BoundWorld, ledger: BoundLedger, first: int, second: int) -> None:
    world.bind("pause", NAME)


def resume(world: BoundWorld, ledger: BoundLedger, first: int, second: int) -> None:
    """Without a word about deletions: a binding that halted for these halts again."""
    _refuse_beside_transactions(ledger)
    world.bind("resume", NAME)


def drop(world: BoundWorld, ledger: BoundLedger, first: int, second: int) -> None:
    _refuse_beside_transactions(ledger)
    world.bind("drop", NAME)


def add(world: BoundWorld, ledger: BoundLedger, first: int, second: int) -> None:
    _refuse_beside_transactions(ledger)
    world.add()


def _refuse_beside_transactions(ledger: BoundLedger) -> None:
    """Raise OSError while the app has a transaction open: it holds the tables, and this process would wait for it."""
    if ledger.transactions:
        raise BlockingIOError("a transaction of the app is open")


def write_as_agent(world: BoundWorld, ledger: BoundLedger, first: int, second: int) -> None:
    """An agent reads a page and writes it with one more line."""
    mirror, path = world.mirrors[first % 2], select_file(world, first)
    token, name = ledger.token(), str(path.relative_to(world.mirrors[first % 2].root))
    with agent(mirror) as session:
        try:
            text = page_commands.read_page(session, name).content
            page_commands.write_page(session, name, f"{text}\nA line {token} of an agent.\n")
        except Failed as failed:
            raise OSError(f"the tool answered {failed}") from failed
    ledger.wrote(token, f"an agent wrote {name}")


def create_as_agent(world: BoundWorld, ledger: BoundLedger, first: int, second: int) -> None:
    """An agent makes a page, at the top or below another one."""
    mirror, token = world.mirrors[first % 2], ledger.token()
    above = str(select_file(world, first).relative_to(mirror.root)) if second % 2 else None
    with agent(mirror) as session:
        try:
            page_commands.create_page(session, f"Agent {second % 5}", above, f"An agent begins {token}.\n")
        except Failed as failed:
            raise OSError(f"the tool answered {failed}") from failed
    ledger.wrote(token, f"an agent made a page below {above}")


def rewrite_table(world: BoundWorld, ledger: BoundLedger, first: int, second: int) -> None:
    """A migration of the app, or a VACUUM, writes every row of a table again; no trigger sees it."""
    _refuse_beside_transactions(ledger)
    world.write(world.shape.rewrites[first % len(world.shape.rewrites)])


def disable_triggers(world: BoundWorld, ledger: BoundLedger, first: int, second: int) -> None:
    _refuse_beside_transactions(ledger)
    ledger.is_blind = True
    _set_triggers(world, "DISABLE")


def enable_triggers(world: BoundWorld, ledger: BoundLedger, first: int, second: int) -> None:
    _refuse_beside_transactions(ledger)
    _set_triggers(world, "ENABLE")


def _set_triggers(world: BoundWorld, state: str) -> None:
    for table in {world.shape.pages, world.shape.body}:
        world.write(f"ALTER TABLE {table} {state} TRIGGER USER")


def truncate(world: BoundWorld, ledger: BoundLedger, first: int, second: int) -> None:
    """All rows of the app go at once, and no trigger sees it."""
    _refuse_beside_transactions(ledger)
    ledger.is_blind = True
    with world.owner.transaction():
        world.write(f"LOCK TABLE {world.shape.pages} IN ACCESS EXCLUSIVE MODE")
        rows = world.rows()
        ledger.destroy(world, " ".join(token for row in rows.values() for token in row.tokens).encode())
        ledger.removed_rows |= rows.keys()
        world.write(f"TRUNCATE {world.shape.pages} CASCADE")


BINDING_ACTS: dict[str, tuple[int, BoundAct]] = {  # by name: how often, among all acts
    "pause the binding": (1, pause),
    "resume the binding": (3, resume),
    "drop the binding": (1, drop),
    "add the binding": (3, add),
    "write as an agent": (6, write_as_agent),
    "create as an agent": (3, create_as_agent),
    "rewrite a table": (2, rewrite_table),
}
ACCIDENTS: dict[str, tuple[int, BoundAct]] = {  # in histories of their own: only a comparison finds what they hide
    "disable the triggers": (2, disable_triggers),
    "enable the triggers": (5, enable_triggers),
    "truncate": (1, truncate),
}
