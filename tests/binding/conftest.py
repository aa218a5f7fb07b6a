"""A world with an app that has tables of its own."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import psycopg
import pytest

from tests.binding.knowledge_base import MAPPING, BoundWorld, install_app
from tests.support.commands import Near


@pytest.fixture
def world(fresh_dsn: str, tmp_path: Path) -> Iterator[BoundWorld]:
    """An app with tables and no rows, and an installation with a tenant; no binding, and the daemon is down."""
    app = install_app(fresh_dsn)
    mapping = tmp_path / "kb.toml"
    mapping.write_text(MAPPING)
    with (
        closing(app.connection),
        closing(psycopg.connect(fresh_dsn, autocommit=True)) as admin,
        Near(tmp_path / "here", dsn=fresh_dsn) as mirrord,
    ):
        assert mirrord.run("init", "demo").returncode == 0
        yield BoundWorld(mirrord, app, admin, mapping)


@pytest.fixture
def bound(world: BoundWorld) -> BoundWorld:
    """The same with a binding, and its daemon runs."""
    world.bind("add", str(world.mapping))
    world.mirrord.up()
    return world
