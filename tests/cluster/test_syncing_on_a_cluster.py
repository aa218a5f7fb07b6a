"""Files, rows and agents of a daemon whose Postgres is a cluster; and a worker that dies while they write."""

import asyncio
import json
import signal
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from uuid import uuid4

import psycopg
import pytest
from psycopg.types.json import Jsonb

from mirrord.db.database_probe import probe_server
from mirrord.db.migrate import migrate
from tests.support.citus_nodes import CitusCluster, Node
from tests.support.clients import on_stdio, process
from tests.support.cluster_mirrord import ClusterMirrord
from tests.support.editors import save
from tests.support.entries import value
from tests.support.harness import eventually
from tests.support.rows import Connection, Page

_SHARD = "SELECT get_shard_id_for_distribution_column('mirrord.page', %s::uuid)"
EDITS = 30  # of each side while a worker is down and comes back


@pytest.fixture(scope="module")
def mirrord(citus: CitusCluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ClusterMirrord]:
    """A daemon at work on a database of the cluster, which it migrated itself."""
    citus.create_database("synced")
    with ClusterMirrord(tmp_path_factory.mktemp("mirrord"), citus, "synced") as daemon:
        daemon.up()
        yield daemon


@pytest.fixture
def worker(citus: CitusCluster, mirrord: ClusterMirrord) -> Node:
    """The worker that has the tenant's rows."""
    with psycopg.connect(mirrord.dsn or "") as connection:
        shard = value(connection, _SHARD, mirrord.tenant_id)
        port = value(connection, "SELECT nodeport FROM citus_shards WHERE shardid = %s", shard)
    return next(node for node in citus.workers if node.port == port)


def test_a_new_file_becomes_a_row_with_a_document(mirrord: ClusterMirrord) -> None:
    save(mirrord.file("Notes/New.md"), "# New\n\nA [[Link]].\n")
    page = eventually(lambda: mirrord.page("Notes/New.md"), "a row of the file")
    assert page.markdown == "# New\n\nA [[Link]].\n"
    eventually(lambda: _page(mirrord, "Notes/New.md").content or None, "its document")


def test_an_edited_file_is_the_next_version_of_its_row(mirrord: ClusterMirrord) -> None:
    save(mirrord.file("Edited.md"), "first\n")
    first = eventually(lambda: mirrord.page("Edited.md"), "a row of the file")
    save(mirrord.file("Edited.md"), "second\n")
    eventually(lambda: _page(mirrord, "Edited.md").markdown == "second\n", "the second text in the row")
    assert _page(mirrord, "Edited.md").version == first.version + 1


def test_an_edited_row_changes_its_file(mirrord: ClusterMirrord) -> None:
    save(mirrord.file("Titled.md"), "Words.\n")
    page = eventually(lambda: mirrord.page("Titled.md"), "a row of the file")
    tenant = mirrord.app.tenant
    mirrord.app.execute(
        "UPDATE mirrord.page SET title = 'Another title' WHERE tenant_id = %s AND id = %s", [tenant, page.id]
    )
    eventually(lambda: "title: Another title" in (mirrord.text("Titled.md") or ""), "the title in the file")


def test_an_inserted_row_becomes_a_file_and_a_deleted_one_takes_it_away(mirrord: ClusterMirrord) -> None:
    tenant = mirrord.app.tenant
    row = mirrord.app.execute(
        "INSERT INTO mirrord.page (tenant_id, title, markdown) VALUES (%s, 'From a row', %s) RETURNING id",
        [tenant, "Words of an app.\n"],
    ).fetchone()
    assert row is not None
    eventually(lambda: (mirrord.text("From a row.md") or "").endswith("Words of an app.\n"), "a file of the row")
    assert (
        mirrord.app.execute("DELETE FROM mirrord.page WHERE tenant_id = %s AND id = %s", [tenant, row[0]]).rowcount == 1
    )
    eventually(lambda: not mirrord.file("From a row.md").exists(), "the file is gone")


def test_an_ordinary_editor_reads_and_writes_a_page(mirrord: ClusterMirrord) -> None:
    save(mirrord.file("Shown.md"), "A ==marked== word and [[Link]].\n")
    page = eventually(lambda: mirrord.page("Shown.md"), "a row of the file")
    eventually(lambda: _page(mirrord, "Shown.md").content, "its document")
    document = value(mirrord.app, "SELECT mirrord.document(%s)", page.id)
    read = "SELECT content FROM mirrord.page_editor WHERE tenant_id = %s AND id = %s"
    assert value(mirrord.app, read, mirrord.app.tenant, page.id) == document
    text = json.dumps(document)
    assert "wikilink" not in text
    write = "SELECT mirrord.write_document(%s, %s, %s)"
    edited = Jsonb(json.loads(text.replace(" word", " words")))
    assert value(mirrord.app, write, page.id, page.version, edited) == page.version + 1
    expected = "A ==marked== words and [[Link]].\n"
    eventually(lambda: mirrord.text("Shown.md") == expected, "the word in the file")


def test_a_column_that_an_app_may_not_set_keeps_its_value(mirrord: ClusterMirrord) -> None:
    page, tenant = uuid4(), mirrord.app.tenant
    mirrord.app.execute(
        "INSERT INTO mirrord.page (tenant_id, id, title, markdown, version, created_at, deleted_at) "
        "VALUES (%s, %s, 'Old', 'x', 7, '2001-01-01', '2002-02-02')",
        [tenant, page],
    )
    query = "SELECT created_at > '2020-01-01', deleted_at FROM mirrord.page WHERE tenant_id = %s AND id = %s"
    assert mirrord.app.execute(query.encode(), [tenant, page]).fetchone() == (True, None)
    versions = "SELECT version FROM mirrord.page_revision WHERE tenant_id = %s AND page_id = %s ORDER BY 1 LIMIT 1"
    assert value(mirrord.app, versions, tenant, page) == 1


def test_a_renamed_folder_keeps_its_pages(mirrord: ClusterMirrord) -> None:
    for number in range(20):
        save(mirrord.file(f"Folder/Page {number:02}.md"), f"text {number}\n")
    mirrord.flush()
    ids = {number: _page(mirrord, f"Folder/Page {number:02}.md").id for number in range(20)}
    mirrord.file("Folder").rename(mirrord.file("Renamed"))
    eventually(lambda: mirrord.page("Renamed/Page 19.md"), "the pages in the renamed folder")
    mirrord.flush()
    assert {number: _page(mirrord, f"Renamed/Page {number:02}.md").id for number in range(20)} == ids


async def test_an_agent_writes_a_page_and_is_its_author(mirrord: ClusterMirrord) -> None:
    surroundings = {"MIRRORD_TOKEN": mirrord.create_token("writer")}
    async with on_stdio(process(mirrord.mirror, surroundings)) as agent:
        await agent.call("create_page", title="Agent", content="Words of an agent.\n")
    page = eventually(lambda: mirrord.page("Agent.md"), "a row of the agent's page")
    assert (page.markdown or "").endswith("Words of an agent.\n")
    author = "SELECT updated_by ->> 'name' FROM mirrord.page WHERE tenant_id = %s AND id = %s"
    eventually(lambda: value(mirrord.app, author, mirrord.app.tenant, page.id) == "writer", "the agent as the author")


async def test_an_agent_undoes_deletions_that_wait_and_what_comes_back_from_the_trash(mirrord: ClusterMirrord) -> None:
    texts = {f"Doomed/Doomed {number:02}.md": f"text {number}\n" for number in range(EDITS)}
    for path, text in {**texts, "Doomed/assets/picture.txt": "bytes\n"}.items():
        save(mirrord.file(path), text)
    mirrord.flush()
    surroundings = {"MIRRORD_TOKEN": mirrord.create_token("undoer")}
    server = process(mirrord.mirror, surroundings, "--tools", "pages,changes")
    halts = "SELECT count(*) FROM mirrord.halt WHERE tenant_id = %s AND closed_at IS NULL"
    rows = "SELECT count(*) FROM mirrord.page WHERE tenant_id = %s AND name LIKE 'Doomed %%' AND deleted_at IS NULL"
    async with on_stdio(server) as agent:
        deleted = await agent.call("delete_page", path="Doomed", recursive=True)
        eventually(lambda: value(mirrord.app, halts, mirrord.app.tenant), "the halt", 60.0)
        undone = await agent.call("undo_changes")
        assert (undone["undone"], undone["left"]) == (True, [])
        eventually(lambda: {path: mirrord.text(path) for path in texts} == texts, "the files to be back", 60.0)
        eventually(lambda: not value(mirrord.app, halts, mirrord.app.tenant), "the halt to end", 60.0)
        redone = await agent.call("undo_changes", changeSet=undone["changeSet"])
        assert (redone["undone"], redone["left"]) == (True, [])
        eventually(lambda: not mirrord.file("Doomed").exists(), "the files to go", 60.0)
    async with on_stdio(server) as agent:
        await agent.call("restore_page", trashId=deleted["trashId"])
        eventually(lambda: value(mirrord.app, rows, mirrord.app.tenant) == EDITS, "the rows", 60.0)
        mirrord.flush()
        assert (await agent.call("undo_changes"))["undone"]
        eventually(lambda: not mirrord.file("Doomed").exists(), "the files to go again", 60.0)


def test_nothing_is_lost_when_a_worker_dies_while_files_and_rows_are_edited(
    mirrord: ClusterMirrord, worker: Node
) -> None:
    save(mirrord.file("Row.md"), "of the row\n")
    page = eventually(lambda: mirrord.page("Row.md"), "a row of the file")
    committed: list[str] = []
    for number in range(EDITS):
        if number == EDITS // 3:
            worker.end(signal.SIGQUIT)
        if number == 2 * EDITS // 3:
            worker.start()
        save(mirrord.file(f"While/{number:02}.md"), f"file {number}\n")
        if _write_row(mirrord, page.id, f"row {number}\n"):
            committed.append(f"row {number}\n")
    assert len(committed) >= EDITS // 2
    mirrord.flush(120)
    assert mirrord.text("Row.md") == committed[-1]
    rows = {number: _page(mirrord, f"While/{number:02}.md").markdown for number in range(EDITS)}
    assert rows == {number: f"file {number}\n" for number in range(EDITS)}
    assert set(committed) <= _versions(mirrord, page.id)
    assert mirrord.check() == {}


@pytest.mark.parametrize("mode", ["block_writes", "force_logical"])
def test_nothing_is_lost_when_a_shard_moves_while_files_and_rows_are_edited(
    citus: CitusCluster, mirrord: ClusterMirrord, worker: Node, mode: str
) -> None:
    save(mirrord.file(f"Moved {mode}.md"), "of the row\n")
    page = eventually(lambda: mirrord.page(f"Moved {mode}.md"), "a row of the file")
    target = next(node for node in citus.workers if node.port != worker.port)
    with ThreadPoolExecutor(1) as pool:
        move = pool.submit(_move_shard, mirrord, (worker, target), mode)
        committed: list[str] = []
        while not move.done() or len(committed) < EDITS:
            save(mirrord.file(f"{mode}/{len(committed) % EDITS:02}.md"), f"file {len(committed)}\n")
            if _write_row(mirrord, page.id, f"row {len(committed)}\n"):
                committed.append(f"row {len(committed)}\n")
        move.result()
    mirrord.flush(120)
    assert mirrord.text(f"Moved {mode}.md") == committed[-1]
    assert set(committed) <= _versions(mirrord, page.id)
    assert mirrord.check() == {}


def _move_shard(mirrord: ClusterMirrord, nodes: tuple[Node, Node], mode: str) -> None:
    """Move the tenant's rows from the first node to the second, as an operator does."""
    with psycopg.connect(mirrord.dsn or "", autocommit=True) as connection:
        connection.execute("ALTER ROLE mirrord_owner LOGIN")
        shard = value(connection, _SHARD, mirrord.tenant_id)
        eventually(lambda: _is_cleaned_up(connection), "what the move before left is cleaned up")
        connection.execute(
            "SELECT citus_move_shard_placement(%s, 'localhost', %s, 'localhost', %s, %s)",
            [shard, nodes[0].port, nodes[1].port, mode],
        )
    asyncio.run(migrate(mirrord.dsn or ""))
    assert (
        "The owner of mirrord's tables may log in."
        not in asyncio.run(probe_server(mirrord.dsn or "")).excess_app_rights
    )


def _is_cleaned_up(connection: Connection) -> bool:
    """Let Citus drop the shards that moves have left; False while something else still holds one."""
    connection.execute("CALL citus_cleanup_orphaned_resources()")
    remaining: int = value(connection, "SELECT count(*) FROM pg_catalog.pg_dist_cleanup")
    return remaining == 0


def test_two_daemons_keep_their_trees_equal_and_one_is_killed(
    citus: CitusCluster, mirrord: ClusterMirrord, tmp_path: Path
) -> None:
    with ClusterMirrord(tmp_path, citus, "synced") as second:
        second.up()
        save(mirrord.file("Both.md"), "from the first\n")
        eventually(lambda: second.text("Both.md") == "from the first\n", "the file of the first daemon")
        second.kill()
        save(second.file("Saved meanwhile.md"), "of the second, while it was dead\n")
        save(mirrord.file("Both.md"), "again from the first\n")
        mirrord.flush()
        second.up()
        eventually(lambda: second.text("Both.md") == "again from the first\n", "the edit made while it was dead")
        eventually(lambda: mirrord.text("Saved meanwhile.md"), "the save made while it was dead")
        second.flush()
        assert second.check() == {}
    assert mirrord.check() == {}


def test_engine_processes_share_the_tenants_of_a_cluster(citus: CitusCluster, tmp_path: Path) -> None:
    citus.create_database("shared")
    with ClusterMirrord(tmp_path, citus, "shared") as mirrord:
        mirrord.up("--processes", "2")
        save(mirrord.file("Page.md"), "of two processes\n")
        page = eventually(lambda: mirrord.page("Page.md"), "a row of the file")
        assert page.markdown == "of two processes\n"


def test_a_tree_that_becomes_a_vault_of_obsidian_is_synced_on(citus: CitusCluster, tmp_path: Path) -> None:
    """Links have other meanings then: they are looked up again before the dialect is stored."""
    citus.create_database("vaults")
    links = "SELECT count(*) FROM mirrord.page_link WHERE tenant_id = %s AND NOT due"
    with ClusterMirrord(tmp_path, citus, "vaults") as mirrord:
        mirrord.up()
        save(mirrord.file("Linking.md"), "To [[Linked]].\n")
        eventually(lambda: value(mirrord.app, links, mirrord.tenant_id), "the link in its row")
        assert mirrord.stop() == 0
        mirrord.file(".obsidian").mkdir()
        mirrord.up()
        dialect = value(mirrord.app, "SELECT dialect FROM mirrord.tenant WHERE id = %s", mirrord.tenant_id)
        assert dialect == "obsidian"
        save(mirrord.file("Linked.md"), "in a vault\n")
        page = eventually(lambda: mirrord.page("Linked.md"), "a row of the file")
        assert page.markdown == "in a vault\n"


def test_the_doctor_finds_nothing_wrong(mirrord: ClusterMirrord) -> None:
    checkup = mirrord.run("doctor")
    assert checkup.returncode == 0, checkup.stdout + checkup.stderr


def _versions(mirrord: ClusterMirrord, page: object) -> set[str | None]:
    """Every text that the page has had."""
    query = "SELECT markdown FROM mirrord.page_revision WHERE tenant_id = %s AND page_id = %s"
    with psycopg.connect(mirrord.dsn or "") as connection:
        return {text for (text,) in connection.execute(query, [mirrord.tenant_id, page]).fetchall()}


def _write_row(mirrord: ClusterMirrord, page: object, markdown: str) -> bool:
    """Whether the text was committed."""
    statement = "UPDATE mirrord.page SET markdown = %s WHERE tenant_id = %s AND id = %s"
    try:
        return mirrord.app.execute(statement, [markdown, mirrord.app.tenant, page]).rowcount == 1
    except psycopg.Error:
        return False


def _page(mirrord: ClusterMirrord, path: str) -> Page:
    page = mirrord.page(path)
    assert page is not None, f"no row at {path!r}"
    return page
