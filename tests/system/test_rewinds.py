"""
A side that goes back in time: a tree put back from a copy, a database restored or failed over (docs/design/sync.md,
Rewind).
"""

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from uuid import UUID

import psycopg
import pytest

from mirrord.db import mirror_leases
from mirrord.db.database import Database
from mirrord.db.server.embedded_server import EmbeddedPostgres
from mirrord.domain.entry import TenantId
from tests.support.clusters import place_cluster
from tests.support.commands import Near
from tests.support.editors import save
from tests.support.harness import Mirrord, eventually
from tests.support.health import assert_syncs, differing, look_everywhere
from tests.support.trees import tree


@pytest.fixture
def mirrord(fresh_dsn: str, tmp_path: Path) -> Iterator[Mirrord]:
    """An installation on a database of its own; its daemon is down."""
    with Near(tmp_path, dsn=fresh_dsn) as installed:
        yield installed


@pytest.fixture
def postgres(tmp_path: Path) -> Iterator[EmbeddedPostgres]:
    """A server whose cluster may be copied and put back."""
    place_cluster(tmp_path / "postgres")
    server = EmbeddedPostgres(tmp_path / "postgres")
    server.start()
    yield server
    server.stop()


def test_a_tree_put_back_from_a_copy_undoes_nothing(mirrord: Mirrord, tmp_path: Path) -> None:
    for name in ("Edited", "By row", "Deleted", "Moved", "Moved and edited", "Kept", "Changed in the copy"):
        save(mirrord.file(f"{name}.md"), f"{name}, first\n")
    save(mirrord.file("assets/picture.png"), b"first")
    _settle(mirrord)
    mirrord.stop()
    shutil.copytree(mirrord.root, tmp_path / "copy", symlinks=True)
    mirrord.up()
    save(mirrord.file("Edited.md"), "Edited, second\n")
    save(mirrord.file("New.md"), "New\n")
    save(mirrord.file("assets/picture.png"), b"second")
    mirrord.file("Deleted.md").unlink()
    for name in ("Moved", "Moved and edited"):
        mirrord.file(f"{name}.md").rename(mirrord.file(f"{name} away.md"))
    row = mirrord.page("By row")
    assert row is not None
    mirrord.app.execute("UPDATE mirrord.page SET markdown = 'By row, second' WHERE id = %s", [row.id])
    look_everywhere(mirrord)
    save(mirrord.file("Moved and edited away.md"), "Moved and edited, second\n")
    _settle(mirrord)
    before = _rows(mirrord)
    mirrord.stop()

    _put_back(tmp_path / "copy", mirrord.root)
    save(mirrord.file("Changed in the copy.md"), "Changed in the copy, by somebody\n")
    mirrord.up()
    _settle(mirrord)

    changed = {page: version for page, version in _rows(mirrord).items() if before.get(page) != version}
    assert [name for name, _ in changed] == ["Changed in the copy"]
    assert _texts(mirrord) == {
        "Edited.md": "Edited, second\n",
        "By row.md": "By row, second",
        "Moved away.md": "Moved, first\n",
        "Moved and edited away.md": "Moved and edited, second\n",
        "New.md": "New\n",
        "Kept.md": "Kept, first\n",
        "Changed in the copy.md": "Changed in the copy, by somebody\n",
        "assets/picture.png": "second",
    }
    assert _halts(mirrord) == ["tree-rewind"]
    assert_syncs(mirrord)


def test_a_tree_put_back_after_the_daemon_was_killed_is_noticed_too(mirrord: Mirrord, tmp_path: Path) -> None:
    save(mirrord.file("Page.md"), "first\n")
    _settle(mirrord)
    mirrord.stop()
    shutil.copytree(mirrord.root, tmp_path / "copy", symlinks=True)
    mirrord.up()
    save(mirrord.file("Page.md"), "second\n")
    look_everywhere(mirrord)
    mirrord.kill()
    mirrord.end_workers()
    _put_back(tmp_path / "copy", mirrord.root)
    mirrord.up()
    look_everywhere(mirrord)
    assert mirrord.text("Page.md") == "second\n"
    assert differing(mirrord) == []


def test_no_restart_looks_like_a_rewind(mirrord: Mirrord) -> None:
    save(mirrord.file("Page.md"), "first\n")
    _settle(mirrord)
    for end in (mirrord.stop, mirrord.kill, mirrord.kill):
        save(mirrord.file("Page.md"), f"{end}\n")
        end()
        mirrord.up()
    mirrord.file("Page.md").unlink()
    eventually(lambda: mirrord.page("Page.md") is None, "the deletion to spread")
    assert _halts(mirrord) == []


def test_a_database_put_back_to_an_earlier_point_is_healed_by_the_files(
    postgres: EmbeddedPostgres, tmp_path: Path
) -> None:
    with Near(tmp_path, dsn=postgres.dsn()) as mirrord:
        _edit_after_a_copy(mirrord, postgres, tmp_path / "copy")
        postgres.stop()
        _put_back(tmp_path / "copy", postgres.cluster)
        postgres.start()
        eventually(lambda: _halts(mirrord) == ["database-rewind"], "the rewind to be told")
        _assert_healed(mirrord)
        mirrord.stop()


def test_a_database_put_back_while_the_daemon_was_down_is_healed_by_the_files(
    postgres: EmbeddedPostgres, tmp_path: Path
) -> None:
    with Near(tmp_path, dsn=postgres.dsn()) as mirrord:
        _edit_after_a_copy(mirrord, postgres, tmp_path / "copy")
        mirrord.stop()
        postgres.stop()
        _put_back(tmp_path / "copy", postgres.cluster)
        postgres.start()
        page = mirrord.page("Kept")
        assert page is not None
        for number in range(50):  # apps go on, past what the tree remembers
            mirrord.app.execute("UPDATE mirrord.page SET markdown = %s WHERE id = %s", [f"{number}", page.id])
        mirrord.up()
        eventually(lambda: _halts(mirrord) == ["database-rewind"], "the rewind to be told")
        _assert_healed(mirrord, kept_text="49")
        mirrord.stop()


def test_a_mirror_the_restored_database_never_knew_is_taken_in_whole(
    postgres: EmbeddedPostgres, tmp_path: Path
) -> None:
    with Near(tmp_path, dsn=postgres.dsn()) as mirrord:
        assert mirrord.run("init", mirrord.tenant).returncode == 0
        mirrord.up()
        mirrord.stop()
        with psycopg.connect(postgres.dsn(), autocommit=True) as connection:
            connection.execute("DELETE FROM mirrord.mirror")
        _copy_stopped(postgres, tmp_path / "copy")
        mirrord.up()
        save(mirrord.file("Page.md"), "a page\n")
        _settle(mirrord)
        postgres.stop()
        _put_back(tmp_path / "copy", postgres.cluster)
        postgres.start()
        eventually(lambda: mirrord.page("Page.md"), "the page again", 40)
        _settle(mirrord)
        assert mirrord.text("Page.md") == "a page\n"
        mirrord.stop()


def test_a_dump_restored_in_another_cluster_goes_on_and_its_clock_forgets_the_old_transactions(
    postgres: EmbeddedPostgres, tmp_path: Path
) -> None:
    other = EmbeddedPostgres(tmp_path / "other")
    with Near(tmp_path, dsn=postgres.dsn()) as mirrord:
        save(mirrord.file("Page.md"), "first\n")
        mirrord.up()
        _settle(mirrord)
        mirrord.stop()
        before = _rows(mirrord)
        other.start()
        try:
            _dump_and_restore(postgres, other)
            mirrord.close()
            postgres.stop()
            mirrord.dsn, mirrord._app_dsn = other.dsn(), None
            mirrord.up()
            look_everywhere(mirrord)
            assert _rows(mirrord) == before
            assert _halts(mirrord) == []
            with psycopg.connect(other.dsn(), autocommit=True) as connection:
                stale = "SELECT count(*) FROM mirrord.tenant_clock WHERE xid >= pg_snapshot_xmax(pg_current_snapshot())"
                assert connection.execute(stale).fetchone() == (0,)
            assert_syncs(mirrord)
            mirrord.stop()
        finally:
            other.stop()


async def test_a_clock_forgets_the_transactions_of_another_cluster(
    database: Database, tenant: TenantId, admin_dsn: str
) -> None:
    """Their numbers come again: a transaction that looks like an earlier one would not ring."""
    with psycopg.connect(admin_dsn, autocommit=True) as connection:
        connection.execute("UPDATE mirrord.epoch SET system = 1")
        connection.execute("UPDATE mirrord.tenant_clock SET xid = '1000000' WHERE tenant_id = %s", [tenant])
        query = "SELECT xid IS NULL FROM mirrord.tenant_clock WHERE tenant_id = %s"
        async with database.connection() as other_connection:
            first = await mirror_leases.load_epoch(other_connection)
        assert connection.execute(query, [tenant]).fetchone() == (True,)
        connection.execute("UPDATE mirrord.tenant_clock SET xid = '1000000' WHERE tenant_id = %s", [tenant])
        async with database.connection() as other_connection:
            assert await mirror_leases.load_epoch(other_connection) == first
        assert connection.execute(query, [tenant]).fetchone() == (False,)
        connection.execute("UPDATE mirrord.epoch SET id = gen_random_uuid()")
        async with database.connection() as other_connection:
            assert await mirror_leases.load_epoch(other_connection) != first


def _edit_after_a_copy(mirrord: Mirrord, postgres: EmbeddedPostgres, copy: Path) -> None:
    """The daemon runs; the *copy* is of a cluster that knows none of the edits."""
    for name in ("Edited", "By row", "Deleted", "Moved", "Kept"):
        save(mirrord.file(f"{name}.md"), f"{name}, first\n")
    mirrord.up()
    _settle(mirrord)
    _copy_stopped(postgres, copy)
    _edit_everything(mirrord)


def _edit_everything(mirrord: Mirrord) -> None:
    save(mirrord.file("Edited.md"), "Edited, second\n")
    save(mirrord.file("New.md"), "New\n")
    mirrord.file("Deleted.md").unlink()
    mirrord.file("Moved.md").rename(mirrord.file("Moved away.md"))
    page = mirrord.page("By row")
    assert page is not None
    mirrord.app.execute("UPDATE mirrord.page SET markdown = 'By row, second' WHERE id = %s", [page.id])
    eventually(lambda: mirrord.page("Deleted") is None, "the deletion to spread")
    _settle(mirrord)


def _assert_healed(mirrord: Mirrord, kept_text: str = "Kept, first\n") -> None:
    """The files brought the lost tail back; of a deletion that was lost, nothing is known."""
    _settle(mirrord)
    assert _texts(mirrord) == {
        "Edited.md": "Edited, second\n",
        "By row.md": "By row, second",
        "Deleted.md": "Deleted, first\n",
        "Moved away.md": "Moved, first\n",
        "New.md": "New\n",
        "Kept.md": kept_text,
    }
    assert_syncs(mirrord)


def _settle(mirrord: Mirrord) -> None:
    if not mirrord.running:
        mirrord.up()
    look_everywhere(mirrord)
    assert differing(mirrord) == []


def _halts(mirrord: Mirrord) -> list[str]:
    query = "SELECT reason FROM mirrord.halt WHERE closed_at IS NULL ORDER BY id"
    try:
        return [reason for (reason,) in mirrord.app.execute(query).fetchall()]
    except psycopg.OperationalError:
        return []


def _rows(mirrord: Mirrord) -> dict[tuple[str, UUID], tuple[int, bool]]:
    query = "SELECT name, id, version, deleted_at IS NOT NULL FROM mirrord.page"
    return {(name, page): (version, dead) for name, page, version, dead in mirrord.app.execute(query).fetchall()}


def _texts(mirrord: Mirrord) -> dict[str, str]:
    return {path: content.decode() for path, content in tree(mirrord.root).items() if not path.startswith("Canary")}


def _put_back(copy: Path, place: Path) -> None:
    shutil.rmtree(place)
    shutil.copytree(copy, place, symlinks=True)


def _copy_stopped(postgres: EmbeddedPostgres, target: Path) -> None:
    postgres.stop()
    shutil.copytree(postgres.cluster, target, symlinks=True)
    postgres.start()


def _dump_and_restore(source: EmbeddedPostgres, target: EmbeddedPostgres) -> None:
    dump = subprocess.run(
        [EmbeddedPostgres.program_path("pg_dumpall"), "--clean", "--if-exists", "-d", source.dsn(database="postgres")],
        capture_output=True,
        check=True,
    )
    subprocess.run(
        [EmbeddedPostgres.program_path("psql"), "-q", "-d", target.dsn(database="postgres")],
        input=dump.stdout,
        capture_output=True,
        check=True,
    )
