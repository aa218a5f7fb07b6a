"""Two hosts' installations of one tenant, for tests that need both."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.system.harness import Mirrord


@pytest.fixture
def here(fresh_dsn: str, tmp_path: Path) -> Iterator[Mirrord]:
    """One host's installation; its daemon is down."""
    with Mirrord(tmp_path / "here", dsn=fresh_dsn) as installed:
        yield installed


@pytest.fixture
def there(fresh_dsn: str, tmp_path: Path) -> Iterator[Mirrord]:
    """Another host's, of the same tenant."""
    with Mirrord(tmp_path / "there", dsn=fresh_dsn) as installed:
        yield installed
