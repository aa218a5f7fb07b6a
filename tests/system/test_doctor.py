"""`mirrord doctor` and `mirrord check --fix` on real installations, well and not."""

import asyncio
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from uuid import uuid4

import psycopg
import pytest

from mirrord.cli.diagnosis import Finding, Verdict, diagnose
from mirrord.cli.doctor import gather
from mirrord.config import Config
from mirrord.mirror.process import prepare_process
from tests.system.editors import save
from tests.system.harness import Mirrord, eventually
from tests.system.health import look_everywhere
from tests.system.readonly import read_only

UNAVAILABLE = 3


@pytest.fixture(scope="module")
def mirrord(module_dsn: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mirrord]:
    """An installation at work, that nothing is wrong with."""
    prepare_process()
    with Mirrord(tmp_path_factory.mktemp("installation"), dsn=module_dsn) as installed:
        installed.data.mkdir(parents=True)
        save(installed.file("Page.md"), "a page\n")
        installed.up()
        look_everywhere(installed)
        yield installed


def odd(config: Config) -> list[Finding]:
    """What is worth a word; without notes, which are of the machine, such as whether this is a disk."""
    found = diagnose(asyncio.run(gather(config)))
    return [one for one in found if one.verdict in (Verdict.WRONG, Verdict.UNAVAILABLE)]


def config_of(mirrord: Mirrord) -> Config:
    return Config(mirrord.mirror, mirrord.data, mirrord.dsn)


def test_a_fresh_installation_is_well_and_nothing_of_the_doctor_stays(mirrord: Mirrord) -> None:
    assert mirrord.dsn is not None
    before = _rows(mirrord.dsn), sorted(mirrord.mirror.rglob("*"))
    done = mirrord.run("doctor", "--json")
    found = {one["check"]: one["verdict"] for one in json.loads(done.stdout)}
    assert {"ok", "note"} >= set(found.values()), done.stdout
    assert done.returncode == 0
    assert found["tenants apart"] == found["feed latency"] == found["watch latency"] == found["tenant demo"] == "ok"
    after = _rows(mirrord.dsn), sorted(mirrord.mirror.rglob("*"))
    assert after == before


def test_a_database_that_is_down_is_said_to_be_and_the_rest_looked_at(mirrord: Mirrord) -> None:
    config = replace(config_of(mirrord), dsn="host=127.0.0.1 port=1 dbname=x connect_timeout=2")
    facts = asyncio.run(gather(config))
    (finding,) = [one for one in diagnose(facts) if one.verdict is Verdict.UNAVAILABLE]
    assert finding.check == "Postgres"
    assert "Postgres is out of reach" in finding.sentence
    assert facts.host.watching is not None
    assert facts.daemon.alive


def test_a_read_only_mirror_is_found(mirrord: Mirrord) -> None:
    with read_only(mirrord.mirror):
        (finding, *_) = odd(config_of(mirrord))
        assert (finding.check, finding.verdict) == ("mirror", Verdict.UNAVAILABLE)
        assert "Read-only file system" in finding.sentence
        assert mirrord.run("doctor").returncode == UNAVAILABLE


@pytest.mark.parametrize(
    ("broken", "words"),
    [
        ("ALTER TABLE mirrord.page NO FORCE ROW LEVEL SECURITY", "not forced on page"),
        ("CREATE POLICY careless ON mirrord.page TO mirrord_app USING (true)", "an app one tenant reads another's"),
        ("CREATE POLICY careless ON mirrord.page TO mirrord_daemon USING (true)", "mirrord itself one tenant reads"),
    ],
)
def test_a_hole_between_tenants_is_found(fresh_dsn: str, tmp_path: Path, broken: str, words: str) -> None:
    with psycopg.connect(fresh_dsn, autocommit=True) as connection:
        connection.execute(broken.encode())
    found = {one.check: one for one in odd(Config(tmp_path, tmp_path, fresh_dsn))}
    assert words in found["tenants apart"].sentence


def test_a_database_without_a_schema_is_not_given_one(empty_dsn: str, tmp_path: Path) -> None:
    found = {one.check: one for one in odd(Config(tmp_path, tmp_path, empty_dsn))}
    assert "has schema 0" in found["schema"].sentence
    with psycopg.connect(empty_dsn) as connection:
        assert connection.execute("SELECT to_regnamespace('mirrord')").fetchone() == (None,)


def test_an_embedded_cluster_is_not_made_by_asking(tmp_path: Path) -> None:
    assert [one.check for one in odd(Config(tmp_path, tmp_path))] == ["daemon"]
    assert not (tmp_path / "pg").exists()


def test_what_was_missed_is_mended_and_what_stays_is_explained(mirrord: Mirrord) -> None:
    """A row that was written behind all triggers is noticed by nobody until everything is read again."""
    assert mirrord.dsn is not None
    save(mirrord.file("Missed.md"), "as it was\n")
    page = eventually(lambda: mirrord.page("Missed.md"), "a row of the page")
    mirrord.file("Not text.md").write_bytes(b"\xff\xfe")
    with psycopg.connect(mirrord.dsn, autocommit=True) as connection:
        connection.execute("SET session_replication_role = replica")
        connection.execute(
            "UPDATE mirrord.page SET markdown = 'behind', digest = %s WHERE id = %s", [uuid4().bytes * 2, page.id]
        )
    done = mirrord.run("check", "--fix", "--json")
    (listed,) = json.loads(done.stdout).values()
    found = {one["path"]: one for one in listed}
    assert found["Missed.md"]["was"] in ("STALE", "DIFFERS")
    assert mirrord.text("Missed.md") == "behind"
    assert found["Not text.md"]["verdict"] == "EXTRA"
    assert "UTF-8" in found["Not text.md"]["why"]
    assert done.returncode == 1

    mirrord.file("Not text.md").unlink()
    look_everywhere(mirrord)
    assert mirrord.check() == {}


def _rows(dsn: str) -> list[tuple[object, ...]]:
    with psycopg.connect(dsn) as connection:
        return connection.execute(
            "SELECT t.name, count(p.id) FROM mirrord.tenant AS t LEFT JOIN mirrord.page AS p ON p.tenant_id = t.id "
            "GROUP BY t.name ORDER BY t.name"
        ).fetchall()
