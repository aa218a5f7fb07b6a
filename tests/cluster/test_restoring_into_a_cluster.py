"""The way from one server to a cluster: a tenant's backup is restored there, with its history, and goes on."""

from pathlib import Path

import psycopg
import pytest
from psycopg import sql

from tests.support.citus_nodes import CitusCluster
from tests.support.cluster_mirrord import ClusterMirrord
from tests.support.commands import Near
from tests.support.editors import save
from tests.support.entries import value
from tests.support.harness import eventually

TABLES = ("page", "page_revision", "attachment", "attachment_revision", "blob", "record", "event", "entry_feed")


@pytest.fixture
def backup(tmp_path: Path) -> tuple[Path, dict[str, int]]:
    """The backup of a tenant of an embedded Postgres, and how many rows it had in each table."""
    with Near(tmp_path / "plain") as mirrord:
        mirrord.up()
        save(mirrord.file("Page.md"), "# Page\n\nfirst, see [[Other]]\n")
        save(mirrord.file("Folder/Other.md"), "---\ntitle: Other\n---\n\nwords\n")
        save(mirrord.file("assets/picture.png"), "bytes")
        save(mirrord.file("Gone.md"), "gone\n")
        mirrord.flush()
        save(mirrord.file("Page.md"), "# Page\n\nsecond, see [[Other]]\n")
        mirrord.file("Gone.md").unlink()
        mirrord.flush()
        created = mirrord.run("backup", "create", str(tmp_path / "backup"))
        assert created.returncode == 0, created.stderr
        return tmp_path / "backup", _count(mirrord.postgres.dsn())


def test_a_backup_of_one_server_goes_on_in_a_cluster(
    citus: CitusCluster, backup: tuple[Path, dict[str, int]], tmp_path: Path
) -> None:
    directory, counts = backup
    citus.create_database("restored")
    (tmp_path / "cluster").mkdir()
    with ClusterMirrord(tmp_path / "cluster", citus, "restored") as mirrord:
        restored = mirrord.run("backup", "restore", str(directory))
        assert restored.returncode == 0, restored.stderr
        assert _count(mirrord.dsn or "") == counts
        mirrord.up()
        eventually(lambda: mirrord.text("Page.md") == "# Page\n\nsecond, see [[Other]]\n", "the files of the rows")
        assert mirrord.check() == {}
        save(mirrord.file("Page.md"), "# Page\n\nthird\n")
        page = eventually(lambda: mirrord.page("Page.md"), "the row of the page")
        versions = "SELECT max(version) FROM mirrord.page_revision WHERE tenant_id = %s AND page_id = %s"
        eventually(lambda: value(mirrord.app, versions, mirrord.tenant_id, page.id) == 3, "the third version")


def test_a_backup_of_a_cluster_goes_on_in_another_database_of_it(citus: CitusCluster, tmp_path: Path) -> None:
    citus.create_database("earlier")
    with ClusterMirrord(tmp_path / "earlier", citus, "earlier") as mirrord:
        mirrord.up()
        save(mirrord.file("Page.md"), "# Page\n\nfirst\n")
        mirrord.flush()
        save(mirrord.file("Page.md"), "# Page\n\nsecond\n")
        save(mirrord.file("assets/picture.png"), "bytes")
        mirrord.flush()
        created = mirrord.run("backup", "create", str(tmp_path / "backup"))
        assert created.returncode == 0, created.stderr
        counts = _count(mirrord.dsn or "")
    citus.create_database("newer")
    (tmp_path / "newer").mkdir()
    with ClusterMirrord(tmp_path / "newer", citus, "newer") as mirrord:
        restored = mirrord.run("backup", "restore", str(tmp_path / "backup"))
        assert restored.returncode == 0, restored.stderr
        assert _count(mirrord.dsn or "") == counts
        mirrord.up()
        eventually(lambda: mirrord.text("Page.md") == "# Page\n\nsecond\n", "the file of the row")
        assert mirrord.check() == {}


def _count(dsn: str) -> dict[str, int]:
    with psycopg.connect(dsn) as connection:
        counts = {table: sql.SQL("SELECT count(*) FROM mirrord.{}").format(sql.Identifier(table)) for table in TABLES}
        return {table: row[0] for table, query in counts.items() if (row := connection.execute(query).fetchone())}
