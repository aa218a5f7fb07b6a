"""What was exported comes in again, into another tenant: the same bytes, and the same ids where pages show them."""

from collections.abc import Callable
from pathlib import Path

import pytest

from mirrord.commands.core.session import Session
from mirrord.commands.pages.tree_import import import_tree
from mirrord.commands.pages.tree_import_preview import DuplicateId, survey_tree
from mirrord.db.database import Database, app_dsn
from mirrord.domain.entry import Actor, EntryId, TenantId, new_id
from mirrord.domain.long_work import ignore_progress
from mirrord.mirror.process_setup import prepare_process
from mirrord.mirror.tree.tenant_tree import Tree
from mirrord.operations.tenant_export import export_tenant
from tests.support.entries import add_page
from tests.support.mirrors import Mirror, opened_mirror
from tests.support.rows import Connection
from tests.system.test_export import ODD, shown, write

KEPT = new_id()


@pytest.fixture(scope="module", autouse=True)
def _prepared() -> None:
    prepare_process()


def bring(mirror: Mirror, root: Path, tenant: TenantId, into: str = "") -> list[DuplicateId]:
    """Import a tree; the copies that are told of."""
    session = Session(Tree(mirror.root), "demo", tenant, Actor("human", "ada"), f"cli-{new_id()}")
    source = Tree(root)
    try:
        surveyed = survey_tree(session, source, into, ignore_progress)
        carried = import_tree(session, source, surveyed, ignore_progress)
    finally:
        source.close()
        session.close()
    assert (surveyed.omissions, carried.omissions, carried.imported_count) == ([], [], len(surveyed.new))
    return surveyed.copies


async def test_an_export_imported_into_an_empty_tenant_is_the_same_tree(
    database: Database,
    app_connection: Connection,
    tenant: TenantId,
    other_tenant: TenantId,
    admin_dsn: str,
    connect: Callable[[str], Connection],
    tmp_path: Path,
) -> None:
    async with opened_mirror(database, app_connection, tmp_path / "one", tenant) as first:
        write(first.root, ODD | {"Named.md": f"---\nid: {KEPT}\n---\nkept\n".encode()})
        (first.root / "Empty/Deeper").mkdir(parents=True)
        app_page = EntryId(add_page(app_connection, title="Made by an app"))
        await first.settle()
        await export_tenant(database, "demo", tenant, tmp_path / "out", ignore_progress, force=False)
        before = shown(first.root)

    async with opened_mirror(
        database, connect(app_dsn(admin_dsn, other_tenant)), tmp_path / "two", other_tenant
    ) as two:
        assert bring(two, tmp_path / "out", other_tenant) == []
        await two.settle()

        assert shown(two.root) == before
        assert two.ids("Named", "Made by an app") == [KEPT, app_page]
        await export_tenant(database, "demo", other_tenant, tmp_path / "back", ignore_progress, force=False)
        assert shown(tmp_path / "back") == before

        copies = bring(two, tmp_path / "out", other_tenant, "Again")
        await two.settle()

        duplicates = {
            DuplicateId("Again/Named.md", "Named.md"),
            DuplicateId("Again/Made by an app.md", "Made by an app.md"),
        }
        assert {*copies} == duplicates
        assert two.ids("Named", "Made by an app") == [KEPT, app_page]
        assert two.page("Again/Named").id != KEPT
        assert {f"Again/{path}" for path in before if not path.startswith(".")} <= shown(two.root).keys()
