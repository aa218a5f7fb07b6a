"""`mirrord check` from inside: what it holds while it looks."""

from collections.abc import Callable, Collection

import pytest

from mirrord.db.database import Database
from mirrord.domain.entry import Digest
from mirrord.mirror.tree.tenant_tree import Tree
from mirrord.operations import tenant_check as check_module
from mirrord.operations.tenant_check import Verdict, check_tree
from tests.support.entries import value
from tests.support.mirrors import Mirror
from tests.support.rows import Connection

STANDING = "SELECT count(*) FROM pg_stat_activity WHERE state ^@ 'idle in transaction' AND datname = current_database()"


async def test_no_transaction_stands_still_while_files_are_read(
    mirror: Mirror,
    database: Database,
    admin_dsn: str,
    connect: Callable[[str], Connection],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    mirror.write({"Page.md": "# Page\n"})
    await mirror.settle()
    observer, read, standing = connect(admin_dsn), check_module._read_digests, list[int]()

    def observed(tree: Tree, expected: Collection[str]) -> dict[str, Digest | None]:
        standing.append(value(observer, STANDING))
        return read(tree, expected)

    monkeypatch.setattr(check_module, "_read_digests", observed)
    sides = mirror.opened.sides
    checked = await check_tree(database, sides.tenant, sides.tree)

    assert [(entry.path, entry.verdict) for entry in checked] == [("Page.md", Verdict.OK)]
    assert standing == [0]
