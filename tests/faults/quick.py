"""`mirrord` whose waits for stillness last 50 ms, so that a campaign sees many deletions in a minute."""

from importlib import import_module

from mirrord.cli import main
from mirrord.sync import deletions, doubts, engine
from tests.faults.forks import next_order

STILL = 0.05  # seconds
SOON = 0.05  # seconds until Postgres is tried again


def hurry() -> None:
    """From now on, in this process, stillness is a shorter time; every rule stays."""
    for module in (deletions, doubts):
        assert hasattr(module, "QUIET"), f"{module.__name__} waits in another way now"
        vars(module)["QUIET"] = STILL
    assert hasattr(engine, "RETRY"), "engine tries again in another way now"
    vars(engine)["RETRY"] = SOON


if __name__ == "__main__":
    for loaded_when_asked_for in ("mirrord.cli.commands", "mirrord.cli.up"):
        import_module(loaded_when_asked_for)
    hurry()
    main(next_order())
