"""`mirrord` whose waits for stillness last 50 ms, so that a campaign sees many deletions in a minute."""

from mirrord.cli import main
from mirrord.sync import deletions, doubts, engine

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
    hurry()
    main()
