"""`mirrord` whose waits for stillness last 50 ms, so that a campaign sees many deletions in a minute."""

from mirrord.sync import deletions, engine
from mirrord.sync.observation import retries
from tests.support.loaded import serve

STILL = 0.05  # seconds
SOON = 0.05  # seconds until Postgres is tried again


def hurry() -> None:
    """From now on, in this process, stillness is a shorter time; every rule stays."""
    for module in (deletions, retries):
        assert hasattr(module, "QUIET_SECONDS"), f"{module.__name__} waits in another way now"
        vars(module)["QUIET_SECONDS"] = STILL
    assert hasattr(engine, "RETRY_SECONDS"), "engine tries again in another way now"
    vars(engine)["RETRY_SECONDS"] = SOON


def serve_quick(descriptor: int) -> None:
    """As loaded.serve(), and its daemons hurry."""
    hurry()
    serve(descriptor)
