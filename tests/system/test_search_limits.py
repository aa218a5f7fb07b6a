"""Whatever an app writes is indexed, and whatever it asks is answered soon."""

import random

import pytest
from psycopg.types.json import Jsonb

from mirrord.domain.entry import TenantId
from tests.support.entries import add_page
from tests.support.rows import Connection
from tests.support.searches import make_searchable, titles_of


@pytest.fixture
def app(app_connection: Connection, daemon_connection: Connection) -> Connection:
    """An app's connection. Statements end after half a minute, as those that never end."""
    for connection in (app_connection, daemon_connection):
        connection.execute("SET statement_timeout = '30s'")
    return app_connection


def _write_words(count: int) -> str:
    letters = random.Random(count)
    return " ".join(f"w{letters.getrandbits(80):x}" for _ in range(count))


@pytest.mark.parametrize("frontmatter", [3, "text", True, None, ["a", "b"], []])
def test_front_matter_that_is_no_object_is_indexed_without_it(
    app: Connection, daemon_connection: Connection, tenant: TenantId, frontmatter: object
) -> None:
    add_page(app, title="Odd", markdown="quokka\n", frontmatter=Jsonb(frontmatter))
    make_searchable(daemon_connection, tenant)
    assert titles_of(app, "quokka") == ["Odd"]
