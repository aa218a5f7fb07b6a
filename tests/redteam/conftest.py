"""What every attack runs in."""

import pytest

from mirrord.mirror.process_setup import prepare_process


@pytest.fixture(scope="session", autouse=True)
def _prepared() -> None:
    prepare_process()
