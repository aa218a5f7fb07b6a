"""A tenant comes back from its backup as it was: every column, every file, whatever interrupted the way there."""

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

import psycopg
import pytest
from psycopg import errors, sql
from psycopg.types.json import Jsonb

from mirrord.db.database import Database, app_dsn, daemon_dsn
from mirrord.db.snapshot_rows import restore_transaction
from mirrord.db.tenant_rows import ensure_tenant
from mirrord.domain.entry import TenantId
from mirrord.mirror.backup.backup_directory import Backups
from mirrord.mirror.tree.tenant_tree import Tree
from mirrord.operations.tenant_backup import BackupChecker
from mirrord.operations.tenant_check import Verdict, check_tree
from tests.support.commands import Done, Near, run_command
from tests.support.editors import save
from tests.support.entries import add, add_page, change, history, row_of, value
from tests.support.harness import eventually
from tests.support.mirrors import opened_mirror
from tests.support.rows import Connection
from tests.support.trees import tree

# All other tables with a tenant: what follows from the feed, and what a mirror remembers, which belongs to its host.
NOT_KEPT = {
    *("tenant_clock", "link_name", "link_cursor", "segment_cursor", "event_outbox", "event_claim"),
    *("mirror", "mirror_base", "halt", "problem", "tenant_claim", "page_search", "search_due"),
    *("binding", "binding_entry", "former_binding_entry"),  # of tables of an app in the same database
}
PICTURE = os.urandom(1 << 20) + b"the second part"
ASKED = """
INSERT INTO mirrord.approval (id, mirror_id, command, arguments, arguments_digest, actor, preview, level, expires_at)
VALUES (gen_random_uuid(), gen_random_uuid(), 'delete_page', '{}', 'x', '{"kind": "agent", "name": "a"}',
        '{"summary": "x"}', 'REQUIRE', 'infinity') RETURNING id"""


@dataclass(frozen=True, slots=True)
class BackupSample:
    """An installation whose daemon is down, and the directory with the one backup that was made of it."""

    mirrord: Near
    tenant: TenantId
    directory: Path


@pytest.fixture(scope="module")
def sample(module_dsn: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[BackupSample]:
    """A tenant with a past; rows and files went apart after its daemon was stopped."""
    place = tmp_path_factory.mktemp("backups")
    with Near(place, dsn=module_dsn) as mirrord:
        mirrord.up()
        tenant = TenantId(value(mirrord.app, "SELECT id FROM tenant"))
        _live(mirrord)
        mirrord.flush()
        mirrord.stop()
        _decide(module_dsn, tenant)
        save(mirrord.file("Page.md"), "# Page\n\nnewest, and in no row\n")
        save(mirrord.file("notes.txt"), "not synced\n")
        save(mirrord.file("assets/big.bin"), PICTURE + b"newer")
        Path(os.fsdecode(os.fsencode(mirrord.root) + b"/not-\xff-utf8")).write_text("odd")
        result = _create(mirrord, place / "kept")
        assert result.code == 0, result.err
        yield BackupSample(mirrord, tenant, place / "kept")


def _live(mirrord: Near) -> None:
    """Versions from files and apps, links, folders, attachments, records, conflicts, tombstones."""
    save(mirrord.file("Page.md"), "# Page\n\none, see [[Child]]\n")
    save(mirrord.file("Folder/Child.md"), "---\ntitle: Ein Kind\ntags: [a, b]\n---\n\ntext\n")
    save(mirrord.file("assets/big.bin"), PICTURE)
    save(mirrord.file("Gone.md"), "gone\n")
    mirrord.file("Empty").mkdir()
    page = eventually(lambda: mirrord.page("Page.md"), "a row")
    eventually(lambda: mirrord.page("Gone.md"), "a row")
    add(mirrord.app, "record", kind="category", key="red", data=Jsonb({"dir": "Folder", "patterns": ["*.md"]}))
    change(mirrord.app, page.id, markdown="# Page\n\ntwo, see [[Child]]\n")
    add_page(mirrord.app, title="By an app", content=Jsonb({"type": "doc", "content": []}))
    mirrord.app.execute("DELETE FROM page WHERE name = 'Gone'")
    linked = "SELECT count(*) FROM page_link WHERE source_id = %s AND target_id IS NOT NULL"
    eventually(lambda: value(mirrord.app, linked, page.id), "the link of the newest version")


def _decide(dsn: str, tenant: TenantId) -> None:
    """What only the database tells of: a request and what became of it, a conflict that is settled."""
    with psycopg.connect(daemon_dsn(dsn), autocommit=True) as connection:
        connection.execute(f"SET mirrord.tenant = '{tenant}'".encode())
        request = value(connection, ASKED)
        connection.execute("SELECT mirrord.approve(%s, 'fine')", [request])
        connection.execute("UPDATE mirrord.approval SET state = 'executed', claimed_at = now(), outcome = '{}'")
        connection.execute(
            "INSERT INTO mirrord.conflict (tenant_id, mirror_id, entry_id, path) "
            "SELECT tenant_id, gen_random_uuid(), id, 'Page.md' FROM mirrord.page WHERE name = 'Page'"
        )
        connection.execute("UPDATE mirrord.tenant SET dialect = 'obsidian'")
        change_set = add(connection, "change_set", kind="connection", title="an agent, 10:12", actor=Jsonb({}))
        connection.execute("UPDATE mirrord.page_revision SET change_set = %s WHERE version = 1", [change_set])


def _create(mirrord: Near, directory: Path, *options: str) -> Done:
    return run_command("backup", "create", str(directory), *options, *mirrord.places)


def _restore(sample: BackupSample, dsn: str, into: Path, *options: str) -> Done:
    return run_command("backup", "restore", str(sample.directory), *options, *_places(dsn, into))


def _places(dsn: str, into: Path) -> list[str]:
    return ["--dsn", dsn, "--mirror", str(into / "mirror"), "--data", str(into / "data")]


def _all_rows(dsn: str, tenant: TenantId) -> dict[str, list[Any]]:
    """Every column but the tenant's id, of every table of which a backup has the rows, as Postgres writes it."""
    with psycopg.connect(daemon_dsn(dsn), autocommit=True) as connection:
        connection.execute(f"SET mirrord.tenant = '{tenant}'".encode())
        return {table: _rows(connection, table) for table in value(connection, "SELECT mirrord.kept_tables()")}


def _rows(connection: Connection, table: str) -> list[Any]:
    named = (
        "SELECT column_name FROM information_schema.columns WHERE table_schema = 'mirrord' AND table_name = %s "
        "AND column_name <> 'tenant_id' ORDER BY 1"
    )
    columns = [name for (name,) in connection.execute(named, [table]).fetchall()]
    query = sql.SQL("SELECT {} FROM mirrord.{}").format(
        sql.SQL(", ").join(sql.SQL("{}::text").format(sql.Identifier(name)) for name in columns), sql.Identifier(table)
    )
    rows = [dict(zip(columns, row, strict=True)) for row in connection.execute(query).fetchall()]
    return sorted(rows, key=json.dumps)


def _texts_that_end(app: Connection, end: str) -> list[str]:
    cursor = app.execute("SELECT markdown FROM page WHERE deleted_at IS NULL AND markdown LIKE %s", [f"%{end}"])
    return [text for (text,) in cursor.fetchall()]


def _clock(dsn: str, tenant: TenantId) -> int:
    with psycopg.connect(daemon_dsn(dsn)) as connection:
        return int(value(connection, "SELECT seq FROM mirrord.tenant_clock WHERE tenant_id = %s", tenant))


def test_every_table_with_a_tenant_is_kept_or_known_to_follow_from_others(admin_dsn: str) -> None:
    with psycopg.connect(admin_dsn) as connection:
        tables = connection.execute(
            "SELECT table_name FROM information_schema.columns JOIN information_schema.tables USING (table_name) "
            "WHERE tables.table_schema = 'mirrord' AND table_type = 'BASE TABLE' AND column_name = 'tenant_id'"
        ).fetchall()
        kept_tables = set(value(connection, "SELECT mirrord.kept_tables()"))
    assert {name for (name,) in tables} - kept_tables == NOT_KEPT
    assert kept_tables.isdisjoint(NOT_KEPT)


def test_every_column_comes_back_and_the_tree_is_written_from_them(
    sample: BackupSample, fresh_dsn: str, tmp_path: Path
) -> None:
    result = _restore(sample, fresh_dsn, tmp_path)
    assert result.code == 0, result.err
    assert sample.mirrord.dsn is not None
    rows = _all_rows(fresh_dsn, sample.tenant)
    assert rows == _all_rows(sample.mirrord.dsn, sample.tenant)
    assert [table for table, table_rows in rows.items() if not table_rows and table != "segment_anchor"] == []
    assert _clock(fresh_dsn, sample.tenant) == _clock(sample.mirrord.dsn, sample.tenant)
    with psycopg.connect(fresh_dsn) as connection:  # no number is given twice
        assert value(connection, "SELECT dialect FROM mirrord.tenant WHERE id = %s", sample.tenant) == "obsidian"
        highest = max(int(conflict["id"]) for conflict in rows["conflict"])
        assert value(connection, "SELECT nextval('mirrord.conflict_id_seq')") > highest

    with Near(tmp_path, dsn=fresh_dsn) as restored:
        for command in (("history", "Folder/Child.md", "--json"), ("diff", "Gone.md", "1", "2")):
            assert restored.run(*command).stdout == sample.mirrord.run(*command).stdout
        restored.up()
        restored.flush()
        assert restored.check() == {}
        assert restored.text("Folder/Child.md") == sample.mirrord.text("Folder/Child.md")
        assert restored.text("notes.txt") == "not synced\n"
        assert restored.file("Empty").is_dir()
        page = restored.page("Page.md")
        assert page is not None
        (beside,) = _texts_that_end(restored.app, "newest, and in no row\n")  # both sides, without a common past
        assert restored.text("Page.md") == "# Page\n\ntwo, see [[Child]]\n"
        assert [version["markdown"] for version in history(restored.app, page.id)][-1] == restored.text("Page.md")
        assert beside.startswith("---\nid: ")
        contents = {file.read_bytes() for file in (restored.root / "assets").iterdir()}
        assert {PICTURE, PICTURE + b"newer"} <= contents | {restored.file("assets/big.bin").read_bytes()}
        query = "SELECT count(*) FROM page_link WHERE source_id = %s AND target_id IS NOT NULL"
        assert value(restored.app, query, page.id) == 1
        assert change(restored.app, page.id, title="Goes on") == 1
        add(restored.app, "event", type="PageCreated")


def test_python_alone_gets_the_text_of_every_page_as_the_guide_says(sample: BackupSample, tmp_path: Path) -> None:
    guide = (Path(__file__).parents[2] / "docs" / "operations.md").read_text(encoding="utf-8")
    script = guide.partition("### Without mirrord")[2].partition("```python\n")[2].partition("```")[0]
    (listed,) = (sample.directory / "backups" / "demo").iterdir()
    subprocess.run([sys.executable, "-I", "-S", "-c", script, listed, tmp_path], check=True)
    text_by_path = {str(path.relative_to(tmp_path)): path.read_text() for path in tmp_path.rglob("*.md")}
    assert text_by_path.keys() == {"Page.md", "Folder/Child.md", "By an app.md"}
    assert text_by_path["Folder/Child.md"] == sample.mirrord.text("Folder/Child.md")
    assert text_by_path["Page.md"] == "# Page\n\ntwo, see [[Child]]\n"


def test_a_copy_under_another_name_is_the_same_but_for_its_tenant(sample: BackupSample, tmp_path: Path) -> None:
    dsn = sample.mirrord.dsn
    assert dsn is not None
    result = _restore(sample, dsn, tmp_path, "--as", "twin", "--json")
    assert result.code == 0, result.err
    assert json.loads(result.out)["into"] == str(tmp_path / "mirror" / "twin")
    with psycopg.connect(daemon_dsn(dsn)) as connection:
        twin = TenantId(value(connection, "SELECT id FROM mirrord.tenant WHERE name = 'twin'"))
    assert twin != sample.tenant
    assert _all_rows(dsn, twin) == _all_rows(dsn, sample.tenant)


def test_what_is_there_already_is_not_restored_over(sample: BackupSample, tmp_path: Path) -> None:
    assert sample.mirrord.dsn is not None
    before = _all_rows(sample.mirrord.dsn, sample.tenant)
    for options in ((), ("--as", "demo")):
        result = _restore(sample, sample.mirrord.dsn, tmp_path, *options)
        assert result.code == 4
        assert "has pages already. Restore it --as a new one." in result.err
    assert _all_rows(sample.mirrord.dsn, sample.tenant) == before
    assert not (tmp_path / "mirror" / "demo").exists()


@pytest.fixture
def survivor(sample: BackupSample, fresh_dsn: str, tmp_path: Path) -> Path:
    """A tree that people went on with after the backup from which its rows came back."""
    root = tmp_path / "mirror" / "demo"
    shutil.copytree(sample.mirrord.root, root, symlinks=True)
    save(root / "notes.txt", "newer than the backup\n")
    save(root / "Folder/Child.md", "newer than the backup\n")
    before = _listing(root)
    result = _restore(sample, fresh_dsn, tmp_path, "--json")
    assert result.code == 0, result.err
    beside = tmp_path / "mirror" / "demo.from-backup-1"
    assert json.loads(result.out)["into"] == str(beside)
    assert (beside / "notes.txt").read_text() == "not synced\n"
    assert _listing(root) == before
    return root


async def test_a_tree_that_is_still_there_keeps_its_files_and_each_is_the_page_it_was(
    sample: BackupSample, fresh_dsn: str, survivor: Path, connect: Callable[[str], Connection]
) -> None:
    before = _listing(survivor)
    app = connect(app_dsn(fresh_dsn, sample.tenant))
    async with Database(fresh_dsn) as database, opened_mirror(database, app, survivor.parent, sample.tenant):
        tree = Tree(survivor)
        assert [
            entry for entry in await check_tree(database, sample.tenant, tree) if entry.verdict is not Verdict.OK
        ] == []
        tree.close()
    new_paths = {path.partition(" (conflict")[0] for path in _listing(survivor) - before}
    assert new_paths == {"Page", "Folder/Child", "assets/big"}  # what both sides have, without a common past
    assert (survivor / "notes.txt").read_text() == "newer than the backup\n"
    assert len(_texts_that_end(app, "newer than the backup\n")) == 1


async def test_a_restoration_takes_as_long_as_it_needs(fresh_dsn: str) -> None:
    limits = ("statement_timeout", "idle_in_transaction_session_timeout", "transaction_timeout")
    async with Database(fresh_dsn) as database:
        tenant = await ensure_tenant(database, "large")
        async with restore_transaction(database, tenant, "large") as connection:
            query = "SELECT current_setting(name, true) FROM unnest(%s::text[]) AS name"
            cursor = await connection.execute(query, (list(limits),))
            assert {value for (value,) in await cursor.fetchall()} <= {"0", None}


def _listing(root: Path) -> set[str]:
    return {path for path in tree(root) if not path.startswith(".records")}


def test_what_did_not_change_is_not_stored_again_and_old_backups_go(sample: BackupSample, tmp_path: Path) -> None:
    directory = tmp_path / "kept"
    assert _create(sample.mirrord, directory, "--tenant", "demo").code == 0
    (again,) = json.loads(_create(sample.mirrord, directory, "--tenant", "demo", "--json").out)
    assert (again["number"], again["added"]) == (2, 0)
    save(sample.mirrord.file("another.txt"), "new\n")
    (changed,) = json.loads(_create(sample.mirrord, directory, "--tenant", "demo", "--json", "--keep", "1").out)
    sample.mirrord.file("another.txt").unlink()
    assert changed["removed"] == [1, 2]
    assert changed["added"] == 2  # the file, and the list of files
    assert run_command("backup", "verify", str(directory)).out.split() == ["whole", "3", "demo"]
    everything = set(_objects(directory))
    (fourth,) = json.loads(_create(sample.mirrord, directory, "--tenant", "demo", "--json", "--keep", "1").out)
    assert fourth["added"] == 1  # the list without it
    assert len(everything - set(_objects(directory))) == 2
    modes = {path.stat().st_mode & 0o777 for path in directory.rglob("*")}
    assert modes == {0o600, 0o700}


def _objects(directory: Path) -> list[str]:
    return [path.name for path in (directory / "objects").glob("*/*")]


def test_a_flipped_byte_anywhere_is_found_and_nothing_is_restored(
    sample: BackupSample, fresh_dsn: str, tmp_path: Path
) -> None:
    backups = Backups(sample.directory)
    files = [path for path in sample.directory.rglob("*") if path.is_file()]
    places = [(path, place) for path in files for place in {0, min(8, _last(path)), _last(path) // 2, _last(path)}]
    assert [(path, place) for path, place in places if not _flipped(path, place, lambda: _damages(backups))] == []
    (rows, *_) = [path for path in files if path.suffix == ".gz"]
    result = _flipped(rows, 10, lambda: _restore(sample, fresh_dsn, tmp_path))
    assert result.code == 4
    assert "is damaged, so nothing was restored" in result.err
    assert rows.name in result.err
    assert rows.name in _flipped(rows, 12, lambda: run_command("backup", "verify", str(sample.directory))).out
    with psycopg.connect(daemon_dsn(fresh_dsn)) as connection:
        assert value(connection, "SELECT count(*) FROM mirrord.tenant") == 0
    assert _damages(backups) == []


def _last(path: Path) -> int:
    return path.stat().st_size - 1


def _flipped(path: Path, place: int, act: Callable[[], Any]) -> Any:
    """What *act* returns while one byte of a file is another."""
    data = bytearray(path.read_bytes())
    original = bytes(data)
    data[place] ^= 0x20
    path.write_bytes(data)
    try:
        return act()
    finally:
        path.write_bytes(original)


def _damages(backups: Backups) -> list[str]:
    reader = BackupChecker(backups)
    return [damage for backup in backups.list_backups() for damage in reader.check(backup, lambda _, __: None).damages]


def test_an_object_that_is_damaged_keeps_old_ones_from_going_until_it_is_stored_anew(
    sample: BackupSample, tmp_path: Path
) -> None:
    directory = tmp_path / "kept"
    assert _create(sample.mirrord, directory, "--tenant", "demo").code == 0
    (manifest,) = [backup.manifest for backup in Backups(directory).list_backups()]
    assert manifest is not None
    chunk = directory / "objects" / manifest.files.chunks[0].name[:2] / f"{manifest.files.chunks[0].name}.gz"
    chunk.write_bytes(b"something else")
    result = _create(sample.mirrord, directory, "--tenant", "demo", "--keep", "1")
    assert (result.code, f"{chunk} is damaged" in result.err) == (1, True)
    chunk.unlink()
    result = run_command("backup", "verify", str(directory), "--json")
    assert result.code == 1
    assert json.loads(result.out)[0]["damages"] == [f"{chunk} is gone."]
    (again,) = json.loads(_create(sample.mirrord, directory, "--tenant", "demo", "--json").out)
    assert (again["added"], again["obstacle"]) == (1, None)
    assert run_command("backup", "verify", str(directory)).code == 0


def test_of_two_at_once_the_second_says_so(sample: BackupSample) -> None:
    with Backups(sample.directory).open_for_writing():
        for arguments in (("create", str(sample.directory), *sample.mirrord.places), ("verify", str(sample.directory))):
            result = run_command("backup", *arguments)
            assert result.code == 4
            assert "is going on" in result.err


def test_one_that_waits_begins_when_the_first_has_ended(sample: BackupSample, tmp_path: Path) -> None:
    directory = tmp_path / "kept"
    with ThreadPoolExecutor() as pool, Backups(directory).open_for_writing():
        command = [sys.executable, "-P", "-m", "mirrord.cli", "backup", "create", str(directory), "--wait", "600"]
        waiting = pool.submit(subprocess.run, [*command, *sample.mirrord.places], check=False, timeout=600)
        eventually(lambda: _holders(directory) > 1, "the second, which has the directory open")
        assert not waiting.done()
        assert list((directory / "backups").iterdir()) == []
    assert waiting.result().returncode == 0
    assert [backup.number for backup in Backups(directory).list_backups("demo")] == [1]


def _holders(directory: Path) -> int:
    """How many processes have a directory open."""
    holders = set()
    for link in Path("/proc").glob("[0-9]*/fd/*"):
        with suppress(OSError):
            if link.readlink() == directory:
                holders.add(link.parts[2])
    return len(holders)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may mount")
def test_a_full_disk_leaves_earlier_backups_whole(sample: BackupSample, tmp_path: Path) -> None:
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2560k", "none", tmp_path], check=False).returncode:
        pytest.skip("mounting is refused here")
    try:
        directory = tmp_path / "kept"
        assert _create(sample.mirrord, directory, "--tenant", "demo").code == 0
        save(sample.mirrord.file("large.txt"), os.urandom(2 << 20))
        result = _create(sample.mirrord, directory, "--tenant", "demo")
        verified = run_command("backup", "verify", str(directory))
        leftovers = list((directory / "incoming").iterdir())
    finally:
        sample.mirrord.file("large.txt").unlink(missing_ok=True)
        subprocess.run(["umount", tmp_path], check=True)
    assert result.code == 3
    assert "is full; no new backup was made, earlier backups are complete" in result.err
    assert (verified.out.split(), leftovers) == (["whole", "1", "demo"], [])


def test_a_restore_that_is_killed_is_done_by_the_next(
    sample: BackupSample, fresh_dsn: str, tmp_path: Path, connect: Callable[[str], Connection]
) -> None:
    watcher, holder = connect(fresh_dsn), connect(fresh_dsn)
    for table in ("entry_feed", "page_revision", "conflict"):
        with holder.transaction():
            holder.execute(sql.SQL("LOCK TABLE mirrord.{}").format(sql.Identifier(table)))
            _killed_when_it_waits(sample, fresh_dsn, tmp_path, watcher)
        eventually(lambda: value(watcher, _BACKENDS) == 0, "the end of the killed restore's transaction")
    result = _restore(sample, fresh_dsn, tmp_path)
    assert result.code == 0, result.err
    assert sample.mirrord.dsn is not None
    assert _all_rows(fresh_dsn, sample.tenant) == _all_rows(sample.mirrord.dsn, sample.tenant)


_BACKENDS = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'mirrord'"
_WAITING = _BACKENDS + " AND wait_event_type = 'Lock'"


def _killed_when_it_waits(sample: BackupSample, dsn: str, into: Path, watcher: Connection) -> None:
    child = os.fork()
    if child == 0:
        try:
            _restore(sample, dsn, into)
        finally:
            os._exit(0)
    try:
        eventually(lambda: value(watcher, _WAITING) == 1, "a restore that waits for the lock")
    finally:
        os.kill(child, signal.SIGKILL)
        assert os.waitpid(child, 0)[1] == signal.SIGKILL


def test_rows_are_stored_as_they_are_only_in_a_tenant_that_has_none(
    daemon_connection: Connection, app_connection: Connection, tenant: TenantId
) -> None:
    rows = "SELECT mirrord.restore_rows(mirrord.current_tenant(), 'event', '{id,type}', '[]')"
    with pytest.raises(errors.InsufficientPrivilege, match="only while a tenant is restored"):
        daemon_connection.execute(rows)
    for statement in (
        "SELECT mirrord.begin_restore(mirrord.current_tenant())",
        rows,
        "SELECT mirrord.end_restore(mirrord.current_tenant(), 1)",
    ):
        with pytest.raises(errors.InsufficientPrivilege, match="permission denied"):
            app_connection.execute(statement.encode())
    page = add_page(app_connection, markdown="one")
    app_connection.execute("SET mirrord.restoring = 'on'")
    change(app_connection, page, markdown="two")
    assert row_of(app_connection, page)["version"] == 2
    assert len(history(app_connection, page)) == 2
    with pytest.raises(psycopg.DatabaseError, match="has pages or events already"):
        daemon_connection.execute("SELECT mirrord.begin_restore(mirrord.current_tenant())")


def test_columns_that_a_backup_did_not_know_yet_get_their_defaults(daemon_connection: Connection) -> None:
    event = uuid4()
    with daemon_connection.transaction():
        daemon_connection.execute("SELECT mirrord.begin_restore(mirrord.current_tenant())")
        rows = json.dumps([{"id": str(event), "type": "PageCreated"}])
        query = "SELECT mirrord.restore_rows(mirrord.current_tenant(), 'event', '{id,type}', %s::text::json)"
        assert value(daemon_connection, query, rows) == 1
        daemon_connection.execute("SELECT mirrord.end_restore(mirrord.current_tenant(), 5)")
    assert value(daemon_connection, "SELECT channel FROM mirrord.event WHERE id = %s", event) == "app"


def test_without_a_tenant_there_is_nothing_to_keep(fresh_dsn: str, tmp_path: Path) -> None:
    result = run_command("backup", "create", str(tmp_path / "kept"), *_places(fresh_dsn, tmp_path))
    assert result.code == 2
    assert "There is no tenant yet" in result.err
    result = run_command("backup", "create", str(tmp_path / "mirror" / "kept"), *_places(fresh_dsn, tmp_path))
    assert (result.code, "would hold itself" in result.err) == (2, True)
    result = run_command("backup", "list", str(tmp_path))
    assert (result.code, "holds no backups" in result.err) == (2, True)
