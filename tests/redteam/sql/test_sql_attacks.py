"""What a session with an app's, the console's or the daemon's rights can reach beyond its own tenant: nothing."""

import asyncio
from collections.abc import Iterator, Sequence
from pathlib import Path

import psycopg
import pytest

from mirrord.db.migrate import migrate
from tests.redteam.sql.attack import Attack, Attacker
from tests.redteam.sql.direct import direct
from tests.redteam.sql.field import Field, fields
from tests.redteam.sql.shadows import ENTRANCES, shadows
from tests.support.older import restore_dump
from tests.support.servers import Server, programs, served

VERSIONS = (15, 16, 18)
NEWEST = VERSIONS[-1]
SHARE = 3  # older versions try every third attack, each version others; `pytest -m slow` tries all
LEAST = 120  # attacks
AT_ONCE = 15  # attacks before it is looked whether one came through
ATTACKS = [*shadows(), *direct()]


@pytest.fixture(scope="module", params=VERSIONS)
def server(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    if request.param not in programs():
        pytest.skip(f"Postgres {request.param} is not installed: its package is postgresql-{request.param}")
    with served(tmp_path_factory.mktemp("server"), request.param) as running:
        yield running


@pytest.fixture
def field(server: Server, tmp_path: Path) -> Field:
    new_field = next(fields(server, tmp_path))
    asyncio.run(migrate(new_field.dsn))
    new_field.prepare()
    return new_field


def test_there_are_attacks_of_every_kind() -> None:
    assert len({attack.name for attack in ATTACKS}) == len(ATTACKS) >= LEAST


@pytest.mark.timeout(400)  # thousands of statements, on a busy machine
@pytest.mark.parametrize("attacker", list(Attacker))
def test_no_attack_comes_through(field: Field, attacker: Attacker) -> None:
    attacks = [attack for attack in ATTACKS if attacker in attack.attackers]
    version = field.server.version
    check_attacks(field, attacker, attacks if version == NEWEST else attacks[version % SHARE :: SHARE])


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("attacker", list(Attacker))
def test_no_attack_comes_through_in_any_version(field: Field, attacker: Attacker) -> None:
    check_attacks(field, attacker, [attack for attack in ATTACKS if attacker in attack.attackers])


def check_attacks(field: Field, attacker: Attacker, attacks: Sequence[Attack]) -> None:
    for first in range(0, len(attacks), AT_ONCE):
        some = attacks[first : first + AT_ONCE]
        if field.come_through(some, attacker):
            reached = {attack.name: field.come_through([attack], attacker) for attack in some}
            pytest.fail(f"one of {reached} came through")


def test_the_suite_sees_a_type_that_stands_in_the_way_of_an_older_function(server: Server, tmp_path: Path) -> None:
    """The same judge, with the functions as they were: an app ran as the owner of mirrord's tables."""
    older = next(fields(server, tmp_path))
    restore_dump(older.dsn)  # its functions look names up in their caller's temporary schema
    older.prepare()
    shadow = Attack(
        "type pg_temp.jsonb",
        ("CREATE DOMAIN pg_temp.jsonb AS pg_catalog.jsonb CHECK (own.confess())", *ENTRANCES),
    )
    breaches = older.come_through([shadow], Attacker.APP)
    assert "it ran: runs as mirrord_owner" in breaches
    assert "it changed definitions or rights" in breaches


def test_by_default_an_app_makes_no_objects_of_its_own(server: Server, tmp_path: Path) -> None:
    new_field = next(fields(server, tmp_path))
    asyncio.run(migrate(new_field.dsn))
    with psycopg.connect(server.dsn(new_field.database, "mirrord_app"), autocommit=True) as app:
        for statement in (
            "CREATE TEMP TABLE t ()",
            "CREATE TABLE public.t ()",
            "CREATE SCHEMA s",
            "SELECT lo_creat(-1)",
        ):
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                app.execute(statement.encode())
